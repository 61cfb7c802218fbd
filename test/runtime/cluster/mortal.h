//===- mortal.h - A member that may be killed -------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_CLUSTER_MORTAL_H
#define TEST_RUNTIME_CLUSTER_MORTAL_H

#include "runtime/cluster/etcd/client.h"
#include "test/runtime/cluster/system_surroundings.h"
#include <atomic>

namespace dist::cluster {

/// The system's, for a member that is a thread of the test: once it is killed
/// nothing that it does reaches its store, as if its process were gone.
class Mortal final : public SystemSurroundings {
public:
  void kill() { *isDead = true; }

  std::unique_ptr<Store> connect(const EtcdClientOptions &options) override {
    return std::make_unique<MortalStore>(system.connect(options), isDead);
  }

private:
  using Dead = std::shared_ptr<std::atomic<bool>>;

  class MortalStore final : public Store {
  public:
    MortalStore(std::unique_ptr<Store> store, Dead isDead)
        : store(std::move(store)), isDead(std::move(isDead)) {}
    void waitForConnection(int64_t milliseconds) override {
      store->waitForConnection(milliseconds);
    }
    StoreResult range(const etcdserverpb::RangeRequest &request,
                      etcdserverpb::RangeResponse *response) override {
      return *isDead ? gone() : store->range(request, response);
    }
    StoreResult put(const etcdserverpb::PutRequest &request,
                    etcdserverpb::PutResponse *response) override {
      return *isDead ? gone() : store->put(request, response);
    }
    StoreResult
    deleteRange(const etcdserverpb::DeleteRangeRequest &request,
                etcdserverpb::DeleteRangeResponse *response) override {
      return *isDead ? gone() : store->deleteRange(request, response);
    }
    StoreResult txn(const etcdserverpb::TxnRequest &request,
                    etcdserverpb::TxnResponse *response) override {
      return *isDead ? gone() : store->txn(request, response);
    }
    StoreResult
    leaseGrant(const etcdserverpb::LeaseGrantRequest &request,
               etcdserverpb::LeaseGrantResponse *response) override {
      return *isDead ? gone() : store->leaseGrant(request, response);
    }
    StoreResult
    leaseRevoke(const etcdserverpb::LeaseRevokeRequest &request,
                etcdserverpb::LeaseRevokeResponse *response) override {
      return *isDead ? gone() : store->leaseRevoke(request, response);
    }
    StoreResult
    leaseKeepAlive(int64_t id,
                   etcdserverpb::LeaseKeepAliveResponse *response) override {
      return *isDead ? gone() : store->leaseKeepAlive(id, response);
    }

  private:
    static StoreResult gone() {
      return {StoreCode::Unavailable, "this process was killed"};
    }
    const std::unique_ptr<Store> store;
    const Dead isDead;
  };

  const Dead isDead = std::make_shared<std::atomic<bool>>(false);
};

} // namespace dist::cluster

#endif // TEST_RUNTIME_CLUSTER_MORTAL_H
