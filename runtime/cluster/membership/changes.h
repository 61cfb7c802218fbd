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
#include <string>

namespace dist::cluster {

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
  /// Returns when something has changed since the last time that this returned
  /// true, or may have without being told; false: nothing has for so long.
  bool await(std::chrono::milliseconds most);
  /// Why the store does not tell; once, however often it is tried.
  std::optional<std::string> takeReason();

private:
  void hear(const etcdserverpb::WatchResponse &response);
  void end(const std::string &why);

  std::mutex mutex;
  std::condition_variable wake;
  bool isTried = false;
  bool isLive = false; // the store has said that it tells from now on
  bool hasChanged = false;
  bool isReasonTaken = false;
  std::optional<std::string> reason;
  std::unique_ptr<Store::Watch> watch; // ends first
};

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_MEMBERSHIP_CHANGES_H
