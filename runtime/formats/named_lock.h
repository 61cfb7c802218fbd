//===- named_lock.h - A lock that says who has it ---------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_NAMED_LOCK_H
#define RUNTIME_FORMATS_NAMED_LOCK_H

#include "runtime/core/status.h"

namespace dist {

/// What one process at a time uses: a file beside it is locked meanwhile, and
/// names that process. The system takes the lock of one that was killed.
class NamedLock {
public:
  NamedLock() = default;
  ~NamedLock();
  NamedLock(const NamedLock &) = delete;
  NamedLock &operator=(const NamedLock &) = delete;

  /// Locks `path`, which it makes; does not wait. `owner`: who has it, if that
  /// is another one, as `process 7 on node-3`; else empty. Without locks in the
  /// file system it has none, and `note` says so. Errors: the file cannot be
  /// made.
  Status take(const std::string &path, std::string *owner, std::string *note);

private:
  bool isNamed() const;
  void close();

  std::string path;
  int file = -1;
};

} // namespace dist

#endif // RUNTIME_FORMATS_NAMED_LOCK_H
