//===- followed_states.h - States that another process saves -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder of states beside the run that saves there, on this machine or on
// another one: it is read, never locked and never written, and the run does not
// wait. What it removes, replaces or begins anew meanwhile is passed over.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CHECKPOINT_FOLLOWED_STATES_H
#define RUNTIME_CHECKPOINT_FOLLOWED_STATES_H

#include "runtime/checkpoint/state.h"
#include "runtime/core/session.h"
#include <optional>
#include <sys/stat.h>
#include <utility>

namespace dist {

/// What tells a state from the others of its folder.
struct StateId {
  std::string run;      // empty: it was saved before runs had names
  int64_t runEpoch = 0; // how often the folder was taken up
  int64_t step = 0;

  /// Which of two states of a run is the newer one: who resumes may go back.
  std::pair<int64_t, int64_t> age() const { return {runEpoch, step}; }
};

/// A state that a session was given.
struct FollowedState {
  StateId id;
  TrainingState training;
  /// Steps of those that were new, too, and are older than this one, ascending.
  std::vector<int64_t> older;
};

/// One thread uses it, of a session in one process.
class FollowedStates {
public:
  /// The folder need not be there yet.
  explicit FollowedStates(std::string folder) : path(std::move(folder)) {}

  /// This one is done, and so are those of its run that are older.
  void skip(const StateId &done);
  /// All that this run has saved, and will.
  void skipRun(const std::string &run);
  /// Gives the session's model the newest state that is newer than those of
  /// before; none, if there is none now. `notes` tells of those that could not
  /// be read: they are damaged, or were removed meanwhile. Errors: the states
  /// are another model's; the folder, or a sound state, cannot be read. The
  /// model is of no state then.
  Status loadNewest(Session &session, std::optional<FollowedState> *out,
                    std::vector<std::string> *notes);
  /// Looks at what is there, as loadNewest does, and reads no variables.
  Status look(std::vector<std::string> *notes);
  /// Of a call that found none: the run has ended, so that none will come
  /// unless it is taken up again.
  bool runHasEnded() const { return ended; }
  /// Of the last call: the run, and how often it was taken up by then.
  const std::pair<std::string, int64_t> &takenUp() const { return current; }
  /// Where its newest sound state is, of those that were looked at, without
  /// what stands beside the variables.
  const TrainingState &progress() const { return newest.header.training; }
  /// Whether the values of the best epoch stand there.
  bool hasBest() const;

private:
  /// A state as it lies there now: another one of its name is another one.
  struct Place {
    dev_t device = 0;
    ino_t number = 0;
    int64_t seconds = 0, nanoseconds = 0;

    bool operator==(const Place &other) const {
      return device == other.device && number == other.number &&
             seconds == other.seconds && nanoseconds == other.nanoseconds;
    }
  };
  struct Candidate {
    std::string folder;
    Place place;
    StateHeader header;
    StateId id() const { return {header.run, header.epoch, step()}; }
    int64_t step() const { return header.training.step; }
  };

  Status checkFolder() const;
  static bool find(const std::string &folder, Place *out);
  Status list(const std::string &run, std::vector<Candidate> *out,
              std::vector<std::string> *notes);
  Status find(std::vector<Candidate> *out, std::vector<std::string> *notes);
  Status loadOnce(Session &session, std::optional<FollowedState> *out,
                  std::vector<std::string> *notes);
  Status read(const Candidate &candidate, Session &session,
              TrainingState *state, bool *damaged) const;
  Status passOver(const Candidate &candidate, const Status &failed,
                  bool damaged, std::vector<std::string> *notes);
  bool isNew(const StateId &id) const;

  std::string path;
  bool ended = false;
  std::pair<std::string, int64_t> current;
  Candidate newest;    // sound one of that run
  bool missed = false; // one was removed, or replaced, while it was looked at
  /// By run, the newest that is done.
  std::map<std::string, std::pair<int64_t, int64_t>> done;
  /// By step, what was looked at and is not looked at again.
  std::map<int64_t, Place> seen;
};

} // namespace dist

#endif // RUNTIME_CHECKPOINT_FOLLOWED_STATES_H
