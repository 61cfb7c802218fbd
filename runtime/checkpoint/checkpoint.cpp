//===- checkpoint.cpp - Whose a folder of states is -*- C++ -*-===//
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

/// `isInUse`: it is another process's.
Status CheckpointFolder::lock(bool takesOver, std::vector<std::string> *notes,
                              bool *isInUse) {
  *isInUse = false;
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
      *isInUse = !takesOver;
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
      (void)moveAway(name);
  }
  (void)removeMoved();
}

/// Without locks: what earlier epochs, whose processes may be frozen, are about
/// to make a state, becomes none. A later one may have come already.
void CheckpointFolder::fence() {
  for (const std::string &name : listNames(path)) {
    if (startsWith(name, kSaving) && epochIn(name) < epoch)
      (void)moveAway(name);
    if (startsWith(name, kReplaced))
      (void)putBack(name);
  }
  (void)removeMoved();
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

/// Of a run that goes on: whether no other has begun in its folder since.
Status CheckpointFolder::checkRun() const {
  const std::string there = begun.empty() ? "" : readRunFile(path).run;
  const bool isOurs = there.empty() || there == begun || there == before;
  return isOurs ? Status() : takenOver();
}

/// Finds out whose states are there, and refuses what is not for this run.
Status CheckpointFolder::look() {
  RunFile file = readRunFile(path);
  // Those of all runs in a folder are of one order: who has been replaced by
  // another run tells what is that one's by its later epoch.
  epoch = std::max(epoch, file.epoch);
  run = begun;
  if (begun.empty())
    before = file.run;
  if (use == FolderUse::Overwrite)
    return Status();
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
  const std::string there = runs.empty() ? file.run : *runs.begin();
  if (!begun.empty() && !there.empty() && there != begun)
    return takenOver();
  if (!there.empty())
    run = there;
  epoch = std::max(epoch, lastEpoch);
  return Status();
}

Status CheckpointFolder::openHere(const std::string &path,
                                  const FolderClaim &claim,
                                  std::unique_ptr<CheckpointFolder> *out,
                                  std::vector<std::string> *notes) {
  std::unique_ptr<CheckpointFolder> folder(
      new CheckpointFolder(path, claim.use));
  folder->take(claim);
  folder->begun = claim.run;
  DIST_RETURN_IF_ERROR(makeFolders(path, /*durable=*/true));
  // Not only under the lock, which would be taken from the other run.
  DIST_RETURN_IF_ERROR(folder->checkRun());
  bool ignored = false;
  DIST_RETURN_IF_ERROR(folder->lock(claim.takesOver, notes, &ignored));
  DIST_RETURN_IF_ERROR(folder->checkRun());
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
  if (Status status = checkRun(); !status.ok()) {
    // To the other run it is none.
    (void)fileSystem().remove(path + "/" + kClaimed + std::to_string(epoch));
    return status;
  }
  // Until the others' states are gone the folder is not that of who removes
  // them.
  if (use == FolderUse::Resume && !run.empty())
    DIST_RETURN_IF_ERROR(writeRunFile());
  fence();
  own.clear();
  // What those before have saved meanwhile, a first state of theirs, too.
  const int64_t claimed = epoch;
  Status status = look();
  epoch = claimed;
  return status;
}

/// For the other processes; the run before may have any name.
static std::string toText(const FolderClaim &claim) {
  return std::to_string(int(claim.use)) + " " + std::to_string(claim.epoch) +
         " " + std::to_string(claim.run.size()) + " " + claim.run +
         claim.before;
}

static FolderClaim fromText(const std::string &text) {
  int use = 0, used = 0;
  long long epoch = 0;
  size_t size = 0;
  if (std::sscanf(text.c_str(), "%d %lld %zu%n", &use, &epoch, &size, &used) <
          3 ||
      size_t(used) >= text.size())
    return {};
  FolderClaim claim(FolderUse{use});
  claim.epoch = epoch;
  const std::string names = text.substr(size_t(used) + 1);
  claim.run = names.substr(0, size);
  claim.before = names.substr(claim.run.size());
  return claim;
}

Status CheckpointFolder::open(const std::string &path, const FolderClaim &claim,
                              Session &session,
                              std::unique_ptr<CheckpointFolder> *out,
                              std::vector<std::string> *notes) {
  OwnWork work(session);
  // Process 0 may be one that has come anew to those that go on.
  std::vector<std::string> texts;
  Status outcome;
  DIST_RETURN_IF_ERROR(
      share(session, Status(), toText(claim), &texts, &outcome));
  FolderClaim agreed = claim;
  for (auto text = texts.rbegin(); text != texts.rend(); ++text)
    if (const FolderClaim one = fromText(*text); !one.run.empty()) {
      agreed = one;
      agreed.takesOver = claim.takesOver;
    }
  std::unique_ptr<CheckpointFolder> folder;
  Status status;
  if (session.process() == 0)
    status = openHere(path, agreed, &folder, notes);
  if (folder && status.ok())
    status = folder->claim();
  // Now, so that all know it before it is in the folder.
  if (folder && folder->run.empty())
    folder->run = newRunId();
  const std::string mine = folder ? toText(folder->claimAgain()) : "";
  DIST_RETURN_IF_ERROR(share(session, status, mine, &texts, &outcome));
  DIST_RETURN_IF_ERROR(outcome);
  const FolderClaim told = fromText(texts.front());
  if (session.process() > 0) {
    folder.reset(new CheckpointFolder(path, told.use));
    folder->take(told);
  }
  *out = std::move(folder);
  return Status();
}

Status checkCheckpointFolder(const std::string &path, FolderUse use) {
  struct stat info;
  if (fileSystem().status(path, &info) != 0 && errno == ENOENT)
    return Status();
  std::unique_ptr<CheckpointFolder> folder;
  std::vector<std::string> ignored;
  return CheckpointFolder::openHere(path, use, &folder, &ignored);
}

Status CheckpointFolder::begin(Session &session) {
  OwnWork work(session);
  std::vector<std::string> texts;
  Status outcome;
  const Status mine = session.process() == 0 ? beginHere(session) : Status();
  DIST_RETURN_IF_ERROR(
      share(session, mine, toText(claimAgain()), &texts, &outcome));
  DIST_RETURN_IF_ERROR(std::move(outcome));
  take(fromText(texts.front()));
  isBegun = true;
  return Status();
}

FolderClaim CheckpointFolder::claimAgain() const {
  FolderClaim claim(isBegun ? FolderUse::Resume : use);
  claim.run = run;
  claim.before = before;
  claim.epoch = epoch;
  return claim;
}

/// What process 0 knows of the folder.
void CheckpointFolder::take(const FolderClaim &claim) {
  run = claim.run;
  before = claim.before;
  epoch = claim.epoch;
}

/// All that are there, of this run's or another's.
Status CheckpointFolder::removeStates() {
  DIST_RETURN_IF_ERROR(checkPlace());
  // What was replaced before the state that has its name, in whose place it
  // would come back. Then the oldest first: a kill in between leaves a folder
  // that its run can still resume.
  std::vector<std::string> names;
  for (const std::string &name : listNames(path))
    if (startsWith(name, kAside) || startsWith(name, kReplaced))
      names.push_back(name);
  const std::vector<int64_t> steps = listStates(path);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step)
    names.push_back(stateName(*step));
  for (const std::string &name : names) {
    DIST_RETURN_IF_ERROR(checkPlace());
    // Without locks others may remove it, too.
    if (const int error = moveAway(name); error != 0 && error != ENOENT)
      return Status::error(StatusCode::Unavailable,
                           "cannot remove what was saved", path + "/" + name,
                           std::strerror(error),
                           "check the folder's permissions");
  }
  return removeMoved();
}

Status CheckpointFolder::beginHere(const Session &session) {
  model = session.manifest().model_name();
  // Between `open` and this another may have come in its place, whose file is
  // not this one's to replace.
  DIST_RETURN_IF_ERROR(checkPlace());
  if (use == FolderUse::Overwrite)
    DIST_RETURN_IF_ERROR(removeStates());
  DIST_RETURN_IF_ERROR(checkPlace());
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
  const RunFile file = readRunFile(path);
  std::string why = describeRun(file.run, file.model) + " (epoch " +
                    std::to_string(std::max(file.epoch, newestClaim())) +
                    ") writes there now";
  if (!run.empty())
    why += ", this is run " + run;
  if (!run.empty() && epoch > 0)
    why += " (epoch " + std::to_string(epoch) + ")";
  return Status::error(StatusCode::Unavailable,
                       "the checkpoint folder was taken over", path, why,
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

/// Whether another has come in this one's place since `open`, whose states and
/// file are not this one's to remove.
Status CheckpointFolder::checkPlace() const {
  DIST_RETURN_IF_ERROR(checkLock());
  return isOutclaimed() ? takenOver() : Status();
}

/// Before a state is published: whether the folder is still this run's.
Status CheckpointFolder::checkHold() const {
  DIST_RETURN_IF_ERROR(checkLock());
  bool found = false;
  return checkEpoch(&found);
}

/// Of the states that are there, which this run's are; false: some are another
/// run's. One that cannot be read, as while it is removed, is no one's.
bool CheckpointFolder::findOwnStates() {
  own.clear();
  bool areOwn = true;
  for (int64_t step : listStates(path)) {
    StateHeader header;
    bool damaged = false;
    if (!readHeader(path + "/" + stateName(step), &header, &damaged).ok())
      continue;
    areOwn &= header.run == run && header.epoch <= epoch;
    own.push_back(step);
  }
  return areOwn;
}

/// Before each save: the same; what was removed is made again. `failure`: why
/// nothing can be saved now, in a folder that is none of another run.
Status CheckpointFolder::keepHold(Status *failure) {
  *failure = makeFolders(path, /*durable=*/true);
  if (!failure->ok())
    return Status();
  bool found = false;
  const bool wasRemoved = lockFile >= 0 && !holdsNamedLock();
  if (wasRemoved) {
    // The folder was removed while the run went on, or another had taken it
    // over and has ended before it began.
    std::vector<std::string> ignored;
    const int before = lockFile;
    bool isInUse = false;
    if (Status status = lock(/*takesOver=*/false, &ignored, &isInUse);
        !status.ok()) {
      lockFile = before; // none would mean that the file system has no locks
      if (isInUse)
        return status;
      *failure = std::move(status);
      return Status();
    }
    fileSystem().close(before);
  }
  // Whoever had it in between may have saved nothing yet.
  DIST_RETURN_IF_ERROR(checkEpoch(&found));
  // Who removes the folder may be about it still, and have come to the run's
  // file before its states.
  if (wasRemoved && !findOwnStates())
    return takenOver();
  if (!found)
    *failure = writeRunFile();
  return Status();
}

} // namespace dist
