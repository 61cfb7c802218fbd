//===- etcd_fixture.h - One suite for both servers --------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs each test against the embedded server and against a real etcd-server, so
// that what the one does is what the other does. Keys begin with the test's
// name: tests share the etcd-server, which takes a second to start.
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_CLUSTER_ETCD_FIXTURE_H
#define TEST_RUNTIME_CLUSTER_ETCD_FIXTURE_H

#include "runtime/cluster/etcd/client.h"
#include "runtime/cluster/etcd/server.h"
#include <condition_variable>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>

namespace dist::cluster {

/// What a watch has heard, for a test that waits for it.
class Heard {
public:
  explicit Heard(EtcdClient &client, etcdserverpb::WatchCreateRequest request);
  /// Once so many events are there, or two minutes are over, all of them as
  /// text: `put KEY=VALUE @REVISION`, `delete KEY @REVISION`, revisions from
  /// `base` on.
  std::vector<std::string> events(size_t count, int64_t base);
  /// Of the answer to the request.
  int64_t createdAt();
  StoreResult end();
  void cancel() { watch.reset(); }

private:
  std::mutex lock;
  std::condition_variable wake;
  bool isCreated = false, hasEnded = false;
  int64_t createdRevision = 0;
  StoreResult ending;
  std::vector<mvccpb::Event> heard;
  std::unique_ptr<EtcdClient::Watch> watch; // ends first
};

class EtcdTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override;
  void TearDown() override;

  /// A key of this test.
  std::string key(const std::string &name) const { return prefix + name; }
  /// The end of all keys that begin so.
  static std::string endOf(std::string start) {
    ++start.back();
    return start;
  }
  int64_t put(const std::string &name, const std::string &value,
              int64_t lease = 0);
  int64_t remove(const std::string &name);
  int64_t grant(int64_t ttl);
  /// All of this test's pairs: `KEY=VALUE`, keys without the prefix.
  std::vector<std::string> pairs();
  etcdserverpb::WatchCreateRequest watchAll(int64_t first = 0) const;
  int64_t revision();

  std::unique_ptr<EtcdServer> embedded;
  std::unique_ptr<EtcdClient> client;
  std::string address, prefix;
  std::vector<int64_t> granted;
};

/// Code and a part of the message are etcd's.
inline void expectRefused(const StoreResult &result, StoreCode code,
                          const char *message) {
  EXPECT_EQ(int(result.code), int(code)) << result.message;
  EXPECT_THAT(result.message, testing::HasSubstr(message));
}

/// Both servers, or the one that is there.
#define INSTANTIATE_ETCD_TEST(name)                                            \
  class name : public EtcdTest {};                                             \
  INSTANTIATE_TEST_SUITE_P(Servers, name, testing::Values("embedded", "etcd"), \
                           [](auto &info) { return std::string(info.param); })

} // namespace dist::cluster

#endif // TEST_RUNTIME_CLUSTER_ETCD_FIXTURE_H
