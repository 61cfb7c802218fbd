//===- etcd_state_test.cpp - The state machine by itself --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/etcd/state.h"
#include <gmock/gmock.h>
#include <ctime>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace dist::cluster;
using namespace etcdserverpb;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

/// A state whose records are kept in memory, and which may fail to.
class StateTest : public testing::Test {
protected:
  StateTest()
      : state([this](const JournalRecord &record) {
          if (isFull)
            return StoreResult(StoreCode::Unavailable, "full");
          records.push_back(record);
          return StoreResult();
        }) {}

  static std::string textOf(const EtcdState &state) {
    RangeRequest request;
    request.set_key(std::string(1, 0));
    request.set_range_end(std::string(1, 0));
    RangeResponse response;
    EXPECT_TRUE(state.range(request, &response).ok());
    int64_t behind = 0;
    std::string text = response.ShortDebugString();
    for (const mvccpb::Event &event :
         state.eventsFrom(0, {std::string(1, 0), std::string(1, 0)}, true,
                          SIZE_MAX, &behind))
      text += "\n" + event.ShortDebugString();
    return text;
  }
  StoreResult put(const std::string &key, const std::string &value,
                  int64_t lease = 0) {
    PutRequest request;
    request.set_key(key);
    request.set_value(value);
    request.set_lease(lease);
    PutResponse response;
    return state.put(request, &response);
  }
  int64_t grant(int64_t ttl, int64_t now) {
    LeaseGrantRequest request;
    request.set_ttl(ttl);
    LeaseGrantResponse response;
    EXPECT_TRUE(state.leaseGrant(request, now, &response).ok());
    return response.id();
  }
  int64_t keepAlive(int64_t id, int64_t now) {
    LeaseKeepAliveRequest request;
    request.set_id(id);
    LeaseKeepAliveResponse response;
    state.leaseKeepAlive(request, now, &response);
    return response.ttl();
  }
  bool has(const std::string &key) const {
    RangeRequest request;
    request.set_key(key);
    RangeResponse response;
    EXPECT_TRUE(state.range(request, &response).ok());
    return response.count() == 1;
  }

  bool isFull = false;
  std::vector<JournalRecord> records;
  EtcdState state;
};

} // namespace

TEST_F(StateTest, LeasesEndByTheClockThatIsHandedIn) {
  int64_t lease = grant(2, 1000);
  ASSERT_TRUE(put("a", "1", lease).ok());
  EXPECT_EQ(state.nextExpiry(), 3000);
  ASSERT_TRUE(state.expire(2999).ok());
  EXPECT_TRUE(has("a"));
  EXPECT_EQ(keepAlive(lease, 2999), 2);
  ASSERT_TRUE(state.expire(3000).ok());
  EXPECT_TRUE(has("a"));
  ASSERT_TRUE(state.expire(4999).ok());
  EXPECT_FALSE(has("a"));
  EXPECT_EQ(keepAlive(lease, 4999), 0);
  EXPECT_FALSE(state.nextExpiry());
}

/// Too late is too late, whether or not somebody has looked meanwhile.
TEST_F(StateTest, AnEndedLeaseCannotBeKept) {
  int64_t lease = grant(1, 0);
  EXPECT_EQ(keepAlive(lease, 1000), 0);
  ASSERT_TRUE(state.expire(1000).ok());
  EXPECT_EQ(keepAlive(lease, 1000), 0);
}

TEST_F(StateTest, LeasesEndInTheirOrder) {
  int64_t late = grant(2, 0), early = grant(1, 0);
  ASSERT_TRUE(put("late", "", late).ok());
  ASSERT_TRUE(put("early", "", early).ok());
  records.clear();
  ASSERT_TRUE(state.expire(5000).ok());
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].ended_lease(), early);
  EXPECT_EQ(records[1].events(0).kv().key(), "late");
}

TEST_F(StateTest, WhatIsNotKeptHasNotHappened) {
  int64_t lease = grant(1, 0);
  ASSERT_TRUE(put("a", "1", lease).ok());
  std::string before = textOf(state);
  isFull = true;
  EXPECT_EQ(put("a", "2").message, "full");
  DeleteRangeRequest request;
  request.set_key("a");
  DeleteRangeResponse response;
  EXPECT_FALSE(state.deleteRange(request, &response).ok());
  TxnRequest txn;
  txn.add_success()->mutable_request_put()->set_key("b");
  TxnResponse answered;
  EXPECT_FALSE(state.txn(txn, &answered).ok());
  EXPECT_FALSE(state.expire(5000).ok());
  LeaseGrantRequest granted;
  LeaseGrantResponse answer;
  EXPECT_FALSE(state.leaseGrant(granted, 0, &answer).ok());
  EXPECT_EQ(textOf(state), before);
  // It goes on when there is room again.
  isFull = false;
  ASSERT_TRUE(state.expire(5000).ok());
  EXPECT_FALSE(has("a"));
}

TEST_F(StateTest, ATransactionWithAnUnknownLeaseDoesNothing) {
  TxnRequest request;
  request.add_success()->mutable_request_put()->set_key("a");
  PutRequest *second = request.add_success()->mutable_request_put();
  second->set_key("b");
  second->set_lease(7);
  TxnResponse response;
  EXPECT_EQ(int(state.txn(request, &response).code), int(StoreCode::NotFound));
  EXPECT_FALSE(has("a"));
  EXPECT_THAT(records, IsEmpty());
}

TEST_F(StateTest, DeepNestingIsRefused) {
  TxnRequest request;
  TxnRequest *inner = &request;
  for (int i = 0; i < 40; ++i)
    inner = inner->add_success()->mutable_request_txn();
  TxnResponse response;
  EXPECT_THAT(state.txn(request, &response).message,
              HasSubstr("too many operations"));
}

/// All clients wait while a request is checked: with each write compared to
/// each other, one of the largest size would take many seconds.
TEST_F(StateTest, ManyWritesAreCheckedSoon) {
  TxnRequest request;
  int key = 0;
  for (int i = 0; i < 128; ++i) {
    TxnRequest *middle = request.add_success()->mutable_request_txn();
    for (int j = 0; j < 4; ++j) {
      TxnRequest *inner = middle->add_success()->mutable_request_txn();
      // It fails: the deletions are done, of nothing.
      Compare *one = inner->add_compare();
      one->set_key("x");
      one->set_target(Compare::VALUE);
      for (int k = 0; k < 100; ++k, ++key) {
        std::string name = {char(key >> 12), char(key >> 6 & 63),
                            char(key & 63)};
        inner->add_success()->mutable_request_put()->set_key("p" + name);
        inner->add_failure()->mutable_request_delete_range()->set_key("d" +
                                                                      name);
      }
    }
  }
  std::clock_t begin = std::clock();
  TxnResponse response;
  StoreResult result = state.txn(request, &response);
  double seconds = double(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(state.revision(), 1);
  RecordProperty("seconds", std::to_string(seconds));
  EXPECT_LT(seconds, 4); // 0.3; compared one by one 6
}

TEST_F(StateTest, EventsComeInPiecesOfWholeRevisions) {
  TxnRequest request;
  for (const char *key : {"a", "b", "c"}) {
    PutRequest *put = request.add_success()->mutable_request_put();
    put->set_key(key);
    put->set_value(std::string(100, 'x'));
  }
  TxnResponse response;
  ASSERT_TRUE(state.txn(request, &response).ok());
  ASSERT_TRUE(put("d", std::string(100, 'x')).ok());
  KeyRange all{std::string(1, 0), std::string(1, 0)};
  int64_t behind = 0;
  EXPECT_EQ(state.eventsFrom(1, all, false, 50, &behind).size(), 3u);
  EXPECT_EQ(behind, 3);
  EXPECT_EQ(state.eventsFrom(behind, all, false, 50, &behind).size(), 1u);
  EXPECT_EQ(behind, 4);
}

/// Any sequence of requests, applied again from its records, comes to the same.
TEST_F(StateTest, RecordsRestoreTheState) {
  std::mt19937 random(7);
  ASSERT_TRUE(state.beginEpoch().ok());
  std::vector<int64_t> leases;
  int64_t now = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string key(1, char('a' + random() % 8));
    int64_t lease =
        leases.empty() || random() % 2 ? 0 : leases[random() % leases.size()];
    switch (random() % 6) {
    case 0:
    case 1:
      (void)put(key, std::to_string(i), lease);
      break;
    case 2: {
      DeleteRangeRequest request;
      request.set_key(key);
      request.set_range_end(std::string(1, char(key[0] + random() % 3)));
      DeleteRangeResponse response;
      ASSERT_TRUE(state.deleteRange(request, &response).ok());
      break;
    }
    case 3: {
      TxnRequest request;
      Compare *one = request.add_compare();
      one->set_key(key);
      one->set_target(Compare::VERSION);
      one->set_result(Compare::GREATER);
      request.add_success()->mutable_request_delete_range()->set_key(key);
      PutRequest *put = request.add_failure()->mutable_request_put();
      put->set_key(key);
      put->set_lease(lease);
      TxnResponse response;
      (void)state.txn(request, &response);
      break;
    }
    case 4:
      leases.push_back(grant(1 + int64_t(random() % 5), now));
      break;
    default:
      now += int64_t(random() % 1000);
      ASSERT_TRUE(state.expire(now).ok());
    }
  }
  EXPECT_GT(state.revision(), 500);
  EtcdState again([](const JournalRecord &) { return StoreResult(); });
  for (const JournalRecord &record : records) {
    StoreResult result = again.restore(record, 0);
    ASSERT_TRUE(result.ok()) << result.message;
  }
  EXPECT_EQ(textOf(again), textOf(state));
  EXPECT_EQ(again.epoch(), 1);
  // Leases are the same, with all of their time before them.
  ASSERT_TRUE(state.expire(INT64_MAX).ok());
  ASSERT_TRUE(again.expire(INT64_MAX).ok());
  EXPECT_EQ(again.revision() > 0, state.revision() > 0);
  RangeRequest request;
  request.set_key("a");
  request.set_range_end("z");
  RangeResponse mine, other;
  ASSERT_TRUE(state.range(request, &mine).ok());
  ASSERT_TRUE(again.range(request, &other).ok());
  EXPECT_EQ(mine.count(), other.count());
}

TEST_F(StateTest, RecordsOfAnotherStoreAreRefused) {
  ASSERT_TRUE(put("a", "1").ok());
  ASSERT_TRUE(put("a", "2").ok());
  EtcdState other([](const JournalRecord &) { return StoreResult(); });
  EXPECT_EQ(other.restore(records[1], 0).message,
            "a record of revision 3 follows 1");
  JournalRecord epoch;
  epoch.set_epoch(3);
  EXPECT_EQ(other.restore(epoch, 0).message, "epoch 3 follows 0");
}

TEST_F(StateTest, NumbersOfLeasesAreNotGivenAgain) {
  ASSERT_TRUE(state.beginEpoch().ok());
  int64_t before = grant(1, 0);
  ASSERT_TRUE(state.expire(1000).ok());
  EtcdState again([](const JournalRecord &) { return StoreResult(); });
  for (const JournalRecord &record : records)
    ASSERT_TRUE(again.restore(record, 0).ok());
  ASSERT_TRUE(again.beginEpoch().ok());
  LeaseGrantRequest request;
  request.set_ttl(1);
  LeaseGrantResponse response;
  ASSERT_TRUE(again.leaseGrant(request, 0, &response).ok());
  EXPECT_GT(response.id(), before);
}

/// It is of the same epoch as one before that was emptied.
TEST_F(StateTest, NumbersOfLeasesAreNotThoseOfAStoreThatWasEmptied) {
  ASSERT_TRUE(state.beginEpoch(1000).ok());
  EtcdState emptied([](const JournalRecord &) { return StoreResult(); });
  ASSERT_TRUE(emptied.beginEpoch(~0u).ok());
  EXPECT_EQ(emptied.epoch(), state.epoch());
  std::set<int64_t> before;
  for (int i = 0; i < 10; ++i)
    before.insert(grant(1, 0));
  for (int i = 0; i < 10; ++i) {
    LeaseGrantRequest request;
    request.set_ttl(1);
    LeaseGrantResponse response;
    ASSERT_TRUE(emptied.leaseGrant(request, 0, &response).ok());
    EXPECT_EQ(before.count(response.id()), 0u);
    // The next epoch's are others still.
    EXPECT_LT(response.id(), (emptied.epoch() + 1) << 32);
  }
}
