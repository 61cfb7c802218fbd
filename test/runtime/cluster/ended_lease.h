//===- ended_lease.h - A member's lease that has ended ----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_CLUSTER_ENDED_LEASE_H
#define TEST_RUNTIME_CLUSTER_ENDED_LEASE_H

#include "runtime/cluster/etcd/client.h"
#include "test/runtime/cluster/cluster_fixture.h"

namespace dist::cluster {

/// As that of the member of this number ends when its process is stopped for
/// long enough, in the store of the chief at this address.
inline void endLease(const Address &chief, int number, int epoch) {
  EtcdClientOptions reached;
  reached.addresses = {chief.text()};
  EtcdClient client(reached);
  etcdserverpb::RangeRequest asked;
  asked.set_key("/dist/" + std::to_string(epoch) + "/present/" +
                std::to_string(number));
  etcdserverpb::RangeResponse found;
  ASSERT_TRUE(client.range(asked, &found).ok());
  ASSERT_EQ(found.kvs_size(), 1);
  etcdserverpb::LeaseRevokeRequest ended;
  ended.set_id(found.kvs(0).lease());
  etcdserverpb::LeaseRevokeResponse response;
  ASSERT_TRUE(client.leaseRevoke(ended, &response).ok());
}

} // namespace dist::cluster

#endif // TEST_RUNTIME_CLUSTER_ENDED_LEASE_H
