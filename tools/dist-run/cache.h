//===- cache.h - Compiled packages, kept by content -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_CACHE_H
#define TOOLS_DIST_RUN_CACHE_H

#include "tools/dist-run/folder_lock.h"
#include "tools/options/options.h"

namespace dist::tools {

/// The folder of compiled packages, for one model and its options. A package is
/// found by the content of everything that it was made of: the model file, and
/// those that the compiler opened besides, whose names a list remembers.
///
///   <key>          a package; without a list the model file was all
///   <key>.inputs   the files that a model of this key opens besides
///
/// What goes wrong with it never fails a run: one line says so, and the model
/// is compiled. The folder must be the user's own and writable by no one else,
/// because loading a package runs its code.
class CompileCache {
public:
  CompileCache(const Options &options,
               const std::vector<std::string> &arguments);

  /// Where packages are made and kept; empty: nowhere.
  const std::string &getFolder() const { return folder; }
  /// The sound package of the files as they are now. `use`: as long as it is
  /// locked, other processes leave the package there.
  bool find(std::string *package, FolderLock *use, double *compileSeconds);
  /// Moves a package here and gives its new place; empty: it stays where it is.
  /// `inputs` is the compiler's list of the files it read, `use` as above.
  std::string keep(const std::string &package, const std::string &inputs,
                   double compileSeconds, FolderLock *use);
  /// Removes an entry, at once and as a whole: another process finds all of it
  /// or nothing. False: another process uses it, and it stays.
  static bool withdraw(const std::string &path);
  /// The cache cannot be used any more; says why.
  void leave(const std::string &why);

private:
  void open();
  void prune() const;
  /// The key of a model file of that hash.
  std::string keyOf(const std::string &modelHash) const;

  const Options &options;
  const std::vector<std::string> &arguments;
  std::string folder;
  std::string modelHash; // of the file as it was found
};

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_CACHE_H
