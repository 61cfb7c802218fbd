//===- watches.h - Watches of the embedded server ---------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_ETCD_WATCHES_H
#define RUNTIME_CLUSTER_ETCD_WATCHES_H

#include "runtime/cluster/etcd/rpc.grpc.pb.h"
#include "runtime/cluster/etcd/server_core.h"
#include <list>
#include <memory>
#include <thread>

namespace dist::cluster {

class WatchStream;

/// Serves Watch. One thread sends what all watches are to be told, so that a
/// stream's calls need no order among threads, and ends leases when their time
/// is over.
class WatchService final : public etcdserverpb::Watch::CallbackService {
public:
  explicit WatchService(ServerCore &core);
  ~WatchService() override;

  grpc::ServerBidiReactor<etcdserverpb::WatchRequest,
                          etcdserverpb::WatchResponse> *
  Watch(grpc::CallbackServerContext *context) override;

  /// Ends the thread, when the server has no streams any more.
  void stop();

private:
  void run();

  ServerCore &core;
  std::list<std::unique_ptr<WatchStream>> streams; // by core.lock
  std::thread thread;
};

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_ETCD_WATCHES_H
