//===- Rt.cpp - The rt dialect -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Rt/IR/Rt.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dist::rt;

#include "dialects/Rt/IR/RtDialect.cpp.inc"

#include "dialects/Rt/IR/RtEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Rt/IR/RtAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Rt/IR/RtTypes.cpp.inc"

static ParseResult parseNumbers(OpAsmParser &parser,
                                DenseI64ArrayAttr &numbers) {
  SmallVector<int64_t> list;
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, [&] {
        return parser.parseInteger(list.emplace_back());
      }))
    return failure();
  numbers = parser.getBuilder().getDenseI64ArrayAttr(list);
  return success();
}
static void printNumbers(OpAsmPrinter &printer, Operation *,
                         DenseI64ArrayAttr numbers) {
  printer << "[";
  llvm::interleaveComma(numbers.asArrayRef(), printer);
  printer << "]";
}

/// `in host`, or nothing for the device's memory.
static ParseResult parseSpace(OpAsmParser &parser, Type &type) {
  auto space = MemorySpace::Device;
  if (succeeded(parser.parseOptionalKeyword("in"))) {
    FailureOr<MemorySpace> named = FieldParser<MemorySpace>::parse(parser);
    if (failed(named))
      return failure();
    space = *named;
  }
  type = BufferType::get(parser.getContext(), space);
  return success();
}
static void printSpace(OpAsmPrinter &printer, Operation *, Type type) {
  MemorySpace space = cast<BufferType>(type).getSpace();
  if (space != MemorySpace::Device)
    printer << " in " << stringifyMemorySpace(space);
}

static ParseResult parseBuffer(OpAsmParser &parser,
                               OpAsmParser::UnresolvedOperand &buffer,
                               Type &type) {
  return failure(parser.parseOperand(buffer) || parseSpace(parser, type));
}
static void printBuffer(OpAsmPrinter &printer, Operation *op, Value buffer,
                        Type type) {
  printer << buffer;
  printSpace(printer, op, type);
}

static ParseResult
parseBuffers(OpAsmParser &parser,
             SmallVectorImpl<OpAsmParser::UnresolvedOperand> &buffers,
             SmallVectorImpl<Type> &types) {
  OpAsmParser::UnresolvedOperand buffer;
  OptionalParseResult first = parser.parseOptionalOperand(buffer);
  if (!first.has_value())
    return success();
  buffers.push_back(buffer);
  if (failed(*first) || parseSpace(parser, types.emplace_back()))
    return failure();
  while (succeeded(parser.parseOptionalComma()))
    if (parseBuffer(parser, buffers.emplace_back(), types.emplace_back()))
      return failure();
  return success();
}
static void printBuffers(OpAsmPrinter &printer, Operation *op,
                         OperandRange buffers, TypeRange) {
  llvm::interleaveComma(buffers, printer, [&](Value buffer) {
    printBuffer(printer, op, buffer, buffer.getType());
  });
}

#define GET_OP_CLASSES
#include "dialects/Rt/IR/RtOps.cpp.inc"

void RtDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Rt/IR/RtAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Rt/IR/RtTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Rt/IR/RtOps.cpp.inc"
      >();
}

LibraryKind mlir::dist::rt::getLibraryKind(DictionaryAttr kernel) {
  return *symbolizeLibraryKind(kernel.getAs<StringAttr>("kind").getValue());
}

static LogicalResult verifyKernel(Operation *op, DictionaryAttr kernel) {
  auto kind = kernel.getAs<StringAttr>("kind");
  if (!kind || !symbolizeLibraryKind(kind.getValue()))
    return op->emitOpError(
               "expected the kernel's kind to be conv, "
               "conv_input_grad, conv_filter_grad, matmul or reorder, "
               "but got ")
           << (kind ? kind : kernel.get("kind"));
  auto memories = kernel.getAs<ArrayAttr>("memories");
  if (!memories)
    return op->emitOpError("expected the kernel to list its memories");
  for (Attribute memory : memories) {
    auto entry = dyn_cast<DictionaryAttr>(memory);
    auto type = entry ? entry.getAs<StringAttr>("type") : StringAttr();
    if (!type || !symbolizeLibraryType(type.getValue()))
      return op->emitOpError("expected the type of each memory to be f32, f64, "
                             "f16, bf16 or i8, but got ")
             << (type ? Attribute(type) : memory);
  }
  return success();
}

LogicalResult LibraryOp::verify() { return verifyKernel(*this, getKernel()); }

static LogicalResult verifyOneMemory(Operation *op) {
  if (llvm::all_equal(op->getOperandTypes()))
    return success();
  return op->emitOpError("expected all buffers to be in one memory; copy those "
                         "that are not");
}

LogicalResult LibraryCallOp::verify() {
  return failure(failed(verifyKernel(*this, getKernel())) ||
                 failed(verifyOneMemory(*this)));
}
LogicalResult LaunchOp::verify() { return verifyOneMemory(*this); }

LogicalResult ProgramOp::verifyRegions() {
  for (auto arena : getBody().getOps<ArenaOp>()) {
    MemorySpace space = arena.getBuffer().getType().getSpace();
    const int64_t bytes = getArenaBytes(space);
    const int64_t offset = arena.getOffset(), size = arena.getBytes();
    if (offset < 0 || size < 0 || offset > bytes || size > bytes - offset)
      return arena.emitOpError("expected to lie in the ")
             << bytes << " bytes of the arena in the memory of the "
             << stringifyMemorySpace(space) << ", but got " << size << " from "
             << offset << " on";
  }
  return success();
}

LogicalResult RtDialect::verifyOperationAttribute(Operation *op,
                                                  NamedAttribute attribute) {
  if (attribute.getName() != kDeviceAttr)
    return success();
  auto kind = dyn_cast<StringAttr>(attribute.getValue());
  if (kind && kind.getValue() == kCpu)
    return success();
  return op->emitError() << kDeviceAttr
                         << " says which kind of device runs it: expected "
                         << "\"" << kCpu << "\", but got "
                         << attribute.getValue();
}

LogicalResult FusedOp::verify() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("expected block arguments of the operands' types");
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getNumOperands() != getNumResults())
    return emitOpError("expected ")
           << getNumResults() << " yielded values, but got "
           << (yield ? yield.getNumOperands() : 0);
  for (auto [value, result] :
       llvm::zip_equal(yield.getValues(), getResultTypes())) {
    if (value.getType() == result)
      continue;
    auto partial = dyn_cast<RankedTensorType>(result);
    auto whole = dyn_cast<RankedTensorType>(value.getType());
    if (!partial || !whole || partial.getRank() != whole.getRank() + 1 ||
        partial.getDimSize(0) != static_cast<int64_t>(getChunks()) ||
        partial.getShape().drop_front() != whole.getShape())
      return emitOpError("expected result type ")
             << value.getType()
             << ", or that with a leading dim of chunks, but got " << result;
  }
  if (getRowDims() > getDomain().size())
    return emitOpError("expected row_dims of at most ")
           << getDomain().size() << ", but got " << getRowDims();
  return success();
}

static LogicalResult verifyKernelExists(Operation *op, FlatSymbolRefAttr name,
                                        SymbolTableCollection &symbols) {
  // Kernels become functions when they are emitted.
  if (!symbols.lookupNearestSymbolFrom(op, name))
    return op->emitOpError("expected a kernel named ") << name;
  return success();
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyKernelExists(*this, getKernelAttr(), symbols);
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyKernelExists(*this, getKernelAttr(), symbols);
}

LogicalResult PieceAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                Type elementType, ArrayRef<int64_t> blocks,
                                ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  if (blocks.size() != 3 || from.size() != 3 || to.size() != 3)
    return emitError() << "expected three numbers each of blocks, from and to";
  if (!elementType.isIntOrFloat())
    return emitError() << "expected an element type, but got " << elementType;
  if (llvm::any_of(blocks, [](int64_t number) { return number < 0; }))
    return emitError() << "expected blocks that are not negative";
  return success();
}

LogicalResult PublishOp::verify() {
  if (!llvm::is_contained({CollectiveKind::AllReduce,
                           CollectiveKind::ReduceScatter,
                           CollectiveKind::AllSlice},
                          getKind()))
    return emitOpError("expected an all_reduce, a reduce_scatter or an "
                       "all_slice, but got ")
           << stringifyCollectiveKind(getKind());
  if (getPieces().size() != getInputs().size())
    return emitOpError("expected a piece an input, but got ")
           << getPieces().size() << " for " << getInputs().size();
  for (auto piece : getPieces().getAsRange<PieceAttr>())
    if (piece.getBlocks()[0] * piece.getBlocks()[1] != 1)
      return emitOpError("expected pieces of one block, but got ") << piece;
  if (getOutputs().size() != getInputs().size() * getPeers())
    return emitOpError("expected ")
           << getPeers() << " results an input, but got " << getOutputs().size()
           << " for " << getInputs().size();
  return success();
}

LogicalResult CollectiveOp::verify() {
  size_t pieces = getPieces().size();
  bool gives = getKind() != CollectiveKind::Recv;
  bool takes = getKind() != CollectiveKind::Send;
  // Of what the host takes part in, a rank is one end, as its buffers say.
  if (getKind() == CollectiveKind::Reduce ||
      (getKind() == CollectiveKind::Broadcast &&
       getFrom().size() != getTo().size())) {
    takes = getFrom().empty();
    gives = !takes;
  }
  size_t from = gives ? pieces : 0;
  size_t to = takes ? pieces : 0;
  if (getFrom().size() != from || getTo().size() != to)
    return emitOpError("expected ")
           << from << " buffers to read and " << to << " to write, but got "
           << getFrom().size() << " and " << getTo().size();
  // No hash table: any number may stand there, its own special ones, too.
  for (auto [i, axis] : llvm::enumerate(getAxes()))
    if (axis < 0 || llvm::is_contained(getAxes().take_front(i), axis))
      return emitOpError("expected distinct axes, but got ") << axis;
  return success();
}
