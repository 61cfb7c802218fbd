//===- prepare.h - Compiling ahead ------------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Under --elastic the program of one worker less is compiled while training
// goes on, so that its loss costs no compilation. That is a process of its own,
// this command once more, which takes the CPU time that no one else wants and
// leaves the program in the cache.
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_PREPARE_H
#define TOOLS_DIST_RUN_PREPARE_H

#include "tools/options/options.h"
#include <optional>
#include <sched.h>
#include <sys/types.h>

namespace dist::tools {

class Preparation {
public:
  Preparation() = default;
  Preparation(const Preparation &) = delete;
  Preparation &operator=(const Preparation &) = delete;
  ~Preparation() { end(); }

  /// Begins one for so many workers, each of which may use as many of `cpus`.
  /// What it cannot begin is compiled when it is needed.
  void begin(int workers, int hosts, const std::optional<cpu_set_t> &cpus);
  /// Its program is needed now: waits for it.
  void finish();
  /// It is of no use any more.
  void end();

private:
  /// False: it has not ended within so many milliseconds.
  bool wait(int milliseconds);
  pid_t child = -1;
};

/// Whether this process is to prepare alone; `options` become those of so many
/// workers.
bool takePreparation(Options *options);

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_PREPARE_H
