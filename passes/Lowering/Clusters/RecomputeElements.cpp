//===- RecomputeElements.cpp - What kernels store for each other ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are formed by what they may compute together: what one gives others
// is whatever those read of it, often several tensors that are each a few
// instructions away from one another. Here a minimum cut between all that a
// kernel reads and all that later ones want of it decides what goes through
// memory. Contractions and reductions are never repeated.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Interfaces/Cost.h"
#include "passes/Analysis/MinimumCut.h"
#include "passes/Lowering/Program/Bindings.h"
#include "passes/Lowering/Clusters/ClusterAnalysis.h"
#include "passes/Lowering/Kernels/KernelEdits.h"
#include "passes/Lowering/Memory/MemoryLayout.h"
#include "passes/Lowering/Passes.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dist;

namespace mlir::dist {
#define GEN_PASS_DEF_RECOMPUTEELEMENTSPASS
#include "passes/Lowering/Passes.h.inc"
} // namespace mlir::dist

namespace {

/// A vector instruction takes as long as so many bytes an element to or from
/// memory, where what is stored is larger than the caches; and where it is not.
constexpr double instructionBytes = 0.25, instructionBytesCached = 1;
constexpr int64_t cachedBytes = 512 * 1024;
/// What a value costs that has to stay longer than it would, of its bytes.
constexpr double holdShare = 0.5;
/// The same of a variable that is updated before: it would have to be copied.
constexpr double replacedShare = 4;
/// And of what an all-reduce adds up where it lies, as long as nobody else
/// reads that: it is copied else.
constexpr double reducedShare = 2;
/// Less than this share of what it moves is not worth the change.
constexpr double leastGain = 0.1;

/// One kernel whose results others read.
class Giver {
public:
  Giver(rt::FusedOp giver, llvm::DenseMap<Operation *, int64_t> &position)
      : giver(giver), position(position), place(position.lookup(giver)) {}

  /// Whether others compute what it gave them; it still gives it then.
  bool run();
  /// The kernel as it is now.
  rt::FusedOp get() const { return giver; }

private:
  struct Wanted {
    rt::FusedOp taker;
    SmallVector<unsigned> operands; // of the taker, results of the giver
  };

  void collectTakers();
  Value getValue(const Wanted &wanted, unsigned operand);
  bool staysStored(OpResult result);
  bool isReplaced(BlockArgument variable, int64_t before);
  bool isCopyable(Operation *op);
  std::optional<double> availableCost(Value value);
  double holdCost(Value operand);
  bool cut(llvm::SmallSetVector<Value, 8> &stored);
  rt::FusedOp rebuild(const Wanted &wanted,
                      const llvm::SmallSetVector<Value, 8> &stored);
  bool grow(const llvm::SmallSetVector<Value, 8> &stored);
  void setGiver(rt::FusedOp changed);
  Value copy(Value value, const llvm::SmallSetVector<Value, 8> &stored,
             OpBuilder &b, IRMapping &mapping,
             llvm::function_ref<Value(Value)> read);

  rt::FusedOp giver;
  llvm::DenseMap<Operation *, int64_t> &position;
  int64_t place;
  ClusterInfo info;
  SmallVector<Wanted> takers;
  llvm::SmallPtrSet<Operation *, 4> refused;
  double instruction = instructionBytes;
};

} // namespace

/// Other dialects' kernels have buffers in an order of their own.
static bool isGraphOnly(rt::FusedOp op) {
  return llvm::all_of(op.getBody().front().without_terminator(),
                      [](Operation &inner) {
                        return isa<graph::GraphDialect>(inner.getDialect());
                      });
}

/// The input that is the value, perhaps as another view of the same shape.
template <typename Inputs>
static std::optional<unsigned> findInput(const Inputs &inputs, Value value) {
  for (auto [number, input] : llvm::enumerate(inputs))
    if (input.getType() == value.getType() &&
        getReshaped(input) == getReshaped(value))
      return number;
  return std::nullopt;
}

/// The kernel's result that an operand is, looked at through views that end in
/// the same shape.
static OpResult getResultOf(Value operand, rt::FusedOp giver) {
  auto result = dyn_cast<OpResult>(getReshaped(operand));
  return result && result.getOwner() == giver &&
                 result.getType() == operand.getType()
             ? result
             : OpResult();
}

void Giver::collectTakers() {
  takers.clear();
  llvm::MapVector<Operation *, SmallVector<unsigned>> operands;
  for (OpResult result : giver->getResults()) {
    SmallVector<OpOperand *> readers;
    collectReaders(result, readers);
    for (OpOperand *use : readers)
      if (getResultOf(use->get(), giver) == result)
        operands[use->getOwner()].push_back(use->getOperandNumber());
  }
  for (auto &[op, numbers] : operands) {
    auto taker = dyn_cast<rt::FusedOp>(op);
    if (!taker || taker == giver || refused.contains(taker) ||
        taker.getDomain() != giver.getDomain() || !isGraphOnly(taker) ||
        !analyzeBody(taker.getBody().front()))
      continue;
    llvm::sort(numbers);
    takers.push_back({taker, numbers});
  }
}

/// The value of the giver's body that the operand is.
Value Giver::getValue(const Wanted &wanted, unsigned operand) {
  rt::FusedOp taker = wanted.taker;
  return getYielded(
      giver)[getResultOf(taker.getInputs()[operand], giver).getResultNumber()];
}

/// Whether somebody reads the result who cannot compute it.
bool Giver::staysStored(OpResult result) {
  SmallVector<OpOperand *> readers;
  collectReaders(result, readers);
  return llvm::any_of(readers, [&](OpOperand *use) {
    return llvm::none_of(takers, [&](const Wanted &wanted) {
      return wanted.taker == use->getOwner() &&
             llvm::is_contained(wanted.operands, use->getOperandNumber());
    });
  });
}

bool Giver::isCopyable(Operation *op) {
  if (isFloating(op))
    return !isa<graph::TransposeOp, graph::SliceOp>(op);
  if (!op->hasTrait<OpTrait::Elementwise>() || op->getNumResults() != 1)
    return false;
  // A narrow value that is stored is rounded there and nowhere else: who
  // computed it again would have another one.
  Type element = getElementTypeOrSelf(op->getResult(0));
  if (isa<FloatType>(element) && getComputeType(element) != element &&
      !isa<graph::ConvertOp>(op))
    return false;
  MemberKind kind = info.kinds.lookup(op);
  return kind == MemberKind::Full || kind == MemberKind::Row;
}

/// The argument that the value is, or is a part of where that lies.
static BlockArgument getArgument(Value value) {
  value = getReshaped(value);
  auto slice = value.getDefiningOp<AllSliceOp>();
  if (slice && isView(slice))
    value =
        getReshaped(slice->getOperand(cast<OpResult>(value).getResultNumber()));
  return dyn_cast<BlockArgument>(value);
}

/// Whether the variable's new value is there before the given place.
bool Giver::isReplaced(BlockArgument variable, int64_t before) {
  auto func = cast<func::FuncOp>(variable.getOwner()->getParentOp());
  Attribute state = getStateName(func.getArgAttrDict(variable.getArgNumber()));
  Operation *end = func.front().getTerminator();
  for (OpOperand &use : end->getOpOperands())
    if (state &&
        getStateName(func.getResultAttrDict(use.getOperandNumber())) == state) {
      Value updated = getReshaped(use.get());
      // Each rank's part of it is written where its old value lies.
      if (auto gather = updated.getDefiningOp<AllGatherOp>())
        updated = getReshaped(
            gather->getOperand(cast<OpResult>(updated).getResultNumber()));
      return updated.getDefiningOp() &&
             position.lookup(updated.getDefiningOp()) < before;
    }
  return false;
}

/// Of a value that is kept for the takers beyond its last reader.
double Giver::holdCost(Value value) {
  value = getReshaped(value);
  int64_t last = 0, wanted = 0;
  for (Wanted &taker : takers)
    wanted = std::max(wanted, position.lookup(taker.taker));
  double bytes = double(getByteSize(value.getType()));
  if (BlockArgument argument = getArgument(value))
    return isReplaced(argument, wanted) ? replacedShare * bytes : 0;
  SmallVector<OpOperand *> readers;
  collectReaders(value, readers);
  if (readers.size() == 1 &&
      isa<AllReduceOp, AllReduceStartOp>(readers.front()->getOwner()))
    return (holdShare + reducedShare) * bytes;
  for (OpOperand *use : readers)
    last = std::max(last, position.lookup(use->getOwner()));
  return wanted > last ? holdShare * bytes : 0;
}

/// What it costs that takers read the value of the giver's body from memory;
/// nothing where that cannot be.
std::optional<double> Giver::availableCost(Value value) {
  double bytes = double(getByteSize(value.getType()));
  double reads = double(takers.size()) * bytes;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Value operand = giver.getInputs()[argument.getArgNumber()];
    bool readAnyway = llvm::all_of(takers, [&](Wanted &wanted) {
      return findInput(wanted.taker.getInputs(), operand).has_value();
    });
    return readAnyway ? 0.0 : reads + holdCost(operand);
  }
  for (auto [result, yielded] :
       llvm::zip_equal(giver->getResults(), getYielded(giver)))
    if (yielded == value && result.getType() == value.getType())
      return (staysStored(result) ? 0 : bytes) + reads + holdCost(result);
  Operation *op = value.getDefiningOp();
  auto kind = info.kinds.find(op);
  if (kind == info.kinds.end() || kind->second == MemberKind::OuterReduction)
    return std::nullopt;
  return bytes + reads;
}

/// Which values of the body takers read from memory; false: those that they do
/// already, or about as many bytes.
bool Giver::cut(llvm::SmallSetVector<Value, 8> &stored) {
  MinimumCut graph;
  unsigned source = graph.addNode(), sink = graph.addNode();
  llvm::DenseMap<Value, unsigned> in, out;
  SmallVector<Value> values;
  auto add = [&](Value value) {
    in[value] = graph.addNode();
    out[value] = graph.addNode();
    values.push_back(value);
    std::optional<double> cost = availableCost(value);
    graph.addEdge(in[value], out[value],
                  cost ? int64_t(*cost) : MinimumCut::kInfinite);
  };
  Block &body = giver.getBody().front();
  for (BlockArgument argument : body.getArguments()) {
    add(argument);
    graph.addEdge(source, in[argument], MinimumCut::kInfinite);
  }
  for (Operation &op : body.without_terminator()) {
    double price = MinimumCut::kInfinite;
    if (isCopyable(&op)) {
      auto costed = dyn_cast<CostOpInterface>(&op);
      auto type = cast<RankedTensorType>(op.getResult(0).getType());
      price = isFloating(&op)
                  ? 0
                  : (costed ? costed.getInstructions() : 1) * instruction *
                        double(takers.size()) * double(type.getNumElements());
    }
    for (Value result : op.getResults()) {
      add(result);
      if (price > 0)
        graph.addEdge(source, in[result], int64_t(price));
      for (Value operand : op.getOperands())
        graph.addEdge(out[operand], in[result], MinimumCut::kInfinite);
    }
  }
  double before = 0;
  llvm::SmallSetVector<Value, 8> wanted;
  for (Wanted &taker : takers)
    for (unsigned number : taker.operands)
      wanted.insert(getValue(taker, number));
  for (Value value : wanted) {
    graph.addEdge(out[value], sink, MinimumCut::kInfinite);
    before += availableCost(value).value_or(0);
  }
  int64_t after = graph.solve(source, sink);
  if (double(after) > (1 - leastGain) * before)
    return false;
  for (Value value : values)
    if (graph.isOnSourceSide(in[value]) && !graph.isOnSourceSide(out[value]))
      stored.insert(value);
  return true;
}

/// It takes the place of what the giver was.
void Giver::setGiver(rt::FusedOp changed) {
  position[changed] = place;
  giver = changed;
}

/// Gives the kernel results for those of its values that have none; false: that
/// would be too many.
bool Giver::grow(const llvm::SmallSetVector<Value, 8> &stored) {
  SmallVector<Value> added;
  for (Value value : stored)
    if (!isa<BlockArgument>(value) &&
        !llvm::is_contained(getYielded(giver), value))
      added.push_back(value);
  if (giver->getNumOperands() + giver->getNumResults() + added.size() >
      kMaxKernelBuffers)
    return false;
  setGiver(addResults(giver, added));
  return true;
}

/// The value in the taker's body, computed there or read.
Value Giver::copy(Value value, const llvm::SmallSetVector<Value, 8> &stored,
                  OpBuilder &b, IRMapping &mapping,
                  llvm::function_ref<Value(Value)> read) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  if (stored.contains(value)) {
    Value argument = read(value);
    mapping.map(value, argument);
    return argument;
  }
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    copy(operand, stored, b, mapping, read);
  b.clone(*op, mapping);
  return mapping.lookup(value);
}

/// The taker as it reads what is stored and computes the rest; null: that is no
/// kernel.
rt::FusedOp Giver::rebuild(const Wanted &wanted,
                           const llvm::SmallSetVector<Value, 8> &stored) {
  rt::FusedOp taker = wanted.taker;
  OpBuilder b(taker);
  auto changed = cast<rt::FusedOp>(b.clone(*taker));
  Block &body = changed.getBody().front();
  SmallVector<Value> inputs(changed.getInputs());
  b.setInsertionPointToStart(&body);
  auto read = [&](Value value) -> Value {
    Value from;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      from = giver.getInputs()[argument.getArgNumber()];
    } else {
      auto place = llvm::find(getYielded(giver), value);
      from = giver->getResult(place - getYielded(giver).begin());
    }
    if (std::optional<unsigned> known = findInput(inputs, from))
      return body.getArgument(*known);
    inputs.push_back(from);
    return body.addArgument(from.getType(), from.getLoc());
  };
  IRMapping mapping;
  llvm::BitVector gone(inputs.size());
  for (unsigned number : wanted.operands) {
    Value value = getValue(wanted, number);
    if (stored.contains(value))
      continue;
    body.getArgument(number).replaceAllUsesWith(
        copy(value, stored, b, mapping, read));
    gone.set(number);
  }
  gone.resize(inputs.size());
  body.eraseArguments(gone);
  SmallVector<Value> left;
  for (auto [number, input] : llvm::enumerate(inputs))
    if (!gone.test(number))
      left.push_back(input);
  changed.getInputsMutable().assign(left);
  std::optional<ClusterInfo> whole = analyzeBody(body);
  bool fits = whole && whole->domain == taker.getDomain() &&
              (whole->fixedRowDims < 0 ||
               whole->fixedRowDims == int64_t(taker.getRowDims())) &&
              int64_t(taker.getRowDims()) <= whole->maxRowDims &&
              whole->kinds.size() <= kMaxKernelOps &&
              left.size() + changed->getNumResults() <= kMaxKernelBuffers;
  if (fits)
    return changed;
  changed.erase();
  return {};
}

bool Giver::run() {
  std::optional<ClusterInfo> analyzed = analyzeBody(giver.getBody().front());
  if (!analyzed || !isGraphOnly(giver))
    return false;
  info = std::move(*analyzed);
  int64_t bytes = 0;
  for (Type type : giver->getResultTypes())
    bytes += getByteSize(type);
  instruction = bytes < cachedBytes ? instructionBytesCached : instructionBytes;
  // Without those that turn out not to make kernels, until all do.
  while (true) {
    collectTakers();
    llvm::SmallSetVector<Value, 8> stored;
    if (takers.empty() || !cut(stored) || !grow(stored))
      return false;
    SmallVector<rt::FusedOp> changed;
    for (const Wanted &wanted : takers) {
      changed.push_back(rebuild(wanted, stored));
      if (!changed.back())
        refused.insert(wanted.taker);
    }
    bool whole = llvm::all_of(changed, [](rt::FusedOp op) { return bool(op); });
    for (auto [wanted, op] : llvm::zip_equal(takers, changed)) {
      if (!op)
        continue;
      if (whole) {
        position[op] = position.lookup(wanted.taker);
        wanted.taker->replaceAllUsesWith(op->getResults());
        wanted.taker.erase();
      } else {
        op.erase();
      }
    }
    if (whole)
      return true;
    setGiver(dropUnread(giver));
  }
}

namespace {
struct RecomputeElementsPass
    : mlir::dist::impl::RecomputeElementsPassBase<RecomputeElementsPass> {
  using Base::Base;
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isDeclaration())
        continue;
      llvm::DenseMap<Operation *, int64_t> position;
      Block &block = func.front();
      for (Operation &op : block)
        position[&op] = position.size() + 1;
      // Each looks at those that read of it; what those give others comes
      // later, as they stand by then.
      SmallVector<rt::FusedOp> changed;
      for (auto it = block.begin(); it != block.end(); ++it)
        if (auto kernel = dyn_cast<rt::FusedOp>(*it)) {
          Giver giver(kernel, position);
          if (giver.run())
            changed.push_back(giver.get());
          it = giver.get()->getIterator();
        }
      for (rt::FusedOp kernel : llvm::reverse(changed))
        dropUnread(kernel);
    }
  }
};
} // namespace
