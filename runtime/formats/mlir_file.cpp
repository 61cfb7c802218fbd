//===- mlir_file.cpp - Telling MLIR from model formats -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/mlir_file.h"
#include <algorithm>

using std::string_view;

static bool startsWith(string_view text, string_view start) {
  return text.substr(0, start.size()) == start;
}

bool dist::isMlirFile(string_view bytes, string_view name) {
  constexpr string_view kSuffix = ".mlir";
  if (startsWith(bytes, "ML\xefR") ||
      (name.size() >= kSuffix.size() &&
       name.substr(name.size() - kSuffix.size()) == kSuffix))
    return true;
  bytes.remove_prefix(
      std::min(bytes.find_first_not_of(" \t\n\v\f\r"), bytes.size()));
  for (string_view start :
       {"module", "\"builtin.module\"", "func.func", "graph.", "//"})
    if (startsWith(bytes, start))
      return true;
  return false;
}
