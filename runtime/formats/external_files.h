//===- external_files.h - Files that a model points to -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_EXTERNAL_FILES_H
#define RUNTIME_FORMATS_EXTERNAL_FILES_H

#include "runtime/formats/file.h"
#include <map>

namespace dist {

/// The files that a model's tensors lie in, opened once each. A model comes
/// from anywhere, and must not make us read what its folder does not hold:
/// names are relative, have no `..`, and what they lead to is a regular file
/// under the model's folder, or under the one that the model itself is linked
/// from (caches keep model and data in one folder and link both).
class ExternalFiles {
public:
  /// Hears of a file that was opened, and of all that is in it.
  using Opened =
      std::function<void(const std::string &path, std::string_view bytes)>;

  /// `opened` may be null.
  explicit ExternalFiles(std::string model,
                         FileAccess access = FileAccess::Read,
                         Opened opened = nullptr)
      : model(std::move(model)), access(access), opened(std::move(opened)) {}

  /// `where` names the tensor in errors.
  Status open(const std::string &location, const std::string &where,
              std::shared_ptr<const FileBytes> *out);

private:
  std::string model;
  FileAccess access;
  Opened opened;
  std::map<std::string, std::shared_ptr<const FileBytes>> files;
};

} // namespace dist

#endif // RUNTIME_FORMATS_EXTERNAL_FILES_H
