//===- state.h - The state of a key-value store -----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What etcd's v3 API says of keys, revisions, transactions and leases, as a
// state machine: no threads, no sockets, no clock. Who drives it hands in the
// time, in milliseconds of any steady clock, so that a simulation can be that.
//
// Each change is first made as a record, then handed to `Commit`, and takes
// effect only when that has kept it; a restart applies the records that were
// kept. Nothing changes the state but a record, so both come to the same.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_ETCD_STATE_H
#define RUNTIME_CLUSTER_ETCD_STATE_H

#include "runtime/cluster/etcd/journal.pb.h"
#include "runtime/cluster/etcd/result.h"
#include "runtime/cluster/etcd/rpc.pb.h"
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace dist::cluster {

/// Keys from `key` on and below `end`; see RangeRequest.
struct KeyRange {
  std::string key, end;

  bool isSingle() const { return end.empty(); }
  bool isOpen() const { return end.size() == 1 && end[0] == 0; }
  bool contains(const std::string &one) const;
};

/// A larger request is refused, as etcd does.
constexpr size_t kLargestRequest = 1536 * 1024;

class EtcdState {
public:
  /// Keeps a record; an error leaves the state as it was.
  using Commit = std::function<StoreResult(const JournalRecord &)>;

  explicit EtcdState(Commit commit) : commit(std::move(commit)) {}

  /// Applies a record of before, in the order of its keeping. Leases begin anew
  /// at `now`: their holders could not reach the server meanwhile.
  StoreResult restore(const JournalRecord &record, int64_t now);
  /// Says that the state is served anew; later records belong to this epoch.
  /// `firstLease`: leases are numbered from somewhere behind it, by which those
  /// of a store that has been emptied are none of those that it gave before.
  StoreResult beginEpoch(uint32_t firstLease = 0);

  StoreResult range(const etcdserverpb::RangeRequest &request,
                    etcdserverpb::RangeResponse *response) const;
  StoreResult put(const etcdserverpb::PutRequest &request,
                  etcdserverpb::PutResponse *response);
  StoreResult deleteRange(const etcdserverpb::DeleteRangeRequest &request,
                          etcdserverpb::DeleteRangeResponse *response);
  StoreResult txn(const etcdserverpb::TxnRequest &request,
                  etcdserverpb::TxnResponse *response);

  StoreResult leaseGrant(const etcdserverpb::LeaseGrantRequest &request,
                         int64_t now,
                         etcdserverpb::LeaseGrantResponse *response);
  StoreResult leaseRevoke(const etcdserverpb::LeaseRevokeRequest &request,
                          etcdserverpb::LeaseRevokeResponse *response);
  /// A lease that is no more has TTL 0 in the response.
  void leaseKeepAlive(const etcdserverpb::LeaseKeepAliveRequest &request,
                      int64_t now,
                      etcdserverpb::LeaseKeepAliveResponse *response);
  /// Ends the leases whose time is over.
  StoreResult expire(int64_t now);
  /// When the next lease ends, unless it is kept alive.
  std::optional<int64_t> nextExpiry() const;

  int64_t revision() const { return currentRevision; }
  int64_t epoch() const { return currentEpoch; }

  /// Events of revisions from `first` on, in order: for watchers. Each has the
  /// pair of before if `withPrevious`. Of more than `mostBytes` only the first
  /// ones, up to the end of a revision; `behind` is the revision after the last
  /// that was looked at.
  std::vector<mvccpb::Event> eventsFrom(int64_t first, const KeyRange &range,
                                        bool withPrevious, size_t mostBytes,
                                        int64_t *behind) const;
  void fillHeader(etcdserverpb::ResponseHeader *header) const;

private:
  struct LeaseEntry {
    int64_t ttl = 0; // seconds
    int64_t deadline = 0;
    std::set<std::string> keys;
  };
  /// What a transaction has written so far; none: deleted.
  using Overlay = std::map<std::string, std::optional<mvccpb::KeyValue>>;
  struct Draft {
    JournalRecord record;
    Overlay overlay;
  };

  /// The pair as it was at a revision; none: there was none.
  const mvccpb::KeyValue *findAt(const std::string &key,
                                 int64_t revision) const;
  /// Pairs of a range at a revision, over which `draft` is laid if not null.
  std::vector<mvccpb::KeyValue> pairsOf(const KeyRange &range, int64_t revision,
                                        const Draft *draft) const;
  StoreResult range(const etcdserverpb::RangeRequest &request,
                    const Draft *draft,
                    etcdserverpb::RangeResponse *response) const;
  StoreResult put(const etcdserverpb::PutRequest &request, Draft *draft,
                  etcdserverpb::PutResponse *response) const;
  void deleteRange(const etcdserverpb::DeleteRangeRequest &request,
                   Draft *draft,
                   etcdserverpb::DeleteRangeResponse *response) const;
  StoreResult txn(const etcdserverpb::TxnRequest &request, Draft *draft,
                  etcdserverpb::TxnResponse *response) const;
  bool holds(const etcdserverpb::Compare &compare, const Draft &draft) const;
  void addDelete(const mvccpb::KeyValue &pair, Draft *draft) const;
  StoreResult finish(const Draft &draft, int64_t now);
  StoreResult endLease(int64_t id);
  void apply(const JournalRecord &record, int64_t now);

  Commit commit;
  int64_t currentRevision = 1, currentEpoch = 0;
  int64_t lastLease = 0; // that the server has chosen
  /// All that ever happened, and for each key where: the history is the state.
  std::vector<mvccpb::Event> events;
  std::map<std::string, std::vector<size_t>> history;
  std::map<int64_t, LeaseEntry> leases;
  std::map<std::string, int64_t> leaseOfKey;
};

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_ETCD_STATE_H
