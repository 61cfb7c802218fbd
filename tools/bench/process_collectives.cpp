//===- process_collectives.cpp - Times collectives of processes -----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints "BYTES SECONDS" for each size of an all-reduce of f32, the median of
// the times of rank 0:
//
//   process_collectives --ranks 2 --wire shm|tcp --spin 1000 --sizes 8,1048576
//     --way ALGORITHM, as attributes call it: auto
//
//===----------------------------------------------------------------------===//
#include "tools/bench/ranks_apart.h"
#include <algorithm>
#include <cstdlib>
#include <map>

using namespace dist;

namespace {

using Clock = std::chrono::steady_clock;

const AlgorithmFacts *findWay(const std::string &name) {
  for (const AlgorithmFacts &one : allAlgorithms)
    if (name == one.name)
      return &one;
  return nullptr;
}

int runRank(std::map<std::string, std::string> &options) {
  int ranks = std::stoi(options["--ranks"]),
      rank = std::stoi(options["--rank"]);
  MessageOptions message;
  message.mesh = {ranks};
  message.allReduce = findWay(options["--way"])->algorithm;
  message.spinMicroseconds = std::stoi(options["--spin"]);
  std::unique_ptr<MessageWorld> world;
  Status status =
      bench::openRanks(message, {rank}, ranks, options["--wire"] == "shm",
                       options["--folder"], &world);
  std::istringstream sizes(options["--sizes"]);
  for (std::string size; status.ok() && std::getline(sizes, size, ',');) {
    int64_t bytes = std::stoll(size);
    // Sums of zeros stay what they are.
    std::vector<float> data(bytes / sizeof(float));
    Communicator &own = world->rank(rank);
    // Prepared once, as a program's collectives are.
    std::unique_ptr<DenseAllReduce> sum;
    status = DenseAllReduce::prepare(own, 0, data.size(), manifest::F32,
                                     Reduction::Sum, 1, &sum);
    // As many as take some 0.2 s at 2 GB/s and 20 us.
    int64_t times =
        std::clamp<int64_t>(int64_t(0.2 / (20e-6 + bytes / 2e9)), 5, 5000);
    std::vector<double> seconds;
    for (int64_t i = -2; i < times && status.ok(); ++i) {
      Clock::time_point begin = Clock::now();
      status = sum->run(own, data.data());
      if (i >= 0)
        seconds.push_back(
            std::chrono::duration<double>(Clock::now() - begin).count());
    }
    std::sort(seconds.begin(), seconds.end());
    if (rank == 0 && status.ok())
      std::printf("%lld %.9f\n", static_cast<long long>(bytes),
                  seconds[seconds.size() / 2]);
  }
  if (!status.ok())
    std::fprintf(stderr, "%s\n", status.message().c_str());
  return !status.ok();
}

} // namespace

int main(int count, char **arguments) {
  prepareUcx();
  std::map<std::string, std::string> options{
      {"--ranks", "2"},
      {"--wire", "shm"},
      {"--spin", "1000"},
      {"--way", "auto"},
      {"--sizes", "8,1024,65536,1048576,2097152,33554432"}};
  for (int i = 1; i + 1 < count; i += 2)
    options[arguments[i]] = arguments[i + 1];
  if (!findWay(options["--way"])) {
    std::fprintf(stderr, "no way of an all-reduce is called '%s'\n",
                 options["--way"].c_str());
    return 1;
  }
  if (options.count("--rank"))
    return runRank(options);
  return !bench::runRanks({arguments, arguments + count},
                          std::stoi(options["--ranks"]));
}
