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
#include "dialects/Dist/IR/CopyPlace.h"
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
/// And of a value that an all-reduce adds up in place: once another kernel
/// reads it, too, it has to be copied first.
constexpr double reducedShare = 2;
/// Less than this share of what it moves is not worth the change.
constexpr double leastGain = 0.1;

/// One kernel whose results others read.
class Producer {
public:
  Producer(rt::FusedOp producer, llvm::DenseMap<Operation *, int64_t> &position)
      : producer(producer), position(position),
        place(position.lookup(producer)) {}

  /// Whether others compute what it gave them; it still gives it then.
  bool run();
  /// The kernel as it is now.
  rt::FusedOp get() const { return producer; }

private:
  struct Consumer {
    rt::FusedOp kernel;
    SmallVector<unsigned> operands; // of the kernel, results of the producer
  };

  void collectConsumers();
  Value getValue(const Consumer &consumer, unsigned operand);
  bool staysStored(OpResult result);
  bool isReplaced(BlockArgument variable, int64_t before);
  bool isCopyable(Operation *op);
  std::optional<double> availableCost(Value value);
  double holdCost(Value operand);
  bool cut(llvm::SmallSetVector<Value, 8> &stored);
  rt::FusedOp rebuild(const Consumer &consumer,
                      const llvm::SmallSetVector<Value, 8> &stored);
  bool grow(const llvm::SmallSetVector<Value, 8> &stored);
  void setProducer(rt::FusedOp changed);
  Value copy(Value value, const llvm::SmallSetVector<Value, 8> &stored,
             OpBuilder &b, IRMapping &mapping,
             llvm::function_ref<Value(Value)> read);

  rt::FusedOp producer;
  llvm::DenseMap<Operation *, int64_t> &position;
  int64_t place;
  ClusterInfo info;
  SmallVector<Consumer> consumers;
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
static OpResult getResultOf(Value operand, rt::FusedOp producer) {
  auto result = dyn_cast<OpResult>(getReshaped(operand));
  return result && result.getOwner() == producer &&
                 result.getType() == operand.getType()
             ? result
             : OpResult();
}

void Producer::collectConsumers() {
  consumers.clear();
  int64_t microbatch = findMicrobatch(producer);
  llvm::MapVector<Operation *, SmallVector<unsigned>> operands;
  for (OpResult result : producer->getResults()) {
    SmallVector<OpOperand *> readers;
    collectReaders(result, readers);
    for (OpOperand *use : readers)
      if (getResultOf(use->get(), producer) == result)
        operands[use->getOwner()].push_back(use->getOperandNumber());
  }
  for (auto &[op, numbers] : operands) {
    auto kernel = dyn_cast<rt::FusedOp>(op);
    // One microbatch's copy is not put into another's: those that are not
    // shown are made of them (CopyPlace.h).
    if (!kernel || kernel == producer || refused.contains(kernel) ||
        (microbatch >= 0 && findMicrobatch(kernel) != microbatch) ||
        kernel.getDomain() != producer.getDomain() || !isGraphOnly(kernel) ||
        !analyzeBody(kernel.getBody().front()))
      continue;
    llvm::sort(numbers);
    consumers.push_back({kernel, numbers});
  }
}

/// The value of the producer's body that the operand is.
Value Producer::getValue(const Consumer &consumer, unsigned operand) {
  rt::FusedOp kernel = consumer.kernel;
  return getYielded(producer)[getResultOf(kernel.getInputs()[operand], producer)
                                  .getResultNumber()];
}

/// Whether a reader of the result cannot compute it for itself.
bool Producer::staysStored(OpResult result) {
  SmallVector<OpOperand *> readers;
  collectReaders(result, readers);
  return llvm::any_of(readers, [&](OpOperand *use) {
    return llvm::none_of(consumers, [&](const Consumer &consumer) {
      return consumer.kernel == use->getOwner() &&
             llvm::is_contained(consumer.operands, use->getOperandNumber());
    });
  });
}

bool Producer::isCopyable(Operation *op) {
  if (isFloating(op))
    return isFreeToRepeat(op);
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
bool Producer::isReplaced(BlockArgument variable, int64_t before) {
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

/// Of a value that is kept for the consumers beyond its last reader.
double Producer::holdCost(Value value) {
  value = getReshaped(value);
  int64_t last = 0, latest = 0;
  for (Consumer &consumer : consumers)
    latest = std::max(latest, position.lookup(consumer.kernel));
  double bytes = double(getByteSize(value.getType()));
  if (BlockArgument argument = getArgument(value))
    return isReplaced(argument, latest) ? replacedShare * bytes : 0;
  SmallVector<OpOperand *> readers;
  collectReaders(value, readers);
  if (readers.size() == 1 &&
      isOfKind(readers.front()->getOwner(), CollectiveKind::AllReduce))
    return (holdShare + reducedShare) * bytes;
  for (OpOperand *use : readers)
    last = std::max(last, position.lookup(use->getOwner()));
  return latest > last ? holdShare * bytes : 0;
}

/// What it costs that consumers read the value of the producer's body from
/// memory; nothing where that cannot be.
std::optional<double> Producer::availableCost(Value value) {
  double bytes = double(getByteSize(value.getType()));
  double reads = double(consumers.size()) * bytes;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Value operand = producer.getInputs()[argument.getArgNumber()];
    bool readAnyway = llvm::all_of(consumers, [&](Consumer &consumer) {
      return findInput(consumer.kernel.getInputs(), operand).has_value();
    });
    return readAnyway ? 0.0 : reads + holdCost(operand);
  }
  for (auto [result, yielded] :
       llvm::zip_equal(producer->getResults(), getYielded(producer)))
    if (yielded == value && result.getType() == value.getType())
      return (staysStored(result) ? 0 : bytes) + reads + holdCost(result);
  Operation *op = value.getDefiningOp();
  auto kind = info.kinds.find(op);
  if (kind == info.kinds.end() || kind->second == MemberKind::OuterReduction)
    return std::nullopt;
  return bytes + reads;
}

/// Which values of the body consumers read from memory; false: those that they
/// do already, or about as many bytes.
bool Producer::cut(llvm::SmallSetVector<Value, 8> &stored) {
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
  Block &body = producer.getBody().front();
  for (BlockArgument argument : body.getArguments()) {
    add(argument);
    graph.addEdge(source, in[argument], MinimumCut::kInfinite);
  }
  for (Operation &op : body.without_terminator()) {
    double price = MinimumCut::kInfinite;
    if (isCopyable(&op)) {
      auto costed = dyn_cast<CostOpInterface>(&op);
      auto type = cast<RankedTensorType>(op.getResult(0).getType());
      price = isFloating(&op) ? 0
                              : (costed ? costed.getInstructions() : 1) *
                                    instruction * double(consumers.size()) *
                                    double(type.getNumElements());
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
  llvm::SmallSetVector<Value, 8> read;
  for (Consumer &consumer : consumers)
    for (unsigned number : consumer.operands)
      read.insert(getValue(consumer, number));
  for (Value value : read) {
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

/// It takes the place of what the producer was.
void Producer::setProducer(rt::FusedOp changed) {
  position[changed] = place;
  producer = changed;
}

/// Gives the kernel results for those of its values that have none; false: that
/// would be too many.
bool Producer::grow(const llvm::SmallSetVector<Value, 8> &stored) {
  SmallVector<Value> added;
  for (Value value : stored)
    if (!isa<BlockArgument>(value) &&
        !llvm::is_contained(getYielded(producer), value))
      added.push_back(value);
  if (producer->getNumOperands() + producer->getNumResults() + added.size() >
      kMaxKernelBuffers)
    return false;
  setProducer(addResults(producer, added));
  return true;
}

/// The value in the kernel's body, computed there or read.
Value Producer::copy(Value value, const llvm::SmallSetVector<Value, 8> &stored,
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

/// The kernel as it reads what is stored and computes the rest; null: that is
/// no kernel.
rt::FusedOp Producer::rebuild(const Consumer &consumer,
                              const llvm::SmallSetVector<Value, 8> &stored) {
  rt::FusedOp kernel = consumer.kernel;
  OpBuilder b(kernel);
  auto changed = cast<rt::FusedOp>(b.clone(*kernel));
  Block &body = changed.getBody().front();
  SmallVector<Value> inputs(changed.getInputs());
  b.setInsertionPointToStart(&body);
  auto read = [&](Value value) -> Value {
    Value from;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      from = producer.getInputs()[argument.getArgNumber()];
    } else {
      auto place = llvm::find(getYielded(producer), value);
      from = producer->getResult(place - getYielded(producer).begin());
    }
    if (std::optional<unsigned> known = findInput(inputs, from))
      return body.getArgument(*known);
    inputs.push_back(from);
    return body.addArgument(from.getType(), from.getLoc());
  };
  IRMapping mapping;
  llvm::BitVector gone(inputs.size());
  for (unsigned number : consumer.operands) {
    Value value = getValue(consumer, number);
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
  bool fits = whole && whole->domain == kernel.getDomain() &&
              (whole->fixedRowDims < 0 ||
               whole->fixedRowDims == int64_t(kernel.getRowDims())) &&
              int64_t(kernel.getRowDims()) <= whole->maxRowDims &&
              whole->kinds.size() <= kMaxKernelOps &&
              left.size() + changed->getNumResults() <= kMaxKernelBuffers;
  if (fits)
    return changed;
  changed.erase();
  return {};
}

bool Producer::run() {
  std::optional<ClusterInfo> analyzed = analyzeBody(producer.getBody().front());
  if (!analyzed || !isGraphOnly(producer))
    return false;
  info = std::move(*analyzed);
  int64_t bytes = 0;
  for (Type type : producer->getResultTypes())
    bytes += getByteSize(type);
  instruction = bytes < cachedBytes ? instructionBytesCached : instructionBytes;
  // Without those that turn out not to make kernels, until all do.
  while (true) {
    collectConsumers();
    llvm::SmallSetVector<Value, 8> stored;
    if (consumers.empty() || !cut(stored) || !grow(stored))
      return false;
    SmallVector<rt::FusedOp> changed;
    for (const Consumer &consumer : consumers) {
      changed.push_back(rebuild(consumer, stored));
      if (!changed.back())
        refused.insert(consumer.kernel);
    }
    bool whole = llvm::all_of(changed, [](rt::FusedOp op) { return bool(op); });
    for (auto [consumer, op] : llvm::zip_equal(consumers, changed)) {
      if (!op)
        continue;
      if (whole) {
        position[op] = position.lookup(consumer.kernel);
        consumer.kernel->replaceAllUsesWith(op->getResults());
        consumer.kernel.erase();
      } else {
        op.erase();
      }
    }
    if (whole)
      return true;
    setProducer(dropUnread(producer));
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
          Producer producer(kernel, position);
          if (producer.run())
            changed.push_back(producer.get());
          it = producer.get()->getIterator();
        }
      for (rt::FusedOp kernel : llvm::reverse(changed))
        dropUnread(kernel);
    }
  }
};
} // namespace
