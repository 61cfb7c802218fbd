//===- CollectiveCalls.cpp - Collectives over buffers -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Program/CollectiveCalls.h"
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Dist/IR/Portion.h"
#include "dialects/Interfaces/Cost.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Lowering/Memory/MemoryPlan.h"

using namespace mlir;
using namespace mlir::dist;

SmallVector<int64_t> mlir::dist::getAxisNumbers(CollectiveOpInterface op) {
  auto names =
      llvm::to_vector(findMesh(op).getAxisNames().getAsRange<StringAttr>());
  SmallVector<int64_t> numbers;
  for (StringAttr axis : op.getGroupAxes())
    numbers.push_back(llvm::find(names, axis) - names.begin());
  return numbers;
}

rt::PieceAttr mlir::dist::getPieceAttr(MLIRContext *context,
                                       const CollectivePiece &piece) {
  return rt::PieceAttr::get(
      context, piece.elementType, {piece.outer, piece.rows, piece.bytes},
      {piece.from.outer, piece.from.row, piece.from.position},
      {piece.to.outer, piece.to.row, piece.to.position});
}

DictionaryAttr mlir::dist::describeTransfer(CollectiveOpInterface op,
                                            int64_t id, ValueRange operands) {
  SmallVector<Attribute> axes(llvm::map_range(
      op.getGroupAxes(), [](StringAttr axis) -> Attribute { return axis; }));
  int64_t bytes = 0;
  for (Value operand : operands)
    bytes += getByteSize(operand.getType());
  StringRef kind = getUnstartedName(op);
  Builder attributes(op->getContext());
  return attributes.getDictionaryAttr(
      {attributes.getNamedAttr("id", attributes.getI64IntegerAttr(id)),
       attributes.getNamedAttr("op", attributes.getStringAttr(kind)),
       attributes.getNamedAttr(
           "tensor", attributes.getStringAttr(op.getCollectiveOrigin())),
       attributes.getNamedAttr("axes", attributes.getArrayAttr(axes)),
       attributes.getNamedAttr("bytes", attributes.getI64IntegerAttr(bytes)),
       attributes.getNamedAttr(
           "reason", attributes.getStringAttr(op.getCollectiveReason())),
       attributes.getNamedAttr(
           "origin", attributes.getStringAttr(op.getCollectiveOrigin()))});
}

/// Whether all ranks of the group run this program, and so have its buffers at
/// the same positions; a position that takes its portion of the batch has
/// others.
static bool isOneProgram(CollectiveOpInterface op) {
  std::optional<Portion> portion =
      findPortion(op->getParentOfType<func::FuncOp>());
  return !portion || !llvm::is_contained(op.getGroupAxes(), portion->axis);
}

/// Makes `next` a part of `last`; the bytes between them are reduced, too, and
/// mean nothing.
static bool append(CollectiveBuffer &last, const CollectiveBuffer &next) {
  auto follows = [&](int64_t begin, int64_t end) {
    return begin >= 0 && end >= 0 &&
           end == begin + alignMemory(last.piece.bytes);
  };
  if (last.piece.elementType != next.piece.elementType ||
      !follows(last.fromOffset, next.fromOffset) ||
      !follows(last.toOffset, next.toOffset))
    return false;
  last.piece.bytes = next.fromOffset - last.fromOffset + next.piece.bytes;
  return true;
}

LogicalResult mlir::dist::emitCollective(OpBuilder &builder,
                                         CollectiveOpInterface op, int64_t id,
                                         const CollectiveCall &call,
                                         ArrayRef<CollectiveBuffer> buffers) {
  StringRef name = getUnstartedName(op);
  // To the runtime the host is a position like others.
  name.consume_front("host_");
  auto kind = rt::symbolizeCollectiveKind(name);
  if (!kind)
    return op->emitOpError(
        "the runtime has no call for it; the lowering has no rule for this op");
  SmallVector<CollectiveBuffer> merged;
  bool merges = *kind == rt::CollectiveKind::AllReduce && isOneProgram(op);
  for (const CollectiveBuffer &buffer : buffers)
    if (!merges || merged.empty() || !append(merged.back(), buffer))
      merged.push_back(buffer);
  SmallVector<Value> from, to;
  SmallVector<Attribute> pieces;
  for (const CollectiveBuffer &buffer : merged) {
    const CollectivePiece &piece = buffer.piece;
    if (buffer.from)
      from.push_back(buffer.from);
    if (buffer.to)
      to.push_back(buffer.to);
    pieces.push_back(getPieceAttr(op->getContext(), piece));
  }
  rt::CollectiveOp::create(builder, op->getLoc(), *kind, id, getAxisNumbers(op),
                           from, to, builder.getArrayAttr(pieces),
                           static_cast<int64_t>(call.reduction),
                           static_cast<int64_t>(call.algorithm), call.peer,
                           call.tag, call.sources, isStart(op));
  return success();
}
