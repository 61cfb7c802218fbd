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

#include "runtime/core/communicator.h"
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace dist::cts {

/// Ranks of one job, whatever they run in.
class World {
public:
  virtual ~World() = default;
  virtual Communicator &rank(int rank) = 0;
  virtual void reset() = 0;
};

struct Backend {
  std::string name;
  std::function<std::unique_ptr<World>(std::vector<int64_t> mesh,
                                       double timeout)>
      create;
};

/// What the program that links these tests has; a backend defines it.
std::vector<Backend> backends();

class CommunicatorTest : public testing::TestWithParam<Backend> {};

} // namespace dist::cts

#endif // TEST_RUNTIME_CTS_COMMUNICATOR_TEST_H
