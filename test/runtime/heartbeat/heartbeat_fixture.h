//===- heartbeat_fixture.h - A chief and members in one process ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chief and members are in one process here, with the sockets and threads that
// they have elsewhere. What is to happen is waited for, however long it takes;
// when it has to is the detector's tests'.
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_HEARTBEAT_HEARTBEAT_FIXTURE_H
#define TEST_RUNTIME_HEARTBEAT_HEARTBEAT_FIXTURE_H

#include "runtime/cluster/heartbeat/connection.h"
#include "runtime/cluster/heartbeat/handshake.h"
#include "runtime/cluster/heartbeat/heartbeat.h"
#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <thread>

namespace dist::cluster {

using namespace std::chrono_literals;
using testing::ContainsRegex;
using testing::HasSubstr;

/// A rank that only hears that it is to give up.
class IdleRank : public Communicator {
public:
  explicit IdleRank(int number) : number(number) {}
  int rank() const override { return number; }
  int ranks() const override { return 3; }
  int groupSize(uint32_t) const override { return 3; }
  int groupRank(uint32_t) const override { return number; }
  Status prepare(const Collective &call,
                 std::unique_ptr<CollectivePlan> *out) override {
    *out = std::make_unique<CollectivePlan>(call, generation());
    return Status();
  }
  Status run(CollectivePlan &, void *const *, void *const *) override {
    return Status();
  }
  uint32_t generation() const override { return 7 + number; }
  void abort(uint32_t of, const std::string &why) override {
    EXPECT_EQ(of, generation());
    std::lock_guard<std::mutex> lock(mutex);
    reason = why;
  }
  std::string abortedFor() {
    std::lock_guard<std::mutex> lock(mutex);
    return reason;
  }

private:
  const int number;
  std::mutex mutex;
  std::string reason;
};

class HeartbeatTest : public testing::Test {
protected:
  HeartbeatOptions optionsOf(int self, double patience) const {
    HeartbeatOptions options;
    options.self = self;
    options.patience = patience;
    options.outlivesMembers = outlivesMembers;
    for (int i = 0; i < 3; ++i)
      options.members.push_back({"worker " + std::to_string(i),
                                 "127.0.0.1:" + std::to_string(i + 1), "here",
                                 100 + i});
    return options;
  }
  void serve(double patience) {
    ASSERT_TRUE(Heartbeat::serve(optionsOf(0, patience), "127.0.0.1",
                                 &members[0], &endpoint)
                    .ok());
    port = std::atoi(endpoint.c_str());
    key = endpoint.substr(endpoint.find(' ') + 1);
  }
  void join(int member, double patience) {
    Status status = Heartbeat::join(optionsOf(member, patience), "127.0.0.1",
                                    endpoint, &members[member]);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  std::unique_ptr<Connection> connect() {
    Socket socket;
    EXPECT_TRUE(Socket::connect({"127.0.0.1", port}, 5000, &socket).ok());
    return std::make_unique<Connection>(std::move(socket));
  }
  /// A member that is the test's own, and has the chief's answer alone.
  std::unique_ptr<Connection> reachChief(int member) {
    std::unique_ptr<Connection> connection;
    Status status =
        connectToChief({"127.0.0.1", port}, key, member, 60000, &connection);
    EXPECT_TRUE(status.ok()) << status.message();
    return connection;
  }
  /// One that has said hello.
  std::unique_ptr<Connection> enter(int member) {
    std::unique_ptr<Connection> connection = reachChief(member);
    proto::Control hello;
    hello.mutable_hello();
    EXPECT_TRUE(connection->send(hello));
    return connection;
  }
  /// Lets member 1 join a chief that is the test's own.
  std::unique_ptr<Connection> joinOwnChief(double patience) {
    Socket listener;
    EXPECT_TRUE(Socket::listen("127.0.0.1", {}, &listener, &port).ok());
    endpoint = std::to_string(port) + " key";
    std::thread joining([&] { join(1, patience); });
    Socket accepted;
    EXPECT_TRUE(holds([&] {
      accepted = listener.accept();
      return accepted.get() >= 0;
    }));
    auto chief = std::make_unique<Connection>(std::move(accepted));
    std::string nonce;
    proto::Control challenge, answer;
    EXPECT_TRUE(makeChallenge(&nonce, &challenge).ok());
    EXPECT_TRUE(chief->send(challenge));
    std::vector<proto::Control> heard;
    EXPECT_TRUE(
        holds([&] { return !chief->receive(&heard) || !heard.empty(); }));
    EXPECT_TRUE(!heard.empty() &&
                answerProof("key", nonce, heard[0].proof(), &answer));
    EXPECT_TRUE(chief->send(answer));
    joining.join();
    return chief;
  }
  void sendBeat(Connection &connection, int64_t step, int rank) {
    proto::Control beat;
    beat.mutable_beat()->set_step(step);
    proto::RankPlace &place = *beat.mutable_beat()->add_ranks();
    place.set_rank(rank);
    place.set_op(5);
    EXPECT_TRUE(connection.send(beat));
  }
  static bool holds(const std::function<bool()> &what) {
    for (int i = 0; i < 6000; ++i) {
      if (what())
        return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }
  proto::ClusterStatus::Member::State stateOf(int member) {
    return members[0]->status().members(member).state();
  }
  std::string failureOf(int member) {
    EXPECT_TRUE(holds([&] { return !members[member]->check().ok(); }));
    return members[member]->check().message();
  }

  std::unique_ptr<Heartbeat> members[3];
  std::string endpoint, key;
  int port = 0;
  bool outlivesMembers = false;
};

} // namespace dist::cluster

#endif // TEST_RUNTIME_HEARTBEAT_HEARTBEAT_FIXTURE_H
