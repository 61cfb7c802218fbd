//===- followed_states.cpp - States that another process saves -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/followed_states.h"
#include "runtime/checkpoint/names.h"
#include "runtime/checkpoint/run_file.h"
#include "runtime/checkpoint/values.h"
#include "runtime/formats/file_system.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <limits>

namespace dist {

bool FollowedStates::isNew(const StateId &id) const {
  auto known = done.find(id.run);
  return known == done.end() || id.age() > known->second;
}

void FollowedStates::skip(const StateId &id) {
  if (isNew(id))
    done[id.run] = id.age();
}

void FollowedStates::skipRun(const std::string &run) {
  constexpr int64_t latest = std::numeric_limits<int64_t>::max();
  done[run] = {latest, latest};
}

/// A folder that is not there yet is one without states; one that cannot be
/// read would look the same.
Status FollowedStates::checkFolder() const {
  int file = fileSystem().open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file >= 0) {
    fileSystem().close(file);
    return Status();
  }
  if (errno == ENOENT)
    return Status();
  return Status::error(
      StatusCode::Unavailable, "cannot read the checkpoint folder", path,
      std::strerror(errno), "give the folder of fit --checkpoint");
}

bool FollowedStates::find(const std::string &folder, Place *out) {
  struct stat info;
  if (fileSystem().status(folder, &info) != 0)
    return false;
  *out = {info.st_dev, info.st_ino, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
  return true;
}

/// What came of a state that could not be read: it is gone, or another one has
/// its name by now; it is damaged; or there is an error to tell.
Status FollowedStates::passOver(const Candidate &candidate,
                                const Status &failed, bool damaged,
                                std::vector<std::string> *notes) {
  Place now;
  const bool isThere = find(candidate.folder, &now);
  if (!isThere)
    notes->push_back(candidate.folder +
                     " was removed while it was read: it is passed over");
  // Looked at again, under the name that it has taken.
  if (!isThere || !(now == candidate.place)) {
    missed = true;
    return Status();
  }
  if (!damaged)
    return failed;
  notes->push_back(failed.message() + "; it is passed over");
  seen[candidate.step()] = candidate.place;
  return Status();
}

/// Those of the run that are new, the newest first.
Status FollowedStates::list(const std::string &run, std::vector<Candidate> *out,
                            std::vector<std::string> *notes) {
  std::map<int64_t, Place> there;
  for (int64_t step : listStates(path)) {
    Candidate one;
    one.folder = path + "/" + stateName(step);
    if (!find(one.folder, &one.place)) {
      missed = true;
      continue;
    }
    auto known = seen.find(step);
    if (known != seen.end() && known->second == one.place) {
      there.insert(*known);
      continue;
    }
    bool damaged = false;
    Status status = readHeader(one.folder, &one.header, &damaged);
    one.header.training.step = step; // by which it is removed
    if (!status.ok()) {
      DIST_RETURN_IF_ERROR(passOver(one, status, damaged, notes));
      if (seen.count(step))
        there.insert(*seen.find(step));
      continue;
    }
    const bool isOfRun =
        run.empty() || one.header.run.empty() || one.header.run == run;
    if (isOfRun && step >= newest.step())
      newest = one;
    if (!isNew(one.id()))
      there[step] = one.place;
    else if (isOfRun)
      out->push_back(std::move(one));
  }
  // What is gone may come again, as another one.
  seen = std::move(there);
  std::sort(out->begin(), out->end(),
            [](const Candidate &one, const Candidate &other) {
              return one.id().age() > other.id().age();
            });
  return Status();
}

Status FollowedStates::read(const Candidate &candidate, Session &session,
                            TrainingState *state, bool *damaged) const {
  std::unique_ptr<SavedValues> values;
  DIST_RETURN_IF_ERROR(
      SavedValues::open(candidate.folder, candidate.header, &values, damaged));
  Restorer restorer(candidate.folder, candidate.header, *values, session,
                    Restores::Model);
  DIST_RETURN_IF_ERROR(restorer.check(damaged));
  std::vector<std::string> ignored; // of what begins anew in a run
  return restorer.run(state, &ignored);
}

bool FollowedStates::hasBest() const {
  std::unique_ptr<SavedValues> values;
  bool damaged = false;
  return SavedValues::open(newest.folder, newest.header, &values, &damaged)
             .ok() &&
         values->hasBest();
}

Status FollowedStates::find(std::vector<Candidate> *out,
                            std::vector<std::string> *notes) {
  // First: its last state is there when a run says that it has ended.
  const RunFile file = readRunFile(path);
  ended = file.ended;
  // What cannot be read for a moment says nothing of the run.
  if (!file.run.empty()) {
    if (current.first != file.run)
      newest = Candidate();
    current = {file.run, file.epoch};
  }
  DIST_RETURN_IF_ERROR(checkFolder());
  return list(file.run, out, notes);
}

Status FollowedStates::look(std::vector<std::string> *notes) {
  std::vector<Candidate> ignored;
  return find(&ignored, notes);
}

Status FollowedStates::loadNewest(Session &session,
                                  std::optional<FollowedState> *out,
                                  std::vector<std::string> *notes) {
  // A state is removed when a newer one is there.
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    missed = false;
    DIST_RETURN_IF_ERROR(loadOnce(session, out, notes));
    if (*out || !missed)
      break;
  }
  return Status();
}

Status FollowedStates::loadOnce(Session &session,
                                std::optional<FollowedState> *out,
                                std::vector<std::string> *notes) {
  out->reset();
  std::vector<Candidate> candidates;
  DIST_RETURN_IF_ERROR(find(&candidates, notes));
  for (auto one = candidates.begin(); one != candidates.end(); ++one) {
    FollowedState state;
    bool damaged = false;
    Status status = read(*one, session, &state.training, &damaged);
    if (!status.ok()) {
      DIST_RETURN_IF_ERROR(passOver(*one, status, damaged, notes));
      continue;
    }
    state.id = one->id();
    for (auto other = one + 1; other != candidates.end(); ++other)
      state.older.push_back(other->step());
    std::sort(state.older.begin(), state.older.end());
    skip(state.id);
    *out = std::move(state);
    return Status();
  }
  return Status();
}

} // namespace dist
