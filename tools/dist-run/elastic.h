//===- elastic.h - Going on with fewer workers ------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_ELASTIC_H
#define TOOLS_DIST_RUN_ELASTIC_H

#include "runtime/checkpoint/kept_states.h"
#include "tools/dist-run/scratch.h"
#include "tools/options/options.h"

namespace dist::tools {

/// What a run under --elastic has in memory of itself, between one set of
/// workers and the next.
class Elastic {
public:
  explicit Elastic(const Options &options) : isOn(options.elastic) {}

  /// Where the trainer keeps states; null: nowhere.
  KeptStates *kept() { return isOn ? &states : nullptr; }
  /// Takes what was kept out of the way of the next session, into a folder in
  /// memory, or on the disk where there is no room.
  Status store();
  /// One whose run has begun elsewhere: it gets what the others have.
  Status beginLate();
  /// Between steps: once there is a newer state in memory, the folder's has no
  /// use any more.
  void forget() {
    if (!folder().empty() && !states.empty())
      scratch.remove();
  }
  /// That folder; empty: there is none, or none of use.
  const std::string &folder() const { return scratch.getPath(); }

private:
  Status makeForOthers();

  const bool isOn;
  KeptStates states;
  ScratchFolder scratch;
};

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_ELASTIC_H
