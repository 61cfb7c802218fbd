//===- json_config_test.cpp - TF_CONFIG and cluster files -------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/network.h"
#include "test/runtime/cluster/cluster_fixture.h"

using namespace dist;
using namespace dist::cluster;
using testing::HasSubstr;

TEST(JsonConfig, ReadsATypicalTfConfig) {
  ClusterSpec spec;
  EXPECT_EQ(messagesOf(readJson(R"({
    "cluster": {"chief": ["10.0.0.1:2222"],
                "worker": ["10.0.0.2:2222", "w1.example.org:2223"]},
    "task": {"type": "worker", "index": 1}, "devices": 4})",
                                &spec)),
            "");
  EXPECT_EQ(textOf(spec), "chief 0 10.0.0.1:2222\n"
                          "worker 0 10.0.0.2:2222\n"
                          "*worker 1 w1.example.org:2223\n");
  EXPECT_EQ(spec.devices, 4);
  EXPECT_EQ(spec.addressSource, "TF_CONFIG");
  EXPECT_EQ(spec.selfSource, "TF_CONFIG: task");
  EXPECT_EQ(spec.chief(), (Task{Job::Chief, 0}));
  EXPECT_EQ(spec.trainers().size(), 3u);
}

TEST(JsonConfig, ReadsParameterServersIndicesAsKeysAndTexts) {
  ClusterSpec spec;
  EXPECT_EQ(messagesOf(readJson(R"({
    "cluster": {"chief": {"0": "a:1"}, "worker": {"1": "c:1", "0": "b:1"},
                "ps": ["[2001:db8::1]:1", "[2001:DB8::2]:1"]},
    "task": {"type": "ps", "index": "1", "trial": "7"},
    "environment": "cloud", "rpc_layer": "grpc"})",
                                &spec)),
            "");
  EXPECT_EQ(textOf(spec), "chief 0 a:1\nworker 0 b:1\nworker 1 c:1\n"
                          "ps 0 [2001:db8::1]:1\n*ps 1 [2001:DB8::2]:1\n");
  // The chief coordinates.
  EXPECT_EQ(spec.trainers().size(), 2u);
  EXPECT_THAT(spec.notes, testing::UnorderedElementsAre(
                              "TF_CONFIG: environment is not used",
                              "TF_CONFIG: rpc_layer is not used",
                              "TF_CONFIG: task.trial is not used"));
}

TEST(JsonConfig, AnEvaluatorIsNotInTheCluster) {
  ClusterSpec spec;
  EXPECT_EQ(messagesOf(readJson(
                R"({"cluster": {"worker": ["a:1"]},
                    "task": {"type": "evaluator", "index": 0}})",
                &spec)),
            "");
  EXPECT_EQ(spec.self->text(), "evaluator 0");
}

/// Each fault has a message of its own that says where and what to do.
TEST(JsonConfig, EachFaultHasItsMessage) {
  const std::string task = R"("task": {"type": "worker", "index": 0}})";
  auto cluster = [&](const std::string &jobs) {
    return R"({"cluster": )" + jobs + ", " + task;
  };
  const std::pair<std::string, std::string> cases[] = {
      {"{", "the cluster is no JSON (TF_CONFIG:1:2): "},
      {"{\n  \"cluster\": {,}}", "the cluster is no JSON (TF_CONFIG:2:15): "},
      {"", "the cluster is no JSON (TF_CONFIG:1:1): "},
      {"\xff", "the cluster is no JSON (TF_CONFIG:1:1): "},
      {"[1e999]", "the cluster is no JSON (TF_CONFIG): "},
      {"[]", "is no JSON object (TF_CONFIG): it is an array; write"},
      {"{}", "the cluster is empty (TF_CONFIG): there is no \"cluster\""},
      {cluster("{}"), "the cluster is empty (TF_CONFIG): it names no task"},
      {cluster("[]"), "(TF_CONFIG: cluster): it is an array"},
      {R"({"clutser": {}, )" + task,
       "unknown key (TF_CONFIG): there is no 'clutser'; did you mean cluster?"},
      {R"({"a": 1, "cluster": {"worker": ["a:1"]}, )" + task,
       "there is no 'a'; give cluster, task, devices"},
      {R"({"cluster": {"worker": ["a:1"], "worker": ["b:1"]}, )" + task,
       "a key is given twice (TF_CONFIG): 'worker' has two values"},
      {cluster(R"({"wroker": ["a:1"]})"),
       "unknown job (TF_CONFIG: cluster): there is no 'wroker'; did you mean "
       "worker?"},
      {cluster(R"({"master": ["a:1"]})"), "did you mean chief?"},
      {cluster(R"({"evaluator": ["a:1"], "worker": ["b:1"]})"),
       "the evaluator stands in the cluster"},
      {cluster(R"({"worker": "a:1"})"),
       "a job has no list of addresses (TF_CONFIG: cluster.worker): it is a "
       "string"},
      {cluster(R"({"worker": []})"), "a job has no task"},
      {cluster(R"({"worker": [7]})"),
       "an address is no text (TF_CONFIG: cluster.worker[0]): it is a number"},
      {cluster(R"({"worker": {"0": "a:1", "2": "b:1"}})"),
       "a task is missing (TF_CONFIG: cluster.worker): worker 1 of 2 has no "
       "address"},
      {cluster(R"({"chief": ["a:1", "b:1"]})"),
       "the cluster has 2 chiefs (TF_CONFIG)"},
      {cluster(R"({"worker": ["a:1"], "ps": ["b:1"]})"),
       "the cluster has no chief (TF_CONFIG)"},
      {cluster(R"({"chief": ["a:1"], "ps": ["b:1"]})"),
       "the cluster has no worker (TF_CONFIG)"},
      {R"({"cluster": {"worker": ["a:1"]}})",
       "nothing says which task this process is (TF_CONFIG)"},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker"}})",
       "the task is not complete (TF_CONFIG: task): there is no \"index\""},
      {R"({"cluster": {"worker": ["a:1"]}, "task": 3})",
       "the task is no JSON object"},
      {R"({"cluster": {"worker": ["a:1"]},
           "task": {"typ": "worker", "index": 0}})",
       "unknown key (TF_CONFIG: task): there is no 'typ'; did you mean type?"},
      {R"({"cluster": {"worker": ["a:1"]},
           "task": {"type": "wroker", "index": 0}})",
       "unknown type of task (TF_CONFIG: task.type): there is no 'wroker'; did "
       "you mean worker?"},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": 1, "index": 0}})",
       "the task's type is no text"},
      {R"({"cluster": {"worker": ["a:1"]},
           "task": {"type": "worker", "index": -1}})",
       "the task's index is no number (TF_CONFIG: task.index): it is '-1'"},
      {R"({"cluster": {"worker": ["a:1"]},
           "task": {"type": "worker", "index": 18446744073709551615}})",
       "the task's index is no number"},
      {R"({"cluster": {"worker": ["a:1"]},
           "task": {"type": "worker", "index": 7}})",
       "the task's index is out of range (TF_CONFIG: task): worker 7 was asked "
       "for, and there is 1 worker; give 0"},
      {R"({"cluster": {"worker": ["a:1"]},
           "task": {"type": "chief", "index": 0}})",
       "this process is no task of the cluster (TF_CONFIG: task): it is a "
       "chief, and there is none; it has worker"},
      {cluster(R"({"worker": ["A:1", "a.:1"]})"),
       "two tasks have one address (TF_CONFIG): worker 0 and worker 1 are both "
       "at a.:1"},
      {cluster(R"({"worker": ["[2001:db8::1]:1", "[2001:DB8:0::1]:1"]})"),
       "two tasks have one address"},
      {cluster(R"({"worker": ["127.0.0.1:1", "10.0.0.1:1"]})"),
       "a loopback address stands beside others (TF_CONFIG)"},
      {R"({"cluster": {"worker": ["a:1"]}, "devices": 0, )" + task,
       "wrong number of devices (TF_CONFIG: devices): it is '0'"},
  };
  for (auto &[text, message] : cases)
    EXPECT_THAT(faultsOfJson(text), HasSubstr(message)) << text;
}

TEST(JsonConfig, SaysAllFaultsAtOnce) {
  std::string faults =
      faultsOfJson(R"({"cluster": {"worker": ["a", "b:0"]}, "tsak": {}})");
  EXPECT_THAT(faults, HasSubstr("cluster.worker[0]"));
  EXPECT_THAT(faults, HasSubstr("cluster.worker[1]"));
  EXPECT_THAT(faults, HasSubstr("did you mean task?"));
}

/// What users wrote comes back on one line, whatever it is.
TEST(JsonConfig, MessagesAreOneLineOfText) {
  std::string faults =
      faultsOfJson("{\"\\u0000\\n\\u001b[31m\": 1, \"cluster\": {\"" +
                   std::string(100000, 'x') + "\": []}}");
  EXPECT_LT(faults.size(), 1000u);
  for (char c : faults)
    EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << int(c);
  EXPECT_EQ(std::count(faults.begin(), faults.end(), '\n'), 2);
}

TEST(JsonConfig, DeepNestingIsRefusedWithoutACrash) {
  std::string deep(1 << 17, '[');
  EXPECT_THAT(faultsOfJson(deep), HasSubstr("the cluster is no JSON"));
  deep += std::string(1 << 17, ']');
  EXPECT_THAT(faultsOfJson(deep), HasSubstr("is no JSON object"));
}

TEST(Address, EachFaultHasItsMessage) {
  const std::pair<const char *, const char *> cases[] = {
      {"nowhere", "it has no port"},
      {"", "it has no port"},
      {":1", "it has no host"},
      {"a:", "the port '' is no number"},
      {"a:b", "the port 'b' is no number"},
      {"a:-1", "the port '-1' is no number"},
      {"a:0", "the port '0' is out of range"},
      {"a:65536", "the port '65536' is out of range"},
      {"a:99999999999999", "out of range"},
      {"grpc://a:1", "it begins with a scheme"},
      {"a b:1", "no host's name has ' '"},
      {"a/b:1", "no host's name has '/'"},
      {"::1:1", "an IPv6 address stands in brackets"},
      {"[::1:1", "the [ is not closed"},
      {"[::1]", "it has no port"},
      {"[::1]1", "it has no port"},
      {"[a]:1", "'a' is no IPv6 address"},
      {"[]:1", "it has no host"},
      {"300.0.0.1:1", "'300.0.0.1' is no IPv4 address"},
      {"1.2.3:1", "'1.2.3' is no IPv4 address"},
      {"0.0.0.0:1", "it is a wildcard"},
      {"[::]:1", "it is a wildcard"},
  };
  for (auto [text, why] : cases) {
    Address address;
    auto fault = parseAddress(text, &address);
    ASSERT_TRUE(fault) << text;
    EXPECT_THAT(fault->why, HasSubstr(why)) << text;
    EXPECT_NE(fault->todo, "") << text;
  }
  EXPECT_TRUE(parseAddress(std::string(254, 'a') + ":1", nullptr));
  // What the system's functions read the front of alone.
  for (const std::string &text :
       {std::string("[::2\0x]:1", 10), std::string("[::2%a\n]:1"),
        std::string("a\0b:1", 5)}) {
    Address address;
    auto fault = parseAddress(text, &address);
    ASSERT_TRUE(fault) << text;
    EXPECT_THAT(fault->why, HasSubstr("?")) << text;
  }
}

TEST(Address, ReadsAndWritesAllForms) {
  for (const char *text : {"a:1", "w-1.example.org:65535", "10.0.0.1:2222",
                           "[::1]:1", "[fe80::1%eth0]:5", "node_1:7"}) {
    Address address;
    auto fault = parseAddress(text, &address);
    ASSERT_FALSE(fault) << text << ": " << fault->why;
    EXPECT_EQ(address.text(), text);
  }
}

TEST(Address, ToListenAt) {
  struct {
    const char *text, *host;
    int port;
    bool isAll;
  } cases[] = {{"0.0.0.0:9090", "0.0.0.0", 9090, true},
               {"[::]:0", "::", 0, true},
               {"0.0.0.0:0", "0.0.0.0", 0, true},
               {"127.0.0.1:0", "127.0.0.1", 0, false},
               {"[::1]:9090", "::1", 9090, false},
               {"w-1.example.org:80", "w-1.example.org", 80, false}};
  for (const auto &one : cases) {
    Address address;
    auto fault = parseListenAddress(one.text, &address);
    ASSERT_FALSE(fault) << one.text << ": " << fault->why;
    EXPECT_EQ(address.host, one.host);
    EXPECT_EQ(address.port, one.port);
    EXPECT_EQ(isWildcard(address.host), one.isAll);
  }
  for (auto [text, why] : {std::pair("", "it has no port"),
                           {"0.0.0.0", "it has no port"},
                           {"[::]", "it has no port"},
                           {"::", "an IPv6 address"},
                           {":::80", "an IPv6 address"},
                           {"0.0.0.0:65536", "out of range"},
                           {"0.0.0.0:00", "out of range"},
                           {"0.0.0.0:", "is no number"},
                           {":0", "it has no host"},
                           {"a:b:0", "an IPv6 address"},
                           {"a b:0", "no host's name has"}}) {
    Address address;
    auto fault = parseListenAddress(text, &address);
    ASSERT_TRUE(fault) << text;
    EXPECT_THAT(fault->why, HasSubstr(why)) << text;
    EXPECT_NE(fault->todo, "") << text;
  }
}

TEST(Address, KnowsLoopback) {
  for (const char *host :
       {"localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "::1", "0:0::1"})
    EXPECT_TRUE(isLoopback(host)) << host;
  for (const char *host : {"128.0.0.1", "localhost.example.org", "::2"})
    EXPECT_FALSE(isLoopback(host)) << host;
}

TEST(TaskText, IsTypeAndIndex) {
  Task task;
  ASSERT_TRUE(parseTask("ps:3", "--task", &task).ok());
  EXPECT_EQ(task.text(), "ps 3");
  for (const char *wrong : {"", "worker", "worker:", "worker:x", "worker:-1",
                            "worker:9999999999", "wroker:0"})
    EXPECT_FALSE(parseTask(wrong, "--task", &task).ok()) << wrong;
  EXPECT_THAT(parseTask("wroker:0", "--task", &task).message(),
              HasSubstr("did you mean worker?"));
}
