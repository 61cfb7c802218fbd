//===- planned.cpp - Processes that auto has chosen -----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/planned.h"
#include "runtime/core/package.h"
#include "runtime/core/text.h"
#include "runtime/device/cpu/cpus.h"
#include "runtime/formats/file.h"
#include "tools/dist-run/compiler.h"
#include "tools/dist-run/console.h"
#include "tools/dist-run/program.h"
#include "tools/options/interrupt.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <unistd.h>

namespace dist::tools {

std::vector<std::string> workerArguments(const Options &options,
                                         int64_t defaultBatch) {
  std::vector<std::string> more = openingArguments(options, defaultBatch);
  int each = std::max(1, int(cpu::usableCpus().size()) / options.workers);
  if (options.threads == 0 && !isPackage(options.model))
    more.push_back("--threads=" +
                   std::to_string(std::max<int>(
                       1, each / std::max<size_t>(1, options.devices.size()))));
  return more;
}

bool isToBePlanned(const Options &options) {
  return !isPackage(options.model) && options.workers > 0 &&
         options.strategies.front().name == "auto";
}

static Status readPlan(const std::string &package, std::string *out) {
  manifest::Manifest manifest;
  DIST_RETURN_IF_ERROR(readManifest(package, &manifest));
  auto found = manifest.options().find("plan");
  if (found == manifest.options().end())
    return Status::error(StatusCode::InvalidInput, "the package has no plan",
                         package, "another version has compiled it",
                         "give the model file");
  *out = found->second;
  return Status();
}

Status savePlan(const Options &options, const std::string &package) {
  std::string plan;
  DIST_RETURN_IF_ERROR(readPlan(package, &plan));
  Shield shield("writing the plan");
  return writeFile(options.savePlan, plan);
}

std::vector<std::string> withPlan(const std::vector<std::string> &command,
                                  const std::string &plan) {
  static const char *const planned[] = {
      "--strategy", "--mesh",  "--devices",      "--workers",
      "--hosts",    "--split", "--split-preset", "--save-plan"};
  std::vector<std::string> words;
  for (size_t i = 0; i < command.size(); ++i) {
    size_t equals = command[i].find('=');
    std::string name = command[i].substr(0, equals);
    if (std::find(std::begin(planned), std::end(planned), name) ==
        std::end(planned))
      words.push_back(command[i]);
    else if (equals == std::string::npos)
      ++i; // with its value
  }
  std::istringstream lines(plan);
  for (std::string line; std::getline(lines, line);)
    words.push_back(line);
  return words;
}

int runPlanned(const Options &options, int64_t defaultBatch) {
  std::string plan;
  {
    Program program;
    CompileFailure failure;
    Status status = makeProgram(options, workerArguments(options, defaultBatch),
                                &program, &failure);
    if (failure.exitCode) {
      std::fputs(failure.text.c_str(), stderr);
      return failure.exitCode;
    }
    if (status.ok())
      status = readPlan(program.folder, &plan);
    if (!status.ok())
      return report(status);
  }
  std::string chosen = plan.substr(0, plan.find('\n'));
  chosen = chosen.substr(chosen.find('=') + 1);
  printNote("dist-run: note: --strategy auto has chosen " + chosen +
            (plan.find("\n--workers=") == std::string::npos
                 ? ", which runs in one process: no workers are started"
                 : ""));
  std::vector<std::string> words = withPlan(ownCommandLine(), plan);
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  restoreFailedWrites();
  execv("/proc/self/exe", argv.data());
  return report(Status::error(StatusCode::Unavailable, "cannot start again",
                              argv[0], std::strerror(errno)));
}

} // namespace dist::tools
