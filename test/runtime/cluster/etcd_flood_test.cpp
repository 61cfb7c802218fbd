//===- etcd_flood_test.cpp - Strangers at the embedded server ---*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/etcd/client.h"
#include "runtime/cluster/etcd/server.h"
#include "runtime/cluster/socket.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>

using namespace dist;
using namespace dist::cluster;
using namespace etcdserverpb;

namespace {

/// A head of a ClientHello, and of what HTTP/2 begins with.
const std::string kHalfHello("\x16\x03\x01\x02\0\x01\0", 7);
const std::string kHalfPreface = "PRI * HTTP";

/// With TLS, and without.
class FloodTest : public testing::TestWithParam<bool> {
protected:
  void SetUp() override {
    if (GetParam()) {
      JobSecret secret;
      ASSERT_TRUE(
          JobSecret::fromText("0123456789abcdef", "a test", &secret).ok());
      options.tls = makeCertificates(secret);
    }
    Status status = EtcdServer::start(options, &server);
    ASSERT_TRUE(status.ok()) << status.message();
    address = {"127.0.0.1", server->port()};
  }
  Socket connect(const std::string &bytes) {
    Socket socket;
    EXPECT_TRUE(Socket::connect(address, 20000, &socket).ok());
    // It may have been sent away already.
    (void)send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return socket;
  }
  /// Whether a client gets an answer within two minutes.
  bool isServed() {
    EtcdClient client(address.text(), 5000, options.tls);
    auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (std::chrono::steady_clock::now() < end) {
      client.waitForConnection(1000);
      RangeRequest request;
      request.set_key("a");
      RangeResponse response;
      if (client.range(request, &response).ok())
        return true;
    }
    return false;
  }

  static constexpr int kNothing = -1, kAlert = 21, kHandshake = 22;
  /// Of the server's answer; kNothing: it closes the connection.
  static int firstByteOf(const Socket &socket) {
    unsigned char byte = 0;
    pollfd polled{socket.get(), POLLIN, 0};
    bool isThere = poll(&polled, 1, 120000) == 1 &&
                   recv(socket.get(), &byte, 1, MSG_DONTWAIT) == 1;
    return isThere ? byte : kNothing;
  }
  int firstByteFor(const std::string &bytes) {
    return firstByteOf(connect(bytes));
  }
  /// What a client that has these begins a connection with.
  static std::string captureHello(const TlsCertificates &tls) {
    Socket listener;
    int port = 0;
    EXPECT_TRUE(Socket::listen("127.0.0.1", {0, 0}, &listener, &port).ok());
    std::atomic<bool> ends{false};
    std::thread client([&] {
      EtcdClient one(Address{"127.0.0.1", port}.text(), 20000, tls);
      while (!ends)
        one.waitForConnection(100);
    });
    pollfd polled{listener.get(), POLLIN, 0};
    EXPECT_EQ(poll(&polled, 1, 120000), 1);
    Socket socket = listener.accept();
    std::string hello(4096, 0);
    polled.fd = socket.get();
    EXPECT_EQ(poll(&polled, 1, 120000), 1);
    ssize_t got = recv(socket.get(), hello.data(), hello.size(), 0);
    hello.resize(size_t(std::max<ssize_t>(got, 0)));
    ends = true;
    client.join();
    return hello;
  }

  EtcdServerOptions options;
  std::unique_ptr<EtcdServer> server;
  Address address;
};

size_t countDescriptors() {
  size_t count = 0;
  for ([[maybe_unused]] auto &one :
       std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

bool isClosed(const Socket &socket) {
  char byte;
  pollfd polled{socket.get(), POLLIN, 0};
  while (poll(&polled, 1, 120000) == 1)
    if (recv(socket.get(), &byte, 1, MSG_DONTWAIT) <= 0)
      return true;
  return false;
}

} // namespace

TEST_P(FloodTest, StrangersCostFewDescriptorsAndKeepNobodyOut) {
  rlimit most = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &most), 0);
  most.rlim_cur = most.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &most), 0);
  ASSERT_TRUE(isServed());
  const size_t before = countDescriptors();
  // Both ends are of this process; some systems let it have a thousand.
  constexpr size_t kWaiting = 160;
  ASSERT_GT(most.rlim_max, before + 4 * kWaiting);
  const size_t many =
      std::min<size_t>(1500, most.rlim_max - before - 2 * kWaiting);
  const std::string half = GetParam() ? kHalfHello : kHalfPreface;
  std::vector<Socket> strangers;
  for (size_t i = 0; i < many; ++i)
    strangers.push_back(connect(i % 3 == 0   ? ""
                                : i % 3 == 1 ? half
                                             : std::string(600, 'g')));
  EXPECT_TRUE(isServed());
  // The ends of this test itself, and the strangers that wait.
  EXPECT_LE(countDescriptors(), before + many + kWaiting);
  // Who says nothing is not waited for.
  for (const Socket &stranger : strangers)
    ASSERT_TRUE(isClosed(stranger));
}

TEST_P(FloodTest, AClientGetsInWhileOthersComeAsFastAsTheyCan) {
  std::atomic<bool> ends{false};
  std::thread flood([&] {
    std::vector<Socket> last(300);
    for (size_t i = 0; !ends; ++i)
      last[i % last.size()] = connect("");
  });
  EXPECT_TRUE(isServed());
  ends = true;
  flood.join();
}

// A whole ClientHello would cost a handshake, of which the server can have but
// so many at once.
TEST_P(FloodTest, HellosOfStrangersBeginNoHandshake) {
  if (!GetParam())
    GTEST_SKIP() << "there is no secret to show";
  JobSecret other;
  ASSERT_TRUE(JobSecret::fromText("another 0123456789", "a test", &other).ok());
  const std::string hello = captureHello(makeCertificates(other));
  for (int i = 0; i < 300; ++i)
    ASSERT_EQ(firstByteFor(hello), kAlert) << i;
  EXPECT_TRUE(isServed());
}

// One that was heard on the wire is known for the one it is.
TEST_P(FloodTest, AHelloThatIsSentAgainAndAgainCostsLittle) {
  if (!GetParam())
    GTEST_SKIP() << "it has no secret to repeat";
  const std::string hello = captureHello(*options.tls);
  auto begin = std::chrono::steady_clock::now();
  std::vector<Socket> replays;
  int answered = 0;
  for (int i = 0; i < 300; ++i) {
    replays.push_back(connect(hello));
    answered += firstByteOf(replays.back()) == kHandshake;
  }
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  EXPECT_GT(answered, 0);
  // So many in ten seconds.
  EXPECT_LE(answered, 64 * (1 + int(time.count() / 10)));
  EXPECT_TRUE(isServed());
}

TEST_P(FloodTest, AGreetingMayComeInPieces) {
  if (GetParam())
    GTEST_SKIP() << "a ClientHello has to be made by a TLS library";
  const std::string rest = "/2.0\r\n\r\nSM\r\n\r\n";
  char head[9] = {};
  ssize_t got = 0;
  // A machine that is busy may not come to the second piece in time.
  for (int tries = 0; tries < 50 && got <= 0; ++tries) {
    Socket slow = connect(kHalfPreface);
    // As if they had nothing to do with it.
    EXPECT_TRUE(isClosed(connect("PRI * HTTQ")));
    (void)send(slow.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    pollfd polled{slow.get(), POLLIN, 0};
    ASSERT_EQ(poll(&polled, 1, 120000), 1);
    got = recv(slow.get(), head, sizeof head, 0);
  }
  // HTTP/2's SETTINGS, which the server sends first.
  ASSERT_EQ(got, ssize_t(sizeof head));
  EXPECT_EQ(head[3], 4);
}

INSTANTIATE_TEST_SUITE_P(Both, FloodTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool> &info) {
                           return info.param ? "Tls" : "Clear";
                         });
