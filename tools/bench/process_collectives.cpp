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
//     --way default|exchange|gather|parts|ring|to-one
//
//===----------------------------------------------------------------------===//
#include "tools/bench/ranks_apart.h"
#include <algorithm>
#include <cstdlib>
#include <map>

using namespace dist;

namespace {

using Clock = std::chrono::steady_clock;

const std::map<std::string, Algorithm> ways{
    {"default", Algorithm::Auto},  {"exchange", Algorithm::Exchange},
    {"gather", Algorithm::Gather}, {"parts", Algorithm::Parts},
    {"ring", Algorithm::Ring},     {"to-one", Algorithm::ReduceToOne}};

int runRank(std::map<std::string, std::string> &options) {
  int ranks = std::stoi(options["--ranks"]),
      rank = std::stoi(options["--rank"]);
  MessageOptions message;
  message.mesh = {ranks};
  message.allReduce = ways.at(options["--way"]);
  message.spinMicroseconds = std::stoi(options["--spin"]);
  std::unique_ptr<MessageWorld> world;
  Status status =
      bench::openRanks(message, {rank}, ranks, options["--wire"] == "shm",
                       options["--folder"], &world);
  std::istringstream sizes(options["--sizes"]);
  for (std::string size; status.ok() && std::getline(sizes, size, ',');) {
    int64_t bytes = std::stoll(size);
    std::vector<float> data(bytes / sizeof(float), 1);
    Communicator &own = world->rank(rank);
    // As many as take some 0.2 s at 2 GB/s and 20 us.
    int64_t times =
        std::clamp<int64_t>(int64_t(0.2 / (20e-6 + bytes / 2e9)), 5, 5000);
    std::vector<double> seconds;
    for (int64_t i = -2; i < times && status.ok(); ++i) {
      Clock::time_point begin = Clock::now();
      status = own.allReduce(0, data.data(), data.size(), manifest::F32,
                             Reduction::Max, 1);
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
      {"--way", "default"},
      {"--sizes", "8,1024,65536,1048576,2097152,33554432"}};
  for (int i = 1; i + 1 < count; i += 2)
    options[arguments[i]] = arguments[i + 1];
  if (!ways.count(options["--way"])) {
    std::fprintf(stderr, "no way of an all-reduce is called '%s'\n",
                 options["--way"].c_str());
    return 1;
  }
  if (options.count("--rank"))
    return runRank(options);
  return !bench::runRanks({arguments, arguments + count},
                          std::stoi(options["--ranks"]));
}
