//===- membership_changes_test.cpp - Who waits asks little ------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each member is a thread of its own here, and all that it asks of the store is
// counted.
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/etcd/client.h"
#include "runtime/cluster/membership/membership.h"
#include "test/runtime/cluster/cluster_fixture.h"
#include "test/runtime/cluster/reserved_port.h"
#include "test/runtime/cluster/system_surroundings.h"
#include <atomic>
#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

using namespace dist;
using namespace dist::cluster;
using namespace etcdserverpb;
using testing::HasSubstr;

namespace {

enum class Watches { Kept, None, Refused };

/// A store's client that counts what it is asked.
class CountingStore final : public Store {
public:
  CountingStore(std::unique_ptr<Store> store, std::atomic<int> &asked,
                Watches watches)
      : store(std::move(store)), asked(asked), watches(watches) {}

  void waitForConnection(int64_t milliseconds) override {
    store->waitForConnection(milliseconds);
  }
  StoreResult range(const RangeRequest &request,
                    RangeResponse *response) override {
    ++asked;
    return store->range(request, response);
  }
  StoreResult put(const PutRequest &request, PutResponse *response) override {
    ++asked;
    return store->put(request, response);
  }
  StoreResult deleteRange(const DeleteRangeRequest &request,
                          DeleteRangeResponse *response) override {
    ++asked;
    return store->deleteRange(request, response);
  }
  StoreResult txn(const TxnRequest &request, TxnResponse *response) override {
    ++asked;
    return store->txn(request, response);
  }
  StoreResult leaseGrant(const LeaseGrantRequest &request,
                         LeaseGrantResponse *response) override {
    return store->leaseGrant(request, response);
  }
  StoreResult leaseRevoke(const LeaseRevokeRequest &request,
                          LeaseRevokeResponse *response) override {
    return store->leaseRevoke(request, response);
  }
  StoreResult leaseKeepAlive(int64_t id,
                             LeaseKeepAliveResponse *response) override {
    return store->leaseKeepAlive(id, response);
  }
  std::unique_ptr<Watch>
  watch(const WatchCreateRequest &request,
        std::function<void(const WatchResponse &)> onResponse,
        std::function<void(const StoreResult &)> onEnd) override {
    if (watches == Watches::Kept)
      return store->watch(request, std::move(onResponse), std::move(onEnd));
    if (watches == Watches::None)
      return nullptr;
    onEnd({StoreCode::Internal, "no permission"});
    return std::make_unique<Watch>();
  }

private:
  std::unique_ptr<Store> store;
  std::atomic<int> &asked;
  const Watches watches;
};

/// The system's, but for the store.
class CountingSurroundings final : public SystemSurroundings {
public:
  std::unique_ptr<Store> connect(const EtcdClientOptions &options) override {
    return std::make_unique<CountingStore>(system.connect(options), asked,
                                           watches);
  }

  std::atomic<int> asked{0};
  Watches watches = Watches::Kept;
};

class MembershipChanges : public testing::Test {
protected:
  void SetUp() override {
    for (int i = 0; i < 3; ++i)
      spec.of(Job::Worker).push_back({"127.0.0.1", i == 0 ? int(port) : i});
  }
  void TearDown() override {
    for (int i : {2, 1, 0})
      members[i].reset();
  }
  Status join(int i) {
    MembershipOptions options;
    options.spec = spec;
    options.spec.self = Task{Job::Worker, i};
    options.isElastic = true;
    options.timeout = 120;
    options.surroundings = &around;
    options.note = [this](const std::string &line) {
      std::lock_guard<std::mutex> guard(mutex);
      if (line.find("waiting") == std::string::npos)
        notes.push_back(line);
    };
    Status status = Membership::join(options, &members[i]);
    if (status.ok())
      members[i]->endStart();
    return status;
  }
  Status exchange(int i) {
    std::vector<std::vector<std::string>> heard;
    return members[i]->exchange("test", {std::to_string(i)}, &heard);
  }
  /// Two wait until the third does what all do.
  void doLate(const std::function<void()> &waitFirst,
              const std::function<Status(int)> &what) {
    atOnce({0, 1, 2}, [&](int i) {
      if (i == 2)
        waitFirst();
      return what(i);
    });
  }
  /// All meet, the third when another has said something.
  void meetWhenTold() {
    auto isTold = [&] {
      std::lock_guard<std::mutex> guard(mutex);
      return !notes.empty();
    };
    doLate(
        [&] {
          for (int i = 0; i < 6000 && !isTold(); ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        },
        [&](int i) { return join(i); });
  }

  const ReservedPort port;
  CountingSurroundings around;
  ClusterSpec spec;
  std::unique_ptr<Membership> members[3];
  std::mutex mutex;
  std::vector<std::string> notes;
};

} // namespace

// However long the others wait. Who asked each tenth of a second would ask some
// forty times in a second.
TEST_F(MembershipChanges, WhoWaitsIsToldAndAsksLittle) {
  const auto asksLittle = [&](const std::function<Status(int)> &what) {
    const int before = around.asked;
    auto begin = std::chrono::steady_clock::now();
    doLate([] { std::this_thread::sleep_for(std::chrono::seconds(2)); }, what);
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - begin;
    // A few for what each member puts, and once a second in case the store
    // hangs.
    EXPECT_LT(around.asked - before, 40 + 10 * time.count());
  };
  asksLittle([&](int i) { return join(i); });
  asksLittle([&](int i) { return exchange(i); });
  asksLittle([&](int i) {
    RegroupOptions options;
    options.lost = [] { return std::vector<int>(); };
    options.timeout = 60;
    return members[i]->regroup(options);
  });
  EXPECT_TRUE(notes.empty()) << notes.front();
}

// What is known beside the store ends a wait, though no key has changed.
TEST_F(MembershipChanges, WhatIsKnownElsewhereEndsAWait) {
  atOnce({0, 1, 2}, [&](int i) { return join(i); });
  std::atomic<bool> isLost{false};
  members[0]->watch([&] {
    return isLost ? Status::error(StatusCode::Unavailable, "worker 2 is lost",
                                  "", "")
                  : Status();
  });
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    isLost = true;
  });
  EXPECT_THAT(exchange(0).message(), HasSubstr("worker 2 is lost"));
  later.join();
}

// It is asked then, and a user is told why.
TEST_F(MembershipChanges, AStoreWithoutWatchesIsAsked) {
  around.watches = Watches::None;
  meetWhenTold();
  atOnce({0, 1, 2}, [&](int i) { return exchange(i); });
  ASSERT_FALSE(notes.empty());
  EXPECT_EQ(notes.front(), "the store does not tell of changes (it has no "
                           "watches): it is asked instead, each 100 ms");
}

TEST_F(MembershipChanges, AStoreThatRefusesAWatchIsAsked) {
  around.watches = Watches::Refused;
  meetWhenTold();
  atOnce({0, 1, 2}, [&](int i) { return exchange(i); });
  // Each says so once.
  ASSERT_GE(notes.size(), 1u);
  EXPECT_LE(notes.size(), 3u);
  EXPECT_THAT(notes.front(), HasSubstr("(no permission)"));
}
