//===- ucx_ports_test.cpp - A range of ports that is taken, by UCX --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/ucx/ucx.h"
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <optional>
#include <sys/socket.h>
#include <unistd.h>

namespace dist {
namespace {

/// A port of any address that nobody else can take; it listens at it, or is
/// only in its way, as the system is for a while where a process has ended.
class Taken {
public:
  explicit Taken(bool listens) : socket(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    socklen_t size = sizeof address;
    auto *any = reinterpret_cast<sockaddr *>(&address);
    EXPECT_EQ(bind(socket, any, size), 0);
    EXPECT_EQ(getsockname(socket, any, &size), 0);
    if (listens)
      EXPECT_EQ(listen(socket, 1), 0);
    port = ntohs(address.sin_port);
  }
  ~Taken() { close(socket); }
  int port = 0;

private:
  int socket;
};

struct UcxPorts : testing::Test {
  static void SetUpTestSuite() { prepareUcx(); }

  Status open(std::function<void(const std::string &)> note) {
    UcxOptions options;
    options.ranksHere = {0};
    options.sharedMemory = false;
    options.note = std::move(note);
    options.exchange = [](const std::vector<std::string> &own,
                          std::vector<std::string> *all) {
      *all = own;
      return Status();
    };
    std::vector<std::unique_ptr<Transport>> ends;
    return makeUcxTransports(options, &ends);
  }
};

TEST_F(UcxPorts, WhoWaitsForAPortThatIsKeptSaysSo) {
  std::optional<Taken> kept(std::in_place, /*listens=*/false);
  limitUcxPorts(kept->port, kept->port);
  const std::string range =
      std::to_string(kept->port) + ":" + std::to_string(kept->port);
  std::vector<std::string> notes;
  Status status = open([&](const std::string &line) {
    notes.push_back(line);
    kept.reset();
  });
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0],
            "waiting until one of the ports " + range +
                " is free: the system keeps a port for up to a minute after "
                "the process that listened there has ended; a range with a "
                "port to spare needs no wait");
  // Another program of this machine may have been given the port since.
  EXPECT_TRUE(status.ok() || status.message().find(range) != std::string::npos)
      << status.message();
}

TEST_F(UcxPorts, NobodyWaitsForAPortThatAnotherListensAt) {
  const Taken taken(/*listens=*/true);
  limitUcxPorts(taken.port, taken.port);
  std::vector<std::string> notes;
  Status status = open([&](const std::string &line) { notes.push_back(line); });
  EXPECT_NE(status.message().find("processes listen at all of them"),
            std::string::npos)
      << status.message();
  EXPECT_TRUE(notes.empty());
}

} // namespace
} // namespace dist
