//===- client.h - A client of etcd ------------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Speaks to an etcd-server or to the embedded one. Calls may be made from any
// thread; each has a deadline.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_ETCD_CLIENT_H
#define RUNTIME_CLUSTER_ETCD_CLIENT_H

#include "runtime/cluster/etcd/store.h"
#include "runtime/cluster/security/certificates.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace dist::cluster {

class EtcdClient final : public Store {
public:
  /// `address` is HOST:PORT. Nothing is sent before the first call, which fails
  /// after `timeout` milliseconds without an answer. `tls`: what both ends show
  /// each other; none: neither is known, and all is sent in clear text.
  explicit EtcdClient(const std::string &address, int64_t timeout = 5000,
                      const std::optional<TlsCertificates> &tls = {});
  ~EtcdClient() override;

  void waitForConnection(int64_t milliseconds) override;
  StoreResult range(const etcdserverpb::RangeRequest &request,
                    etcdserverpb::RangeResponse *response) override;
  StoreResult put(const etcdserverpb::PutRequest &request,
                  etcdserverpb::PutResponse *response) override;
  StoreResult deleteRange(const etcdserverpb::DeleteRangeRequest &request,
                          etcdserverpb::DeleteRangeResponse *response) override;
  StoreResult txn(const etcdserverpb::TxnRequest &request,
                  etcdserverpb::TxnResponse *response) override;
  StoreResult compact(const etcdserverpb::CompactionRequest &request,
                      etcdserverpb::CompactionResponse *response);
  StoreResult leaseGrant(const etcdserverpb::LeaseGrantRequest &request,
                         etcdserverpb::LeaseGrantResponse *response) override;
  StoreResult leaseRevoke(const etcdserverpb::LeaseRevokeRequest &request,
                          etcdserverpb::LeaseRevokeResponse *response) override;
  StoreResult
  leaseKeepAlive(int64_t id,
                 etcdserverpb::LeaseKeepAliveResponse *response) override;

  /// A watch; its end cancels it and waits for the functions to return.
  class Watch {
  public:
    virtual ~Watch() = default;
  };
  /// `onResponse` hears all of it in order, the answer to the request first,
  /// and `onEnd` once why it ended, unless the watch's own end was the reason.
  /// Both are called from a thread of the watch, which they must not destroy.
  std::unique_ptr<Watch>
  watch(const etcdserverpb::WatchCreateRequest &request,
        std::function<void(const etcdserverpb::WatchResponse &)> onResponse,
        std::function<void(const StoreResult &)> onEnd);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_ETCD_CLIENT_H
