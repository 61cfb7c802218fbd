//===- storage.h - A simulated disk with folders ----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One file system that all processes share. A file's bytes are safe once it was
// synced, a folder's names once that was; when power is lost, names go back to
// what they were at some time since, and bytes that were not synced are there
// in parts. A process that crashes lets go of its locks; a ghost writes
// nothing.
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_SIMULATION_STORAGE_H
#define TEST_RUNTIME_SIMULATION_STORAGE_H

#include "runtime/formats/file_system.h"
#include "test/runtime/simulation/simulator.h"
#include <cerrno>

namespace dist::simulation {

class Storage final : public FileSystem {
public:
  static constexpr microseconds kSlowest{500};
  explicit Storage(Simulator &simulator);
  ~Storage() override;

  bool hasLocks = true, hasRenameFlags = true;
  /// It has no room for more.
  bool isFull = false;
  /// The machine has no thread for more.
  bool isBusy = false;
  /// One write finds no room, after so many; below 0: none.
  int refusesIn = -1;
  /// How often that was told.
  int refusals = 0;
  /// What an operation takes at most.
  Duration slowest = kSlowest;
  /// Before a name becomes another, in the process that asks for it.
  std::function<void(const std::string &from, const std::string &to)> onRename;
  /// Behind the making of a file.
  std::function<void(const std::string &path)> onMake;
  /// Behind the change of a name.
  std::function<void()> onChange;
  /// As a process waits for a thread that is not done.
  std::function<void()> onWait;
  /// As a process locks a file that still has its name.
  std::function<void(const std::string &path)> onLock;
  /// Names in a folder, as they are now.
  std::vector<std::string> peek(const std::string &folder) const;
  /// What is in a file now; empty where there is none.
  std::string peekFile(const std::string &path) const;
  void losePower();
  /// The process's files are closed.
  void crash(int process);

  int open(const std::string &path, int flags, mode_t mode) override;
  int openTemporary(std::string *path) override;
  ssize_t write(int file, const void *data, size_t size) override;
  ssize_t readAt(int file, void *to, size_t size, off_t at) override;
  int sync(int file) override;
  int close(int file) override;
  int status(int file, struct stat *out) override;
  int status(const std::string &path, struct stat *out,
             bool followsLinks) override;
  int lock(int file) override;
  int rename(const std::string &from, const std::string &to,
             unsigned flags) override;
  int remove(const std::string &path) override;
  void removeAll(const std::string &path) override;
  std::error_code makeFolders(const std::string &path) override;
  std::vector<std::string> list(const std::string &folder) override;
  int64_t process() override { return simulator.runningProcess(); }
  std::string host() override { return "host"; }
  std::string drawBytes(size_t count) override;
  /// In a thread of the process.
  std::unique_ptr<Beside> runBeside(std::function<void()> work) override;

private:
  class Thread;
  struct Node;
  using NodePtr = std::shared_ptr<Node>;
  using Names = std::map<std::string, NodePtr>;
  /// Names that change at once; null: it is gone.
  using Change = std::vector<std::pair<std::string, NodePtr>>;
  struct Node {
    ino_t number = 0;
    bool isFolder = false;
    std::string bytes, safeBytes;
    Names names, safeNames;
    std::vector<Change> changes; // since it was synced
    int lockedBy = -1;           // an open file
  };
  struct Open {
    NodePtr node;
    std::string path;
    int process = -1;
    size_t at = 0;
  };

  /// False, with errno: the process is gone.
  bool begins();
  int fail(int error) {
    refusals += error == ENOSPC;
    errno = error;
    return -1;
  }
  NodePtr make(bool isFolder);
  NodePtr find(const std::string &path) const;
  /// The folder of the last name of a path; null: it is missing.
  NodePtr parent(const std::string &path, std::string *name) const;
  static void apply(Node &folder, const Change &change);
  int add(NodePtr node, const std::string &path);
  Node *nodeOf(int file);
  void lose(Node &node);
  static int tell(const Node &node, struct stat *out);

  Simulator &simulator;
  NodePtr root;
  std::map<int, Open> files;
  int nextFile = 1000;
  ino_t nextNode = 1, nextTemporary = 1;
};

} // namespace dist::simulation

#endif // TEST_RUNTIME_SIMULATION_STORAGE_H
