//===- heartbeat_strangers_test.cpp - Who comes to a chief's port --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/heartbeat/heartbeat_fixture.h"

namespace dist::cluster {

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
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("(worker 0 at 127.0.0.1:1 (process 100))"),
                    HasSubstr("cannot connect (127.0.0.1:")));
  for (const char *wrong : {"", "17", "0 secret", "70000 secret", "x secret"})
    EXPECT_THAT(
        Heartbeat::join(optionsOf(1, 1), "127.0.0.1", wrong, &none).message(),
        HasSubstr("the store holds what no chief wrote"))
        << wrong;
}

} // namespace dist::cluster
