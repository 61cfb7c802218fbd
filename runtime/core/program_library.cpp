//===- program_library.cpp - A package's code, loaded ---------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/program_library.h"
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace dist {

/// The file's bytes in memory; -1: there is no room, or the system has none for
/// code.
static int copyToMemory(int file) {
  const int copy = memfd_create("program.so", MFD_CLOEXEC);
  if (copy < 0)
    return -1;
  off_t at = 0;
  for (;;) {
    const ssize_t done = sendfile(copy, file, &at, size_t(1) << 30);
    if (done == 0)
      return copy;
    if (done < 0 && errno != EINTR)
      break;
  }
  close(copy);
  return -1;
}

/// The loader takes a name that it knows for the library that it has under it,
/// whatever file that is by now: a name that no load had before, by a number in
/// which 0 is written as one more slash, and 1 as one more dot. Of one file it
/// is one library all the same. Empty: there is no /proc.
static std::string newName(int file) {
  static std::atomic<uint64_t> loads{0};
  std::string name = "/proc/self/fd/";
  for (uint64_t number = ++loads; number > 0; number /= 2)
    name += number % 2 ? "./" : "/";
  name += std::to_string(file);
  return access(name.c_str(), F_OK) == 0 ? name : "";
}

bool ProgramLibrary::open(int file, const std::string &path, std::string *why) {
  std::string name = newName(file);
  if (name.empty())
    name = path;
  handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle)
    return true;
  const char *said = dlerror();
  *why = said ? said : "it cannot be loaded";
  if (why->compare(0, name.size() + 2, name + ": ") == 0)
    why->erase(0, name.size() + 2);
  return false;
}

Status ProgramLibrary::load(const std::string &path,
                            std::unique_ptr<ProgramLibrary> *out) {
  std::unique_ptr<ProgramLibrary> library(new ProgramLibrary());
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return Status::error(StatusCode::Unavailable, "cannot read file", path,
                         std::strerror(errno),
                         "check the name and its permissions");
  std::string why;
  bool isOpen = library->open(file, path, &why);
  struct statvfs place;
  const bool isBarred =
      !isOpen && fstatvfs(file, &place) == 0 && (place.f_flag & ST_NOEXEC) != 0;
  const int copy = isBarred ? copyToMemory(file) : -1;
  close(file);
  if (copy >= 0) {
    isOpen = library->open(copy, path, &why);
    close(copy);
  } else if (isBarred) {
    return Status::error(StatusCode::Unavailable, "cannot load the program",
                         path, "its file system is mounted noexec",
                         "put the package elsewhere");
  }
  if (!isOpen)
    return Status::error(StatusCode::InvalidInput, "the package is damaged",
                         path, why, "compile it again");
  *out = std::move(library);
  return Status();
}

ProgramLibrary::~ProgramLibrary() {
  if (handle)
    dlclose(handle);
}

void *ProgramLibrary::find(const std::string &symbol) const {
  return dlsym(handle, symbol.c_str());
}

} // namespace dist
