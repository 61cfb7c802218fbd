//===- storage.cpp - A simulated disk with folders ------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/simulation/storage.h"
#include <algorithm>
#include <cstdio>
#include <fcntl.h>

namespace dist::simulation {

/// Bytes that are written together, or not.
static constexpr size_t kSector = 16;

Storage::Storage(Simulator &simulator)
    : simulator(simulator), root(make(/*isFolder=*/true)) {
  setFileSystem(this);
}
Storage::~Storage() { setFileSystem(nullptr); }

bool Storage::begins() {
  // Looked at from outside.
  if (simulator.running() < 0)
    return true;
  // It takes its time, in which others go on.
  simulator.sleepUntil(simulator.now() +
                       simulator.between(microseconds(10), slowest));
  if (!simulator.isGhost())
    return true;
  errno = EIO;
  return false;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

Storage::NodePtr Storage::make(bool isFolder) {
  auto node = std::make_shared<Node>();
  node->number = nextNode++;
  node->isFolder = isFolder;
  return node;
}

Storage::NodePtr Storage::find(const std::string &path) const {
  NodePtr node = root;
  for (size_t at = 0; node && at < path.size();) {
    const size_t slash = std::min(path.find('/', at), path.size());
    if (slash > at) {
      auto found = node->names.find(path.substr(at, slash - at));
      node = found == node->names.end() ? nullptr : found->second;
    }
    at = slash + 1;
  }
  return node;
}

Storage::NodePtr Storage::parent(const std::string &path,
                                 std::string *name) const {
  const size_t slash = path.rfind('/', path.size() - 1);
  *name = path.substr(slash + 1);
  return find(path.substr(0, slash));
}

void Storage::apply(Node &folder, const Change &change) {
  for (auto &[name, node] : change)
    if (node)
      folder.names[name] = node;
    else
      folder.names.erase(name);
  folder.changes.push_back(change);
}

int Storage::rename(const std::string &from, const std::string &to,
                    unsigned flags) {
  if (!begins())
    return -1;
  if (flags != 0 && !hasRenameFlags)
    return fail(EINVAL);
  std::string one, other;
  NodePtr folder = parent(from, &one);
  if (!folder || folder != parent(to, &other) || !folder->names.count(one))
    return fail(ENOENT);
  auto target = folder->names.find(other);
  const bool isThere = target != folder->names.end();
  if (flags == RENAME_NOREPLACE && isThere)
    return fail(EEXIST);
  if (flags == RENAME_EXCHANGE && !isThere)
    return fail(ENOENT);
  if (flags == 0 && isThere && target->second->isFolder &&
      !target->second->names.empty())
    return fail(ENOTEMPTY);
  if (onRename)
    onRename(from, to);
  if (from == to)
    return 0;
  NodePtr left = flags == RENAME_EXCHANGE ? target->second : nullptr;
  apply(*folder, {{other, folder->names[one]}, {one, left}});
  if (onChange)
    onChange();
  return 0;
}

int Storage::remove(const std::string &path) {
  std::string name;
  NodePtr folder = parent(path, &name);
  if (!begins())
    return -1;
  if (!folder || !folder->names.count(name))
    return fail(ENOENT);
  apply(*folder, {{name, nullptr}});
  if (onChange)
    onChange();
  return 0;
}

void Storage::removeAll(const std::string &path) {
  NodePtr node = find(path);
  if (!node)
    return;
  while (node->isFolder && !node->names.empty()) {
    removeAll(path + "/" + node->names.begin()->first);
    // Another process may have moved it meanwhile.
    if (simulator.isGhost() || find(path) != node)
      return;
  }
  (void)remove(path);
}

std::error_code Storage::makeFolders(const std::string &path) {
  if (!begins())
    return {errno, std::generic_category()};
  std::string name;
  if (find(path))
    return {};
  NodePtr folder = parent(path, &name);
  if (!folder)
    return {ENOENT, std::generic_category()};
  if (isFull)
    return {(void(fail(ENOSPC)), ENOSPC), std::generic_category()};
  apply(*folder, {{name, make(/*isFolder=*/true)}});
  return {};
}

std::vector<std::string> Storage::peek(const std::string &path) const {
  std::vector<std::string> names;
  if (NodePtr folder = find(path))
    for (auto &[name, node] : folder->names)
      names.push_back(name);
  return names;
}

std::string Storage::peekFile(const std::string &path) const {
  const NodePtr file = find(path);
  return file ? file->bytes : "";
}

std::vector<std::string> Storage::list(const std::string &path) {
  return begins() ? peek(path) : std::vector<std::string>();
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

int Storage::add(NodePtr node, const std::string &path) {
  files[nextFile] = {std::move(node), path, simulator.runningProcess(), 0};
  return nextFile++;
}

Storage::Node *Storage::nodeOf(int file) {
  auto found = files.find(file);
  errno = EBADF;
  return found == files.end() ? nullptr : found->second.node.get();
}

int Storage::open(const std::string &path, int flags, mode_t) {
  if (!begins())
    return -1;
  NodePtr node = find(path);
  if (node && (flags & O_EXCL))
    return fail(EEXIST);
  if (node)
    return add(node, path);
  std::string name;
  NodePtr folder = parent(path, &name);
  if (!(flags & O_CREAT) || !folder)
    return fail(ENOENT);
  if (isFull)
    return fail(ENOSPC);
  node = make(/*isFolder=*/false);
  apply(*folder, {{name, node}});
  if (onMake)
    onMake(path);
  return add(node, path);
}

int Storage::openTemporary(std::string *path) {
  char number[8];
  std::snprintf(number, sizeof number, "%06u",
                unsigned(nextTemporary++ % 1000000));
  path->replace(path->size() - 6, 6, number);
  return open(*path, O_CREAT, 0);
}

ssize_t Storage::write(int file, const void *data, size_t size) {
  if (!begins())
    return -1;
  Node *node = nodeOf(file);
  if (!node)
    return -1;
  const bool isRefused = refusesIn == 0;
  refusesIn -= refusesIn >= 0;
  if (isRefused || (isFull && (size <= 1 || simulator.chance(0.5))))
    return fail(ENOSPC);
  // In pieces, and not all of it where there is no room.
  if (isFull || (size > 1 && simulator.chance(0.2)))
    size = 1 + size_t(simulator.below(size - 1));
  Open &open = files[file];
  if (node->bytes.size() < open.at + size)
    node->bytes.resize(open.at + size);
  std::copy_n(static_cast<const char *>(data), size,
              node->bytes.begin() + long(open.at));
  open.at += size;
  return ssize_t(size);
}

ssize_t Storage::readAt(int file, void *to, size_t size, off_t at) {
  Node *node = begins() ? nodeOf(file) : nullptr;
  if (!node)
    return -1;
  const size_t begin = std::min(node->bytes.size(), size_t(at));
  size = std::min(size, node->bytes.size() - begin);
  std::copy_n(node->bytes.begin() + long(begin), size, static_cast<char *>(to));
  return ssize_t(size);
}

int Storage::sync(int file) {
  Node *node = begins() ? nodeOf(file) : nullptr;
  if (!node)
    return -1;
  node->safeBytes = node->bytes;
  node->safeNames = node->names;
  node->changes.clear();
  return 0;
}

int Storage::close(int file) {
  auto found = files.find(file);
  if (found == files.end())
    return fail(EBADF);
  if (found->second.node->lockedBy == file)
    found->second.node->lockedBy = -1;
  files.erase(found);
  return 0;
}

int Storage::lock(int file) {
  Node *node = begins() ? nodeOf(file) : nullptr;
  if (!node)
    return -1;
  if (!hasLocks)
    return fail(ENOLCK);
  if (node->lockedBy >= 0 && node->lockedBy != file)
    return fail(EWOULDBLOCK);
  node->lockedBy = file;
  if (const Open &open = files[file]; onLock && find(open.path) == open.node)
    onLock(open.path);
  return 0;
}

int Storage::tell(const Node &node, struct stat *out) {
  *out = {};
  out->st_ino = node.number;
  out->st_mode = node.isFolder ? S_IFDIR : S_IFREG;
  out->st_size = off_t(node.bytes.size());
  return 0;
}

int Storage::status(int file, struct stat *out) {
  Node *node = begins() ? nodeOf(file) : nullptr;
  return node ? tell(*node, out) : -1;
}

int Storage::status(const std::string &path, struct stat *out, bool) {
  if (!begins())
    return -1;
  NodePtr node = find(path);
  return node ? tell(*node, out) : fail(ENOENT);
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

class Storage::Thread final : public FileSystem::Beside {
public:
  Thread(Storage &storage, std::function<void()> work)
      : storage(storage), simulator(storage.simulator),
        number(simulator.startThread("writer", std::move(work))) {}
  ~Thread() override {
    if (storage.onWait && !simulator.isDone(number) && !simulator.isGhost())
      storage.onWait();
    simulator.join(number);
  }

private:
  Storage &storage;
  Simulator &simulator;
  const int number;
};

std::string Storage::drawBytes(size_t count) {
  std::string bytes;
  while (bytes.size() < count)
    bytes += char(simulator.below(256));
  return bytes;
}

std::unique_ptr<FileSystem::Beside>
Storage::runBeside(std::function<void()> work) {
  if (isBusy) {
    ++refusals;
    throw std::system_error(EAGAIN, std::generic_category());
  }
  return std::make_unique<Thread>(*this, std::move(work));
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

void Storage::crash(int process) {
  for (auto file = files.begin(); file != files.end();) {
    if (file->second.process != process) {
      ++file;
      continue;
    }
    if (file->second.node->lockedBy == file->first)
      file->second.node->lockedBy = -1;
    file = files.erase(file);
  }
}

void Storage::losePower() {
  simulator.trace("the disk's power is lost");
  isFull = isBusy = false;
  slowest = kSlowest;
  lose(*root);
}

void Storage::lose(Node &node) {
  if (node.isFolder) {
    // Some of the changes, in their order.
    const size_t kept = simulator.below(node.changes.size() + 1);
    std::vector<Change> changes = std::move(node.changes);
    changes.resize(kept);
    node.names = node.safeNames;
    for (const Change &change : changes)
      apply(node, change);
    node.safeNames = node.names;
    node.changes.clear();
    for (auto &[name, child] : node.names)
      lose(*child);
    return;
  }
  std::string kept = simulator.chance(0.5) ? node.bytes : node.safeBytes;
  for (size_t at = 0; at < kept.size(); at += kSector) {
    const std::string &from =
        simulator.chance(0.5) ? node.bytes : node.safeBytes;
    for (size_t i = at; i < std::min(at + kSector, kept.size()); ++i)
      kept[i] = i < from.size() ? from[i] : 0;
  }
  node.bytes = node.safeBytes = std::move(kept);
}

} // namespace dist::simulation
