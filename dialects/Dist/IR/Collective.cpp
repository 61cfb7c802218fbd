//===- Collective.cpp - Verification and meaning of collectives -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Dist.h"
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Interfaces/Cost.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace mlir::dist;

#include "dialects/Dist/IR/Collective.cpp.inc"

LogicalResult mlir::dist::verifyCollective(Operation *op,
                                           SymbolTableCollection &tables) {
  auto collective = cast<CollectiveOpInterface>(op);
  auto mesh = tables.lookupNearestSymbolFrom<MeshOp>(
      op, collective.getCollectiveMesh());
  if (!mesh)
    return op->emitOpError()
           << "expected a dist.mesh named " << collective.getCollectiveMesh();
  SmallVector<StringAttr> axes = collective.getGroupAxes();
  llvm::SmallPtrSet<Attribute, 4> seen;
  for (StringAttr axis : axes) {
    if (mesh.getAxisSize(axis) == 0)
      return op->emitOpError()
             << "expected an axis of " << collective.getCollectiveMesh()
             << ", but got '" << axis.getValue() << "'";
    if (!seen.insert(axis).second)
      return op->emitOpError() << "expected mesh axis '" << axis.getValue()
                               << "' to be listed once";
  }
  if (axes.empty())
    return op->emitOpError() << "expected at least one mesh axis";
  if (collective.getCollectiveReason().empty())
    return op->emitOpError() << "expected a reason";
  if (collective.getCollectiveOrigin().empty())
    return op->emitOpError() << "expected an origin";
  if (isStart(op) && !op->getResult(0).hasOneUse())
    return op->emitOpError() << "expected its token to be waited for once";
  return collective.verifyShapes(mesh.getGroupSize(axes));
}

//===----------------------------------------------------------------------===//
// What is started, and waited for later
//===----------------------------------------------------------------------===//

bool mlir::dist::isStart(Operation *op) {
  return op->getNumResults() == 1 && isa<TokenType>(op->getResult(0).getType());
}

Operation *mlir::dist::getStart(Operation *op) {
  return isa_and_nonnull<WaitOp>(op) ? op->getOperand(0).getDefiningOp() : op;
}

bool mlir::dist::isOfKind(Operation *op, CollectiveKind kind) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  return collective && collective.getCollectiveKind() == kind;
}

StringRef mlir::dist::getUnstartedName(Operation *op) {
  StringRef name = op->getName().stripDialect();
  if (isStart(op))
    name.consume_back("_start");
  return name;
}

ResultRange mlir::dist::getCollectiveResults(Operation *op) {
  if (isStart(op))
    return op->getResult(0).user_begin()->getResults();
  return op->getResults();
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// What a start op's wait gives counts as its results.
static SmallVector<Type> getOutputTypes(Operation *op) {
  if (isStart(op))
    return llvm::to_vector(
        cast<TokenType>(op->getResult(0).getType()).getResults());
  return llvm::to_vector(op->getResultTypes());
}

static LogicalResult verifyCounts(Operation *op) {
  if (op->getNumOperands() == 0)
    return op->emitOpError() << "expected at least one operand";
  if (getOutputTypes(op).size() != op->getNumOperands())
    return op->emitOpError() << "expected one result an operand";
  return success();
}

static LogicalResult verifySameTypes(Operation *op) {
  if (failed(verifyCounts(op)))
    return failure();
  for (auto [from, to] : llvm::zip(op->getOperandTypes(), getOutputTypes(op)))
    if (from != to)
      return op->emitOpError()
             << "expected a result of type " << from << ", but got " << to;
  return success();
}

static LogicalResult verifyDims(Operation *op, ArrayRef<int64_t> dims,
                                StringRef name) {
  if (dims.size() != op->getNumOperands())
    return op->emitOpError()
           << "expected " << name << " to have one entry an operand";
  for (auto [dim, type] : llvm::zip(dims, op->getOperandTypes()))
    if (dim < 0 || dim >= cast<RankedTensorType>(type).getRank())
      return op->emitOpError()
             << "expected " << name << " to be within the dims of " << type
             << ", but got " << dim;
  return success();
}

/// Checks that each result is its operand with dims scaled: `multiply[i]` by
/// the group's size, `divide[i]` by its inverse (-1: none).
static LogicalResult verifyScaled(Operation *op, ArrayRef<int64_t> multiply,
                                  ArrayRef<int64_t> divide, int64_t groupSize) {
  for (auto [i, from, to] :
       llvm::enumerate(op->getOperandTypes(), getOutputTypes(op))) {
    auto tensor = cast<RankedTensorType>(from);
    SmallVector<int64_t> shape(tensor.getShape());
    if (!divide.empty()) {
      if (shape[divide[i]] % groupSize)
        return op->emitOpError()
               << "expected dim " << divide[i] << " of " << from
               << " to be divisible by the group's " << groupSize << " ranks";
      shape[divide[i]] /= groupSize;
    }
    if (!multiply.empty())
      shape[multiply[i]] *= groupSize;
    Type expected = RankedTensorType::get(shape, tensor.getElementType());
    if (expected != to)
      return op->emitOpError()
             << "expected a result of type " << expected << " for groups of "
             << groupSize << " ranks, but got " << to;
  }
  return success();
}

static LogicalResult verifyGather(Operation *op, ArrayRef<int64_t> dims,
                                  int64_t groupSize) {
  if (failed(verifyCounts(op)) || failed(verifyDims(op, dims, "dims")))
    return failure();
  return verifyScaled(op, dims, {}, groupSize);
}

static LogicalResult verifySlice(Operation *op, ArrayRef<int64_t> dims,
                                 int64_t groupSize) {
  if (failed(verifyCounts(op)) || failed(verifyDims(op, dims, "dims")))
    return failure();
  return verifyScaled(op, {}, dims, groupSize);
}

LogicalResult AllReduceOp::verifyShapes(int64_t) {
  return verifySameTypes(*this);
}
LogicalResult AllReduceStartOp::verifyShapes(int64_t) {
  return verifySameTypes(*this);
}
LogicalResult AllGatherOp::verifyShapes(int64_t n) {
  return verifyGather(*this, getDims(), n);
}
LogicalResult AllGatherStartOp::verifyShapes(int64_t n) {
  return verifyGather(*this, getDims(), n);
}
LogicalResult AllSliceOp::verifyShapes(int64_t n) {
  return verifySlice(*this, getDims(), n);
}
LogicalResult ReduceScatterOp::verifyShapes(int64_t n) {
  return verifySlice(*this, getDims(), n);
}
LogicalResult ReduceScatterStartOp::verifyShapes(int64_t n) {
  return verifySlice(*this, getDims(), n);
}

LogicalResult AllToAllOp::verifyShapes(int64_t n) {
  if (failed(verifyCounts(*this)) ||
      failed(verifyDims(*this, getSplitDims(), "split_dims")) ||
      failed(verifyDims(*this, getConcatDims(), "concat_dims")))
    return failure();
  for (auto [split, concat] : llvm::zip(getSplitDims(), getConcatDims()))
    if (split == concat)
      return emitOpError() << "expected split and concat dims to differ";
  return verifyScaled(*this, getConcatDims(), getSplitDims(), n);
}

LogicalResult PermuteOp::verifyShapes(int64_t n) {
  if (failed(verifySameTypes(*this)))
    return failure();
  if (int64_t(getSources().size()) != n)
    return emitOpError() << "expected " << n
                         << " sources, one a rank of a group";
  llvm::SmallDenseSet<int64_t> seen;
  for (int64_t source : getSources())
    if (source < -1 || source >= n ||
        (source >= 0 && !seen.insert(source).second))
      return emitOpError() << "expected each rank at most once as a source, or "
                              "-1, but got "
                           << source;
  return success();
}

LogicalResult BroadcastOp::verifyShapes(int64_t n) {
  if (getRoot() >= uint64_t(n))
    return emitOpError() << "expected a root below " << n << ", but got "
                         << int64_t(getRoot());
  return verifySameTypes(*this);
}

/// Of a send or a recv of `tensors`.
static LogicalResult verifyPeer(Operation *op, TypeRange tensors, uint64_t peer,
                                int64_t groupSize) {
  if (tensors.empty())
    return op->emitOpError() << "expected at least one tensor";
  if (peer >= uint64_t(groupSize))
    return op->emitOpError()
           << "expected a peer below " << groupSize << ", but got " << peer;
  return success();
}
LogicalResult SendOp::verifyShapes(int64_t n) {
  return verifyPeer(*this, getOperandTypes(), getPeer(), n);
}
LogicalResult RecvOp::verifyShapes(int64_t n) {
  return verifyPeer(*this, getResultTypes(), getPeer(), n);
}

/// One end of a transfer between the host and the others.
static LogicalResult verifyHostTransfer(CollectiveOpInterface op) {
  if ((op->getNumOperands() == 0) == (op->getNumResults() == 0))
    return op->emitOpError()
           << "expected operands, where it gives, or results, "
              "where it takes, but got "
           << op->getNumOperands() << " and " << op->getNumResults();
  MeshOp mesh = findMesh(op);
  if (!mesh.getHost())
    return op->emitOpError() << "expected a mesh with host";
  if (op.getGroupAxes().size() != mesh.getAxisNames().size())
    return op->emitOpError() << "expected all axes of the mesh, but got "
                             << formatAxes(op.getGroupAxes());
  return success();
}
LogicalResult HostBroadcastOp::verifyShapes(int64_t) {
  return verifyHostTransfer(*this);
}
LogicalResult HostReduceOp::verifyShapes(int64_t) {
  return verifyHostTransfer(*this);
}

bool AllSliceOp::isLocal() { return true; }
bool SendOp::crossesPrograms() { return true; }
bool RecvOp::crossesPrograms() { return true; }
bool HostBroadcastOp::crossesPrograms() { return true; }
bool HostReduceOp::crossesPrograms() { return true; }
bool HostBroadcastOp::involvesHost() { return true; }
bool HostReduceOp::involvesHost() { return true; }

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

using GroupTensors = ArrayRef<SmallVector<HostTensor>>;

/// Operand `i` of each rank of the group.
static SmallVector<HostTensor> getColumn(GroupTensors operands, unsigned i) {
  SmallVector<HostTensor> column;
  for (const SmallVector<HostTensor> &row : operands)
    column.push_back(row[i]);
  return column;
}

/// Fills the results of each rank of the group by `fn(rank, column)`.
static LogicalResult
evaluateColumns(GroupTensors operands,
                SmallVectorImpl<SmallVector<HostTensor>> &results,
                function_ref<void(unsigned i, ArrayRef<HostTensor> column,
                                  SmallVectorImpl<HostTensor> &perRank)>
                    fn) {
  results.assign(operands.size(), {});
  for (unsigned i = 0, e = operands.front().size(); i < e; ++i) {
    SmallVector<HostTensor> perRank;
    fn(i, getColumn(operands, i), perRank);
    for (auto [row, tensor] : llvm::zip(results, perRank))
      row.push_back(tensor);
  }
  return success();
}

static LogicalResult
evaluateAllReduce(GroupTensors operands, Reduction reduction,
                  SmallVectorImpl<SmallVector<HostTensor>> &results) {
  return evaluateColumns(
      operands, results, [&](unsigned, auto column, auto &out) {
        out.assign(column.size(), combine(column, reduction));
      });
}
static LogicalResult
evaluateAllGather(GroupTensors operands, ArrayRef<int64_t> dims,
                  SmallVectorImpl<SmallVector<HostTensor>> &results) {
  return evaluateColumns(operands, results,
                         [&](unsigned i, auto column, auto &out) {
                           out.assign(column.size(), joinDim(column, dims[i]));
                         });
}
static LogicalResult
evaluateReduceScatter(GroupTensors operands, ArrayRef<int64_t> dims,
                      Reduction reduction,
                      SmallVectorImpl<SmallVector<HostTensor>> &results) {
  return evaluateColumns(
      operands, results, [&](unsigned i, auto column, auto &out) {
        HostTensor whole = combine(column, reduction);
        for (unsigned rank = 0; rank < column.size(); ++rank)
          out.push_back(cutDim(whole, dims[i], rank, column.size()));
      });
}

LogicalResult
AllReduceOp::evaluateGroup(GroupTensors operands,
                           SmallVectorImpl<SmallVector<HostTensor>> &results) {
  return evaluateAllReduce(operands, getReduction(), results);
}
LogicalResult AllReduceStartOp::evaluateGroup(
    GroupTensors operands, SmallVectorImpl<SmallVector<HostTensor>> &results) {
  return evaluateAllReduce(operands, getReduction(), results);
}
LogicalResult
AllGatherOp::evaluateGroup(GroupTensors operands,
                           SmallVectorImpl<SmallVector<HostTensor>> &results) {
  return evaluateAllGather(operands, getDims(), results);
}
LogicalResult AllGatherStartOp::evaluateGroup(
    GroupTensors operands, SmallVectorImpl<SmallVector<HostTensor>> &results) {
  return evaluateAllGather(operands, getDims(), results);
}
LogicalResult ReduceScatterOp::evaluateGroup(
    GroupTensors operands, SmallVectorImpl<SmallVector<HostTensor>> &results) {
  return evaluateReduceScatter(operands, getDims(), getReduction(), results);
}
LogicalResult ReduceScatterStartOp::evaluateGroup(
    GroupTensors operands, SmallVectorImpl<SmallVector<HostTensor>> &results) {
  return evaluateReduceScatter(operands, getDims(), getReduction(), results);
}
LogicalResult
AllSliceOp::evaluateGroup(GroupTensors operands,
                          SmallVectorImpl<SmallVector<HostTensor>> &results) {
  return evaluateColumns(operands, results,
                         [&](unsigned i, auto column, auto &out) {
                           for (unsigned rank = 0; rank < column.size(); ++rank)
                             out.push_back(cutDim(column[rank], getDims()[i],
                                                  rank, column.size()));
                         });
}
LogicalResult
AllToAllOp::evaluateGroup(GroupTensors operands,
                          SmallVectorImpl<SmallVector<HostTensor>> &results) {
  return evaluateColumns(
      operands, results, [&](unsigned i, auto column, auto &out) {
        for (unsigned rank = 0; rank < column.size(); ++rank) {
          SmallVector<HostTensor> parts;
          for (const HostTensor &tensor : column)
            parts.push_back(
                cutDim(tensor, getSplitDims()[i], rank, column.size()));
          out.push_back(joinDim(parts, getConcatDims()[i]));
        }
      });
}
LogicalResult
PermuteOp::evaluateGroup(GroupTensors operands,
                         SmallVectorImpl<SmallVector<HostTensor>> &results) {
  return evaluateColumns(
      operands, results, [&](unsigned, auto column, auto &out) {
        for (int64_t source : getSources())
          out.push_back(source < 0 ? HostTensor(column.front().getType())
                                   : column[source]);
      });
}
LogicalResult
BroadcastOp::evaluateGroup(GroupTensors operands,
                           SmallVectorImpl<SmallVector<HostTensor>> &results) {
  return evaluateColumns(operands, results,
                         [&](unsigned, auto column, auto &out) {
                           out.assign(column.size(), column[getRoot()]);
                         });
}

/// Ranks that evaluate in lockstep run one program, which has no two ends.
static LogicalResult refuseEvaluation(Operation *op) {
  return op->emitOpError() << "cannot be evaluated: its peer runs another "
                              "program; use dist.permute where all ranks run "
                              "the same";
}
LogicalResult
SendOp::evaluateGroup(GroupTensors,
                      SmallVectorImpl<SmallVector<HostTensor>> &) {
  return refuseEvaluation(*this);
}
LogicalResult
RecvOp::evaluateGroup(GroupTensors,
                      SmallVectorImpl<SmallVector<HostTensor>> &) {
  return refuseEvaluation(*this);
}

LogicalResult
HostBroadcastOp::evaluateGroup(GroupTensors,
                               SmallVectorImpl<SmallVector<HostTensor>> &) {
  return refuseEvaluation(*this);
}
LogicalResult
HostReduceOp::evaluateGroup(GroupTensors,
                            SmallVectorImpl<SmallVector<HostTensor>> &) {
  return refuseEvaluation(*this);
}

//===----------------------------------------------------------------------===//
// Bytes sent and steps: ring algorithms, unless another is asked for
//===----------------------------------------------------------------------===//

static double getOperandBytes(Operation *op) {
  double bytes = 0;
  for (Type type : op->getOperandTypes())
    bytes += getByteSize(type);
  return bytes;
}

/// By the rank that sends most: who reduces for all sends it to each of them.
template <typename Op> static double getAllReduceBytes(Op op, int64_t n) {
  double bytes = getOperandBytes(op);
  switch (op.getAlgorithm()) {
  case AllReduceAlgorithm::ReduceToOne:
  case AllReduceAlgorithm::Exchange:
  case AllReduceAlgorithm::Gather:
    return (n - 1) * bytes;
  case AllReduceAlgorithm::HalvingDoubling: {
    // Where some sum for a neighbour, they send it the result.
    double parts = llvm::bit_floor(uint64_t(n));
    return (2 * (parts - 1) / parts + (parts != double(n))) * bytes;
  }
  case AllReduceAlgorithm::Auto:
  case AllReduceAlgorithm::Ring:
  case AllReduceAlgorithm::Parts:
    return 2.0 * (n - 1) / n * bytes;
  }
  llvm_unreachable("all algorithms are listed");
}
static int64_t getAllReduceSteps(AllReduceAlgorithm algorithm, int64_t n) {
  switch (algorithm) {
  case AllReduceAlgorithm::Auto:
  case AllReduceAlgorithm::Exchange:
    return 1;
  case AllReduceAlgorithm::Ring:
    return 2 * (n - 1);
  case AllReduceAlgorithm::ReduceToOne:
  case AllReduceAlgorithm::Parts:
    return 2;
  case AllReduceAlgorithm::Gather:
    return llvm::Log2_64_Ceil(n);
  case AllReduceAlgorithm::HalvingDoubling:
    return 2 * llvm::Log2_64_Ceil(n); // there, and back
  }
  llvm_unreachable("all algorithms are listed");
}
double AllReduceOp::getBytesSent(int64_t n) {
  return getAllReduceBytes(*this, n);
}
double AllReduceStartOp::getBytesSent(int64_t n) {
  return getAllReduceBytes(*this, n);
}
int64_t AllReduceOp::getSteps(int64_t n) {
  return getAllReduceSteps(getAlgorithm(), n);
}
int64_t AllReduceStartOp::getSteps(int64_t n) {
  return getAllReduceSteps(getAlgorithm(), n);
}
double AllGatherOp::getBytesSent(int64_t n) {
  return (n - 1) * getOperandBytes(*this);
}
double AllGatherStartOp::getBytesSent(int64_t n) {
  return (n - 1) * getOperandBytes(*this);
}
double ReduceScatterOp::getBytesSent(int64_t n) {
  return 1.0 * (n - 1) / n * getOperandBytes(*this);
}
double ReduceScatterStartOp::getBytesSent(int64_t n) {
  return 1.0 * (n - 1) / n * getOperandBytes(*this);
}
double AllSliceOp::getBytesSent(int64_t) { return 0; }
double AllToAllOp::getBytesSent(int64_t n) {
  return 1.0 * (n - 1) / n * getOperandBytes(*this);
}
double PermuteOp::getBytesSent(int64_t) { return getOperandBytes(*this); }
double SendOp::getBytesSent(int64_t) { return getOperandBytes(*this); }
double RecvOp::getBytesSent(int64_t) { return 0; }
// One link leads to each device; a rank that takes sends nothing.
double HostBroadcastOp::getBytesSent(int64_t n) {
  return n * getOperandBytes(*this);
}
double HostReduceOp::getBytesSent(int64_t) { return getOperandBytes(*this); }
double BroadcastOp::getBytesSent(int64_t n) {
  return 1.0 * (n - 1) / n * getOperandBytes(*this);
}
