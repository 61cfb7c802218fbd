//===- saving.cpp - Saving a state -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/names.h"
#include "runtime/checkpoint/values.h"
#include "runtime/core/guard.h"
#include "runtime/core/processes.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace dist {

/// A state between its beginning and its end.
struct CheckpointFolder::Save {
  std::string folder; // where its files are written, of all processes
  bool isChief = false;
  StateHeader header;
  ValuesFile values;
  SavedFile file; // what this process has written
  Status status;
  std::thread writer; // while training goes on
  std::atomic<bool> written{false};

  void write() {
    if (status.ok())
      status = withoutThrowing([&] { return writeFiles(); });
    written = true;
  }
  Status writeFiles() {
    // The chief has made it. Elsewhere it may be another disk's of that name.
    if (!exists(folder))
      return Status::error(StatusCode::Unavailable, "cannot save checkpoint",
                           folder, "the folder that process 0 made is not here",
                           "give a folder that all processes share");
    DIST_RETURN_IF_ERROR(values.write(folder, &file));
    return flushToDisk(folder);
  }
  ~Save() {
    if (writer.joinable())
      writer.join();
    if (isChief)
      removeAll(folder);
  }
};

CheckpointFolder::CheckpointFolder(const std::string &path, FolderUse use)
    : path(path), use(use) {}

/// Removes what lies in the folder, so that a kill leaves no half of a state.
void CheckpointFolder::discard(const std::string &name) {
  std::string from = path + "/" + name, to = path + "/" + kRemoving + name;
  removeAll(to);
  removeAll(::rename(from.c_str(), to.c_str()) == 0 ? to : from);
}

/// Gives a state a name that does not count as one; returns it.
std::string CheckpointFolder::setAside(int64_t step) {
  std::string name = kAside + stateName(step), free = name;
  for (int i = 2; exists(path + "/" + free); ++i)
    free = name + "." + std::to_string(i);
  bool done = ::rename((path + "/" + stateName(step)).c_str(),
                       (path + "/" + free).c_str()) == 0;
  return done ? free : stateName(step);
}

/// Gives the finished folder its name.
Status CheckpointFolder::publish(const std::string &beside, int64_t step) {
  std::string name = stateName(step), target = path + "/" + name;
  auto failed = [&] {
    return Status::error(StatusCode::Unavailable, "cannot save checkpoint",
                         target, std::strerror(errno),
                         "check the folder's permissions");
  };
  // A state that this run did not save belongs to another: it is not
  // overwritten.
  if (exists(target) && std::find(own.begin(), own.end(), step) == own.end())
    setAside(step);
  if (renameat2(AT_FDCWD, beside.c_str(), AT_FDCWD, target.c_str(),
                RENAME_EXCHANGE) == 0)
    return Status(); // What was replaced is at `beside` now.
  if (errno != ENOENT && errno != EINVAL && errno != ENOSYS)
    return failed();
  // There is nothing to exchange with, or the file system cannot: then a kill
  // between the two leaves the old one to be found by `sweep`.
  std::string old = path + "/" + kReplaced + name;
  bool replaces = exists(target);
  if (replaces && ::rename(target.c_str(), old.c_str()) != 0)
    return failed();
  if (::rename(beside.c_str(), target.c_str()) != 0) {
    Status status = failed();
    if (replaces)
      (void)::rename(old.c_str(), target.c_str());
    return status;
  }
  if (replaces)
    removeAll(old);
  return Status();
}

Status CheckpointFolder::beginSave(Session &session, const TrainingState &state,
                                   bool beside) {
  auto save = std::make_shared<Save>();
  save->isChief = session.process() == 0;
  std::string name;
  Status hold;
  if (save->isChief) {
    hold = keepHold();
    name = kSaving + run + "-" + std::to_string(epoch);
    save->folder = path + "/" + name;
    if (hold.ok()) {
      removeAll(save->folder);
      save->status = makeFolders(save->folder);
    }
  }
  std::vector<std::string> names;
  Status outcome;
  DIST_RETURN_IF_ERROR(share(session, hold, name, &names, &outcome));
  DIST_RETURN_IF_ERROR(std::move(outcome));
  save->folder = path + "/" + names.front();
  save->header.training = state;
  save->header.run = run;
  save->header.epoch = epoch;
  describe(session.manifest(), &save->header);
  if (save->status.ok())
    save->status = save->values.plan(session, state);
  if (beside && save->status.ok())
    save->status = save->values.copy(&copies);
  pending = std::move(save);
  Status started = withoutThrowing([&] {
    if (beside)
      pending->writer = std::thread([save = pending.get()] { save->write(); });
    else
      pending->write();
    return Status();
  });
  // Without a thread there is no state, which `finishSave` tells all.
  if (!started.ok()) {
    pending->status = std::move(started);
    pending->written = true;
  }
  return Status();
}

bool CheckpointFolder::isWritten() const { return pending->written; }

/// In the chief, when all files are on the disk: makes them a state.
Status CheckpointFolder::commit(const std::vector<std::string> &files) {
  Save &save = *pending;
  for (size_t process = 1; process < files.size(); ++process) {
    SavedFile file;
    struct stat info;
    if (!fromText(files[process], &file) ||
        stat((save.folder + "/" + file.name).c_str(), &info) != 0 ||
        info.st_size != file.bytes)
      return Status::error(StatusCode::Unavailable, "cannot save checkpoint",
                           path,
                           "what process " + std::to_string(process) +
                               " has written is not here",
                           "give a folder that all processes share");
  }
  DIST_RETURN_IF_ERROR(writeIndex(save.folder, files, &save.header.crc));
  DIST_RETURN_IF_ERROR(writeHeader(save.folder, save.header));
  DIST_RETURN_IF_ERROR(flushToDisk(save.folder));
  // It may have slept meanwhile, and the others have gone on without it.
  if (lockFile >= 0 && exists(path + "/.lock") && !holdsNamedLock())
    return Status::error(StatusCode::Unavailable, "cannot save checkpoint",
                         path, "another process has taken the folder over");
  DIST_RETURN_IF_ERROR(publish(save.folder, save.header.training.step));
  return flushToDisk(path);
}

Status CheckpointFolder::finishSave(int64_t keep, Session &session,
                                    Status *failure) {
  if (pending->writer.joinable())
    pending->writer.join();
  std::vector<std::string> files;
  Status status =
      share(session, pending->status, toText(pending->file), &files, failure);
  if (status.ok() && failure->ok()) {
    Status committed = pending->isChief ? commit(files) : Status();
    status = share(session, committed, "", &files, failure);
    if (committed.ok() && pending->isChief)
      retain(pending->header.training.step, keep);
  }
  pending.reset();
  return status;
}

/// Removes all but the newest `keep` of the run's own states.
void CheckpointFolder::retain(int64_t saved, int64_t keep) {
  if (std::find(own.begin(), own.end(), saved) == own.end())
    own.push_back(saved);
  std::sort(own.rbegin(), own.rend());
  while (int64_t(own.size()) > std::max<int64_t>(keep, 1)) {
    discard(stateName(own.back()));
    own.pop_back();
  }
}

Status CheckpointFolder::save(int64_t keep, Session &session,
                              const TrainingState &state) {
  Status failure;
  DIST_RETURN_IF_ERROR(beginSave(session, state, /*beside=*/false));
  DIST_RETURN_IF_ERROR(finishSave(keep, session, &failure));
  return failure;
}

} // namespace dist
