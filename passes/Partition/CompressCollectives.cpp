//===- CompressCollectives.cpp - Gradients in fewer bytes -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Error feedback: Karimireddy, Rebjock, Stich, Jaggi, "Error Feedback Fixes
// SignSGD and other Gradient Compression Schemes" (2019).
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Processes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Partition/Compression.h"
#include "passes/Partition/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_COMPRESSCOLLECTIVESPASS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
/// A gradient's collective, and the variable that it is for.
struct GradientSum {
  Operation *op;
  StringAttr variable;
};

/// One entry.
class EntryCompressor {
public:
  EntryCompressor(func::FuncOp entry, MeshOp mesh, const CompressionSpec &spec,
                  SymbolTable &symbols)
      : entry(entry), mesh(mesh), spec(spec), symbols(symbols) {}
  /// Compresses what gets smaller by it.
  void run();
  int64_t numSums = 0, numCompressed = 0;

private:
  class Gradient;
  bool isCompressed(Operation *sum) const;
  SmallVector<GradientSum> findSums();
  Value findStepIsFinite();
  Value addState(StringRef name, RankedTensorType local,
                 DenseElementsAttr initial, ShardingAttr sharding,
                 Synchronization synchronization, Aggregation aggregation,
                 StringAttr variable);
  void setState(StringRef name, Value value);
  void compress(const GradientSum &sum);

  func::FuncOp entry;
  MeshOp mesh;
  const CompressionSpec &spec;
  SymbolTable &symbols;
  Value stepIsFinite;
  double bytesBefore = 0, bytesAfter = 0;
};

class EntryCompressor::Gradient : public GradientCompression {
public:
  Gradient(EntryCompressor &entry, GraphBuilder &g, const GradientSum &sum,
           int64_t ranks, std::string name)
      : GradientCompression(g, sum.op, ranks, entry.spec.parameter),
        entry(entry), variable(sum.variable), name(std::move(name)) {}
  Value getState(StringRef state, DenseElementsAttr initial) override {
    return entry.addState(
        getName(state), cast<RankedTensorType>(initial.getType()), initial,
        ShardingAttr::getWhole(SymbolRefAttr::get(entry.mesh.getSymNameAttr()),
                               initial.getType().getRank()),
        Synchronization::OnWrite, Aggregation::OnlyFirst, variable);
  }
  void setState(StringRef state, Value value) override {
    entry.setState(getName(state), value);
  }
  std::string getName(StringRef state) const {
    return ("compression/" + state + "/").str() + name;
  }

private:
  EntryCompressor &entry;
  StringAttr variable;
  std::string name;
};

struct CompressCollectivesPass
    : mlir::dist::impl::CompressCollectivesPassBase<CompressCollectivesPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

static func::ReturnOp getReturn(func::FuncOp entry) {
  return cast<func::ReturnOp>(entry.front().getTerminator());
}

/// A sum over ranks that may be a gradient's.
static bool isSum(Operation *op) {
  if (!isa<AllReduceOp, ReduceScatterOp>(op) || op->getNumOperands() != 1 ||
      hasOneElement(op->getOperandTypes()[0]) ||
      !isa<FloatType>(getElementTypeOrSelf(op->getOperand(0))))
    return false;
  if (auto reduce = dyn_cast<AllReduceOp>(op))
    return reduce.getReduction() == Reduction::Sum;
  return cast<ReduceScatterOp>(op).getReduction() == Reduction::Sum;
}

/// Within a process, bytes cost less than the work to save them.
bool EntryCompressor::isCompressed(Operation *sum) const {
  return getNumProcesses(mesh) == 1 ||
         crossesProcesses(mesh,
                          cast<CollectiveOpInterface>(sum).getGroupAxes());
}

/// Sums that end in the new value of a trainable variable, and in no other sum
/// on the way (those of synchronized statistics do). Single numbers, such as
/// the gradients' norm, lead from every gradient to every variable: not
/// followed.
SmallVector<GradientSum> EntryCompressor::findSums() {
  struct Use {
    StringAttr variable;
    bool sum = false;
  };
  DenseMap<Value, Use> uses;
  for (OpOperand &operand : getReturn(entry)->getOpOperands())
    if (auto name = entry.getResultAttrOfType<FlatSymbolRefAttr>(
            operand.getOperandNumber(), kVariableAttr))
      if (auto variable = symbols.lookup<VariableOp>(name.getValue()))
        if (variable.getTrainable())
          uses[operand.get()].variable = name.getAttr();
  SmallVector<GradientSum> sums;
  for (Operation &op : llvm::reverse(entry.front().without_terminator())) {
    Use use;
    for (Value result : op.getResults()) {
      if (hasOneElement(result.getType()))
        continue;
      Use other = uses.lookup(result);
      use.sum |= other.sum;
      if (!use.variable)
        use.variable = other.variable;
    }
    if (isSum(&op) && use.variable) {
      if (!use.sum && isCompressed(&op))
        sums.push_back({&op, use.variable});
      use.sum = true;
    }
    if (!use.variable && !use.sum)
      continue;
    for (Value operand : op.getOperands()) {
      Use &own = uses[operand];
      own.sum |= use.sum;
      if (!own.variable)
        own.variable = use.variable;
    }
  }
  // In the order of the program.
  std::reverse(sums.begin(), sums.end());
  return sums;
}

/// Whether the step counts, as a scalar, where --on-nonfinite=skip has
/// variables keep their values otherwise; null where they always change. Moving
/// statistics may keep theirs for other reasons.
Value EntryCompressor::findStepIsFinite() {
  Value found;
  entry.walk([&](SelectOp select) {
    Value condition = select.getOperand(0);
    if (auto all = condition.getDefiningOp<graph::BroadcastOp>())
      condition = all->getOperand(0);
    auto old = dyn_cast<BlockArgument>(select.getOperand(2));
    if (!old || !hasOneElement(condition.getType()))
      return WalkResult::advance();
    auto name = entry.getArgAttrOfType<FlatSymbolRefAttr>(old.getArgNumber(),
                                                          kVariableAttr);
    auto variable =
        name ? symbols.lookup<VariableOp>(name.getValue()) : VariableOp();
    if (!variable ||
        !(variable.getTrainable() || variable.getGroup() == "slot" ||
          variable.getGroup() == "counter"))
      return WalkResult::advance();
    found = condition;
    return WalkResult::interrupt();
  });
  return found;
}

/// The argument of state `name`, which is added to module and entry; a rank
/// has `local` of it.
Value EntryCompressor::addState(StringRef name, RankedTensorType local,
                                DenseElementsAttr initial,
                                ShardingAttr sharding,
                                Synchronization synchronization,
                                Aggregation aggregation, StringAttr of) {
  auto module = entry->getParentOfType<ModuleOp>();
  MLIRContext *context = entry.getContext();
  if (!symbols.lookup(name)) {
    OpBuilder builder(context);
    builder.setInsertionPointAfter(symbols.lookup(of));
    auto variable = VariableOp::create(
        builder, module.getLoc(), builder.getStringAttr(name),
        TypeAttr::get(initial.getType()), initial, /*trainable=*/UnitAttr(),
        builder.getStringAttr("compression"),
        SynchronizationAttr::get(context, synchronization),
        AggregationAttr::get(context, aggregation), FlatSymbolRefAttr::get(of),
        /*why=*/StringAttr(), sharding);
    symbols.insert(variable);
  }
  Builder b(context);
  SmallVector<NamedAttribute> attributes{
      b.getNamedAttr(DistDialect::kGlobalType,
                     TypeAttr::get(initial.getType())),
      b.getNamedAttr(DistDialect::kSharding, sharding),
      b.getNamedAttr(kNameAttr, b.getStringAttr(name)),
      b.getNamedAttr(kRoleAttr, b.getStringAttr("variable")),
      b.getNamedAttr(kVariableAttr, FlatSymbolRefAttr::get(context, name))};
  unsigned index = entry.getNumArguments();
  LogicalResult inserted = entry.insertArgument(
      index, local, b.getDictionaryAttr(attributes), entry.getLoc());
  (void)inserted;
  assert(succeeded(inserted) && "a function with a body takes arguments");
  return entry.getArgument(index);
}

void EntryCompressor::setState(StringRef name, Value value) {
  unsigned argument = entry.getNumArguments();
  while (entry.getArgAttrOfType<FlatSymbolRefAttr>(--argument, kVariableAttr) !=
         FlatSymbolRefAttr::get(entry.getContext(), name))
    ;
  if (stepIsFinite) {
    OpBuilder builder(getReturn(entry));
    GraphBuilder g(builder, value.getLoc());
    Value all = g.broadcastScalar(
        stepIsFinite, cast<RankedTensorType>(value.getType()).getShape());
    value = g.select(all, value, entry.getArgument(argument));
  }
  unsigned index = entry.getNumResults();
  LogicalResult inserted = entry.insertResult(index, value.getType(),
                                              entry.getArgAttrDict(argument));
  (void)inserted;
  assert(succeeded(inserted) && "a function with a body takes results");
  getReturn(entry)->insertOperands(index, value);
}

/// What pads the gradient up to equal shards: zeros at the ends of dims that
/// nothing else splits.
static graph::PadOp findPadding(Value gradient) {
  auto pad = gradient.getDefiningOp<graph::PadOp>();
  auto isZero = [](int64_t n) { return n == 0; };
  if (!pad || !graph::isZero(pad.getValue()) ||
      !llvm::all_of(pad.getLow(), isZero) ||
      !llvm::all_of(pad.getInterior(), isZero))
    return {};
  ShardingAttr own = findSharding(gradient);
  for (auto [dim, high] : llvm::enumerate(pad.getHigh()))
    if (high < 0 || (own && !own.getAxes(dim).empty()))
      return {};
  return pad;
}

void EntryCompressor::compress(const GradientSum &sum) {
  Operation *op = sum.op;
  auto collective = cast<CollectiveOpInterface>(op);
  SmallVector<StringAttr> axes = collective.getGroupAxes();
  int64_t ranks = mesh.getGroupSize(axes);
  auto given = cast<RankedTensorType>(op->getOperandTypes()[0]);
  double before = collective.getBytesSent(ranks);
  double after = spec.method->getBytes(given, ranks, spec.parameter, before);
  bytesBefore += before;
  if (after >= before || (isa<ReduceScatterOp>(op) && !spec.method->scatters)) {
    bytesAfter += before;
    return;
  }
  bytesAfter += after;
  ++numCompressed;
  OpBuilder builder(op);
  GraphBuilder g(builder, op->getLoc());
  Value x = op->getOperand(0);
  if (given.getElementTypeBitWidth() < 32)
    x = g.convert(x, builder.getF32Type());
  auto type = cast<RankedTensorType>(x.getType());
  std::string name = sum.variable.str();
  for (int64_t i = 2; llvm::any_of(
           entry.getArguments(),
           [&](BlockArgument argument) {
             return entry.getArgAttr(argument.getArgNumber(), kVariableAttr) ==
                    FlatSymbolRefAttr::get(entry.getContext(),
                                           "compression/error/" + name);
           });
       ++i)
    name = sum.variable.str() + "/" + std::to_string(i);
  Gradient one(*this, g, sum, ranks, name);
  // What was never sent is a part of the sum, each rank has its own share of;
  // of a shard of the sum, where other axes have scattered it before.
  auto sharding = ShardingAttr::getWhole(
                      SymbolRefAttr::get(mesh.getSymNameAttr()), type.getRank())
                      .withUnreduced(axes);
  if (ShardingAttr own = findSharding(op->getOperand(0)))
    for (unsigned dim = 0; dim < own.getNumDims(); ++dim)
      sharding = sharding.withDim(dim, own.getAxes(dim));
  // Padding was sent in full: what is left is of the variable's own shape, and
  // fits any number of devices.
  graph::PadOp pad = findPadding(op->getOperand(0));
  RankedTensorType kept =
      pad ? type.clone(pad.getOperand().getType().getShape()) : type;
  RankedTensorType whole = getGlobalType(kept, sharding, mesh);
  std::string error = one.getName("error");
  Value left = addState(error, kept,
                        DenseElementsAttr::get(
                            whole, builder.getZeroAttr(whole.getElementType())),
                        sharding, Synchronization::OnRead, Aggregation::Sum,
                        sum.variable);
  auto resize = [&](Value value, ArrayRef<int64_t> high) {
    auto scalar = RankedTensorType::get({}, type.getElementType());
    return g.make<graph::PadOp>(value, g.zeros(scalar), pad.getLow(), high,
                                pad.getInterior());
  };
  if (pad)
    left = resize(left, pad.getHigh());
  one.gradient = x;
  one.left = left;
  one.keeper = FlatSymbolRefAttr::get(entry.getContext(), error);
  CompressedGradient compressed = spec.method->compress(one);
  Value rest = compressed.left;
  if (pad) {
    SmallVector<int64_t> crop;
    for (int64_t high : pad.getHigh())
      crop.push_back(-high);
    rest = resize(rest, crop);
  }
  setState(error, rest);
  Value arrived = g.convert(compressed.sum, given.getElementType());
  one.note(arrived.getDefiningOp());
  if (ShardingAttr sharding = findSharding(op->getResult(0)))
    setSharding(arrived, sharding);
  op->getResult(0).replaceAllUsesWith(arrived);
  op->erase();
}

void EntryCompressor::run() {
  SmallVector<GradientSum> sums = findSums();
  numSums = sums.size();
  if (sums.empty())
    return;
  stepIsFinite = findStepIsFinite();
  for (const GradientSum &sum : sums)
    compress(sum);
  Builder b(entry.getContext());
  entry->setAttr(
      kCompressionAttr,
      b.getDictionaryAttr(
          {b.getNamedAttr("method", b.getStringAttr(spec.method->name)),
           b.getNamedAttr("what", b.getStringAttr(spec.method->what)),
           b.getNamedAttr("gradients", b.getI64IntegerAttr(numSums)),
           b.getNamedAttr("compressed", b.getI64IntegerAttr(numCompressed)),
           b.getNamedAttr("bytes_before", b.getF64FloatAttr(bytesBefore)),
           b.getNamedAttr("bytes_after", b.getF64FloatAttr(bytesAfter))}));
  int64_t id = 0;
  entry.walk([&](CollectiveOpInterface collective) {
    if (!collective.isLocal())
      collective.setCollectiveId(id++);
  });
}

void CompressCollectivesPass::runOnOperation() {
  ModuleOp module = getOperation();
  auto spec =
      CompressionSpec::parse(method, [&] { return module.emitError(); });
  if (failed(spec))
    return signalPassFailure();
  MeshOp mesh = findMesh(module);
  SymbolTable symbols(module);
  int64_t numSums = 0, numCompressed = 0;
  for (auto entry : module.getOps<func::FuncOp>()) {
    if (!mesh || entry.isExternal())
      continue;
    if (!entry.getBody().hasOneBlock()) {
      entry.emitOpError() << "dist-compress-collectives: expected one block, "
                             "but got "
                          << entry.getBody().getBlocks().size();
      return signalPassFailure();
    }
    EntryCompressor compressor(entry, mesh, *spec, symbols);
    compressor.run();
    numSums += compressor.numSums;
    numCompressed += compressor.numCompressed;
  }
  if (numCompressed > 0)
    return;
  if (numSums == 0)
    module.emitError() << "--compress: no gradient is summed "
                       << (mesh && getNumProcesses(mesh) > 1
                               ? "between processes"
                               : "over ranks")
                       << "; train with a strategy that splits the batch";
  else
    module.emitError()
        << "--compress: '" << method
        << "' would send no fewer bytes of any gradient over this many ranks; "
           "use bf16 or f16";
  signalPassFailure();
}
