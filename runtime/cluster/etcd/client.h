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
// An etcd has several members, of which each will do: calls go to one of them
// until one fails, because that member is gone, is frozen, or hears nothing of
// the others. The next call goes to the next member. What is to be done about
// the one that has failed is for the caller to say: it may have had its effect.
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
#include <vector>

namespace dist::cluster {

struct EtcdClientOptions {
  /// HOST:PORT, of members of one etcd; at least one.
  std::vector<std::string> addresses;
  /// Milliseconds after which a call fails that was not answered.
  int64_t timeout = 5000;
  /// Whom the client trusts, and what it shows, which may be nothing; none:
  /// neither end is known, and all is sent in clear text.
  std::optional<TlsCertificates> tls;
  /// In the certificate of each member; empty: the host of its address. Of a
  /// job's own, by a key for greetings, it is one of the client's own.
  std::string tlsName = kTlsName;
};

class EtcdClient final : public Store {
public:
  /// Nothing is sent before the first call.
  explicit EtcdClient(const EtcdClientOptions &options);
  explicit EtcdClient(const std::string &address, int64_t timeout = 5000,
                      const std::optional<TlsCertificates> &tls = {})
      : EtcdClient(EtcdClientOptions{{address}, timeout, tls}) {}
  ~EtcdClient() override;

  /// To the member whose turn it is.
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

  std::unique_ptr<Watch>
  watch(const etcdserverpb::WatchCreateRequest &request,
        std::function<void(const etcdserverpb::WatchResponse &)> onResponse,
        std::function<void(const StoreResult &)> onEnd) override;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_ETCD_CLIENT_H
