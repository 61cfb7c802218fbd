//===- detect_test.cpp - Which description of a cluster is used -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/network.h"
#include "runtime/cluster/report.h"
#include "test/runtime/cluster/cluster_fixture.h"
#include <arpa/inet.h>
#include <map>
#include <sys/socket.h>
#include <unistd.h>

using namespace dist;
using namespace dist::cluster;
using testing::HasSubstr;
using testing::IsEmpty;

static const char *const kTwo =
    R"({"cluster": {"worker": ["a:1", "b:1"]},
        "task": {"type": "worker", "index": 0}})";

static Variables srun(int tasks) {
  std::string count = std::to_string(tasks);
  return {{"SLURM_JOB_ID", "1"},
          {"SLURM_STEP_NODELIST", "c"},
          {"SLURM_STEP_NUM_TASKS", count},
          {"SLURM_STEP_TASKS_PER_NODE", count},
          {"SLURM_PROCID", "0"}};
}

TEST(Detect, NothingIsDescribed) {
  Detection detection;
  EXPECT_THAT(detectCluster({}, {{"TF_CONFIG", ""}}, &detection), IsEmpty());
  EXPECT_FALSE(detection.spec);
}

TEST(Detect, TfConfigGoesFirst) {
  Variables variables = srun(2);
  variables["TF_CONFIG"] = kTwo;
  Detection detection;
  EXPECT_EQ(messagesOf(detectCluster({}, variables, &detection)), "");
  EXPECT_EQ(detection.spec->addressSource, "TF_CONFIG");
  EXPECT_THAT(detection.notes,
              testing::ElementsAre("Slurm describes a cluster, too: TF_CONFIG "
                                   "goes first"));
}

TEST(Detect, ContradictionsAreFaultsUnlessOneIsChosen) {
  Variables variables = srun(4);
  variables["TF_CONFIG"] = kTwo;
  Detection detection;
  EXPECT_EQ(messagesOf(detectCluster({}, variables, &detection)),
            "two descriptions contradict each other (TF_CONFIG, Slurm): the "
            "first names 2 tasks, the second started 4 tasks; correct "
            "TF_CONFIG, or choose by --cluster TF_CONFIG or --cluster slurm\n");
  ClusterRequest request;
  request.source = "slurm";
  EXPECT_EQ(messagesOf(detectCluster(request, variables, &detection)), "");
  EXPECT_EQ(detection.spec->tasks().size(), 4u);
  request.source = "TF_CONFIG";
  EXPECT_EQ(messagesOf(detectCluster(request, variables, &detection)), "");
  EXPECT_EQ(detection.spec->tasks().size(), 2u);
}

TEST(Detect, MpirunWithinSlurmIsTheLauncher) {
  Variables variables = srun(1);
  variables["OMPI_COMM_WORLD_SIZE"] = "2";
  variables["OMPI_COMM_WORLD_RANK"] = "1";
  variables["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
  variables["PMIX_NAMESPACE"] = "1";
  Detection detection;
  EXPECT_EQ(messagesOf(detectCluster({}, variables, &detection)), "");
  EXPECT_EQ(detection.spec->self->text(), "worker 1");
  EXPECT_THAT(detection.notes, testing::ElementsAre(HasSubstr("mpirun goes")));
}

TEST(Detect, WordsOfTheCommandLine) {
  Detection detection;
  ClusterRequest request;
  request.source = "slrum";
  EXPECT_THAT(messagesOf(detectCluster(request, {}, &detection)),
              HasSubstr("there is no 'slrum'; did you mean slurm?"));
  request.source = "TF_CONFIG";
  EXPECT_THAT(messagesOf(detectCluster(request, {}, &detection)),
              HasSubstr("the variable is not set"));
  request.source = kTwo;
  request.textName = "x.json";
  request.self = Task{Job::Worker, 1};
  EXPECT_THAT(messagesOf(detectCluster(request, {}, &detection)),
              HasSubstr("(x.json: task, --task): the first says worker 0, the "
                        "second worker 1"));
  request.source = R"({"cluster": {"worker": ["a:1", "b:1"]}})";
  EXPECT_EQ(messagesOf(detectCluster(request, {}, &detection)), "");
  EXPECT_EQ(detection.spec->selfSource, "--task");
  request = {};
  request.self = Task{Job::Worker, 1};
  detection = {};
  EXPECT_THAT(messagesOf(detectCluster(request, {}, &detection)),
              HasSubstr("there is no cluster that the task could be of"));
}

TEST(Detect, AClusterOfThisMachine) {
  ClusterRequest request;
  request.workers = 2;
  request.servers = 1;
  Detection detection;
  EXPECT_EQ(messagesOf(detectCluster(request, {}, &detection)), "");
  EXPECT_EQ(textOf(*detection.spec), "chief 0 127.0.0.1:0\n"
                                     "worker 0 127.0.0.1:0\n"
                                     "worker 1 127.0.0.1:0\n"
                                     "ps 0 127.0.0.1:0\n");
}

TEST(Detect, WhatIsNotUsedIsSaid) {
  EXPECT_EQ(explainUnused({}, "mirrored"), "");
  EXPECT_EQ(explainUnused({{"TF_CONFIG", ""}}, "mirrored"), "");
  EXPECT_EQ(explainUnused(srun(1), "mirrored"), "");
  EXPECT_THAT(explainUnused({{"TF_CONFIG", "{"}}, "mirrored"),
              HasSubstr("TF_CONFIG is set: mirrored runs in one process"));
  EXPECT_THAT(explainUnused(srun(4), "one-device"),
              HasSubstr("Slurm started 4 tasks, each of which does all"));
}

TEST(Report, SaysRanksAndReplicas) {
  ClusterSpec spec;
  ASSERT_THAT(readJson(kTwo, &spec), IsEmpty());
  EXPECT_EQ(formatCluster(spec, 2, "--devices"),
            "  task      address  ranks  what it does\n"
            "* worker 0  a:1      0-1    trains, saves and writes summaries\n"
            "  worker 1  b:1      2-3    trains\n"
            "addresses: from TF_CONFIG\n"
            "this process: worker 0, from TF_CONFIG: task\n"
            "replicas in sync: 2 workers x 2 devices (--devices) = 4; chief: "
            "worker 0\n");
}

namespace {

/// A network of names, in which 10.0.0.1 is this machine's.
class FakeNetwork : public Network {
public:
  std::vector<std::string> resolve(const std::string &host,
                                   std::string *why) override {
    ++asked;
    auto known = names.find(host);
    if (known != names.end())
      return {known->second};
    *why = "no such name";
    return {};
  }
  std::vector<std::string> localAddresses() override { return {"10.0.0.1"}; }
  bool canListen(const std::string &literal, int port,
                 std::string *why) override {
    if (port != 9)
      return true;
    *why = "in use";
    return false;
  }
  std::map<std::string, std::string> names = {{"a", "10.0.0.1"},
                                              {"b", "10.0.0.2"}};
  int asked = 0;
};

} // namespace

static std::string faultsOfNetwork(const std::string &text) {
  ClusterSpec spec;
  EXPECT_EQ(messagesOf(readJson(text, &spec)), "");
  FakeNetwork network;
  return messagesOf(checkNetwork(spec, network));
}

TEST(NetworkCheck, EachFaultHasItsMessage) {
  EXPECT_EQ(faultsOfNetwork(kTwo), "");
  EXPECT_EQ(
      faultsOfNetwork(R"({"cluster": {"worker": ["a:1", "b:1"]},
                          "task": {"type": "worker", "index": 1}})"),
      "this process's address is not this machine's (TF_CONFIG: task): worker "
      "1 is at b:1, which is 10.0.0.2, and no interface here has it; correct "
      "the address or the task's index, or start it there\n");
  EXPECT_EQ(faultsOfNetwork(R"({"cluster": {"worker": ["a:9", "b:1"]},
                                "task": {"type": "worker", "index": 0}})"),
            "the port cannot be used (a:9, worker 0): in use; end what uses "
            "it, or give the task another port\n");
  EXPECT_EQ(faultsOfNetwork(R"({"cluster": {"worker": ["a:1", "c:1"]},
                                "task": {"type": "worker", "index": 0}})"),
            "the host is not known (TF_CONFIG): worker 1 is at 'c:1', and: no "
            "such name; correct the name, or write its address\n");
}

/// Where a server listens whose name has these addresses, where 10.0.0.1 and
/// fd00::1 are this machine's.
static std::string listensAt(const std::string &host,
                             const std::vector<std::string> &addresses) {
  class Names final : public FakeNetwork {
  public:
    explicit Names(const std::vector<std::string> &known) : known(known) {}
    std::vector<std::string> resolve(const std::string &,
                                     std::string *) override {
      return known;
    }
    std::vector<std::string> localAddresses() override {
      return {"127.0.0.1", "::1", "10.0.0.1", "fd00::1"};
    }
    const std::vector<std::string> &known;
  } network(addresses);
  return listenLiteral(host, network);
}

TEST(ListenLiteral, IsThisMachinesOfANamesAddresses) {
  EXPECT_EQ(listensAt("10.0.0.1", {"10.0.0.1"}), "10.0.0.1");
  EXPECT_EQ(listensAt("localhost", {"::1", "127.0.0.1"}), "::1");
  EXPECT_EQ(listensAt("a", {"192.0.2.1", "10.0.0.1"}), "10.0.0.1");
  EXPECT_EQ(listensAt("a", {"127.0.1.1", "fd00::1"}), "fd00::1");
  // A name that means this machine alone here means it elsewhere, too.
  EXPECT_EQ(listensAt("a", {"127.0.1.1"}), "0.0.0.0");
  EXPECT_EQ(listensAt("a", {"::1"}), "::");
  EXPECT_EQ(listensAt("a", {"192.0.2.1", "127.0.1.1"}), "0.0.0.0");
  EXPECT_EQ(listensAt("a", {}), "0.0.0.0");
  // All addresses are listened at where that was asked for alone.
  EXPECT_EQ(listensAt("a", {"192.0.2.1"}), "192.0.2.1");
  EXPECT_EQ(listensAt("::", {"::"}), "::");
}

/// A name server that does not answer costs seconds a name: not hundreds.
TEST(NetworkCheck, StopsAfterSomeUnknownNames) {
  ClusterSpec spec;
  for (int i = 0; i < 100; ++i)
    spec.of(Job::Worker).push_back({"x" + std::to_string(i), 1});
  FakeNetwork network;
  EXPECT_EQ(checkNetwork(spec, network).size(), 3u);
  EXPECT_EQ(network.asked, 3);
}

/// What `awaitNetwork` finds, and then what it says, where as many pauses as
/// are given pass before a name becomes known.
static std::string awaited(const std::string &text, NameWait wait,
                           const std::map<int, std::string> &later,
                           int *pauses) {
  ClusterSpec spec;
  EXPECT_EQ(messagesOf(readJson(text, &spec)), "");
  FakeNetwork network;
  network.names.clear();
  std::string said;
  *pauses = 0;
  auto learn = [&] {
    if (auto known = later.find(*pauses); known != later.end())
      network.names[known->second] = "10.0.0.1";
  };
  learn();
  wait.sleep = [&](double) {
    ++*pauses;
    learn();
  };
  wait.note = [&](const std::string &line) { said += line + "\n"; };
  std::string faults = messagesOf(awaitNetwork(spec, wait, network));
  return faults + said;
}

TEST(NetworkAwait, NamesOfOneselfAndTheChiefAreWaitedFor) {
  const std::string second = R"({"cluster": {"worker": ["a:1", "b:1", "c:1"]},
                                 "task": {"type": "worker", "index": 1}})";
  int pauses = 0;
  std::string said = awaited(second, {}, {{2, "b"}, {3, "a"}}, &pauses);
  EXPECT_EQ(pauses, 3);
  EXPECT_EQ(said,
            "the host of worker 0, 'a', is not known yet: no such name\n"
            "the host of worker 1, 'b', is not known yet: no such name\n"
            "the host of worker 2, 'c', is not known yet: no such name\n");
  // In a store of its own the others are met without the chief's name.
  NameWait elsewhere;
  elsewhere.needsChief = false;
  awaited(second, elsewhere, {{2, "b"}, {3, "a"}}, &pauses);
  EXPECT_EQ(pauses, 2);
  // One that is started again does without those that are gone.
  EXPECT_THAT(awaited(second, {}, {{0, "b"}, {1, "a"}}, &pauses),
              Not(HasSubstr("worker 1")));
}

TEST(NetworkAwait, ANameThatDoesNotComeIsAnError) {
  int pauses = 0;
  NameWait wait;
  wait.seconds = 1e-9;
  EXPECT_THAT(awaited(kTwo, wait, {{0, "b"}}, &pauses),
              HasSubstr("the host is not known (TF_CONFIG): worker 0 is at "
                        "'a:1', and: no such name; correct the name"));
}

TEST(NetworkAwait, OneHostOfSeveralIsEnough) {
  class LateNetwork : public FakeNetwork {
  public:
    std::vector<std::string> resolve(const std::string &host,
                                     std::string *why) override {
      if (asked == 3)
        names["late"] = "10.0.0.3";
      return FakeNetwork::resolve(host, why);
    }
  };
  LateNetwork network;
  EXPECT_EQ(awaitAnyHost({"gone", "late"}, 60, network), "");
  EXPECT_EQ(network.asked, 4);
  EXPECT_EQ(awaitAnyHost({"gone", "b"}, 0, network), "");
  EXPECT_EQ(awaitAnyHost({"gone"}, 1e-9, network), "no such name");
}

TEST(SystemNetwork, SeesAPortInUse) {
  int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto *any = reinterpret_cast<sockaddr *>(&address);
  ASSERT_EQ(bind(server, any, size), 0);
  ASSERT_EQ(listen(server, 1), 0);
  ASSERT_EQ(getsockname(server, any, &size), 0);
  ClusterSpec spec;
  spec.of(Job::Worker) = {{"127.0.0.1", ntohs(address.sin_port)}};
  spec.self = Task{Job::Worker, 0};
  SystemNetwork network;
  EXPECT_THAT(messagesOf(checkNetwork(spec, network)),
              HasSubstr("the port cannot be used (127.0.0.1:"));
  close(server);
  EXPECT_EQ(messagesOf(checkNetwork(spec, network)), "");
  // An address of the range for documentation is nobody's.
  spec.of(Job::Worker) = {{"192.0.2.1", 20000}};
  EXPECT_THAT(messagesOf(checkNetwork(spec, network)),
              HasSubstr("is not this machine's"));
}
