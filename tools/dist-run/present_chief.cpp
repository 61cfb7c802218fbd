//===- present_chief.cpp - Which of a launcher's workers is chief ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/present_chief.h"
#include <fcntl.h>
#include <unistd.h>

namespace dist::tools {

static constexpr char kVariable[] = "DIST_RUN_PRESENT_CHIEF";

Status PresentChief::open() { return pipe.open(O_NONBLOCK, "for the workers"); }

void PresentChief::giveToChild() const {
  ChildPipe::giveToChild(pipe.told, kVariable);
}

pid_t PresentChief::take() const {
  pid_t last = 0, said = 0;
  while (pipe.heard.get() >= 0 &&
         read(pipe.heard.get(), &said, sizeof said) == ssize_t(sizeof said))
    last = said;
  return last;
}

void tellPresentChief() {
  const int end = ChildPipe::take(kVariable);
  if (end < 0)
    return;
  // The launcher takes it at once, and ends its workers when it ends.
  const pid_t self = getpid();
  (void)!write(end, &self, sizeof self);
}

} // namespace dist::tools
