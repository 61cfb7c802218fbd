//===- etcd_kv_test.cpp - Keys, ranges and revisions ------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/cluster/etcd_fixture.h"

using namespace dist::cluster;
using namespace etcdserverpb;
using testing::ElementsAre;
using testing::IsEmpty;

INSTANTIATE_ETCD_TEST(EtcdKv);

TEST_P(EtcdKv, RevisionsAndVersions) {
  int64_t first = put("a", "1"), second = put("a", "2"), third = put("b", "3");
  EXPECT_EQ(second, first + 1);
  EXPECT_EQ(third, first + 2);
  RangeRequest request;
  request.set_key(key("a"));
  RangeResponse response;
  ASSERT_TRUE(client->range(request, &response).ok());
  ASSERT_EQ(response.kvs_size(), 1);
  EXPECT_EQ(response.kvs(0).create_revision(), first);
  EXPECT_EQ(response.kvs(0).mod_revision(), second);
  EXPECT_EQ(response.kvs(0).version(), 2);
  EXPECT_EQ(response.kvs(0).value(), "2");
  EXPECT_GE(response.header().revision(), third);
  // A key that comes again begins anew.
  int64_t fourth = remove("a");
  EXPECT_EQ(fourth, third + 1);
  int64_t fifth = put("a", "4");
  response.Clear();
  ASSERT_TRUE(client->range(request, &response).ok());
  EXPECT_EQ(response.kvs(0).create_revision(), fifth);
  EXPECT_EQ(response.kvs(0).version(), 1);
}

TEST_P(EtcdKv, WhatChangesNothingHasNoRevision) {
  int64_t before = put("a", "1");
  EXPECT_EQ(remove("nothing"), before);
  EXPECT_EQ(put("a", "1"), before + 1); // the same value is a write
}

TEST_P(EtcdKv, ReadsAsThingsWere) {
  int64_t first = put("a", "1");
  put("b", "2");
  remove("a");
  RangeRequest request;
  request.set_key(prefix);
  request.set_range_end(endOf(prefix));
  request.set_revision(first);
  RangeResponse response;
  ASSERT_TRUE(client->range(request, &response).ok());
  ASSERT_EQ(response.kvs_size(), 1);
  EXPECT_EQ(response.kvs(0).value(), "1");
  request.set_revision(revision() + 1000);
  expectRefused(client->range(request, &response), StoreCode::OutOfRange,
                "required revision is a future revision");
}

TEST_P(EtcdKv, RangesLimitsAndOrders) {
  for (const char *name : {"c", "a", "d", "b"})
    put(name, std::string(1, char('z' - name[0])));
  EXPECT_THAT(pairs(), ElementsAre("a=\x19", "b=\x18", "c=\x17", "d=\x16"));
  RangeRequest request;
  request.set_key(key("b"));
  request.set_range_end(key("d"));
  RangeResponse response;
  ASSERT_TRUE(client->range(request, &response).ok());
  ASSERT_EQ(response.kvs_size(), 2); // the end is not within
  request.set_key(prefix);
  request.set_range_end(endOf(prefix));
  request.set_limit(3);
  response.Clear();
  ASSERT_TRUE(client->range(request, &response).ok());
  EXPECT_EQ(response.kvs_size(), 3);
  EXPECT_TRUE(response.more());
  EXPECT_EQ(response.count(), 4);
  request.set_limit(4);
  response.Clear();
  ASSERT_TRUE(client->range(request, &response).ok());
  EXPECT_FALSE(response.more());
  auto names = [&](RangeRequest::SortTarget target,
                   RangeRequest::SortOrder order) {
    request.set_limit(0);
    request.set_sort_target(target);
    request.set_sort_order(order);
    response.Clear();
    EXPECT_TRUE(client->range(request, &response).ok());
    std::string all;
    for (const mvccpb::KeyValue &pair : response.kvs())
      all += pair.key().back();
    return all;
  };
  EXPECT_EQ(names(RangeRequest::KEY, RangeRequest::DESCEND), "dcba");
  EXPECT_EQ(names(RangeRequest::VALUE, RangeRequest::ASCEND), "dcba");
  EXPECT_EQ(names(RangeRequest::CREATE, RangeRequest::NONE), "cadb");
  EXPECT_EQ(names(RangeRequest::MOD, RangeRequest::DESCEND), "bdac");
  request.set_sort_order(RangeRequest::NONE);
  request.set_sort_target(RangeRequest::KEY);
  request.set_count_only(true);
  response.Clear();
  ASSERT_TRUE(client->range(request, &response).ok());
  EXPECT_EQ(response.count(), 4);
  EXPECT_EQ(response.kvs_size(), 0);
  request.set_count_only(false);
  request.set_keys_only(true);
  response.Clear();
  ASSERT_TRUE(client->range(request, &response).ok());
  ASSERT_EQ(response.kvs_size(), 4);
  EXPECT_EQ(response.kvs(0).value(), "");
}

TEST_P(EtcdKv, FiltersByRevision) {
  int64_t first = put("a", "1"), second = put("b", "1"), third = put("a", "2");
  RangeRequest request;
  request.set_key(prefix);
  request.set_range_end(endOf(prefix));
  request.set_max_create_revision(first);
  RangeResponse response;
  ASSERT_TRUE(client->range(request, &response).ok());
  ASSERT_EQ(response.kvs_size(), 1);
  EXPECT_EQ(response.kvs(0).mod_revision(), third);
  request.clear_max_create_revision();
  request.set_max_mod_revision(second);
  response.Clear();
  ASSERT_TRUE(client->range(request, &response).ok());
  ASSERT_EQ(response.kvs_size(), 1);
  EXPECT_EQ(response.kvs(0).key(), key("b"));
}

TEST_P(EtcdKv, OpenRangesAndEmptyOnes) {
  put("a", "1");
  RangeRequest request;
  request.set_key(key("a"));
  request.set_range_end(std::string(1, 0));
  RangeResponse response;
  ASSERT_TRUE(client->range(request, &response).ok());
  EXPECT_GE(response.count(), 1);
  EXPECT_EQ(response.kvs(0).key(), key("a"));
  request.set_range_end(key("a"));
  response.Clear();
  ASSERT_TRUE(client->range(request, &response).ok());
  EXPECT_EQ(response.count(), 0);
}

TEST_P(EtcdKv, PutGivesTheOldPairAndKeepsParts) {
  int64_t lease = grant(60);
  put("a", "1", lease);
  PutRequest request;
  request.set_key(key("a"));
  request.set_prev_kv(true);
  request.set_ignore_value(true);
  PutResponse response;
  ASSERT_TRUE(client->put(request, &response).ok());
  EXPECT_EQ(response.prev_kv().value(), "1");
  EXPECT_EQ(response.prev_kv().lease(), lease);
  // The value was kept, the lease was not.
  EXPECT_THAT(pairs(), ElementsAre("a=1"));
  request.set_ignore_value(false);
  request.set_value("2");
  request.set_lease(lease);
  ASSERT_TRUE(client->put(request, &response).ok());
  request.set_lease(0);
  request.set_ignore_lease(true);
  request.set_value("3");
  ASSERT_TRUE(client->put(request, &response).ok());
  LeaseRevokeRequest revoke;
  revoke.set_id(lease);
  LeaseRevokeResponse revoked;
  ASSERT_TRUE(client->leaseRevoke(revoke, &revoked).ok());
  EXPECT_THAT(pairs(), IsEmpty());
}

TEST_P(EtcdKv, RefusesWrongRequests) {
  PutRequest request;
  PutResponse response;
  expectRefused(client->put(request, &response), StoreCode::InvalidArgument,
                "key is not provided");
  request.set_key(key("a"));
  request.set_ignore_value(true);
  expectRefused(client->put(request, &response), StoreCode::InvalidArgument,
                "key not found");
  request.set_value("1");
  expectRefused(client->put(request, &response), StoreCode::InvalidArgument,
                "value is provided");
  request.set_ignore_value(false);
  request.set_lease(12345);
  expectRefused(client->put(request, &response), StoreCode::NotFound,
                "requested lease not found");
  request.set_ignore_lease(true);
  expectRefused(client->put(request, &response), StoreCode::InvalidArgument,
                "lease is provided");
  RangeResponse ranged;
  expectRefused(client->range({}, &ranged), StoreCode::InvalidArgument,
                "key is not provided");
  DeleteRangeResponse deleted;
  expectRefused(client->deleteRange({}, &deleted), StoreCode::InvalidArgument,
                "key is not provided");
  EXPECT_THAT(pairs(), IsEmpty());
}

TEST_P(EtcdKv, LargeValuesAndTooLargeOnes) {
  std::string large(1 << 20, 'x');
  put("a", large);
  EXPECT_THAT(pairs(), ElementsAre("a=" + large));
  PutRequest request;
  request.set_key(key("b"));
  request.set_value(std::string(1600 * 1024, 'x'));
  PutResponse response;
  expectRefused(client->put(request, &response), StoreCode::InvalidArgument,
                "request is too large");
  EXPECT_EQ(pairs().size(), 1u);
}

TEST_P(EtcdKv, KeysAndValuesAreAnyBytes) {
  std::string odd("\0\xff\n", 3);
  put(odd, odd);
  EXPECT_THAT(pairs(), ElementsAre(odd + "=" + odd));
}

TEST_P(EtcdKv, DeletesRanges) {
  for (const char *name : {"a", "b", "c"})
    put(name, name);
  int64_t before = revision();
  DeleteRangeRequest request;
  request.set_key(key("a"));
  request.set_range_end(key("c"));
  request.set_prev_kv(true);
  DeleteRangeResponse response;
  ASSERT_TRUE(client->deleteRange(request, &response).ok());
  EXPECT_EQ(response.deleted(), 2);
  EXPECT_EQ(response.prev_kvs_size(), 2);
  EXPECT_EQ(response.header().revision(), before + 1);
  EXPECT_THAT(pairs(), ElementsAre("c=c"));
}

TEST_P(EtcdKv, CompactionIsEtcdsAlone) {
  if (GetParam() != std::string("embedded"))
    GTEST_SKIP() << "it would take the other tests' history away";
  CompactionResponse response;
  expectRefused(client->compact({}, &response), StoreCode::Unimplemented,
                "the embedded server keeps all revisions");
}
