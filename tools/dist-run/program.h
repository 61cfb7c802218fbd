//===- program.h - From a model to an open session -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A package is opened as it is. A model file is compiled by dist-opt in a child
// process, and the package kept by a hash of all that decides it.
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_PROGRAM_H
#define TOOLS_DIST_RUN_PROGRAM_H

#include "runtime/core/session.h"
#include "runtime/train/nonfinite.h"
#include "tools/dist-run/cluster.h"
#include "tools/dist-run/compiler.h"
#include "tools/dist-run/folder_lock.h"
#include "tools/dist-run/scratch.h"
#include "tools/options/options.h"

namespace dist::tools {

/// A package folder; what is temporary goes away with the object.
struct Program {
  std::string folder;
  ScratchFolder temporary;
  /// Of a folder in the cache, which others leave there as long.
  FolderLock use;
  double compileSeconds = 0;
  /// Whether it was found in the cache; and the compiler's options.
  bool cached = false;
  std::vector<std::string> arguments;
};

/// Processes that a model file is to be compiled for, or a package was: one,
/// where nothing says where others are, which runs all ranks. `servers`:
/// processes beside those workers that hold variables, if this run has use of
/// them.
Status countProcesses(const Options &options, int *out, int *servers);

/// Says what a run in one process leaves aside: a cluster that the environment
/// describes, or that the program is for.
void noteOneProcess(const Options &options);

/// Whether the model takes whatever batch it is given, and the user gave none:
/// no MLIR, whose shapes are as they are.
bool leavesBatchOpen(const Options &options);

/// What the compiler is told beside the user's options. `defaultBatch`: for a
/// model's symbolic batch when the user gave none.
std::vector<std::string> openingArguments(const Options &options,
                                          int64_t defaultBatch);

/// Makes the package of `options.model`. `arguments` go to dist-opt beside the
/// user's. When the compiler itself reports, `failure` is filled and the
/// status is an error without text.
Status makeProgram(const Options &options,
                   const std::vector<std::string> &arguments, Program *out,
                   CompileFailure *failure);

/// The same, then opens it; prints what failed and gives the exit code, or 0.
/// With a `cluster` the session is one of those that its processes have.
/// `fail`: prints in this function's place, unless the compiler has done so.
int openProgram(const Options &options, int64_t defaultBatch, Program *program,
                std::unique_ptr<Session> *session, double *loadSeconds,
                ClusterRun *cluster = nullptr,
                const std::function<int(const Status &)> &fail = nullptr);
/// Opens a made program under the options of this run. One from the cache that
/// turns out to be damaged is made again.
Status openSession(const Options &options, Program &program,
                   CompileFailure *failure, std::unique_ptr<Session> *session,
                   double *loadSeconds, ClusterRun *cluster = nullptr);

/// What this run does with steps that are not finite: as it was told, else as
/// the program was compiled.
OnNonfinite chooseOnNonfinite(const Options &options,
                              const manifest::Manifest &manifest);

/// Where files go that the user need not see.
std::string temporaryPlace();

/// What the import found that a user should know before training.
std::vector<std::string> modelNotes(const manifest::Manifest &manifest);

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_PROGRAM_H
