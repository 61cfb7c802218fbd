//===- checkpoint.cpp - Saved states of a training run -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/names.h"
#include "runtime/checkpoint/run_file.h"
#include "runtime/checkpoint/state.h"
#include "runtime/core/processes.h"
#include "runtime/core/text.h"
#include "runtime/formats/file.h"
#include "runtime/formats/file_system.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>

namespace dist {

//===----------------------------------------------------------------------===//
// Names in the folder
//===----------------------------------------------------------------------===//

std::string stateName(int64_t step) {
  char name[32];
  std::snprintf(name, sizeof name, "step-%012lld",
                static_cast<long long>(step));
  return name;
}

std::vector<std::string> listNames(const std::string &folder) {
  return fileSystem().list(folder);
}

std::vector<int64_t> listStates(const std::string &folder) {
  std::vector<int64_t> steps;
  for (const std::string &name : listNames(folder)) {
    long long step;
    int used = 0;
    if (std::sscanf(name.c_str(), "step-%12lld%n", &step, &used) == 1 &&
        name[used] == 0)
      steps.push_back(step);
  }
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

bool exists(const std::string &path) {
  struct stat info;
  return fileSystem().status(path, &info, /*followsLinks=*/false) == 0;
}

//===----------------------------------------------------------------------===//
// Whose the folder is
//===----------------------------------------------------------------------===//

Status CheckpointFolder::writeRunFile() const {
  RunFile file;
  file.run = run;
  file.epoch = epoch;
  file.model = model;
  file.pid = fileSystem().process();
  file.host = fileSystem().host();
  file.ended = ended;
  return dist::writeRunFile(path, file);
}

static std::string newRunId() {
  constexpr size_t kBytes = 8;
  return toHex(fileSystem().drawBytes(kBytes));
}

/// `run 4f2a of model.onnx`, as far as it is known.
static std::string describeRun(const std::string &run,
                               const std::string &model) {
  return (run.empty() ? "a run" : "run " + run) +
         (model.empty() ? "" : " of " + model);
}

/// ` (epoch 2, process 71 on host)`; nothing of a run that has the folder's
/// lock and has not written yet who it is.
static std::string describeProcess(const RunFile &file) {
  if (file.pid == 0)
    return "";
  return " (epoch " + std::to_string(file.epoch) + ", process " +
         std::to_string(file.pid) +
         (file.host.empty() ? ")" : " on " + file.host + ")");
}

static Status inUse(const std::string &path) {
  RunFile file = readRunFile(path);
  return Status::error(StatusCode::Unavailable, "checkpoint folder is in use",
                       path,
                       describeRun(file.run, file.model) + " trains in it" +
                           describeProcess(file),
                       "wait until it ends, or give another folder");
}

static constexpr int kLockFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;

CheckpointFolder::~CheckpointFolder() {
  pending.reset(); // removes what it has written, under the lock
  if (lockFile >= 0)
    fileSystem().close(lockFile);
}

/// Whether `.lock` is still the file that we hold: the folder may have been
/// removed, and made again by another.
bool CheckpointFolder::holdsNamedLock() const {
  struct stat held, named;
  return fileSystem().status(lockFile, &held) == 0 &&
         fileSystem().status(path + "/.lock", &named,
                             /*followsLinks=*/false) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

Status CheckpointFolder::lock(bool takesOver, std::vector<std::string> *notes) {
  FileSystem &files = fileSystem();
  for (;;) {
    lockFile = files.open(path + "/.lock", kLockFlags, 0666);
    if (lockFile < 0)
      return Status::error(StatusCode::Unavailable,
                           "cannot lock the checkpoint folder", path,
                           std::strerror(errno),
                           "check the folder, its permissions and free space");
    if (files.lock(lockFile) == 0) {
      if (holdsNamedLock())
        return Status();
    } else if (errno == EWOULDBLOCK) {
      files.close(lockFile);
      lockFile = -1;
      return takesOver ? replaceLock() : inUse(path);
    } else if (errno != EINTR) {
      notes->push_back("the file system has no locks (" +
                       std::string(std::strerror(errno)) +
                       "): see that no other run uses " + path);
      files.close(lockFile);
      lockFile = -1;
      return Status();
    }
    files.close(lockFile);
  }
}

/// The file that another process has locked is the folder's no more.
Status CheckpointFolder::replaceLock() {
  FileSystem &files = fileSystem();
  const std::string own = path + "/.lock-" + std::to_string(files.process());
  lockFile = files.open(own, kLockFlags, 0666);
  if (lockFile >= 0 && files.lock(lockFile) == 0 &&
      files.rename(own, path + "/.lock") == 0)
    return Status();
  return Status::error(
      StatusCode::Unavailable, "cannot take over the checkpoint folder", path,
      std::strerror(errno), "check the folder, its permissions and free space");
}

/// A state whose replacement never came. False: it has.
bool CheckpointFolder::putBack(const std::string &name) const {
  const std::string state = path + "/" + name.substr(std::strlen(kReplaced));
  return !exists(state) && fileSystem().rename(path + "/" + name, state) == 0;
}

/// The number behind the last '-' of a name; of what nobody counts to, 0.
static int64_t epochIn(const std::string &name) {
  const int64_t number = std::atoll(name.substr(name.rfind('-') + 1).c_str());
  return number < 0 || number > int64_t(1) << 53 ? 0 : number;
}

/// Under the lock, what is neither a state nor its own place is a kill's.
void CheckpointFolder::sweep() {
  if (lockFile < 0)
    return;
  // This process may have slept since it had the lock. Who has taken that is of
  // a later epoch than it reads before it looks whether it has it still.
  const RunFile file = readRunFile(path);
  if (!holdsNamedLock())
    return;
  for (const std::string &name : listNames(path)) {
    if (startsWith(name, kReplaced) && putBack(name))
      continue;
    if (startsWith(name, kSaving) && !file.run.empty() &&
        epochIn(name) > file.epoch)
      continue;
    // At once: a process that has lost the folder, and does not know it, may be
    // about to make what it has saved a state.
    if (startsWith(name, kSaving) || startsWith(name, kReplaced))
      discard(name);
    else if (startsWith(name, kRemoving))
      removeAll(path + "/" + name);
  }
}

/// Without locks: what earlier epochs, whose processes may be frozen, are about
/// to make a state, becomes none. A later one may have come already.
void CheckpointFolder::fence() {
  for (const std::string &name : listNames(path)) {
    if (startsWith(name, kSaving) && epochIn(name) < epoch)
      discard(name);
    if (startsWith(name, kReplaced))
      (void)putBack(name);
  }
}

int64_t CheckpointFolder::newestClaim() const {
  int64_t newest = 0;
  for (const std::string &name : listNames(path))
    if (startsWith(name, kClaimed))
      newest = std::max(newest, epochIn(name));
  return newest;
}

bool CheckpointFolder::isOutclaimed() const {
  return lockFile < 0 && newestClaim() > epoch;
}

/// An epoch is of the one that has made its file. Runs that come at one moment
/// have different ones, and the one with the newest goes on.
Status CheckpointFolder::claimEpoch() {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  FileSystem &files = fileSystem();
  int file = -1;
  do {
    epoch = std::max(epoch, newestClaim()) + 1;
    file =
        files.open(path + "/" + kClaimed + std::to_string(epoch), kFlags, 0666);
  } while (file < 0 && errno == EEXIST);
  if (file < 0)
    return Status::error(StatusCode::Unavailable,
                         "cannot claim the checkpoint folder", path,
                         std::strerror(errno),
                         "check the folder, its permissions and free space");
  files.close(file);
  hasEpoch = true;
  if (isOutclaimed())
    return takenOver();
  for (const std::string &name : listNames(path))
    if (startsWith(name, kClaimed) && epochIn(name) < epoch)
      (void)files.remove(path + "/" + name);
  return Status();
}

/// Finds out whose states are there, and refuses what is not for this run.
Status CheckpointFolder::look() {
  if (use == FolderUse::Overwrite)
    return Status();
  RunFile file = readRunFile(path);
  std::vector<int64_t> steps = listStates(path);
  std::set<std::string> runs;
  std::string newest;
  int64_t lastEpoch = 0;
  for (int64_t step : steps) {
    StateHeader header;
    bool damaged = false;
    Status status = readHeader(path + "/" + stateName(step), &header, &damaged);
    if (use == FolderUse::Resume && !status.ok() && !damaged)
      return status;
    if (!status.ok())
      continue;
    own.push_back(step);
    lastEpoch = std::max(lastEpoch, header.epoch);
    if (newest.empty())
      newest = header.run;
    if (!header.run.empty())
      runs.insert(header.run);
  }
  if (use == FolderUse::New) {
    if (steps.empty())
      return Status();
    return Status::error(
        StatusCode::InvalidInput,
        "checkpoint folder holds another run's states", path,
        describeRun(newest, newest == file.run ? file.model : "") +
            " has saved step " + std::to_string(steps.front()),
        "go on with --resume, give another folder, or --overwrite");
  }
  if (runs.size() > 1) {
    std::string names;
    for (const std::string &one : runs)
      names += (names.empty() ? "" : ", ") + one;
    return Status::error(StatusCode::InvalidInput,
                         "checkpoint folder holds states of several runs", path,
                         names, "keep those of one in a folder of its own");
  }
  // States saved before runs had names belong to the run that resumes them.
  run = runs.empty() ? file.run : *runs.begin();
  epoch = std::max(lastEpoch, run == file.run ? file.epoch : 0);
  return Status();
}

Status CheckpointFolder::openHere(const std::string &path, FolderUse use,
                                  bool takesOver,
                                  std::unique_ptr<CheckpointFolder> *out,
                                  std::vector<std::string> *notes) {
  std::unique_ptr<CheckpointFolder> folder(new CheckpointFolder(path, use));
  DIST_RETURN_IF_ERROR(makeFolders(path, /*durable=*/true));
  DIST_RETURN_IF_ERROR(folder->lock(takesOver, notes));
  folder->sweep();
  DIST_RETURN_IF_ERROR(folder->look());
  *out = std::move(folder);
  return Status();
}

/// Where no lock says whose the folder is its epoch does, from now on: what the
/// run before does behind this is refused, and what it did is found.
Status CheckpointFolder::claim() {
  if (lockFile >= 0)
    return Status();
  DIST_RETURN_IF_ERROR(claimEpoch());
  if (!run.empty())
    DIST_RETURN_IF_ERROR(writeRunFile());
  fence();
  own.clear();
  // What those before have saved meanwhile, a first state of theirs, too.
  const int64_t claimed = epoch;
  Status status = look();
  epoch = claimed;
  return status;
}

Status CheckpointFolder::open(const std::string &path, FolderUse use,
                              Session &session,
                              std::unique_ptr<CheckpointFolder> *out,
                              std::vector<std::string> *notes, bool takesOver) {
  std::unique_ptr<CheckpointFolder> folder;
  Status status;
  if (session.process() == 0)
    status = openHere(path, use, takesOver, &folder, notes);
  if (folder && status.ok())
    status = folder->claim();
  std::vector<std::string> uses;
  Status outcome;
  DIST_RETURN_IF_ERROR(
      share(session, status, std::to_string(int(use)), &uses, &outcome));
  DIST_RETURN_IF_ERROR(outcome);
  if (session.process() > 0)
    folder.reset(
        new CheckpointFolder(path, FolderUse(std::atoi(uses[0].c_str()))));
  *out = std::move(folder);
  return Status();
}

Status checkCheckpointFolder(const std::string &path, FolderUse use) {
  struct stat info;
  if (fileSystem().status(path, &info) != 0 && errno == ENOENT)
    return Status();
  std::unique_ptr<CheckpointFolder> folder;
  std::vector<std::string> ignored;
  return CheckpointFolder::openHere(path, use, /*takesOver=*/false, &folder,
                                    &ignored);
}

Status CheckpointFolder::begin(Session &session) {
  return share(session, session.process() == 0 ? beginHere(session) : Status());
}

Status CheckpointFolder::beginHere(const Session &session) {
  model = session.manifest().model_name();
  // Between `open` and this another may have come in its place, whose states
  // and file are not this one's to remove.
  DIST_RETURN_IF_ERROR(checkLock());
  if (use == FolderUse::Overwrite) {
    // The oldest first: a kill in between leaves a folder that its run can
    // still resume.
    std::vector<int64_t> steps = listStates(path);
    std::reverse(steps.begin(), steps.end());
    for (int64_t step : steps)
      discard(stateName(step));
    for (const std::string &name : listNames(path))
      if (startsWith(name, kAside))
        discard(name);
  }
  DIST_RETURN_IF_ERROR(checkLock());
  if (run.empty())
    run = newRunId();
  if (!hasEpoch)
    ++epoch;
  hasEpoch = true;
  ended = false;
  return writeRunFile();
}

Status CheckpointFolder::end(const Session &session) {
  if (session.process() > 0)
    return Status();
  DIST_RETURN_IF_ERROR(checkHold());
  ended = true;
  return writeRunFile();
}

Status CheckpointFolder::takenOver() const {
  RunFile file = readRunFile(path);
  return Status::error(StatusCode::Unavailable,
                       "the checkpoint folder was taken over", path,
                       describeRun(file.run, file.model) + " (epoch " +
                           std::to_string(std::max(file.epoch, newestClaim())) +
                           ") writes there now, this is run " + run +
                           " (epoch " + std::to_string(epoch) + ")",
                       "give each run a folder of its own");
}

/// Whether the folder is this epoch's, as its claims and its file say; `found`:
/// the file names it. One that was replaced may write that late.
Status CheckpointFolder::checkEpoch(bool *found) const {
  RunFile file = readRunFile(path);
  *found = file.run == run && file.epoch == epoch;
  const bool isFree = file.run.empty() ||
                      ((lockFile < 0 || file.run == run) && file.epoch < epoch);
  return (*found || isFree) && !isOutclaimed() ? Status() : takenOver();
}

Status CheckpointFolder::checkLock() const {
  if (lockFile < 0 || !exists(path + "/.lock") || holdsNamedLock())
    return Status();
  return Status::error(StatusCode::Unavailable, "cannot save checkpoint", path,
                       "another process has taken the folder over");
}

/// Before a state is published: whether the folder is still this run's.
Status CheckpointFolder::checkHold() const {
  DIST_RETURN_IF_ERROR(checkLock());
  bool found = false;
  return checkEpoch(&found);
}

/// Before each save: the same; what was removed is made again.
Status CheckpointFolder::keepHold() {
  bool found = false;
  if (lockFile >= 0 && !holdsNamedLock()) {
    // The folder was removed while the run went on: it is made again.
    std::vector<std::string> ignored;
    DIST_RETURN_IF_ERROR(makeFolders(path, /*durable=*/true));
    const int before = lockFile;
    if (Status status = lock(/*takesOver=*/false, &ignored); !status.ok()) {
      lockFile = before; // none would mean that the file system has no locks
      return status;
    }
    fileSystem().close(before);
    // Whoever had it in between may have saved nothing yet.
    DIST_RETURN_IF_ERROR(checkEpoch(&found));
    if (!listStates(path).empty())
      return takenOver();
    own.clear();
    return writeRunFile();
  }
  DIST_RETURN_IF_ERROR(makeFolders(path, /*durable=*/true));
  DIST_RETURN_IF_ERROR(checkEpoch(&found));
  return found ? Status() : writeRunFile();
}

} // namespace dist
