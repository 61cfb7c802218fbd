#!/usr/bin/env bash
# Installs the runtime, then builds and runs an app that knows nothing but
# find_package(DistRuntime): consumer.sh BUILD-FOLDER C-COMPILER CXX-COMPILER
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cmake --install "$1" --component runtime --prefix "$out/prefix" > "$out/log"
cmake -G Ninja -S "$here/consumer" -B "$out/build" -DCMAKE_C_COMPILER="$2" -DCMAKE_CXX_COMPILER="$3" \
  -DCMAKE_PREFIX_PATH="$out/prefix" >> "$out/log" || { cat "$out/log"; exit 1; }
cmake --build "$out/build" >> "$out/log" || { cat "$out/log"; exit 1; }
for kind in runtime runtime_static; do
  "$out/build/consumer_$kind" | tee "$out/printed"
  grep -q '^0\.1\.0: cannot open the package (/nowhere/manifest)' "$out/printed"
done
# The static library says what it lacks.
if cmake -G Ninja -S "$here/consumer" -B "$out/lacking" -DCMAKE_C_COMPILER="$2" -DCMAKE_CXX_COMPILER="$3" \
  -DCMAKE_PREFIX_PATH="$out/prefix" -DCMAKE_DISABLE_FIND_PACKAGE_Protobuf=ON > "$out/log" 2>&1; then
  echo "dist::runtime_static was found without Protobuf"
  exit 1
fi
tr -s ' \n' ' ' < "$out/log" | grep -q 'linked with what is not found (Protobuf); install it' || { cat "$out/log"; exit 1; }
# Nothing but the C interface is exported.
if nm -D --defined-only "$out"/prefix/lib*/libdist_runtime.so | grep -v ' dist_'; then
  echo "libdist_runtime.so exports more than dist_*"
  exit 1
fi
