//===- detect.cpp - Where the cluster is described --------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/detect.h"
#include "runtime/cluster/json_config.h"
#include "runtime/core/near_word.h"

namespace dist::cluster {

namespace {

struct Launcher {
  const char *name;  // as --cluster has it
  const char *title; // as people call it
  bool (*isPresent)(const Variables &);
  std::vector<Status> (*read)(const Variables &, ClusterSpec *);
};

} // namespace

static bool hasTfConfig(const Variables &variables) {
  auto known = variables.find("TF_CONFIG");
  // Shells clear a variable by an empty text.
  return known != variables.end() && !known->second.empty();
}

static std::vector<Status> readTfConfig(const Variables &variables,
                                        ClusterSpec *spec) {
  if (!hasTfConfig(variables))
    return {Status::error(StatusCode::InvalidInput, "no cluster is described",
                          "TF_CONFIG", "the variable is not set",
                          "set it, or give --cluster FILE.json")};
  return parseJsonConfig(variables.at("TF_CONFIG"), "TF_CONFIG", spec);
}

/// Innermost first: torchrun or mpirun may run within a job of Slurm or
/// Kubernetes, and is then what has started this process. What a user sets goes
/// before them.
static const Launcher kLaunchers[] = {
    {"TF_CONFIG", "TF_CONFIG", hasTfConfig, readTfConfig},
    {"torchrun", "torchrun", isStartedByTorchrun, readTorchrun},
    {"mpi", "mpirun", isStartedByMpi, readMpi},
    {"slurm", "Slurm", isStartedBySlurm, readSlurm},
    {"kubernetes", "Kubernetes", isStartedByKubernetes, readKubernetes},
    // srun may set its variables, too.
    {"mpiexec", "mpiexec", isStartedByHydra, readHydra},
};

static std::string countText(size_t tasks) {
  return std::to_string(tasks) + (tasks == 1 ? " task" : " tasks");
}

/// TF_CONFIG is set by hand, or by a script that counts wrong.
static void compareWithLauncher(const ClusterSpec &spec,
                                const Launcher &launcher,
                                const Variables &variables,
                                std::vector<Status> &faults) {
  ClusterSpec other;
  // An evaluator is started along, and stands in no cluster.
  bool isEvaluator = spec.self && spec.self->job == Job::Evaluator;
  if (!launcher.read(variables, &other).empty() || isEvaluator ||
      other.tasks().size() < 2)
    return;
  size_t named = spec.tasks().size(), started = other.tasks().size();
  if (named != started)
    faults.push_back(Status::error(
        StatusCode::InvalidInput, "two descriptions contradict each other",
        std::string("TF_CONFIG, ") + launcher.title,
        "the first names " + countText(named) + ", the second started " +
            countText(started),
        std::string("correct TF_CONFIG, or choose by --cluster TF_CONFIG or "
                    "--cluster ") +
            launcher.name));
}

static std::vector<Status> detectAny(const Variables &variables,
                                     Detection *detection) {
  const Launcher *used = nullptr;
  std::vector<Status> faults;
  ClusterSpec spec;
  for (const Launcher &launcher : kLaunchers) {
    if (!launcher.isPresent(variables))
      continue;
    if (!used) {
      used = &launcher;
      faults = launcher.read(variables, &spec);
      continue;
    }
    if (used == kLaunchers && faults.empty())
      compareWithLauncher(spec, launcher, variables, faults);
    detection->notes.push_back(std::string(launcher.title) +
                               " describes a cluster, too: " + used->title +
                               " goes first");
  }
  if (!used) {
    if (variables.count("SLURM_JOB_ID") && !variables.count("SLURM_PROCID"))
      detection->notes.push_back(
          "this is an allocation of Slurm: srun starts its tasks");
    if (variables.count("JOB_COMPLETION_INDEX"))
      detection->notes.push_back("this is a pod of an Indexed Job: with "
                                 "DIST_WORKERS and DIST_SERVICE it would be "
                                 "one of a cluster");
    return {};
  }
  if (faults.empty())
    faults = validate(spec);
  detection->spec = std::move(spec);
  return faults;
}

/// `--workers N --servers M`: all on this machine, on ports of their start.
static ClusterSpec makeLocal(const ClusterRequest &request) {
  ClusterSpec spec;
  auto fill = [&](Job job, int count) {
    spec.of(job).assign(size_t(count), Address{"127.0.0.1", 0});
  };
  if (request.servers > 0)
    fill(Job::Chief, 1);
  fill(Job::Worker, request.workers);
  fill(Job::Ps, request.servers);
  spec.addressSource =
      request.servers > 0 ? "--workers, --servers" : "--workers";
  return spec;
}

static std::vector<Status> detectNamed(const ClusterRequest &request,
                                       const Variables &variables,
                                       ClusterSpec *spec) {
  if (!request.textName.empty())
    return parseJsonConfig(request.source, request.textName, spec);
  for (const Launcher &launcher : kLaunchers)
    if (request.source == launcher.name)
      return launcher.read(variables, spec);
  std::vector<std::string> names;
  for (const Launcher &launcher : kLaunchers)
    names.push_back(launcher.name);
  std::string near = nearestWord(request.source, names);
  return {Status::error(
      StatusCode::InvalidArgument, "wrong option value", "--cluster",
      "there is no " + inQuotes(request.source),
      near.empty() ? "give TF_CONFIG, torchrun, slurm, mpi, kubernetes or "
                     "FILE.json"
                   : "did you mean " + near + "?")};
}

std::vector<Status> detectCluster(const ClusterRequest &request,
                                  const Variables &variables,
                                  Detection *detection) {
  std::vector<Status> faults;
  if (request.workers > 0) {
    detection->spec = makeLocal(request);
  } else if (!request.source.empty() || !request.textName.empty()) {
    ClusterSpec spec;
    faults = detectNamed(request, variables, &spec);
    detection->spec = std::move(spec);
  } else {
    faults = detectAny(variables, detection);
  }
  if (!detection->spec) {
    if (request.self && faults.empty())
      faults.push_back(Status::error(
          StatusCode::InvalidArgument, "wrong option value", "--task",
          "there is no cluster that the task could be of",
          "give --cluster, or leave --task out"));
    return faults;
  }
  ClusterSpec &spec = *detection->spec;
  if (request.self && faults.empty()) {
    if (spec.self && !(*spec.self == *request.self))
      faults.push_back(Status::error(StatusCode::InvalidInput,
                                     "two descriptions contradict each other",
                                     spec.selfSource + ", --task",
                                     "the first says " + spec.self->text() +
                                         ", the second " + request.self->text(),
                                     "leave one of them out"));
    spec.self = request.self;
    spec.selfSource = "--task";
  }
  if (faults.empty())
    faults = validate(spec);
  // One process of a cluster cannot start without knowing which.
  if (faults.empty() && !spec.self && request.workers == 0)
    faults.push_back(Status::error(
        StatusCode::InvalidInput, "nothing says which task this process is",
        spec.addressSource, "there is no \"task\"",
        "add \"task\": {\"type\": \"worker\", \"index\": 0}, or give --task "
        "worker:0"));
  return faults;
}

std::string explainUnused(const Variables &variables,
                          const std::string &strategy) {
  auto note = [&](const std::string &what) {
    return what + ": " + strategy +
           " runs in one process, on this host, and does not use it (dist-opt "
           "--print-cluster tells what it describes)";
  };
  for (const Launcher &launcher : kLaunchers) {
    if (!launcher.isPresent(variables))
      continue;
    if (&launcher == kLaunchers)
      return note("TF_CONFIG is set");
    ClusterSpec spec;
    const bool isRead = launcher.read(variables, &spec).empty();
    if (isRead && spec.tasks().size() < 2)
      continue;
    const bool isCounted = !isRead && launcher.read == readHydra;
    if (isRead || isCounted)
      return note(std::string(launcher.title) + " started " +
                  (isRead ? countText(spec.tasks().size())
                          : variables.at("PMI_SIZE") + " tasks") +
                  ", each of which does all of the work by itself");
  }
  return "";
}

} // namespace dist::cluster
