//===- parity_compiler.h - Packages of cases, by dist-opt -------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_E2E_PARITY_COMPILER_H
#define TEST_E2E_PARITY_COMPILER_H

#include "runtime/core/status.h"
#include <map>
#include <string>
#include <vector>

namespace dist::parity {

/// Compiles into a folder of its own; the same options once.
class Compiler {
public:
  /// `flags`: dist-opt's options of every case.
  Compiler(std::string model, std::vector<std::string> flags);
  ~Compiler();
  Compiler(const Compiler &) = delete;

  /// The training step under `flags` as a package; `unsplit`: as it is before
  /// the strategy splits it, which is for one device (of all cores, or of so
  /// many `threads`).
  Status compile(const std::string &optimizer, const std::string &flags,
                 bool unsplit, std::string *package,
                 const std::string &threads = "");

private:
  std::string model;
  std::vector<std::string> common;
  std::string folder;
  std::map<std::string, std::string> packages;
};

} // namespace dist::parity

#endif // TEST_E2E_PARITY_COMPILER_H
