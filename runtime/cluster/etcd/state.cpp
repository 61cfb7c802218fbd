//===- state.cpp - The state of a key-value store ---------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/etcd/state.h"
#include <algorithm>

using namespace etcdserverpb;
using mvccpb::Event;
using mvccpb::KeyValue;

namespace dist::cluster {

/// etcd's own limit.
static constexpr int64_t kLongestTtl = 9000000000;
/// No process of ours has these; etcd gives random numbers.
static constexpr uint64_t kClusterId = 0x6469737400000001, kMemberId = 1;

bool KeyRange::contains(const std::string &one) const {
  if (isSingle())
    return one == key;
  return one >= key && (isOpen() || one < end);
}

static StoreResult refuse(StoreCode code, const char *why) {
  return {code, std::string("etcdserver: ") + why};
}

static KeyRange rangeOf(const std::string &key, const std::string &end) {
  return {key, end};
}

void EtcdState::fillHeader(ResponseHeader *header) const {
  header->set_cluster_id(kClusterId);
  header->set_member_id(kMemberId);
  header->set_revision(currentRevision);
  header->set_raft_term(uint64_t(currentEpoch));
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

const KeyValue *EtcdState::findAt(const std::string &key,
                                  int64_t revision) const {
  auto known = history.find(key);
  if (known == history.end())
    return nullptr;
  // The last event of at most that revision.
  const std::vector<size_t> &places = known->second;
  auto behind =
      std::upper_bound(places.begin(), places.end(), revision,
                       [&](int64_t wanted, size_t place) {
                         return wanted < events[place].kv().mod_revision();
                       });
  if (behind == places.begin())
    return nullptr;
  const Event &last = events[*std::prev(behind)];
  return last.type() == Event::PUT ? &last.kv() : nullptr;
}

std::vector<KeyValue> EtcdState::pairsOf(const KeyRange &range,
                                         int64_t revision,
                                         const Draft *draft) const {
  std::map<std::string, KeyValue> found;
  auto first = history.lower_bound(range.key);
  for (; first != history.end() && range.contains(first->first); ++first)
    if (const KeyValue *pair = findAt(first->first, revision))
      found[first->first] = *pair;
  if (draft)
    for (auto &[key, pair] : draft->overlay)
      if (range.contains(key)) {
        if (pair)
          found[key] = *pair;
        else
          found.erase(key);
      }
  std::vector<KeyValue> pairs;
  for (auto &[key, pair] : found)
    pairs.push_back(std::move(pair));
  return pairs;
}

static void sortPairs(const RangeRequest &request,
                      std::vector<KeyValue> &pairs) {
  auto isLess = [&](const KeyValue &a, const KeyValue &b) {
    switch (request.sort_target()) {
    case RangeRequest::VERSION:
      return a.version() < b.version();
    case RangeRequest::CREATE:
      return a.create_revision() < b.create_revision();
    case RangeRequest::MOD:
      return a.mod_revision() < b.mod_revision();
    case RangeRequest::VALUE:
      return a.value() < b.value();
    default:
      return a.key() < b.key();
    }
  };
  bool isDown = request.sort_order() == RangeRequest::DESCEND;
  std::sort(pairs.begin(), pairs.end(),
            [&](const KeyValue &a, const KeyValue &b) {
              if (isLess(a, b) || isLess(b, a))
                return isDown ? isLess(b, a) : isLess(a, b);
              return a.key() < b.key();
            });
}

static bool isFilteredOut(const RangeRequest &request, const KeyValue &pair) {
  auto isOutside = [](int64_t revision, int64_t least, int64_t most) {
    return (least > 0 && revision < least) || (most > 0 && revision > most);
  };
  return isOutside(pair.mod_revision(), request.min_mod_revision(),
                   request.max_mod_revision()) ||
         isOutside(pair.create_revision(), request.min_create_revision(),
                   request.max_create_revision());
}

static StoreResult checkRange(const RangeRequest &request) {
  if (request.key().empty())
    return refuse(StoreCode::InvalidArgument, "key is not provided");
  if (!RangeRequest::SortOrder_IsValid(request.sort_order()) ||
      !RangeRequest::SortTarget_IsValid(request.sort_target()))
    return refuse(StoreCode::InvalidArgument, "invalid sort option");
  return {};
}

StoreResult EtcdState::range(const RangeRequest &request,
                             RangeResponse *response) const {
  if (StoreResult wrong = checkRange(request); !wrong.ok())
    return wrong;
  StoreResult result = range(request, nullptr, response);
  fillHeader(response->mutable_header());
  return result;
}

StoreResult EtcdState::range(const RangeRequest &request, const Draft *draft,
                             RangeResponse *response) const {
  if (request.revision() > currentRevision)
    return refuse(StoreCode::OutOfRange,
                  "mvcc: required revision is a future revision");
  // What a transaction has written is of no past revision.
  bool isPast = request.revision() > 0;
  std::vector<KeyValue> pairs = pairsOf(
      rangeOf(request.key(), request.range_end()),
      isPast ? request.revision() : currentRevision, isPast ? nullptr : draft);
  response->set_count(int64_t(pairs.size()));
  if (request.count_only())
    return {};
  pairs.erase(std::remove_if(pairs.begin(), pairs.end(),
                             [&](const KeyValue &pair) {
                               return isFilteredOut(request, pair);
                             }),
              pairs.end());
  sortPairs(request, pairs);
  if (request.limit() > 0 && int64_t(pairs.size()) > request.limit()) {
    pairs.resize(size_t(request.limit()));
    response->set_more(true);
  }
  for (KeyValue &pair : pairs) {
    if (request.keys_only())
      pair.clear_value();
    *response->add_kvs() = std::move(pair);
  }
  return {};
}

std::vector<Event> EtcdState::eventsFrom(int64_t first, const KeyRange &range,
                                         bool withPrevious, size_t mostBytes,
                                         int64_t *behind) const {
  auto begin = std::lower_bound(events.begin(), events.end(), first,
                                [](const Event &event, int64_t wanted) {
                                  return event.kv().mod_revision() < wanted;
                                });
  std::vector<Event> found;
  size_t bytes = 0;
  *behind = std::max(first, currentRevision + 1);
  for (; begin != events.end(); ++begin) {
    int64_t revision = begin->kv().mod_revision();
    if (bytes > mostBytes && found.back().kv().mod_revision() != revision) {
      *behind = revision;
      break;
    }
    if (!range.contains(begin->kv().key()))
      continue;
    found.push_back(*begin);
    bytes += begin->ByteSizeLong();
    if (withPrevious)
      if (const KeyValue *before = findAt(begin->kv().key(), revision - 1))
        *found.back().mutable_prev_kv() = *before;
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static StoreResult checkPut(const PutRequest &request) {
  if (request.key().empty())
    return refuse(StoreCode::InvalidArgument, "key is not provided");
  if (request.ignore_value() && !request.value().empty())
    return refuse(StoreCode::InvalidArgument, "value is provided");
  if (request.ignore_lease() && request.lease() != 0)
    return refuse(StoreCode::InvalidArgument, "lease is provided");
  return {};
}

static StoreResult checkDelete(const DeleteRangeRequest &request) {
  if (request.key().empty())
    return refuse(StoreCode::InvalidArgument, "key is not provided");
  return {};
}

StoreResult EtcdState::put(const PutRequest &request, PutResponse *response) {
  if (StoreResult wrong = checkPut(request); !wrong.ok())
    return wrong;
  if (request.ByteSizeLong() > kLargestRequest)
    return refuse(StoreCode::InvalidArgument, "request is too large");
  Draft draft;
  if (StoreResult wrong = put(request, &draft, response); !wrong.ok())
    return wrong;
  StoreResult result = finish(draft, 0);
  fillHeader(response->mutable_header());
  return result;
}

StoreResult EtcdState::put(const PutRequest &request, Draft *draft,
                           PutResponse *response) const {
  std::vector<KeyValue> before =
      pairsOf(rangeOf(request.key(), ""), currentRevision, draft);
  if (before.empty() && (request.ignore_value() || request.ignore_lease()))
    return refuse(StoreCode::InvalidArgument, "key not found");
  if (request.lease() != 0 && !leases.count(request.lease()))
    return refuse(StoreCode::NotFound, "requested lease not found");
  KeyValue pair;
  pair.set_key(request.key());
  pair.set_value(request.ignore_value() ? before[0].value() : request.value());
  pair.set_lease(request.ignore_lease() ? before[0].lease() : request.lease());
  pair.set_mod_revision(currentRevision + 1);
  pair.set_create_revision(before.empty() ? currentRevision + 1
                                          : before[0].create_revision());
  pair.set_version(before.empty() ? 1 : before[0].version() + 1);
  if (request.prev_kv() && !before.empty())
    *response->mutable_prev_kv() = before[0];
  Event *event = draft->record.add_events();
  event->set_type(Event::PUT);
  *event->mutable_kv() = pair;
  draft->overlay[request.key()] = std::move(pair);
  return {};
}

void EtcdState::addDelete(const KeyValue &pair, Draft *draft) const {
  Event *event = draft->record.add_events();
  event->set_type(Event::DELETE);
  event->mutable_kv()->set_key(pair.key());
  event->mutable_kv()->set_mod_revision(currentRevision + 1);
  draft->overlay[pair.key()] = std::nullopt;
}

StoreResult EtcdState::deleteRange(const DeleteRangeRequest &request,
                                   DeleteRangeResponse *response) {
  if (StoreResult wrong = checkDelete(request); !wrong.ok())
    return wrong;
  Draft draft;
  deleteRange(request, &draft, response);
  StoreResult result = finish(draft, 0);
  fillHeader(response->mutable_header());
  return result;
}

void EtcdState::deleteRange(const DeleteRangeRequest &request, Draft *draft,
                            DeleteRangeResponse *response) const {
  std::vector<KeyValue> pairs = pairsOf(
      rangeOf(request.key(), request.range_end()), currentRevision, draft);
  response->set_deleted(int64_t(pairs.size()));
  for (const KeyValue &pair : pairs) {
    addDelete(pair, draft);
    if (request.prev_kv())
      *response->add_prev_kvs() = pair;
  }
}

StoreResult EtcdState::finish(const Draft &draft, int64_t now) {
  const JournalRecord &record = draft.record;
  // What changes nothing has no revision of its own.
  if (record.events().empty() && record.granted_lease() == 0 &&
      record.ended_lease() == 0 && record.epoch() == 0)
    return {};
  if (StoreResult kept = commit(record); !kept.ok())
    return kept;
  apply(record, now);
  return {};
}

void EtcdState::apply(const JournalRecord &record, int64_t now) {
  for (const Event &event : record.events()) {
    const std::string &key = event.kv().key();
    if (auto held = leaseOfKey.find(key); held != leaseOfKey.end()) {
      if (auto lease = leases.find(held->second); lease != leases.end())
        lease->second.keys.erase(key);
      leaseOfKey.erase(held);
    }
    if (event.type() == Event::PUT && event.kv().lease() != 0) {
      leases[event.kv().lease()].keys.insert(key);
      leaseOfKey[key] = event.kv().lease();
    }
    currentRevision = event.kv().mod_revision();
    history[key].push_back(events.size());
    events.push_back(event);
  }
  if (int64_t id = record.granted_lease(); id != 0)
    leases[id] = {record.granted_ttl(), now + record.granted_ttl() * 1000, {}};
  if (record.ended_lease() != 0)
    leases.erase(record.ended_lease());
  if (record.epoch() != 0)
    currentEpoch = record.epoch();
}

StoreResult EtcdState::restore(const JournalRecord &record, int64_t now) {
  // A record that does not go on from here is of another store.
  for (const Event &event : record.events())
    if (event.kv().mod_revision() != currentRevision + 1 ||
        event.kv().key().empty() ||
        (event.kv().lease() != 0 && !leases.count(event.kv().lease())))
      return {StoreCode::Internal,
              "a record of revision " +
                  std::to_string(event.kv().mod_revision()) + " follows " +
                  std::to_string(currentRevision)};
  if (record.epoch() != 0 && record.epoch() != currentEpoch + 1)
    return {StoreCode::Internal, "epoch " + std::to_string(record.epoch()) +
                                     " follows " +
                                     std::to_string(currentEpoch)};
  apply(record, now);
  return {};
}

StoreResult EtcdState::beginEpoch(uint32_t firstLease) {
  Draft draft;
  draft.record.set_epoch(currentEpoch + 1);
  StoreResult result = finish(draft, 0);
  // Numbers of leases of before are not given again. Half of an epoch's are
  // left for those that are granted.
  lastLease = (currentEpoch << 32) + (firstLease >> 1);
  return result;
}

//===----------------------------------------------------------------------===//
// Leases
//===----------------------------------------------------------------------===//

StoreResult EtcdState::leaseGrant(const LeaseGrantRequest &request, int64_t now,
                                  LeaseGrantResponse *response) {
  if (request.ttl() > kLongestTtl)
    return refuse(StoreCode::OutOfRange, "too large lease TTL");
  if (request.id() != 0 && leases.count(request.id()))
    return refuse(StoreCode::FailedPrecondition, "lease already exists");
  int64_t id = request.id(), chosen = lastLease;
  while (id == 0 || (request.id() == 0 && leases.count(id)))
    id = ++chosen;
  int64_t ttl = std::max<int64_t>(request.ttl(), 1);
  Draft draft;
  draft.record.set_granted_lease(id);
  draft.record.set_granted_ttl(ttl);
  StoreResult result = finish(draft, now);
  if (!result.ok())
    return result;
  lastLease = chosen;
  response->set_id(id);
  response->set_ttl(ttl);
  fillHeader(response->mutable_header());
  return {};
}

StoreResult EtcdState::endLease(int64_t id) {
  Draft draft;
  draft.record.set_ended_lease(id);
  for (const std::string &key : leases.at(id).keys)
    if (const KeyValue *pair = findAt(key, currentRevision))
      addDelete(*pair, &draft);
  return finish(draft, 0);
}

StoreResult EtcdState::leaseRevoke(const LeaseRevokeRequest &request,
                                   LeaseRevokeResponse *response) {
  if (!leases.count(request.id()))
    return refuse(StoreCode::NotFound, "requested lease not found");
  StoreResult result = endLease(request.id());
  fillHeader(response->mutable_header());
  return result;
}

void EtcdState::leaseKeepAlive(const LeaseKeepAliveRequest &request,
                               int64_t now, LeaseKeepAliveResponse *response) {
  response->set_id(request.id());
  // A lease whose time is over has ended, even if that was not announced yet.
  if (auto known = leases.find(request.id());
      known != leases.end() && known->second.deadline > now) {
    known->second.deadline = now + known->second.ttl * 1000;
    response->set_ttl(known->second.ttl);
  }
  fillHeader(response->mutable_header());
}

std::optional<int64_t> EtcdState::nextExpiry() const {
  std::optional<int64_t> next;
  for (auto &[id, lease] : leases)
    if (!next || lease.deadline < *next)
      next = lease.deadline;
  return next;
}

StoreResult EtcdState::expire(int64_t now) {
  std::vector<std::pair<int64_t, int64_t>> over; // deadline, lease
  for (auto &[id, lease] : leases)
    if (lease.deadline <= now)
      over.emplace_back(lease.deadline, id);
  std::sort(over.begin(), over.end());
  for (auto [deadline, id] : over)
    if (StoreResult result = endLease(id); !result.ok())
      return result;
  return {};
}

} // namespace dist::cluster
