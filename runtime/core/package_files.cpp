//===- package_files.cpp - The files of a package -------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/package_files.h"
#include "runtime/core/text.h"
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <sys/stat.h>
#include <thread>

namespace dist {

namespace fs = std::filesystem;

/// Whether a package has a file or folder of this name, of whatever variant.
static bool isOfPackage(const std::string &name) {
  // The last two are what the tools' cache keeps with one.
  const char *const names[] = {
      "manifest", "program.so", "weights.safetensors", kOnnxSkeletonName,
      "servers",  "digest",     "compile_seconds"};
  if (std::find(std::begin(names), std::end(names), name) != std::end(names))
    return true;
  return startsWith(name, "manifest.") ||
         (startsWith(name, "program.") && endsWith(name, ".so"));
}

namespace {

/// Which package has a name. Not since when its folder is as it is: the tools
/// add to those in their cache.
struct Place {
  dev_t device = 0;
  ino_t folder = 0, manifest = 0;
  int64_t seconds = 0, nanoseconds = 0; // of the manifest

  explicit Place(const std::string &path) {
    struct stat info;
    if (stat(path.c_str(), &info) != 0)
      return;
    device = info.st_dev;
    folder = info.st_ino;
    if (stat(manifestPath(path, "").c_str(), &info) != 0)
      return;
    manifest = info.st_ino;
    seconds = info.st_mtim.tv_sec;
    nanoseconds = info.st_mtim.tv_nsec;
  }
  bool operator==(const Place &other) const {
    return device == other.device && folder == other.folder &&
           manifest == other.manifest && seconds == other.seconds &&
           nanoseconds == other.nanoseconds;
  }
};

} // namespace

Status ofOnePackage(const std::string &folder, bool mayRepeat,
                    const std::function<Status()> &read) {
  constexpr int kTries = 20;
  constexpr auto kPause = std::chrono::milliseconds(10);
  for (int i = 0; i < kTries; ++i) {
    const Place before(folder);
    Status status = read();
    if (!mayRepeat || Place(folder) == before)
      return status;
    std::this_thread::sleep_for(kPause);
  }
  return Status::error(StatusCode::Unavailable, "cannot open the package",
                       folder, "others keep taking its place",
                       "open it when it stays");
}

std::string whyNotReplaced(const std::string &path) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error)))
    return "";
  if (!fs::is_directory(path, error))
    return "a file is there, and a package is a folder";
  std::string other;
  bool isEmpty = true;
  for (fs::directory_iterator item(path, error), end; !error && item != end;
       item.increment(error)) {
    isEmpty = false;
    std::string name = item->path().filename();
    // The first by name, so that it does not depend on the file system.
    if (!isOfPackage(name) && (other.empty() || name < other))
      other = name;
  }
  if (error)
    return "the folder there cannot be read: " + error.message();
  const bool isPackage = fs::is_regular_file(manifestPath(path, ""), error) &&
                         fs::exists(programPath(path, ""), error);
  if (isEmpty || (isPackage && other.empty()))
    return "";
  return "the folder there holds other things than a package" +
         (other.empty() ? "" : " ('" + other + "')");
}

} // namespace dist
