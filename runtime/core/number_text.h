//===- number_text.h - Numbers in messages ----------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_NUMBER_TEXT_H
#define RUNTIME_CORE_NUMBER_TEXT_H

#include <charconv>
#include <string>

namespace dist {

/// With as few digits as tell it from all others of its type.
template <typename Number> std::string numberText(Number number) {
  char text[64];
  auto end = std::to_chars(text, text + sizeof text, number);
  return std::string(text, end.ptr);
}

} // namespace dist

#endif // RUNTIME_CORE_NUMBER_TEXT_H
