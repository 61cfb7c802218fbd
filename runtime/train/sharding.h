//===- sharding.h - What the workers of a training give ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_TRAIN_SHARDING_H
#define RUNTIME_TRAIN_SHARDING_H

#include "runtime/core/session.h"
#include "runtime/data/batches.h"

namespace dist {

/// Where each process goes through examples of its own: they tell each other,
/// once, how many they have and which rows of a batch are theirs, by which
/// `plan` says of every step what each of them gives. All call it alike, and
/// fail alike. `note`: how many steps come of that; empty under `data`.
Status agreeOnShards(Session &session, int64_t examples, ShardPolicy policy,
                     BatchPlan *plan, std::string *note);

} // namespace dist

#endif // RUNTIME_TRAIN_SHARDING_H
