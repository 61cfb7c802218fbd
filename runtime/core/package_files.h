//===- package_files.h - The files of a package -----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_PACKAGE_FILES_H
#define RUNTIME_CORE_PACKAGE_FILES_H

#include "runtime/core/status.h"
#include <functional>
#include <string>

namespace dist {

/// A variant's files (variants.h); no name: the first's.
inline std::string manifestPath(const std::string &folder,
                                const std::string &variant) {
  return folder + "/manifest" + (variant.empty() ? "" : "." + variant);
}
inline std::string programPath(const std::string &folder,
                               const std::string &variant) {
  return folder + "/program" + (variant.empty() ? "" : "." + variant) + ".so";
}

/// The package of a parameter server, within that of its workers.
inline std::string serverPath(const std::string &folder, int server) {
  return folder + "/servers/" + std::to_string(server);
}

/// The model without its weights, of which an export is made.
inline constexpr char kOnnxSkeletonName[] = "model.skeleton.onnx";

/// Runs what reads the files of one package. Where another took its place
/// meanwhile they may be of both, whether that failed or not: it is run again,
/// if it `mayRepeat`; what meets other processes may not.
Status ofOnePackage(const std::string &folder, bool mayRepeat,
                    const std::function<Status()> &read);

/// Whether a package may be written there, in whose place a folder is removed
/// as a whole: there is nothing, an empty folder, or a package and nothing
/// else. Empty: it may; else what is in the way, for users.
std::string whyNotReplaced(const std::string &path);

} // namespace dist

#endif // RUNTIME_CORE_PACKAGE_FILES_H
