//===- capi.h - Behind the C interface's handles ----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CAPI_CAPI_H
#define RUNTIME_CAPI_CAPI_H

#include "dist/api.h"
#include "runtime/core/guard.h"
#include "runtime/core/session.h"

struct dist_status_t {
  dist::Status status;
};

namespace dist {

/// NULL for success; a status that says so when there is no memory for one.
dist_status_t *toC(Status status) noexcept;

/// Runs `body`, which returns a Status, and lets no exception out.
template <typename Function> dist_status_t *guarded(Function body) noexcept {
  return toC(withoutThrowing(body));
}

/// The same of calls that return no status: `otherwise` if it throws.
template <typename Result, typename Function>
Result guarded(Result otherwise, Function body) noexcept {
  try {
    return body();
  } catch (...) {
    return otherwise;
  }
}

} // namespace dist

#endif // RUNTIME_CAPI_CAPI_H
