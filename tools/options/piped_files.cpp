//===- piped_files.cpp - Files that come through pipes --------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/options/piped_files.h"
#include "runtime/formats/file.h"
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dist::tools {

/// The descriptors that a word names, which may be several: x=/dev/fd/63,y=...
static std::vector<int> namedDescriptors(const std::string &word) {
  std::vector<int> found;
  for (const char *folder : {"/dev/fd/", "/proc/self/fd/"})
    for (size_t at = word.find(folder); at != std::string::npos;
         at = word.find(folder, at + 1)) {
      const char *number = word.c_str() + at + std::strlen(folder);
      if (std::isdigit(static_cast<unsigned char>(*number)))
        found.push_back(std::atoi(number));
    }
  if (word.find("/dev/stdin") != std::string::npos)
    found.push_back(STDIN_FILENO);
  return found;
}

/// Whether what is read from it is gone then. What it is written to stays.
static bool isReadOnce(int descriptor) {
  struct stat info;
  int flags = fcntl(descriptor, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) == O_RDONLY &&
         fstat(descriptor, &info) == 0 &&
         (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode));
}

static Status keep(int descriptor) {
  std::string name = "/dev/fd/" + std::to_string(descriptor);
  std::shared_ptr<const FileBytes> file;
  DIST_RETURN_IF_ERROR(FileBytes::open(descriptor, name, &file));
  int memory = memfd_create("piped", MFD_CLOEXEC);
  // As others may not read the pipe.
  bool isKept = memory >= 0 && fchmod(memory, 0600) == 0;
  std::string_view left = file->bytes();
  while (isKept && !left.empty()) {
    ssize_t wrote = write(memory, left.data(), left.size());
    if (wrote > 0)
      left.remove_prefix(size_t(wrote));
    else
      isKept = wrote < 0 && errno == EINTR;
  }
  // The standard input may be read from here, too.
  isKept = isKept && lseek(memory, 0, SEEK_SET) == 0 &&
           dup2(memory, descriptor) == descriptor;
  int error = errno;
  if (memory >= 0)
    close(memory);
  return isKept ? Status()
                : Status::error(StatusCode::Unavailable,
                                "cannot keep what a pipe gives", name,
                                std::strerror(error), "write it to a file");
}

static bool isInputNamed = false;

bool namesStandardInput() { return isInputNamed; }

Status keepPipedFiles(const std::vector<std::string> &words) {
  for (const std::string &word : words)
    for (int descriptor : namedDescriptors(word)) {
      isInputNamed |= descriptor == STDIN_FILENO;
      if (isReadOnce(descriptor))
        DIST_RETURN_IF_ERROR(keep(descriptor));
    }
  return Status();
}

} // namespace dist::tools
