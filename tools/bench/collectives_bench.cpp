//===- collectives_bench.cpp - Times the local communicator ---------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each rank is a thread of the benchmark. Bytes a second are those of one
// rank's buffer. `copy` moves as many bytes in each rank's own memory: what an
// all-reduce of two ranks, which reads and writes each byte as often, could
// come near to.
//
//   collectives_bench --benchmark_filter=all_reduce/ring
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/local/local.h"
#include <algorithm>
#include <benchmark/benchmark.h>
#include <cstring>
#include <string>
#include <thread>

using namespace dist;

namespace {

/// One rank's call; `to` is as large as `from`.
using Call = Status (*)(Communicator &rank, float *from, float *to,
                        int64_t count);

Status allReduce(Communicator &rank, float *from, float *, int64_t count) {
  return rank.allReduce(0, from, count, manifest::F32, Reduction::Sum, 1);
}
Status reduceScatter(Communicator &rank, float *from, float *to,
                     int64_t count) {
  return rank.reduceScatter(0, from, to, count / rank.ranks(), manifest::F32,
                            Reduction::Sum, 1);
}
Status allGather(Communicator &rank, float *from, float *to, int64_t count) {
  return rank.allGather(0, from, to, count / rank.ranks() * sizeof(float), 1);
}
Status copy(Communicator &, float *from, float *to, int64_t count) {
  std::memcpy(to, from, count * sizeof(float));
  return Status();
}

/// Made anew by the first thread of each run, which the others wait for.
std::unique_ptr<LocalWorld> world;

void run(benchmark::State &state, Call call, Algorithm algorithm) {
  int ranks = state.threads();
  if (state.thread_index() == 0) {
    WorldOptions options;
    options.mesh = {ranks};
    options.allReduce = algorithm;
    if (ranks > int(std::thread::hardware_concurrency()))
      options.spinMicroseconds = 0;
    if (Status status = LocalWorld::create(options, &world); !status.ok())
      state.SkipWithError(status.message().c_str());
  }
  int64_t count = state.range(0) / sizeof(float);
  // Zeros: sums of sums stay what they are.
  std::vector<float> from(count), to(count);
  for (auto _ : state) {
    Status status =
        call(world->rank(state.thread_index()), from.data(), to.data(), count);
    if (!status.ok()) {
      state.SkipWithError(status.message().c_str());
      break;
    }
    benchmark::DoNotOptimize(to.data());
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) /
                          state.threads());
}

void add(const std::string &name, Call call,
         Algorithm algorithm = Algorithm::Auto) {
  benchmark::RegisterBenchmark(name.c_str(), run, call, algorithm)
      ->RangeMultiplier(16)
      ->Range(4 << 10, 16 << 20)
      ->Threads(2)
      ->Threads(4)
      ->UseRealTime();
}

} // namespace

int main(int argc, char **argv) {
  add("copy", copy);
  for (const AlgorithmFacts &one : allAlgorithms)
    if (one.isOfMemory)
      add(std::string("all_reduce/") + one.name, allReduce, one.algorithm);
  add("reduce_scatter", reduceScatter);
  add("all_gather", allGather);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
