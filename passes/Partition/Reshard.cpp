//===- Reshard.cpp - Collectives that change a layout -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Partition/Reshard.h"
#include "dialects/Graph/IR/Graph.h"
#include "passes/Partition/FactorSharding.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// The state of one reshard: the tensor and its layout so far.
class Resharder {
public:
  Resharder(OpBuilder &builder, Location loc, Value value, ShardingAttr from,
            ShardingAttr to, MeshOp mesh, StringRef reason, StringRef origin)
      : builder(builder), loc(loc), value(value), mesh(mesh), reason(reason),
        origin(origin), meshName(from.getMesh()), current(getDimAxes(from)),
        target(getDimAxes(to)), partial(from.getUnreduced()),
        wantedPartial(to.getUnreduced()) {}

  Value run() {
    while (reduce() || cut() || exchange() || gather())
      ;
    share();
    return value;
  }

private:
  bool reduce();
  bool cut();
  bool exchange();
  bool gather();
  void share();

  bool isUsed(StringAttr axis) const {
    return llvm::any_of(current, [&](const AxisList &axes) {
      return llvm::is_contained(axes, axis);
    });
  }
  /// The next axes that dim `dim` lacks; none if it has some that must go.
  ArrayRef<StringAttr> getMissing(unsigned dim) const {
    if (!isPrefix(current[dim], target[dim]))
      return {};
    return ArrayRef(target[dim]).drop_front(current[dim].size());
  }
  /// Replaces the value by a collective's result with the present layout.
  template <typename OpTy, typename... Args>
  void apply(Type type, ArrayRef<StringAttr> axes, Args... args) {
    SmallVector<Attribute> names(axes.begin(), axes.end());
    auto op = OpTy::create(builder, loc, TypeRange{type}, ValueRange{value},
                           args..., mesh.getSymName(),
                           builder.getArrayAttr(names), reason, origin);
    value = op.getResult(0);
    setSharding(value, ShardingAttr::get(meshName, current, partial));
  }
  Type scale(int64_t dim, int64_t multiply, int64_t divide) const {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = shape[dim] * multiply / divide;
    return RankedTensorType::get(shape, type.getElementType());
  }

  OpBuilder &builder;
  Location loc;
  Value value;
  MeshOp mesh;
  StringRef reason, origin;
  FlatSymbolRefAttr meshName;
  AxisLists current, target;
  AxisList partial, wantedPartial;
};
} // namespace

bool Resharder::reduce() {
  for (StringAttr axis : partial) {
    if (llvm::is_contained(wantedPartial, axis))
      continue;
    llvm::erase(partial, axis);
    for (unsigned dim = 0; dim < target.size(); ++dim) {
      ArrayRef<StringAttr> missing = getMissing(dim);
      if (missing.empty() || missing.front() != axis)
        continue;
      current[dim].push_back(axis);
      apply<ReduceScatterOp>(scale(dim, 1, mesh.getAxisSize(axis)), {axis},
                             ArrayRef<int64_t>{int64_t(dim)}, Reduction::Sum);
      return true;
    }
    apply<AllReduceOp>(value.getType(), {axis}, Reduction::Sum);
    return true;
  }
  return false;
}

bool Resharder::cut() {
  for (unsigned dim = 0; dim < target.size(); ++dim) {
    AxisList axes;
    for (StringAttr axis : getMissing(dim)) {
      if (isUsed(axis))
        break;
      axes.push_back(axis);
    }
    if (axes.empty())
      continue;
    llvm::append_range(current[dim], axes);
    apply<AllSliceOp>(scale(dim, 1, mesh.getGroupSize(axes)), axes,
                      ArrayRef<int64_t>{int64_t(dim)});
    return true;
  }
  return false;
}

bool Resharder::exchange() {
  for (unsigned to = 0; to < target.size(); ++to) {
    ArrayRef<StringAttr> missing = getMissing(to);
    if (missing.empty())
      continue;
    StringAttr axis = missing.front();
    for (unsigned from = 0; from < current.size(); ++from) {
      if (from == to || current[from].empty() || current[from].back() != axis)
        continue;
      int64_t size = mesh.getAxisSize(axis);
      auto half = cast<RankedTensorType>(scale(to, 1, size));
      SmallVector<int64_t> shape(half.getShape());
      shape[from] *= size;
      current[from].pop_back();
      current[to].push_back(axis);
      apply<AllToAllOp>(RankedTensorType::get(shape, half.getElementType()),
                        {axis}, ArrayRef<int64_t>{int64_t(to)},
                        ArrayRef<int64_t>{int64_t(from)});
      return true;
    }
  }
  return false;
}

bool Resharder::gather() {
  for (unsigned dim = 0; dim < target.size(); ++dim) {
    if (isPrefix(current[dim], target[dim]))
      continue;
    unsigned keep = 0;
    while (keep < target[dim].size() && keep < current[dim].size() &&
           current[dim][keep] == target[dim][keep])
      ++keep;
    AxisList axes(llvm::drop_begin(current[dim], keep));
    current[dim].resize(keep);
    apply<AllGatherOp>(scale(dim, mesh.getGroupSize(axes), 1), axes,
                       ArrayRef<int64_t>{int64_t(dim)});
    return true;
  }
  return false;
}

/// Each rank takes an equal share: exact for powers of two, and what
/// TensorFlow does when a SUM variable is assigned.
void Resharder::share() {
  AxisList missing;
  for (StringAttr axis : wantedPartial)
    if (!llvm::is_contained(partial, axis))
      missing.push_back(axis);
  if (missing.empty())
    return;
  auto type = cast<RankedTensorType>(value.getType());
  double ranks = mesh.getGroupSize(missing);
  Attribute divisor =
      builder.getFloatAttr(cast<FloatType>(type.getElementType()), ranks);
  Value divisors = graph::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, divisor));
  setSharding(divisors, ShardingAttr::get(meshName, current));
  llvm::append_range(partial, missing);
  value = graph::DivOp::create(builder, loc, type, value, divisors);
  setSharding(value, ShardingAttr::get(meshName, current, partial));
}

Value mlir::dist::emitReshard(OpBuilder &builder, Location loc, Value local,
                              ShardingAttr from, ShardingAttr to, MeshOp mesh,
                              StringRef reason, StringRef origin) {
  return Resharder(builder, loc, local, from, to, mesh, reason, origin).run();
}
