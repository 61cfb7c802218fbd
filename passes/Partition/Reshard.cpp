//===- Reshard.cpp - Collectives that change a layout -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Partition/Reshard.h"
#include "dialects/Graph/IR/Graph.h"
#include "passes/Partition/ReshardPlan.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Turns the steps of a plan into ops.
class Emitter {
public:
  Emitter(OpBuilder &builder, Location loc, Value value,
          RankedTensorType global, MeshOp mesh, StringRef reason,
          StringRef origin)
      : builder(builder), loc(loc), value(value), global(global), mesh(mesh),
        meshName(FlatSymbolRefAttr::get(mesh.getSymNameAttr())), reason(reason),
        origin(origin) {}

  void emit(const ReshardStep &step);
  Value getValue() const { return value; }

private:
  template <typename OpTy, typename... Args>
  void apply(const ReshardStep &step, Args... args) {
    SmallVector<Attribute> names(step.axes.begin(), step.axes.end());
    auto op = OpTy::create(builder, loc, TypeRange{getType(step)},
                           ValueRange{value}, args..., mesh.getSymName(),
                           builder.getArrayAttr(names), reason, origin);
    value = op.getResult(0);
    setSharding(value, getSharding(step));
  }
  void divide(const ReshardStep &step);
  ShardingAttr getSharding(const ReshardStep &step) const {
    return ShardingAttr::get(meshName, step.after.dims, step.after.unreduced);
  }
  Type getType(const ReshardStep &step) const {
    return *getLocalType(global, getSharding(step), mesh);
  }

  OpBuilder &builder;
  Location loc;
  Value value;
  RankedTensorType global;
  MeshOp mesh;
  FlatSymbolRefAttr meshName;
  StringRef reason, origin;
};
} // namespace

void Emitter::emit(const ReshardStep &step) {
  SmallVector<int64_t> dims = {int64_t(step.dim)};
  switch (step.kind) {
  case ReshardStep::Kind::Slice:
    return apply<AllSliceOp>(step, dims);
  case ReshardStep::Kind::Permute:
    return apply<PermuteOp>(step, step.sources);
  case ReshardStep::Kind::AllToAll:
    return apply<AllToAllOp>(step, dims,
                             SmallVector<int64_t>{int64_t(step.concatDim)});
  case ReshardStep::Kind::AllGather:
    return apply<AllGatherOp>(step, dims);
  case ReshardStep::Kind::ReduceScatter:
    return apply<ReduceScatterOp>(step, dims, Reduction::Sum);
  case ReshardStep::Kind::AllReduce:
    return apply<AllReduceOp>(step, Reduction::Sum);
  case ReshardStep::Kind::Divide:
    return divide(step);
  }
  llvm_unreachable("all kinds are listed");
}

/// Each rank takes 1/n: exact for powers of two, and what
/// TensorFlow does when a SUM variable is assigned.
void Emitter::divide(const ReshardStep &step) {
  auto type = cast<RankedTensorType>(value.getType());
  double ranks = mesh.getGroupSize(step.axes);
  Attribute divisor =
      builder.getFloatAttr(cast<FloatType>(type.getElementType()), ranks);
  Value divisors = graph::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, divisor));
  ShardingAttr after = getSharding(step);
  setSharding(divisors, after.withUnreduced({}));
  value = graph::DivOp::create(builder, loc, type, value, divisors);
  setSharding(value, after);
}

/// Neighbouring cuts of one dim are one op.
static std::vector<ReshardStep> mergeSlices(ArrayRef<ReshardStep> steps) {
  std::vector<ReshardStep> merged;
  for (const ReshardStep &step : steps) {
    if (step.kind == ReshardStep::Kind::Slice) {
      // Cuts of different dims may stand in any order.
      auto same = merged.end();
      for (auto other = merged.end();
           other != merged.begin() &&
           std::prev(other)->kind == ReshardStep::Kind::Slice;
           --other)
        if (std::prev(other)->dim == step.dim)
          same = std::prev(other);
      if (same != merged.end()) {
        llvm::append_range(same->axes, step.axes);
        for (auto later = same; later != merged.end(); ++later)
          llvm::append_range(later->after.dims[step.dim], step.axes);
        continue;
      }
    }
    merged.push_back(step);
  }
  return merged;
}

Value mlir::dist::emitPlan(OpBuilder &builder, Location loc, Value local,
                           RankedTensorType global, const ReshardPlan &plan,
                           MeshOp mesh, StringRef reason, StringRef origin) {
  Emitter emitter(builder, loc, local, global, mesh, reason, origin);
  for (const ReshardStep &step : mergeSlices(plan.steps))
    emitter.emit(step);
  return emitter.getValue();
}

Value mlir::dist::emitReshard(OpBuilder &builder, Location loc, Value local,
                              ShardingAttr from, ShardingAttr to, MeshOp mesh,
                              StringRef reason, StringRef origin) {
  RankedTensorType global =
      getGlobalType(cast<RankedTensorType>(local.getType()), from, mesh);
  ReshardPlan plan =
      planReshard(global, getLayout(from, mesh), getLayout(to, mesh), mesh);
  return emitPlan(builder, loc, local, global, plan, mesh, reason, origin);
}
