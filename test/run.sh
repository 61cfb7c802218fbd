#!/usr/bin/env bash
# Sets up, builds and runs tests; needs only a Debian 12 and root or sudo.
#
#   test/run.sh            the tests that CI runs
#   test/run.sh --all      these, and all of the following
#   test/run.sh --asan     everything with address and undefined-behaviour sanitizers
#   test/run.sh --tsan     the runtime with the thread sanitizer
#   test/run.sh --gcc      everything compiled by gcc, and the runtime's tests built by it
#   test/run.sh --runtime  the runtime alone, without LLVM
#   test/run.sh --tidy     clang-tidy on all sources; otherwise it takes two minutes for those that changed last
#   test/run.sh --matrix   every strategy on every workload, 2 to 8 devices (hours; needs ../shared/data or DIST_TEST_DATA)
#   test/run.sh --kernels  tens of thousands of random kernels against plain loops (SWEEP_CASES=10000 SWEEP_SEED=1: of each instruction set)
#   test/run.sh --soak     an hour of two workers where each CPU is wanted four times over: none is taken for lost (SOAK_SECONDS=3600)
#   test/run.sh --simulate 10,000 simulated runs with parameter servers, of processes that watch each other, save and meet, by seed (SIMULATE_SEEDS=10000 SIMULATE_FIRST=1)
#   test/run.sh --fuzz     each parser for a minute under libFuzzer, and as long the passes (FUZZ_SECONDS=60)
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
if [ $# -eq 0 ]; then
  set -- --ci
elif [ "$*" = "--all" ]; then
  set -- --ci --tidy --asan --tsan --gcc --runtime --kernels --simulate --soak --fuzz --matrix
fi

passed=0
failed=0
# Runs one group of tests and counts it.
group() {
  local name=$1
  shift
  echo "== $name"
  if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "== $name FAILED"; fi
}

# Builds a variant in a folder of its own, on the dependencies of `build`.
variant() {
  local folder=$1
  shift
  DIST_DEPENDENCIES="$top/build" tools/setup/build.sh "$folder" -DDIST_ENABLE_ASSERTS=ON "$@"
}
lint() {
  local failures=0
  for check in layers tests sizes format; do
    python3 "tools/lint/check_$check.py" || failures=1
  done
  python3 tools/lint/check_tidy.py --seconds 120 || failures=1
  return $failures
}
docs() {
  ninja -C build mlir-doc > build/docs.log 2>&1 && python3 tools/lint/check_docs.py build &&
    { ninja -C build site > build/site.log 2>&1 || { tail -n 20 build/site.log; return 1; }; }
}
# On two CPUs. Programs wait for half of their time and lit's tests for a quarter,
# for each other's processes and for what is to take a while: more of them run.
# What failed stands at the end once more: a log that is shown cut keeps its end.
gtests() {
  ctest --test-dir "$1" --output-on-failure --no-tests=error -j 4 && return
  grep -A 6 -e ': Failure$' -e '^\[  FAILED  \]' -e 'ERROR: ' "$1/Testing/Temporary/LastTest.log" | head -n 60
  return 1
}
lits() {
  /usr/lib/llvm-22/bin/lit -v -j 3 "$1/test" 2>&1 | tee "$1/lit.log" | grep -v '^PASS'
  local code=${PIPESTATUS[0]}
  [ "$code" -eq 0 ] || python3 test/failures.py "$1/lit.log"
  return "$code"
}
# New inputs stay in the build folder; what crashes is written there, too.
fuzz() {
  local name=$1 found=build-asan/fuzz/$1
  mkdir -p "$found"
  build-asan/bin/"${name}_fuzzer" -max_total_time="${FUZZ_SECONDS:-60}" -rss_limit_mb=4096 -timeout=20 -print_final_stats=1 \
    -artifact_prefix="$found-" "$found" "test/fuzz/corpus/$name" > "$found.log" 2>&1 ||
    { tail -n 30 "$found.log"; return 1; }
  grep stat::number_of_executed_units "$found.log"
}

# Threads that wait do not spin: there are more of them than CPUs.
sweep() { OMP_WAIT_POLICY=passive SWEEP_CASES="${SWEEP_CASES:-10000}" "build/bin/$1"; }

# Passes alone and in pipelines, on changed inputs of their tests.
fuzz_passes() {
  python3 test/fuzz/passes.py --dist-opt build-asan/bin/dist-opt --seconds "${FUZZ_SECONDS:-60}" --seed "${FUZZ_SEED:-1}" \
    --output build-asan/fuzz/passes
}

# The models are written by Python, in an environment of the build folder.
matrix() {
  local python=build/matrix-python
  [ -e "$python/bin/python" ] || python3 -m venv "$python"
  "$python/bin/python" -m pip install -q --disable-pip-version-check numpy onnx
  "$python/bin/python" test/e2e/matrix.py --output build/matrix.md
}

# Sanitized code is slow to compile and to run: -O1 is the cheapest of both. The
# packages' LLVM leaks by design, and is not instrumented: it hands out memory of
# pools that the instrumented copies of its templates have marked as free. The
# tests of the C API, which have no LLVM in them, look for leaks (their CMakeLists.txt).
small=(-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DCMAKE_C_FLAGS_RELEASE=-O1)
asan=(-DDIST_SANITIZE=address,undefined -DDIST_ENABLE_FUZZERS=ON "${small[@]}")
export ASAN_OPTIONS=detect_leaks=0:allow_user_poisoning=0
export UBSAN_OPTIONS=print_stacktrace=1
for part in "$@"; do
  case $part in
  --ci)
    tools/setup/build.sh build -DDIST_ENABLE_ASSERTS=ON
    group "lint" lint
    group "documentation" docs
    group "GoogleTest" gtests build
    group "lit" lits build
    ;;
  --tidy)
    tools/setup/build.sh build -DDIST_ENABLE_ASSERTS=ON
    group "clang-tidy" python3 tools/lint/check_tidy.py
    ;;
  --asan)
    variant build-asan "${asan[@]}"
    group "GoogleTest, address and undefined" gtests build-asan
    group "lit, address and undefined" lits build-asan
    ;;
  --tsan)
    variant build-tsan -DDIST_RUNTIME_ONLY=ON -DDIST_SANITIZE=thread "${small[@]}"
    group "runtime, thread" gtests build-tsan
    ;;
  --gcc)
    # The packages' LLVM is clang's: traits are found by type names, which gcc
    # spells otherwise, so that a compiler made by gcc cannot run on it. What is
    # embedded elsewhere is the runtime.
    gcc=(-DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++ -DDIST_ENABLE_PCH=OFF "${small[@]}")
    variant build-gcc "${gcc[@]}"
    variant build-gcc-runtime -DDIST_RUNTIME_ONLY=ON "${gcc[@]}"
    group "runtime, gcc" gtests build-gcc-runtime
    ;;
  --runtime)
    variant build-runtime -DDIST_RUNTIME_ONLY=ON
    group "runtime alone" gtests build-runtime
    ;;
  --matrix)
    DIST_TARGETS="dist-opt strategy_parity" tools/setup/build.sh build -DDIST_ENABLE_ASSERTS=ON
    group "matrix of strategies" matrix
    ;;
  --simulate)
    DIST_TARGETS="served_run_simulation heartbeat_simulation checkpoint_simulation membership_simulation" tools/setup/build.sh build -DDIST_ENABLE_ASSERTS=ON
    group "simulated runs" build/bin/served_run_simulation --seeds "${SIMULATE_SEEDS:-10000}" --first "${SIMULATE_FIRST:-1}"
    group "simulated heartbeats" build/bin/heartbeat_simulation --seeds "${SIMULATE_SEEDS:-10000}" --first "${SIMULATE_FIRST:-1}"
    group "simulated saving" build/bin/checkpoint_simulation --seeds "${SIMULATE_SEEDS:-10000}" --first "${SIMULATE_FIRST:-1}"
    group "simulated meetings" build/bin/membership_simulation --seeds "${SIMULATE_SEEDS:-10000}" --first "${SIMULATE_FIRST:-1}"
    ;;
  --soak)
    tools/setup/build.sh build -DDIST_ENABLE_ASSERTS=ON
    group "two workers beside others" test/soak.py --seconds "${SOAK_SECONDS:-3600}"
    ;;
  --kernels)
    DIST_TARGETS="library_sweep_test generated_sweep_test" tools/setup/build.sh build -DDIST_ENABLE_ASSERTS=ON
    group "library kernels" sweep library_sweep_test
    group "generated kernels" sweep generated_sweep_test
    ;;
  --fuzz)
    names=$(basename -s _fuzzer.cpp test/fuzz/*_fuzzer.cpp)
    DIST_TARGETS="dist-opt $(printf '%s_fuzzer ' $names)" variant build-asan "${asan[@]}"
    for name in $names; do
      group "fuzz $name" fuzz "$name"
    done
    group "fuzz passes" fuzz_passes
    ;;
  *)
    echo "test/run.sh: error: unknown option ($part); see the head of this file" >&2
    exit 2
    ;;
  esac
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
