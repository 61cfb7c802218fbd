//===- communicator_test.h - Conformance of communicators -------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every communicator must do, written once. A backend defines `backends`,
// the ways in which its ranks are made, and links these tests.
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_CTS_COMMUNICATOR_TEST_H
#define TEST_RUNTIME_CTS_COMMUNICATOR_TEST_H

#include "runtime/comm/common/options.h"
#include "runtime/core/world.h"
#include "runtime/device/cpu/team.h"
#include <functional>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace dist::cts {

/// What worlds of this process are made with, of whatever kind.
inline void fill(WorldOptions *options, const std::vector<int64_t> &mesh,
                 double timeout, int spin, int threads, Algorithm algorithm,
                 bool host) {
  options->allReduce = algorithm;
  options->mesh = mesh;
  options->host = host;
  options->timeout = timeout;
  options->spinMicroseconds = spin;
  options->threadsPerRank = threads;
  if (threads > 1)
    options->parallelFor = cpu::parallelFor;
}

struct Backend {
  std::string name;
  using Create = std::function<std::unique_ptr<World>(std::vector<int64_t> mesh,
                                                      double timeout)>;
  /// The mesh's ranks; these and a host behind them, null where there is none.
  Create create, createWithHost;
  /// Of its all-reduces, unless a call asks for an algorithm.
  SumOrder order = SumOrder::OfPlaces;
  /// Who only gives waits for those who take.
  bool giversWait = true;
  /// Who waits in an all-reduce knows of all that are missing.
  bool namesAllMissing = true;
  /// Sums have the bits of `order`, on all ranks; else they are equal to those
  /// within roundings.
  bool promisesBits = true;
  /// Who has waited in vain for others in a collective can meet them after a
  /// reset.
  bool takesBack = true;
};

/// Where all-reduces by `algorithm` are made of messages.
inline Backend ofMessages(std::string name, Backend::Create create,
                          Backend::Create createWithHost, Algorithm algorithm) {
  // These wait for one rank, and then for another one.
  bool hasRounds = algorithm == Algorithm::Ring ||
                   algorithm == Algorithm::Gather ||
                   algorithm == Algorithm::HalvingDoubling;
  return {std::move(name),
          std::move(create),
          std::move(createWithHost),
          factsOf(algorithm).order,
          /*giversWait=*/false,
          /*namesAllMissing=*/!hasRounds};
}

/// What the program that links these tests has; a backend defines it.
std::vector<Backend> backends();

/// `actual` is `expected`, but for `roundings` of each element; of addends
/// whose signs differ `sizes` has what is rounded, the sums of their absolute
/// values.
template <typename T>
void expectSum(const std::vector<T> &actual, const std::vector<T> &expected,
               int64_t roundings, const std::vector<T> &sizes) {
  ASSERT_EQ(actual.size(), expected.size());
  double unit = std::numeric_limits<T>::is_integer
                    ? 0
                    : double(std::numeric_limits<T>::epsilon()) * roundings;
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(double(actual[i]), double(expected[i]),
                unit * std::abs(double(sizes[i])))
        << "element " << i;
}
template <typename T>
void expectSum(const std::vector<T> &actual, const std::vector<T> &expected,
               int64_t roundings) {
  expectSum(actual, expected, roundings, expected);
}

/// The mesh's first axis.
constexpr uint32_t first = 1;

/// Runs `body(rank)` on a thread each.
inline void onRanks(int ranks, const std::function<void(int)> &body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back(body, rank);
  for (std::thread &thread : threads)
    thread.join();
}

#define EXPECT_OK(expression)                                                  \
  do {                                                                         \
    Status status = (expression);                                              \
    EXPECT_TRUE(status.ok()) << status.message();                              \
  } while (false)

class CommunicatorTest : public testing::TestWithParam<Backend> {};

} // namespace dist::cts

#endif // TEST_RUNTIME_CTS_COMMUNICATOR_TEST_H
