//===- kept_states.h - States in memory -------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a process keeps of a run's last states, to go on from when other
// processes are lost. Each keeps what it holds: where variables are mirrored
// between processes, that is all of a state.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CHECKPOINT_KEPT_STATES_H
#define RUNTIME_CHECKPOINT_KEPT_STATES_H

#include "runtime/checkpoint/state.h"
#include "runtime/core/session.h"

namespace dist {

class KeptStates {
public:
  KeptStates();
  ~KeptStates();

  /// Copies the state that the session is in; all processes keep the same one.
  /// The one before stays until the next: another process may have been lost
  /// before it could keep this one.
  Status keep(Session &session, const TrainingState &state);
  bool empty() const;
  /// Of the newest; -1: none.
  int64_t step() const;
  /// Bytes of the copies.
  int64_t bytes() const;
  /// Writes what is kept into folders of `folder`, for `loadKept`. The sessions
  /// it is of may be gone. Nothing is kept then. Behind an error what is not
  /// there yet is still kept, and may be written elsewhere.
  Status write(const std::string &folder);

private:
  struct State;
  static Status write(State &state, const std::string &path);
  std::vector<std::unique_ptr<State>> states; // the oldest first
};

/// What the processes of a session have of states in memory.
enum class Kept {
  Nothing, // none of them has any
  Part,    // none in common, or of that not all
  Whole
};

/// Gives the session the newest state that all of its processes have, each in
/// its own `folder`; those that have none get it from one that has.
Status loadKept(const std::string &folder, Session &session,
                TrainingState *state, Kept *found,
                std::vector<std::string> *notes);

} // namespace dist

#endif // RUNTIME_CHECKPOINT_KEPT_STATES_H
