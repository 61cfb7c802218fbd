//===- status_test.cpp - A cluster's status as text and over HTTP ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/heartbeat/connection.h"
#include "runtime/cluster/status/format.h"
#include "runtime/cluster/status/metrics_server.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/socket.h>

using namespace dist;
using namespace dist::cluster;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

static proto::ClusterStatus makeStatus() {
  proto::ClusterStatus status;
  status.set_epoch(2);
  status.set_step(318);
  status.set_examples(10144);
  status.set_examples_per_second(5210.4);
  for (int i = 0; i < 2; ++i) {
    auto &member = *status.add_members();
    member.set_task("worker " + std::to_string(i));
    member.set_address("10.0.0." + std::to_string(i) + ":2222");
    member.set_host("host");
    member.set_process(77 + i);
    member.set_state(proto::ClusterStatus::Member::WORKS);
    member.set_beat_age(0.04);
    member.set_step(318);
    member.set_compute_seconds(i == 0 ? 0.003 : 0.03);
    member.set_wait_seconds(i == 0 ? 0.028 : 0.001);
  }
  status.set_slowest(1);
  status.set_reason(proto::ClusterStatus::COMPUTE);
  status.set_slowness(10);
  return status;
}

TEST(ClusterStatusTest, AsATable) {
  EXPECT_EQ(
      formatStatus(makeStatus()),
      "epoch 2, step 318, 10144 examples, 5210 examples/s\n"
      "task      address        host  process  state  step  input  compute  "
      "waits  last beat\n"
      "worker 0  10.0.0.0:2222  host  77       works  318   0 ms   3 ms     28 "
      "ms  0.04 s ago\n"
      "worker 1  10.0.0.1:2222  host  78       works  318   0 ms   30 ms    1 "
      "ms   0.04 s ago\n"
      "slowest: worker 1 (compute): 10 times the others' own time of a "
      "step\n");
}

TEST(ClusterStatusTest, BeforeTheFirstStep) {
  proto::ClusterStatus status = makeStatus();
  status.set_slowest(-1);
  status.mutable_members(1)->set_state(proto::ClusterStatus::Member::STARTS);
  EXPECT_THAT(formatStatus(status),
              AllOf(HasSubstr("slowest: not known yet"), HasSubstr("starts")));
  auto json = nlohmann::json::parse(formatStatusJson(status));
  EXPECT_TRUE(json["slowest"].is_null());
  EXPECT_TRUE(json["members"][1]["beat_age_s"].is_null());
  EXPECT_THAT(formatMetrics(status), Not(HasSubstr("dist_slowest{")));
}

/// A task whose process was lost, and has another one by now.
TEST(ClusterStatusTest, OfATaskTheNewestProcessIsShown) {
  proto::ClusterStatus status = makeStatus();
  proto::ClusterStatus::Member &back = *status.add_members();
  back = status.members(0);
  status.mutable_members(0)->set_state(proto::ClusterStatus::Member::LOST);
  back.set_process(99);
  const std::string table = formatStatus(status);
  EXPECT_THAT(table, AllOf(HasSubstr("  99       works"),
                           Not(HasSubstr("is lost")), HasSubstr("worker 1")));
  auto json = nlohmann::json::parse(formatStatusJson(status));
  ASSERT_EQ(json["members"].size(), 2u);
  EXPECT_EQ(json["members"][0]["process"], 99);
  // A series of one name and label twice is refused by who reads it.
  const std::string metrics = formatMetrics(status);
  const std::string up = "dist_worker_up{task=\"worker 0\"} ";
  EXPECT_EQ(metrics.find(up), metrics.rfind(up));
  EXPECT_THAT(metrics, HasSubstr(up + "1"));
}

// The answer is another program's: nothing in it is taken on trust.
TEST(ClusterStatusTest, WhatNoChiefSays) {
  proto::ClusterStatus status = makeStatus();
  status.set_slowest(9);
  status.mutable_members(0)->set_host("\xff\"\n");
  EXPECT_THAT(formatStatus(status), HasSubstr("slowest: not known yet"));
  EXPECT_TRUE(nlohmann::json::accept(formatStatusJson(status)));
}

TEST(ClusterStatusTest, AsJson) {
  auto json = nlohmann::json::parse(formatStatusJson(makeStatus()));
  EXPECT_EQ(json["step"], 318);
  EXPECT_EQ(json["slowest"]["task"], "worker 1");
  EXPECT_EQ(json["slowest"]["reason"], "compute");
  EXPECT_EQ(json["members"][0]["process"], 77);
  EXPECT_EQ(json["members"][0]["wait_s"], 0.028);
}

TEST(ClusterStatusTest, AsMetrics) {
  proto::ClusterStatus status = makeStatus();
  status.mutable_members(1)->set_state(proto::ClusterStatus::Member::SILENT);
  status.mutable_members(1)->set_task("a \"b\" \\ c\nd");
  std::string text = formatMetrics(status);
  EXPECT_THAT(text, HasSubstr("# TYPE dist_examples_total counter\n"
                              "dist_examples_total 10144\n"));
  EXPECT_THAT(text, HasSubstr("dist_worker_up{task=\"worker 0\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("dist_worker_up{task=\"a \\\"b\\\" \\\\ "
                              "c\\nd\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("dist_worker_step_seconds{task=\"worker 0\","
                              "part=\"wait\"} 0.028"));
  EXPECT_THAT(text, HasSubstr("reason=\"compute\"} 10\n"));
}

namespace {
class MetricsServerTest : public testing::Test {
protected:
  void SetUp() override {
    Status status = MetricsServer::start(
        "127.0.0.1", 0, [] { return std::string("dist_step 7\n"); }, &server);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  Socket connect() {
    Socket socket;
    EXPECT_TRUE(
        Socket::connect({"127.0.0.1", server->port()}, 5000, &socket).ok());
    return socket;
  }
  /// All that comes until the server closes the connection.
  std::string ask(const std::string &request) {
    Socket socket = connect();
    EXPECT_EQ(
        ::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL),
        ssize_t(request.size()));
    std::string answer;
    for (;;) {
      pollfd polled{socket.get(), POLLIN, 0};
      char block[4096];
      if (poll(&polled, 1, 60000) != 1)
        return answer + "(and no end)";
      ssize_t got = recv(socket.get(), block, sizeof block, 0);
      if (got <= 0)
        return answer;
      answer.append(block, got);
    }
  }
  std::unique_ptr<MetricsServer> server;
};
} // namespace

TEST_F(MetricsServerTest, AnswersWhoAsksForMetrics) {
  EXPECT_THAT(ask("GET /metrics HTTP/1.0\r\n\r\n"),
              AllOf(HasSubstr(" 200 OK"), HasSubstr("version=0.0.4"),
                    HasSubstr("\r\n\r\ndist_step 7\n")));
  EXPECT_THAT(ask("HEAD /metrics HTTP/1.0\r\n\r\n"),
              AllOf(HasSubstr(" 200 OK"), Not(HasSubstr("dist_step"))));
}

TEST_F(MetricsServerTest, AnswersAtAllAddressesOfTheMachine) {
  for (const char *all : {"0.0.0.0", "::"}) {
    server.reset();
    Status status = MetricsServer::start(
        all, 0, [] { return std::string("dist_step 8\n"); }, &server);
    // There may be no IPv6 here.
    if (!status.ok() && *all == ':')
      GTEST_SKIP() << status.message();
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_THAT(ask("GET /metrics HTTP/1.0\r\n\r\n"), HasSubstr("dist_step 8"));
  }
}

TEST_F(MetricsServerTest, AnswersNothingElse) {
  EXPECT_THAT(ask("GET / HTTP/1.0\r\n\r\n"), HasSubstr(" 404 "));
  EXPECT_THAT(ask("POST /metrics HTTP/1.0\r\nContent-Length: "
                  "3\r\n\r\nabc"),
              HasSubstr(" 405 "));
  EXPECT_THAT(ask("\xff\xfe nonsense\r\n\r\n"), Not(HasSubstr("dist_step")));
  EXPECT_THAT(ask("GET /" + std::string(20000, 'x') + " HTTP/1.0\r\n\r\n"),
              Not(HasSubstr("dist_step")));
}

TEST_F(MetricsServerTest, SilentConnectionsAreLimited) {
  std::vector<Socket> idle;
  for (int i = 0; i < 30; ++i)
    idle.push_back(connect());
  EXPECT_THAT(ask("GET /metrics HTTP/1.0\r\n\r\n"), HasSubstr("dist_step 7"));
}

TEST_F(MetricsServerTest, APortThatIsTakenIsAnError) {
  std::unique_ptr<MetricsServer> second;
  Status status = MetricsServer::start(
      "127.0.0.1", server->port(), [] { return std::string(); }, &second);
  EXPECT_THAT(status.message(), HasSubstr("cannot serve metrics (127.0.0.1:" +
                                          std::to_string(server->port())));
  EXPECT_FALSE(MetricsServer::start(
                   "192.0.2.1", 0, [] { return std::string(); }, &second)
                   .ok());
}
