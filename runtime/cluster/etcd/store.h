//===- store.h - What a member calls of its store ---------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// etcd's calls without the network: EtcdClient makes them by gRPC, a simulation
// by its own.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_ETCD_STORE_H
#define RUNTIME_CLUSTER_ETCD_STORE_H

#include "runtime/cluster/etcd/result.h"
#include "runtime/cluster/etcd/rpc.pb.h"
#include <functional>
#include <memory>

namespace dist::cluster {

class Store {
public:
  virtual ~Store() = default;

  /// Returns when there is a connection, or after so many milliseconds. Calls
  /// fail at once while there is none, and a connection is made only while
  /// something waits for it.
  virtual void waitForConnection(int64_t milliseconds) = 0;

  virtual StoreResult range(const etcdserverpb::RangeRequest &request,
                            etcdserverpb::RangeResponse *response) = 0;
  virtual StoreResult put(const etcdserverpb::PutRequest &request,
                          etcdserverpb::PutResponse *response) = 0;
  virtual StoreResult
  deleteRange(const etcdserverpb::DeleteRangeRequest &request,
              etcdserverpb::DeleteRangeResponse *response) = 0;
  virtual StoreResult txn(const etcdserverpb::TxnRequest &request,
                          etcdserverpb::TxnResponse *response) = 0;
  virtual StoreResult
  leaseGrant(const etcdserverpb::LeaseGrantRequest &request,
             etcdserverpb::LeaseGrantResponse *response) = 0;
  virtual StoreResult
  leaseRevoke(const etcdserverpb::LeaseRevokeRequest &request,
              etcdserverpb::LeaseRevokeResponse *response) = 0;
  /// A lease that is no more has TTL 0 in the response.
  virtual StoreResult
  leaseKeepAlive(int64_t id,
                 etcdserverpb::LeaseKeepAliveResponse *response) = 0;

  /// A watch; its end cancels it and waits for the functions to return.
  class Watch {
  public:
    virtual ~Watch() = default;
  };
  /// `onResponse` hears all of it in order, the answer to the request first,
  /// and `onEnd` once why it ended, unless the watch's own end was the reason.
  /// Both are called from a thread of the watch, which they must not destroy.
  /// Null: this store has no watches.
  virtual std::unique_ptr<Watch>
  watch(const etcdserverpb::WatchCreateRequest &request,
        std::function<void(const etcdserverpb::WatchResponse &)> onResponse,
        std::function<void(const StoreResult &)> onEnd) {
    (void)request, (void)onResponse, (void)onEnd;
    return nullptr;
  }
};

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_ETCD_STORE_H
