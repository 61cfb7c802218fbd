//===- Emitter.h - Graph ops made safely -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Importers read files that may be hostile, so an op that cannot be made is an
// error and not an abort: every helper returns null then, after an error has
// been emitted, and null operands give null results without another one.
// Small ops of constants are evaluated at once: shape arithmetic folds away.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IMPORT_EMITTER_H
#define DIALECTS_GRAPH_IMPORT_EMITTER_H

#include "dialects/Graph/IR/Graph.h"
#include "mlir/IR/Builders.h"

namespace mlir::dist::graph {

/// Most elements a tensor may have, so that sizes never overflow.
constexpr int64_t kMaxElements = int64_t(1) << 40;
/// Whether all dims are in range and so is their product, zeros left out.
bool isSaneShape(ArrayRef<int64_t> shape);

/// A base, so that the builder exists before the emitter that refers to it.
struct BuilderStorage {
  explicit BuilderStorage(MLIRContext *context) : storage(context) {}
  OpBuilder storage;
};

class Emitter {
public:
  explicit Emitter(OpBuilder &builder)
      : builder(builder), loc(builder.getUnknownLoc()) {}
  virtual ~Emitter() = default;

  MLIRContext *getContext() { return builder.getContext(); }
  Location getLoc() { return loc; }

  // Attributes.
  NamedAttribute i64(StringRef name, int64_t value);
  NamedAttribute list(StringRef name, ArrayRef<int64_t> value);
  NamedAttribute flag(StringRef name, bool value);
  NamedAttribute f64(StringRef name, double value);
  NamedAttribute text(StringRef name, StringRef value);
  NamedAttribute attr(StringRef name, Attribute value);

  // Ops. Without `types` they are inferred.
  template <typename OpTy>
  SmallVector<Value> makeAll(ValueRange operands,
                             ArrayRef<NamedAttribute> attributes = {},
                             TypeRange types = {});
  template <typename OpTy>
  Value make(ValueRange operands, ArrayRef<NamedAttribute> attributes = {},
             TypeRange types = {}) {
    SmallVector<Value> all = makeAll<OpTy>(operands, attributes, types);
    return all.empty() ? Value() : all.front();
  }

  // Types. A null value has an empty shape.
  static RankedTensorType typeOf(Value value);
  static ArrayRef<int64_t> shapeOf(Value value);
  static Type elementOf(Value value);
  static int64_t rankOf(Value value) { return shapeOf(value).size(); }
  static bool isFloat(Value value) { return isa<FloatType>(elementOf(value)); }

  // Constants.
  Value constant(const HostTensor &tensor);
  Value scalar(double value, Type element);
  Value intScalar(int64_t value, Type element);
  /// A scalar repeated to the shape of `like`, of its type.
  Value splat(double value, Value like);
  Value zeros(ArrayRef<int64_t> shape, Type element);
  Value intList(ArrayRef<int64_t> values);
  Value iota(ArrayRef<int64_t> shape, int64_t dim, Type element);

  // Shapes.
  Value broadcastDims(Value v, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims);
  /// As NumPy does: dims are aligned at the end.
  Value broadcastTo(Value v, ArrayRef<int64_t> shape);
  /// A value that lacks the dims `dims` of `shape` repeated along them.
  Value broadcastMissing(Value v, ArrayRef<int64_t> shape,
                         ArrayRef<int64_t> missing);
  /// A vector along dim `dim` of `shape`.
  Value broadcastAlong(Value v, ArrayRef<int64_t> shape, int64_t dim) {
    return broadcastDims(v, shape, {dim});
  }
  Value reshape(Value v, ArrayRef<int64_t> shape);
  Value transpose(Value v, ArrayRef<int64_t> permutation);
  /// Dim `from` moves to place `to`.
  Value moveDim(Value v, int64_t from, int64_t to);
  Value convert(Value v, Type element);
  Value slice(Value v, ArrayRef<int64_t> starts, ArrayRef<int64_t> limits,
              ArrayRef<int64_t> strides = {});
  /// Elements `start`..`limit` of one dim.
  Value sliceDim(Value v, int64_t dim, int64_t start, int64_t limit);
  Value pad(Value v, Value value, ArrayRef<int64_t> low,
            ArrayRef<int64_t> high);
  Value concat(ValueRange values, int64_t axis);
  Value reverse(Value v, int64_t dim);

  // Arithmetic; binary ops broadcast as NumPy does.
  template <typename OpTy> Value unary(Value x) { return make<OpTy>({x}); }
  template <typename OpTy> Value binary(Value x, Value y) {
    return matchShapes(x, y) ? make<OpTy>({x, y}) : Value();
  }
  Value add(Value x, Value y) { return binary<AddOp>(x, y); }
  Value sub(Value x, Value y) { return binary<SubOp>(x, y); }
  Value mul(Value x, Value y) { return binary<MulOp>(x, y); }
  Value div(Value x, Value y) { return binary<DivOp>(x, y); }
  Value maximum(Value x, Value y) { return binary<MaxOp>(x, y); }
  Value minimum(Value x, Value y) { return binary<MinOp>(x, y); }
  Value neg(Value x) { return unary<NegOp>(x); }
  Value exp(Value x) { return unary<ExpOp>(x); }
  Value log(Value x) { return unary<LogOp>(x); }
  Value sqrt(Value x) { return unary<SqrtOp>(x); }
  Value tanh(Value x) { return unary<TanhOp>(x); }
  // With a number on the right.
  Value add(Value x, double y) { return add(x, like(y, x)); }
  Value mul(Value x, double y) { return mul(x, like(y, x)); }
  Value div(Value x, double y) { return div(x, like(y, x)); }
  Value compare(ComparePredicate predicate, Value x, Value y);
  Value select(Value predicate, Value onTrue, Value onFalse);
  Value reduce(Reduction kind, Value x, ArrayRef<int64_t> dims, bool keepDims);
  Value mean(Value x, ArrayRef<int64_t> dims, bool keepDims);
  /// Product over one contracting dim each; all other dims follow.
  Value dot(Value x, Value y, ArrayRef<int64_t> xBatch,
            ArrayRef<int64_t> yBatch, ArrayRef<int64_t> xContract,
            ArrayRef<int64_t> yContract);

  /// The value of a tensor that depends on constants only (and initial values
  /// of variables). On failure `dependsOn` is the function argument in the way,
  /// if that is the reason.
  FailureOr<HostTensor> evaluate(Value value, BlockArgument *dependsOn);

  /// The shape that NumPy broadcasts both to; fails without an error.
  static FailureOr<SmallVector<int64_t>> commonShape(ArrayRef<int64_t> x,
                                                     ArrayRef<int64_t> y);

protected:
  /// The initial value of a variable, for `evaluate`.
  virtual FailureOr<HostTensor> readInitial(StringRef variable) = 0;
  InFlightDiagnostic emitError();

  OpBuilder &builder;
  Location loc;

private:
  bool matchShapes(Value &x, Value &y);
  Value like(double value, Value x) {
    return x ? scalar(value, elementOf(x)) : Value();
  }
  /// Creates, checks and, if small and constant, evaluates.
  SmallVector<Value> finish(OperationState &state);
  bool fold(Operation *op, SmallVectorImpl<Value> &results);
  LogicalResult runReference(Operation *op, SmallVectorImpl<HostTensor> &out);

  llvm::DenseMap<Value, HostTensor> known;
};

namespace detail {
template <typename OpTy, typename = void> struct HasProperties {
  static constexpr bool value = false;
};
template <typename OpTy>
struct HasProperties<OpTy, std::void_t<typename OpTy::Properties>> {
  static constexpr bool value =
      !std::is_same_v<typename OpTy::Properties, EmptyProperties>;
};
} // namespace detail

template <typename OpTy>
SmallVector<Value> Emitter::makeAll(ValueRange operands,
                                    ArrayRef<NamedAttribute> attributes,
                                    TypeRange types) {
  if (!llvm::all_of(operands, [](Value v) { return static_cast<bool>(v); }))
    return {};
  OperationState state(loc, OpTy::getOperationName());
  state.addOperands(operands);
  state.addAttributes(attributes);
  if constexpr (detail::HasProperties<OpTy>::value) {
    auto &properties = state.getOrAddProperties<typename OpTy::Properties>();
    if (failed(OpTy::setPropertiesFromAttr(
            properties, state.attributes.getDictionary(getContext()),
            [&] { return emitError(); })))
      return {};
  }
  if (types.empty()) {
    if constexpr (OpTy::template hasTrait<InferTypeOpInterface::Trait>()) {
      SmallVector<Type> inferred;
      if (failed(OpTy::inferReturnTypes(
              getContext(), loc, operands,
              state.attributes.getDictionary(getContext()),
              state.getRawProperties(), {}, inferred)))
        return {};
      state.addTypes(inferred);
    }
  } else {
    state.addTypes(types);
  }
  return finish(state);
}

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IMPORT_EMITTER_H
