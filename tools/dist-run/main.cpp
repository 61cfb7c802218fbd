//===- main.cpp - Trains, evaluates, runs and times models -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/guard.h"
#include "tools/dist-run/cluster.h"
#include "tools/dist-run/commands.h"
#include "tools/dist-run/console.h"
#include "tools/dist-run/launch.h"
#include "tools/dist-run/program.h"
#include "tools/dist-run/scratch.h"
#include "tools/options/interrupt.h"
#include "tools/options/piped_files.h"
#include "tools/options/streams.h"
#include "tools/options/truncation.h"
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

using namespace dist;
using namespace dist::tools;

/// libgomp's threads wait awake for milliseconds at each kernel's end, in the
/// way of a thread that they wait for once other programs want the CPUs: an
/// epoch then takes ten times as long. Some microseconds bridge the gap between
/// two kernels as well. libgomp reads this when it is loaded, so the program
/// starts again; where it cannot, it goes on as it is.
static void waitBriefly(char **argv) {
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY"))
    return;
  if (setenv("GOMP_SPINCOUNT", "5000", 0) == 0)
    execv("/proc/self/exe", argv);
}

static int run(int argc, char **argv) {
  Options options;
  std::string answer;
  std::vector<std::string> words(argv + 1, argv + argc);
  Status status = keepPipedFiles(words);
  if (status.ok())
    status = parseOptions(Tool::Run, words, &options, &answer);
  if (!status.ok())
    return report(status);
  if (!answer.empty())
    return printReport(answer);
  takeLaunched(&options);
  watchInterrupts("dist-run", removeScratchFolders);
  noteOneProcess(options);
  return runCommand(options);
}

int main(int argc, char **argv) {
  holdStandardStreams();
  waitBriefly(argv);
  prepareCluster();
  guardMappedFiles("dist-run");
  reportFailedWrites();
  int code = 0;
  Status status = withoutThrowing([&] {
    code = run(argc, argv);
    return Status();
  });
  waitIfEnding();
  if (code == kReaderLeft)
    endWithReader();
  if (status.ok())
    return code;
  if (status.message() == Status::outOfMemory().message())
    status = Status::error(StatusCode::Unavailable, status.message(), "",
                           "an allocation failed",
                           "use a smaller --batch-size or fewer devices, or "
                           "raise the limits (ulimit -v)");
  return report(status);
}
