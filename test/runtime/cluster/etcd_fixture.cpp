//===- etcd_fixture.cpp - One suite for both servers ------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/cluster/etcd_fixture.h"
#include "test/runtime/cluster/reserved_port.h"
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace etcdserverpb;

namespace dist::cluster {

namespace {

/// The etcd-server of all tests of this process.
class EtcdProcess {
public:
  static EtcdProcess &get() {
    static EtcdProcess process;
    return process;
  }
  bool isInstalled() const { return id > 0; }
  const std::string &address() const { return clients; }

private:
  EtcdProcess() {
    if (access("/usr/bin/etcd", X_OK) != 0)
      return;
    // In memory, if it can be: etcd waits for the disk at each write.
    char memory[] = "/dev/shm/dist-etcd-XXXXXX";
    char disk[] = "/tmp/dist-etcd-XXXXXX";
    const char *made = mkdtemp(memory);
    if (!made && !(made = mkdtemp(disk)))
      abort();
    folder = made;
    clients = "127.0.0.1:" + std::to_string(port);
    std::string url = "http://" + clients,
                peers = "http://127.0.0.1:" + std::to_string(peerPort);
    id = fork();
    if (id != 0)
      return;
    // It ends with the tests, however these end.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int null = open("/dev/null", O_RDWR);
    dup2(null, 1);
    dup2(null, 2);
    execl("/usr/bin/etcd", "etcd", "--data-dir", folder.c_str(),
          "--listen-client-urls", url.c_str(), "--advertise-client-urls",
          url.c_str(), "--listen-peer-urls", peers.c_str(),
          "--initial-advertise-peer-urls", peers.c_str(), "--initial-cluster",
          ("default=" + peers).c_str(), nullptr);
    _exit(127);
  }
  ~EtcdProcess() {
    if (id <= 0)
      return;
    kill(id, SIGKILL);
    waitpid(id, nullptr, 0);
    if (system(("rm -rf " + folder).c_str()) != 0)
      perror("etcd's folder");
  }
  const ReservedPort port, peerPort;
  pid_t id = 0;
  std::string clients, folder;
};

} // namespace

void EtcdTest::SetUp() {
  if (GetParam() == std::string("embedded")) {
    ASSERT_TRUE(EtcdServer::start({}, &embedded).ok());
    address = "127.0.0.1:" + std::to_string(embedded->port());
  } else {
    EtcdProcess &process = EtcdProcess::get();
    if (!process.isInstalled())
      GTEST_SKIP() << "there is no etcd-server (Debian package etcd-server)";
    address = process.address();
  }
  client = std::make_unique<EtcdClient>(address, 20000);
  const testing::TestInfo *test =
      testing::UnitTest::GetInstance()->current_test_info();
  prefix = std::string(test->test_suite_name()) + "/" + test->name() + "/";
  // It answers once it has elected itself.
  StoreResult result;
  auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (std::chrono::steady_clock::now() < end) {
    RangeRequest request;
    request.set_key("x");
    RangeResponse response;
    result = client->range(request, &response);
    if (result.ok())
      return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  FAIL() << result.message;
}

void EtcdTest::TearDown() {
  // The etcd-server is the next test's, too: what ended there by itself would
  // be a revision between those that it counts.
  for (int64_t lease : granted) {
    LeaseRevokeRequest request;
    request.set_id(lease);
    LeaseRevokeResponse response;
    (void)client->leaseRevoke(request, &response);
  }
  client.reset();
  embedded.reset();
}

int64_t EtcdTest::put(const std::string &name, const std::string &value,
                      int64_t lease) {
  PutRequest request;
  request.set_key(key(name));
  request.set_value(value);
  request.set_lease(lease);
  PutResponse response;
  StoreResult result = client->put(request, &response);
  EXPECT_TRUE(result.ok()) << result.message;
  return response.header().revision();
}

int64_t EtcdTest::remove(const std::string &name) {
  DeleteRangeRequest request;
  request.set_key(key(name));
  DeleteRangeResponse response;
  EXPECT_TRUE(client->deleteRange(request, &response).ok());
  return response.header().revision();
}

int64_t EtcdTest::grant(int64_t ttl) {
  LeaseGrantRequest request;
  request.set_ttl(ttl);
  LeaseGrantResponse response;
  EXPECT_TRUE(client->leaseGrant(request, &response).ok());
  EXPECT_GE(response.ttl(), ttl);
  granted.push_back(response.id());
  return response.id();
}

std::vector<std::string> EtcdTest::pairs() {
  RangeRequest request;
  request.set_key(prefix);
  request.set_range_end(endOf(prefix));
  RangeResponse response;
  EXPECT_TRUE(client->range(request, &response).ok());
  std::vector<std::string> all;
  for (const mvccpb::KeyValue &pair : response.kvs())
    all.push_back(pair.key().substr(prefix.size()) + "=" + pair.value());
  return all;
}

WatchCreateRequest EtcdTest::watchAll(int64_t first) const {
  WatchCreateRequest request;
  request.set_key(prefix);
  request.set_range_end(endOf(prefix));
  request.set_start_revision(first);
  return request;
}

int64_t EtcdTest::revision() {
  RangeRequest request;
  request.set_key(prefix);
  RangeResponse response;
  EXPECT_TRUE(client->range(request, &response).ok());
  return response.header().revision();
}

Heard::Heard(EtcdClient &client, WatchCreateRequest request) {
  watch = client.watch(
      request,
      [this](const WatchResponse &response) {
        std::lock_guard<std::mutex> guard(lock);
        if (response.created()) {
          isCreated = true;
          createdRevision = response.header().revision();
        }
        heard.insert(heard.end(), response.events().begin(),
                     response.events().end());
        wake.notify_all();
      },
      [this](const StoreResult &result) {
        std::lock_guard<std::mutex> guard(lock);
        hasEnded = true;
        ending = result;
        wake.notify_all();
      });
}

int64_t Heard::createdAt() {
  std::unique_lock<std::mutex> guard(lock);
  wake.wait_for(guard, std::chrono::minutes(2), [&] { return isCreated; });
  EXPECT_TRUE(isCreated);
  return createdRevision;
}

StoreResult Heard::end() {
  std::unique_lock<std::mutex> guard(lock);
  wake.wait_for(guard, std::chrono::minutes(2), [&] { return hasEnded; });
  EXPECT_TRUE(hasEnded);
  return ending;
}

std::vector<std::string> Heard::events(size_t count, int64_t base) {
  std::unique_lock<std::mutex> guard(lock);
  wake.wait_for(guard, std::chrono::minutes(2),
                [&] { return heard.size() >= count; });
  std::vector<std::string> all;
  for (const mvccpb::Event &event : heard) {
    const std::string &key = event.kv().key();
    std::string name = key.substr(key.rfind('/') + 1);
    std::string at = " @" + std::to_string(event.kv().mod_revision() - base);
    all.push_back(event.type() == mvccpb::Event::PUT
                      ? "put " + name + "=" + event.kv().value() + at
                      : "delete " + name + at);
    if (event.has_prev_kv())
      all.back() += " was " + event.prev_kv().value();
  }
  return all;
}

} // namespace dist::cluster
