//===- interrupt.h - SIGINT, SIGTERM and limits on files -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Signals belong to a process, hence to the tools alone: no library installs a
// handler. The first SIGINT or SIGTERM ends the process in order, as soon as
// nothing is shielded; a second one ends it at once.
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_OPTIONS_INTERRUPT_H
#define TOOLS_OPTIONS_INTERRUPT_H

#include "runtime/core/status.h"
#include <functional>
#include <sys/types.h>

namespace dist::tools {

/// A closed pipe and a file at its size limit (`ulimit -f`) become errors of
/// the write, told like any other.
void reportFailedWrites();
/// Before this process becomes another program (exec), which is to find what
/// this one found.
void restoreFailedWrites();

/// Whether a report whose reader wants no more of it (`--help | head -1`) ends
/// the process without a word. Who starts it with SIGPIPE ignored wants the
/// error of the write.
bool endsWithReader();
/// Ends the process so: by SIGPIPE, like programs that know nothing of it.
[[noreturn]] void endWithReader();

/// Takes SIGINT and SIGTERM from now on, as far as they are not ignored. The
/// first one calls `clean` (on a thread of its own, while the others go on) and
/// ends the process with 128 + its number.
void watchInterrupts(const char *tool, std::function<void()> clean);

/// What the process does, for the line that says where it was ended:
/// "compiling the model".
void setActivity(const char *what);

/// Before an error is told, and before the process ends: does not return while
/// a signal ends it. What fails since `clean` has taken it away is no error,
/// and the exit code is the signal's.
void waitIfEnding();

/// SIGINT or SIGTERM once one has come, else 0. Any thread may ask.
int interruptedBy();

/// The name of one of the two.
const char *signalName(int signal);

/// A process group that is killed when this process is ended; 0: none.
void setChildGroup(pid_t group);

/// As fork; SIGINT and SIGTERM end the child from its first moment on. Until it
/// is another program it would take them as this one does, and lose them.
pid_t forkHearing();

/// In a child that was just forked: it is killed when `parent` ends, in
/// whatever way; at once if that has ended before.
void dieWith(pid_t parent);

/// While one lives a first signal only sets `interruptedBy`: what was begun is
/// brought to its end, and then the process is ended.
class Shield {
public:
  /// `wait` is shown to who interrupts: "finishing the step".
  explicit Shield(const char *wait);
  ~Shield();
  /// The owner is about to end the process, with an exit code of its own.
  void dismiss() { dismissed = true; }
  Shield(const Shield &) = delete;
  Shield &operator=(const Shield &) = delete;

private:
  const char *outer;
  bool dismissed = false;
};

/// Calls `work` under a shield; and again, each time that what it failed by is
/// no reason to end (`mayComeBack`) and `comesBack` has made good for it, which
/// nothing shields, since it may wait for others. The last status: the owner is
/// about to end the process.
Status workShielded(const char *wait, const std::function<Status()> &work,
                    const std::function<bool(const Status &)> &mayComeBack,
                    const std::function<bool()> &comesBack);

} // namespace dist::tools

#endif // TOOLS_OPTIONS_INTERRUPT_H
