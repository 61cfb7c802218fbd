//===- changes.h - Who waits for a store hears of changes -------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_MEMBERSHIP_CHANGES_H
#define RUNTIME_CLUSTER_MEMBERSHIP_CHANGES_H

#include "runtime/cluster/etcd/store.h"
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace dist::cluster {

/// Which puts of keys are no news by themselves.
struct Awaited {
  /// Those that begin so, until all of `keys`, which do, have been put; empty:
  /// each put is news.
  std::string folder;
  /// None: those of the folder never are.
  std::set<std::string> keys;
  /// Those that begin so never are; empty: there are none.
  std::string ignored = "";
};

/// A watch of a store's keys, for one thread that reads them again when one of
/// them has changed, instead of asking all the time.
class StoreChanges {
public:
  /// Watches the keys, unless it does, or did in vain. The store must outlive
  /// this object.
  void follow(Store &store, const etcdserverpb::RangeRequest &keys);
  /// Lets `follow` watch anew where a watch has ended.
  void tryAgain();
  /// False: the store tells of nothing, so that it has to be asked.
  bool areTold();
  /// Returns when there is news since the last time that this returned true, or
  /// since `forget`, or may be without being told; false: there was none for so
  /// long. A deletion always is news.
  bool await(std::chrono::milliseconds most, const Awaited &awaited);
  /// What has been told by now will be read.
  void forget();
  /// Why the store does not tell; once, however often it is tried, and not the
  /// first time that it is asked for: where that store has ended, who reads it
  /// in between finds that out.
  std::optional<std::string> takeReason();

private:
  void hear(const etcdserverpb::WatchResponse &response);
  void end(const std::string &why);
  bool isNews(const Awaited &awaited) const;

  std::mutex mutex;
  std::condition_variable wake;
  bool isTried = false;
  bool isLive = false; // the store has said that it tells from now on
  /// What has been put since, and whether there is other news.
  std::set<std::string> puts;
  bool hasOther = false;
  bool isReasonDue = false, isReasonTaken = false;
  std::optional<std::string> reason;
  std::unique_ptr<Store::Watch> watch; // ends first
};

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_MEMBERSHIP_CHANGES_H
