//===- evaluation_parts_test.cpp - --evaluation-shards auto ---------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/parameter_server/evaluation_parts.h"
#include <gtest/gtest.h>

namespace dist::ps {
namespace {

EvaluationFacts facts(int64_t workers, int64_t batches, double batchSeconds,
                      int64_t bytes) {
  EvaluationFacts one;
  one.workers = workers;
  one.servers = 2;
  one.batches = batches;
  one.batchSeconds = batchSeconds;
  one.parameterBytes = bytes;
  one.bytesPerSecond = 1e9;
  return one;
}

TEST(EvaluationParts, SeveralAWorkerWherePullingIsCheap) {
  // 5 rounds of 10 batches each, and of 1 ms to pull.
  EvaluationDecision decision = decideParts(facts(2, 100, 0.01, 1000000));
  EXPECT_EQ(decision.parts, 10);
  EXPECT_EQ(decision.text,
            "--evaluation-shards auto takes 10: 2 workers evaluate 100 batches "
            "in 10 parts, and pull 1000000 bytes for each, in about 505 ms; "
            "the chief would take 1 s");
}

// A tenth of evaluating is all that may be pulled: 0.5 s of which are 50 ms.
TEST(EvaluationParts, FewerAWorkerWherePullingCosts) {
  EXPECT_EQ(decideParts(facts(2, 100, 0.01, 20000000)).parts, 4);
  EXPECT_EQ(decideParts(facts(2, 100, 0.01, 40000000)).parts, 2);
  // Eight workers pull from two servers: four times as long.
  EXPECT_EQ(decideParts(facts(8, 400, 0.01, 5000000)).parts, 16);
  EXPECT_EQ(decideParts(facts(8, 400, 0.01, 50000000)).parts, 8);
}

TEST(EvaluationParts, TheChiefWhereItIsNoSlower) {
  EvaluationDecision decision = decideParts(facts(8, 3, 0.001, 100000000));
  EXPECT_EQ(decision.parts, 0);
  EXPECT_EQ(decision.text,
            "--evaluation-shards auto takes 0: the chief evaluates 3 batches "
            "in about 103 ms; 8 workers, which pull 100000000 bytes for each "
            "part, would take 401 ms");
  // Alone a worker does what the chief does.
  EXPECT_EQ(decideParts(facts(1, 100, 0.01, 1000)).parts, 0);
}

TEST(EvaluationParts, NoMoreThanBatches) {
  EXPECT_EQ(decideParts(facts(4, 3, 0.1, 1000)).parts, 3);
  EXPECT_EQ(decideParts(facts(2, 7, 0.1, 0)).parts, 7);
  EXPECT_EQ(decideParts(facts(2, 1, 0.1, 1000)).parts, 0);
  EXPECT_EQ(decideParts(facts(2, 0, 0.1, 1000)).parts, 0);
}

TEST(EvaluationParts, WithoutTimesTheChief) {
  EXPECT_EQ(decideParts(facts(2, 100, 0, 1000)).text,
            "--evaluation-shards auto takes 0: the chief evaluates, as the "
            "package does not say how long a batch takes");
}

TEST(EvaluationParts, PullsWhatServersHave) {
  Layout layout;
  layout.servers.resize(2);
  layout.servers[0].partBytes = 100;
  layout.servers[1].partBytes = 24;
  EXPECT_EQ(parameterBytes(layout), 124);
}

} // namespace
} // namespace dist::ps
