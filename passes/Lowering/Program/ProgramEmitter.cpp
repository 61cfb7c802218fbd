//===- ProgramEmitter.cpp - A function with a layout becomes a program ----===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Program/ProgramEmitter.h"
#include "dialects/Graph/IR/GraphOrder.h"
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Dist/IR/Portion.h"
#include "dialects/Dist/IR/Stage.h"
#include "passes/Lowering/Program/Bindings.h"
#include "passes/Lowering/Program/CollectiveCalls.h"
#include "passes/Lowering/Library/LibraryKernels.h"
#include "passes/Lowering/Passes.h"

using namespace mlir;
using namespace mlir::dist;

namespace {

class Emitter {
public:
  Emitter(func::FuncOp func, MemoryLayout &layout, SymbolTable &symbols)
      : func(func), block(func.getBody().front()), layout(layout),
        symbols(symbols), memory(getMemory(func)),
        bufferType(rt::BufferType::get(func.getContext(), memory)) {}

  LogicalResult emit();

private:
  void emitSideBySide(graph::ConcatOp op);
  LogicalResult emitOp(Operation *op, int64_t position);
  LogicalResult emitTransfer(CollectiveOpInterface op);
  void createPublish(Operation *op, ValueRange values, ResultRange results,
                     rt::CollectiveKind kind, int64_t number,
                     ArrayRef<int64_t> axes, int64_t peers, ArrayAttr pieces);
  void emitPublish(rt::PublishOp op);
  void emitView(AllSliceOp op, const CollectiveCall &call);
  void orderFinalCopies();
  Storage addToArena(int64_t bytes);
  DictionaryAttr describePeak();
  int64_t countBindings();
  int64_t addTransfer(CollectiveOpInterface op);
  Value getBuffer(Value value);
  Value getAddress(const Storage &storage);
  DictionaryAttr describe(DictionaryAttr attributes, Type type);

  func::FuncOp func;
  Block &block;
  MemoryLayout &layout;
  SymbolTable &symbols;
  /// All buffers are there.
  rt::MemorySpace memory;
  Type bufferType;
  /// Of the entry, whose bindings those of its preparation are; slots follow.
  int64_t numBindings = 0;
  SmallVector<Attribute> transfers;
  llvm::DenseMap<Operation *, int64_t> transferIds;
  /// From where and to where, in order.
  SmallVector<std::pair<Storage, Storage>> finalCopies;
  std::optional<OpBuilder> b;
  /// By what it is in, the number or bytes there, and the offset.
  enum { kArena, kBinding, kPeer };
  llvm::DenseMap<std::tuple<int64_t, int64_t, int64_t>, Value> addresses;
};

} // namespace

Value Emitter::getAddress(const Storage &storage) {
  std::tuple<int64_t, int64_t, int64_t> key;
  int64_t offset = 0;
  if (storage.kind == Storage::Arena) {
    offset = layout.blocks[storage.number].offset + storage.delta;
    key = {kArena, storage.bytes, offset};
  } else if (storage.kind == Storage::Peer) {
    key = {kPeer, storage.number, 0};
  } else if (storage.kind == Storage::Slot) {
    key = {kBinding, numBindings + storage.number, 0};
  } else {
    offset = storage.delta;
    key = {kBinding,
           storage.kind == Storage::Argument
               ? storage.number
               : int64_t(func.getNumArguments()) + storage.number,
           offset};
  }
  Value &address = addresses[key];
  if (!address) {
    if (storage.kind == Storage::Arena)
      address = rt::ArenaOp::create(*b, func.getLoc(), bufferType, offset,
                                    storage.bytes);
    else
      address = rt::BindingOp::create(*b, func.getLoc(), bufferType,
                                      std::get<1>(key), offset);
  }
  return address;
}

Value Emitter::getBuffer(Value value) {
  return getAddress(layout.storageOf(value));
}

/// The transfer's number; and a row for what the package says of it.
int64_t Emitter::addTransfer(CollectiveOpInterface op) {
  int64_t id = op.getCollectiveId() >= 0 ? op.getCollectiveId()
                                         : int64_t(transfers.size());
  transfers.push_back(describeTransfer(op, id, op->getOperands()));
  return id;
}

LogicalResult Emitter::emitTransfer(CollectiveOpInterface op) {
  int64_t id = op.isLocal() ? -1 : addTransfer(op);
  transferIds[op] = id;
  CollectiveCall call =
      op.getCall(findMesh(op).getGroupSize(op.getGroupAxes()));
  auto offsetOf = [&](Value value) {
    Storage &storage = layout.storageOf(value);
    return storage.kind == Storage::Arena
               ? layout.blocks[storage.number].offset + storage.delta
               : -1;
  };
  ResultRange results = getCollectiveResults(op);
  if (auto slice = dyn_cast<AllSliceOp>(*op); slice && isView(slice)) {
    emitView(slice, call);
    return success();
  }
  SmallVector<CollectiveBuffer> buffers;
  for (auto [i, piece] : llvm::enumerate(call.pieces)) {
    CollectiveBuffer buffer;
    buffer.piece = piece;
    if (i < op->getNumOperands()) {
      buffer.from = getBuffer(op->getOperand(i));
      buffer.fromOffset = offsetOf(op->getOperand(i));
    }
    if (i < results.size()) {
      buffer.to = getBuffer(results[i]);
      buffer.toOffset = offsetOf(results[i]);
    }
    buffers.push_back(buffer);
  }
  return emitCollective(*b, op, id, call, buffers);
}

/// The results lie where the call says at run time.
void Emitter::createPublish(Operation *op, ValueRange values,
                            ResultRange results, rt::CollectiveKind kind,
                            int64_t number, ArrayRef<int64_t> axes,
                            int64_t peers, ArrayAttr pieces) {
  SmallVector<Value> inputs;
  for (Value value : values)
    inputs.push_back(getBuffer(value));
  SmallVector<Type> types(results.size(), bufferType);
  auto published =
      rt::PublishOp::create(*b, op->getLoc(), types, kind, number, axes, peers,
                            inputs, pieces, DictionaryAttr());
  for (auto [result, address] :
       llvm::zip_equal(results, published.getOutputs()))
    addresses[{kPeer, layout.storageOf(result).number, 0}] = address;
}

/// A slice in one block lies where the whole does.
void Emitter::emitView(AllSliceOp op, const CollectiveCall &call) {
  SmallVector<Attribute> pieces;
  for (const auto &piece : call.pieces)
    pieces.push_back(getPieceAttr(op.getContext(), piece));
  createPublish(op, op.getOperands(), op->getResults(),
                rt::CollectiveKind::AllSlice, /*number=*/-1, getAxisNumbers(op),
                /*peers=*/1, b->getArrayAttr(pieces));
}

void Emitter::emitPublish(rt::PublishOp op) {
  createPublish(op, op.getInputs(), op->getResults(), op.getKind(), op.getOp(),
                op.getAxes(), op.getPeers(), op.getPieces());
  if (DictionaryAttr transfer = op.getTransferAttr())
    transfers.push_back(transfer);
}

/// Copies what does not lie where it belongs.
void Emitter::emitSideBySide(graph::ConcatOp op) {
  int64_t offset = 0;
  for (Value operand : op.getInputs()) {
    const Storage &from = layout.storageOf(operand);
    Storage to = MemoryLayout::getPart(layout.storageOf(op.getResult()), offset,
                                       getByteSize(operand.getType()));
    if (from.kind != to.kind || from.number != to.number ||
        from.delta != to.delta)
      rt::CopyOp::create(*b, op.getLoc(), getAddress(from), getAddress(to),
                         to.bytes);
    offset += to.bytes;
  }
}

LogicalResult Emitter::emitOp(Operation *op, int64_t position) {
  if (isAlias(op) || isa<func::ReturnOp>(op))
    return success();
  if (isa<graph::SliceOp>(op) && layout.storageOf(op->getResult(0)).whole >= 0)
    return success(); // a piece of what it reads
  if (liesSideBySide(op)) {
    emitSideBySide(cast<graph::ConcatOp>(op));
    return success();
  }
  SmallVector<Value> buffers;
  auto addBuffers = [&] {
    for (Value operand : op->getOperands())
      buffers.push_back(getBuffer(operand));
    for (Value result : op->getResults())
      buffers.push_back(getBuffer(result));
  };
  if (auto call = dyn_cast<rt::CallOp>(op)) {
    auto kernel = symbols.lookup<rt::KernelOp>(call.getKernel());
    if (!kernel)
      return call.emitOpError("expected a kernel named ") << call.getKernel();
    addBuffers();
    int64_t rows = ShapedType::getNumElements(
        kernel.getDomain().take_front(kernel.getRowDims()));
    rt::LaunchOp::create(*b, op->getLoc(), call.getKernel(), buffers, rows,
                         kernel.getChunks());
    return success();
  }
  if (auto library = dyn_cast<rt::LibraryOp>(op)) {
    addBuffers();
    rt::LibraryCallOp::create(*b, op->getLoc(), library.getKernel(), buffers);
    return success();
  }
  if (auto publish = dyn_cast<rt::PublishOp>(op)) {
    emitPublish(publish);
    return success();
  }
  if (auto release = dyn_cast<rt::ReleaseOp>(op)) {
    rt::CollectiveOp::create(*b, op->getLoc(), rt::CollectiveKind::Barrier,
                             release.getOp(), release.getAxes(), ValueRange(),
                             ValueRange(), b->getArrayAttr({}),
                             /*reduction=*/0, /*algorithm=*/0, /*peer=*/0,
                             /*tag=*/0, ArrayRef<int64_t>(), /*start=*/false);
    return success();
  }
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    return emitTransfer(collective);
  if (auto wait = dyn_cast<WaitOp>(op)) {
    rt::WaitOp::create(*b, op->getLoc(),
                       transferIds.lookup(wait.getToken().getDefiningOp()));
    return success();
  }
  return op->emitOpError("no kernel runs it; the lowering has no rule for "
                         "this op, choose a strategy that does not need it");
}

DictionaryAttr Emitter::describe(DictionaryAttr attributes, Type type) {
  NamedAttrList list(attributes);
  list.set("type", TypeAttr::get(type));
  return list.getDictionary(func.getContext());
}

/// The arena's parts: what is alive when most is.
DictionaryAttr Emitter::describePeak() {
  Builder builder(func.getContext());
  // By time, what begins to live less what has ceased to.
  int64_t end = layout.positions[block.getTerminator()];
  std::vector<int64_t> change(end + 2);
  for (MemoryBlock &memory : layout.blocks) {
    if (memory.last < 0 || memory.first > end)
      continue;
    change[std::max<int64_t>(memory.first, 0)] += alignMemory(memory.bytes);
    change[std::min(memory.last, end) + 1] -= alignMemory(memory.bytes);
  }
  int64_t peakAt = 0, peak = -1, live = 0;
  for (int64_t t = 0; t <= end; ++t) {
    live += change[t];
    if (live > peak)
      peak = live, peakAt = t;
  }
  llvm::StringMap<int64_t> parts;
  for (MemoryBlock &memory : layout.blocks)
    if (memory.first <= peakAt && peakAt <= memory.last)
      parts[memory.what] += alignMemory(memory.bytes);
  if (layout.arenaBytes > peak)
    parts["fragmentation"] = layout.arenaBytes - peak;
  SmallVector<NamedAttribute> partAttributes;
  for (auto &part : parts)
    partAttributes.push_back(builder.getNamedAttr(
        part.first(), builder.getI64IntegerAttr(part.second)));
  return builder.getDictionaryAttr(partAttributes);
}

/// Copies results first, and a variable before what it is copied to changes:
/// each may be another's old value. Where they take each other's in a circle,
/// one goes through the arena.
void Emitter::orderFinalCopies() {
  struct Copy {
    Storage from, to;
    int64_t argument = -1; // that it reads, as itself or as a peer's part
    bool reads(const Storage &other) const { return argument == other.number; }
  };
  SmallVector<Copy> pending;
  llvm::DenseMap<int64_t, int64_t> readers; // by argument, of those pending
  auto emitted = [&](const Copy &copy) {
    finalCopies.push_back({copy.from, copy.to});
  };
  for (const FinalCopy &copy : layout.copies) {
    Copy one{layout.storageOf(copy.from), {}};
    one.to.kind = copy.toArgument ? Storage::Argument : Storage::Result;
    one.to.number = copy.number;
    one.from.bytes = one.to.bytes = getByteSize(copy.from.getType());
    if (!copy.toArgument) {
      emitted(one);
      continue;
    }
    const Storage &whole =
        layout.storages[layout.wholeOf(layout.storageIndex[copy.from])];
    if (whole.kind == Storage::Argument)
      ++readers[one.argument = whole.number];
    pending.push_back(one);
  }
  while (!pending.empty()) {
    SmallVector<Copy> blocked;
    for (const Copy &copy : pending) {
      if (readers.lookup(copy.to.number) != (copy.reads(copy.to) ? 1 : 0)) {
        blocked.push_back(copy);
        continue;
      }
      emitted(copy);
      if (copy.argument >= 0)
        --readers[copy.argument];
    }
    if (blocked.size() == pending.size()) {
      const Storage freed = blocked.front().to;
      for (Copy &copy : blocked)
        if (copy.reads(freed)) {
          Storage kept = addToArena(copy.from.bytes);
          finalCopies.push_back({copy.from, kept});
          copy.from = kept;
          copy.argument = -1;
        }
      readers[freed.number] = 0;
    }
    pending = std::move(blocked);
  }
}

/// Room behind all else that the arena has, for the end of the program.
Storage Emitter::addToArena(int64_t bytes) {
  MemoryBlock block;
  block.bytes = bytes;
  block.first = block.last = layout.positions[this->block.getTerminator()];
  block.offset = alignMemory(layout.arenaBytes);
  block.what = "scratch of kernels";
  layout.arenaBytes = block.offset + alignMemory(bytes);
  Storage storage;
  storage.kind = Storage::Arena;
  storage.number = layout.blocks.size();
  storage.bytes = bytes;
  layout.blocks.push_back(block);
  return storage;
}

/// Arguments and results of the entry that the function is, or prepares.
int64_t Emitter::countBindings() {
  auto prepares = func->getAttrOfType<FlatSymbolRefAttr>(kPrepares);
  Operation *entry = prepares ? symbols.lookup(prepares.getValue()) : nullptr;
  if (auto program = dyn_cast_or_null<rt::ProgramOp>(entry))
    return program.getArguments().size() + program.getResults().size();
  auto function = dyn_cast_or_null<func::FuncOp>(entry);
  if (!function)
    function = func;
  return function.getNumArguments() + function.getNumResults();
}

LogicalResult Emitter::emit() {
  numBindings = countBindings();
  SmallVector<Attribute> arguments, results;
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    arguments.push_back(describe(func.getArgAttrDict(i)
                                     ? func.getArgAttrDict(i)
                                     : DictionaryAttr::get(func.getContext()),
                                 func.getArgument(i).getType()));
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    results.push_back(describe(func.getResultAttrDict(i)
                                   ? func.getResultAttrDict(i)
                                   : DictionaryAttr::get(func.getContext()),
                               func.getResultTypes()[i]));
  orderFinalCopies();
  OpBuilder builder(func);
  const bool isInHost = memory == rt::MemorySpace::Host;
  auto program = rt::ProgramOp::create(
      builder, func.getLoc(), func.getSymName(),
      isInHost ? 0 : layout.arenaBytes, isInHost ? layout.arenaBytes : 0,
      builder.getArrayAttr(arguments), builder.getArrayAttr(results),
      describePeak());
  setWhereItRuns(program, func);
  if (Attribute name = func->getAttr(kEntryAttr))
    program->setAttr(kEntryAttr, name);
  Block *body = new Block;
  program.getBody().push_back(body);
  b.emplace(builder);
  b->setInsertionPointToEnd(body);
  for (Operation &op : block)
    if (failed(emitOp(&op, layout.positions[&op])))
      return failure();
  for (auto &[from, to] : finalCopies)
    rt::CopyOp::create(*b, func.getLoc(), getAddress(from), getAddress(to),
                       to.bytes);
  if (!transfers.empty())
    program->setAttr("transfers", builder.getArrayAttr(transfers));
  if (Attribute entry = func->getAttr(kPrepares))
    program->setAttr(kPrepares, entry);
  SmallVector<Attribute> slots;
  for (ArrayRef<Attribute> slot : layout.slots)
    slots.push_back(builder.getArrayAttr(slot));
  if (!slots.empty())
    program->setAttr(kSlots, builder.getArrayAttr(slots));
  StringAttr name = func.getSymNameAttr();
  symbols.remove(func);
  func.erase();
  program.setSymNameAttr(name);
  symbols.insert(program);
  return success();
}

LogicalResult mlir::dist::emitProgram(func::FuncOp func, MemoryLayout &layout,
                                      SymbolTable &symbols) {
  return Emitter(func, layout, symbols).emit();
}
