//===- dependencies.h - Which files a result was made of -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_DEPENDENCIES_H
#define RUNTIME_FORMATS_DEPENDENCIES_H

#include "runtime/core/status.h"
#include <map>
#include <string>
#include <string_view>

namespace dist {

/// The files that were opened to make something, with the hashes of what was
/// read: who keeps the result can tell whether it would be made the same again.
class Dependencies {
public:
  /// A file as it was read. Of a file that is read again, what was first.
  void add(const std::string &path, std::string_view bytes);
  /// The same of a known hash.
  void set(const std::string &path, const std::string &hash) {
    hashes[path] = hash;
  }
  /// Path -> SHA-256, hexadecimal.
  const std::map<std::string, std::string> &files() const { return hashes; }

  /// A line a file, as sha256sum writes and checks them.
  std::string text() const;
  static Status parse(std::string_view text, const std::string &where,
                      Dependencies *out);

private:
  std::map<std::string, std::string> hashes;
};

} // namespace dist

#endif // RUNTIME_FORMATS_DEPENDENCIES_H
