//===- StableHloMath.cpp - Element-wise ops of StableHLO ------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/StableHloImporter.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

template <typename OpTy>
StableHloImporter::Results StableHloImporter::importUnary(Operation *) {
  return one(unary<OpTy>(operand(0)));
}

template <typename OpTy>
StableHloImporter::Results StableHloImporter::importBinary(Operation *) {
  return one(make<OpTy>({operand(0), operand(1)}));
}

template <typename OpTy, typename BitsTy>
StableHloImporter::Results StableHloImporter::importLogical(Operation *) {
  Value x = operand(0), y = operand(1);
  return one(elementOf(x).isInteger(1) ? make<BitsTy>({x, y})
                                       : make<OpTy>({x, y}));
}

std::optional<double> StableHloImporter::findSplat(Value value) {
  while (value && value.getDefiningOp<BroadcastOp>())
    value = value.getDefiningOp()->getOperand(0);
  auto constant = value ? value.getDefiningOp<ConstantOp>() : ConstantOp();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                        : DenseElementsAttr();
  if (!dense || !dense.isSplat())
    return std::nullopt;
  FailureOr<HostTensor> tensor =
      HostTensor::fromAttribute(dense.resizeSplat(RankedTensorType::get(
          {}, cast<ShapedType>(dense.getType()).getElementType())));
  return failed(tensor) ? std::nullopt : std::optional(tensor->getDouble(0));
}

/// A rectifier has derivative 0 at 0, in JAX and in TensorFlow: that is where
/// dark pixels are.
StableHloImporter::Results StableHloImporter::importMaximum(Operation *op) {
  if (isFloat(operand(0)))
    for (unsigned i : {0, 1})
      if (findSplat(operand(i)) == 0.0)
        return one(unary<ReluOp>(operand(1 - i)));
  return importLogical<MaxOp, OrOp>(op);
}

StableHloImporter::Results StableHloImporter::importConstant(Operation *op) {
  auto value = dyn_cast_or_null<ElementsAttr>(op->getAttr("value"));
  FailureOr<HostTensor> tensor = failure();
  if (value)
    tensor = HostTensor::fromAttribute(value);
  if (failed(tensor))
    return refuse("its value cannot be read");
  auto type = cast<RankedTensorType>(value.getType());
  // A repeated number is better kept as one: it fuses.
  if (auto dense = dyn_cast<DenseElementsAttr>(value);
      dense && dense.isSplat() && type.getRank() > 0) {
    HostTensor number(RankedTensorType::get({}, type.getElementType()));
    if (tensor->isFloat())
      number.setDouble(0, tensor->getDouble(0));
    else
      number.setInt(0, tensor->getInt(0));
    return one(broadcastTo(constant(number), type.getShape()));
  }
  if (tensor->isFloat() && type.getRank() > 1) {
    ++largeConstants;
    constantElements += type.getNumElements();
  }
  return one(constant(*tensor));
}

StableHloImporter::Results StableHloImporter::importIota(Operation *) {
  std::optional<int64_t> dim = integer("iota_dimension");
  if (!dim)
    return {};
  return one(
      iota(resultType().getShape(), *dim, resultType().getElementType()));
}

StableHloImporter::Results StableHloImporter::importConvert(Operation *) {
  return one(convert(operand(0), resultType().getElementType()));
}

StableHloImporter::Results
StableHloImporter::importReducePrecision(Operation *) {
  std::optional<int64_t> exponent = integer("exponent_bits"),
                         mantissa = integer("mantissa_bits");
  if (!exponent || !mantissa)
    return {};
  Type type = elementOf(operand(0));
  for (FloatType narrow :
       {FloatType(builder.getBF16Type()), FloatType(builder.getF16Type()),
        FloatType(builder.getF32Type()), FloatType(builder.getF64Type())}) {
    int64_t fraction = narrow.getFPMantissaWidth() - 1;
    if (fraction == *mantissa && narrow.getWidth() - 1 - fraction == *exponent)
      return one(convert(convert(operand(0), narrow), type));
  }
  return refuse("no type of floats has an exponent of " +
                llvm::Twine(*exponent) + " bits and a mantissa of " +
                llvm::Twine(*mantissa));
}

StableHloImporter::Results StableHloImporter::importCompare(Operation *) {
  std::optional<ComparePredicate> predicate =
      llvm::StringSwitch<std::optional<ComparePredicate>>(
          word("comparison_direction"))
          .Case("EQ", ComparePredicate::EQ)
          .Case("NE", ComparePredicate::NE)
          .Case("LT", ComparePredicate::LT)
          .Case("LE", ComparePredicate::LE)
          .Case("GT", ComparePredicate::GT)
          .Case("GE", ComparePredicate::GE)
          .Default(std::nullopt);
  if (!predicate)
    return refuse("its direction cannot be read");
  // The total order differs from the numbers' at NaN and -0 alone; within the
  // comparator of a sort these are the sort's.
  if (word("compare_type") == "TOTALORDER" && rankOf(operand(0)) > 0)
    return refuse("the total order of floats is that of sorts only",
                  "compare numbers");
  return one(compare(*predicate, operand(0), operand(1)));
}

StableHloImporter::Results StableHloImporter::importSelect(Operation *) {
  return one(select(operand(0), operand(1), operand(2)));
}

/// At a bound the derivative is the bound's, as JAX has it.
StableHloImporter::Results StableHloImporter::importClamp(Operation *) {
  ArrayRef<int64_t> shape = shapeOf(operand(1));
  Value low = broadcastTo(operand(0), shape),
        high = broadcastTo(operand(2), shape);
  return one(minimum(high, maximum(low, operand(1))));
}

StableHloImporter::Results StableHloImporter::importIsFinite(Operation *) {
  Value x = operand(0);
  return one(
      unary<NotOp>(make<OrOp>({make<IsNanOp>({x}), make<IsInfOp>({x})})));
}

StableHloImporter::Results StableHloImporter::importSquare(Operation *) {
  return one(mul(operand(0), operand(0)));
}

/// Ties away from zero. The rest is exact, where x + 0.5 would be rounded.
StableHloImporter::Results StableHloImporter::importRoundAway(Operation *) {
  Value x = operand(0), size = unary<AbsOp>(x), whole = unary<FloorOp>(size);
  Value up =
      convert(compare(ComparePredicate::GE, sub(size, whole), splat(0.5, x)),
              elementOf(x));
  return one(mul(unary<SignOp>(x), add(whole, up)));
}

StableHloImporter::Results StableHloImporter::importCbrt(Operation *) {
  Value x = operand(0);
  return one(
      mul(unary<SignOp>(x), binary<PowOp>(unary<AbsOp>(x), splat(1.0 / 3, x))));
}

/// Of a negative number the complement is shifted, which fills with ones.
StableHloImporter::Results StableHloImporter::importShiftRight(Operation *) {
  Value x = operand(0), count = operand(1);
  Value flipped = unary<NotOp>(binary<ShiftRightOp>(unary<NotOp>(x), count));
  return one(select(compare(ComparePredicate::LT, x, splat(0, x)), flipped,
                    binary<ShiftRightOp>(x, count)));
}

/// Exact to the type's rounding at 1, which is what GELU needs: its tail is
/// multiplied by x, not divided by.
StableHloImporter::Results StableHloImporter::importErfc(Operation *) {
  Value x = operand(0);
  return one(sub(splat(1, x), unary<ErfOp>(x)));
}

StableHloImporter::Results StableHloImporter::importSame(Operation *) {
  return operands();
}

void StableHloImporter::addMath(Table &table) {
  using I = StableHloImporter;
  static const Row rows[] = {
      {"stablehlo.abs", &I::importUnary<AbsOp>},
      {"stablehlo.ceil", &I::importUnary<CeilOp>},
      {"stablehlo.cosine", &I::importUnary<CosOp>},
      {"stablehlo.exponential", &I::importUnary<ExpOp>},
      {"stablehlo.exponential_minus_one", &I::importUnary<Expm1Op>},
      {"stablehlo.floor", &I::importUnary<FloorOp>},
      {"stablehlo.log", &I::importUnary<LogOp>},
      {"stablehlo.log_plus_one", &I::importUnary<Log1pOp>},
      {"stablehlo.logistic", &I::importUnary<LogisticOp>},
      {"stablehlo.negate", &I::importUnary<NegOp>},
      {"stablehlo.not", &I::importUnary<NotOp>},
      {"stablehlo.round_nearest_even", &I::importUnary<RoundOp>},
      {"stablehlo.rsqrt", &I::importUnary<RsqrtOp>},
      {"stablehlo.sign", &I::importUnary<SignOp>},
      {"stablehlo.sine", &I::importUnary<SinOp>},
      {"stablehlo.sqrt", &I::importUnary<SqrtOp>},
      {"stablehlo.tan", &I::importUnary<TanOp>},
      {"stablehlo.tanh", &I::importUnary<TanhOp>},
      {"chlo.acos", &I::importUnary<AcosOp>},
      {"chlo.acosh", &I::importUnary<AcoshOp>},
      {"chlo.asin", &I::importUnary<AsinOp>},
      {"chlo.asinh", &I::importUnary<AsinhOp>},
      {"chlo.atan", &I::importUnary<AtanOp>},
      {"chlo.atanh", &I::importUnary<AtanhOp>},
      {"chlo.cosh", &I::importUnary<CoshOp>},
      {"chlo.erf", &I::importUnary<ErfOp>},
      {"chlo.sinh", &I::importUnary<SinhOp>},
      {"chlo.tan", &I::importUnary<TanOp>},
      {"stablehlo.add", &I::importLogical<AddOp, OrOp>, 2},
      {"stablehlo.and", &I::importBinary<AndOp>, 2},
      {"stablehlo.divide", &I::importBinary<DivOp>, 2},
      {"stablehlo.minimum", &I::importLogical<MinOp, AndOp>, 2},
      {"stablehlo.multiply", &I::importLogical<MulOp, AndOp>, 2},
      {"stablehlo.or", &I::importBinary<OrOp>, 2},
      {"stablehlo.power", &I::importBinary<PowOp>, 2},
      {"stablehlo.remainder", &I::importBinary<RemOp>, 2},
      {"stablehlo.shift_left", &I::importBinary<ShiftLeftOp>, 2},
      {"stablehlo.shift_right_logical", &I::importBinary<ShiftRightOp>, 2},
      {"stablehlo.subtract", &I::importBinary<SubOp>, 2},
      {"stablehlo.xor", &I::importBinary<XorOp>, 2},
      {"stablehlo.maximum", &I::importMaximum, 2},
      {"stablehlo.constant", &I::importConstant, 0},
      {"stablehlo.iota", &I::importIota, 0},
      {"stablehlo.convert", &I::importConvert},
      {"stablehlo.reduce_precision", &I::importReducePrecision},
      {"stablehlo.compare", &I::importCompare, 2},
      {"stablehlo.select", &I::importSelect, 3},
      {"stablehlo.clamp", &I::importClamp, 3},
      {"stablehlo.is_finite", &I::importIsFinite},
      {"stablehlo.optimization_barrier", &I::importSame, 0, 0},
      {"stablehlo.round_nearest_afz", &I::importRoundAway},
      {"stablehlo.cbrt", &I::importCbrt},
      {"stablehlo.shift_right_arithmetic", &I::importShiftRight, 2},
      {"chlo.square", &I::importSquare},
      {"chlo.erfc", &I::importErfc},
  };
  addRows(table, rows);
}
