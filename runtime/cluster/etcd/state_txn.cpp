//===- state_txn.cpp - Transactions of the store ----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/etcd/state.h"
#include <algorithm>

using namespace etcdserverpb;
using mvccpb::KeyValue;

namespace dist::cluster {

/// etcd's own limits; what nests deeper than this was not written by a person.
static constexpr int kMostOperations = 128, kDeepest = 16;

static StoreResult invalid(const char *why) {
  return {StoreCode::InvalidArgument, std::string("etcdserver: ") + why};
}

namespace {

/// Keys that an operation may put, and ranges that it may delete.
struct Writes {
  std::set<std::string> puts;
  std::vector<KeyRange> deletes;

  bool conflictsWith(const Writes &other) const {
    bool isFew = puts.size() < other.puts.size();
    const std::set<std::string> &few = isFew ? puts : other.puts,
                                &many = isFew ? other.puts : puts;
    return std::any_of(
               few.begin(), few.end(),
               [&](const std::string &key) { return many.count(key) > 0; }) ||
           deletesAnyOf(other.puts) || other.deletesAnyOf(puts);
  }
  bool deletesAnyOf(const std::set<std::string> &keys) const {
    return std::any_of(deletes.begin(), deletes.end(),
                       [&](const KeyRange &range) {
                         auto first = keys.lower_bound(range.key);
                         return first != keys.end() && range.contains(*first);
                       });
  }
  void add(Writes other) {
    puts.merge(other.puts);
    deletes.insert(deletes.end(), other.deletes.begin(), other.deletes.end());
  }
};

} // namespace

static StoreResult checkTxn(const TxnRequest &request, int depth,
                            Writes *writes);

/// A key is written once in a transaction: it would have one revision and two
/// values. Branches that exclude each other may both write it.
static StoreResult
checkBranch(const google::protobuf::RepeatedPtrField<RequestOp> &operations,
            int depth, Writes *all) {
  for (const RequestOp &operation : operations) {
    Writes own;
    switch (operation.request_case()) {
    case RequestOp::kRequestRange:
      if (operation.request_range().key().empty())
        return invalid("key is not provided");
      break;
    case RequestOp::kRequestPut: {
      const PutRequest &put = operation.request_put();
      if (put.key().empty())
        return invalid("key is not provided");
      if (put.ignore_value() && !put.value().empty())
        return invalid("value is provided");
      if (put.ignore_lease() && put.lease() != 0)
        return invalid("lease is provided");
      own.puts.insert(put.key());
      break;
    }
    case RequestOp::kRequestDeleteRange: {
      const DeleteRangeRequest &gone = operation.request_delete_range();
      if (gone.key().empty())
        return invalid("key is not provided");
      own.deletes.push_back({gone.key(), gone.range_end()});
      break;
    }
    case RequestOp::kRequestTxn:
      if (StoreResult wrong =
              checkTxn(operation.request_txn(), depth + 1, &own);
          !wrong.ok())
        return wrong;
      break;
    case RequestOp::REQUEST_NOT_SET:
      return invalid("key not found");
    }
    if (own.conflictsWith(*all))
      return invalid("duplicate key given in txn request");
    all->add(std::move(own));
  }
  return {};
}

static StoreResult checkTxn(const TxnRequest &request, int depth,
                            Writes *writes) {
  if (request.compare_size() > kMostOperations ||
      request.success_size() > kMostOperations ||
      request.failure_size() > kMostOperations || depth > kDeepest)
    return invalid("too many operations in txn request");
  for (const Compare &compare : request.compare())
    if (compare.key().empty())
      return invalid("key is not provided");
  Writes success, failure;
  if (StoreResult wrong = checkBranch(request.success(), depth, &success);
      !wrong.ok())
    return wrong;
  if (StoreResult wrong = checkBranch(request.failure(), depth, &failure);
      !wrong.ok())
    return wrong;
  writes->add(std::move(success));
  writes->add(std::move(failure));
  return {};
}

template <typename Value>
static bool compareValues(Compare::CompareResult relation, const Value &found,
                          const Value &given) {
  switch (relation) {
  case Compare::EQUAL:
    return found == given;
  case Compare::GREATER:
    return found > given;
  case Compare::LESS:
    return found < given;
  case Compare::NOT_EQUAL:
    return found != given;
  default:
    return false;
  }
}

static bool holdsOf(const Compare &compare, const KeyValue &pair) {
  switch (compare.target()) {
  case Compare::VERSION:
    return compareValues(compare.result(), pair.version(), compare.version());
  case Compare::CREATE:
    return compareValues(compare.result(), pair.create_revision(),
                         compare.create_revision());
  case Compare::MOD:
    return compareValues(compare.result(), pair.mod_revision(),
                         compare.mod_revision());
  case Compare::VALUE:
    return compareValues(compare.result(), pair.value(), compare.value());
  case Compare::LEASE:
    return compareValues(compare.result(), pair.lease(), compare.lease());
  default:
    return false;
  }
}

bool EtcdState::holds(const Compare &compare, const Draft &draft) const {
  std::vector<KeyValue> pairs =
      pairsOf({compare.key(), compare.range_end()}, currentRevision, &draft);
  // A key that is not there has no value, and otherwise zeros.
  if (pairs.empty())
    return compare.target() != Compare::VALUE && holdsOf(compare, KeyValue());
  return std::all_of(pairs.begin(), pairs.end(), [&](const KeyValue &pair) {
    return holdsOf(compare, pair);
  });
}

StoreResult EtcdState::txn(const TxnRequest &request, TxnResponse *response) {
  if (request.ByteSizeLong() > kLargestRequest)
    return invalid("request is too large");
  Writes writes;
  if (StoreResult wrong = checkTxn(request, 0, &writes); !wrong.ok())
    return wrong;
  Draft draft;
  if (StoreResult wrong = txn(request, &draft, response); !wrong.ok())
    return wrong;
  StoreResult result = finish(draft, 0);
  fillHeader(response->mutable_header());
  return result;
}

/// The path is chosen before anything of it is done, as nested comparisons are.
StoreResult EtcdState::txn(const TxnRequest &request, Draft *draft,
                           TxnResponse *response) const {
  bool succeeds =
      std::all_of(request.compare().begin(), request.compare().end(),
                  [&](const Compare &one) { return holds(one, *draft); });
  response->set_succeeded(succeeds);
  for (const RequestOp &operation :
       succeeds ? request.success() : request.failure()) {
    ResponseOp *answer = response->add_responses();
    StoreResult result;
    switch (operation.request_case()) {
    case RequestOp::kRequestRange:
      result = range(operation.request_range(), draft,
                     answer->mutable_response_range());
      break;
    case RequestOp::kRequestPut:
      result =
          put(operation.request_put(), draft, answer->mutable_response_put());
      break;
    case RequestOp::kRequestDeleteRange:
      deleteRange(operation.request_delete_range(), draft,
                  answer->mutable_response_delete_range());
      break;
    case RequestOp::kRequestTxn:
      result =
          txn(operation.request_txn(), draft, answer->mutable_response_txn());
      break;
    case RequestOp::REQUEST_NOT_SET:
      break; // refused before
    }
    if (!result.ok())
      return result;
  }
  return {};
}

} // namespace dist::cluster
