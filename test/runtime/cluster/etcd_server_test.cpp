//===- etcd_server_test.cpp - The embedded server by itself -----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/etcd/server.h"
#include "runtime/cluster/etcd/client.h"
#include "runtime/cluster/etcd/rpc.grpc.pb.h"
#include <atomic>
#include <cstdlib>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace dist;
using namespace dist::cluster;
using namespace etcdserverpb;
using testing::HasSubstr;

namespace {

class ServerTest : public testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/dist-server-XXXXXX";
    folder = mkdtemp(name);
    options.journal = folder + "/journal";
    options.clock = [this] { return now.load(); };
  }
  void TearDown() override {
    server.reset();
    unlink(options.journal.c_str());
    rmdir(folder.c_str());
  }
  void start() {
    server.reset();
    Status status = EtcdServer::start(options, &server);
    ASSERT_TRUE(status.ok()) << status.message();
    client = std::make_unique<EtcdClient>(
        "127.0.0.1:" + std::to_string(server->port()), 20000);
  }
  RangeResponse get(const std::string &key) {
    RangeRequest request;
    request.set_key(key);
    RangeResponse response;
    EXPECT_TRUE(client->range(request, &response).ok());
    return response;
  }

  std::string folder;
  EtcdServerOptions options;
  std::atomic<int64_t> now{0};
  std::unique_ptr<EtcdServer> server;
  std::unique_ptr<EtcdClient> client;
};

} // namespace

TEST_F(ServerTest, ARestartGivesTheSameStateInANewEpoch) {
  start();
  EXPECT_EQ(server->epoch(), 1);
  LeaseGrantRequest grant;
  grant.set_ttl(10);
  LeaseGrantResponse granted;
  ASSERT_TRUE(client->leaseGrant(grant, &granted).ok());
  PutRequest put;
  put.set_key("a");
  put.set_value("1");
  put.set_lease(granted.id());
  PutResponse response;
  ASSERT_TRUE(client->put(put, &response).ok());
  put.set_key("b");
  put.set_lease(0);
  ASSERT_TRUE(client->put(put, &response).ok());
  std::string before = get("a").kvs(0).ShortDebugString();
  now = 9000;
  start();
  EXPECT_EQ(server->epoch(), 2);
  EXPECT_EQ(server->cutBytes(), 0u);
  RangeResponse after = get("a");
  ASSERT_EQ(after.kvs_size(), 1);
  EXPECT_EQ(after.kvs(0).ShortDebugString(), before);
  EXPECT_EQ(after.header().revision(), 3);
  EXPECT_EQ(after.header().raft_term(), 2u);
  // Its holder could not keep the lease meanwhile: its time begins anew.
  now = 18999;
  LeaseKeepAliveResponse kept;
  ASSERT_TRUE(client->leaseKeepAlive(granted.id(), &kept).ok());
  EXPECT_EQ(kept.ttl(), 10);
  now = 40000;
  for (int i = 0; i < 3000 && get("a").count() == 1; ++i)
    usleep(10000);
  EXPECT_EQ(get("a").count(), 0);
  EXPECT_EQ(get("b").count(), 1);
}

TEST_F(ServerTest, AWatchGoesOnAfterARestart) {
  start();
  PutRequest put;
  put.set_key("a");
  PutResponse response;
  ASSERT_TRUE(client->put(put, &response).ok());
  std::atomic<int> heard{0};
  std::atomic<bool> hasEnded{false};
  WatchCreateRequest request;
  request.set_key("a");
  request.set_start_revision(2);
  auto count = [&](const WatchResponse &one) { heard += one.events_size(); };
  auto watch = client->watch(request, count,
                             [&](const StoreResult &) { hasEnded = true; });
  for (int i = 0; i < 3000 && heard < 1; ++i)
    usleep(10000);
  EXPECT_EQ(heard, 1);
  auto old = std::move(client);
  start();
  for (int i = 0; i < 3000 && !hasEnded; ++i)
    usleep(10000);
  EXPECT_TRUE(hasEnded);
  watch.reset();
  // The history is there as it was.
  heard = 0;
  watch = client->watch(request, count, nullptr);
  ASSERT_TRUE(client->put(put, &response).ok());
  for (int i = 0; i < 3000 && heard < 2; ++i)
    usleep(10000);
  EXPECT_EQ(heard, 2);
  watch.reset();
}

TEST_F(ServerTest, OneAddressOneServer) {
  start();
  EtcdServerOptions second;
  second.address.port = server->port();
  std::unique_ptr<EtcdServer> other;
  Status status = EtcdServer::start(second, &other);
  EXPECT_THAT(status.message(),
              HasSubstr("cannot serve the key-value store (127.0.0.1:"));
  second.address.port = 0;
  second.journal = options.journal;
  EXPECT_THAT(EtcdServer::start(second, &other).message(),
              HasSubstr("the journal is in use"));
}

TEST_F(ServerTest, NobodyThereIsSaidInTime) {
  start();
  std::string address = "127.0.0.1:" + std::to_string(server->port());
  client.reset();
  server.reset();
  EtcdClient lonely(address, 500);
  RangeRequest request;
  request.set_key("a");
  RangeResponse response;
  StoreResult result = lonely.range(request, &response);
  EXPECT_TRUE(result.code == StoreCode::Unavailable ||
              result.code == StoreCode::DeadlineExceeded)
      << result.message;
  LeaseKeepAliveResponse kept;
  EXPECT_FALSE(lonely.leaseKeepAlive(1, &kept).ok());
}

/// Streams that nobody ends do not keep the server from ending.
TEST_F(ServerTest, EndsWithOpenStreams) {
  start();
  WatchCreateRequest request;
  request.set_key("a");
  std::vector<std::unique_ptr<EtcdClient::Watch>> watches;
  for (int i = 0; i < 20; ++i)
    watches.push_back(
        client->watch(request, [](const WatchResponse &) {}, nullptr));
  server.reset();
  watches.clear();
}

// As gRPC's server does with what it has not answered when it ends.
struct EndingServer : KV::Service {
  grpc::Status Range(grpc::ServerContext *, const RangeRequest *,
                     RangeResponse *) override {
    return grpc::Status(grpc::StatusCode::CANCELLED, "CANCELLED");
  }
};

TEST(EtcdClientTest, ACallThatTheServerEndsIsOneWithoutAnAnswer) {
  EndingServer service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(&service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  EtcdClient client("127.0.0.1:" + std::to_string(port), 20000);
  RangeRequest request;
  request.set_key("k");
  RangeResponse response;
  StoreResult result = client.range(request, &response);
  EXPECT_EQ(result.code, StoreCode::Unavailable);
  EXPECT_THAT(result.message, HasSubstr("CANCELLED"));
}
