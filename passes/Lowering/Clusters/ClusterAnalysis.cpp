//===- ClusterAnalysis.cpp - Which ops make one kernel -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Clusters/ClusterAnalysis.h"
#include "passes/Lowering/Kernels/KernelEmitter.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::dist;

bool mlir::dist::isFloating(Operation *op) {
  std::optional<Movement> movement = findMovement(op);
  if (movement == Movement::Permute || movement == Movement::Slice)
    return op->getResult(0).hasOneUse();
  return movement && isFreeToRepeat(op);
}

SmallVector<int64_t> mlir::dist::dropUnitDims(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> result;
  for (int64_t size : shape)
    if (size != 1)
      result.push_back(size);
  return result;
}

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

namespace {

class Analyzer {
public:
  explicit Analyzer(ArrayRef<Operation *> ops) : ops(ops) {
    members.insert(ops.begin(), ops.end());
  }

  std::optional<ClusterInfo> run();

private:
  /// How a member reads another member, floating ops looked through.
  enum class Access { External, Same, Row, Other };
  Access accessOf(Value value);
  bool isRowAligned(Value value, ArrayRef<int64_t> useShape);
  bool classify();
  bool checkUses(Operation *op, MemberKind kind);
  bool hasMember(Value value);
  bool isRowShape(ArrayRef<int64_t> shape) const {
    return info.fixedRowDims >= 0 &&
           dropUnitDims(shape) ==
               dropUnitDims(
                   ArrayRef(info.domain).take_front(info.fixedRowDims));
  }

  ArrayRef<Operation *> ops;
  llvm::SmallPtrSet<Operation *, 16> members;
  ClusterInfo info;
};

} // namespace

/// The leading dims that `dims` (increasing) covers.
static int64_t countLeading(ArrayRef<int64_t> dims) {
  int64_t count = 0;
  while (count < static_cast<int64_t>(dims.size()) && dims[count] == count)
    ++count;
  return count;
}

bool Analyzer::classify() {
  // The iteration space is the largest one.
  int64_t largest = -1;
  for (Operation *op : ops) {
    bool isReduce = isa<graph::ReduceOp>(op);
    ArrayRef<int64_t> shape =
        shapeOf(isReduce ? op->getOperand(0) : op->getResult(0));
    for (Value result : op->getResults())
      if (!isReduce && shapeOf(result) != shape)
        return false;
    int64_t rank = shape.size();
    int64_t count = ShapedType::getNumElements(shape);
    if (count > largest ||
        (count == largest && rank > static_cast<int64_t>(info.domain.size()))) {
      largest = count;
      info.domain.assign(shape.begin(), shape.end());
    }
  }
  int64_t rank = info.domain.size();
  info.maxRowDims = rank;
  // Rows that are made at a time and inner reductions first: they decide what a
  // row is.
  for (Operation *op : ops) {
    if (!isa<RowCodeOpInterface>(op))
      continue;
    if (shapeOf(op->getResult(0)) != ArrayRef(info.domain))
      return false;
    info.fixedRowDims = rank - 1;
    info.kinds[op] = MemberKind::Full;
  }
  for (Operation *op : ops) {
    auto reduce = dyn_cast<graph::ReduceOp>(op);
    if (!reduce || shapeOf(reduce.getOperand()) != ArrayRef(info.domain))
      continue;
    ArrayRef<int64_t> dims = reduce.getDims();
    int64_t kept = rank - dims.size();
    bool isSuffix = !dims.empty() && dims.front() == kept && kept > 0;
    if (!isSuffix)
      continue;
    if (info.fixedRowDims >= 0 && info.fixedRowDims != kept)
      return false;
    info.fixedRowDims = kept;
    info.kinds[op] = MemberKind::InnerReduction;
  }
  for (Operation *op : ops) {
    if (info.kinds.count(op))
      continue;
    if (auto reduce = dyn_cast<graph::ReduceOp>(op)) {
      ArrayRef<int64_t> shape = shapeOf(reduce.getOperand());
      int64_t leading = countLeading(reduce.getDims());
      if (shape == ArrayRef(info.domain) && leading > 0) {
        info.kinds[op] = MemberKind::OuterReduction;
        info.maxRowDims = std::min(info.maxRowDims, leading);
        continue;
      }
      if (isRowShape(shape) && reduce.getDims().size() == shape.size() &&
          leading > 0) {
        info.kinds[op] = MemberKind::OuterReduction;
        continue;
      }
      // A reduction over dims in the middle: alone, by its own loops.
      if (ops.size() == 1) {
        info.domain.assign(shapeOf(op->getResult(0)).begin(),
                           shapeOf(op->getResult(0)).end());
        info.maxRowDims = info.domain.size();
        info.kinds[op] = MemberKind::Full;
        continue;
      }
      return false;
    }
    ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
    if (shape == ArrayRef(info.domain))
      info.kinds[op] = MemberKind::Full;
    else if (isRowShape(shape) && op->hasTrait<OpTrait::Elementwise>())
      info.kinds[op] = MemberKind::Row;
    else
      return false;
  }
  return info.fixedRowDims <= info.maxRowDims;
}

bool Analyzer::hasMember(Value value) {
  Operation *def = value.getDefiningOp();
  if (!def)
    return false;
  if (members.contains(def))
    return true;
  if (!isFloating(def))
    return false;
  return llvm::any_of(def->getOperands(),
                      [&](Value operand) { return hasMember(operand); });
}

/// Whether `value`, read at a point of the domain (or at a row), reads a row
/// member at that same row.
bool Analyzer::isRowAligned(Value value, ArrayRef<int64_t> useShape) {
  Operation *def = value.getDefiningOp();
  if (members.contains(def)) {
    auto it = info.kinds.find(def);
    return it != info.kinds.end() && (it->second == MemberKind::Row ||
                                      it->second == MemberKind::InnerReduction);
  }
  if (auto reshape = dyn_cast<graph::ReshapeOp>(def))
    return dropUnitDims(shapeOf(reshape.getOperand())) ==
               dropUnitDims(shapeOf(value)) &&
           isRowShape(shapeOf(value)) &&
           isRowAligned(reshape.getOperand(), shapeOf(reshape.getOperand()));
  if (auto broadcast = dyn_cast<graph::BroadcastOp>(def)) {
    ArrayRef<int64_t> from = shapeOf(broadcast.getOperand());
    ArrayRef<int64_t> to = shapeOf(value);
    if (!isRowShape(from))
      return false;
    if (isRowShape(to) && dropUnitDims(from) == dropUnitDims(to))
      return isRowAligned(broadcast.getOperand(), from);
    if (to != ArrayRef(info.domain))
      return false;
    // The dims that are read must be exactly the rows.
    SmallVector<int64_t> read;
    for (auto [dim, size] : llvm::zip_equal(broadcast.getDims(), from))
      if (size != 1)
        read.push_back(dim);
    SmallVector<int64_t> rows;
    for (int64_t dim = 0; dim < info.fixedRowDims; ++dim)
      if (info.domain[dim] != 1)
        rows.push_back(dim);
    return read == rows && isRowAligned(broadcast.getOperand(), from);
  }
  return false;
}

Analyzer::Access Analyzer::accessOf(Value value) {
  if (!hasMember(value))
    return Access::External;
  Operation *def = value.getDefiningOp();
  if (members.contains(def)) {
    switch (info.kinds.lookup(def)) {
    case MemberKind::Full:
      return Access::Same;
    case MemberKind::Row:
    case MemberKind::InnerReduction:
      return Access::Row;
    case MemberKind::OuterReduction:
      return Access::Other;
    }
  }
  return isRowAligned(value, shapeOf(value)) ? Access::Row : Access::Other;
}

bool Analyzer::checkUses(Operation *op, MemberKind kind) {
  bool isReduce = isa<graph::ReduceOp>(op);
  bool pointwise = op->hasTrait<OpTrait::Elementwise>() || isReduce;
  for (Value operand : op->getOperands()) {
    Access access = accessOf(operand);
    if (access == Access::External)
      continue;
    if (access == Access::Other || !pointwise)
      return false;
    // A reduction alone by its own loops has no members to read. A row op or
    // a reduction of rows reads rows only; others read their own point.
    bool readsRows = kind == MemberKind::Row ||
                     (isReduce && shapeOf(operand) != ArrayRef(info.domain));
    if (readsRows && access != Access::Row)
      return false;
    if (!readsRows && access == Access::Row &&
        shapeOf(operand) != ArrayRef(info.domain))
      return false;
  }
  return true;
}

std::optional<ClusterInfo> Analyzer::run() {
  if (!classify())
    return std::nullopt;
  for (Operation *op : ops)
    if (!checkUses(op, info.kinds.lookup(op)))
      return std::nullopt;
  return info;
}

std::optional<ClusterInfo>
mlir::dist::analyzeCluster(ArrayRef<Operation *> ops) {
  return Analyzer(ops).run();
}

std::optional<ClusterInfo> mlir::dist::analyzeBody(Block &body) {
  SmallVector<Operation *> ops;
  Operation *terminator = body.getTerminator();
  for (Operation &op : body.without_terminator()) {
    // A floating op that is a result itself is a member.
    bool yielded = llvm::is_contained(op.getUsers(), terminator);
    if (!isFloating(&op) || yielded)
      ops.push_back(&op);
  }
  return analyzeCluster(ops);
}

/// Whether rows are added up in sums of that many terms.
static bool hasOuterSums(const ClusterInfo &info, int64_t terms) {
  int64_t points = ShapedType::getNumElements(info.domain);
  return llvm::any_of(info.kinds, [&](const auto &entry) {
    auto reduce = dyn_cast<graph::ReduceOp>(entry.first);
    return reduce && entry.second == MemberKind::OuterReduction &&
           reduce.getKind() == Reduction::Sum &&
           points >= terms * reduce.getType().getNumElements();
  });
}

std::pair<int64_t, int64_t> mlir::dist::chooseRows(const ClusterInfo &info,
                                                   int64_t threads) {
  int64_t elements = ShapedType::getNumElements(info.domain);
  bool parallel = threads > 1 && elements * int64_t(info.kinds.size() + 4) >
                                     kLeastParallelWork;
  int64_t rowDims = info.fixedRowDims;
  int64_t rows = 1;
  if (rowDims < 0) {
    rowDims = 0;
    int64_t wanted = parallel ? 8 * threads : 1;
    // Long sums are made of those of blocks of rows.
    if (hasOuterSums(info, kLongSumTerms))
      wanted = std::max(wanted, 64 * (parallel ? threads : 1));
    while (rowDims < info.maxRowDims && rows < wanted)
      rows *= info.domain[rowDims++];
  } else {
    rows =
        ShapedType::getNumElements(ArrayRef(info.domain).take_front(rowDims));
  }
  if (!parallel || rows < threads)
    return {rowDims, 1};
  return {rowDims, threads};
}
