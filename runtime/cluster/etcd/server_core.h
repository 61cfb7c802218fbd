//===- server_core.h - What calls of the server share -----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_ETCD_SERVER_CORE_H
#define RUNTIME_CLUSTER_ETCD_SERVER_CORE_H

#include "runtime/cluster/etcd/state.h"
#include <condition_variable>
#include <grpcpp/grpcpp.h>
#include <mutex>

namespace dist::cluster {

inline grpc::Status toGrpc(const StoreResult &result) {
  return {grpc::StatusCode(int(result.code)), result.message};
}

/// The state and who waits for it to change.
struct ServerCore {
  ServerCore(EtcdState::Commit commit, std::function<int64_t()> clock)
      : state(std::move(commit)), clock(std::move(clock)) {}

  /// Calls `use(state)` alone, and wakes who watches.
  template <typename Use> auto with(Use use) {
    std::unique_lock<std::mutex> guard(lock);
    auto result = use(state);
    changes = true;
    guard.unlock();
    wake.notify_all();
    return result;
  }

  std::mutex lock;
  std::condition_variable wake;
  EtcdState state;
  bool changes = false; // since the watches' thread has looked
  bool stops = false;
  const std::function<int64_t()> clock;
};

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_ETCD_SERVER_CORE_H
