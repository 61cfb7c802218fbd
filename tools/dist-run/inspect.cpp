//===- inspect.cpp - dist-run bench and info -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/variants.h"
#include "runtime/device/cpu/features.h"
#include "runtime/core/predict.h"
#include "runtime/device/cpu/library_memory.h"
#include "runtime/formats/file.h"
#include "runtime/telemetry/last_steps.h"
#include "runtime/telemetry/rows.h"
#include "runtime/telemetry/writers.h"
#include "runtime/train/bench.h"
#include "runtime/train/calibrate.h"
#include "tools/dist-run/commands.h"
#include "tools/dist-run/console.h"
#include "tools/dist-run/output.h"
#include "tools/dist-run/program.h"
#include "tools/options/interrupt.h"
#include "tools/options/machine.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace dist::tools {

static constexpr int64_t kDefaultBatch = 32;

/// The largest resident set of this process so far, in MB.
static double residentMegabytes() {
  // Not a file that can be mapped, hence stdio.
  double kilobytes = 0;
  if (FILE *status = std::fopen("/proc/self/status", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, status))
      if (std::strncmp(line, "VmHWM:", 6) == 0)
        kilobytes = std::atof(line + 6);
    std::fclose(status);
  }
  return kilobytes * 1024 / 1e6;
}

static std::string fixed(double value, int digits) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

static std::string option(const manifest::Manifest &manifest,
                          const std::string &key, const std::string &missing) {
  auto it = manifest.options().find(key);
  return it == manifest.options().end() ? missing : it->second;
}

int runBench(const Options &options) {
  bool train = options.mode == "train";
  if (train && !isPackage(options.model) && options.losses.empty())
    return report(Status::error(StatusCode::InvalidArgument, "no loss",
                                "--loss", "",
                                "add --loss, or give --mode predict"));
  if (!options.data.empty() && options.data != "random")
    return report(Status::error(
        StatusCode::InvalidArgument, "wrong option value", "--data",
        "bench runs on random data", "leave it out or give --data random"));
  if (Status status = checkWritable(options.trace); !status.ok())
    return report(status);
  Program program;
  std::unique_ptr<Session> session;
  double loadSeconds = 0;
  if (int code =
          openProgram(options, kDefaultBatch, &program, &session, &loadSeconds))
    return code;
  BenchOptions settings;
  settings.seconds = options.seconds;
  settings.train = train;
  settings.seed = options.seed;
  LastSteps traced;
  if (!options.trace.empty())
    // Not at every step, for the sake of what the next one finds in caches.
    settings.afterStep = [&, steps = 0]() mutable {
      if (++steps % 64 == 0)
        traced.add(session->takeTrace());
    };
  BenchResult result;
  setActivity("timing steps");
  Status status = bench(*session, settings, &result);
  if (!status.ok())
    return report(status);
  if (!options.trace.empty()) {
    Shield shield("writing the trace");
    traced.add(session->takeTrace());
    status = writeFile(options.trace, traceJson(traced.get()));
    if (!status.ok())
      return report(status);
  }
  std::string predicted =
      option(session->manifest(),
             train ? "predicted_ms" : "predicted_predict_ms", "null");
  char *end = nullptr;
  double value = std::strtod(predicted.c_str(), &end);
  // NaN and infinities are no JSON.
  if (predicted.empty() || *end || !std::isfinite(value))
    predicted = "null";
  std::string text;
  if (options.json)
    text = "{\"step_ms\":" + fixed(result.medianMs, 4) +
           ",\"mean_ms\":" + fixed(result.meanMs, 4) +
           ",\"best_ms\":" + fixed(result.bestMs, 4) +
           ",\"examples_per_s\":" + fixed(result.examplesPerSecond, 1) +
           ",\"compile_s\":" + fixed(program.compileSeconds, 3) +
           ",\"load_s\":" + fixed(loadSeconds, 4) +
           ",\"first_s\":" + fixed(result.firstSeconds, 4) +
           ",\"rss_mb\":" + fixed(residentMegabytes(), 1) +
           ",\"peak_device_mb\":" +
           fixed(double(session->deviceBytes()) / 1e6, 2) +
           ",\"predicted_ms\":" + predicted +
           ",\"steps\":" + std::to_string(result.steps) + "}\n";
  else
    text = "step " + fixed(result.medianMs, 3) + " ms (mean " +
           fixed(result.meanMs, 3) + " ms, best " + fixed(result.bestMs, 3) +
           " ms, " + std::to_string(result.steps) + " steps of " +
           std::to_string(result.examplesPerStep) + " examples), " +
           fixed(result.examplesPerSecond, 0) + " examples/s\ncompiled in " +
           fixed(program.compileSeconds, 2) + " s, loaded in " +
           fixed(loadSeconds, 3) + " s, resident " +
           fixed(residentMegabytes(), 0) + " MB, device memory " +
           fixed(double(session->deviceBytes()) / 1e6, 1) + " MB\n";
  return printReport(text);
}

//===----------------------------------------------------------------------===//
// Calibrate

int runCalibrate(const Options &options) {
  MachineFigures figures;
  setActivity("measuring the machine");
  Status status = calibrate(&figures);
  if (!status.ok())
    return report(status);
  {
    Shield shield("writing the figures");
    status = writeMachineFigures(options.machine, figures);
  }
  if (!status.ok())
    return report(status);
  std::string text =
      "contractions " + fixed(figures.flopsPerSecond / 1e9, 1) +
      " GFLOP/s a thread, memory " +
      fixed(figures.memoryBytesPerSecond / 1e9, 1) +
      " GB/s a thread, each further thread adds " +
      fixed(figures.threadEfficiency, 2) + " of one\ntransfers " +
      fixed(figures.transferBytesPerSecond / 1e9, 1) + " GB/s, at least " +
      fixed(figures.transferLatency * 1e6, 1) + " us, waking a thread " +
      fixed(figures.wakeSeconds * 1e6, 1) + " us\nwritten to " +
      machineFile(options.machine) + "\n";
  return printReport(text);
}

//===----------------------------------------------------------------------===//
// Info
//===----------------------------------------------------------------------===//

static std::string shapeText(const manifest::TensorType &type) {
  return toString(shapeOf(type));
}

static std::string shapeJson(const manifest::TensorType &type) {
  std::string text = "[";
  for (int64_t dim : type.shape())
    text += (text.size() > 1 ? "," : "") + std::to_string(dim);
  return text + "]";
}

static std::string bindingJson(const manifest::Binding &binding) {
  return "{\"name\":" + jsonString(binding.name()) + ",\"type\":\"" +
         name(binding.global_type().type()) +
         "\",\"shape\":" + shapeJson(binding.global_type()) + "}";
}

/// How many examples programs predict at once, the fewest first.
static std::vector<int64_t> predictBatches(const manifest::Manifest &manifest) {
  std::vector<int64_t> batches;
  for (const PredictEntry &entry : findPredictEntries(manifest))
    batches.push_back(entry.rows);
  std::sort(batches.begin(), batches.end());
  return batches;
}

/// What this machine's library would lay out of a device, the largest of the
/// programs'; an error where it cannot run them.
static Status libraryBlock(const manifest::Manifest &manifest,
                           cpu::LibraryBlock *out) {
  cpu::LibraryMemory memory;
  DIST_RETURN_IF_ERROR(cpu::LibraryMemory::create(manifest, &memory));
  for (int i = 0; i < manifest.programs_size(); ++i)
    if (!isOfHost(manifest, i) && memory.block(i).bytes() >= out->bytes())
      *out = memory.block(i);
  return Status();
}

/// The manifest of the variant that would run here, or was asked for; where
/// none can, the first. And the CPUs that the package has code for.
static Status readVariants(const std::string &folder, const Options &options,
                           manifest::Manifest *manifest,
                           std::vector<std::string> *cpus) {
  DIST_RETURN_IF_ERROR(readManifest(folder, manifest));
  std::vector<std::string> names;
  DIST_RETURN_IF_ERROR(listVariants(*manifest, folder, &names));
  for (const std::string &name : names) {
    manifest::Manifest one;
    DIST_RETURN_IF_ERROR(readVariant(folder, name, &one));
    cpus->push_back(one.target_cpu());
  }
  Variant here;
  Status status =
      chooseVariant(folder, {cpu::hostFeatures()}, options.cpuVariant, &here);
  if (status.ok())
    *manifest = std::move(here.manifest);
  return options.cpuVariant.empty() ? Status() : status;
}

/// What each parameter server holds: NAME TYPE SHAPE, rows N to M of NAME.
static std::string serversText(const manifest::Manifest &manifest) {
  std::string text;
  for (int number = 0; number < manifest.servers_size(); ++number) {
    text += "server " + std::to_string(number) + " holds:\n";
    for (const manifest::ServerPart &part : manifest.servers(number).parts()) {
      const manifest::Variable &whole = manifest.variables(part.variable());
      manifest::TensorType type = whole.global_type();
      bool isCut = type.shape_size() > 0 && part.size() != type.shape(0);
      if (isCut)
        type.set_shape(0, part.size());
      text += "  " + part.name_there() + " " + name(type.type()) + " " +
              shapeText(type);
      if (isCut)
        text += ", rows " + std::to_string(part.begin()) + " to " +
                std::to_string(part.begin() + part.size() - 1) + " of " +
                whole.name();
      text += "\n";
    }
  }
  return text;
}

static std::string serversJson(const manifest::Manifest &manifest) {
  std::string text = "[";
  for (const manifest::Server &server : manifest.servers()) {
    text += text.back() == '[' ? "[" : ",[";
    for (const manifest::ServerPart &part : server.parts())
      text += (text.back() == '[' ? "" : ",") + std::string("{\"name\":") +
              jsonString(part.name_there()) + ",\"variable\":" +
              jsonString(manifest.variables(part.variable()).name()) +
              ",\"begin\":" + std::to_string(part.begin()) +
              ",\"rows\":" + std::to_string(part.size()) + "}";
    text += "]";
  }
  return text + "]";
}

static std::string infoJson(const manifest::Manifest &manifest,
                            const std::vector<std::string> &cpus,
                            const manifest::Entry *predict) {
  std::string text = "{\"model\":" + jsonString(manifest.model_name()) +
                     ",\"strategy\":" + jsonString(manifest.strategy()) +
                     ",\"ranks\":" + std::to_string(manifest.ranks()) +
                     ",\"batch\":" + std::to_string(manifest.global_batch()) +
                     ",\"predict_batches\":[";
  for (int64_t batch : predictBatches(manifest))
    text += (text.back() == '[' ? "" : ",") + std::to_string(batch);
  text += "]";
  auto list = [&](const char *key, auto &bindings, auto role) {
    text += std::string(",\"") + key + "\":[";
    const char *separator = "";
    for (const manifest::Binding &binding : bindings)
      if (binding.role() == role) {
        text += separator + bindingJson(binding);
        separator = ",";
      }
    text += "]";
  };
  static const manifest::Entry none;
  const manifest::Entry &entry = predict ? *predict : none;
  list("inputs", entry.arguments(), manifest::Binding::INPUT);
  list("outputs", entry.results(), manifest::Binding::OUTPUT);
  text += ",\"variables\":[";
  const char *separator = "";
  for (const manifest::Variable &variable : manifest.variables()) {
    text += separator + std::string("{\"name\":") +
            jsonString(variable.name()) + ",\"type\":\"" +
            name(variable.global_type().type()) +
            "\",\"shape\":" + shapeJson(variable.global_type()) +
            ",\"group\":" + jsonString(variable.group()) +
            ",\"trainable\":" + (variable.trainable() ? "true" : "false") +
            ",\"why\":" + jsonString(variable.why()) + "}";
    separator = ",";
  }
  text += "],\"servers\":" + serversJson(manifest) + ",\"warnings\":[";
  separator = "";
  for (const std::string &note : modelNotes(manifest)) {
    text += separator + jsonString(note);
    separator = ",";
  }
  text += "],\"target_cpu\":" + jsonString(manifest.target_cpu()) +
          ",\"cpu_features\":[";
  for (const std::string &feature : manifest.cpu_features())
    text += (text.back() == '[' ? "" : ",") + jsonString(feature);
  text += "],\"cpus\":[";
  for (const std::string &name : cpus)
    text += (text.back() == '[' ? "" : ",") + jsonString(name);
  text += "],\"library_memory\":";
  cpu::LibraryBlock block;
  if (libraryBlock(manifest, &block).ok())
    text += "{\"packed_weights\":" + std::to_string(block.preparedBytes) +
            ",\"between_kernels\":" + std::to_string(block.slotBytes) +
            ",\"scratchpad\":" + std::to_string(block.scratchpadBytes) + "}";
  else
    text += "null";
  text += ",\"ops\":" + option(manifest, "ops", "null") +
          ",\"flops\":" + jsonNumber(entry.flops()) + ",\"entries\":[";
  separator = "";
  for (const manifest::Program &program : manifest.programs())
    for (const manifest::Entry &item : program.entries()) {
      text += separator + std::string("{\"name\":") + jsonString(item.name()) +
              ",\"flops\":" + jsonNumber(item.flops()) +
              ",\"arena_bytes\":" + std::to_string(arenaBytes(item)) + "}";
      separator = ",";
    }
  return text + "]}\n";
}

static std::string infoText(const manifest::Manifest &manifest,
                            const std::vector<std::string> &cpus,
                            const manifest::Entry *predict) {
  std::string text = "model " + manifest.model_name() + "\nstrategy " +
                     manifest.strategy() + ", " +
                     std::to_string(manifest.ranks()) + " rank(s), batch " +
                     std::to_string(manifest.global_batch()) + "\n";
  if (std::vector<int64_t> batches = predictBatches(manifest);
      batches.size() > 1) {
    text += "predicts batches of";
    for (int64_t batch : batches)
      text += (batch == batches.front() ? " " : ", ") + std::to_string(batch);
    text += "\n";
  }
  auto list = [&](const char *title, auto &bindings, auto role) {
    text += std::string(title) + ":\n";
    for (const manifest::Binding &binding : bindings)
      if (binding.role() == role)
        text += "  " + binding.name() + " " +
                name(binding.global_type().type()) + " " +
                shapeText(binding.global_type()) + "\n";
  };
  if (predict) {
    list("inputs", predict->arguments(), manifest::Binding::INPUT);
    list("outputs", predict->results(), manifest::Binding::OUTPUT);
  }
  for (bool trainable : {true, false}) {
    text += trainable ? "trained variables:\n" : "other variables:\n";
    for (const manifest::Variable &variable : manifest.variables())
      if (variable.trainable() == trainable)
        text +=
            "  " + variable.name() + " " + name(variable.global_type().type()) +
            " " + shapeText(variable.global_type()) + " " + variable.group() +
            (variable.why().empty() ? "" : " (" + variable.why() + ")") + "\n";
  }
  text += serversText(manifest);
  for (const std::string &note : modelNotes(manifest))
    text += "warning: " + note + "\n";
  text += "code for: " + manifest.target_cpu() + " (";
  for (const std::string &feature : manifest.cpu_features())
    text += (text.back() == '(' ? "" : ", ") + feature;
  text += ")";
  if (cpus.size() > 1) {
    text += "; the package has code for ";
    for (const std::string &name : cpus)
      text += (&name == &cpus.front() ? "" : ", ") + name;
  }
  text +=
      "\nthe library's memory here (oneDNN " + cpu::libraryVersion() + "): ";
  cpu::LibraryBlock block;
  if (Status status = libraryBlock(manifest, &block); status.ok())
    text += "packed weights " + fixed(double(block.preparedBytes) / 1e6, 3) +
            " MB, between kernels " + fixed(double(block.slotBytes) / 1e6, 3) +
            " MB, scratchpad " + fixed(double(block.scratchpadBytes) / 1e6, 3) +
            " MB\n";
  else
    text += status.message() + "\n";
  std::string ops = option(manifest, "ops", "");
  if (!ops.empty())
    text += "ops: " + ops + "\n";
  text += "entries:\n";
  for (const manifest::Program &program : manifest.programs())
    for (const manifest::Entry &entry : program.entries())
      text += "  " + entry.name() + ": " + fixed(entry.flops() / 1e6, 3) +
              " MFLOP, arena " + fixed(double(arenaBytes(entry)) / 1e6, 3) +
              " MB\n";
  return text;
}

int runInfo(const Options &options) {
  // What only looks at a package need not fit this machine.
  Program program;
  CompileFailure failure;
  std::vector<std::string> more;
  if (leavesBatchOpen(options))
    more.push_back("--batch-size=1");
  if (!options.seedGiven)
    more.push_back("--seed=0"); // Nothing runs.
  Status status = makeProgram(options, more, &program, &failure);
  if (failure.exitCode) {
    std::fputs(failure.text.c_str(), stderr);
    return failure.exitCode;
  }
  manifest::Manifest manifest;
  std::vector<std::string> cpus;
  if (status.ok())
    status = readVariants(program.folder, options, &manifest, &cpus);
  // The cache knows models by their contents, whatever their files' names.
  if (!isPackage(options.model))
    manifest.set_model_name(options.model.substr(options.model.rfind('/') + 1));
  if (!status.ok())
    return report(status);
  const manifest::Entry *predict = nullptr;
  for (const manifest::Program &item : manifest.programs())
    for (const manifest::Entry &entry : item.entries())
      if (entry.name() == "predict")
        predict = &entry;
  return printReport(options.json ? infoJson(manifest, cpus, predict)
                                  : infoText(manifest, cpus, predict));
}

} // namespace dist::tools
