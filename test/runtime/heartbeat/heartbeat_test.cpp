//===- heartbeat_test.cpp - Processes that watch each other ---------------===//
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
#include "runtime/cluster/heartbeat/connection.h"
#include "runtime/cluster/heartbeat/handshake.h"
#include "runtime/cluster/heartbeat/heartbeat.h"
#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <thread>

using namespace dist;
using namespace dist::cluster;
using namespace std::chrono_literals;
using testing::HasSubstr;

namespace {

/// A rank that only hears that it is to give up.
class IdleRank : public Communicator {
public:
  explicit IdleRank(int number) : number(number) {}
  int rank() const override { return number; }
  int ranks() const override { return 3; }
  int groupSize(uint32_t) const override { return 3; }
  int groupRank(uint32_t) const override { return number; }
  Status run(const Collective &, void *const *, void *const *) override {
    return Status();
  }
  void abort(const std::string &why) override {
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
  /// A member that is the test's own.
  std::unique_ptr<Connection> enter(int member) {
    std::unique_ptr<Connection> connection;
    Status status =
        connectToChief({"127.0.0.1", port}, key, member, 60000, &connection);
    EXPECT_TRUE(status.ok()) << status.message();
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
};

} // namespace

TEST_F(HeartbeatTest, AllHearOfEachOthersSteps) {
  serve(60);
  join(1, 60);
  join(2, 60);
  IdleRank rank(2);
  members[2]->attach({&rank}, nullptr);
  members[2]->done({1, 41, 32, 0.1, 0});
  EXPECT_TRUE(
      holds([&] { return members[0]->status().members(2).step() == 42; }));
  EXPECT_TRUE(
      holds([&] { return stateOf(1) == proto::ClusterStatus::Member::WORKS; }));
  // From outside it is the same.
  proto::ClusterStatus seen;
  Status status = askForStatus("127.0.0.1", endpoint, &seen);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(seen.members(2).step(), 42);
  EXPECT_EQ(seen.members(1).task(), "worker 1");
  // Who leaves in order is missed by none.
  members[2]->detach();
  members[2].reset();
  EXPECT_TRUE(holds(
      [&] { return stateOf(2) == proto::ClusterStatus::Member::HAS_LEFT; }));
  members[0].reset();
  std::this_thread::sleep_for(100ms);
  EXPECT_TRUE(members[1]->check().ok());
}

TEST_F(HeartbeatTest, AnEndWithoutAWordIsToldToAll) {
  serve(0);
  join(1, 0);
  IdleRank rank(0), other(1);
  members[0]->attach({&rank}, [](int rank, int32_t op) {
    return "op " + std::to_string(op) + " of rank " + std::to_string(rank);
  });
  members[1]->attach({&other}, nullptr);
  std::unique_ptr<Connection> lost = enter(2);
  sendBeat(*lost, 17, 2);
  EXPECT_TRUE(
      holds([&] { return members[0]->status().members(2).step() == 17; }));
  lost.reset();
  const char *why = "worker 2 at 127.0.0.1:3 (process 102) has ended; it was "
                    "last in step 17, at op 5 of rank 2";
  EXPECT_THAT(failureOf(0), HasSubstr(why));
  EXPECT_THAT(failureOf(1), HasSubstr(why));
  EXPECT_THAT(rank.abortedFor(), why);
  EXPECT_THAT(other.abortedFor(), why);
  EXPECT_EQ(stateOf(2), proto::ClusterStatus::Member::LOST);
  Status failed = Status::error(StatusCode::Unavailable, "all_reduce failed");
  EXPECT_EQ(members[0]->explain(failed).message(), "all_reduce failed");
  // Ranks that come later, too.
  IdleRank late(0);
  members[0]->attach({&late}, nullptr);
  EXPECT_THAT(late.abortedFor(), why);
}

TEST_F(HeartbeatTest, SilenceIsToldToAllAndToWhoWasSilent) {
  serve(0.3);
  join(1, 60);
  std::unique_ptr<Connection> silent = enter(2);
  EXPECT_THAT(failureOf(0), HasSubstr("worker 2 at 127.0.0.1:3 (process 102) "
                                      "shows no sign of life for 0.3"));
  EXPECT_THAT(failureOf(1), HasSubstr("worker 2 at 127.0.0.1:3"));
  std::vector<proto::Control> heard;
  EXPECT_TRUE(holds([&] {
    EXPECT_TRUE(silent->receive(&heard));
    return !heard.empty() && heard.back().has_loss();
  }));
  EXPECT_EQ(heard.back().loss().member(), 2);
}

// As a process that was stopped finds it when it goes on.
TEST_F(HeartbeatTest, WhoWasGivenUpWritesNothing) {
  std::unique_ptr<Connection> chief = joinOwnChief(60);
  IdleRank rank(1);
  members[1]->attach({&rank}, nullptr);
  EXPECT_TRUE(members[1]->check().ok());
  proto::Control loss;
  loss.mutable_loss()->set_member(1);
  loss.mutable_loss()->set_why("it slept");
  EXPECT_TRUE(chief->send(loss));
  chief.reset();
  EXPECT_THAT(failureOf(1),
              HasSubstr("this process is none of the cluster any more: the "
                        "others have given it up, since it slept"));
  EXPECT_THAT(rank.abortedFor(), HasSubstr("it slept"));
  // However it heard of it.
  Status failed = Status::error(StatusCode::Unavailable, "all_reduce failed");
  EXPECT_THAT(members[1]->explain(failed).message(), HasSubstr("it slept"));
  Status other = Status::error(StatusCode::InvalidInput, "a label");
  EXPECT_EQ(members[1]->explain(other).message(), "a label");
}

TEST_F(HeartbeatTest, ALostChiefIsToldSoByWhoLosesIt) {
  std::unique_ptr<Connection> chief = joinOwnChief(0.3);
  chief->trust();
  EXPECT_THAT(failureOf(1), HasSubstr("worker 0 at 127.0.0.1:1 (process 100) "
                                      "shows no sign of life"));
  std::vector<proto::Control> heard;
  EXPECT_TRUE(holds([&] {
    EXPECT_TRUE(chief->receive(&heard));
    return !heard.empty() && heard.back().has_loss();
  }));
  EXPECT_EQ(heard.back().loss().member(), 0);
}

TEST_F(HeartbeatTest, StrangersAreSentAway) {
  serve(60);
  auto isClosed = [](Connection &connection) {
    return holds([&] {
      std::vector<proto::Control> messages;
      return !connection.receive(&messages);
    });
  };
  proto::Control message;
  message.mutable_hello(); // before it has shown the key
  std::unique_ptr<Connection> guesses = connect();
  EXPECT_TRUE(guesses->send(message));
  EXPECT_TRUE(isClosed(*guesses));
  // Another key.
  proto::Control wrong;
  wrong.mutable_proof()->set_member(1);
  wrong.mutable_proof()->set_nonce(std::string(16, 'n'));
  wrong.mutable_proof()->set_code(std::string(32, 'c'));
  std::unique_ptr<Connection> guessing = connect();
  EXPECT_TRUE(guessing->send(wrong));
  EXPECT_TRUE(isClosed(*guessing));
  for (int member : {kAsker, 0, 3, 1 << 30}) {
    std::unique_ptr<Connection> wrong = enter(member);
    EXPECT_TRUE(isClosed(*wrong)) << member;
  }
  // What is no message, and one that is longer than a stranger's may be.
  for (const std::string &bytes :
       {std::string("\x05\0\0\0GET /", 9), std::string("\xff\xff\0\0", 4)}) {
    Socket socket;
    ASSERT_TRUE(Socket::connect({"127.0.0.1", port}, 5000, &socket).ok());
    ASSERT_EQ(::send(socket.get(), bytes.data(), bytes.size(), 0),
              ssize_t(bytes.size()));
    Connection garbage(std::move(socket));
    EXPECT_TRUE(isClosed(garbage));
  }
  // A second one that says it is the same member.
  join(1, 60);
  EXPECT_TRUE(
      holds([&] { return stateOf(1) == proto::ClusterStatus::Member::WORKS; }));
  std::unique_ptr<Connection> second = enter(1);
  EXPECT_TRUE(isClosed(*second));
  EXPECT_TRUE(members[1]->check().ok());
}

TEST_F(HeartbeatTest, AChiefThatHasNotTheKeyIsNone) {
  Socket listener;
  ASSERT_TRUE(Socket::listen("127.0.0.1", {}, &listener, &port).ok());
  Status status;
  std::thread joining([&] {
    std::unique_ptr<Connection> none;
    status = connectToChief({"127.0.0.1", port}, "key", 1, 60000, &none);
  });
  Socket accepted;
  ASSERT_TRUE(holds([&] {
    accepted = listener.accept();
    return accepted.get() >= 0;
  }));
  Connection chief(std::move(accepted));
  std::string nonce;
  proto::Control challenge;
  ASSERT_TRUE(makeChallenge(&nonce, &challenge).ok());
  EXPECT_TRUE(chief.send(challenge));
  std::vector<proto::Control> heard;
  EXPECT_TRUE(holds([&] { return !chief.receive(&heard) || !heard.empty(); }));
  proto::Control none;
  ASSERT_FALSE(heard.empty());
  EXPECT_FALSE(answerProof("another key", nonce, heard[0].proof(), &none));
  // Not for another nonce, either, nor as another member.
  EXPECT_FALSE(
      answerProof("key", std::string(16, 'x'), heard[0].proof(), &none));
  proto::Proof changed = heard[0].proof();
  changed.set_member(2);
  EXPECT_FALSE(answerProof("key", nonce, changed, &none));
  // What it has sent itself is no answer to it.
  EXPECT_TRUE(chief.send(heard[0]));
  joining.join();
  EXPECT_THAT(status.message(),
              HasSubstr("the chief does not answer (127.0.0.1:"));
  EXPECT_THAT(status.message(),
              HasSubstr("what answers there is another program"));
}

TEST_F(HeartbeatTest, SilentStrangersKeepNoOneOut) {
  serve(60);
  std::vector<std::unique_ptr<Connection>> idle;
  for (int i = 0; i < 300; ++i)
    idle.push_back(connect());
  join(2, 60);
  EXPECT_TRUE(
      holds([&] { return stateOf(2) == proto::ClusterStatus::Member::WORKS; }));
  proto::ClusterStatus seen;
  EXPECT_TRUE(askForStatus("127.0.0.1", endpoint, &seen).ok());
  EXPECT_FALSE(
      askForStatus("127.0.0.1", std::to_string(port) + " guess", &seen).ok());
}

TEST_F(HeartbeatTest, AChiefThatIsNotThereIsAnError) {
  std::unique_ptr<Heartbeat> none;
  int closed = 0;
  {
    Socket listener;
    ASSERT_TRUE(Socket::listen("127.0.0.1", {}, &listener, &closed).ok());
  }
  Status status = Heartbeat::join(optionsOf(1, 1), "127.0.0.1",
                                  std::to_string(closed) + " secret", &none);
  EXPECT_THAT(status.message(), HasSubstr("cannot connect (127.0.0.1:"));
  for (const char *wrong : {"", "17", "0 secret", "70000 secret", "x secret"})
    EXPECT_THAT(
        Heartbeat::join(optionsOf(1, 1), "127.0.0.1", wrong, &none).message(),
        HasSubstr("the store holds what no chief wrote"))
        << wrong;
}
