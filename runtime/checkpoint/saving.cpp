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
#include "runtime/core/text.h"
#include "runtime/formats/file_system.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>

namespace dist {

/// A state between its beginning and its end.
struct CheckpointFolder::Save {
  std::string folder; // where its files are written, of all processes
  bool isChief = false;
  bool isMade = false; // by this process: the folder
  StateHeader header;
  ValuesFile values;
  SavedFile file; // what this process has written
  Status status;
  std::atomic<bool> written{false};
  /// While training goes on; the last, it needs what is above.
  std::unique_ptr<FileSystem::Beside> writer;

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
    writer.reset();
    // What another run has under that name is that one's.
    if (isMade)
      removeAll(folder);
  }
};

CheckpointFolder::CheckpointFolder(const std::string &path, FolderUse use)
    : path(path), use(use) {}

/// Takes its name from what lies in the folder and is to be removed, so that a
/// kill leaves no half of a state. 0, or an error's number.
int CheckpointFolder::moveAway(const std::string &name) const {
  const std::string from = path + "/" + name,
                    to = path + "/" + kRemoving + name;
  removeAll(to);
  if (fileSystem().rename(from, to) == 0)
    return 0;
  // Of an image's layer, whose folders have their names for good (overlayfs).
  const int error = errno;
  if (error == EXDEV)
    removeAll(from);
  return error == EXDEV ? 0 : error;
}

void CheckpointFolder::discard(const std::string &name) {
  const bool isAway = moveAway(name) == 0;
  removeAll(path + "/" + (isAway ? kRemoving : "") + name);
}

/// What was moved away, by this process or one before it. Not before that is
/// the disk's, too: without power a state's name would have half of it.
Status CheckpointFolder::removeMoved() const {
  std::vector<std::string> names;
  for (const std::string &name : listNames(path))
    if (startsWith(name, kRemoving))
      names.push_back(name);
  if (names.empty())
    return Status();
  DIST_RETURN_IF_ERROR(flushToDisk(path));
  for (const std::string &name : names)
    removeAll(path + "/" + name);
  return Status();
}

/// Gives a state a name that does not count as one; returns it.
std::string CheckpointFolder::setAside(int64_t step) {
  std::string name = kAside + stateName(step), free = name;
  for (int i = 2; exists(path + "/" + free); ++i)
    free = name + "." + std::to_string(i);
  bool done =
      fileSystem().rename(path + "/" + stateName(step), path + "/" + free) == 0;
  return done ? free : stateName(step);
}

static Status cannotPublish(const std::string &target, int error) {
  // What was saved is gone: who has taken the folder over removes that.
  return Status::error(
      StatusCode::Unavailable, "cannot save checkpoint", target,
      error == ENOENT ? "another process has taken the folder over"
                      : std::strerror(error),
      error == ENOENT ? "" : "check the folder's permissions");
}

/// Gives the finished folder its name.
Status CheckpointFolder::publish(const std::string &beside, int64_t step) {
  const std::string target = path + "/" + stateName(step);
  auto take = [&](unsigned flags) {
    return fileSystem().rename(beside, target, flags) == 0 ? 0 : errno;
  };
  const bool isOwn = std::find(own.begin(), own.end(), step) != own.end();
  int error = take(RENAME_NOREPLACE);
  if (error == 0)
    return Status();
  const bool hasFlags = error != EINVAL && error != ENOSYS;
  // A state that this run did not save belongs to another: it is not
  // overwritten, and stays where it is unless there is one to take its place.
  if (!isOwn && exists(target) && exists(beside)) {
    setAside(step);
    error = hasFlags ? take(RENAME_NOREPLACE) : error;
  }
  if (error == EEXIST)
    error = take(RENAME_EXCHANGE); // What was replaced is at `beside` then.
  if (error == EINVAL || error == ENOSYS)
    return replace(beside, target);
  return error == 0 ? Status() : cannotPublish(target, error);
}

/// The same where the file system cannot exchange names: a kill between the two
/// leaves the old state to be found by `sweep`.
Status CheckpointFolder::replace(const std::string &beside,
                                 const std::string &target) {
  FileSystem &files = fileSystem();
  if (!exists(beside))
    return cannotPublish(target, ENOENT);
  const std::string name = kReplaced + target.substr(path.size() + 1);
  const std::string old = path + "/" + name;
  const bool replaces = exists(target);
  if (replaces)
    discard(name); // of a save whose end failed
  if (replaces && files.rename(target, old) != 0)
    return cannotPublish(target, errno);
  if (files.rename(beside, target) != 0) {
    const int error = errno;
    if (replaces)
      (void)files.rename(old, target);
    return cannotPublish(target, error);
  }
  return Status();
}

Status CheckpointFolder::beginSave(Session &session, const TrainingState &state,
                                   bool beside) {
  OwnWork work(session);
  auto save = std::make_shared<Save>();
  save->isChief = session.process() == 0;
  std::string name;
  Status hold;
  if (save->isChief) {
    hold = keepHold(&save->status);
    name = kSaving + run + "-" + std::to_string(epoch);
    save->folder = path + "/" + name;
    if (hold.ok() && save->status.ok()) {
      save->isMade = true;
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
      pending->writer =
          fileSystem().runBeside([save = pending.get()] { save->write(); });
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
        fileSystem().status(save.folder + "/" + file.name, &info) != 0 ||
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
  // It may have slept meanwhile, and the others have gone on without it. Who
  // takes the folder over removes what is being saved there, too, so that one
  // that sleeps once more has nothing to publish.
  DIST_RETURN_IF_ERROR(checkHold());
  const int64_t step = save.header.training.step;
  DIST_RETURN_IF_ERROR(publish(save.folder, step));
  DIST_RETURN_IF_ERROR(flushToDisk(path));
  // Not before: the disk may have the old names still, and what they name.
  discard(kReplaced + stateName(step));
  return Status();
}

Status CheckpointFolder::finishSave(int64_t keep, Session &session,
                                    Status *failure) {
  OwnWork work(session);
  pending->writer.reset();
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

Status CheckpointFolder::checkOwner(Session &session) const {
  bool found = false;
  return share(session, session.process() == 0 ? checkEpoch(&found) : Status());
}

/// Removes all but the newest `keep` of the run's own states, and not the one
/// that was saved. It may have slept since: then they may be another's.
void CheckpointFolder::retain(int64_t saved, int64_t keep) {
  if (std::find(own.begin(), own.end(), saved) == own.end())
    own.push_back(saved);
  std::sort(own.rbegin(), own.rend());
  while (int64_t(own.size()) > std::max<int64_t>(keep, 1)) {
    auto oldest = own.end() - 1;
    oldest -= *oldest == saved;
    if (!checkPlace().ok())
      return;
    discard(stateName(*oldest));
    own.erase(oldest);
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
