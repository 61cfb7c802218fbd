//===- membership_ends_test.cpp - A chief that is done ----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/etcd/client.h"
#include "test/runtime/cluster/membership_fixture.h"
#include "test/runtime/cluster/system_surroundings.h"
#include <atomic>
#include <chrono>

using namespace dist;
using namespace dist::cluster;

namespace {

/// Of a chief that leaves however long it takes.
struct PatientSurroundings : SystemSurroundings {
  Clock::time_point now() override { return stands ? end : system.now(); }
  std::atomic<bool> stands{false};
  const Clock::time_point end = system.now();
};

// One that is slow still asks the store of a chief that is done.
TEST_F(MembershipTest, AChiefServesUntilAllHaveBegun) {
  PatientSurroundings patient;
  options[0].surroundings = &patient;
  for (MembershipOptions &one : options)
    one.timeout = 60;
  joinAll(3, [&](int i, Membership &membership) {
    std::vector<std::vector<std::string>> all;
    Status met = membership.exchange("test", {"yes"}, &all);
    EXPECT_TRUE(met.ok()) << met.message();
    if (i == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      auto store = systemSurroundings().connect(
          {{spec.of(Job::Worker)[0].text()}, 5000, {}});
      etcdserverpb::RangeRequest request;
      request.set_key("any");
      etcdserverpb::RangeResponse response;
      EXPECT_TRUE(store->range(request, &response).ok());
    }
    membership.endStart();
    if (i == 0) // it leaves, however long it takes
      patient.stands = true;
  });
  for (const Status &one : status)
    EXPECT_TRUE(one.ok()) << one.message();
}

// Also where they have begun, and agree on something later.
TEST_F(MembershipTest, AChiefServesUntilAllHaveReadTheLastExchange) {
  struct : SystemSurroundings {
    Clock::time_point now() override {
      if (isSlow)
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      return system.now();
    }
    std::atomic<bool> isSlow{false};
  } slow;
  PatientSurroundings patient;
  options[0].surroundings = &patient;
  options[1].surroundings = &slow;
  std::atomic<int> begun{0};
  for (MembershipOptions &one : options)
    one.timeout = 60;
  joinAll(3, [&](int i, Membership &membership) {
    membership.endStart();
    // Not for one that could not join.
    ++begun;
    for (auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
         begun < 3 && std::chrono::steady_clock::now() < end;)
      std::this_thread::yield();
    slow.isSlow = true; // between what it puts and what it reads, too
    std::vector<std::vector<std::string>> all;
    Status met = membership.exchange("stop", {std::to_string(i)}, &all);
    EXPECT_TRUE(met.ok()) << i << ": " << met.message();
    if (i == 0) // it leaves, however long it takes
      patient.stands = true;
  });
  for (const Status &one : status)
    EXPECT_TRUE(one.ok()) << one.message();
}

} // namespace
