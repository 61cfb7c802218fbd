//===- cluster.cpp - The cluster as the tools read it -----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/options/cluster.h"
#include "runtime/cluster/detect.h"
#include "runtime/cluster/json_config.h"
#include "runtime/cluster/network.h"
#include "runtime/cluster/open_files.h"
#include "runtime/cluster/report.h"
#include "runtime/core/text.h"
#include "runtime/formats/text_file.h"
#include "tools/options/strategies.h"
#include "tools/options/values.h"
#include <algorithm>
#include <set>
#include <unistd.h>

namespace dist::tools {

static cluster::Variables readEnvironment() {
  cluster::Variables variables;
  for (char **one = environ; *one; ++one) {
    std::string text = *one;
    if (size_t equals = text.find('='); equals != std::string::npos)
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

/// --cluster is one of the known words, JSON, or else a file.
static Status makeRequest(const Options &options,
                          cluster::ClusterRequest *request) {
  // What was found before says how many they are, too.
  if (!options.clusterFound)
    request->workers = options.workers;
  request->servers = options.servers;
  if (!options.task.empty()) {
    cluster::Task task;
    DIST_RETURN_IF_ERROR(cluster::parseTask(options.task, "--task", &task));
    request->self = task;
  }
  const std::string &given = options.cluster;
  request->source = given;
  bool isText = startsWith(given, "{");
  bool isFile = !isText && (endsWith(given, ".json") ||
                            given.find('/') != std::string::npos);
  if (isText)
    request->textName = "--cluster";
  if (isFile) {
    request->textName = given;
    DIST_RETURN_IF_ERROR(readText(given, &request->source));
  }
  return Status();
}

/// The cluster, if there is one; what is wrong with it.
static std::vector<Status> detect(const Options &options,
                                  cluster::Detection *detection) {
  cluster::ClusterRequest request;
  if (Status status = makeRequest(options, &request); !status.ok())
    return {status};
  return cluster::detectCluster(request, readEnvironment(), detection);
}

static Status checkDevices(const cluster::ClusterSpec &spec,
                           const Options &options) {
  if (spec.devices == 0 || !options.devicesGiven ||
      spec.devices == int(options.devices.size()))
    return Status();
  return Status::error(
      StatusCode::InvalidInput, "two descriptions contradict each other",
      spec.devicesSource + ", --devices",
      "the first says " + std::to_string(spec.devices) +
          " a worker, the second " + std::to_string(options.devices.size()),
      "leave one of them out");
}

/// Tasks that tell their addresses when they join are each on a host of its
/// own, as far as is known.
static int countHosts(const cluster::ClusterSpec &spec) {
  std::set<std::string> hosts;
  int unknown = 0;
  for (const cluster::Task &task : spec.trainers()) {
    const cluster::Address *address = spec.find(task);
    if (!address || address->host.empty())
      ++unknown;
    else
      hosts.insert(cluster::isLoopback(address->host)
                       ? "localhost"
                       : cluster::canonicalHost(address->host));
  }
  return int(hosts.size()) + unknown;
}

Status findWorkers(Options *options) {
  bool isServed = hasServers(*options);
  if ((!hasProcesses(*options) && !isServed) || options->workers > 0)
    return Status();
  cluster::Detection detection;
  for (const Status &fault : detect(*options, &detection))
    return fault;
  if (!detection.spec)
    return Status();
  const cluster::ClusterSpec &spec = *detection.spec;
  DIST_RETURN_IF_ERROR(checkDevices(spec, *options));
  size_t servers = spec.of(cluster::Job::Ps).size();
  if (isServed && servers == 0)
    return Status::error(
        StatusCode::InvalidInput, "the cluster has no parameter server",
        spec.addressSource, "nothing would hold the variables",
        "add \"ps\": [\"HOST:PORT\", ...], and a \"chief\", to the cluster");
  if (!isServed && servers > 0)
    return Status::error(
        StatusCode::InvalidInput, "the cluster has parameter servers",
        spec.addressSource,
        options->collectives
            ? "collectives are timed between workers that "
              "train in step"
            : "--strategy " + formatStrategies(options->strategies) +
                  " has a copy of the variables on each "
                  "worker",
        "leave \"ps\" out of the cluster");
  auto tell = [&](const char *option, int number) {
    options->compileArguments.push_back(std::string(option) + "=" +
                                        std::to_string(number));
    return number;
  };
  options->clusterFound = true;
  options->clusterSource = spec.addressSource;
  options->workers = tell("--workers", int(spec.trainers().size()));
  if (isServed)
    options->servers = tell("--servers", int(servers));
  else if (options->hosts == 0)
    options->hosts = tell("--hosts", countHosts(spec));
  if (spec.devices > 0 && !options->devicesGiven) {
    std::string devices = "cpu:" + std::to_string(spec.devices);
    DIST_RETURN_IF_ERROR(parseDevices(devices, &options->devices));
    options->compileArguments.push_back("--devices=" + devices);
  }
  return Status();
}

void setWorkers(Options *options, int workers, int hosts) {
  options->workers = workers;
  options->hosts = hosts;
  std::vector<std::string> &words = options->compileArguments;
  for (auto [option, number] :
       {std::pair("--workers=", workers), std::pair("--hosts=", hosts)}) {
    std::string start = option;
    words.erase(std::remove_if(words.begin(), words.end(),
                               [&](const std::string &word) {
                                 return word.compare(0, start.size(), start) ==
                                        0;
                               }),
                words.end());
    words.push_back(start + std::to_string(number));
  }
}

static void addNetworkFaults(const cluster::ClusterSpec &spec,
                             std::vector<Status> &faults) {
  cluster::SystemNetwork network;
  for (Status &fault : cluster::checkNetwork(spec, network))
    faults.push_back(std::move(fault));
}

bool describesCluster(const Options &options) {
  cluster::Detection detection;
  return !detect(options, &detection).empty() || detection.spec;
}

/// The task that this process is of the cluster that `fit` was started for.
static std::optional<cluster::Task> findTask(const Options &options,
                                             cluster::Task *chief) {
  const bool isForCluster =
      isPackage(options.model) || hasProcesses(options) || hasServers(options);
  cluster::Detection detection;
  // What is wrong with a description is told to all tasks alike.
  if (options.command != "fit" || !isForCluster || options.workers > 0 ||
      !detect(options, &detection).empty() || !detection.spec)
    return std::nullopt;
  *chief = detection.spec->chief();
  return detection.spec->self;
}

bool isEvaluator(const Options &options) {
  cluster::Task chief;
  auto self = findTask(options, &chief);
  return self && self->job == cluster::Job::Evaluator;
}

bool isLedByAnother(const Options &options) {
  cluster::Task chief;
  auto self = findTask(options, &chief);
  const bool mayBecomeChief = options.elastic && options.store;
  return self && !(*self == chief) && !mayBecomeChief;
}

std::vector<Status>
findCluster(const Options &options, cluster::ClusterSpec *spec,
            const std::function<void(const std::string &)> &note) {
  cluster::Detection detection;
  std::vector<Status> faults = detect(options, &detection);
  if (faults.empty() && !detection.spec)
    faults.push_back(Status::error(
        StatusCode::InvalidArgument, "several processes train this",
        options.model, "nothing says where the others are",
        "add --workers N, set TF_CONFIG, or give --cluster"));
  if (!faults.empty())
    return faults;
  *spec = std::move(*detection.spec);
  Status files = cluster::checkOpenFiles(*spec, int(options.devices.size()),
                                         !options.store);
  if (!files.ok())
    return {files};
  cluster::NameWait wait;
  wait.seconds = options.startTimeout;
  wait.needsChief = !options.store;
  wait.note = note;
  cluster::SystemNetwork network;
  return cluster::awaitNetwork(*spec, wait, network);
}

static Status noAddress(const Options &options,
                        const std::optional<cluster::AddressFault> &fault) {
  return fault
             ? Status::error(StatusCode::InvalidArgument, "this is no address",
                             options.model, fault->why, fault->todo)
             : Status();
}

Status takeListenAddress(const Options &options, cluster::Address *out) {
  return noAddress(options, cluster::parseListenAddress(options.model, out));
}

std::string describeListening(const std::string &scheme,
                              const cluster::Address &address,
                              const std::string &path) {
  return cluster::isWildcard(address.host)
             ? scheme + cluster::Address{"HOST", address.port}.text() + path +
                   " (HOST: any of this machine's addresses)"
             : scheme + address.text() + path;
}

Status findChief(const Options &options, cluster::Address *out) {
  if (!options.model.empty())
    return noAddress(options, cluster::parseAddress(options.model, out));
  cluster::Detection detection;
  for (const Status &fault : detect(options, &detection))
    return fault;
  const cluster::Address *chief =
      detection.spec ? detection.spec->find(detection.spec->chief()) : nullptr;
  if (!chief || chief->host.empty() || chief->port == 0)
    return Status::error(StatusCode::InvalidArgument,
                         "which cluster is not known", "dist-run status",
                         "nothing says where its chief is",
                         "give the address of its chief, or of worker 0, as "
                         "HOST:PORT");
  *out = *chief;
  return Status();
}

Status parseMetricsPort(const std::string &text, std::string *host,
                        std::optional<int> *port) {
  *host = "127.0.0.1";
  if (text.find(':') == std::string::npos) {
    int64_t number = 0;
    DIST_RETURN_IF_ERROR(parseInteger("--metrics-port", text, 0, &number));
    if (number > 65535)
      return wrongValue("--metrics-port", text + " is out of range",
                        "give one of 0 to 65535");
    *port = int(number);
    return Status();
  }
  cluster::Address address;
  if (auto fault = cluster::parseListenAddress(text, &address))
    return wrongValue("--metrics-port", fault->why, fault->todo);
  *host = address.host;
  *port = address.port;
  return Status();
}

Status parseCommunicator(const std::string &text, bool *usesMpi) {
  *usesMpi = text == "mpi";
  return text == "ucx" || text == "mpi"
             ? Status()
             : wrongValue("--communicator", text + " is none",
                          "give ucx, or mpi");
}

Status parseCoordination(const std::string &text, cluster::SharedStore *store) {
  *store = {};
  if (text == "embedded")
    return Status();
  auto fault = cluster::parseStore(text, store);
  if (!fault)
    return Status();
  return wrongValue("--coordination", fault->why,
                    fault->todo.empty()
                        ? std::string("give embedded, ") + cluster::kStoreForms
                        : fault->todo);
}

Status parsePortRange(const std::string &text, int *first, int *last) {
  size_t colon = text.find(':');
  int64_t low = 0, high = 0;
  if (colon == std::string::npos)
    return wrongValue("--port-range", text + " is no range",
                      "give the first and the last port, as 23000:23999");
  DIST_RETURN_IF_ERROR(
      parseInteger("--port-range", text.substr(0, colon), 1, &low));
  DIST_RETURN_IF_ERROR(
      parseInteger("--port-range", text.substr(colon + 1), 1, &high));
  if (low > high || high > 65535)
    return wrongValue("--port-range", text + " has no ports",
                      "give the first and the last of 1 to 65535");
  *first = int(low);
  *last = int(high);
  return Status();
}

ClusterReport describeCluster(const Options &options) {
  ClusterReport report;
  cluster::Detection detection;
  report.faults = detect(options, &detection);
  report.notes = std::move(detection.notes);
  if (!detection.spec || !report.faults.empty())
    return report;
  const cluster::ClusterSpec &spec = *detection.spec;
  report.notes.insert(report.notes.end(), spec.notes.begin(), spec.notes.end());
  bool isSaid = spec.devices > 0 && !options.devicesGiven;
  report.text = cluster::formatCluster(
      spec, isSaid ? spec.devices : int(options.devices.size()),
      isSaid                 ? spec.devicesSource
      : options.devicesGiven ? "--devices"
                             : "by default");
  if (Status status = checkDevices(spec, options); !status.ok())
    report.faults.push_back(status);
  if (spec.self)
    addNetworkFaults(spec, report.faults);
  report.text +=
      spec.of(cluster::Job::Ps).empty()
          ? "to train: dist-run fit MODEL ... --strategy "
            "multi-worker-mirrored, "
            "the same for each of them\n"
          : "to train: dist-run fit MODEL ... --strategy parameter-server, the "
            "same for each of them\n";
  return report;
}

std::string unusedClusterNote(const Options &options) {
  // Of one worker that --workers has started, it is not the user's.
  if (options.workers > 0)
    return "";
  return cluster::explainUnused(readEnvironment(),
                                formatStrategies(options.strategies));
}

} // namespace dist::tools
