//===- PlanMemory.cpp - Functions become programs over one arena -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values that share memory (views, reductions in place) form one *storage*.
// Each storage is the binding of an argument, the binding of a result, or a
// block of the arena.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Mesh.h"
#include "passes/Lowering/ClusterAnalysis.h"
#include "passes/Lowering/LibraryKernels.h"
#include "passes/Lowering/MemoryPlan.h"
#include "passes/Lowering/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::dist;

namespace mlir::dist {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "passes/Lowering/Passes.h.inc"
} // namespace mlir::dist

namespace {

struct Storage {
  enum Kind { Unknown, Argument, Result, Arena } kind = Unknown;
  int64_t number = -1; // of the argument, the result or the block
  int64_t delta = 0;   // within a block that several storages share
  int64_t bytes = 0;
  int64_t first = -1, last = -1;
  std::string what;
};

/// What is copied when everything else is done.
struct FinalCopy {
  Value from;
  bool toArgument;
  int64_t number;
};

class Planner {
public:
  Planner(func::FuncOp func, int64_t threads, SymbolTable &symbols)
      : func(func), block(func.getBody().front()), threads(threads),
        symbols(symbols), bufferType(rt::BufferType::get(func.getContext())) {}

  LogicalResult run();

private:
  LogicalResult bindConstants();
  LogicalResult makeStorages();
  void placeResults();
  bool canUpdateInPlace(Value updated, BlockArgument old);
  bool readsPointwise(rt::CallOp call, Value old, Value updated);
  void placeBuckets();
  void placeBlocks();
  LogicalResult emit();
  LogicalResult emitOp(Operation *op, int64_t position);
  LogicalResult emitAllReduce(AllReduceOp op);
  std::pair<int64_t, int64_t> addTransfer(CollectiveOpInterface op);
  Value getBuffer(Value value);
  Value getAddress(const Storage &storage);
  Storage &storageOf(Value value) { return storages[storageIndex[value]]; }
  void read(Value value, int64_t position) {
    Storage &storage = storageOf(value);
    storage.last = std::max(storage.last, position);
  }
  DictionaryAttr describe(DictionaryAttr attributes, Type type);

  func::FuncOp func;
  Block &block;
  int64_t threads;
  SymbolTable &symbols;
  Type bufferType;
  llvm::DenseMap<Value, unsigned> storageIndex;
  std::vector<Storage> storages;
  std::vector<MemoryBlock> blocks;
  llvm::DenseMap<Operation *, int64_t> positions;
  llvm::DenseMap<Operation *, int64_t> scratchBlock;
  SmallVector<FinalCopy> copies;
  SmallVector<Attribute> transfers;
  std::optional<OpBuilder> b;
  llvm::DenseMap<std::pair<int64_t, int64_t>, Value> addresses;
  int64_t numArguments = 0;
  int64_t arenaBytes = 0;
};

} // namespace

/// Constants that kernels do not hold become arguments bound to variables of
/// the group "constant".
LogicalResult Planner::bindConstants() {
  OpBuilder builder(func.getContext());
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto constant = dyn_cast<graph::ConstantOp>(op);
    if (!constant)
      continue;
    ModuleOp module = func->getParentOfType<ModuleOp>();
    graph::VariableOp variable;
    for (auto other : module.getOps<graph::VariableOp>())
      if (other.getGroup() == "constant" &&
          other.getInitial() == constant.getValue())
        variable = other;
    if (!variable) {
      builder.setInsertionPointToStart(module.getBody());
      OperationState state(constant.getLoc(),
                           graph::VariableOp::getOperationName());
      state.addAttribute("sym_name", builder.getStringAttr("constant"));
      state.addAttribute("type", TypeAttr::get(constant.getType()));
      state.addAttribute("initial", constant.getValue());
      state.addAttribute("group", builder.getStringAttr("constant"));
      variable = cast<graph::VariableOp>(builder.create(state));
      symbols.insert(variable);
    }
    unsigned number = func.getNumArguments();
    NamedAttrList attributes;
    attributes.set("graph.role", builder.getStringAttr("variable"));
    attributes.set("graph.variable", FlatSymbolRefAttr::get(variable));
    if (failed(func.insertArgument(number, constant.getType(),
                                   attributes.getDictionary(func.getContext()),
                                   constant.getLoc())))
      return failure();
    constant.replaceAllUsesWith(func.getArgument(number));
    constant.erase();
  }
  return success();
}

LogicalResult Planner::makeStorages() {
  auto add = [&](Value value) -> Storage & {
    storageIndex[value] = storages.size();
    storages.emplace_back();
    storages.back().bytes = getByteSize(value.getType());
    return storages.back();
  };
  numArguments = func.getNumArguments();
  for (BlockArgument argument : block.getArguments()) {
    Storage &storage = add(argument);
    storage.kind = Storage::Argument;
    storage.number = argument.getArgNumber();
    storage.first = -1;
  }
  int64_t position = 0;
  for (Operation &op : block) {
    positions[&op] = position;
    if (isa<graph::ReshapeOp>(op)) {
      storageIndex[op.getResult(0)] = storageIndex[op.getOperand(0)];
      continue; // no place of its own in time
    }
    for (Value operand : op.getOperands())
      read(operand, position);
    if (isa<AllReduceOp>(op)) {
      // In place where the unreduced value is of no further use.
      for (auto [operand, result] :
           llvm::zip_equal(op.getOperands(), op.getResults())) {
        Value base = operand;
        bool onlyUse = base.hasOneUse();
        while (auto view = base.getDefiningOp<graph::ReshapeOp>()) {
          base = view.getOperand();
          onlyUse &= base.hasOneUse();
        }
        if (onlyUse && !isa<BlockArgument>(base)) {
          storageIndex[result] = storageIndex[operand];
          continue;
        }
        add(result).first = position;
        storageOf(result).what = "communication buffers";
        storageOf(result).last = position;
      }
    } else {
      for (Value result : op.getResults()) {
        Storage &storage = add(result);
        storage.first = storage.last = position;
        storage.what = "activations and gradients";
      }
    }
    ++position;
  }
  return success();
}

/// Whether the kernel reads `old` only at the point at which it writes
/// `updated`, which needs it: then both may be one memory.
bool Planner::readsPointwise(rt::CallOp call, Value old, Value updated) {
  auto kernel = symbols.lookup<rt::KernelOp>(call.getKernel());
  if (!kernel)
    return false;
  Block &body = kernel.getBody().front();
  Operation *first = &body.front();
  if (auto iface = dyn_cast<ElementalOpInterface>(first);
      iface && !iface.isElemental())
    return false;
  std::optional<ClusterInfo> info = analyzeBody(body);
  if (!info)
    return false;
  Value yielded =
      body.getTerminator()->getOperand(cast<OpResult>(updated).getResultNumber());
  Operation *def = yielded.getDefiningOp();
  if (!def || info->kinds.lookup(def) != MemberKind::Full ||
      !info->kinds.count(def))
    return false;
  for (auto [input, argument] :
       llvm::zip_equal(call.getInputs(), body.getArguments())) {
    if (storageIndex[input] != storageIndex[old])
      continue;
    for (Operation *user : argument.getUsers()) {
      bool pointwise = user->hasTrait<OpTrait::Elementwise>() &&
                       info->kinds.count(user) &&
                       info->kinds.lookup(user) == MemberKind::Full;
      if (!pointwise)
        return false;
    }
  }
  // Every later phase of a row would read what an earlier one wrote.
  if (info->fixedRowDims >= 0)
    return false;
  // Without a dependence, nothing orders the read before the write.
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> work{yielded};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (storageIndex[call.getInputs()[argument.getArgNumber()]] ==
          storageIndex[old])
        return true;
      continue;
    }
    if (seen.insert(value.getDefiningOp()).second)
      llvm::append_range(work, value.getDefiningOp()->getOperands());
  }
  return false;
}

bool Planner::canUpdateInPlace(Value updated, BlockArgument old) {
  Storage &storage = storageOf(updated);
  if (storage.kind != Storage::Unknown || isa<BlockArgument>(updated))
    return false;
  if (updated.getType() != old.getType())
    return false;
  Operation *def = updated.getDefiningOp();
  while (isa<graph::ReshapeOp>(def)) {
    updated = def->getOperand(0);
    def = updated.getDefiningOp();
    if (!def)
      return false;
  }
  // A result that returns the old value reads it last of all.
  int64_t lastRead = storageOf(old).last;
  int64_t written = storage.first;
  if (lastRead < written)
    return true;
  auto call = dyn_cast<rt::CallOp>(def);
  return lastRead == written && call && positions[def] == written &&
         readsPointwise(call, old, updated);
}

void Planner::placeResults() {
  Operation *terminator = block.getTerminator();
  llvm::DenseMap<Attribute, BlockArgument> argumentOf;
  for (BlockArgument argument : block.getArguments())
    if (Attribute variable =
            func.getArgAttr(argument.getArgNumber(), "graph.variable"))
      argumentOf.try_emplace(variable, argument);
  // The return itself is no reader where it gives a variable back unchanged.
  llvm::DenseMap<unsigned, int64_t> readersByReturn;
  int64_t end = positions[terminator];
  for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
    ++readersByReturn[storageIndex[value]];
  for (BlockArgument argument : block.getArguments()) {
    Storage &storage = storageOf(argument);
    if (storage.last != end)
      continue;
    bool onlyItself = true;
    storage.last = -1;
    for (auto &entry : storageIndex) {
      if (entry.second != storageIndex[argument])
        continue;
      for (OpOperand &use : entry.first.getUses()) {
        Operation *user = use.getOwner();
        if (user != terminator) {
          storage.last = std::max(storage.last, positions[user]);
          continue;
        }
        Attribute variable =
            func.getResultAttr(use.getOperandNumber(), "graph.variable");
        if (!variable || argumentOf.lookup(variable) != argument)
          onlyItself = false;
      }
    }
    if (!onlyItself)
      storage.last = end;
  }
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    Storage &storage = storageOf(value);
    Attribute variable = func.getResultAttr(i, "graph.variable");
    BlockArgument old =
        variable ? argumentOf.lookup(variable) : BlockArgument();
    if (old) {
      if (storageIndex[value] == storageIndex[old])
        continue;
      if (canUpdateInPlace(value, old)) {
        storage.kind = Storage::Argument;
        storage.number = old.getArgNumber();
        continue;
      }
      copies.push_back({value, true, int64_t(old.getArgNumber())});
      continue;
    }
    if (storage.kind == Storage::Unknown) {
      storage.kind = Storage::Result;
      storage.number = i;
      continue;
    }
    copies.push_back({value, false, int64_t(i)});
  }
}

/// The operands of one all-reduce lie one after another, so that it is one
/// transfer.
void Planner::placeBuckets() {
  for (Operation &op : block) {
    auto reduce = dyn_cast<AllReduceOp>(op);
    if (!reduce)
      continue;
    llvm::MapVector<Type, SmallVector<unsigned>> byType;
    for (Value result : reduce->getResults()) {
      unsigned index = storageIndex[result];
      if (storages[index].kind == Storage::Unknown)
        byType[cast<RankedTensorType>(result.getType()).getElementType()]
            .push_back(index);
    }
    for (auto &[type, members] : byType) {
      MemoryBlock bucket;
      bucket.what = "communication buffers";
      bucket.first = storages[members.front()].first;
      for (unsigned index : members) {
        Storage &storage = storages[index];
        if (storage.kind == Storage::Arena)
          continue; // an operand given twice
        storage.kind = Storage::Arena;
        storage.number = blocks.size();
        storage.delta = bucket.bytes;
        bucket.bytes += alignMemory(storage.bytes);
        bucket.first = std::min(bucket.first, storage.first);
        bucket.last = std::max(bucket.last, storage.last);
      }
      blocks.push_back(bucket);
    }
  }
}

void Planner::placeBlocks() {
  for (Storage &storage : storages) {
    if (storage.kind != Storage::Unknown)
      continue;
    MemoryBlock memory;
    memory.bytes = storage.bytes;
    memory.first = storage.first;
    memory.last = storage.last;
    memory.what = storage.what;
    storage.kind = Storage::Arena;
    storage.number = blocks.size();
    blocks.push_back(memory);
  }
  for (Operation &op : block) {
    auto library = dyn_cast<rt::LibraryOp>(op);
    if (!library)
      continue;
    auto info = askLibrary(library.getKernel(), threads);
    if (!info || info->scratchpadBytes == 0)
      continue;
    MemoryBlock memory;
    memory.bytes = info->scratchpadBytes;
    memory.first = memory.last = positions[&op];
    memory.what = "library scratchpads";
    scratchBlock[&op] = blocks.size();
    blocks.push_back(memory);
  }
  arenaBytes = planMemory(blocks);
}

Value Planner::getAddress(const Storage &storage) {
  std::pair<int64_t, int64_t> key;
  int64_t offset = 0;
  if (storage.kind == Storage::Arena) {
    offset = blocks[storage.number].offset + storage.delta;
    key = {offset, storage.bytes};
  } else {
    key = {-1, storage.kind == Storage::Argument
                   ? storage.number
                   : numArguments + storage.number};
  }
  Value &address = addresses[key];
  if (!address) {
    if (storage.kind == Storage::Arena)
      address = rt::ArenaOp::create(*b, func.getLoc(), bufferType, offset, storage.bytes);
    else
      address = rt::BindingOp::create(*b, func.getLoc(), bufferType, key.second);
  }
  return address;
}

Value Planner::getBuffer(Value value) { return getAddress(storageOf(value)); }

/// The transfer's number and the bit mask of its axes; and a row for what the
/// package says of it.
std::pair<int64_t, int64_t> Planner::addTransfer(CollectiveOpInterface op) {
  MeshOp mesh = findMesh(op);
  int64_t group = 0;
  SmallVector<Attribute> axes;
  for (StringAttr axis : op.getGroupAxes()) {
    axes.push_back(axis);
    for (auto [i, name] :
         llvm::enumerate(mesh.getAxisNames().getAsRange<StringAttr>()))
      if (name == axis)
        group |= int64_t(1) << i;
  }
  int64_t id = op.getCollectiveId() >= 0 ? op.getCollectiveId()
                                         : int64_t(transfers.size());
  int64_t bytes = 0;
  for (Value operand : op->getOperands())
    bytes += getByteSize(operand.getType());
  Builder attributes(func.getContext());
  transfers.push_back(attributes.getDictionaryAttr(
      {attributes.getNamedAttr("id", attributes.getI64IntegerAttr(id)),
       attributes.getNamedAttr(
           "op", attributes.getStringAttr(op->getName().stripDialect())),
       attributes.getNamedAttr(
           "tensor", attributes.getStringAttr(op.getCollectiveOrigin())),
       attributes.getNamedAttr("axes", attributes.getArrayAttr(axes)),
       attributes.getNamedAttr("bytes", attributes.getI64IntegerAttr(bytes)),
       attributes.getNamedAttr(
           "reason", attributes.getStringAttr(op.getCollectiveReason())),
       attributes.getNamedAttr(
           "origin", attributes.getStringAttr(op.getCollectiveOrigin()))}));
  return {id, group};
}

LogicalResult Planner::emitAllReduce(AllReduceOp op) {
  auto [id, group] = addTransfer(op);
  // What is not reduced in place is copied to where it is.
  for (auto [operand, result] :
       llvm::zip_equal(op->getOperands(), op->getResults()))
    if (storageIndex[operand] != storageIndex[result])
      rt::CopyOp::create(*b, op.getLoc(), getBuffer(operand),
                         getBuffer(result), getByteSize(operand.getType()));
  struct Span {
    Value buffer;
    int64_t begin, end;
    Type type;
  };
  SmallVector<Span> spans;
  llvm::SmallDenseSet<unsigned> done;
  for (Value result : op->getResults()) {
    if (!done.insert(storageIndex[result]).second)
      continue;
    Storage &storage = storageOf(result);
    Type type = cast<RankedTensorType>(result.getType()).getElementType();
    if (storage.kind == Storage::Arena) {
      int64_t begin = blocks[storage.number].offset + storage.delta;
      auto *found = llvm::find_if(spans, [&](Span &span) {
        return span.type == type && span.end == begin;
      });
      if (found != spans.end()) {
        found->end = begin + alignMemory(storage.bytes);
        continue;
      }
      spans.push_back({getBuffer(result), begin,
                       begin + alignMemory(storage.bytes), type});
    } else {
      spans.push_back({getBuffer(result), 0, storage.bytes, type});
    }
  }
  for (Span &span : spans) {
    int64_t width = std::max<int64_t>(1, span.type.getIntOrFloatBitWidth() / 8);
    rt::AllReduceOp::create(*b, op.getLoc(), span.buffer, id,
                            (span.end - span.begin) / width, span.type,
                            static_cast<int64_t>(op.getReduction()), group);
  }
  return success();
}

LogicalResult Planner::emitOp(Operation *op, int64_t position) {
  if (isa<graph::ReshapeOp, func::ReturnOp>(op))
    return success();
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
    auto scratch = scratchBlock.find(op);
    if (scratch != scratchBlock.end())
      buffers.push_back(
          rt::ArenaOp::create(*b, op->getLoc(), bufferType,
                              blocks[scratch->second].offset,
                              blocks[scratch->second].bytes));
    rt::LibraryCallOp::create(*b, op->getLoc(), library.getKernel(), buffers);
    return success();
  }
  if (auto reduce = dyn_cast<AllReduceOp>(op))
    return emitAllReduce(reduce);
  if (auto gather = dyn_cast<AllGatherOp>(op)) {
    auto [id, group] = addTransfer(gather);
    for (auto [operand, result, dim] : llvm::zip_equal(
             op->getOperands(), op->getResults(), gather.getDims())) {
      if (dim != 0)
        return op->emitOpError("expected a gather along dim 0, but got ")
               << dim << "; other dims need a transpose behind it";
      rt::AllGatherOp::create(*b, op->getLoc(), getBuffer(operand),
                              getBuffer(result), id,
                              getByteSize(operand.getType()), group);
    }
    return success();
  }
  return op->emitOpError("no kernel runs it; the lowering has no rule for "
                         "this op, choose a strategy that does not need it");
}

DictionaryAttr Planner::describe(DictionaryAttr attributes, Type type) {
  NamedAttrList list(attributes);
  list.set("type", TypeAttr::get(type));
  return list.getDictionary(func.getContext());
}

LogicalResult Planner::emit() {
  SmallVector<Attribute> arguments, results;
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    arguments.push_back(describe(
        func.getArgAttrDict(i) ? func.getArgAttrDict(i)
                               : DictionaryAttr::get(func.getContext()),
        func.getArgument(i).getType()));
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    results.push_back(describe(
        func.getResultAttrDict(i) ? func.getResultAttrDict(i)
                                  : DictionaryAttr::get(func.getContext()),
        func.getResultTypes()[i]));
  OpBuilder builder(func);
  // The peak's parts: what is alive when most is.
  llvm::StringMap<int64_t> parts;
  int64_t peakAt = 0, peak = -1;
  for (int64_t t = 0, end = positions[block.getTerminator()]; t <= end; ++t) {
    int64_t live = 0;
    for (MemoryBlock &memory : blocks)
      if (memory.first <= t && t <= memory.last)
        live += alignMemory(memory.bytes);
    if (live > peak)
      peak = live, peakAt = t;
  }
  for (MemoryBlock &memory : blocks)
    if (memory.first <= peakAt && peakAt <= memory.last)
      parts[memory.what] += alignMemory(memory.bytes);
  if (arenaBytes > peak)
    parts["fragmentation"] = arenaBytes - peak;
  SmallVector<NamedAttribute> partAttributes;
  for (auto &part : parts)
    partAttributes.push_back(builder.getNamedAttr(
        part.first(), builder.getI64IntegerAttr(part.second)));
  auto program = rt::ProgramOp::create(
      builder, func.getLoc(), func.getSymName(), arenaBytes,
      builder.getArrayAttr(arguments), builder.getArrayAttr(results),
      builder.getDictionaryAttr(partAttributes));
  Block *body = new Block;
  program.getBody().push_back(body);
  b.emplace(builder);
  b->setInsertionPointToEnd(body);
  for (Operation &op : block)
    if (failed(emitOp(&op, positions[&op])))
      return failure();
  // Results first: a variable's old value may be one of them.
  llvm::stable_sort(copies, [](const FinalCopy &l, const FinalCopy &r) {
    return !l.toArgument && r.toArgument;
  });
  llvm::SmallDenseSet<int64_t> overwritten;
  for (FinalCopy &copy : copies) {
    Storage to;
    to.kind = copy.toArgument ? Storage::Argument : Storage::Result;
    to.number = copy.number;
    to.bytes = getByteSize(copy.from.getType());
    Storage &from = storageOf(copy.from);
    if (from.kind == Storage::Argument && overwritten.contains(from.number))
      return func.emitOpError(
          "two variables take each other's old value; assign one of them "
          "through a computed copy");
    rt::CopyOp::create(*b, func.getLoc(), getAddress(from), getAddress(to),
                       to.bytes);
    if (copy.toArgument)
      overwritten.insert(copy.number);
  }
  if (!transfers.empty())
    program->setAttr("transfers", builder.getArrayAttr(transfers));
  StringAttr name = func.getSymNameAttr();
  symbols.remove(func);
  func.erase();
  program.setSymNameAttr(name);
  symbols.insert(program);
  return success();
}

LogicalResult Planner::run() {
  if (failed(bindConstants()) || failed(makeStorages()))
    return failure();
  placeResults();
  placeBuckets();
  placeBlocks();
  return emit();
}

namespace {
struct PlanMemoryPass : mlir::dist::impl::PlanMemoryPassBase<PlanMemoryPass> {
  using Base::Base;
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto func :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (func.isDeclaration() || func.isPrivate())
        continue;
      if (failed(Planner(func, threads, symbols).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
