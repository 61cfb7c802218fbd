#!/usr/bin/env bash
# Installs everything that building and testing dist-mlir needs on Debian 12:
# packages by apt (as root, or through sudo), and oneDNN from the Python registry
# into a virtual environment of the build tree. This is the one place that knows
# every dependency. Safe to run again: what is there already is left alone.
#
#   tools/setup/install-deps.sh [BUILD-FOLDER]      (default: build)
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$top/build}
mkdir -p "$build"

packages=(
  clang-22 lld-22 llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools libclang-rt-22-dev
  clang-format-22 clang-tidy-22 cmake ninja-build ccache python3 python3-venv python3-pip python3-psutil
  libprotobuf-dev protobuf-compiler libgrpc++-dev protobuf-compiler-grpc etcd-server libucx-dev libmicrohttpd-dev libcli11-dev nlohmann-json3-dev libfmt-dev zlib1g-dev libzip-dev libssl-dev
  libgtest-dev libgmock-dev libbenchmark-dev doxygen
  iproute2 nftables # several hosts in one, for tests
  # Optional, 11 MB to load and 48 MB installed: libopenmpi-dev openmpi-bin, for
  # --communicator mpi, whose tests need them.
  dpkg-dev file # cpack makes a .deb
)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "setup: installing ${missing[*]}"
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "setup: error: apt packages are missing (${missing[*]}): run as root or install sudo" >&2; exit 1; }
    as_root=(sudo)
  fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
fi

# oneDNN 3.x built against libgomp: headers, library and CMake package. Another
# oneDNN >= 3.2 can be used instead: -DCMAKE_PREFIX_PATH=... at configure time.
if [ ! -e "$build/onednn/lib/cmake/dnnl/dnnl-config.cmake" ]; then
  echo "setup: installing oneDNN into $build/onednn"
  python3 -m venv "$build/onednn"
  "$build/onednn/bin/python" -m pip install -q --disable-pip-version-check onednn-devel-cpu-gomp
fi
echo "setup: everything is there"
