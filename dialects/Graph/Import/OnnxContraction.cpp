//===- OnnxContraction.cpp - Products and convolutions of ONNX -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxWindow.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static LogicalResult importGemm(OnnxNode &n) {
  if (n.opset < 7)
    n.ignore({"broadcast"});
  double alpha = n.floatAttr("alpha", 1), beta = n.floatAttr("beta", 1);
  int64_t transA = n.intAttr("transA", 0) != 0;
  int64_t transB = n.intAttr("transB", 0) != 0;
  Value a = n.in(0), b = n.in(1), c = n.in(2);
  if (n.rankOf(a) != 2 || n.rankOf(b) != 2)
    return n.fail("A and B must be matrices");
  if (n.shapeOf(a)[1 - transA] != n.shapeOf(b)[transB])
    return n.fail("A has " + llvm::Twine(n.shapeOf(a)[1 - transA]) +
                  " columns, but B has " + llvm::Twine(n.shapeOf(b)[transB]) +
                  " rows");
  Value result = n.dot(a, b, {}, {}, {1 - transA}, {transB});
  if (alpha != 1)
    result = n.mul(result, alpha);
  if (c) {
    FailureOr<SmallVector<int64_t>> shape =
        n.commonShape(n.shapeOf(result), n.shapeOf(c));
    if (failed(shape) || ArrayRef<int64_t>(*shape) != n.shapeOf(result))
      return n.fail("C does not broadcast to the product's shape");
    result = n.add(result, beta == 1 ? c : n.mul(c, beta));
  }
  return n.out(result);
}

/// NumPy's matmul: the last two dims multiply, those before broadcast, and a
/// vector is a matrix of one row (left) or one column (right).
static Value matmul(OnnxNode &n, Value x, Value y) {
  ArrayRef<int64_t> xs = n.shapeOf(x), ys = n.shapeOf(y);
  if (xs.empty() || ys.empty()) {
    (void)n.fail("scalars cannot be multiplied as matrices");
    return {};
  }
  int64_t inner = ys.size() == 1 ? 0 : ys.size() - 2;
  if (xs.back() != ys[inner]) {
    (void)n.fail("inner dims " + llvm::Twine(xs.back()) + " and " +
                 llvm::Twine(ys[inner]) + " differ");
    return {};
  }
  // A weight matrix, or vectors: no batch.
  if (ys.size() <= 2)
    return n.dot(x, y, {}, {}, {int64_t(xs.size()) - 1}, {inner});
  ArrayRef<int64_t> xBatch =
      xs.size() == 1 ? xs.take_front(0) : xs.drop_back(2);
  FailureOr<SmallVector<int64_t>> batch =
      n.commonShape(xBatch, ys.drop_back(2));
  if (failed(batch)) {
    (void)n.fail("batch dims do not broadcast");
    return {};
  }
  SmallVector<int64_t> all =
      llvm::to_vector(llvm::seq<int64_t>(0, batch->size()));
  SmallVector<int64_t> xShape(*batch), yShape(*batch);
  xShape.append(xs.begin() + xBatch.size(), xs.end());
  yShape.append(ys.end() - 2, ys.end());
  int64_t rank = batch->size();
  // A lone vector on the left has no batch to repeat over.
  x = n.broadcastTo(x, xShape);
  y = n.broadcastTo(y, yShape);
  return n.dot(x, y, all, all, {int64_t(xShape.size()) - 1}, {rank});
}

/// The f32 probabilities behind a 16-bit softmax, whatever is masked out after
/// it; null if `v` is none.
static Value findProbabilities(OnnxNode &n, Value v) {
  Type wide = Float32Type::get(n.getContext());
  if (auto softmax = v.getDefiningOp<SoftmaxOp>())
    return n.make<SoftmaxOp>(
        {n.convert(softmax.getOperand(), wide)},
        {n.i64("axis", static_cast<int64_t>(softmax.getAxis()))});
  auto select = v.getDefiningOp<SelectOp>();
  if (!select)
    return {};
  Value inner = findProbabilities(n, select.getOnFalse());
  return inner ? n.select(select.getPredicate(),
                          n.convert(select.getOnTrue(), wide), inner)
               : Value();
}

static LogicalResult importMatMul(OnnxNode &n) {
  Value x = n.in(0), y = n.in(1);
  Type type = n.elementOf(x);
  if (type.isF16() || type.isBF16())
    // Attention spelled out: rounding the probabilities before the mean that
    // they weight would cost as much as all other rounding together.
    if (Value wide = findProbabilities(n, x))
      return n.out(
          n.convert(matmul(n, wide, n.convert(y, n.elementOf(wide))), type));
  return n.out(matmul(n, x, y));
}

static LogicalResult importMatMulInteger(OnnxNode &n) {
  Type wide = IntegerType::get(n.getContext(), 32);
  Value operands[2];
  for (unsigned i : {0u, 1u}) {
    operands[i] = n.convert(n.in(i), wide);
    if (Value zero = n.in(2 + i)) {
      zero = n.convert(zero, wide);
      // One a row of A, or a column of B.
      if (i == 0 && n.rankOf(zero) == 1 && n.shapeOf(zero)[0] != 1)
        zero = n.reshape(zero, {n.shapeOf(zero)[0], 1});
      operands[i] = n.sub(operands[i], zero);
    }
  }
  return n.out(matmul(n, operands[0], operands[1]));
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// "NC01" and "OI01" for `spatial` dims.
static std::string layout(StringRef channels, int64_t spatial) {
  std::string text = channels.str();
  for (int64_t i = 0; i < spatial; ++i)
    text += std::to_string(i);
  return text;
}

static SmallVector<NamedAttribute>
convAttributes(OnnxNode &n, const OnnxWindow &window, int64_t groups) {
  int64_t spatial = window.sizes.size();
  return {n.list("strides", window.strides),
          n.list("pad_low", window.low),
          n.list("pad_high", window.high),
          n.list("dilations", window.dilations),
          n.i64("groups", groups),
          n.text("input_layout", layout("NC", spatial)),
          n.text("filter_layout", layout("OI", spatial)),
          n.text("output_layout", layout("NC", spatial))};
}

/// Checks what both directions share, and the `kernel_shape` attribute.
static LogicalResult checkConv(OnnxNode &n, int64_t groups) {
  ArrayRef<int64_t> x = n.shapeOf(n.in(0)), w = n.shapeOf(n.in(1));
  if (x.size() < 3 || w.size() != x.size() || x.size() > 11)
    return n.fail("input and filter must have the same number of dims, 3 or "
                  "more");
  if (!n.isFloat(n.in(0)) || n.elementOf(n.in(0)) != n.elementOf(n.in(1)))
    return n.fail("input and filter must be of the same float type");
  if (groups < 1)
    return n.fail("group must be 1 or more");
  if (auto kernel = n.intsAttr("kernel_shape"))
    if (ArrayRef<int64_t>(*kernel) != w.drop_front(2))
      return n.fail("kernel_shape is not the filter's");
  return success();
}

static Value addBias(OnnxNode &n, Value result, Value bias) {
  if (!bias || !result)
    return result;
  if (n.rankOf(bias) != 1 || n.shapeOf(bias)[0] != n.shapeOf(result)[1]) {
    (void)n.fail("the bias must be a vector of one number a channel");
    return {};
  }
  return n.add(result, n.broadcastAlong(bias, n.shapeOf(result), 1));
}

static LogicalResult importConv(OnnxNode &n) {
  int64_t groups = n.intAttr("group", 1);
  if (failed(checkConv(n, groups)))
    return failure();
  ArrayRef<int64_t> x = n.shapeOf(n.in(0)), w = n.shapeOf(n.in(1));
  if (w[1] == 0 || x[1] / groups != w[1] || x[1] % groups || w[0] % groups)
    return n.fail("channels of input (" + llvm::Twine(x[1]) + ") and filter (" +
                  llvm::Twine(w[1]) + ") do not fit " + llvm::Twine(groups) +
                  " groups");
  FailureOr<OnnxWindow> window =
      readWindow(n, x.drop_front(2), w.drop_front(2), /*ceilMode=*/false);
  if (failed(window))
    return failure();
  Value result =
      n.make<ConvOp>({n.in(0), n.in(1)}, convAttributes(n, *window, groups));
  return n.out(addBias(n, result, n.in(2)));
}

static LogicalResult importConvTranspose(OnnxNode &n) {
  int64_t groups = n.intAttr("group", 1);
  if (failed(checkConv(n, groups)))
    return failure();
  ArrayRef<int64_t> x = n.shapeOf(n.in(0)), w = n.shapeOf(n.in(1));
  if (x[1] != w[0] || x[1] % groups)
    return n.fail("channels of input and filter differ");
  SmallVector<int64_t> outputShape;
  FailureOr<OnnxWindow> window =
      readTransposedWindow(n, x.drop_front(2), w.drop_front(2), &outputShape);
  if (failed(window))
    return failure();
  int64_t channels;
  if (llvm::MulOverflow(w[1], groups, channels))
    return n.fail("too many channels");
  SmallVector<int64_t> shape = {x[0], channels};
  shape.append(outputShape);
  if (!isSaneShape(shape))
    return n.fail("its result would be too large");
  Value result = n.make<ConvInputGradOp>(
      {n.in(0), n.in(1)}, convAttributes(n, *window, groups),
      RankedTensorType::get(shape, n.elementOf(n.in(0))));
  return n.out(addBias(n, result, n.in(2)));
}

ArrayRef<OnnxOp> mlir::dist::graph::getOnnxContractionOps() {
  static const OnnxOp rows[] = {
      {"Gemm", 1, 2, 3, importGemm},
      {"MatMul", 1, 2, 2, importMatMul},
      {"MatMulInteger", 10, 2, 4, importMatMulInteger},
      {"Conv", 1, 2, 3, importConv},
      {"ConvTranspose", 1, 2, 3, importConvTranspose},
  };
  return rows;
}
