//===- present_chief.h - Which of a launcher's workers is chief -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Under --elastic, where a store outlives the chief, another worker takes its
// place when it is lost. The launcher has to know which: the chief writes what
// a run gives when the others have ended already. All workers hold one end of a
// pipe, and who becomes the chief says so there.
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_PRESENT_CHIEF_H
#define TOOLS_DIST_RUN_PRESENT_CHIEF_H

#include "tools/dist-run/child_pipe.h"
#include <sys/types.h>

namespace dist::tools {

/// The launcher's.
class PresentChief {
public:
  Status open();
  /// In a worker, behind its fork.
  void giveToChild() const;
  /// Who has said it last, since one was asked for; 0: none.
  pid_t take() const;

private:
  ChildPipe pipe;
};

/// In a worker that has become the chief. Without such a launcher, nothing.
void tellPresentChief();

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_PRESENT_CHIEF_H
