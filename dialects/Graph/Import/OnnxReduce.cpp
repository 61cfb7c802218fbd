//===- OnnxReduce.cpp - Reductions and scans of ONNX -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxRoot.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
struct ReducedDims {
  SmallVector<int64_t> dims;
  bool keepDims;
  /// No axes, and that means: leave the input alone.
  bool identity;
};
} // namespace

/// `last`: the last opset with axes as an attribute.
static FailureOr<ReducedDims> readReduction(OnnxNode &n, int64_t last) {
  ReducedDims result;
  result.keepDims = n.intAttr("keepdims", 1) != 0;
  auto axes = n.intsOf("axes", 1, last);
  if (failed(axes))
    return failure();
  bool noop = n.opset > last && n.intAttr("noop_with_empty_axes", 0) != 0;
  bool empty = !*axes || (*axes)->empty();
  result.identity = empty && noop;
  int64_t rank = n.rankOf(n.in(0));
  if (empty) {
    if (!noop)
      result.dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    return result;
  }
  FailureOr<SmallVector<int64_t>> dims = n.dims(**axes, rank);
  if (failed(dims))
    return failure();
  result.dims = *dims;
  return result;
}

static Value square(OnnxNode &n, Value x) { return n.mul(x, x); }

/// Shifted by the largest element, unless that is infinite.
static Value logSumExp(OnnxNode &n, Value x, const ReducedDims &r) {
  Value top = n.reduce(Reduction::Max, x, r.dims, true);
  if (!top)
    return {};
  Value infinite = n.make<IsInfOp>({top});
  top = n.select(infinite, n.splat(0, top), top);
  Value sum = n.reduce(Reduction::Sum, n.exp(n.sub(x, top)), r.dims, true);
  if (!sum)
    return {};
  // Where every number is -inf, so is the result, and the derivative 0.
  Value log = n.log(replaceZeros(n, sum));
  log = n.select(
      isZero(n, sum),
      n.scalar(-std::numeric_limits<double>::infinity(), n.elementOf(sum)),
      log);
  Value result = n.add(log, top);
  if (!result || r.keepDims)
    return result;
  SmallVector<int64_t> shape;
  for (auto [d, size] : llvm::enumerate(n.shapeOf(result)))
    if (!llvm::is_contained(r.dims, int64_t(d)))
      shape.push_back(size);
  return n.reshape(result, shape);
}

namespace {
enum class Form {
  Sum,
  Mean,
  L1,
  L2,
  LogSum,
  LogSumExp,
  SumSquare,
  Max,
  Min,
  Prod
};
} // namespace

template <Form form> static LogicalResult importReduce(OnnxNode &n) {
  FailureOr<ReducedDims> r = readReduction(n, form == Form::Sum ? 12 : 17);
  if (failed(r))
    return failure();
  Value x = n.in(0);
  Type type = n.elementOf(x);
  bool isUnsigned = type.isUnsignedInteger();
  auto sum = [&](Value v) {
    return n.reduce(Reduction::Sum, v, r->dims, r->keepDims);
  };
  auto abs = [&](Value v) { return isUnsigned ? v : n.unary<AbsOp>(v); };
  switch (form) {
  case Form::Sum:
    return n.out(sum(x));
  case Form::Mean:
    return n.out(n.mean(x, r->dims, r->keepDims));
  case Form::L1:
    return n.out(sum(abs(x)));
  case Form::L2: {
    if (!n.isFloat(x)) {
      Type wide = Float64Type::get(n.getContext());
      Value total = n.sqrt(sum(square(n, n.convert(x, wide))));
      return n.out(n.convert(total, n.elementOf(x)));
    }
    return n.out(n.convert(rootOfSum(n, sum(square(n, widen(n, x))), 2), type));
  }
  case Form::SumSquare:
    return n.out(n.convert(sum(square(n, widen(n, x))), type));
  case Form::LogSum:
    if (!n.isFloat(x))
      return n.fail("integers are not supported");
    return n.out(n.convert(n.log(sum(widen(n, x))), type));
  case Form::LogSumExp:
    if (!n.isFloat(x))
      return n.fail("integers are not supported");
    return n.out(n.convert(logSumExp(n, widen(n, x), *r), type));
  case Form::Max:
    return n.out(n.reduce(Reduction::Max, x, r->dims, r->keepDims));
  case Form::Min:
    return n.out(n.reduce(Reduction::Min, x, r->dims, r->keepDims));
  case Form::Prod:
    return n.out(n.reduce(Reduction::Product, x, r->dims, r->keepDims));
  }
  return failure();
}

template <typename OpTy> static LogicalResult importArg(OnnxNode &n) {
  Value x = n.in(0);
  bool keepDims = n.intAttr("keepdims", 1) != 0;
  bool last = n.intAttr("select_last_index", 0) != 0;
  FailureOr<int64_t> axis = n.dim(n.intAttr("axis", 0), n.rankOf(x));
  if (failed(axis))
    return failure();
  if (n.shapeOf(x)[*axis] == 0)
    return n.fail("the axis has no elements");
  Value result =
      n.make<OpTy>({x}, {n.i64("axis", *axis), n.flag("select_last", last)});
  SmallVector<int64_t> shape(n.shapeOf(x));
  shape[*axis] = 1;
  return n.out(keepDims ? n.reshape(result, shape) : result);
}

static LogicalResult importCumSum(OnnxNode &n) {
  bool exclusive = n.intAttr("exclusive", 0) != 0;
  bool backwards = n.intAttr("reverse", 0) != 0;
  FailureOr<int64_t> axis = n.oneInt(1);
  if (failed(axis))
    return failure();
  FailureOr<int64_t> dim = n.dim(*axis, n.rankOf(n.in(0)));
  if (failed(dim))
    return failure();
  return n.out(n.make<CumSumOp>({n.in(0)}, {n.i64("axis", *dim),
                                            n.flag("exclusive", exclusive),
                                            n.flag("reverse", backwards)}));
}

static LogicalResult importTopK(OnnxNode &n) {
  Value x = n.in(0);
  bool largest = n.opset < 11 || n.intAttr("largest", 1) != 0;
  if (n.opset >= 11)
    n.ignore({"sorted"}); // unsorted: any order will do
  FailureOr<int64_t> k =
      n.opset < 10 ? FailureOr<int64_t>(n.intAttr("k", 0)) : n.oneInt(1);
  FailureOr<int64_t> axis = n.dim(n.intAttr("axis", -1), n.rankOf(x));
  if (failed(k) || failed(axis))
    return failure();
  if (*k < 0 || *k > n.shapeOf(x)[*axis])
    return n.fail("k is " + llvm::Twine(*k) + ", but the axis has " +
                  llvm::Twine(n.shapeOf(x)[*axis]) + " elements");
  int64_t last = n.rankOf(x) - 1;
  SmallVector<Value> results =
      n.makeAll<TopKOp>({n.moveDim(x, *axis, last)},
                        {n.i64("k", *k), n.flag("largest", largest)});
  if (results.size() != 2)
    return failure();
  return failed(n.out(0, n.moveDim(results[0], last, *axis)))
             ? failure()
             : n.out(1, n.moveDim(results[1], last, *axis));
}

ArrayRef<OnnxOp> mlir::dist::graph::getOnnxReduceOps() {
  static const OnnxOp rows[] = {
      {"ReduceSum", 1, 1, 2, importReduce<Form::Sum>},
      {"ReduceMean", 1, 1, 2, importReduce<Form::Mean>},
      {"ReduceL1", 1, 1, 2, importReduce<Form::L1>},
      {"ReduceL2", 1, 1, 2, importReduce<Form::L2>},
      {"ReduceLogSum", 1, 1, 2, importReduce<Form::LogSum>},
      {"ReduceLogSumExp", 1, 1, 2, importReduce<Form::LogSumExp>},
      {"ReduceSumSquare", 1, 1, 2, importReduce<Form::SumSquare>},
      {"ReduceMax", 1, 1, 2, importReduce<Form::Max>},
      {"ReduceMin", 1, 1, 2, importReduce<Form::Min>},
      {"ReduceProd", 1, 1, 2, importReduce<Form::Prod>},
      {"ArgMax", 1, 1, 1, importArg<ArgMaxOp>},
      {"ArgMin", 1, 1, 1, importArg<ArgMinOp>},
      {"CumSum", 11, 2, 2, importCumSum},
      {"TopK", 1, 1, 2, importTopK},
  };
  return rows;
}
