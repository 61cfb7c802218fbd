//===- checkpoint.cpp - Saved states of a training run -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/names.h"
#include "runtime/checkpoint/state.h"
#include "runtime/core/processes.h"
#include "runtime/core/text.h"
#include "runtime/formats/file.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dist {

using nlohmann::json;

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
  std::vector<std::string> names;
  if (DIR *handle = opendir(folder.c_str())) {
    while (dirent *item = readdir(handle))
      names.push_back(item->d_name);
    closedir(handle);
  }
  return names;
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
  return lstat(path.c_str(), &info) == 0;
}

//===----------------------------------------------------------------------===//
// Whose the folder is
//===----------------------------------------------------------------------===//

namespace {

/// What `run.json` says; an empty run where it is missing or malformed.
struct RunFile {
  std::string run, model, host;
  int64_t epoch = 0, pid = 0;
};

} // namespace

static RunFile readRunFile(const std::string &folder) {
  RunFile file;
  std::shared_ptr<const FileBytes> bytes;
  if (!FileBytes::open(folder + "/run.json", &bytes).ok())
    return file;
  std::string_view text = bytes->bytes();
  json root = json::parse(text.begin(), text.end(), nullptr, false);
  auto word = [&](const char *key, std::string *out) {
    if (root.contains(key) && root[key].is_string())
      *out = root[key].get<std::string>();
  };
  auto number = [&](const char *key, int64_t *out) {
    if (root.contains(key) && root[key].is_number_integer())
      *out = root[key].get<int64_t>();
  };
  if (!root.is_object())
    return file;
  word("run", &file.run);
  word("model", &file.model);
  word("host", &file.host);
  number("epoch", &file.epoch);
  number("pid", &file.pid);
  return file;
}

Status CheckpointFolder::writeRunFile() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  json root = {{"run", run},
               {"epoch", epoch},
               {"model", model},
               {"pid", int64_t(getpid())},
               {"host", host}};
  DIST_RETURN_IF_ERROR(writeFile(
      path + "/run.json",
      root.dump(1, ' ', false, json::error_handler_t::replace) + "\n", true));
  return flushToDisk(path);
}

static std::string newRunId() {
  char bytes[8];
  if (getrandom(bytes, sizeof bytes, 0) != ssize_t(sizeof bytes))
    std::memset(bytes, 0, sizeof bytes);
  return toHex({bytes, sizeof bytes});
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

CheckpointFolder::~CheckpointFolder() {
  pending.reset(); // removes what it has written, under the lock
  if (lockFile >= 0)
    ::close(lockFile);
}

/// Whether `.lock` is still the file that we hold: the folder may have been
/// removed, and made again by another.
bool CheckpointFolder::holdsNamedLock() const {
  struct stat held, named;
  return fstat(lockFile, &held) == 0 &&
         lstat((path + "/.lock").c_str(), &named) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

Status CheckpointFolder::lock(std::vector<std::string> *notes) {
  std::string name = path + "/.lock";
  for (;;) {
    lockFile =
        ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (lockFile < 0)
      return Status::error(StatusCode::Unavailable,
                           "cannot lock the checkpoint folder", path,
                           std::strerror(errno),
                           "check the folder, its permissions and free space");
    if (flock(lockFile, LOCK_EX | LOCK_NB) == 0) {
      if (holdsNamedLock())
        return Status();
    } else if (errno == EWOULDBLOCK) {
      ::close(lockFile);
      lockFile = -1;
      return use == FolderUse::TakeOver ? replaceLock() : inUse(path);
    } else if (errno != EINTR) {
      notes->push_back("the file system has no locks (" +
                       std::string(std::strerror(errno)) +
                       "): see that no other run uses " + path);
      ::close(lockFile);
      lockFile = -1;
      return Status();
    }
    ::close(lockFile);
  }
}

/// The file that another process has locked is the folder's no more.
Status CheckpointFolder::replaceLock() {
  const std::string own = path + "/.lock-" + std::to_string(getpid());
  lockFile =
      ::open(own.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (lockFile >= 0 && flock(lockFile, LOCK_EX | LOCK_NB) == 0 &&
      ::rename(own.c_str(), (path + "/.lock").c_str()) == 0)
    return Status();
  return Status::error(
      StatusCode::Unavailable, "cannot take over the checkpoint folder", path,
      std::strerror(errno), "check the folder, its permissions and free space");
}

/// Under the lock, what is neither a state nor its own place is a kill's.
void CheckpointFolder::sweep() {
  if (lockFile < 0)
    return;
  for (const std::string &name : listNames(path)) {
    if (startsWith(name, kReplaced)) {
      std::string state = path + "/" + name.substr(std::strlen(kReplaced));
      if (!exists(state) &&
          ::rename((path + "/" + name).c_str(), state.c_str()) == 0)
        continue;
    }
    if (startsWith(name, kSaving) || startsWith(name, kRemoving) ||
        startsWith(name, kReplaced))
      removeAll(path + "/" + name);
  }
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
                                  std::unique_ptr<CheckpointFolder> *out,
                                  std::vector<std::string> *notes) {
  std::unique_ptr<CheckpointFolder> folder(new CheckpointFolder(path, use));
  DIST_RETURN_IF_ERROR(makeFolders(path));
  DIST_RETURN_IF_ERROR(folder->lock(notes));
  if (use == FolderUse::TakeOver)
    folder->use = FolderUse::Resume; // from now on
  folder->sweep();
  DIST_RETURN_IF_ERROR(folder->look());
  *out = std::move(folder);
  return Status();
}

Status CheckpointFolder::open(const std::string &path, FolderUse use,
                              Session &session,
                              std::unique_ptr<CheckpointFolder> *out,
                              std::vector<std::string> *notes) {
  std::unique_ptr<CheckpointFolder> folder;
  Status status;
  if (session.process() == 0)
    status = openHere(path, use, &folder, notes);
  else
    folder.reset(new CheckpointFolder(path, use));
  DIST_RETURN_IF_ERROR(share(session, status));
  *out = std::move(folder);
  return Status();
}

Status checkCheckpointFolder(const std::string &path, FolderUse use) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 && errno == ENOENT)
    return Status();
  std::unique_ptr<CheckpointFolder> folder;
  std::vector<std::string> ignored;
  return CheckpointFolder::openHere(path, use, &folder, &ignored);
}

Status CheckpointFolder::begin(Session &session) {
  return share(session, session.process() == 0 ? beginHere(session) : Status());
}

Status CheckpointFolder::beginHere(const Session &session) {
  model = session.manifest().model_name();
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
  if (run.empty())
    run = newRunId();
  ++epoch;
  return writeRunFile();
}

/// Before each save: whether the folder is still this run's.
Status CheckpointFolder::keepHold() {
  auto taken = [&](const RunFile &file) {
    return Status::error(
        StatusCode::Unavailable, "the checkpoint folder was taken over", path,
        describeRun(file.run, file.model) + " (epoch " +
            std::to_string(file.epoch) + ") writes there now, this is run " +
            run + " (epoch " + std::to_string(epoch) + ")",
        "give each run a folder of its own");
  };
  if (lockFile >= 0 && !holdsNamedLock()) {
    // The folder was removed while the run went on: it is made again.
    ::close(lockFile);
    lockFile = -1;
    std::vector<std::string> ignored;
    DIST_RETURN_IF_ERROR(makeFolders(path));
    DIST_RETURN_IF_ERROR(lock(&ignored));
    if (!listStates(path).empty())
      return taken(readRunFile(path));
    own.clear();
    return writeRunFile();
  }
  DIST_RETURN_IF_ERROR(makeFolders(path));
  RunFile file = readRunFile(path);
  if (file.run.empty())
    return writeRunFile();
  return file.run == run && file.epoch == epoch ? Status() : taken(file);
}

} // namespace dist
