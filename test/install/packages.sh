#!/usr/bin/env bash
# Installs to an empty prefix and makes the .tar.gz and the .deb, then trains, and builds
# and runs an app with each of the three, where the build folder and the sources are
# hidden: packages.sh BUILD-FOLDER SOURCE-FOLDER C-COMPILER
# Exits with 77 (skipped) where mount namespaces are not permitted.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
source=$(cd "$2" && pwd)
compiler=$3
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
case $out/ in
"$source"/* | "$build"/*) echo "packages.sh: error: TMPDIR ($out) is in what is to be hidden" >&2; exit 1 ;;
esac
fail() { echo "packages.sh: error: $*" >&2; exit 1; }
# What a command prints is of use only where it fails.
quiet() { "$@" > "$out/log" 2>&1 || { cat "$out/log"; fail "$1 failed"; }; }

# The libraries of apps; a cluster's is there where its engines are.
libraries() { ls "$1"/lib*/libdist_runtime.so; [ ! -e "$1/bin/dist-run-cluster" ] || ls "$1"/lib*/libdist_cluster.so; }
export -f libraries

# What lies in a folder that was installed or unpacked.
check_files() {
  local root=$1 file path
  for file in "$root"/bin/dist-opt "$root"/bin/dist-run $(libraries "$root"); do
    path=$(readelf -d "$file" | sed -n 's/.*(R\(UN\)\?PATH).*\[\(.*\)\]/\2/p')
    [[ "$path" != *"$build"* && "$path" != *"$source"* ]] || fail "$file looks for libraries in the build folder: $path"
  done
  if grep -rlF -e "$build" -e "$source" "$root"/lib*/cmake "$root"/include; then
    fail "the installed files above name the build folder"
  fi
  [ -s "$root/share/doc/dist-mlir/copyright" ] || fail "$root has no licence"
  if compgen -G "$root/lib*/dist-mlir/libdnnl*" > /dev/null; then
    [ -s "$root/share/doc/dist-mlir/onednn/LICENSE" ] || fail "$root has oneDNN without its licence"
  fi
}
check_deb() {
  local field depends name
  for field in Package Version Description Maintainer Depends; do
    echo "$field: $(dpkg-deb -f "$1" $field | head -n 1)"
  done
  depends=$(dpkg-deb -f "$1" Depends)
  for name in lld- libmlir- libllvm libprotobuf libgomp libstdc++ libc6 zlib1g libzip libssl libfmt; do
    [[ ", $depends" == *", $name"* ]] || fail "the .deb does not depend on $name*: $depends"
  done
}

# What is needed of the sources, copied out.
mkdir "$out/home" "$out/app"
cp -r "$source/examples/data/digits" "$source/examples/models/digits-mlp.onnx" "$out"
cp "$source/examples/embed-c/main.c" "$here/app/CMakeLists.txt" "$out/app"
for file in train-images-idx3-ubyte train-labels-idx1-ubyte; do
  gzip -dc "$out/digits/$file.gz" > "$out/$file"
done

# In a mount namespace: with one folder at hand and nothing of the build.
inside() {
  set -euo pipefail
  mount -t tmpfs none "$build"
  mount -t tmpfs none "$source"
  [ ! -e "$build/CMakeCache.txt" ] && [ ! -e "$source/CMakeLists.txt" ]
  local root=$1 missing
  cd "$out"
  missing=$(ldd "$root"/bin/* $(libraries "$root") | grep 'not found') &&
    { echo "$missing"; return 1; }
  # A cache of its own, so that dist-run compiles, with the dist-opt beside it.
  XDG_CACHE_HOME=$root-cache "$root/bin/dist-run" fit digits-mlp.onnx --data digits --scale x=1/16 \
    --loss sparse-categorical-crossentropy --optimizer adam:lr=2e-3 --metrics accuracy --batch-size 32 --epochs 3 \
    --strategy mirrored --devices cpu:2 --output "$root-trained.onnx" > "$root-log" 2>&1 || { cat "$root-log"; return 1; }
  tail -n 1 "$root-log"
  [ -s "$root-trained.onnx" ]
  # Several processes want the executable of a cluster's engines, where there is one.
  [ ! -e "$root/bin/dist-run-cluster" ] ||
    XDG_CACHE_HOME=$root-cache "$root/bin/dist-run" fit digits-mlp.onnx --data digits --scale x=1/16 \
      --loss sparse-categorical-crossentropy --strategy multi-worker-mirrored --workers 2 > "$root-log" 2>&1 || { cat "$root-log"; return 1; }
  # The shared library needs no other package, installed for development or not.
  { cmake -G Ninja -S app -B "$root-app" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$root" \
      -DCMAKE_DISABLE_FIND_PACKAGE_{Protobuf,ZLIB,dnnl,nlohmann_json}=ON -DMODEL="$out/digits-mlp.onnx" && cmake --build "$root-app"; } > "$root-log" 2>&1 || { cat "$root-log"; return 1; }
  "$root-app/app" "$root-app/digits.package" train-images-idx3-ubyte train-labels-idx1-ubyte 400 | tail -n 1 | tee "$root-log"
  grep -Eq '^right: .*\(9[0-9]\.' "$root-log"
}
export -f inside
export build source out compiler HOME=$out/home PATH=/usr/local/bin:/usr/bin:/bin
unset LD_LIBRARY_PATH
namespace=(unshare --mount)
[ "$(id -u)" -eq 0 ] || namespace=(unshare --map-root-user --mount)
skipped=
"${namespace[@]}" mount -t tmpfs none "$out/home" 2> "$out/log" || skipped=$(head -n 1 "$out/log")
check() {
  echo "== ${1#"$out"/}"
  check_files "$1"
  # The working folder is hidden, too.
  [ -n "$skipped" ] || (cd "$out" && "${namespace[@]}" bash -c 'inside "$1"' inside "$1")
}

# The .deb takes longest, where Debian's tools are: dpkg-shlibdeps reads all of LLVM.
deb=
if command -v dpkg-shlibdeps file > /dev/null; then
  cpack --config "$build/CPackConfig.cmake" -G DEB -B "$out/debs" > "$out/deb.log" 2>&1 &
  deb=$!
  trap 'kill $deb 2> /dev/null || true; wait; rm -rf "$out"' EXIT
fi
quiet cmake --install "$build" --prefix "$out/prefix"
check "$out/prefix"
quiet cpack --config "$build/CPackConfig.cmake" -G TGZ -B "$out/tars"
mkdir "$out/tar" "$out/deb"
tar -xzf "$out"/tars/dist-mlir-*.tar.gz -C "$out/tar"
check "$out"/tar/dist-mlir-*
if [ -n "$deb" ]; then
  wait "$deb" || { cat "$out/deb.log"; fail "cpack -G DEB failed"; }
  trap 'rm -rf "$out"' EXIT
  check_deb "$out"/debs/dist-mlir_*.deb
  dpkg -x "$out"/debs/dist-mlir_*.deb "$out/deb"
  check "$out/deb/usr"
fi
if [ -n "$skipped" ]; then
  echo "packages.sh: skipped: mount namespaces are not permitted here ($skipped): packages were made, but nothing was run"
  exit 77
fi
