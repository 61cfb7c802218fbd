//===- Machine.h - What this machine's devices can do -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_OPT_MACHINE_H
#define TOOLS_DIST_OPT_MACHINE_H

#include "passes/Analysis/Explain.h"
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

  /// With devices of so many threads.
  MachineModel getModel(int64_t threads) const;

  /// Whose figures they are, for a heading.
  std::string describe() const;

private:
  MachineModel model;
  bool isMeasured = false;
};

} // namespace mlir::dist

#endif // TOOLS_DIST_OPT_MACHINE_H
