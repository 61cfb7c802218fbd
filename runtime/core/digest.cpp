//===- digest.cpp - Fingerprint of a package's files ----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/digest.h"
#include "runtime/core/package_files.h"
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

namespace dist {

static constexpr char kCompileAgain[] = "compile the package again";

Status digestFiles(const std::vector<std::string> &paths, std::string *out) {
  out->clear();
  std::vector<unsigned char> block(1 << 20);
  for (const std::string &path : paths) {
    int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
      return Status::error(StatusCode::InvalidInput, "cannot open file", path,
                           std::strerror(errno), kCompileAgain);
    // A device may never end, and a pipe never begin.
    struct stat info;
    if (fstat(file, &info) == 0 && !S_ISREG(info.st_mode)) {
      close(file);
      return Status::error(StatusCode::InvalidInput, "cannot read file", path,
                           "it is no regular file", kCompileAgain);
    }
    uLong crc = crc32(0, nullptr, 0);
    uint64_t length = 0;
    ssize_t count;
    while ((count = read(file, block.data(), block.size())) != 0) {
      if (count < 0 && errno == EINTR)
        continue;
      if (count < 0) {
        std::string why = std::strerror(errno);
        close(file);
        return Status::error(StatusCode::Unavailable, "cannot read file", path,
                             why);
      }
      crc = crc32(crc, block.data(), count);
      length += count;
    }
    close(file);
    char text[48];
    std::snprintf(text, sizeof text, "%s%" PRIu64 ":%08lx",
                  out->empty() ? "" : " ", length, crc);
    *out += text;
  }
  return Status();
}

Status digestPackage(const std::string &package, const std::string &variant,
                     std::string *out) {
  std::vector<std::string> paths = {programPath(package, variant)};
  std::string weights = package + "/weights.safetensors";
  struct stat info;
  if (stat(weights.c_str(), &info) == 0)
    paths.push_back(weights);
  return digestFiles(paths, out);
}

} // namespace dist
