//===- Emitter.cpp - Graph ops made safely -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/Emitter.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// Results up to this size are evaluated when made.
static constexpr int64_t kFoldElements = 1024;
/// Tensors on the way to a value that is needed at import.
static constexpr int64_t kEvaluateElements = int64_t(1) << 22;

bool mlir::dist::graph::isSaneShape(ArrayRef<int64_t> shape) {
  int64_t total = 1;
  for (int64_t dim : shape) {
    if (dim < 0 || dim > kMaxElements)
      return false;
    if (dim != 0 &&
        (llvm::MulOverflow(total, dim, total) || total > kMaxElements))
      return false;
  }
  return shape.size() <= 64;
}

InFlightDiagnostic Emitter::emitError() { return mlir::emitError(loc); }

NamedAttribute Emitter::attr(StringRef name, Attribute value) {
  return builder.getNamedAttr(name, value);
}
NamedAttribute Emitter::i64(StringRef name, int64_t value) {
  return attr(name, builder.getI64IntegerAttr(value));
}
NamedAttribute Emitter::list(StringRef name, ArrayRef<int64_t> value) {
  return attr(name, builder.getDenseI64ArrayAttr(value));
}
NamedAttribute Emitter::flag(StringRef name, bool value) {
  return attr(name, builder.getBoolAttr(value));
}
NamedAttribute Emitter::f64(StringRef name, double value) {
  return attr(name, builder.getF64FloatAttr(value));
}
NamedAttribute Emitter::text(StringRef name, StringRef value) {
  return attr(name, builder.getStringAttr(value));
}

RankedTensorType Emitter::typeOf(Value value) {
  return value ? cast<RankedTensorType>(value.getType()) : RankedTensorType();
}
ArrayRef<int64_t> Emitter::shapeOf(Value value) {
  return value ? typeOf(value).getShape() : ArrayRef<int64_t>();
}
Type Emitter::elementOf(Value value) { return typeOf(value).getElementType(); }

//===----------------------------------------------------------------------===//
// Creation and evaluation
//===----------------------------------------------------------------------===//

SmallVector<Value> Emitter::finish(OperationState &state) {
  for (Type type : state.types) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !isSaneShape(tensor.getShape())) {
      emitError() << "a tensor of type " << type << " is too large";
      return {};
    }
  }
  Operation *op = builder.create(state);
  if (failed(verify(op, /*verifyRecursively=*/false))) {
    op->erase();
    return {};
  }
  SmallVector<Value> results(op->getResults());
  if (fold(op, results))
    op->erase();
  return results;
}

LogicalResult Emitter::runReference(Operation *op,
                                    SmallVectorImpl<HostTensor> &out) {
  auto reference = dyn_cast<ReferenceOpInterface>(op);
  if (!reference)
    return failure();
  SmallVector<HostTensor> operands;
  for (Value operand : op->getOperands()) {
    auto it = known.find(operand);
    if (it == known.end())
      return failure();
    operands.push_back(it->second);
  }
  return reference.evaluate(operands, out);
}

bool Emitter::fold(Operation *op, SmallVectorImpl<Value> &results) {
  if (isa<ConstantOp>(op) || op->getNumOperands() == 0)
    return false;
  // Its value is the operand in prediction alone.
  if (auto dropout = dyn_cast<DropoutOp>(op);
      dropout && dropout.getRate().convertToDouble() > 0)
    return false;
  for (Value result : op->getResults())
    if (typeOf(result).getNumElements() > kFoldElements)
      return false;
  for (Value operand : op->getOperands())
    if (!operand.getDefiningOp<ConstantOp>() ||
        typeOf(operand).getNumElements() > 64 * kFoldElements)
      return false;
  // A repeated number is better kept as one: it fuses.
  if (isa<BroadcastOp>(op) && isFloat(op->getOperand(0)) &&
      typeOf(op->getOperand(0)).getNumElements() == 1)
    return false;
  SmallVector<HostTensor> values;
  ScopedDiagnosticHandler quiet(getContext(),
                                [](Diagnostic &) { return success(); });
  for (Value operand : op->getOperands())
    if (failed(evaluate(operand, nullptr)))
      return false;
  if (failed(runReference(op, values)))
    return false;
  for (auto [result, value] : llvm::zip(results, values))
    result = constant(value);
  return true;
}

FailureOr<HostTensor> Emitter::evaluate(Value value, BlockArgument *dependsOn) {
  // A work list and no recursion: chains in hostile files may be deep.
  SmallVector<Value> work = {value};
  while (!work.empty()) {
    Value current = work.back();
    if (known.count(current)) {
      work.pop_back();
      continue;
    }
    Operation *op = current.getDefiningOp();
    if (!op) {
      if (dependsOn)
        *dependsOn = cast<BlockArgument>(current);
      return failure();
    }
    for (Value result : op->getResults())
      if (typeOf(result).getNumElements() > kEvaluateElements)
        return failure();
    if (auto read = dyn_cast<ReadOp>(op)) {
      FailureOr<HostTensor> initial = readInitial(read.getVariable());
      if (failed(initial))
        return failure();
      known[current] = *initial;
      continue;
    }
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      FailureOr<HostTensor> tensor =
          HostTensor::fromAttribute(constant.getValue());
      if (failed(tensor))
        return failure();
      known[current] = *tensor;
      continue;
    }
    bool ready = true;
    for (Value operand : op->getOperands())
      if (!known.count(operand)) {
        work.push_back(operand);
        ready = false;
      }
    if (!ready)
      continue;
    SmallVector<HostTensor> results;
    if (failed(runReference(op, results)) ||
        results.size() != op->getNumResults())
      return failure();
    for (auto [result, tensor] : llvm::zip(op->getResults(), results))
      known[result] = tensor;
  }
  return known[value];
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Value Emitter::constant(const HostTensor &tensor) {
  ElementsAttr value;
  if (tensor.getType().getNumElements() <= kFoldElements) {
    value = tensor.toAttribute();
  } else {
    std::vector<char> bytes = tensor.toBytes();
    value = DenseResourceElementsAttr::get(
        tensor.getType(), "constant",
        HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, 16));
  }
  Value result = make<ConstantOp>({}, {attr("value", value)});
  if (result)
    known[result] = tensor;
  return result;
}

Value Emitter::scalar(double value, Type element) {
  HostTensor tensor(RankedTensorType::get({}, element));
  tensor.setDouble(0, value);
  return constant(tensor);
}

Value Emitter::intScalar(int64_t value, Type element) {
  HostTensor tensor(RankedTensorType::get({}, element));
  tensor.setInt(0, value);
  return constant(tensor);
}

Value Emitter::splat(double value, Value like) {
  return like ? broadcastTo(scalar(value, elementOf(like)), shapeOf(like))
              : Value();
}

Value Emitter::zeros(ArrayRef<int64_t> shape, Type element) {
  return broadcastTo(scalar(0, element), shape);
}

Value Emitter::intList(ArrayRef<int64_t> values) {
  HostTensor tensor(RankedTensorType::get({static_cast<int64_t>(values.size())},
                                          builder.getI64Type()));
  for (auto [i, value] : llvm::enumerate(values))
    tensor.setInt(i, value);
  return constant(tensor);
}

Value Emitter::iota(ArrayRef<int64_t> shape, int64_t dim, Type element) {
  return make<IotaOp>({}, {i64("dim", dim)},
                      RankedTensorType::get(shape, element));
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<int64_t>> Emitter::commonShape(ArrayRef<int64_t> x,
                                                     ArrayRef<int64_t> y) {
  if (x.size() < y.size())
    std::swap(x, y);
  SmallVector<int64_t> shape(x);
  size_t offset = x.size() - y.size();
  for (auto [i, size] : llvm::enumerate(y)) {
    int64_t &dim = shape[offset + i];
    if (dim == 1)
      dim = size;
    else if (size != 1 && size != dim)
      return failure();
  }
  return shape;
}

bool Emitter::matchShapes(Value &x, Value &y) {
  if (!x || !y)
    return false;
  FailureOr<SmallVector<int64_t>> shape = commonShape(shapeOf(x), shapeOf(y));
  if (failed(shape)) {
    emitError() << "shapes of " << x.getType() << " and " << y.getType()
                << " do not broadcast";
    return false;
  }
  x = broadcastTo(x, *shape);
  y = broadcastTo(y, *shape);
  return x && y;
}

Value Emitter::broadcastDims(Value v, ArrayRef<int64_t> shape,
                             ArrayRef<int64_t> dims) {
  if (!v || shapeOf(v) == shape)
    return v;
  return make<BroadcastOp>({v}, {list("dims", dims)},
                           RankedTensorType::get(shape, elementOf(v)));
}

Value Emitter::broadcastTo(Value v, ArrayRef<int64_t> shape) {
  if (!v)
    return v;
  if (rankOf(v) > static_cast<int64_t>(shape.size())) {
    emitError() << "cannot broadcast " << v.getType() << " to fewer dims";
    return {};
  }
  SmallVector<int64_t> dims;
  for (int64_t i = shape.size() - rankOf(v); i < int64_t(shape.size()); ++i)
    dims.push_back(i);
  return broadcastDims(v, shape, dims);
}

Value Emitter::broadcastMissing(Value v, ArrayRef<int64_t> shape,
                                ArrayRef<int64_t> missing) {
  SmallVector<int64_t> dims;
  for (int64_t i = 0; i < int64_t(shape.size()); ++i)
    if (!llvm::is_contained(missing, i))
      dims.push_back(i);
  return broadcastDims(v, shape, dims);
}

Value Emitter::reshape(Value v, ArrayRef<int64_t> shape) {
  if (!v || shapeOf(v) == shape)
    return v;
  return make<ReshapeOp>({v}, {}, RankedTensorType::get(shape, elementOf(v)));
}

Value Emitter::transpose(Value v, ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return v;
  return make<TransposeOp>({v}, {list("permutation", permutation)});
}

Value Emitter::moveDim(Value v, int64_t from, int64_t to) {
  SmallVector<int64_t> permutation;
  for (int64_t i = 0; i < rankOf(v); ++i)
    if (i != from)
      permutation.push_back(i);
  permutation.insert(permutation.begin() + to, from);
  return transpose(v, permutation);
}

Value Emitter::convert(Value v, Type element) {
  if (!v || elementOf(v) == element)
    return v;
  return make<ConvertOp>({v}, {}, RankedTensorType::get(shapeOf(v), element));
}

Value Emitter::slice(Value v, ArrayRef<int64_t> starts,
                     ArrayRef<int64_t> limits, ArrayRef<int64_t> strides) {
  SmallVector<int64_t> ones(rankOf(v), 1);
  if (strides.empty())
    strides = ones;
  if (llvm::all_of(starts, [](int64_t s) { return s == 0; }) &&
      limits == shapeOf(v) && strides == ArrayRef<int64_t>(ones))
    return v;
  return make<SliceOp>({v}, {list("starts", starts), list("limits", limits),
                             list("strides", strides)});
}

Value Emitter::sliceDim(Value v, int64_t dim, int64_t start, int64_t limit) {
  if (!v)
    return v;
  SmallVector<int64_t> starts(rankOf(v), 0), limits(shapeOf(v));
  starts[dim] = start;
  limits[dim] = limit;
  return slice(v, starts, limits);
}

Value Emitter::pad(Value v, Value value, ArrayRef<int64_t> low,
                   ArrayRef<int64_t> high) {
  auto isZero = [](int64_t n) { return n == 0; };
  if (llvm::all_of(low, isZero) && llvm::all_of(high, isZero))
    return v;
  SmallVector<int64_t> interior(low.size(), 0);
  return make<PadOp>({v, value}, {list("low", low), list("high", high),
                                  list("interior", interior)});
}

Value Emitter::concat(ValueRange values, int64_t axis) {
  if (values.size() == 1)
    return values.front();
  return make<ConcatOp>(values, {i64("axis", axis)});
}

Value Emitter::reverse(Value v, int64_t dim) {
  return make<ReverseOp>({v}, {list("dims", {dim})});
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value Emitter::compare(ComparePredicate predicate, Value x, Value y) {
  if (!matchShapes(x, y))
    return {};
  return make<CompareOp>(
      {x, y},
      {attr("predicate", ComparePredicateAttr::get(getContext(), predicate))});
}

Value Emitter::select(Value predicate, Value onTrue, Value onFalse) {
  if (!matchShapes(onTrue, onFalse) || !matchShapes(predicate, onTrue) ||
      !matchShapes(onTrue, onFalse))
    return {};
  return make<SelectOp>({predicate, onTrue, onFalse});
}

Value Emitter::reduce(Reduction kind, Value x, ArrayRef<int64_t> dims,
                      bool keepDims) {
  if (!x)
    return x;
  SmallVector<int64_t> kept(shapeOf(x)), sorted(dims);
  llvm::sort(sorted);
  for (int64_t dim : sorted)
    kept[dim] = 1;
  if (!sorted.empty())
    x = make<ReduceOp>({x},
                       {attr("kind", ReductionAttr::get(getContext(), kind)),
                        list("dims", sorted)});
  return keepDims ? reshape(x, kept) : x;
}

Value Emitter::mean(Value x, ArrayRef<int64_t> dims, bool keepDims) {
  if (!x)
    return x;
  double count = 1;
  for (int64_t dim : dims)
    count *= shapeOf(x)[dim];
  // Neither a sum nor a count of many fits into 16 bits, as the mean does.
  Type type = elementOf(x);
  bool isNarrow = isFloat(x) && type.getIntOrFloatBitWidth() < 32;
  Value wide = isNarrow ? convert(x, Float32Type::get(getContext())) : x;
  return convert(div(reduce(Reduction::Sum, wide, dims, keepDims), count),
                 type);
}

Value Emitter::dot(Value x, Value y, ArrayRef<int64_t> xBatch,
                   ArrayRef<int64_t> yBatch, ArrayRef<int64_t> xContract,
                   ArrayRef<int64_t> yContract) {
  return make<DotGeneralOp>({x, y}, {list("lhs_batch", xBatch),
                                     list("rhs_batch", yBatch),
                                     list("lhs_contract", xContract),
                                     list("rhs_contract", yContract)});
}
