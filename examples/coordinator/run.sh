#!/usr/bin/env bash
# Compiles the digits model for two parameter servers, builds coordinator.c and
# coordinator.cpp against the installed runtime, and runs each as a cluster on this
# machine: a chief, two workers and two servers: run.sh [BUILD-FOLDER [STEPS]]
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:-$top/build}" && pwd)
steps=${2:-400}
out=$build/coordinator
rm -rf "$out"
mkdir -p "$out"

"$build/bin/dist-opt" "$top/examples/models/digits-mlp.onnx" --loss sparse-categorical-crossentropy \
  --optimizer adam:lr=2e-3 --batch-size 32 --threads 1 --strategy parameter-server --workers 1 --servers 2 \
  --emit=package -o "$out/digits.package"
for component in runtime cluster; do
  cmake --install "$build" --component $component --prefix "$out/prefix" >> "$out/build.log"
done
compilers=$(sed -n 's/^\(CMAKE_CX*_COMPILER\):[A-Z]*=/-D\1=/p' "$build/CMakeCache.txt")
# shellcheck disable=SC2086 # one word each
cmake -S "$top/examples/coordinator" -B "$out/build" -DCMAKE_PREFIX_PATH="$out/prefix" $compilers >> "$out/build.log"
cmake --build "$out/build" >> "$out/build.log"
for file in train-images-idx3-ubyte train-labels-idx1-ubyte; do
  gzip -dc "$top/examples/data/digits/$file.gz" > "$out/$file"
done
cd "$out"
# Each process gets the same cluster and its own task; the chief's exit code counts.
python3 "$top/examples/coordinator/start.py" build/coordinator digits.package train-images-idx3-ubyte \
  train-labels-idx1-ubyte "$steps"
python3 "$top/examples/coordinator/start.py" build/coordinator_cpp digits.package "$steps"
