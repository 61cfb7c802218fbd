//===- store_fuzzer.cpp - libFuzzer target of the store ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/etcd/state.h"
#include <cstdlib>
#include <vector>

using namespace dist::cluster;
using namespace etcdserverpb;

namespace {

/// All pairs and all that has happened, as text.
std::string textOf(const EtcdState &state) {
  const std::string zero(1, 0);
  RangeRequest request;
  request.set_key(zero);
  request.set_range_end(zero);
  RangeResponse response;
  if (!state.range(request, &response).ok())
    abort();
  int64_t behind = 0;
  std::string text = response.SerializeAsString();
  for (const mvccpb::Event &event :
       state.eventsFrom(0, {zero, zero}, true, SIZE_MAX, &behind))
    text += event.SerializeAsString();
  return text;
}

/// Hands the message to the call, if it is one.
template <typename Request, typename Response, typename Call>
void hand(const std::string &bytes, Call call) {
  Request request;
  Response response;
  if (request.ParseFromString(bytes))
    call(request, &response);
}

} // namespace

/// The bytes are requests: a kind, a length, a message, again and again.
/// Whatever they do, revisions go up one by one and records restore the state.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<JournalRecord> records;
  EtcdState state([&](const JournalRecord &record) {
    records.push_back(record);
    return StoreResult();
  });
  int64_t now = 0;
  for (size_t at = 0; at + 2 <= size;) {
    int kind = data[at] % 7;
    size_t length = std::min<size_t>(data[at + 1], size - at - 2);
    std::string bytes(reinterpret_cast<const char *>(data) + at + 2, length);
    at += 2 + length;
    int64_t before = state.revision();
    switch (kind) {
    case 0:
      hand<RangeRequest, RangeResponse>(bytes, [&](auto &request, auto *out) {
        (void)state.range(request, out);
      });
      break;
    case 1:
      hand<PutRequest, PutResponse>(bytes, [&](auto &request, auto *out) {
        (void)state.put(request, out);
      });
      break;
    case 2:
      hand<DeleteRangeRequest, DeleteRangeResponse>(
          bytes, [&](auto &request, auto *out) {
            (void)state.deleteRange(request, out);
          });
      break;
    case 3:
      hand<TxnRequest, TxnResponse>(bytes, [&](auto &request, auto *out) {
        (void)state.txn(request, out);
      });
      break;
    case 4:
      hand<LeaseGrantRequest, LeaseGrantResponse>(
          bytes, [&](auto &request, auto *out) {
            (void)state.leaseGrant(request, now, out);
          });
      break;
    case 5:
      hand<LeaseKeepAliveRequest, LeaseKeepAliveResponse>(
          bytes, [&](auto &request, auto *out) {
            state.leaseKeepAlive(request, now, out);
          });
      break;
    default:
      now += int64_t(length) * 100;
      (void)state.expire(now);
      before = state.revision() - 1; // one for each lease that had keys
    }
    if (state.revision() < before || state.revision() > before + 1)
      abort();
  }
  EtcdState again([](const JournalRecord &) { return StoreResult(); });
  for (const JournalRecord &record : records)
    if (!again.restore(record, 0).ok())
      abort();
  if (textOf(again) != textOf(state))
    abort();
  return 0;
}
