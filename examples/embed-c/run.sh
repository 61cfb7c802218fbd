#!/usr/bin/env bash
# Compiles the digits model to a package, builds main.c against the installed
# runtime, trains some steps and predicts: run.sh [BUILD-FOLDER]
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:-$top/build}" && pwd)
out=$build/embed-c
# A build folder of before may have been made with another compiler.
rm -rf "$out"
mkdir -p "$out"

"$build/bin/dist-opt" "$top/examples/models/digits-mlp.onnx" --loss sparse-categorical-crossentropy \
  --optimizer adam:lr=2e-3 --batch-size 32 --emit=package -o "$out/digits.package"
cmake --install "$build" --component runtime --prefix "$out/prefix" > "$out/build.log"
compiler=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
cmake -S "$top/examples/embed-c" -B "$out/build" -DCMAKE_PREFIX_PATH="$out/prefix" \
  -DCMAKE_C_COMPILER="$compiler" >> "$out/build.log"
cmake --build "$out/build" >> "$out/build.log"
for file in train-images-idx3-ubyte train-labels-idx1-ubyte; do
  gzip -dc "$top/examples/data/digits/$file.gz" > "$out/$file"
done
"$out/build/embed" "$out/digits.package" "$out/train-images-idx3-ubyte" "$out/train-labels-idx1-ubyte" 400
