//===- changes.cpp - Who waits for a store hears of changes ---------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/membership/changes.h"

using namespace etcdserverpb;

namespace dist::cluster {

void StoreChanges::follow(Store &store, const RangeRequest &keys) {
  if (isTried)
    return;
  isTried = true;
  watch.reset(); // one that has ended
  WatchCreateRequest request;
  request.set_key(keys.key());
  request.set_range_end(keys.range_end());
  watch = store.watch(
      request, [this](const WatchResponse &response) { hear(response); },
      [this](const StoreResult &result) { end(result.message); });
  if (!watch)
    end("it has no watches");
}

void StoreChanges::tryAgain() {
  std::lock_guard<std::mutex> guard(mutex);
  isTried &= !reason;
}

bool StoreChanges::areTold() {
  std::lock_guard<std::mutex> guard(mutex);
  return isLive;
}

bool StoreChanges::await(std::chrono::milliseconds most) {
  std::unique_lock<std::mutex> lock(mutex);
  wake.wait_for(lock, most, [this] { return hasChanged || !isLive; });
  const bool isDue = hasChanged || !isLive;
  hasChanged = false;
  return isDue;
}

std::optional<std::string> StoreChanges::takeReason() {
  std::lock_guard<std::mutex> guard(mutex);
  if (!reason || isReasonTaken)
    return std::nullopt;
  isReasonTaken = true;
  return reason;
}

void StoreChanges::hear(const WatchResponse &response) {
  std::lock_guard<std::mutex> guard(mutex);
  // What came before the watch did is told by nobody: it is a change, too.
  isLive |= response.created();
  if (isLive)
    reason.reset();
  hasChanged |= response.created() || response.events_size() > 0;
  if (hasChanged)
    wake.notify_all();
}

void StoreChanges::end(const std::string &why) {
  std::lock_guard<std::mutex> guard(mutex);
  isLive = false;
  reason = why;
  wake.notify_all();
}

} // namespace dist::cluster
