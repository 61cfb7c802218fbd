//===- text_file.cpp - Texts that options name ----------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/text_file.h"
#include "runtime/formats/file.h"
#include "runtime/formats/file_system.h"
#include <memory>
#include <sys/stat.h>

namespace dist {

/// More is no text, but something else that is named by mistake.
static constexpr int64_t kMostBytes = int64_t(1) << 26;

Status readText(const std::string &path, std::string *out) {
  struct stat info;
  const bool isThere = fileSystem().status(path, &info) == 0;
  if (isThere && S_ISFIFO(info.st_mode))
    return Status::error(StatusCode::InvalidInput, "cannot read file", path,
                         "it is a pipe, whose text is there once, and more "
                         "than one reads it",
                         "write it to a file");
  if (isThere && S_ISREG(info.st_mode) && info.st_size > kMostBytes)
    return Status::error(
        StatusCode::InvalidInput, "file is too long for a text", path,
        "it has " + std::to_string(info.st_size) + " bytes, and may have " +
            std::to_string(kMostBytes),
        "check the name");
  std::shared_ptr<const FileBytes> file;
  DIST_RETURN_IF_ERROR(FileBytes::open(path, &file));
  out->assign(file->bytes());
  return Status();
}

} // namespace dist
