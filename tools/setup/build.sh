#!/usr/bin/env bash
# Installs what is missing, configures and builds: build.sh [BUILD-FOLDER] [CMAKE OPTIONS...]
# DIST_DEPENDENCIES: the folder of another build, whose dependencies are used.
# DIST_TARGETS: what to build, if not all.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$top/build}
[ $# -gt 0 ] && shift
mkdir -p "$build"
build=$(cd "$build" && pwd)
dependencies=${DIST_DEPENDENCIES:-$build}
"$top/tools/setup/install-deps.sh" "$dependencies"

export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
echo "build: configuring $build"
cmake -S "$top" -B "$build" -G Ninja -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
  -DCMAKE_PREFIX_PATH="$dependencies/onednn" "${launcher[@]}" "$@" > "$build/configure.log" 2>&1 ||
  { tail -n 40 "$build/configure.log"; exit 1; }
echo "build: compiling (log: $build/build.log)"
# shellcheck disable=SC2086 # a list of words
ninja -C "$build" ${DIST_TARGETS:-} > "$build/build.log" 2>&1 || { grep -E -A 12 'FAILED|error:' "$build/build.log" | head -n 80; exit 1; }
echo "build: done"
