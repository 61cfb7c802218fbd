//===- apart.h - A communicator of ranks that share nothing -----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_APART_H
#define TEST_RUNTIME_APART_H

#include "runtime/core/communicator.h"

namespace dist {

/// The first of two ranks, which move nothing.
class Apart : public Communicator {
public:
  int rank() const override { return 0; }
  int ranks() const override { return 2; }
  int groupSize(uint32_t) const override { return 2; }
  int groupRank(uint32_t) const override { return 0; }
  Status prepare(const Collective &call,
                 std::unique_ptr<CollectivePlan> *out) override {
    *out = std::make_unique<CollectivePlan>(call, 0);
    return Status();
  }
  Status run(CollectivePlan &, void *const *, void *const *) override {
    return Status();
  }
  uint32_t generation() const override { return 0; }
  void abort(uint32_t, const std::string &) override {}
};

} // namespace dist

#endif // TEST_RUNTIME_APART_H
