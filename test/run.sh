#!/usr/bin/env bash
# Sets up, builds and runs all tests; needs only a Debian 12 and root or sudo.
#
#   test/run.sh          the tests that CI runs
#   test/run.sh --all    also with address, undefined-behaviour and thread sanitizers,
#                        with gcc, and the runtime alone
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
all=false
[ "${1:-}" = "--all" ] && all=true

passed=0
failed=0
# Runs one group of tests and counts it.
group() {
  local name=$1
  shift
  echo "== $name"
  if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "== $name FAILED"; fi
}

lint() { python3 tools/lint/check_layers.py && python3 tools/lint/check_tests.py && python3 tools/lint/check_sizes.py; }
gtests() { ctest --test-dir "$1" --output-on-failure --no-tests=error -j 2; }
lits() { /usr/lib/llvm-22/bin/lit -v -j 2 "$1/test" 2>&1 | tee "$1/lit.log" | grep -v '^PASS'; return "${PIPESTATUS[0]}"; }

tools/setup/build.sh build -DDIST_ENABLE_ASSERTS=ON
group "lint" lint
group "GoogleTest" gtests build
group "lit" lits build
if $all; then
  tools/setup/build.sh build-asan -DDIST_ENABLE_ASSERTS=ON -DDIST_SANITIZE=address,undefined
  group "GoogleTest, address and undefined" env ASAN_OPTIONS=detect_leaks=0 ctest --test-dir build-asan --output-on-failure -j 2
  group "lit, address and undefined" env ASAN_OPTIONS=detect_leaks=0 bash -c '/usr/lib/llvm-22/bin/lit -q build-asan/test'
  tools/setup/build.sh build-tsan -DDIST_RUNTIME_ONLY=ON -DDIST_SANITIZE=thread
  group "runtime, thread" gtests build-tsan
  tools/setup/build.sh build-gcc -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++ -DDIST_ENABLE_PCH=OFF
  group "GoogleTest, gcc" gtests build-gcc
  tools/setup/build.sh build-runtime -DDIST_RUNTIME_ONLY=ON
  group "runtime alone" gtests build-runtime
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
