//===- changes.cpp - Who waits for a store hears of changes ---------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/membership/changes.h"
#include <algorithm>

using namespace etcdserverpb;

namespace dist::cluster {

/// Of one that nobody waits for meanwhile.
static constexpr size_t kMostPuts = 4096;

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

bool StoreChanges::isNews(const Awaited &awaited) const {
  if (hasOther || !isLive)
    return true;
  auto isIn = [](const std::string &key, const std::string &folder) {
    return !folder.empty() && key.compare(0, folder.size(), folder) == 0;
  };
  auto isElsewhere = [&](const std::string &key) {
    return !isIn(key, awaited.folder) && !isIn(key, awaited.ignored);
  };
  return std::any_of(puts.begin(), puts.end(), isElsewhere) ||
         (!awaited.keys.empty() &&
          std::includes(puts.begin(), puts.end(), awaited.keys.begin(),
                        awaited.keys.end()));
}

bool StoreChanges::await(std::chrono::milliseconds most,
                         const Awaited &awaited) {
  std::unique_lock<std::mutex> lock(mutex);
  const bool isDue = wake.wait_for(lock, most, [&] { return isNews(awaited); });
  if (isDue) {
    puts.clear();
    hasOther = false;
  }
  return isDue;
}

void StoreChanges::forget() {
  std::lock_guard<std::mutex> guard(mutex);
  puts.clear();
  hasOther = false;
}

std::optional<std::string> StoreChanges::takeReason() {
  std::lock_guard<std::mutex> guard(mutex);
  if (!reason || isReasonTaken || !std::exchange(isReasonDue, true))
    return std::nullopt;
  isReasonTaken = true;
  return reason;
}

void StoreChanges::hear(const WatchResponse &response) {
  std::lock_guard<std::mutex> guard(mutex);
  // What came before the watch did is told by nobody: it is a change, too.
  isLive |= response.created();
  if (isLive) {
    reason.reset();
    isReasonDue = false;
  }
  hasOther |= response.created();
  for (const mvccpb::Event &event : response.events())
    if (event.type() == mvccpb::Event::PUT && puts.size() < kMostPuts)
      puts.insert(event.kv().key());
    else
      hasOther = true;
  if (response.created() || response.events_size() > 0)
    wake.notify_all();
}

void StoreChanges::end(const std::string &why) {
  std::lock_guard<std::mutex> guard(mutex);
  isLive = false;
  reason = why;
  wake.notify_all();
}

} // namespace dist::cluster
