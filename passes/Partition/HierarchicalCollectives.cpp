//===- HierarchicalCollectives.cpp - All-reduces in levels -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// By a ring over all ranks of both axes nearly twice the bytes pass each link,
// the slowest included. In levels only one inner rank's part passes the outer
// links; over links that cost the same it is as many bytes in more steps.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Dist/IR/Processes.h"
#include "dialects/Dist/IR/Sources.h"
#include "dialects/Interfaces/Cost.h"
#include "passes/Partition/Compression.h"
#include "passes/Partition/Passes.h"
#include "passes/Partition/ReshardPlan.h"

namespace mlir::dist {
#define GEN_PASS_DEF_HIERARCHICALCOLLECTIVESPASS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
struct HierarchicalCollectivesPass
    : mlir::dist::impl::HierarchicalCollectivesPassBase<
          HierarchicalCollectivesPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  StringAttr findInner(AllReduceOp op, MeshOp mesh);
};

/// One all-reduce while it is taken apart.
class Levels {
public:
  Levels(AllReduceOp op, MeshOp mesh, StringAttr inner, bool ofGradients);
  /// Whether the bytes and links, with what each step costs, say so.
  bool pays();
  /// The all-reduce over the outer axes; null if no operand can be cut.
  AllReduceOp run();

private:
  /// Says of which values the results are parts, for --check.
  void describe(Operation *made, ArrayRef<unsigned> operands, bool isCut,
                bool isPartial);
  template <typename Range> ArrayAttr getNames(Range axes) {
    SmallVector<Attribute> list(axes.begin(), axes.end());
    return b.getArrayAttr(list);
  }
  SmallVector<Value> pick(ArrayRef<unsigned> operands);

  AllReduceOp op;
  MeshOp mesh;
  OpBuilder b;
  StringAttr inner;
  /// They have no buckets yet.
  bool ofGradients;
  SmallVector<StringAttr> outer;
  SmallVector<ShardingAttr> shardings;
  SmallVector<unsigned> cut, rest; // operands
  SmallVector<int64_t> dims;       // of those that are cut
};
} // namespace

/// The first dim that `parts` divides, so that parts are long runs; or -1.
static int64_t findDim(Type type, int64_t parts) {
  for (auto [dim, size] :
       llvm::enumerate(cast<RankedTensorType>(type).getShape()))
    if (size > 0 && size % parts == 0)
      return dim;
  return -1;
}

Levels::Levels(AllReduceOp op, MeshOp mesh, StringAttr inner, bool ofGradients)
    : op(op), mesh(mesh), b(op), inner(inner), ofGradients(ofGradients) {
  for (StringAttr axis : cast<CollectiveOpInterface>(*op).getGroupAxes())
    if (axis != inner)
      outer.push_back(axis);
  if (auto list = op->getAttrOfType<ArrayAttr>(DistDialect::kShardings))
    llvm::append_range(shardings, list.getAsRange<ShardingAttr>());
  int64_t parts = mesh.getGroupSize({inner});
  for (auto [i, type] : llvm::enumerate(op->getOperandTypes())) {
    int64_t dim = findDim(type, parts);
    (dim < 0 ? rest : cut).push_back(i);
    if (dim >= 0)
      dims.push_back(dim);
  }
}

bool Levels::pays() {
  double bytes = 0;
  for (unsigned i : cut)
    bytes += getByteSize(op->getOperand(i).getType());
  double in = mesh.getGroupSize({inner}), out = mesh.getGroupSize(outer);
  SmallVector<StringAttr> all(outer);
  all.push_back(inner);
  auto ring = [&](double ranks, double sent, ArrayRef<StringAttr> axes) {
    return 2 * (ranks - 1) / ranks * sent * getLinkCost(mesh, axes);
  };
  double flat = ring(in * out, bytes, all) + kStepCost;
  double levels =
      ring(in, bytes, {inner}) + ring(out, bytes / in, outer) + 3 * kStepCost;
  // What cannot be cut needs a transfer of its own.
  return levels + (rest.empty() ? 0 : kStepCost) < flat;
}

SmallVector<Value> Levels::pick(ArrayRef<unsigned> operands) {
  return llvm::map_to_vector(
      operands, [&](unsigned i) -> Value { return op->getOperand(i); });
}

void Levels::describe(Operation *made, ArrayRef<unsigned> operands, bool isCut,
                      bool isPartial) {
  copyCauses(op, made);
  if (shardings.size() != op->getNumResults())
    return;
  SmallVector<Attribute> list;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    ShardingAttr sharding = shardings[operand];
    SmallVector<SmallVector<StringAttr>> axes;
    for (unsigned dim = 0; dim < sharding.getNumDims(); ++dim)
      axes.emplace_back(sharding.getAxes(dim));
    if (isCut)
      axes[dims[i]].push_back(inner);
    SmallVector<StringAttr> unreduced(sharding.getUnreduced());
    if (isPartial)
      llvm::append_range(unreduced, outer);
    list.push_back(ShardingAttr::get(sharding.getMesh(), axes, unreduced));
  }
  made->setAttr(DistDialect::kShardings, b.getArrayAttr(list));
}

AllReduceOp Levels::run() {
  if (cut.empty())
    return {};
  int64_t parts = mesh.getGroupSize({inner});
  SmallVector<Value> whole = pick(cut);
  SmallVector<Type> wholeTypes(ValueRange(whole).getTypes()), partTypes;
  for (auto [type, dim] : llvm::zip(wholeTypes, dims)) {
    SmallVector<int64_t> shape(cast<RankedTensorType>(type).getShape());
    shape[dim] /= parts;
    partTypes.push_back(cast<RankedTensorType>(type).clone(shape));
  }
  Location loc = op.getLoc();
  ArrayAttr innerAxis = getNames(ArrayRef(inner));
  std::string reason = op.getReason().str() + ", in levels";
  auto scatter =
      ReduceScatterOp::create(b, loc, partTypes, whole, dims, op.getReduction(),
                              op.getMesh(), innerAxis, reason, op.getOrigin());
  describe(scatter, cut, /*isCut=*/true, /*isPartial=*/true);
  auto reduce = AllReduceOp::create(b, loc, partTypes, scatter->getResults(),
                                    op.getReduction(), op.getMesh(),
                                    getNames(outer), reason, op.getOrigin());
  reduce.setAlgorithm(op.getAlgorithm());
  describe(reduce, cut, /*isCut=*/true, /*isPartial=*/false);
  auto gather =
      AllGatherOp::create(b, loc, wholeTypes, reduce->getResults(), dims,
                          op.getMesh(), innerAxis, reason, op.getOrigin());
  describe(gather, cut, /*isCut=*/false, /*isPartial=*/false);
  if (ofGradients)
    gather->setAttr(kOfGradients, b.getUnitAttr());
  for (auto [i, result] : llvm::zip(cut, gather->getResults()))
    op->getResult(i).replaceAllUsesWith(result);
  if (!rest.empty()) {
    SmallVector<Value> small = pick(rest);
    auto together = AllReduceOp::create(
        b, loc, TypeRange(ValueRange(small)), small, op.getReduction(),
        op.getMesh(), op.getAxes(),
        op.getReason().str() + ", at once: no dim divides by '" +
            inner.getValue().str() + "'",
        op.getOrigin());
    together.setAlgorithm(op.getAlgorithm());
    describe(together, rest, /*isCut=*/false, /*isPartial=*/false);
    for (auto [i, result] : llvm::zip(rest, together->getResults()))
      op->getResult(i).replaceAllUsesWith(result);
  }
  op->erase();
  return reduce;
}

/// The axis of the fastest links, the mesh's last of equals: there ranks are
/// neighbours. Null if there is nothing to take apart.
StringAttr HierarchicalCollectivesPass::findInner(AllReduceOp op, MeshOp mesh) {
  StringAttr best;
  unsigned levels = 0;
  auto axes = cast<CollectiveOpInterface>(*op).getGroupAxes();
  if (betweenProcesses && !crossesProcesses(mesh, axes))
    return {};
  for (auto axis : mesh.getAxisNames().getAsRange<StringAttr>()) {
    // An axis of one rank is no level.
    if (!llvm::is_contained(axes, axis) || mesh.getAxisSize(axis) == 1)
      continue;
    ++levels;
    if (betweenProcesses && crossesProcesses(mesh, {axis}))
      continue;
    if (!inner.empty()
            ? axis.getValue() == inner
            : !best || getLinkCost(mesh, {axis}) <= getLinkCost(mesh, {best}))
      best = axis;
  }
  return levels > 1 ? best : StringAttr();
}

void HierarchicalCollectivesPass::runOnOperation() {
  func::FuncOp function = getOperation();
  MeshOp mesh = findMesh(function);
  if (!mesh || function.isExternal())
    return;
  if (failed(verifyLinkCosts(mesh)))
    return signalPassFailure();
  if (!inner.empty() && mesh.getAxisSize(inner) == 0) {
    function.emitError() << "expected `inner` to be an axis of the mesh, but "
                            "got '"
                         << inner << "'";
    return signalPassFailure();
  }
  SmallVector<AllReduceOp> reduces;
  function.walk([&](AllReduceOp op) { reduces.push_back(op); });
  bool changed = false;
  while (!reduces.empty()) {
    AllReduceOp op = reduces.pop_back_val();
    StringAttr axis = findInner(op, mesh);
    if (!axis)
      continue;
    Levels levels(op, mesh, axis, betweenProcesses);
    if (!always && !betweenProcesses && !levels.pays())
      continue;
    changed = true;
    if (AllReduceOp next = levels.run())
      reduces.push_back(next);
  }
  if (!changed)
    markAllAnalysesPreserved();
  int64_t id = 0;
  function.walk([&](CollectiveOpInterface collective) {
    if (!collective.isLocal())
      collective.setCollectiveId(id++);
  });
}
