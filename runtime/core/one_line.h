//===- one_line.h - Texts that people read ----------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_ONE_LINE_H
#define RUNTIME_CORE_ONE_LINE_H

#include <string>

namespace dist {

/// What the names and contents of files bring into a text neither breaks its
/// line nor is obeyed by a terminal.
inline std::string onOneLine(std::string text) {
  for (char &c : text)
    if (c == '\n' || c == '\r')
      c = ' ';
    else if (static_cast<unsigned char>(c) < ' ' || c == 0x7f)
      c = '?';
  return text;
}

} // namespace dist

#endif // RUNTIME_CORE_ONE_LINE_H
