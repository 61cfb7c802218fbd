//===- guard.h - Where exceptions end ---------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The standard library throws when memory or threads run out. Nothing may pass
// through generated code, the C interface or the start of a thread: there an
// exception becomes a status.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_GUARD_H
#define RUNTIME_CORE_GUARD_H

#include "runtime/core/status.h"
#include <exception>
#include <new>
#include <system_error>

namespace dist {

/// Runs `body`, which returns a Status; an exception becomes one.
template <typename Function> Status withoutThrowing(Function body) noexcept {
  // Texts of errors need memory, too.
  try {
    try {
      return body();
    } catch (const std::bad_alloc &) {
      return Status::outOfMemory();
    } catch (const std::system_error &error) {
      return Status::error(StatusCode::Unavailable, "the system refused", "",
                           error.what(),
                           "use fewer devices or threads, or raise the limits "
                           "(ulimit -u, ulimit -v)");
    } catch (const std::exception &error) {
      return Status::error(StatusCode::Internal, "the runtime failed", "",
                           error.what());
    }
  } catch (...) {
    return Status::outOfMemory();
  }
}

} // namespace dist

#endif // RUNTIME_CORE_GUARD_H
