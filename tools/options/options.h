//===- options.h - The command line of both tools -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table of options serves dist-opt and dist-run. Values are checked here as
// far as their form goes; names that the compiler knows best (losses,
// optimizers, metrics) stay strings. Nothing here prints, exits or throws.
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_OPTIONS_OPTIONS_H
#define TOOLS_OPTIONS_OPTIONS_H

#include "runtime/cluster/cluster_spec.h"
#include "runtime/core/status.h"
#include "runtime/train/watch.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dist::tools {

enum class Tool { Opt, Run };

/// `--batch-size N` is global, `N/replica` grows with the replicas.
struct BatchSize {
  int64_t value = 0; // 0: not given
  bool perReplica = false;
  int64_t global(int64_t replicas) const {
    return perReplica ? value * replicas : value;
  }
};

struct Device {
  std::string kind; // cpu, cuda
  int index = 0;
};

/// `mirrored` or `pipeline:stages=2,microbatches=4`: a strategy and its keys.
struct Strategy {
  std::string name;
  std::map<std::string, std::string> keys;
};

using NamedValues = std::vector<std::pair<std::string, std::string>>;

struct Options {
  // The model (both tools).
  std::string command; // dist-run: fit, evaluate, predict, bench, info, status
  std::string model;   // of status: the chief's HOST:PORT, or empty
  BatchSize batchSize;
  std::vector<int64_t> batchSizes; // of predict; none: one, the batch
  std::map<std::string, int64_t> dims;
  NamedValues binds; // input name, file of the value compiled in
  uint64_t seed = 0;
  bool seedGiven = false;
  std::vector<std::string> keptOutputs; // of the model; none: all
  std::string signature;                // of a SavedModel; empty: as served

  // Training (both tools). No losses: not given.
  std::vector<std::string> losses;      // LOSS, or OUTPUT=LOSS of several
  std::vector<std::string> lossWeights; // OUTPUT=NUMBER
  std::string lossOutput;
  std::vector<std::string> classWeights; // CLASS=WEIGHT
  std::string sampleWeights;             // the name that data give them
  std::string fromLogits = "auto";       // auto, true, false
  std::string optimizer = "sgd";
  std::string lrSchedule = "constant";
  bool settableLr = false; // the host may set it between steps
  std::vector<std::string> metrics;
  std::string precision = "f32";
  bool syncBatchNorm = false;
  std::string onNonfinite = "stop"; // continue, skip, stop
  int64_t accumulate = 1;
  std::string recompute;              // auto or a regex; empty: none
  double clipNorm = 0, clipValue = 0; // 0: none
  std::optional<double> weightDecay;
  std::string trainRegex, freezeRegex, untieRegex;

  // Strategy (both tools).
  std::vector<Strategy> strategies; // never empty after parsing
  std::vector<Device> devices;      // of a worker; never empty after parsing
  bool devicesGiven = false;
  int threads = 0; // per device; 0: the cores shared out
  /// Whose instructions code may use; code of its own for each.
  std::vector<std::string> targetCpus = {"native"};
  std::string cpuVariant; // which of a package's runs; empty: the best
  std::string convolution = "auto"; // auto, direct, winograd
  double memoryLimitGiB = 0;        // 0: none
  std::vector<std::pair<std::string, int64_t>> mesh;
  std::string planFile; // that the mesh is from; empty: the command line
  std::vector<int64_t> deviceWeights; // none: devices are equal
  std::vector<std::string> split;     // REGEX=DIM:AXIS
  std::string splitPreset;            // empty: chosen
  std::string allReduce = "auto";
  int64_t syncEvery = 0;    // steps between workers' averages; 0: none
  std::string compress;     // METHOD or METHOD:key=value; empty: none
  int64_t bytesPerPack = 0; // 0: automatic
  bool overlap = false;
  bool errorOnImplicitReshard = false, allowReplicate = false;
  bool strictDivisibility = false, wholeAxes = false;
  double collectiveTimeout = 30;
  double startTimeout = 300;             // 0: none
  double heartbeatTimeout = 0.9;         // 0: none
  int firstPort = 0, lastPort = 0;       // to listen at; 0: any
  cluster::SharedStore store;            // none: the chief's
  std::string etcdCa, etcdCert, etcdKey; // files
  std::string journal;                   // of a coordinator; empty: in memory
  bool usesMpi = false; // collectives by a site's MPI, not by UCX
  bool elastic = false; // goes on without workers that are lost
  int minWorkers = 1;   // that are enough for that
  int maxRestarts = 0;  // of the processes of --workers
  /// Where the chief serves metrics; a port of 0: a free one.
  std::string metricsHost;
  std::optional<int> metricsPort; // none: nowhere
  std::string machine; // file of measured figures; empty: the default place
  /// Files of what collectives take, measured, or of links; empty: none.
  std::string collectivesTable, linkTable;
  /// What the job's processes know each other by is in this file; empty: in
  /// the environment, or nowhere.
  std::string jobSecretFile;
  bool insecureNetwork = false; // off loopback without a secret
  std::string cluster, task;    // where it is described; empty: found
  /// Processes that train together, by --workers or, of a strategy that has
  /// several, by the cluster; 0: not said.
  int workers = 0;
  bool clusterFound = false; // elsewhere than in --workers
  std::string clusterSource; // where it was found: TF_CONFIG, a file, ...
  int hosts = 0;             // that they are spread over; 0: not said, one
  int servers = 0;           // that hold the variables; 0: not said
  std::string partitioner;   // of variables on servers; empty: they are whole

  // dist-opt.
  std::string emit;                 // empty: package with -o, else graph
  std::string outFile;              // -o
  std::string explain;              // empty, table, json, html
  std::string traceFile;            // of dist-run --trace, for --explain=html
  std::vector<std::string> diff;    // none, or two: STRATEGY [OPTIONS]
  std::string check;                // empty, partition, kernels
  std::vector<std::string> entries; // to compile; none: the usual ones
  std::vector<std::string> inputGradients; // inputs that `gradients` is by, too
  bool coverage = false;
  std::string dependencies; // where to list what was read
  std::string savePlan;     // auto: where to keep the choice
  bool printStrategies = false, printOps = false, printCluster = false;
  bool helpPasses = false;

  // dist-run.
  std::string data, validationData;
  double validationSplit = 0; // a part of the data; 0: none
  std::string shardPolicy;    // auto, data, file, off; empty: not said
  NamedValues scale, mean, std, layout;
  bool cache = false;
  int64_t prefetch = 2;
  int64_t epochs = 1, steps = 0, stepsPerEpoch = 0; // 0: not given
  int64_t stepsPerLaunch = 1;
  bool epochsGiven = false;
  std::optional<int64_t> staleness; // parameter-server; none: no bound
  int64_t evaluationShards = 0;     // 0: the chief evaluates; or:
  static constexpr int64_t kAutoShards = -1;
  std::optional<uint64_t> shuffle = 0; // none: file order
  bool dropRemainder = false;
  std::string history, checkpoint, tensorboard, trace, plot;
  bool follow = false;      // evaluate: the states in `checkpoint` as they come
  double followTimeout = 0; // seconds without one; 0: any number
  bool isEvaluator = false; // of a cluster that `fit` was given for
  int64_t saveEvery = 0, keep = 3;
  bool resume = false, overwrite = false, asyncSave = false;
  MonitorOptions monitors;
  std::vector<std::string> inputs, outputs; // NAME=FILE; fit: one FILE
  std::string outputDir, cases, replay;
  double seconds = 5;
  std::string mode = "train";
  bool json = false, calibrate = false, collectives = false;
  std::string compileCache;
  bool noCompileCache = false;

  /// What dist-run hands to dist-opt: each given model, training and strategy
  /// option as `--name=value`.
  std::vector<std::string> compileArguments;
};

/// Parses `arguments` (without the program's name). `answer` is not empty when
/// the tool only has to print it and leave (--help, --version). Errors have
/// StatusCode::InvalidArgument.
Status parseOptions(Tool tool, const std::vector<std::string> &arguments,
                    Options *options, std::string *answer);

/// The options of one side of `--diff`: the same command line with the side's
/// strategy and options instead.
Status parseSide(const std::vector<std::string> &arguments,
                 const std::string &side, Options *options);

/// Which of `known` is meant by a word that is none of them: what other tools
/// call it, else the nearest by letters; empty when none is near.
std::string nearestName(const std::string &given,
                        const std::vector<std::string> &known);

/// Whether the path is a compiled package.
bool isPackage(const std::string &path);

/// Whether one of the strategies runs in several processes.
bool hasProcesses(const Options &options);

/// Whether the strategy is that of parameter servers.
bool hasServers(const Options &options);

/// What --loss can be, as a list for people.
extern const char *const kLossNames;

/// Strategies that this build can compile.
const std::vector<std::string> &strategyNames();

/// A tool's exit code for an error: 1 when the input is at fault, 2 on wrong
/// usage, 3 when a device, a peer or the file system fails.
int exitCodeOf(StatusCode code);

/// `TOOL: error: MESSAGE`, on one line, without its end.
std::string errorLine(const char *tool, const Status &status);

/// The version both tools print.
const char *versionText();

} // namespace dist::tools

#endif // TOOLS_OPTIONS_OPTIONS_H
