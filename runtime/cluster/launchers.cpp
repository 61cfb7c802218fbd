//===- launchers.cpp - Clusters of launchers' variables ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/launchers.h"
#include "runtime/cluster/host_list.h"
#include "runtime/core/text.h"

namespace dist::cluster {

/// Below the ports that kernels hand out and those of Kubernetes' nodes.
static constexpr int kFirstPort = 20000, kPorts = 10000;
/// Ports between those of two jobs with adjacent numbers.
static constexpr int kPortsOfJob = 16;
/// What a step is more than the one before it, in jobs: its ports are not those
/// of the jobs that follow, of which the same nodes may have some, too.
static constexpr int64_t kJobsOfStep = 196;
static constexpr int kMostTasks = 1 << 16;
/// Slurm's numbers of jobs and steps have 32 bits; those of jobs of federated
/// clusters use the upper ones.
static constexpr int64_t kMostNumber = UINT32_MAX;

namespace {

/// Reads variables and collects what is wrong with them.
class VariableReader {
public:
  VariableReader(const char *launcher, const Variables &variables,
                 ClusterSpec *spec)
      : spec(spec), launcher(launcher), variables(variables) {}

  const std::string *find(const std::string &name) const {
    auto known = variables.find(name);
    return known == variables.end() ? nullptr : &known->second;
  }
  /// The first of the names that is set, else the last.
  std::string firstSet(const std::vector<std::string> &names) const {
    for (const std::string &name : names)
      if (find(name))
        return name;
    return names.back();
  }
  const std::string *need(const std::string &name, const std::string &todo) {
    const std::string *value = find(name);
    if (!value)
      add(name, "it is not set", todo);
    return value;
  }
  std::optional<int64_t> integer(const std::string &name, int64_t least,
                                 int64_t most, const std::string &todo) {
    const std::string *value = need(name, todo);
    if (!value)
      return std::nullopt;
    bool isNumber = !value->empty() && value->size() <= 10 &&
                    value->find_first_not_of("0123456789") == std::string::npos;
    if (!isNumber || std::stoll(*value) < least || std::stoll(*value) > most) {
      add(name,
          "expected an integer of " + std::to_string(least) + " to " +
              std::to_string(most) + ", but got " + inQuotes(*value),
          todo);
      return std::nullopt;
    }
    return std::stoll(*value);
  }
  void add(const std::string &where, const std::string &why,
           const std::string &todo) {
    faults.push_back(
        Status::error(StatusCode::InvalidInput,
                      std::string("cannot read the cluster of ") + launcher,
                      where, why, todo));
  }
  /// All tasks are workers, as many as there are ranks.
  void setSelf(int rank, const std::string &source) {
    spec->self = Task{Job::Worker, rank};
    spec->selfSource = source;
  }

  ClusterSpec *spec;
  std::vector<Status> faults;

private:
  const char *launcher;
  const Variables &variables;
};

} // namespace

//===----------------------------------------------------------------------===//
// Slurm
//===----------------------------------------------------------------------===//

static const char *const kUseSrun = "start the processes by srun";

bool isStartedBySlurm(const Variables &variables) {
  // A batch script has PROCID and NTASKS of its job, too, but is one process.
  return variables.count("SLURM_STEP_NODELIST") &&
         variables.count("SLURM_PROCID");
}

/// On which node each rank runs, as the distribution says; empty if it does
/// not.
static std::vector<int> placeTasks(const std::vector<int> &counts, int tasks,
                                   const std::string &distribution) {
  // block:cyclic is about nodes first, then about sockets.
  std::string kind = distribution.substr(0, distribution.find_first_of(":,"));
  std::vector<int> nodes;
  if (kind.empty() || kind == "block") {
    for (size_t node = 0; node < counts.size(); ++node)
      nodes.insert(nodes.end(), size_t(counts[node]), int(node));
  } else if (kind == "cyclic") {
    for (int round = 0; int(nodes.size()) < tasks; ++round)
      for (size_t node = 0; node < counts.size(); ++node)
        if (round < counts[node])
          nodes.push_back(int(node));
  }
  return nodes;
}

std::vector<Status> readSlurm(const Variables &variables, ClusterSpec *spec) {
  VariableReader r("Slurm", variables, spec);
  std::string listName = "SLURM_STEP_NODELIST";
  std::string countName = r.firstSet({"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"});
  std::string perNodeName =
      r.firstSet({"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"});
  const std::string *list = r.need(listName, kUseSrun);
  const std::string *perNode = r.need(perNodeName, kUseSrun);
  auto tasks = r.integer(countName, 1, kMostTasks, kUseSrun);
  auto rank = r.integer("SLURM_PROCID", 0, kMostTasks, kUseSrun);
  auto job = r.integer(r.firstSet({"SLURM_JOBID", "SLURM_JOB_ID"}), 0,
                       kMostNumber, kUseSrun);
  // Several steps of a job may run at a time, on the same nodes.
  std::string stepName = r.firstSet({"SLURM_STEPID", "SLURM_STEP_ID"});
  auto step = r.find(stepName) ? r.integer(stepName, 0, kMostNumber, kUseSrun)
                               : std::optional<int64_t>(0);
  std::vector<std::string> hosts;
  std::vector<int> counts;
  if (list)
    if (auto why = parseHostList(*list, &hosts))
      r.add(listName, *why, "give a list as node[01-03,7]");
  if (perNode)
    if (auto why = parseTaskCounts(*perNode, &counts))
      r.add(perNodeName, *why, "give counts as 2(x3),1");
  if (!r.faults.empty())
    return r.faults;

  if (counts.size() != hosts.size()) {
    r.add(listName + ", " + perNodeName,
          "the one has " + std::to_string(hosts.size()) +
              " nodes, the other one " + std::to_string(counts.size()),
          "leave them as Slurm sets them");
    return r.faults;
  }
  int64_t sum = 0;
  for (int count : counts)
    sum += count;
  if (sum != *tasks) {
    r.add(countName + ", " + perNodeName,
          "the one has " + std::to_string(*tasks) + " tasks, the other one " +
              std::to_string(sum),
          "leave them as Slurm sets them");
    return r.faults;
  }
  if (*rank >= *tasks && r.find("SLURM_HET_SIZE")) {
    r.add("SLURM_HET_SIZE",
          "the variables of a heterogeneous job's task name the nodes of its "
          "own part alone",
          "set TF_CONFIG, or start the processes by mpirun");
    return r.faults;
  }
  if (*rank >= *tasks) {
    r.add("SLURM_PROCID, " + countName,
          "it is task " + std::to_string(*rank) + " of " +
              std::to_string(*tasks),
          "leave them as Slurm sets them");
    return r.faults;
  }
  const std::string *distribution = r.find("SLURM_DISTRIBUTION");
  std::vector<int> nodes =
      placeTasks(counts, *tasks, distribution ? *distribution : "");
  if (nodes.empty()) {
    r.add("SLURM_DISTRIBUTION",
          "with " + inQuotes(*distribution) +
              " the variables do not say where a task runs",
          "give srun --distribution=block or cyclic");
    return r.faults;
  }
  if (const std::string *node = r.find("SLURM_NODEID");
      node && *node != std::to_string(nodes[size_t(*rank)])) {
    r.add("SLURM_NODEID",
          "task " + std::to_string(*rank) + " runs on node " + inQuotes(*node) +
              " and not on " + std::to_string(nodes[size_t(*rank)]) +
              ", where the counts of tasks put it",
          "give srun --distribution=block or cyclic");
    return r.faults;
  }

  int base = kFirstPort + int((*job + *step * kJobsOfStep) %
                              (kPorts / kPortsOfJob) * kPortsOfJob);
  std::vector<int> used(hosts.size(), 0);
  for (int node : nodes) {
    Address address{hosts[size_t(node)], base + used[size_t(node)]++};
    Address parsed;
    if (auto fault = parseAddress(address.text(), &parsed)) {
      r.add(listName, fault->why, "leave it as Slurm sets it");
      return r.faults;
    }
    spec->of(Job::Worker).push_back(address);
  }
  spec->addressSource =
      listName + ", " + perNodeName + ", SLURM_JOB_ID, SLURM_STEP_ID";
  r.setSelf(*rank, "SLURM_PROCID");
  spec->notes.push_back(
      "Slurm kills all tasks of a step with the first that fails, unless srun "
      "has --kill-on-bad-exit=0");
  return r.faults;
}

//===----------------------------------------------------------------------===//
// Open MPI and PRRTE
//===----------------------------------------------------------------------===//

static const char *const kUseMpirun = "start the processes by mpirun";

bool isStartedByMpi(const Variables &variables) {
  return variables.count("OMPI_COMM_WORLD_SIZE") &&
         variables.count("OMPI_COMM_WORLD_RANK");
}

/// mpirun's host, of `1234.0;tcp://10.0.0.1,192.168.0.1:3491` or
/// `1234.0;tcp6://[fe80::1,2620::2]:4337`: the first that is not loopback.
static std::string hostOfUri(const std::string &uri) {
  std::string first;
  for (const std::string &part : splitList(uri, ';')) {
    size_t scheme = part.find("://");
    if (scheme == std::string::npos)
      continue;
    std::string hosts = part.substr(scheme + 3);
    size_t end = hosts.find(hosts[0] == '[' ? ']' : ':');
    if (hosts.empty() || end == std::string::npos)
      continue;
    hosts = hosts.substr(hosts[0] == '[', end - (hosts[0] == '['));
    for (const std::string &host : splitList(hosts)) {
      if (first.empty())
        first = host;
      if (!isLoopback(host))
        return host;
    }
  }
  return first;
}

/// mpirun's host, of PRRTE's `prterun-HOST-PID@JOB`.
static std::string hostOfNamespace(const std::string &name) {
  size_t begin = name.find('-'), at = name.rfind('@');
  size_t end = at == std::string::npos ? at : name.rfind('-', at);
  if (end == std::string::npos || begin >= end)
    return "";
  return name.substr(begin + 1, end - begin - 1);
}

/// The same on all ranks of a job, and likely another one for the next.
static int portOfJob(const std::string &job) {
  uint32_t hash = 2166136261u; // FNV-1a
  for (char c : job)
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return kFirstPort + int(hash % (kPorts / kPortsOfJob)) * kPortsOfJob;
}

/// All are on one host, where no address is needed.
static void setOneHost(int64_t tasks, int port, ClusterSpec *spec) {
  std::vector<Address> &workers = spec->of(Job::Worker);
  for (int i = 0; i < tasks; ++i)
    workers[size_t(i)] = {"127.0.0.1", port + i};
}

std::vector<Status> readMpi(const Variables &variables, ClusterSpec *spec) {
  VariableReader r("Open MPI", variables, spec);
  auto tasks = r.integer("OMPI_COMM_WORLD_SIZE", 1, kMostTasks, kUseMpirun);
  auto rank = r.integer("OMPI_COMM_WORLD_RANK", 0, kMostTasks, kUseMpirun);
  if (!r.faults.empty())
    return r.faults;
  if (*rank >= *tasks) {
    r.add("OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE",
          "it is rank " + std::to_string(*rank) + " of " +
              std::to_string(*tasks),
          "leave them as mpirun sets them");
    return r.faults;
  }
  std::vector<Address> &workers = spec->of(Job::Worker);
  workers.assign(size_t(*tasks), Address());
  std::string job, host, source;
  if (const std::string *uri = r.find("OMPI_MCA_orte_hnp_uri")) {
    source = "OMPI_MCA_orte_hnp_uri";
    job = uri->substr(0, uri->find(';'));
    host = hostOfUri(*uri);
  } else if (const std::string *name = r.find("PMIX_NAMESPACE")) {
    source = "PMIX_NAMESPACE";
    job = *name;
    host = hostOfNamespace(*name);
  } else {
    r.add("OMPI_MCA_orte_hnp_uri, PMIX_NAMESPACE",
          "neither is set, so that nothing says where rank 0 is", kUseMpirun);
    return r.faults;
  }
  int port = portOfJob(job);
  const std::string *local = r.find("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (local && *local == std::to_string(*tasks)) {
    setOneHost(*tasks, port, spec);
    source = "OMPI_COMM_WORLD_LOCAL_SIZE";
  } else {
    Address chief{host, port}, parsed;
    if (auto fault = parseAddress(chief.text(), &parsed)) {
      r.add(source, "it does not name mpirun's host: " + fault->why,
            "leave it as mpirun sets it");
      return r.faults;
    }
    workers[0] = chief;
    spec->notes.push_back(
        "rank 0 must run on mpirun's host, as it does by default; the other "
        "ranks tell their addresses when they join");
  }
  spec->addressSource = source;
  r.setSelf(*rank, "OMPI_COMM_WORLD_RANK");
  spec->notes.push_back("mpirun kills all ranks with the first that fails");
  return r.faults;
}

//===----------------------------------------------------------------------===//
// torchrun, and launchers that say too little
//===----------------------------------------------------------------------===//

static const char *const kUseTorchrun = "start the processes by torchrun";

bool isStartedByTorchrun(const Variables &variables) {
  // Without an address they may be left of something else.
  return variables.count("RANK") && variables.count("WORLD_SIZE") &&
         variables.count("MASTER_ADDR");
}

std::vector<Status> readTorchrun(const Variables &variables,
                                 ClusterSpec *spec) {
  VariableReader r("torchrun", variables, spec);
  auto tasks = r.integer("WORLD_SIZE", 1, kMostTasks, kUseTorchrun);
  auto rank = r.integer("RANK", 0, kMostTasks, kUseTorchrun);
  const std::string *host = r.need("MASTER_ADDR", kUseTorchrun);
  const std::string *store = r.need("MASTER_PORT", kUseTorchrun);
  if (!r.faults.empty())
    return r.faults;
  if (*rank >= *tasks) {
    r.add("RANK, WORLD_SIZE",
          "it is rank " + std::to_string(*rank) + " of " +
              std::to_string(*tasks),
          "leave them as torchrun sets them");
    return r.faults;
  }
  const std::string *run = r.find("TORCHELASTIC_RUN_ID");
  const std::string *local = r.find("LOCAL_WORLD_SIZE");
  const int port = portOfJob(*store + " " + (run ? *run : ""));
  std::vector<Address> &workers = spec->of(Job::Worker);
  workers.assign(size_t(*tasks), Address());
  if (local && *local == std::to_string(*tasks)) {
    setOneHost(*tasks, port, spec);
    spec->addressSource = "LOCAL_WORLD_SIZE, MASTER_PORT";
  } else {
    Address parsed;
    workers[0] = {*host, port};
    if (auto fault = parseAddress(workers[0].text(), &parsed)) {
      r.add("MASTER_ADDR", fault->why, "set it to the host of rank 0");
      return r.faults;
    }
    spec->addressSource = "MASTER_ADDR, MASTER_PORT";
    spec->notes.push_back("rank 0 must run on MASTER_ADDR's host; the other "
                          "ranks tell their addresses when they join");
  }
  r.setSelf(*rank, "RANK");
  spec->notes.push_back("torchrun ends all ranks with the first that fails");
  return r.faults;
}

bool isStartedByHydra(const Variables &variables) {
  auto size = variables.find("PMI_SIZE");
  return size != variables.end() && size->second != "1" &&
         variables.count("PMI_RANK");
}

std::vector<Status> readHydra(const Variables &variables, ClusterSpec *spec) {
  VariableReader r("MPICH or Intel MPI", variables, spec);
  const char *todo = "start the processes by Open MPI's mpirun or by srun, or "
                     "set TF_CONFIG";
  const std::string *rank = r.need("PMI_RANK", todo);
  const std::string *size = r.need("PMI_SIZE", todo);
  if (rank && size)
    r.add("PMI_RANK, PMI_SIZE",
          "they say that this is task " + *rank + " of " + *size +
              ", and not where the others are",
          todo);
  return r.faults;
}

//===----------------------------------------------------------------------===//
// Kubernetes
//===----------------------------------------------------------------------===//

bool isStartedByKubernetes(const Variables &variables) {
  // Without a size it is one of many jobs that know nothing of each other.
  return variables.count("JOB_COMPLETION_INDEX") &&
         variables.count("DIST_WORKERS");
}

std::vector<Status> readKubernetes(const Variables &variables,
                                   ClusterSpec *spec) {
  VariableReader r("Kubernetes", variables, spec);
  auto index = r.integer("JOB_COMPLETION_INDEX", 0, kMostTasks,
                         "give the job completionMode: Indexed");
  auto tasks =
      r.integer("DIST_WORKERS", 1, kMostTasks,
                "set it to the job's completions in the container's env");
  const std::string *service =
      r.need("DIST_SERVICE", "set it to the headless service that is the pods' "
                             "subdomain, in the container's env");
  const std::string *host =
      r.need("HOSTNAME", "leave it as Kubernetes sets it");
  if (!r.faults.empty())
    return r.faults;
  if (*index >= *tasks) {
    r.add("JOB_COMPLETION_INDEX, DIST_WORKERS",
          "it is index " + std::to_string(*index) + " of " +
              std::to_string(*tasks),
          "set DIST_WORKERS to the job's completions");
    return r.faults;
  }
  std::string end = "-" + std::to_string(*index);
  if (!endsWith(*host, end) || host->size() == end.size()) {
    r.add("HOSTNAME",
          "a pod of an Indexed Job is called JOB" + end + ", but this one is " +
              inQuotes(*host),
          "leave hostNetwork and hostname out of the pod's template");
    return r.faults;
  }
  std::string job = host->substr(0, host->size() - end.size());
  for (int i = 0; i < *tasks; ++i) {
    Address address{job + "-" + std::to_string(i) + "." + *service, kFirstPort};
    Address parsed;
    if (auto fault = parseAddress(address.text(), &parsed)) {
      r.add("HOSTNAME, DIST_SERVICE", fault->why,
            "set DIST_SERVICE to the service's name");
      return r.faults;
    }
    spec->of(Job::Worker).push_back(address);
  }
  spec->addressSource = "HOSTNAME, DIST_WORKERS, DIST_SERVICE";
  r.setSelf(*index, "JOB_COMPLETION_INDEX");
  return r.faults;
}

} // namespace dist::cluster
