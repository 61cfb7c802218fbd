//===- dependencies.cpp - Which files a result was made of -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/dependencies.h"
#include "runtime/formats/file.h"
#include "runtime/formats/sha256.h"
#include <algorithm>

namespace dist {

/// Digits of a SHA-256 in hexadecimal.
static constexpr size_t kDigits = 64;

void Dependencies::add(const std::string &path, std::string_view bytes) {
  std::string &hex = hashes[path];
  if (!hex.empty())
    return;
  // Part by part, so that a mapped file is never in memory as a whole.
  constexpr size_t kPart = size_t(16) << 20;
  Sha256 hash;
  for (size_t at = 0; at < bytes.size(); at += kPart) {
    hash.add(bytes.substr(at, kPart));
    if (bytes.size() > kPart)
      FileBytes::releaseAll();
  }
  hex = hash.hex();
}

std::string Dependencies::text() const {
  std::string text;
  for (auto &[path, hash] : hashes) {
    // sha256sum's own escapes: the line then starts with a backslash.
    std::string escaped;
    for (char c : path)
      escaped += c == '\\' ? "\\\\" : c == '\n' ? "\\n" : std::string(1, c);
    text += (escaped == path ? "" : "\\") + hash + "  " + escaped + "\n";
  }
  return text;
}

Status Dependencies::parse(std::string_view text, const std::string &where,
                           Dependencies *out) {
  out->hashes.clear();
  auto damaged = [&] {
    return Status::error(StatusCode::InvalidInput, "damaged list of files",
                         where, "a line is not as sha256sum writes it",
                         "remove it");
  };
  while (!text.empty()) {
    size_t end = text.find('\n');
    if (end == std::string_view::npos)
      return damaged();
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    bool escaped = !line.empty() && line[0] == '\\';
    if (escaped)
      line.remove_prefix(1);
    if (line.size() < kDigits + 3 || line.substr(kDigits, 2) != "  " ||
        !std::all_of(line.begin(), line.begin() + kDigits, [](char c) {
          return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
        }))
      return damaged();
    std::string path;
    for (size_t i = kDigits + 2; i < line.size(); ++i) {
      bool pair = escaped && line[i] == '\\' && i + 1 < line.size();
      path += pair ? (line[++i] == 'n' ? '\n' : line[i]) : line[i];
    }
    out->hashes[path] = std::string(line.substr(0, kDigits));
  }
  return Status();
}

} // namespace dist
