//===- result.h - Result of a call of the store -----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_ETCD_RESULT_H
#define RUNTIME_CLUSTER_ETCD_RESULT_H

#include <string>
#include <utility>

namespace dist::cluster {

/// Numbers are gRPC's, as etcd answers with them.
enum class StoreCode {
  Ok = 0,
  Cancelled = 1,
  InvalidArgument = 3,
  DeadlineExceeded = 4,
  NotFound = 5,
  ResourceExhausted = 8,
  FailedPrecondition = 9,
  OutOfRange = 11,
  Unimplemented = 12,
  Internal = 13,
  Unavailable = 14,
  /// The other end has another secret, or none.
  Unauthenticated = 16,
};

/// gRPC would write on standard error what strangers do to a port, line by
/// line; what fails is told by who has called.
void silenceGrpc();

/// Success, or why not; messages of requests that are refused are etcd's.
struct [[nodiscard]] StoreResult {
  StoreCode code = StoreCode::Ok;
  std::string message;

  StoreResult() = default;
  StoreResult(StoreCode code, std::string message)
      : code(code), message(std::move(message)) {}
  bool ok() const { return code == StoreCode::Ok; }
};

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_ETCD_RESULT_H
