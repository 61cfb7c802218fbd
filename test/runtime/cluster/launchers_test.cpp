//===- launchers_test.cpp - Launchers' environments -------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/host_list.h"
#include "test/runtime/cluster/cluster_fixture.h"
#include <set>

using namespace dist;
using namespace dist::cluster;
using testing::ElementsAre;
using testing::HasSubstr;

/// `rank` of 4 tasks on three nodes, as `srun --ntasks=4` sets it.
static Variables slurm(int rank, const std::string &node) {
  return {{"SLURM_JOB_ID", "8137"},
          {"SLURM_JOB_NODELIST", "gpu[007-009],login"},
          {"SLURM_STEP_ID", "0"},
          {"SLURM_STEP_NODELIST", "gpu[007-009]"},
          {"SLURM_STEP_NUM_NODES", "3"},
          {"SLURM_STEP_NUM_TASKS", "4"},
          {"SLURM_STEP_TASKS_PER_NODE", "2,1(x2)"},
          {"SLURM_NTASKS", "4"},
          {"SLURM_NPROCS", "4"},
          {"SLURM_PROCID", std::to_string(rank)},
          {"SLURM_LOCALID", rank == 1 ? "1" : "0"},
          {"SLURM_NODEID", node},
          {"SLURMD_NODENAME", "gpu007"},
          {"SLURM_DISTRIBUTION", "block:cyclic"}};
}

static std::string found(const Variables &variables,
                         std::string *faults = nullptr) {
  Detection detection;
  std::string messages = messagesOf(detectCluster({}, variables, &detection));
  if (faults)
    *faults = messages;
  else
    EXPECT_EQ(messages, "");
  return detection.spec ? textOf(*detection.spec) : "none";
}

static std::string faultsOf(const Variables &variables) {
  std::string faults;
  found(variables, &faults);
  return faults;
}

TEST(Slurm, TasksHaveTheirNodesAndPortsOfTheJob) {
  // 20000 + 8137 mod 625 * 16
  EXPECT_EQ(found(slurm(2, "1")),
            "worker 0 gpu007:20192\nworker 1 gpu007:20193\n"
            "*worker 2 gpu008:20192\nworker 3 gpu009:20192\n");
}

/// Where worker 0 listens.
static std::string chiefOf(const Variables &variables) {
  std::string text = found(variables);
  return text.substr(0, text.find('\n'));
}

/// A sweep in one allocation runs several steps at a time on the same nodes.
TEST(Slurm, StepsOfAJobHavePortsOfTheirOwn) {
  std::set<std::string> chiefs;
  for (const char *job : {"8137", "8138", "8139"})
    for (const char *step : {"0", "1", "2", "40"}) {
      Variables variables = slurm(2, "1");
      variables["SLURM_JOB_ID"] = job;
      variables["SLURM_STEP_ID"] = step;
      chiefs.insert(chiefOf(variables));
    }
  EXPECT_EQ(chiefs.size(), 12u);
}

TEST(Slurm, NumbersOfFederatedJobsHave32Bits) {
  Variables variables = slurm(2, "1");
  variables["SLURM_JOB_ID"] = "4228128769";
  // 20000 + 4228128769 mod 625 * 16
  EXPECT_EQ(chiefOf(variables), "worker 0 gpu007:20304");
  variables["SLURM_JOB_ID"] = "4294967296";
  EXPECT_THAT(faultsOf(variables), HasSubstr("0 to 4294967295, but got"));
}

TEST(Slurm, CyclicTasksGoAround) {
  Variables variables = slurm(3, "0");
  variables["SLURM_DISTRIBUTION"] = "cyclic";
  EXPECT_EQ(found(variables),
            "worker 0 gpu007:20192\nworker 1 gpu008:20192\n"
            "worker 2 gpu009:20192\n*worker 3 gpu007:20193\n");
}

TEST(Slurm, EachFaultHasItsMessage) {
  struct Case {
    const char *name, *value, *message;
  } cases[] = {
      {"SLURM_STEP_NODELIST", "gpu[007-009", "the [ is not closed"},
      {"SLURM_STEP_NODELIST", "gpu[007-008]", "2 nodes, the other one 3"},
      {"SLURM_STEP_TASKS_PER_NODE", "2,1(x", "'1(x' has no )"},
      {"SLURM_STEP_TASKS_PER_NODE", "2(x3)", "4 tasks, the other one 6"},
      {"SLURM_PROCID", "4", "it is task 4 of 4"},
      {"SLURM_PROCID", "x", "expected an integer of 0 to 65536, but got 'x'"},
      {"SLURM_STEP_NUM_TASKS", "0", "(SLURM_STEP_NUM_TASKS): expected"},
      {"SLURM_DISTRIBUTION", "plane=2", "do not say where a task runs"},
      {"SLURM_NODEID", "2", "task 2 runs on node '2' and not on 1"},
      {"SLURM_STEP_NODELIST", "gpu 7,a,b", "no host's name has ' '"},
  };
  for (const Case &one : cases) {
    Variables variables = slurm(2, "1");
    variables[one.name] = one.value;
    EXPECT_THAT(faultsOf(variables), HasSubstr(one.message)) << one.value;
    EXPECT_THAT(faultsOf(variables),
                HasSubstr("cannot read the cluster of Slurm"));
  }
  // What is missing is called by its usual name.
  for (auto [name, usual] :
       {std::pair("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"),
        std::pair("SLURM_JOB_ID", "SLURM_JOB_ID")}) {
    Variables variables = slurm(2, "1");
    variables.erase(name);
    EXPECT_THAT(faultsOf(variables),
                HasSubstr(std::string("(") + usual +
                          "): it is not set; start the processes by srun"));
  }
}

TEST(Slurm, APartOfAHeterogeneousJobIsNoCluster) {
  Variables variables = slurm(2, "1");
  variables["SLURM_HET_SIZE"] = "2";
  variables["SLURM_PROCID"] = "77";
  EXPECT_THAT(faultsOf(variables), HasSubstr("heterogeneous job"));
}

TEST(Slurm, ABatchScriptIsOneProcess) {
  Variables variables = slurm(0, "0");
  variables.erase("SLURM_STEP_NODELIST");
  EXPECT_EQ(found(variables), "none");
}

TEST(HostList, Expands) {
  const std::pair<const char *, std::vector<std::string>> cases[] = {
      {"a", {"a"}},
      {"node[01-03,7]", {"node01", "node02", "node03", "node7"}},
      {"a,b[1-2]c,d", {"a", "b1c", "b2c", "d"}},
      {"r[1-2]n[8-9]", {"r1n8", "r1n9", "r2n8", "r2n9"}},
      {"n[009-011]", {"n009", "n010", "n011"}},
      {"127.0.0.[1-2]", {"127.0.0.1", "127.0.0.2"}},
  };
  for (auto &[text, expected] : cases) {
    std::vector<std::string> hosts;
    auto why = parseHostList(text, &hosts);
    EXPECT_FALSE(why) << text << ": " << *why;
    EXPECT_EQ(hosts, expected) << text;
  }
}

TEST(HostList, EachFaultHasItsMessage) {
  const std::pair<std::string, const char *> cases[] = {
      {"", "a name is empty"},
      {"a,,b", "a name is empty"},
      {"a[1", "the [ is not closed"},
      {"a]1", "a ] closes nothing"},
      {"a[[1]]", "brackets stand within brackets"},
      {"a[]", "'' is no number"},
      {"a[x]", "'x' is no number"},
      {"a[3-1]", "'3-1' ends before it begins"},
      {"a[0-999999999]", "more than 65536 hosts"},
      {"a[0-999]b[0-999]", "more than 65536 hosts"},
      {"a[1-9]" + std::string(300, 'x'), "a name is too long"},
  };
  for (auto &[text, message] : cases) {
    std::vector<std::string> hosts;
    auto why = parseHostList(text, &hosts);
    ASSERT_TRUE(why) << text;
    EXPECT_THAT(*why, HasSubstr(message)) << text;
  }
}

TEST(TaskCounts, Expand) {
  std::vector<int> counts;
  EXPECT_FALSE(parseTaskCounts("2(x3),1", &counts));
  EXPECT_THAT(counts, ElementsAre(2, 2, 2, 1));
  for (const char *wrong : {"", "0", "x", "2(x)", "2(x0)", "2(x3", "2(x99999)"})
    EXPECT_TRUE(parseTaskCounts(wrong, &counts)) << wrong;
}

/// mpirun of Open MPI 4.1 with two hosts.
static Variables openMpi(int rank) {
  return {{"OMPI_COMM_WORLD_SIZE", "3"},
          {"OMPI_COMM_WORLD_RANK", std::to_string(rank)},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
          {"OMPI_COMM_WORLD_LOCAL_RANK", std::to_string(rank % 2)},
          {"OMPI_UNIVERSE_SIZE", "4"},
          {"PMIX_RANK", std::to_string(rank)},
          {"PMIX_NAMESPACE", "1534853121"},
          {"OMPI_MCA_orte_hnp_uri",
           "1534853120.0;tcp://127.0.0.1,10.96.0.1,10.148.0.1:34911"}};
}

TEST(OpenMpi, OnlyRankZerosAddressIsKnown) {
  std::string text = found(openMpi(1));
  EXPECT_THAT(text, HasSubstr("worker 0 10.96.0.1:2"));
  EXPECT_THAT(text, HasSubstr("*worker 1 :0\nworker 2 :0\n"));
  EXPECT_EQ(text.substr(0, 25), found(openMpi(2)).substr(0, 25));
}

TEST(OpenMpi, ReadsIPv6) {
  Variables variables = openMpi(0);
  variables["OMPI_MCA_orte_hnp_uri"] =
      "1314521088.0;tcp6://[2620:10d::2,2620:10d::3]:43370";
  EXPECT_THAT(found(variables), HasSubstr("*worker 0 [2620:10d::2]:2"));
}

TEST(OpenMpi, ReadsPrrte) {
  Variables variables = openMpi(0);
  variables.erase("OMPI_MCA_orte_hnp_uri");
  variables["PMIX_NAMESPACE"] = "prterun-head-node-2241@1";
  EXPECT_THAT(found(variables), HasSubstr("*worker 0 head-node:2"));
}

TEST(OpenMpi, OneHostNeedsNoName) {
  Variables variables = openMpi(0);
  variables["OMPI_COMM_WORLD_LOCAL_SIZE"] = "3";
  std::string text = found(variables);
  EXPECT_THAT(text, HasSubstr("*worker 0 127.0.0.1:2"));
  EXPECT_THAT(text, HasSubstr("worker 2 127.0.0.1:2"));
}

TEST(OpenMpi, EachFaultHasItsMessage) {
  Variables variables = openMpi(3);
  EXPECT_THAT(faultsOf(variables), HasSubstr("it is rank 3 of 3"));
  variables = openMpi(0);
  variables["OMPI_COMM_WORLD_SIZE"] = "-1";
  EXPECT_THAT(faultsOf(variables), HasSubstr("but got '-1'"));
  variables = openMpi(0);
  for (const char *uri :
       {"", "1.0", "1.0;tcp://", "1.0;tcp6://[", "1.0;tcp://:1"}) {
    variables["OMPI_MCA_orte_hnp_uri"] = uri;
    EXPECT_THAT(faultsOf(variables),
                HasSubstr("it does not name mpirun's host"))
        << uri;
  }
  variables.erase("OMPI_MCA_orte_hnp_uri");
  EXPECT_THAT(faultsOf(variables), HasSubstr("it does not name mpirun's host"));
  variables.erase("PMIX_NAMESPACE");
  EXPECT_THAT(faultsOf(variables), HasSubstr("nothing says where rank 0 is"));
}

/// torchrun with two processes on each of two hosts.
static Variables torchrun(int rank) {
  return {{"RANK", std::to_string(rank)},
          {"WORLD_SIZE", "4"},
          {"LOCAL_RANK", "0"},
          {"LOCAL_WORLD_SIZE", "2"},
          {"MASTER_ADDR", "head-node"},
          {"MASTER_PORT", "29500"},
          {"TORCHELASTIC_RUN_ID", "none"},
          {"GROUP_RANK", "0"}};
}

TEST(Torchrun, OnlyRankZerosAddressIsKnown) {
  std::string text = found(torchrun(1));
  EXPECT_THAT(text, HasSubstr("worker 0 head-node:2"));
  EXPECT_THAT(text, HasSubstr("*worker 1 :0\nworker 2 :0\n"));
  // All agree on it, and torchrun's own store has another one.
  std::string address = text.substr(0, text.find('\n'));
  EXPECT_THAT(found(torchrun(3)), HasSubstr(address));
  EXPECT_EQ(address.find("29500"), std::string::npos);
  Variables other = torchrun(1);
  other["TORCHELASTIC_RUN_ID"] = "another";
  EXPECT_EQ(found(other).find(address), std::string::npos);
}

TEST(Torchrun, OneHostNeedsNoName) {
  Variables variables = torchrun(3);
  variables["LOCAL_WORLD_SIZE"] = "4";
  std::string text = found(variables);
  EXPECT_THAT(text, HasSubstr("worker 0 127.0.0.1:2"));
  EXPECT_THAT(text, HasSubstr("*worker 3 127.0.0.1:2"));
}

TEST(Torchrun, EachFaultHasItsMessage) {
  EXPECT_THAT(faultsOf(torchrun(4)), HasSubstr("it is rank 4 of 4"));
  Variables variables = torchrun(0);
  variables["WORLD_SIZE"] = "two";
  EXPECT_THAT(faultsOf(variables), HasSubstr("but got 'two'"));
  variables = torchrun(0);
  variables["MASTER_ADDR"] = "";
  EXPECT_THAT(faultsOf(variables), HasSubstr("MASTER_ADDR"));
  variables = torchrun(0);
  variables.erase("MASTER_PORT");
  EXPECT_THAT(faultsOf(variables), HasSubstr("MASTER_PORT): it is not set"));
}

TEST(Hydra, TellsThatItSaysTooLittle) {
  EXPECT_THAT(faultsOf({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}),
              HasSubstr("this is task 1 of 2, and not where the others are"));
}

static Variables kubernetes(int index) {
  return {{"JOB_COMPLETION_INDEX", std::to_string(index)},
          {"HOSTNAME", "train-" + std::to_string(index)},
          {"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
          {"KUBERNETES_SERVICE_PORT", "443"},
          {"DIST_WORKERS", "2"},
          {"DIST_SERVICE", "train-pods"}};
}

TEST(Kubernetes, PodsAreCalledByJobIndexAndService) {
  EXPECT_EQ(found(kubernetes(1)), "worker 0 train-0.train-pods:20000\n"
                                  "*worker 1 train-1.train-pods:20000\n");
}

TEST(Kubernetes, EachFaultHasItsMessage) {
  struct Case {
    const char *name, *value, *message;
  } cases[] = {
      {"JOB_COMPLETION_INDEX", "2", "it is index 2 of 2"},
      {"DIST_WORKERS", "many", "but got 'many'"},
      {"DIST_SERVICE", "a/b", "no host's name has '/'"},
      {"HOSTNAME", "node7", "is called JOB-1, but this one is 'node7'"},
      {"HOSTNAME", "-1", "is called JOB-1"},
  };
  for (const Case &one : cases) {
    Variables variables = kubernetes(1);
    variables[one.name] = one.value;
    EXPECT_THAT(faultsOf(variables), HasSubstr(one.message)) << one.value;
  }
  for (const char *name : {"DIST_SERVICE", "HOSTNAME"}) {
    Variables variables = kubernetes(1);
    variables.erase(name);
    EXPECT_THAT(faultsOf(variables), HasSubstr("it is not set")) << name;
  }
}

TEST(Kubernetes, WithoutASizePodsAreAlone) {
  Variables variables = kubernetes(1);
  variables.erase("DIST_WORKERS");
  EXPECT_EQ(found(variables), "none");
}
