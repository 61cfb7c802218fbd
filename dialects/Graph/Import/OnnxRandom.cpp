//===- OnnxRandom.cpp - Random numbers of ONNX ----------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers come from the seed of the run, the step, and the position in the
// whole tensor, so that every strategy draws the same. Each node has a stream
// of its own. Training advances the step; in prediction it stands still.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxNode.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// Uniform numbers in [0, 1) of f32.
static Value draw(OnnxNode &n, ArrayRef<int64_t> shape) {
  if (!n.seed) {
    (void)n.fail("it draws random numbers", "give --seed N");
    return {};
  }
  // The stream's number goes through the seed's hash; a node's own seed makes
  // another stream of it.
  uint64_t stream =
      *n.seed * 0x9E3779B97F4A7C15ull + 0xD1B54A32D192ED03ull + n.numDraws++;
  if (n.hasAttr("seed"))
    stream += uint64_t(std::llround(n.floatAttr("seed", 0) * 65536)) << 20;
  Type f32 = Float32Type::get(n.getContext());
  return n.make<RandomUniformOp>({n.stepCounter()},
                                 {n.i64("seed", int64_t(stream))},
                                 RankedTensorType::get(shape, f32));
}

/// Shape and type of what is drawn: attributes, or those of the input.
static LogicalResult getForm(OnnxNode &n, bool like,
                             SmallVector<int64_t> *shape, Type *type) {
  if (like) {
    shape->assign(n.shapeOf(n.in(0)).begin(), n.shapeOf(n.in(0)).end());
  } else {
    *shape = n.intsAttr("shape").value_or(SmallVector<int64_t>());
    if (failed(n.rebatch(OnnxNode::ShapeUse::Make, Value(), *shape)))
      return failure();
  }
  bool fromInput = like && !n.hasAttr("dtype");
  *type =
      fromInput ? n.elementOf(n.in(0)) : n.elementType(n.intAttr("dtype", 1));
  if (!*type || !isSaneShape(*shape))
    return n.fail("its shape or type is impossible");
  return success();
}

template <bool like> static LogicalResult importUniform(OnnxNode &n) {
  double low = n.floatAttr("low", 0), high = n.floatAttr("high", 1);
  SmallVector<int64_t> shape;
  Type type;
  if (failed(getForm(n, like, &shape, &type)))
    return failure();
  Value drawn = draw(n, shape);
  if (!drawn)
    return failure();
  return n.out(n.convert(n.add(n.mul(drawn, high - low), low), type));
}

/// Box and Muller's transform; 1 - u is never 0.
template <bool like> static LogicalResult importNormal(OnnxNode &n) {
  double mean = n.floatAttr("mean", 0), scale = n.floatAttr("scale", 1);
  SmallVector<int64_t> shape;
  Type type;
  if (failed(getForm(n, like, &shape, &type)))
    return failure();
  Value first = draw(n, shape), second = draw(n, shape);
  if (!first || !second)
    return failure();
  Value radius = n.sqrt(n.mul(n.log(n.add(n.neg(first), 1)), -2.0));
  Value turn = n.unary<CosOp>(n.mul(second, 2 * M_PI));
  return n.out(n.convert(n.add(n.mul(n.mul(radius, turn), scale), mean), type));
}

static LogicalResult importBernoulli(OnnxNode &n) {
  Value x = n.in(0);
  if (!n.isFloat(x))
    return n.fail("the input must be probabilities");
  SmallVector<int64_t> shape;
  Type type;
  if (failed(getForm(n, true, &shape, &type)))
    return failure();
  Value drawn = draw(n, shape);
  if (!drawn)
    return failure();
  Value wide = n.convert(x, Float32Type::get(n.getContext()));
  return n.out(n.convert(n.compare(ComparePredicate::LT, drawn, wide), type));
}

/// The class with the largest logit after noise of Gumbel's distribution.
static LogicalResult importMultinomial(OnnxNode &n) {
  Value x = n.in(0);
  int64_t samples = n.intAttr("sample_size", 1);
  Type type = n.elementType(n.intAttr("dtype", 6));
  if (!type || n.rankOf(x) != 2 || !n.isFloat(x) || samples < 1 ||
      n.shapeOf(x)[1] < 1)
    return n.fail("a matrix of logits and a sample_size of 1 or more are "
                  "expected");
  SmallVector<int64_t> shape = {n.shapeOf(x)[0], samples, n.shapeOf(x)[1]};
  if (!isSaneShape(shape))
    return n.fail("its result would be too large");
  Value drawn = draw(n, shape);
  if (!drawn)
    return failure();
  Value noise = n.neg(n.log(n.neg(n.log(drawn))));
  Value wide = n.convert(x, Float32Type::get(n.getContext()));
  Value best = n.make<ArgMaxOp>(
      {n.add(n.broadcastDims(wide, shape, {0, 2}), noise)}, {n.i64("axis", 2)});
  return n.out(n.convert(best, type));
}

ArrayRef<OnnxOp> mlir::dist::graph::getOnnxRandomOps() {
  static const OnnxOp rows[] = {
      {"RandomUniform", 1, 0, 0, importUniform<false>},
      {"RandomUniformLike", 1, 1, 1, importUniform<true>},
      {"RandomNormal", 1, 0, 0, importNormal<false>},
      {"RandomNormalLike", 1, 1, 1, importNormal<true>},
      {"Bernoulli", 15, 1, 1, importBernoulli},
      {"Multinomial", 7, 1, 1, importMultinomial},
  };
  return rows;
}
