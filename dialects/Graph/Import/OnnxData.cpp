//===- OnnxData.cpp - Constants, shapes and fillers of ONNX -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxNode.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// Fillers make no constant larger than this at import.
static constexpr int64_t kMaxFilled = int64_t(1) << 24;

static HostTensor vectorOf(ArrayRef<double> values, Type element, bool scalar) {
  SmallVector<int64_t> shape;
  if (!scalar)
    shape.push_back(values.size());
  HostTensor tensor(RankedTensorType::get(shape, element));
  for (auto [i, value] : llvm::enumerate(values))
    tensor.setDouble(i, value);
  return tensor;
}

static LogicalResult importConstant(OnnxNode &n) {
  Type f32 = Float32Type::get(n.getContext());
  if (const onnx::TensorProto *value = n.tensorAttr("value")) {
    FailureOr<HostTensor> tensor = n.tensor(*value);
    return failed(tensor) ? failure() : n.out(n.constant(*tensor));
  }
  if (n.hasAttr("value_float"))
    return n.out(n.scalar(n.floatAttr("value_float", 0), f32));
  if (n.hasAttr("value_int"))
    return n.out(n.intScalar(n.intAttr("value_int", 0),
                             IntegerType::get(n.getContext(), 64)));
  if (auto values = n.floatsAttr("value_floats"))
    return n.out(n.constant(vectorOf(*values, f32, false)));
  if (auto values = n.intsAttr("value_ints"))
    return n.out(n.intList(*values));
  return n.fail("only constants that are tensors, floats or integers are "
                "supported");
}

static LogicalResult importConstantOfShape(OnnxNode &n) {
  HostTensor value(
      RankedTensorType::get({1}, Float32Type::get(n.getContext())));
  if (const onnx::TensorProto *attribute = n.tensorAttr("value")) {
    FailureOr<HostTensor> tensor = n.tensor(*attribute);
    if (failed(tensor))
      return failure();
    value = *tensor;
  }
  if (value.getNumElements() != 1)
    return n.fail("value must be one number");
  FailureOr<SmallVector<int64_t>> shape = n.ints(0);
  if (failed(shape))
    return failure();
  if (failed(n.rebatch(OnnxNode::ShapeUse::Make, Value(), *shape)))
    return failure();
  if (!isSaneShape(*shape))
    return n.fail("the shape is out of range");
  return n.out(n.broadcastTo(n.reshape(n.constant(value), {}), *shape));
}

static LogicalResult importShape(OnnxNode &n) {
  int64_t rank = n.rankOf(n.in(0)), start = 0, end = rank;
  if (n.opset >= 15) {
    start = n.intAttr("start", 0);
    end = n.intAttr("end", rank);
  }
  auto clamp = [&](int64_t v) {
    v = v < 0 ? (v < -rank ? 0 : v + rank) : v;
    return std::clamp<int64_t>(v, 0, rank);
  };
  start = clamp(start);
  end = std::max(start, clamp(end));
  return n.out(n.intList(n.shapeOf(n.in(0)).slice(start, end - start)));
}

static LogicalResult importSize(OnnxNode &n) {
  return n.out(n.intScalar(n.typeOf(n.in(0)).getNumElements(),
                           IntegerType::get(n.getContext(), 64)));
}

static LogicalResult importRange(OnnxNode &n) {
  FailureOr<HostTensor> bounds[3];
  for (unsigned i = 0; i < 3; ++i) {
    bounds[i] = n.constant(i);
    if (failed(bounds[i]))
      return failure();
    if (bounds[i]->getNumElements() != 1 ||
        n.elementOf(n.in(i)) != n.elementOf(n.in(0)))
      return n.fail("start, limit and delta must be numbers of one type");
  }
  Type element = n.elementOf(n.in(0));
  bool isFloat = bounds[0]->isFloat();
  double start = bounds[0]->getDouble(0), limit = bounds[1]->getDouble(0),
         delta = bounds[2]->getDouble(0);
  double steps = std::ceil((limit - start) / delta);
  if (delta == 0 || !(steps <= kMaxFilled))
    return n.fail("start, limit and delta are out of range");
  int64_t count = steps > 0 ? static_cast<int64_t>(steps) : 0;
  HostTensor tensor(RankedTensorType::get({count}, element));
  for (int64_t i = 0; i < count; ++i) {
    if (isFloat)
      tensor.setDouble(i, start + i * delta);
    else
      tensor.setInt(i, bounds[0]->getInt(0) + i * bounds[2]->getInt(0));
  }
  return n.out(n.constant(tensor));
}

static LogicalResult importEyeLike(OnnxNode &n) {
  Value x = n.in(0);
  int64_t offset = n.intAttr("k", 0);
  Type element = n.hasAttr("dtype") ? n.elementType(n.intAttr("dtype", 1))
                                    : n.elementOf(x);
  if (!element)
    return failure();
  if (n.rankOf(x) != 2 || std::abs(offset) > kMaxElements)
    return n.fail("the input must be a matrix");
  Type i64 = IntegerType::get(n.getContext(), 64);
  Value row = n.iota(n.shapeOf(x), 0, i64),
        column = n.iota(n.shapeOf(x), 1, i64);
  Value diagonal = n.add(row, n.intScalar(offset, i64));
  return n.out(
      n.convert(n.compare(ComparePredicate::EQ, column, diagonal), element));
}

static LogicalResult importTrilu(OnnxNode &n) {
  Value x = n.in(0);
  bool upper = n.intAttr("upper", 1) != 0;
  int64_t offset = 0, rank = n.rankOf(x);
  if (n.has(1)) {
    FailureOr<int64_t> given = n.oneInt(1);
    if (failed(given))
      return failure();
    offset = *given;
  }
  if (rank < 2)
    return n.fail("the input must have 2 dims or more");
  offset = std::clamp<int64_t>(offset, -kMaxElements, kMaxElements);
  Type i64 = IntegerType::get(n.getContext(), 64);
  Value row = n.iota(n.shapeOf(x), rank - 2, i64);
  Value column = n.iota(n.shapeOf(x), rank - 1, i64);
  Value diagonal = n.add(row, n.intScalar(offset, i64));
  Value kept = n.compare(upper ? ComparePredicate::GE : ComparePredicate::LE,
                         column, diagonal);
  return n.out(n.select(kept, x, n.splat(0, x)));
}

static LogicalResult importDropout(OnnxNode &n) {
  Value x = n.in(0);
  double rate = 0.5;
  n.ignore({"seed"});
  if (n.opset < 7)
    n.ignore({"is_test"});
  if (n.opset < 12) {
    rate = n.floatAttr("ratio", 0.5);
  } else {
    if (n.has(1)) {
      FailureOr<HostTensor> ratio = n.constant(1);
      if (failed(ratio))
        return failure();
      rate = ratio->getNumElements() == 1 ? ratio->getDouble(0) : -1;
    }
    if (n.has(2)) {
      FailureOr<HostTensor> training = n.constant(2);
      if (failed(training))
        return failure();
      // Exporters write a constant for training mode: fit drops then, as it
      // does of files for inference, and prediction keeps everything.
      if (training->getNumElements() != 1 ||
          (n.isBound(2) && training->getInt(0) != 0 && rate != 0))
        return n.fail("a prediction that drops at random is not supported",
                      "give it without training_mode; fit drops by itself");
    }
  }
  if (!(rate >= 0 && rate < 1))
    return n.fail("the ratio must be in [0, 1)");
  if (!n.isFloat(x))
    return n.fail("only floats can be dropped");
  auto drop = [&](Value from) {
    return n.make<DropoutOp>({from}, {n.f64("rate", rate)});
  };
  if (!n.wants(1))
    return n.out(drop(x));
  // The mask is what training drops: of ones, from which both outputs come.
  Value one = n.scalar(1, n.elementOf(x)), zero = n.scalar(0, n.elementOf(x));
  Value kept = drop(n.broadcastTo(one, n.shapeOf(x)));
  Value mask = n.compare(ComparePredicate::NE, kept, zero);
  if (failed(n.out(n.select(mask, n.mul(x, kept), zero))))
    return failure();
  return n.out(1, n.opset < 10 ? n.convert(mask, n.elementOf(x)) : mask);
}

/// Windows of signal processing: a - b cos(2 pi i / N) + c cos(4 pi i / N).
static LogicalResult importSignalWindow(OnnxNode &n, double a, double b,
                                        double c) {
  bool periodic = n.intAttr("periodic", 1) != 0;
  Type element = n.elementType(n.intAttr("output_datatype", 1));
  FailureOr<int64_t> size = n.oneInt(0);
  if (!element || failed(size))
    return failure();
  if (*size < 1 || *size > kMaxFilled)
    return n.fail("the size is out of range");
  HostTensor tensor(RankedTensorType::get({*size}, element));
  double period = periodic ? *size : *size - 1;
  for (int64_t i = 0; i < *size; ++i) {
    double turn = 2 * M_PI * i / period;
    tensor.setDouble(i, a - b * std::cos(turn) + c * std::cos(2 * turn));
  }
  return n.out(n.constant(tensor));
}
static LogicalResult importHann(OnnxNode &n) {
  return importSignalWindow(n, 0.5, 0.5, 0);
}
static LogicalResult importHamming(OnnxNode &n) {
  return importSignalWindow(n, 25.0 / 46, 1 - 25.0 / 46, 0);
}
static LogicalResult importBlackman(OnnxNode &n) {
  return importSignalWindow(n, 0.42, 0.5, 0.08);
}

ArrayRef<OnnxOp> mlir::dist::graph::getOnnxDataOps() {
  static const OnnxOp rows[] = {
      {"Constant", 1, 0, 0, importConstant},
      {"ConstantOfShape", 9, 1, 1, importConstantOfShape},
      {"Shape", 1, 1, 1, importShape},
      {"Size", 1, 1, 1, importSize},
      {"Range", 11, 3, 3, importRange},
      {"EyeLike", 9, 1, 1, importEyeLike},
      {"Trilu", 14, 1, 2, importTrilu},
      {"Dropout", 1, 1, 3, importDropout},
      {"HannWindow", 17, 1, 1, importHann},
      {"HammingWindow", 17, 1, 1, importHamming},
      {"BlackmanWindow", 17, 1, 1, importBlackman},
  };
  return rows;
}
