//===- options.cpp - The command line of both tools -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/limits.h"
#include "runtime/core/one_line.h"
#include "runtime/core/text.h"
#include "runtime/formats/foreign.h"
#include "tools/options/cluster.h"
#include "tools/options/evaluator.h"
#include "tools/options/strategies.h"
#include "tools/options/help.h"
#include "tools/options/options.h"
#include "tools/options/table.h"
#include <algorithm>
#include <sstream>
#include <sys/stat.h>

namespace dist::tools {

int exitCodeOf(StatusCode code) {
  switch (code) {
  case StatusCode::Ok:
    return 0;
  case StatusCode::InvalidInput:
    return 1;
  case StatusCode::InvalidArgument:
    return 2;
  default:
    return 3;
  }
}

std::string errorLine(const char *tool, const Status &status) {
  return onOneLine(std::string(tool) + ": error: " + status.message());
}

const char *versionText() { return "dist-mlir " DIST_VERSION; }

static std::vector<std::string> commandNames() {
  std::vector<std::string> names;
  for (const CommandRow &row : commandTable())
    names.push_back(row.name);
  return names;
}

/// An unknown option is the likeliest error of all: names the nearest one.
static Status unknownOption(const std::string &word, const Table &table) {
  std::string name = word.substr(0, word.find('='));
  std::string near = nearestName(name, table.names());
  if (near == "--optimizer" && name != "--optimiser")
    near += " NAME:key=value, as in sgd:lr=0.1"; // a key of the optimizer
  return Status::error(
      StatusCode::InvalidArgument,
      name[0] == '-' ? "unknown option" : "unexpected argument", name, "",
      near.empty() ? "see --help" : "did you mean " + near + "?");
}

static Status wrongDiff(size_t count) {
  return wrongValue("--diff",
                    "expected two strategies, but got " + std::to_string(count),
                    "write --diff A B");
}

/// What of the explanations does not go together.
static Status checkExplanations(const Options &o) {
  if (!o.traceFile.empty() && o.explain != "html")
    return wrongValue("--trace-file", "it is shown on the page only",
                      "add --explain=html");
  if (o.diff.empty())
    return Status();
  if (o.diff.size() != 2)
    return wrongDiff(o.diff.size());
  if (!o.strategies.empty())
    return wrongValue("--diff", "it names the strategies itself",
                      "leave --strategy out");
  if (o.explain == "html")
    return wrongValue("--explain",
                      "two strategies are compared as a table or "
                      "as JSON",
                      "write --explain=json, or leave it out");
  return Status();
}

/// A package is a folder: what is called as a file was meant to be one.
static bool isFileName(const std::string &path) {
  for (const char *form : {".mlir", ".mlirbc", ".onnx", ".safetensors", ".json",
                           ".html", ".ll", ".txt", ".svg"})
    if (endsWith(path, form))
      return true;
  return false;
}

/// dist-opt writes one thing: what else is asked for would be left out.
static Status checkWritten(const Options &o) {
  const std::pair<const char *, bool> beside[] = {
      {"--emit", !o.emit.empty()},
      {"--explain", !o.explain.empty()},
      {"--check", !o.check.empty()},
      {"--diff", !o.diff.empty()},
      {"--output", !o.outFile.empty()}};
  for (auto [option, isGiven] : beside)
    if (o.coverage && isGiven)
      return wrongValue(option, "--coverage prints its table and nothing else",
                        "leave one of them out");
  if (!o.explain.empty() && !o.emit.empty() && o.emit != "explain")
    return wrongValue("--explain",
                      "--emit=" + o.emit + " is written in its place",
                      "leave one of them out");
  if (!o.check.empty() &&
      (o.emit == "graph" || o.emit == "train" || o.emit == "annotated"))
    return wrongValue("--check",
                      "--emit=" + o.emit +
                          " stops before there is a "
                          "partitioned program to check",
                      "leave one of them out");
  const bool isPackage =
      o.emit == "package" || (o.emit.empty() && o.explain.empty() &&
                              o.diff.empty() && !o.outFile.empty());
  if (!o.dependencies.empty() && !isPackage)
    return wrongValue("--dependencies", "they are those of a package",
                      "add --emit=package -o FOLDER, or leave it out");
  struct stat info;
  if (isPackage && isFileName(o.outFile) && stat(o.outFile.c_str(), &info) != 0)
    return wrongValue("--output",
                      "'" + o.outFile +
                          "' is a file's name, and without another --emit a "
                          "package, a folder, is written",
                      "add --emit=STAGE, or give another name");
  return Status();
}

bool isPackage(const std::string &path) {
  struct stat info;
  return stat((path + "/manifest").c_str(), &info) == 0 &&
         S_ISREG(info.st_mode);
}

/// Who reads which examples cannot change while training goes on.
static Status checkShardPolicy(const Options &o) {
  const std::string &policy = o.shardPolicy;
  if (policy.empty())
    return Status();
  if (hasServers(o))
    return wrongValue("--shard-policy",
                      "with parameter servers no data are shared out: a worker "
                      "takes the batches that the coordinator gives it",
                      "leave it out");
  bool ownsExamples = policy == "file" || policy == "off";
  if (ownsExamples && o.elastic)
    return wrongValue("--shard-policy " + policy,
                      "with --elastic the examples of a lost worker would be "
                      "lost, too",
                      "give --shard-policy data, or leave --elastic out");
  if (policy == "file" && o.validationSplit > 0)
    return wrongValue("--shard-policy file",
                      "--validation-split holds the last examples of all files "
                      "back, and a worker reads some of them alone",
                      "give --validation-data, or --shard-policy data");
  return Status();
}

/// What a site's MPI cannot do.
static Status checkMpi(const Options &o) {
  const std::string option = "--communicator mpi";
  if (!o.usesMpi)
    return Status();
  if (o.elastic)
    return wrongValue(option, "MPI does not outlive a process that is lost",
                      "leave --elastic or this out");
  if (hasServers(o))
    return wrongValue(option, "parameter servers send messages of their own",
                      "leave it out");
  if (o.workers > 0 && !o.clusterFound)
    return wrongValue(option, "its processes are those that mpirun starts",
                      "leave --workers out, and start with mpirun -n " +
                          std::to_string(o.workers));
  if (o.devices.size() > 1)
    return wrongValue(option,
                      "its ranks are processes, and --devices has " +
                          std::to_string(o.devices.size()) + " in each",
                      "give --devices cpu:1, and mpirun more processes");
  return Status();
}

/// What is said of clusters, and who reads it.
static Status checkCluster(const Options &o) {
  if (o.servers > 0 && !o.printCluster && !isPackage(o.model) && !hasServers(o))
    return wrongValue("--servers",
                      "--strategy " + formatStrategies(o.strategies) +
                          " has no parameter servers",
                      "add --strategy parameter-server");
  if (o.collectives && !o.model.empty())
    return wrongValue("--collectives", "collectives are timed by themselves",
                      "leave " + o.model + " out");
  if (o.collectives && o.usesMpi)
    return wrongValue("--communicator mpi",
                      "the table is of our own collectives", "leave it out");
  if (o.collectives && hasProcesses(o) && o.devices.size() > 1)
    return wrongValue("--devices",
                      "each process has one rank when they are timed",
                      "leave it out");
  const std::pair<const char *, bool> given[] = {
      {"--cluster", !o.cluster.empty()},
      {"--task", !o.task.empty()},
      {"--workers", o.workers > 0},
      {"--metrics-port", o.metricsPort.has_value()},
      {"--elastic", o.elastic},
      {"--shard-policy", !o.shardPolicy.empty()},
      {"--port-range", o.firstPort > 0},
      {"--coordination", bool(o.store)},
      {"--communicator", o.usesMpi},
      {"--hosts", o.hosts > 0}};
  for (auto [option, isGiven] : given)
    if (isGiven && !o.printCluster && !isPackage(o.model) && !hasProcesses(o) &&
        !hasServers(o) &&
        // What it plans may have.
        !(o.strategies.front().name == "auto" && o.workers > 0))
      return wrongValue(option,
                        "--strategy " + formatStrategies(o.strategies) +
                            " runs in one process",
                        "add --strategy multi-worker-mirrored");
  if (!o.linkTable.empty() && !o.collectivesTable.empty())
    return wrongValue("--link-table",
                      "--collectives-table says what collectives take, too",
                      "give one of the two");
  if (!o.linkTable.empty() && !isPackage(o.model) && !hasProcesses(o) &&
      o.strategies.front().name != "auto")
    return wrongValue("--link-table",
                      "--strategy " + formatStrategies(o.strategies) +
                          " has no messages between processes",
                      "add --strategy multi-worker-mirrored");
  DIST_RETURN_IF_ERROR(checkMpi(o));
  DIST_RETURN_IF_ERROR(checkShardPolicy(o));
  if (o.maxRestarts > 0 && o.workers == 0)
    return wrongValue("--max-restarts",
                      "only processes that --workers has started are started "
                      "again",
                      "add --workers N, or let the cluster's scheduler do it");
  // A worker comes back to servers that hold all. What a package has is seen
  // when it is opened.
  if (o.maxRestarts > 0 && o.checkpoint.empty() && !o.elastic &&
      !hasServers(o) && !isPackage(o.model))
    return wrongValue("--max-restarts",
                      "a run that saves nothing would begin anew",
                      "add --checkpoint DIR, or --elastic");
  if (o.elastic && !o.printCluster && hasServers(o))
    return wrongValue("--elastic",
                      "with parameter servers a run goes on without a worker "
                      "as it is",
                      "leave it out");
  for (auto [option, isGiven] : {std::pair("--etcd-ca", !o.etcdCa.empty()),
                                 std::pair("--etcd-cert", !o.etcdCert.empty()),
                                 std::pair("--etcd-key", !o.etcdKey.empty())})
    if (isGiven && !o.store.isEncrypted)
      return wrongValue(option, "no etcd is reached by TLS",
                        "add --coordination etcds://HOST:PORT");
  if (o.store.isEncrypted && o.etcdCa.empty())
    return wrongValue("--coordination",
                      o.store.text() + ": whom to trust is not said",
                      "add --etcd-ca FILE");
  if (o.etcdCert.empty() != o.etcdKey.empty())
    return wrongValue(o.etcdCert.empty() ? "--etcd-key" : "--etcd-cert",
                      "a certificate and its key are given together",
                      o.etcdCert.empty() ? "add --etcd-cert FILE"
                                         : "add --etcd-key FILE");
  if (o.elastic && isPackage(o.model))
    return wrongValue("--elastic", "a package is for one number of workers",
                      "give the model file");
  if (o.elastic && !o.mesh.empty())
    return wrongValue("--elastic", "--mesh is of one number of workers",
                      "leave --mesh out: then variables are split inside of "
                      "workers alone");
  if (o.servers > 0 && o.workers == 0)
    return wrongValue("--servers", "parameter servers have workers",
                      "add --workers N");
  if (o.workers > 0 && (!o.cluster.empty() || !o.task.empty()))
    return wrongValue("--workers", "it makes a cluster of its own",
                      "leave --cluster and --task out");
  return Status();
}

/// Processes are counted by options, or in a cluster that was found.
static Status checkProcesses(Tool tool, const Options &o) {
  std::string where = o.clusterFound ? o.clusterSource : "--workers";
  if (o.hosts > o.workers && o.workers > 0)
    return wrongValue(
        "--hosts",
        "there are only " + std::to_string(o.workers) +
            " workers to be on them",
        "give at most as many as " +
            (o.clusterFound ? "the cluster has (" + where + ")" : where));
  // A plan may be for machines to come; what is run is compiled first.
  if (tool != Tool::Run)
    return Status();
  auto tooMany = [&](const std::string &option, const std::string &what,
                     int64_t ranks) {
    return Status::error(
        StatusCode::InvalidArgument, "too many processes for a run",
        o.clusterFound ? o.clusterSource : option,
        what + " are " + std::to_string(ranks) + " devices, and " +
            std::to_string(kMostRanks) + " can be run",
        "give fewer");
  };
  int64_t devices = std::max<size_t>(1, o.devices.size());
  if (o.workers * devices > kMostRanks)
    return tooMany("--workers",
                   std::to_string(o.workers) +
                       " workers with --devices cpu:" + std::to_string(devices),
                   o.workers * devices);
  if (o.servers > kMostRanks)
    return tooMany("--servers",
                   std::to_string(o.servers) + " parameter servers", o.servers);
  return Status();
}

/// `status` asks a cluster that is at work: it needs no model and no strategy.
static Status checkStatus(const Options &o) {
  if (!o.model.empty() && !o.cluster.empty())
    return wrongValue("--cluster", "an address is given, too",
                      "give one of the two");
  return Status();
}

/// What is said of saved states, by who only reads them.
static Status checkFollow(const Options &o) {
  const bool evaluates = o.command == "evaluate";
  if (o.follow && !evaluates)
    return wrongValue("--follow", o.command + " follows no other run",
                      "give dist-run evaluate --follow, beside it");
  if (o.follow && o.checkpoint.empty())
    return wrongValue("--follow", "which states is not said",
                      "add --checkpoint DIR, the folder of the run");
  if (evaluates && o.resume && !o.follow)
    return wrongValue("--resume", "no run is waited for",
                      "add --follow, or leave it out");
  for (auto [option, isGiven] :
       {std::pair("--history", !o.history.empty()),
        std::pair("--tensorboard", !o.tensorboard.empty())})
    if (evaluates && isGiven && !o.follow)
      return wrongValue(option, "one evaluation has no history",
                        "add --follow, or leave it out");
  return Status();
}

static Status settle(Tool tool, Options &o) {
  if (tool == Tool::Run && o.command == "status")
    return checkStatus(o);
  if (tool == Tool::Run && o.command == "coordinator")
    return o.model.empty()
               ? Status::error(StatusCode::InvalidArgument, "no address",
                               "dist-run coordinator", "",
                               "give one of this machine's to serve at, as "
                               "HOST:PORT")
               : Status();
  DIST_RETURN_IF_ERROR(checkExplanations(o));
  if (tool == Tool::Opt)
    DIST_RETURN_IF_ERROR(checkWritten(o));
  DIST_RETURN_IF_ERROR(checkFollow(o));
  DIST_RETURN_IF_ERROR(checkModes(o));
  // Each side is settled by itself.
  if (!o.diff.empty())
    return Status();
  // Processes are what is timed.
  if (o.strategies.empty() && o.collectives &&
      (o.workers > 0 || describesCluster(o)))
    o.strategies.push_back({"multi-worker-mirrored", {}});
  if (o.strategies.empty() && o.collectives && o.devices.size() > 1)
    o.strategies.push_back({"mirrored", {}});
  if (o.strategies.empty())
    o.strategies.push_back({"one-device", {}});
  DIST_RETURN_IF_ERROR(checkCluster(o));
  if (o.devices.empty())
    o.devices.push_back({"cpu", 0});
  int64_t ranks = 1;
  for (auto &axis : o.mesh)
    if (__builtin_mul_overflow(ranks, axis.second, &ranks))
      return wrongValue("--mesh", "it has too many ranks", "give fewer");
  if (o.resume && o.overwrite)
    return wrongValue("--overwrite", "--resume goes on with what it removes",
                      "give one of the two");
  for (const std::string &loss : o.losses)
    if (o.losses.size() > 1 && !namesOutput(loss))
      return Status::error(
          StatusCode::InvalidArgument, "option is given twice", "--loss",
          "'" + o.losses[0] + "' and '" + o.losses[1] + "' are two values",
          "leave one of them out, or write OUTPUT=" + loss);
  if (o.validationSplit >= 1)
    return wrongValue("--validation-split", "it leaves nothing to train on",
                      "give a fraction below 1");
  if (o.validationSplit > 0 && !o.validationData.empty())
    return wrongValue("--validation-split", "--validation-data is given, too",
                      "give one of the two");
  if (!o.monitors.saveBest.metric.empty()) {
    if (o.outputs.empty() && !isLedByAnother(o))
      return wrongValue("--save-best", "there is no file to write to",
                        "add --output FILE");
    if (o.monitors.earlyStopping.restoreBest)
      return wrongValue("--early-stopping restore-best",
                        "--save-best says what --output is to hold",
                        "give one of the two");
  }
  // A package has a plan of its own: what else was given is refused as such
  // when it is opened.
  StrategyPlan plan;
  // A cluster is told of with any devices.
  if (!o.printCluster && (tool != Tool::Run || !isPackage(o.model))) {
    DIST_RETURN_IF_ERROR(findWorkers(&o));
    DIST_RETURN_IF_ERROR(planStrategies(o, &plan));
  }
  DIST_RETURN_IF_ERROR(checkProcesses(tool, o));
  if (tool == Tool::Run) {
    if (o.command.empty())
      return Status::error(
          StatusCode::InvalidArgument, "no command", "", "",
          "give fit, evaluate, predict, bench, info or status");
    std::vector<std::string> commands = commandNames();
    if (std::find(commands.begin(), commands.end(), o.command) ==
        commands.end()) {
      std::string near = nearestName(o.command, commands);
      return Status::error(
          StatusCode::InvalidArgument, "unknown command", o.command, "",
          near.empty() ? "give fit, evaluate, predict, bench, info or status"
                       : "did you mean " + near + "?");
    }
  }
  bool needsModel =
      !o.printStrategies && !o.printOps && !o.printCluster && o.cases.empty();
  needsModel &= !o.helpPasses;
  needsModel &= !o.calibrate && !o.collectives;
  if (needsModel && o.model.empty())
    return Status::error(StatusCode::InvalidArgument, "no model", "", "",
                         "give a model file or a package folder");
  return Status();
}

static Status parseWords(Tool tool, const std::vector<std::string> &arguments,
                         bool overrides, Options *options, std::string *answer);

/// The words of a side of `--diff`: a strategy, and options behind it.
Status parseSide(const std::vector<std::string> &arguments,
                 const std::string &side, Options *options) {
  std::vector<std::string> words;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--diff")
      i += 2;
    else if (arguments[i].rfind("--diff=", 0) != 0)
      words.push_back(arguments[i]);
  }
  std::istringstream own(side);
  std::string word, answer;
  own >> word;
  words.push_back("--strategy=" + word);
  while (own >> word)
    words.push_back(word);
  return parseWords(Tool::Opt, words, /*overrides=*/true, options, &answer);
}

Status parseOptions(Tool tool, const std::vector<std::string> &arguments,
                    Options *options, std::string *answer) {
  return parseWords(tool, arguments, /*overrides=*/false, options, answer);
}

/// `overrides`: of an option that is given twice the last counts.
static Status parseWords(Tool tool, const std::vector<std::string> &arguments,
                         bool overrides, Options *options,
                         std::string *answer) {
  bool run = tool == Tool::Run;
  Table table(tool, *options);
  addRows(table, tool, *options);

  std::vector<std::string> words;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--check") {
      words.push_back("--check=partition");
    } else if (arguments[i] == "--explain") {
      words.push_back("--explain=table");
    } else if (!run && arguments[i] == "--diff") {
      int count = 0;
      for (; count < 2 && i + 1 < arguments.size() &&
             arguments[i + 1].rfind('-', 0) != 0;
           ++count)
        words.push_back("--diff=" + arguments[++i]);
      if (count < 2)
        return wrongDiff(count);
    } else {
      words.push_back(arguments[i]);
    }
  }
  Table::Asked asked;
  DIST_RETURN_IF_ERROR(table.parse(std::move(words), &asked));
  // A SavedModel is a folder, of which one file is the model.
  options->model = modelFileOf(options->model);
  if (asked == Table::Asked::Help) {
    std::string command;
    std::vector<std::string> commands = commandNames();
    for (const std::string &word : arguments)
      if (run && command.empty() &&
          std::find(commands.begin(), commands.end(), word) != commands.end())
        command = word;
    *answer = formatHelp(tool, command, table.help(), terminalWidth());
    return Status();
  }
  if (asked == Table::Asked::Version) {
    *answer = std::string(versionText()) + "\n";
    return Status();
  }
  for (const std::string &word : table.remaining())
    if (word != "--") // Behind it are names that may begin with a -.
      return unknownOption(word, table);
  // The compiler is handed it, too.
  if (options->model.rfind('-', 0) == 0)
    options->model.insert(0, "./");
  DIST_RETURN_IF_ERROR(table.apply(overrides));
  if (run && isEvaluator(*options)) {
    Options own;
    own.command = options->command;
    own.model = options->model;
    *options = std::move(own);
    DIST_RETURN_IF_ERROR(table.apply(overrides, isOfEvaluator));
    DIST_RETURN_IF_ERROR(becomeEvaluator(options));
  } else {
    DIST_RETURN_IF_ERROR(table.checkNeeded());
  }
  return settle(tool, *options);
}

} // namespace dist::tools
