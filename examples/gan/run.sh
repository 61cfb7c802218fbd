#!/usr/bin/env bash
# Compiles the generator and the discriminator, each with its optimizer, builds
# gan.cpp against the installed runtime and trains them against each other:
# run.sh [BUILD-FOLDER [STRATEGY OPTIONS...]]
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:-$top/build}" && pwd)
shift || true
out=$build/gan${*:+-$(echo "$*" | tr -c 'a-z0-9\n' '-')}
rm -rf "$out"
mkdir -p "$out"

# The entries of a loop of one's own: `gradients` returns what `apply` takes.
compile() {
  "$build/bin/dist-opt" "$top/examples/models/digits-$1.onnx" --optimizer adam:lr=2e-3,beta1=0.5 --batch-size 32 \
    --entries predict,gradients,apply --emit=package -o "$out/$1" "${@:2}"
}
# The discriminator also tells how its loss changes with the image...
compile discriminator --loss binary-crossentropy --input-gradients image "$@"
# ...which the generator's backward pass goes on from.
compile generator --loss inner-product "$@"

cmake --install "$build" --component runtime --prefix "$out/prefix" > "$out/build.log"
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
cmake -S "$top/examples/gan" -B "$out/build" -DCMAKE_PREFIX_PATH="$out/prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" >> "$out/build.log"
cmake --build "$out/build" >> "$out/build.log"
gzip -dc "$top/examples/data/digits/train-images-idx3-ubyte.gz" > "$out/images"
"$out/build/gan" "$out/generator" "$out/discriminator" "$out/images" 1000
