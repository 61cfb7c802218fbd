//===- MicrobatchCopies.cpp - An op's copies, one a microbatch ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Partition/MicrobatchCopies.h"
#include "dialects/Dist/IR/Dist.h"
#include "dialects/Graph/IR/GraphBuilder.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::dist;
using graph::GraphBuilder;

bool Rolled::isSum() const {
  return isa<AllReduceOp>(op) && isOverMicrobatches(op);
}

MicrobatchCopies::MicrobatchCopies(MutableArrayRef<func::FuncOp> functions,
                                   int64_t count, int64_t shown)
    : functions(functions), count(count), shown(shown),
      places(functions.size()),
      builder(functions.front().getContext(), &marker) {
  for (int64_t copy = 0; copy < shown; ++copy)
    copyNumbers.push_back(builder.getI64IntegerAttr(getMicrobatch(copy)));
}

void MicrobatchCopies::Marker::notifyOperationInserted(Operation *op,
                                                       OpBuilder::InsertPoint) {
  if (place)
    op->setLoc(markCopyPlace(op->getLoc(), *place));
}

std::optional<unsigned> MicrobatchCopies::find(Operation *op) const {
  auto found = numbers.find(op);
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

/// Puts an attribute among sorted ones; returns where.
static int64_t insertSorted(SmallVectorImpl<NamedAttribute> &attributes,
                            NamedAttribute attribute) {
  auto *place = llvm::lower_bound(attributes, attribute);
  return attributes.insert(place, attribute) - attributes.begin();
}

unsigned MicrobatchCopies::add(Operation *op, unsigned program) {
  Rolled rolled;
  rolled.op = op;
  rolled.program = program;
  bool varies = false;
  if (isOverMicrobatches(op))
    varies = givesEachItsOwn(op);
  else if (op->getNumOperands() == 0)
    varies = op->hasAttr(kMicrobatchAttr);
  else
    for (Value operand : op->getOperands())
      if (Operation *definition = operand.getDefiningOp())
        varies |= all[numbers.lookup(definition)].copies > 1;
  if (varies)
    rolled.copies = shown;
  rolled.steps = rolled.isSum() ? shown : rolled.copies;
  rolled.firstValue = values.size();
  values.resize(values.size() + rolled.copies * op->getNumResults());
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    if (attribute.getName() != kBackwardAttr &&
        attribute.getName() != kMicrobatchAttr)
      rolled.attributes.push_back(attribute);
  if (rolled.copies > 1)
    rolled.copyAttribute = insertSorted(
        rolled.attributes,
        builder.getNamedAttr(kMicrobatchAttr, copyNumbers.front()));
  numbers[op] = all.size();
  all.push_back(std::move(rolled));
  return all.size() - 1;
}

/// The copy of a value, which is made now if it waited to be asked for.
Value MicrobatchCopies::get(Value value, int64_t copy) {
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return value;
  unsigned number = numbers.lookup(result.getOwner());
  const Rolled &rolled = all[number];
  if (rolled.copies == 1)
    copy = 0;
  size_t place = rolled.firstValue + copy * rolled.op->getNumResults() +
                 result.getResultNumber();
  if (!values[place]) {
    if (rolled.isSum())
      for (int64_t step = 0; step < rolled.steps; ++step)
        emit(number, step);
    else
      emit(number, copy);
  }
  return values[place];
}

Operation *MicrobatchCopies::clone(const Rolled &rolled, int64_t copy) {
  Operation *op = rolled.op;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(get(operand, copy));
  SmallVector<NamedAttribute, 4> attributes(rolled.attributes);
  if (rolled.copyAttribute >= 0)
    attributes[rolled.copyAttribute].setValue(copyNumbers[copy]);
  auto dictionary =
      DictionaryAttr::getWithSorted(builder.getContext(), attributes);
  Operation *made;
  if (op->getNumRegions() > 0) {
    IRMapping mapping;
    mapping.map(op->getOperands(), operands);
    made = op->clone(mapping);
    made->setDiscardableAttrs(dictionary);
  } else {
    made = Operation::create(op->getLoc(), op->getName(), op->getResultTypes(),
                             operands, dictionary, op->getPropertiesStorage(),
                             /*successors=*/{}, /*numRegions=*/0);
  }
  builder.insert(made);
  if (count > 1) {
    if (auto send = dyn_cast<SendOp>(made))
      send.setTag(send.getTag() * count + getMicrobatch(copy));
    else if (auto recv = dyn_cast<RecvOp>(made))
      recv.setTag(recv.getTag() * count + getMicrobatch(copy));
  }
  return made;
}

/// Part `part` of equal ones along `dim`, of type `type`.
Value MicrobatchCopies::cut(Operation *op, Value value, int64_t dim,
                            int64_t part, Type type) {
  auto from = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> starts(from.getRank(), 0), limits(from.getShape()),
      strides(from.getRank(), 1);
  int64_t size = cast<RankedTensorType>(type).getDimSize(dim);
  starts[dim] = part * size;
  limits[dim] = starts[dim] + size;
  return graph::SliceOp::create(builder, op->getLoc(), type, value,
                                builder.getDenseI64ArrayAttr(starts),
                                builder.getDenseI64ArrayAttr(limits),
                                builder.getDenseI64ArrayAttr(strides));
}

Value MicrobatchCopies::combine(Operation *op, Value a, Value b) {
  GraphBuilder g(builder, op->getLoc());
  switch (cast<AllReduceOp>(op).getReduction()) {
  case Reduction::Sum:
    return g.add(a, b);
  case Reduction::Max:
    return g.max(a, b);
  case Reduction::Min:
    return g.min(a, b);
  case Reduction::Product:
    return g.mul(a, b);
  }
  llvm_unreachable("all kinds are listed");
}

Value MicrobatchCopies::join(Operation *op, ArrayRef<Value> parts,
                             int64_t dim) {
  return graph::ConcatOp::create(builder, op->getLoc(),
                                 op->getResult(0).getType(), parts, dim);
}

/// What completes a value of the whole program has its number, and a copy's
/// part its own.
void MicrobatchCopies::describe(const Rolled &rolled, Value made,
                                int64_t step) {
  Operation *op = made.getDefiningOp();
  NamedAttrList attributes(op->getDiscardableAttrDictionary());
  if (rolled.copies > 1)
    attributes.set(kMicrobatchAttr, copyNumbers[step]);
  if (Attribute stage = rolled.op->getAttr(kStageAttr))
    attributes.set(kStageAttr, stage);
  if (!rolled.isSum() || step + 1 == rolled.steps)
    for (StringRef kept : {DistDialect::kOrigin, DistDialect::kShardings})
      if (Attribute attribute = rolled.op->getAttr(kept))
        attributes.set(kept, attribute);
  op->setDiscardableAttrs(attributes.getDictionary(builder.getContext()));
}

void MicrobatchCopies::emit(unsigned number, int64_t step) {
  const Rolled &rolled = all[number];
  Operation *op = rolled.op;
  builder.setInsertionPoint(functions[rolled.program].front().getTerminator());
  marker.place = places[rolled.program];
  if (!isOverMicrobatches(op)) {
    Operation *made = clone(rolled, step);
    size_t place = rolled.firstValue + step * op->getNumResults();
    llvm::copy(made->getResults(), values.begin() + place);
    return;
  }
  size_t place = rolled.firstValue + (rolled.copies > 1 ? step : 0);
  bool isNew = true;
  Value made = emitOverMicrobatches(rolled, step, isNew);
  values[place] = made;
  if (isNew)
    describe(rolled, made, step);
}

/// `isNew` becomes false where it is a value that was there.
Value MicrobatchCopies::emitOverMicrobatches(const Rolled &rolled, int64_t step,
                                             bool &isNew) {
  Operation *op = rolled.op;
  Value operand = op->getOperand(0);
  Type type = op->getResult(0).getType();
  if (isa<AllReduceOp>(op)) {
    Value value = get(operand, step);
    isNew = step > 0;
    // The sum so far stands where the whole will.
    return isNew ? combine(op, values[rolled.firstValue], value) : value;
  }
  if (auto slice = dyn_cast<AllSliceOp>(op))
    return cut(op, get(operand, step), slice.getDims()[0], getMicrobatch(step),
               type);
  if (auto permute = dyn_cast<PermuteOp>(op)) {
    int64_t source = permute.getSources()[getMicrobatch(step)];
    isNew = source < 0;
    return isNew ? GraphBuilder(builder, op->getLoc()).zeros(type)
                 : get(operand, source);
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    isNew = false;
    return get(operand, broadcast.getRoot());
  }
  SmallVector<Value> parts;
  for (int64_t from = 0; from < count; ++from)
    parts.push_back(get(operand, from));
  auto exchange = dyn_cast<AllToAllOp>(op);
  if (!exchange)
    return join(op, parts, cast<AllGatherOp>(op).getDims()[0]);
  int64_t split = exchange.getSplitDims()[0];
  auto whole = cast<RankedTensorType>(operand.getType());
  SmallVector<int64_t> shape(whole.getShape());
  shape[split] /= count;
  for (Value &part : parts)
    part = cut(op, part, split, step, whole.clone(shape));
  return join(op, parts, exchange.getConcatDims()[0]);
}

void MicrobatchCopies::finish() {
  for (func::FuncOp function : functions)
    for (OpOperand &use : function.front().getTerminator()->getOpOperands())
      use.set(get(use.get(), 0));
  for (const Rolled &rolled : llvm::reverse(all)) {
    rolled.op->dropAllUses();
    rolled.op->erase();
  }
  for (func::FuncOp function : functions) {
    int64_t id = 0;
    for (auto collective : function.getOps<CollectiveOpInterface>())
      if (!collective.isLocal())
        collective.setCollectiveId(id++);
  }
}
