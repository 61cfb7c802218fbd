//===- program.cpp - From a model to an open session -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/program.h"
#include "runtime/core/text.h"
#include "runtime/core/variants.h"
#include "runtime/device/cpu/cpus.h"
#include "runtime/device/cpu/features.h"
#include "runtime/device/cpu/library_memory.h"
#include "runtime/formats/file.h"
#include "runtime/formats/foreign.h"
#include "runtime/formats/mlir_file.h"
#include "tools/dist-run/cache.h"
#include "tools/dist-run/console.h"
#include "tools/dist-run/launch.h"
#include "tools/dist-run/planned.h"
#include "tools/dist-run/served.h"
#include "tools/options/cluster.h"
#include "tools/options/interrupt.h"
#include "tools/options/values.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <sys/stat.h>

namespace dist::tools {

static double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The devices that a package is for.
static std::string describeDevices(const manifest::Manifest &manifest) {
  int64_t devices = manifest.ranks() - manifest.mesh().host();
  int64_t threads = manifest.threads_per_device();
  return std::to_string(devices) +
         (devices == 1 ? " device of " : " devices of ") +
         std::to_string(threads) + (threads == 1 ? " thread" : " threads") +
         (devices == 1 ? "" : " each");
}

/// Whose layouts the library would choose is a matter of its version.
static void noteLibrary(const manifest::Manifest &manifest) {
  std::string here = cpu::libraryVersion();
  if (manifest.library_version() != here)
    printNote("dist-run: note: the package was compiled with oneDNN " +
              manifest.library_version() + ", and runs with " + here);
}

/// The value of `--on-nonfinite`.
static OnNonfinite parseOnNonfinite(const std::string &text) {
  return text == "continue" ? OnNonfinite::Continue
         : text == "skip"   ? OnNonfinite::Skip
                            : OnNonfinite::Stop;
}

OnNonfinite chooseOnNonfinite(const Options &options,
                              const manifest::Manifest &manifest) {
  const std::string start = "--on-nonfinite=";
  for (const std::string &word : options.compileArguments)
    if (word.compare(0, start.size(), start) == 0)
      return parseOnNonfinite(options.onNonfinite);
  return onNonfiniteOf(manifest);
}

/// Of an option that is a package's and a run's, too: whether the run can do
/// as it says.
static Status checkOfRun(const Options &options, const std::string &name,
                         const manifest::Manifest &manifest) {
  const auto &known = manifest.options();
  auto policy = known.find("on-nonfinite");
  if (name == "--on-nonfinite" &&
      !canDoOnNonfinite(manifest, parseOnNonfinite(options.onNonfinite)))
    return Status::error(
        StatusCode::InvalidArgument, "a package is compiled already", name,
        "its steps do as " +
            (policy == known.end() ? std::string("stop") : policy->second) +
            " says, and cannot do as " + options.onNonfinite + " does",
        "leave it out, or give the model file");
  // Of bench it is that of the data, too.
  auto seed = known.find("seed");
  if (name == "--seed" && options.command != "bench" && seed != known.end() &&
      seed->second != std::to_string(options.seed))
    return Status::error(StatusCode::InvalidArgument,
                         "a package is compiled already", name,
                         "what is random in it goes by seed " + seed->second,
                         "leave it out, or give the model file");
  return Status();
}

/// A package has its batch, training and strategy in it: other ones would be
/// ignored.
static Status checkCompiled(const Options &options) {
  manifest::Manifest manifest;
  DIST_RETURN_IF_ERROR(readManifest(options.model, &manifest));
  const auto &known = manifest.options();
  auto found = known.find("arguments");
  std::string given = "\n" + (found == known.end() ? "" : found->second) + "\n";
  static const char *const ofRun[] = {"--seed", "--memory-limit",
                                      "--collective-timeout", "--on-nonfinite",
                                      "--machine"};
  for (const std::string &word : options.compileArguments) {
    std::string name = word.substr(0, word.find('='));
    if (given.find("\n" + word + "\n") != std::string::npos)
      continue;
    if (name == "--threads" && options.threads <= manifest.threads_per_device())
      continue; // see openSession
    // Any number of workers runs the same steps.
    if (name == "--workers" && manifest.servers_size() > 0)
      continue;
    if (name == "--devices" || name == "--threads")
      return Status::error(
          StatusCode::InvalidArgument, "a package is compiled already", name,
          "it fixes the devices: " + describeDevices(manifest),
          name == "--threads" ? "give fewer, or the model file"
                              : "leave it out, or give the model file");
    if (std::find(std::begin(ofRun), std::end(ofRun), name) == std::end(ofRun))
      return Status::error(StatusCode::InvalidArgument,
                           "a package is compiled already", name,
                           "what it says is in the package's programs",
                           "leave it out, or give the model file");
    DIST_RETURN_IF_ERROR(checkOfRun(options, name, manifest));
  }
  return Status();
}

/// Compiles into the program's own temporary folder.
static Status compileAnew(const Options &options, Program *out,
                          CompileFailure *failure) {
  *failure = CompileFailure();
  const std::string &scratch = out->temporary.getPath();
  out->folder = scratch + "/package";
  std::vector<std::string> words = {compilerPath(), options.model,
                                    "--emit=package", "--output=" + out->folder,
                                    "--dependencies=" + scratch + "/inputs"};
  words.insert(words.end(), out->arguments.begin(), out->arguments.end());
  double begin = now();
  setActivity("compiling the model");
  DIST_RETURN_IF_ERROR(runCompiler(words, failure));
  out->compileSeconds = now() - begin;
  if (!isPackage(out->folder))
    return Status::error(StatusCode::Internal, "the compiler left no package",
                         options.model);
  return Status();
}

std::string temporaryPlace() {
  const char *given = std::getenv("TMPDIR");
  return given && *given ? given : "/tmp";
}

/// The package of a model file, from the cache or compiled.
static Status compile(const Options &options, Program *out,
                      CompileFailure *failure) {
  CompileCache cache(options, out->arguments);
  out->cached = cache.find(&out->folder, &out->use, &out->compileSeconds);
  if (out->cached)
    return Status();
  // In the cache's folder, so that the package only needs to be renamed.
  if (!cache.getFolder().empty())
    if (Status made = out->temporary.make(cache.getFolder()); !made.ok())
      cache.leave(made.message());
  if (cache.getFolder().empty())
    DIST_RETURN_IF_ERROR(out->temporary.make(temporaryPlace()));
  Status status = compileAnew(options, out, failure);
  // A disk that is full, or fails: there may be another. (Who crashes does so
  // anywhere.)
  bool ofDisk = failure->exitCode == 3 && status.code() != StatusCode::Internal;
  if (ofDisk && !cache.getFolder().empty()) {
    cache.leave(failure->text);
    DIST_RETURN_IF_ERROR(out->temporary.make(temporaryPlace()));
    status = compileAnew(options, out, failure);
  }
  DIST_RETURN_IF_ERROR(status);
  // What moves to the cache must not be cleaned away on its way.
  Shield shield("putting the package into the cache");
  std::string kept =
      cache.keep(out->folder, out->temporary.getPath() + "/inputs",
                 out->compileSeconds, &out->use);
  if (!kept.empty()) {
    out->folder = kept;
    out->temporary.remove();
  }
  return Status();
}

Status makeProgram(const Options &options, const std::vector<std::string> &more,
                   Program *out, CompileFailure *failure) {
  // What an attempt before this one left.
  out->temporary.remove();
  out->use.release();
  out->cached = false;
  if (std::string package = launchedPackage(); !package.empty()) {
    out->folder = package;
    return Status();
  }
  if (isPackage(options.model)) {
    DIST_RETURN_IF_ERROR(checkCompiled(options));
    out->folder = options.model;
    return Status();
  }
  struct stat info;
  if (stat(options.model.c_str(), &info) != 0)
    return Status::error(StatusCode::InvalidInput, "cannot read model",
                         options.model, std::strerror(errno),
                         "check the name and its permissions");
  if (S_ISDIR(info.st_mode)) {
    DIST_RETURN_IF_ERROR(checkForeignFolder(options.model));
    return Status::error(StatusCode::InvalidInput, "cannot read model",
                         options.model, "the folder is no compiled package",
                         "give an .onnx file or a package");
  }
  // A package from the cache has the plan, too: it is kept from there.
  out->arguments.clear();
  for (const std::string &word : options.compileArguments)
    if (!startsWith(word, "--save-plan="))
      out->arguments.push_back(word);
  out->arguments.insert(out->arguments.end(), more.begin(), more.end());
  if (!options.monitors.reduceOnPlateau.metric.empty() && !options.settableLr)
    out->arguments.push_back("--settable-lr");
  DIST_RETURN_IF_ERROR(compile(options, out, failure));
  return options.savePlan.empty() ? Status() : savePlan(options, out->folder);
}

std::vector<std::string> modelNotes(const manifest::Manifest &manifest) {
  std::vector<std::string> notes;
  auto found = manifest.options().find("notes");
  if (found == manifest.options().end())
    return notes;
  std::istringstream lines(found->second);
  for (std::string line; std::getline(lines, line);)
    notes.push_back(line);
  return notes;
}

/// By the plan; what is on the host takes nothing of a device.
static Status checkMemory(const Options &options, const Program &program) {
  Variant variant;
  DIST_RETURN_IF_ERROR(chooseVariant(program.folder, {cpu::hostFeatures()},
                                     options.cpuVariant, &variant));
  const manifest::Manifest &manifest = variant.manifest;
  cpu::LibraryMemory library;
  DIST_RETURN_IF_ERROR(cpu::LibraryMemory::create(manifest, &library));
  for (int number = 0; number < manifest.programs_size(); ++number) {
    const manifest::Program &item = manifest.programs(number);
    if (isOfHost(manifest, number))
      continue;
    for (const manifest::Entry &entry : item.entries()) {
      const cpu::LibraryBlock &block = library.block(number);
      int64_t needed =
          stateBytes(manifest, item) + entry.arena_bytes() + block.bytes();
      if (double(needed) <= options.memoryLimitGiB * (1 << 30))
        continue;
      std::string parts;
      for (const manifest::MemoryPart &part : entry.parts())
        parts += (parts.empty() ? "" : ", ") + part.what() + " " +
                 formatGiB(part.bytes());
      if (block.bytes() > 0)
        parts += (parts.empty() ? "" : ", ") + std::string("packed weights ") +
                 formatGiB(block.preparedBytes) + ", the library's kernels " +
                 formatGiB(block.slotBytes + block.scratchpadBytes);
      return Status::error(StatusCode::InvalidInput,
                           "the program exceeds --memory-limit",
                           "entry '" + entry.name() + "'",
                           "each device needs " + formatNeededGiB(needed) +
                               (parts.empty() ? "" : ": " + parts),
                           "lower --batch-size or raise the limit");
    }
  }
  return Status();
}

/// What a package's plan does not say: what its collectives take beside its
/// buffers, which is there before anything runs.
static Status checkTaken(const Options &options, const Session &session) {
  int64_t taken = session.deviceBytes();
  if (options.memoryLimitGiB <= 0 ||
      double(taken) <= options.memoryLimitGiB * (1 << 30))
    return Status();
  return Status::error(
      StatusCode::InvalidInput, "the program exceeds --memory-limit",
      "its collectives",
      "a device needs " + formatNeededGiB(taken) +
          ", with copies of what it sends and memory for messages",
      "lower --batch-size or raise the limit");
}

Status openSession(const Options &options, Program &program,
                   CompileFailure *failure, std::unique_ptr<Session> *session,
                   double *loadSeconds, ClusterRun *cluster) {
  double begin = now();
  setActivity("loading the program");
  if (options.memoryLimitGiB > 0)
    DIST_RETURN_IF_ERROR(checkMemory(options, program));
  SessionOptions settings;
  settings.collectiveTimeout = options.collectiveTimeout;
  settings.trace = !options.trace.empty();
  settings.cpuVariant = options.cpuVariant;
  settings.mapWeights = true; // main guards against their truncation
  // A package's programs are cut for its threads, so that they give the same
  // bits: where fewer are wanted, these share as many CPUs.
  if (isPackage(options.model) && options.threads > 0) {
    manifest::Manifest manifest;
    DIST_RETURN_IF_ERROR(readManifest(program.folder, &manifest));
    int64_t devices = manifest.ranks() - manifest.mesh().host();
    if (options.threads < manifest.threads_per_device() &&
        !cpu::keepToCpus(int(devices * options.threads)))
      return Status::error(StatusCode::Unavailable, "cannot choose CPUs",
                           "--threads", std::strerror(errno),
                           "leave it out, or run with taskset");
  }
  bool isCluster = cluster && cluster->isCluster();
  if (isCluster) {
    settings.log = [](LogLevel level, const std::string &text) {
      if (level == LogLevel::Warning)
        printNote("dist-run: warning: " + text);
    };
    DIST_RETURN_IF_ERROR(cluster->join(options, program.folder, &settings));
    setActivity("loading the program");
  }
  ServedRun *served = isCluster ? cluster->served() : nullptr;
  Status status = Session::open(served ? served->ownPackage(program.folder)
                                       : program.folder,
                                settings, session);
  bool damaged = status.code() == StatusCode::InvalidInput ||
                 status.code() == StatusCode::Internal;
  if (!status.ok() && program.cached && damaged && !isCluster) {
    program.use.release();
    Options anew = options;
    anew.noCompileCache |= !CompileCache::withdraw(program.folder);
    printNote("dist-run: warning: damaged entry in the compile cache (" +
              program.folder + "): " + status.message() +
              (anew.noCompileCache ? "; another run works with it"
                                   : "; it is removed") +
              ", and the model compiled again");
    DIST_RETURN_IF_ERROR(compile(anew, &program, failure));
    status = Session::open(program.folder, settings, session);
  }
  if (loadSeconds)
    *loadSeconds = now() - begin;
  DIST_RETURN_IF_ERROR(std::move(status));
  noteLibrary((*session)->manifest());
  return checkTaken(options, **session);
}

Status countProcesses(const Options &options, int *out, int *servers) {
  *out = 1;
  *servers = 0;
  bool trains = options.command == "fit";
  if (!isPackage(options.model)) {
    bool isServed = hasServers(options) && trains;
    if (hasProcesses(options) || isServed)
      *out = options.workers;
    if (isServed)
      *servers = options.servers;
    return Status();
  }
  if (!describesCluster(options))
    return Status();
  manifest::Manifest manifest;
  DIST_RETURN_IF_ERROR(readManifest(options.model, &manifest));
  for (int process : manifest.process_of_rank())
    *out = std::max(*out, process + 1);
  if (trains)
    *servers = manifest.servers_size();
  return Status();
}

void noteOneProcess(const Options &options) {
  if (options.command == "status" || options.command == "coordinator" ||
      options.collectives)
    return;
  if (options.isEvaluator) {
    printNote("dist-run: note: the cluster's evaluator: the states in " +
              options.checkpoint + " are evaluated beside the run" +
              (options.history.empty()
                   ? ""
                   : ", with a history in " + options.history));
    return;
  }
  int processes = 1, servers = 0;
  if (!countProcesses(options, &processes, &servers).ok())
    return; // told when it is opened
  std::string note;
  if (processes == 1 && servers == 0)
    note = unusedClusterNote(options);
  else if (options.command == "predict" || options.command == "bench" ||
           (options.command == "evaluate" && !options.checkpoint.empty()))
    note = options.command + " runs the ranks of all " +
           std::to_string(processes) + " workers in this process";
  if (!note.empty())
    printNote("dist-run: note: " + note);
}

bool leavesBatchOpen(const Options &options) {
  if (options.batchSize.value > 0 || !options.batchSizes.empty())
    return false;
  std::shared_ptr<const FileBytes> file;
  return !FileBytes::open(options.model, &file, FileAccess::Map).ok() ||
         !isMlirFile(file->bytes(), options.model);
}

std::vector<std::string> openingArguments(const Options &options,
                                          int64_t defaultBatch) {
  if (leavesBatchOpen(options))
    return {"--batch-size=" + std::to_string(defaultBatch)};
  return {};
}

int openProgram(const Options &options, int64_t defaultBatch, Program *program,
                std::unique_ptr<Session> *session, double *loadSeconds,
                ClusterRun *cluster,
                const std::function<int(const Status &)> &fail) {
  CompileFailure failure;
  Status status = makeProgram(options, openingArguments(options, defaultBatch),
                              program, &failure);
  if (status.ok())
    status =
        openSession(options, *program, &failure, session, loadSeconds, cluster);
  if (failure.exitCode) {
    std::fputs(failure.text.c_str(), stderr);
    return failure.exitCode;
  }
  return status.ok() || !fail ? report(status) : fail(status);
}

} // namespace dist::tools
