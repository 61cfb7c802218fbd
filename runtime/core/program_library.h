//===- program_library.h - A package's code, loaded -------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_PROGRAM_LIBRARY_H
#define RUNTIME_CORE_PROGRAM_LIBRARY_H

#include "runtime/core/status.h"
#include <memory>
#include <string>

namespace dist {

/// The file that has a path now, whatever was loaded under its name before.
/// Where its file system allows no code (noexec), a copy in memory.
class ProgramLibrary {
public:
  static Status load(const std::string &path,
                     std::unique_ptr<ProgramLibrary> *out);
  ~ProgramLibrary();
  ProgramLibrary(const ProgramLibrary &) = delete;
  ProgramLibrary &operator=(const ProgramLibrary &) = delete;

  /// Null: it has no such symbol.
  void *find(const std::string &symbol) const;

private:
  ProgramLibrary() = default;
  bool open(int file, const std::string &path, std::string *why);

  void *handle = nullptr;
};

} // namespace dist

#endif // RUNTIME_CORE_PROGRAM_LIBRARY_H
