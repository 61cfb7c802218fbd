//===- held_package.cpp - A package for as long as a run ------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/held_package.h"
#include "tools/dist-run/console.h"
#include "tools/dist-run/program.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace dist::tools {

static Status cannotHold(const std::string &path, const std::string &why) {
  return Status::error(StatusCode::Unavailable, "cannot read the package", path,
                       why, "leave it there until the run has ended");
}

Status HeldPackage::hold(const std::string &path) {
  namespace fs = std::filesystem;
  folder = path;
  files.clear();
  std::error_code error;
  for (auto item = fs::recursive_directory_iterator(folder, error);
       !error && item != fs::recursive_directory_iterator();
       item.increment(error)) {
    // What else lies there is no part of a package; to open a pipe would wait.
    std::error_code other;
    if (!item->is_regular_file(other))
      continue;
    const fs::path name = item->path();
    int descriptor = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
      return cannotHold(name, std::strerror(errno));
    File file;
    file.name = name.lexically_relative(folder);
    struct stat info = {};
    Status status =
        ::fstat(descriptor, &info) == 0
            ? FileBytes::open(descriptor, name, &file.bytes, FileAccess::Map)
            : cannotHold(name, std::strerror(errno));
    ::close(descriptor);
    DIST_RETURN_IF_ERROR(std::move(status));
    file.device = info.st_dev;
    file.number = info.st_ino;
    files.push_back(std::move(file));
  }
  return error ? cannotHold(folder, error.message()) : Status();
}

bool HeldPackage::isWhole() const {
  return std::all_of(files.begin(), files.end(), [&](const File &file) {
    struct stat info;
    return ::stat((folder + "/" + file.name).c_str(), &info) == 0 &&
           info.st_dev == file.device && info.st_ino == file.number;
  });
}

Status HeldPackage::place(std::string *out) {
  *out = folder;
  if (files.empty() || isWhole())
    return Status();
  auto made = std::make_unique<ScratchFolder>();
  DIST_RETURN_IF_ERROR(made->make(temporaryPlace()));
  const std::string whole = made->getPath() + "/package";
  for (const File &file : files) {
    const std::string path = whole + "/" + file.name;
    DIST_RETURN_IF_ERROR(makeFolders(parentFolder(path)));
    DIST_RETURN_IF_ERROR(writeFile(path, file.bytes->bytes()));
  }
  printNote(
      "dist-run: note: the compiled package is no longer there as it was (" +
      folder + "): the run goes on with a copy of it");
  // From now on this is the package, which nobody else knows.
  std::swap(copy, made);
  return hold(*out = whole);
}

} // namespace dist::tools
