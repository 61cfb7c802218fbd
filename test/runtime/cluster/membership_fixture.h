//===- membership_fixture.h - Members as threads ----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_CLUSTER_MEMBERSHIP_FIXTURE_H
#define TEST_RUNTIME_CLUSTER_MEMBERSHIP_FIXTURE_H

#include "runtime/cluster/membership/membership.h"
#include "test/runtime/cluster/reserved_port.h"
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>

namespace dist::cluster {

/// Each of three members is a thread, and reaches the others through the
/// chief's server alone.
class MembershipTest : public testing::Test {
protected:
  void SetUp() override {
    for (int i = 0; i < 3; ++i) {
      // Only the chief's is listened at.
      spec.of(Job::Worker).push_back({"127.0.0.1", i == 0 ? int(port) : i});
      options[i].timeout = 20;
    }
    for (int i = 0; i < 3; ++i)
      enter(i, i);
  }
  void enter(int i, int index) {
    options[i].spec = spec;
    options[i].spec.self = Task{Job::Worker, index};
  }
  /// Runs `use` for each member that joins; all of them at once.
  void joinAll(int count,
               const std::function<void(int, Membership &)> &use = nullptr) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
      threads.emplace_back([this, i, use] {
        std::unique_ptr<Membership> membership;
        status[i] = Membership::join(options[i], &membership);
        if (status[i].ok() && use)
          use(i, *membership);
      });
    for (std::thread &thread : threads)
      thread.join();
  }

  const ReservedPort port;
  ClusterSpec spec;
  MembershipOptions options[3];
  Status status[3];
};

} // namespace dist::cluster

#endif // TEST_RUNTIME_CLUSTER_MEMBERSHIP_FIXTURE_H
