//===- log.h - What a session tells besides its results --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_LOG_H
#define RUNTIME_CORE_LOG_H

#include <functional>
#include <string>

namespace dist {

enum class LogLevel {
  Info = 0,
  /// Something that a user should know, and that is no failure.
  Warning = 1,
};

/// Gets one line a call, from any thread.
using LogFunction = std::function<void(LogLevel, const std::string &)>;

} // namespace dist

#endif // RUNTIME_CORE_LOG_H
