//===- text.h - Pieces of text ----------------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_TEXT_H
#define RUNTIME_CORE_TEXT_H

#include <string>
#include <string_view>
#include <vector>

namespace dist {

inline bool startsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

inline bool endsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() &&
         text.substr(text.size() - end.size()) == end;
}

/// Two digits for each byte.
inline std::string toHex(std::string_view bytes) {
  std::string text;
  for (unsigned char byte : bytes)
    for (int half : {byte >> 4, byte & 15})
      text += "0123456789abcdef"[half];
  return text;
}

/// What stands between the separators, of which those within [ ] do not count:
/// `x=a[0:2],y=b` has two pieces, an empty text one.
inline std::vector<std::string> splitList(std::string_view text,
                                          char separator = ',') {
  std::vector<std::string> pieces(1);
  int depth = 0;
  for (char c : text) {
    depth += (c == '[') - (c == ']');
    if (c == separator && depth <= 0)
      pieces.emplace_back();
    else
      pieces.back() += c;
  }
  return pieces;
}

} // namespace dist

#endif // RUNTIME_CORE_TEXT_H
