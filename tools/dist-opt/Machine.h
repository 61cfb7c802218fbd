//===- Machine.h - What this machine's devices can do -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_OPT_MACHINE_H
#define TOOLS_DIST_OPT_MACHINE_H

#include "passes/Analysis/Explain.h"
#include "passes/Analysis/TransferTimes.h"
#include "runtime/core/machine_figures.h"
#include "runtime/core/status.h"
#include "tools/options/options.h"

namespace mlir::dist {

/// What all predictions of a run rest on.
class Machine {
public:
  /// Takes the figures that `dist-run bench --calibrate` has stored (`--machine
  /// FILE`, else the default place), or the built-in ones where there are none.
  /// Those that were asked for are not replaced by others unnoticed: an error.
  ::dist::Status read(const ::dist::tools::Options &options);

  /// With devices of so many threads, so many in each of so many processes on
  /// so many machines.
  MachineModel getModel(int64_t threads, int64_t devices, int64_t workers,
                        int64_t hosts) const;

  /// Whose figures they are, for a heading.
  std::string describe() const;

private:
  const ::dist::LinkTable *findLinks() const {
    return model.transfers ? model.transfers->getLinks() : nullptr;
  }
  void setLinks(const ::dist::MachineFigures &figures);

  MachineModel model;
  /// Between devices of one process, processes on one machine, and machines:
  /// all classes of links.
  Link memory = MachineModel().link, process = memory, network = memory;
  bool isMeasured = false;
};

} // namespace mlir::dist

#endif // TOOLS_DIST_OPT_MACHINE_H
