//===- etcd_txn_test.cpp - Transactions -------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/cluster/etcd_fixture.h"
#include <functional>
#include <thread>

using namespace dist::cluster;
using namespace etcdserverpb;
using testing::ElementsAre;

INSTANTIATE_ETCD_TEST(EtcdTxn);

static Compare compare(const std::string &key, Compare::CompareTarget target,
                       Compare::CompareResult result) {
  Compare one;
  one.set_key(key);
  one.set_target(target);
  one.set_result(result);
  return one;
}

static RequestOp putOf(const std::string &key, const std::string &value) {
  RequestOp operation;
  operation.mutable_request_put()->set_key(key);
  operation.mutable_request_put()->set_value(value);
  return operation;
}

static RequestOp deleteOf(const std::string &key, const std::string &end = "") {
  RequestOp operation;
  operation.mutable_request_delete_range()->set_key(key);
  operation.mutable_request_delete_range()->set_range_end(end);
  return operation;
}

static RequestOp rangeOp(const std::string &key) {
  RequestOp operation;
  operation.mutable_request_range()->set_key(key);
  return operation;
}

TEST_P(EtcdTxn, ComparesAllTargets) {
  int64_t lease = grant(60);
  int64_t created = put("a", "m", lease);
  put("a", "m", lease);
  auto holds = [&](Compare one) {
    TxnRequest request;
    *request.add_compare() = one;
    TxnResponse response;
    StoreResult result = client->txn(request, &response);
    EXPECT_TRUE(result.ok()) << result.message;
    return response.succeeded();
  };
  struct Case {
    Compare::CompareTarget target;
    std::function<void(Compare &, int64_t)> set;
    int64_t equal;
  } cases[] = {
      {Compare::VERSION, [](Compare &c, int64_t x) { c.set_version(x); }, 2},
      {Compare::CREATE, [](Compare &c, int64_t x) { c.set_create_revision(x); },
       created},
      {Compare::MOD, [](Compare &c, int64_t x) { c.set_mod_revision(x); },
       created + 1},
      {Compare::LEASE, [](Compare &c, int64_t x) { c.set_lease(x); }, lease},
      {Compare::VALUE,
       [](Compare &c, int64_t x) { c.set_value(std::string(1, char(x))); },
       'm'},
  };
  for (const Case &one : cases)
    for (int64_t offset : {-1, 0, 1}) {
      auto is = [&](Compare::CompareResult result) {
        Compare c = compare(key("a"), one.target, result);
        one.set(c, one.equal + offset);
        return holds(c);
      };
      EXPECT_EQ(is(Compare::EQUAL), offset == 0) << one.target << offset;
      EXPECT_EQ(is(Compare::NOT_EQUAL), offset != 0) << one.target << offset;
      EXPECT_EQ(is(Compare::GREATER), offset < 0) << one.target << offset;
      EXPECT_EQ(is(Compare::LESS), offset > 0) << one.target << offset;
    }
}

TEST_P(EtcdTxn, ComparesKeysThatAreNotThere) {
  auto succeeds = [&](Compare one) {
    TxnRequest request;
    *request.add_compare() = one;
    TxnResponse response;
    EXPECT_TRUE(client->txn(request, &response).ok());
    return response.succeeded();
  };
  Compare one = compare(key("none"), Compare::CREATE, Compare::EQUAL);
  one.set_create_revision(0);
  EXPECT_TRUE(succeeds(one));
  one = compare(key("none"), Compare::VERSION, Compare::GREATER);
  one.set_version(0);
  EXPECT_FALSE(succeeds(one));
  // No value is neither equal nor another one.
  one = compare(key("none"), Compare::VALUE, Compare::NOT_EQUAL);
  one.set_value("x");
  EXPECT_FALSE(succeeds(one));
}

TEST_P(EtcdTxn, ComparesRanges) {
  put("a", "1");
  put("b", "1");
  TxnRequest request;
  Compare *one = request.add_compare();
  *one = compare(prefix, Compare::VALUE, Compare::EQUAL);
  one->set_range_end(endOf(prefix));
  one->set_value("1");
  TxnResponse response;
  ASSERT_TRUE(client->txn(request, &response).ok());
  EXPECT_TRUE(response.succeeded());
  put("b", "2");
  response.Clear();
  ASSERT_TRUE(client->txn(request, &response).ok());
  EXPECT_FALSE(response.succeeded());
}

TEST_P(EtcdTxn, IsOneWriteOfOneRevision) {
  int64_t before = put("old", "0");
  TxnRequest request;
  *request.add_success() = putOf(key("a"), "1");
  *request.add_success() = putOf(key("b"), "2");
  *request.add_success() = rangeOp(key("a"));
  *request.add_success() = deleteOf(key("old"));
  TxnResponse response;
  ASSERT_TRUE(client->txn(request, &response).ok());
  EXPECT_TRUE(response.succeeded());
  EXPECT_EQ(response.header().revision(), before + 1);
  ASSERT_EQ(response.responses_size(), 4);
  // What comes later sees what came before.
  ASSERT_EQ(response.responses(2).response_range().kvs_size(), 1);
  EXPECT_EQ(response.responses(2).response_range().kvs(0).mod_revision(),
            before + 1);
  EXPECT_EQ(response.responses(3).response_delete_range().deleted(), 1);
  EXPECT_THAT(pairs(), ElementsAre("a=1", "b=2"));
}

TEST_P(EtcdTxn, TheOtherBranchAndReadingHaveNoRevision) {
  int64_t before = put("a", "1");
  TxnRequest request;
  Compare *one = request.add_compare();
  *one = compare(key("a"), Compare::VERSION, Compare::EQUAL);
  one->set_version(0);
  *request.add_success() = putOf(key("a"), "2");
  *request.add_failure() = rangeOp(key("a"));
  TxnResponse response;
  ASSERT_TRUE(client->txn(request, &response).ok());
  EXPECT_FALSE(response.succeeded());
  EXPECT_EQ(response.header().revision(), before);
  EXPECT_EQ(response.responses(0).response_range().kvs(0).value(), "1");
}

TEST_P(EtcdTxn, RefusesWritingAKeyTwice) {
  TxnResponse response;
  TxnRequest twice;
  *twice.add_success() = putOf(key("a"), "1");
  *twice.add_success() = putOf(key("a"), "2");
  expectRefused(client->txn(twice, &response), StoreCode::InvalidArgument,
                "duplicate key given in txn request");
  TxnRequest deleted;
  *deleted.add_failure() = putOf(key("b"), "1");
  *deleted.add_failure() = deleteOf(key("a"), key("c"));
  expectRefused(client->txn(deleted, &response), StoreCode::InvalidArgument,
                "duplicate key given in txn request");
  // Branches exclude each other.
  TxnRequest branches;
  *branches.add_success() = putOf(key("a"), "1");
  *branches.add_failure() = putOf(key("a"), "2");
  EXPECT_TRUE(client->txn(branches, &response).ok());
  EXPECT_THAT(pairs(), ElementsAre("a=1"));
}

TEST_P(EtcdTxn, RefusesTooManyOperations) {
  TxnRequest request;
  for (int i = 0; i < 129; ++i)
    *request.add_success() = putOf(key(std::to_string(i)), "1");
  TxnResponse response;
  expectRefused(client->txn(request, &response), StoreCode::InvalidArgument,
                "too many operations in txn request");
  request.mutable_success()->RemoveLast();
  response.Clear();
  ASSERT_TRUE(client->txn(request, &response).ok());
  EXPECT_EQ(pairs().size(), 128u);
}

TEST_P(EtcdTxn, NestsOthers) {
  put("a", "1");
  TxnRequest request;
  *request.add_success() = putOf(key("b"), "2");
  TxnRequest *nested = request.add_success()->mutable_request_txn();
  Compare *one = nested->add_compare();
  *one = compare(key("a"), Compare::VALUE, Compare::EQUAL);
  one->set_value("1");
  *nested->add_success() = putOf(key("c"), "yes");
  *nested->add_failure() = putOf(key("c"), "no");
  TxnResponse response;
  ASSERT_TRUE(client->txn(request, &response).ok());
  EXPECT_TRUE(response.responses(1).response_txn().succeeded());
  EXPECT_THAT(pairs(), ElementsAre("a=1", "b=2", "c=yes"));
  *request.add_success() = putOf(key("c"), "both");
  expectRefused(client->txn(request, &response), StoreCode::InvalidArgument,
                "duplicate key given in txn request");
}

/// As locks and counters are made: of several that compare, one wins.
TEST_P(EtcdTxn, ManyClientsCountTogether) {
  put("n", "0");
  constexpr int kClients = 4, kCounts = 25;
  auto count = [&] {
    EtcdClient own(address, 20000);
    for (int done = 0; done < kCounts;) {
      RangeRequest read;
      read.set_key(key("n"));
      RangeResponse found;
      ASSERT_TRUE(own.range(read, &found).ok());
      TxnRequest request;
      Compare *one = request.add_compare();
      *one = compare(key("n"), Compare::MOD, Compare::EQUAL);
      one->set_mod_revision(found.kvs(0).mod_revision());
      *request.add_success() =
          putOf(key("n"), std::to_string(std::stoi(found.kvs(0).value()) + 1));
      TxnResponse response;
      ASSERT_TRUE(own.txn(request, &response).ok());
      done += response.succeeded();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kClients; ++i)
    threads.emplace_back(count);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_THAT(pairs(), ElementsAre("n=" + std::to_string(kClients * kCounts)));
}
