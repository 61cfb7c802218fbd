//===- journal.h - A file of records ----------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_ETCD_JOURNAL_H
#define RUNTIME_CLUSTER_ETCD_JOURNAL_H

#include "runtime/cluster/etcd/journal.pb.h"
#include "runtime/core/status.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace dist::cluster {

/// Whether a record is on the disk, and not only in its cache, when it counts
/// as kept. A killed process loses nothing either way.
enum class JournalSync { EachRecord, Never };

/// Where a journal is kept: a file, or a simulated disk. What returns false has
/// set errno.
class JournalFile {
public:
  virtual ~JournalFile() = default;
  virtual Status read(std::string *bytes) = 0;
  virtual bool write(const std::string &bytes, uint64_t at) = 0;
  virtual bool truncate(uint64_t size) = 0;
  /// Returns when what was written, and the size, outlast a crash of the
  /// machine.
  virtual bool sync() = 0;
  /// The same of the file's name.
  virtual bool syncName() = 0;
};

/// Appends records to a file, each with its length and checksum. A record that
/// a crash left unfinished at the end is cut off when the file is opened;
/// damage anywhere else is an error.
class Journal {
public:
  using Reader = std::function<Status(const JournalRecord &)>;

  /// Opens or begins the file, which is this process's alone, and hands on what
  /// it holds. `cutBytes`: how much of an unfinished record was cut off.
  static Status open(const std::string &path, JournalSync sync,
                     const Reader &reader, std::unique_ptr<Journal> *journal,
                     uint64_t *cutBytes);
  /// The same, in a file that is open; `path`: its name, for messages.
  static Status open(std::unique_ptr<JournalFile> file, const std::string &path,
                     JournalSync sync, const Reader &reader,
                     std::unique_ptr<Journal> *journal, uint64_t *cutBytes);
  Journal(const Journal &) = delete;
  Journal &operator=(const Journal &) = delete;

  /// Keeps a record. After a failure the file is as before; if it cannot be
  /// made so, every later call fails.
  Status append(const JournalRecord &record);

private:
  Journal(std::string path, std::unique_ptr<JournalFile> file, JournalSync sync)
      : path(std::move(path)), file(std::move(file)), sync(sync) {}

  std::string path;
  std::unique_ptr<JournalFile> file;
  JournalSync sync;
  uint64_t size = 0;
  bool isBroken = false;
};

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_ETCD_JOURNAL_H
