//===- etcd_watch_test.cpp - Leases and watches -----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/cluster/etcd_fixture.h"
#include <thread>

using namespace dist::cluster;
using namespace etcdserverpb;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

INSTANTIATE_ETCD_TEST(EtcdLease);
INSTANTIATE_ETCD_TEST(EtcdWatch);

TEST_P(EtcdLease, ItsEndDeletesItsKeysAndTellsWatchers) {
  int64_t lease = grant(1);
  int64_t base = put("a", "1", lease);
  put("b", "2", lease);
  put("c", "3");
  Heard heard(*client, watchAll(base + 3));
  // Both in one revision, in the order of keys.
  EXPECT_THAT(heard.events(2, base), ElementsAre("delete a @3", "delete b @3"));
  EXPECT_THAT(pairs(), ElementsAre("c=3"));
  LeaseKeepAliveResponse response;
  ASSERT_TRUE(client->leaseKeepAlive(lease, &response).ok());
  EXPECT_EQ(response.ttl(), 0);
}

TEST_P(EtcdLease, LivesAsLongAsItIsKept) {
  int64_t lease = grant(2);
  put("a", "1", lease);
  // Twice its time; each is early enough on a busy machine, too.
  for (int i = 0; i < 20; ++i) {
    LeaseKeepAliveResponse response;
    ASSERT_TRUE(client->leaseKeepAlive(lease, &response).ok());
    ASSERT_GE(response.ttl(), 2) << i;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  EXPECT_THAT(pairs(), ElementsAre("a=1"));
}

TEST_P(EtcdLease, RevokingEndsItAtOnce) {
  int64_t lease = grant(60);
  int64_t base = put("a", "1", lease);
  LeaseRevokeRequest request;
  request.set_id(lease);
  LeaseRevokeResponse response;
  ASSERT_TRUE(client->leaseRevoke(request, &response).ok());
  EXPECT_THAT(pairs(), IsEmpty());
  EXPECT_EQ(revision(), base + 1);
  StoreResult again = client->leaseRevoke(request, &response);
  EXPECT_EQ(int(again.code), int(StoreCode::NotFound));
  EXPECT_THAT(again.message, HasSubstr("requested lease not found"));
}

TEST_P(EtcdLease, AKeyIsOfItsLastLease) {
  int64_t one = grant(60), two = grant(60);
  put("a", "1", one);
  put("a", "2", two);
  LeaseRevokeRequest request;
  request.set_id(one);
  LeaseRevokeResponse response;
  ASSERT_TRUE(client->leaseRevoke(request, &response).ok());
  EXPECT_THAT(pairs(), ElementsAre("a=2"));
  put("a", "3");
  request.set_id(two);
  ASSERT_TRUE(client->leaseRevoke(request, &response).ok());
  EXPECT_THAT(pairs(), ElementsAre("a=3"));
}

TEST_P(EtcdLease, MayHaveANumberOfTheClients) {
  LeaseGrantRequest request;
  request.set_ttl(60);
  // Tests share the server.
  request.set_id(int64_t(std::hash<std::string>()(prefix) >> 2));
  LeaseGrantResponse response;
  ASSERT_TRUE(client->leaseGrant(request, &response).ok());
  EXPECT_EQ(response.id(), request.id());
  StoreResult again = client->leaseGrant(request, &response);
  EXPECT_EQ(int(again.code), int(StoreCode::FailedPrecondition));
  EXPECT_THAT(again.message, HasSubstr("lease already exists"));
  request.set_id(0);
  request.set_ttl(9000000001);
  StoreResult tooLong = client->leaseGrant(request, &response);
  EXPECT_EQ(int(tooLong.code), int(StoreCode::OutOfRange));
  EXPECT_THAT(tooLong.message, HasSubstr("too large lease TTL"));
}

TEST_P(EtcdWatch, TellsOfThePastThenOfTheFuture) {
  int64_t base = put("a", "1");
  put("b", "2");
  remove("a");
  Heard heard(*client, watchAll(base));
  EXPECT_GE(heard.createdAt(), base + 2);
  EXPECT_THAT(heard.events(3, base),
              ElementsAre("put a=1 @0", "put b=2 @1", "delete a @2"));
  put("c", "3");
  EXPECT_THAT(heard.events(4, base), ElementsAre("put a=1 @0", "put b=2 @1",
                                                 "delete a @2", "put c=3 @3"));
}

TEST_P(EtcdWatch, WithoutARevisionItBeginsNow) {
  int64_t base = put("a", "1");
  Heard heard(*client, watchAll());
  heard.createdAt();
  put("b", "2");
  EXPECT_THAT(heard.events(1, base), ElementsAre("put b=2 @1"));
}

TEST_P(EtcdWatch, ARevisionToComeIsWaitedFor) {
  int64_t base = put("a", "1");
  Heard heard(*client, watchAll(base + 2));
  heard.createdAt();
  put("b", "2");
  put("c", "3");
  EXPECT_THAT(heard.events(1, base), ElementsAre("put c=3 @2"));
}

TEST_P(EtcdWatch, GivesPairsOfBeforeAndLeavesKindsOut) {
  int64_t base = put("a", "1");
  WatchCreateRequest request = watchAll(base);
  request.set_prev_kv(true);
  request.add_filters(WatchCreateRequest::NODELETE);
  Heard heard(*client, request);
  put("a", "2");
  remove("a");
  put("a", "3");
  EXPECT_THAT(heard.events(3, base),
              ElementsAre("put a=1 @0", "put a=2 @1 was 1", "put a=3 @3"));
}

TEST_P(EtcdWatch, HearsItsRangeAlone) {
  int64_t base = put("b", "0");
  WatchCreateRequest request;
  request.set_key(key("b"));
  request.set_range_end(key("d"));
  request.set_start_revision(base + 1);
  Heard heard(*client, request);
  for (const char *name : {"a", "b", "c", "d"})
    put(name, "1");
  put("b", "2");
  EXPECT_THAT(heard.events(3, base),
              ElementsAre("put b=1 @2", "put c=1 @3", "put b=2 @5"));
}

/// All watchers hear the same, in the order of revisions, whoever writes.
TEST_P(EtcdWatch, OrderIsOneForAll) {
  int64_t base = put("start", "0");
  constexpr int kWriters = 4, kWrites = 50;
  Heard early(*client, watchAll(base + 1));
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; ++i)
    writers.emplace_back([&, i] {
      EtcdClient own(address, 20000);
      for (int j = 0; j < kWrites; ++j) {
        PutRequest request;
        request.set_key(key(std::to_string(j % 5)));
        request.set_value(std::to_string(i * kWrites + j));
        PutResponse response;
        ASSERT_TRUE(own.put(request, &response).ok());
      }
    });
  Heard between(*client, watchAll(base + 1));
  for (std::thread &writer : writers)
    writer.join();
  Heard late(*client, watchAll(base + 1));
  std::vector<std::string> all = late.events(kWriters * kWrites, base);
  ASSERT_EQ(all.size(), size_t(kWriters * kWrites));
  EXPECT_EQ(early.events(all.size(), base), all);
  EXPECT_EQ(between.events(all.size(), base), all);
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_THAT(all[i], testing::EndsWith(" @" + std::to_string(i + 1)));
}

TEST_P(EtcdWatch, EndsWhenItIsNoMoreWanted) {
  Heard heard(*client, watchAll());
  heard.createdAt();
  heard.cancel();
  put("a", "1");
  EXPECT_THAT(heard.events(0, 0), IsEmpty());
}
