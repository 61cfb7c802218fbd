//===- LoopBuilder.cpp - Loops inside the code of one element -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/LoopBuilder.h"
#include "dialects/Interfaces/HostTensor.h"

using namespace mlir;
using namespace mlir::dist;

static SmallVector<Value> emitLoop(ScalarBuilder &s, ArrayRef<int64_t> sizes,
                                   SmallVectorImpl<Value> &positions,
                                   ValueRange accumulators,
                                   ReductionBody body) {
  if (sizes.empty())
    return body(positions, accumulators);
  // A loop of one round would only hide constants from the caller.
  if (sizes.front() == 1) {
    positions.push_back(s.index(0));
    SmallVector<Value> results =
        emitLoop(s, sizes.drop_front(), positions, accumulators, body);
    positions.pop_back();
    return results;
  }
  OpBuilder &builder = s.getBuilder();
  auto loop =
      scf::ForOp::create(builder, s.getLoc(), s.index(0),
                         s.index(sizes.front()), s.index(1), accumulators);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  positions.push_back(loop.getInductionVar());
  SmallVector<Value> results = emitLoop(s, sizes.drop_front(), positions,
                                        loop.getRegionIterArgs(), body);
  positions.pop_back();
  scf::YieldOp::create(builder, s.getLoc(), results);
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value> mlir::dist::emitReductionLoops(ScalarBuilder &s,
                                                  ArrayRef<int64_t> sizes,
                                                  ValueRange accumulators,
                                                  ReductionBody body) {
  SmallVector<Value> positions;
  return emitLoop(s, sizes, positions, accumulators, body);
}

SmallVector<Value> mlir::dist::emitUnrolledLoops(ScalarBuilder &s,
                                                 ArrayRef<int64_t> sizes,
                                                 ValueRange accumulators,
                                                 ReductionBody body) {
  SmallVector<Value> current(accumulators);
  forEachIndex(sizes, [&](ArrayRef<int64_t> index) {
    SmallVector<Value> positions = llvm::map_to_vector(
        index, [&](int64_t position) { return s.index(position); });
    current = body(positions, current);
  });
  return current;
}

void BoundsGuard::require(Value condition) {
  inside = inside ? s.create<arith::AndIOp>(inside, condition) : condition;
}

Value BoundsGuard::clamp(Value position, int64_t size, bool low, bool high) {
  if (low) {
    Value zero = s.index(0);
    require(s.create<arith::CmpIOp>(arith::CmpIPredicate::sge, position, zero));
    position = s.create<arith::MaxSIOp>(position, zero);
  }
  if (high) {
    Value last = s.index(size - 1);
    require(s.create<arith::CmpIOp>(arith::CmpIPredicate::sle, position, last));
    position = s.create<arith::MinSIOp>(position, last);
  }
  return position;
}
