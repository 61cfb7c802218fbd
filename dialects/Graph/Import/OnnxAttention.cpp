//===- OnnxAttention.cpp - Attention and rotary embedding of ONNX ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Composed of products, softmax and element-wise ops, in the order of the ONNX
// operators' own function bodies.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxNode.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// [batch, length, heads * size] as [batch, heads, length, size].
static Value splitHeads(OnnxNode &n, Value x, int64_t heads) {
  ArrayRef<int64_t> s = n.shapeOf(x);
  if (heads < 1 || s[2] % heads) {
    (void)n.fail("a hidden size of " + llvm::Twine(s[2]) +
                 " does not divide by " + llvm::Twine(heads) + " heads");
    return {};
  }
  return n.transpose(n.reshape(x, {s[0], s[1], heads, s[2] / heads}),
                     {0, 2, 1, 3});
}

/// [batch, heads, length, size] as [batch, length, heads * size].
static Value joinHeads(OnnxNode &n, Value x) {
  if (!x)
    return x;
  SmallVector<int64_t> s(n.shapeOf(x));
  return n.reshape(n.transpose(x, {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]});
}

/// Each head `times` in a row.
static Value repeatHeads(OnnxNode &n, Value x, int64_t times) {
  if (times == 1 || !x)
    return x;
  SmallVector<int64_t> s(n.shapeOf(x));
  x = n.broadcastDims(x, {s[0], s[1], times, s[2], s[3]}, {0, 1, 3, 4});
  return n.reshape(x, {s[0], s[1] * times, s[2], s[3]});
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {
/// What the queries may see, as a bias: -inf where they may not.
struct Bias {
  Value value; // null: everything
  /// Some query may see nothing.
  bool mayBeEmpty = false;
};

/// Queries, keys and values as [batch, heads, length, size].
struct Heads {
  Value query, key, value;
};
} // namespace

/// The mask input as a bias over all keys. A shorter one hides the last keys.
static FailureOr<Value> readMask(OnnxNode &n, Type type, int64_t keys) {
  Value mask = n.in(3);
  bool isBool = n.elementOf(mask).isInteger(1);
  if (!isBool && n.elementOf(mask) != type)
    return n.fail("the mask must be boolean or of the query's type");
  Value zero = n.scalar(0, type), minus = n.scalar(-INFINITY, type);
  if (isBool)
    mask = n.select(mask, zero, minus);
  int64_t rank = n.rankOf(mask);
  if (rank == 0 || !mask)
    return mask;
  SmallVector<int64_t> low(rank, 0), high(rank, 0);
  high.back() = keys - n.shapeOf(mask).back();
  if (high.back() < 0)
    return n.fail("the mask is for more than the " + llvm::Twine(keys) +
                  " keys");
  return n.pad(mask, minus, low, high);
}

static FailureOr<Bias> makeBias(OnnxNode &n, const Heads &x) {
  Bias bias;
  Type type = n.elementOf(x.query), i64 = IntegerType::get(n.getContext(), 64);
  int64_t batch = n.shapeOf(x.query)[0], queries = n.shapeOf(x.query)[2],
          keys = n.shapeOf(x.key)[2];
  bool causal = n.intAttr("is_causal", 0) != 0;
  int64_t left = -1, right = -1;
  if (n.opset >= 25) {
    left = n.intAttr("left_window_size", -1);
    right = n.intAttr("right_window_size", -1);
    if (std::min(left, right) < -1 || std::max(left, right) > kMaxElements)
      return n.fail("a window size is out of range");
  }
  if (n.has(3)) {
    FailureOr<Value> mask = readMask(n, type, keys);
    if (failed(mask))
      return failure();
    bias.value = *mask;
    bias.mayBeEmpty = true;
  }
  Value zero = n.scalar(0, type), minus = n.scalar(-INFINITY, type);
  auto restrictTo = [&](Value allowed) {
    Value part = n.select(allowed, zero, minus);
    bias.value = bias.value ? n.add(bias.value, part) : part;
  };
  Value lengths = n.in(6);
  if (lengths &&
      (n.shapeOf(lengths) != ArrayRef<int64_t>{batch} || n.isFloat(lengths)))
    return n.fail("nonpad_kv_seqlen must be a vector of an integer an example");
  lengths = n.convert(lengths, i64);
  auto perExample = [&](Value v) {
    return n.broadcastDims(v, {batch, 1, queries, keys}, {0});
  };
  Value key = n.iota({queries, keys}, 1, i64);
  if (causal || left >= 0 || right >= 0) {
    // Query i stands behind the keys that came before this block.
    Value query = n.iota({queries, keys}, 0, i64);
    if (n.has(4)) {
      query = n.add(query, n.intScalar(n.shapeOf(n.in(4))[2], i64));
    } else if (lengths) {
      Value before = n.add(lengths, n.intScalar(-queries, i64));
      query = n.add(perExample(before), query);
    }
    if (causal)
      restrictTo(n.compare(ComparePredicate::LE, key, query));
    if (left >= 0)
      restrictTo(n.compare(ComparePredicate::LE, query,
                           n.add(key, n.intScalar(left, i64))));
    if (right >= 0)
      restrictTo(n.compare(ComparePredicate::LE, key,
                           n.add(query, n.intScalar(right, i64))));
    bias.mayBeEmpty |= left >= 0 || right >= 0;
  }
  if (lengths) {
    restrictTo(n.compare(ComparePredicate::LT, key, perExample(lengths)));
    bias.mayBeEmpty = true;
  }
  return bias;
}

static FailureOr<Heads> readHeads(OnnxNode &n) {
  Heads x = {n.in(0), n.in(1), n.in(2)};
  int64_t queryHeads = n.intAttr("q_num_heads", 0),
          keyHeads = n.intAttr("kv_num_heads", 0), rank = n.rankOf(x.query);
  Type type = n.elementOf(x.query);
  if ((rank != 3 && rank != 4) || n.rankOf(x.key) != rank ||
      n.rankOf(x.value) != rank)
    return n.fail("query, key and value must have 3 or 4 dims");
  if (!n.isFloat(x.query) || n.elementOf(x.key) != type ||
      n.elementOf(x.value) != type)
    return n.fail("query, key and value must be of one float type");
  if (rank == 3)
    x = {splitHeads(n, x.query, queryHeads), splitHeads(n, x.key, keyHeads),
         splitHeads(n, x.value, keyHeads)};
  if (n.has(4) != n.has(5) || (n.has(4) && n.has(6)))
    return n.fail("past_key and past_value come together, and without "
                  "nonpad_kv_seqlen");
  if (n.has(4)) {
    if (n.rankOf(n.in(4)) != 4 || n.rankOf(n.in(5)) != 4)
      return n.fail("past_key and past_value must have 4 dims");
    x.key = n.concat({n.in(4), x.key}, 2);
    x.value = n.concat({n.in(5), x.value}, 2);
  }
  if (!x.query || !x.key || !x.value)
    return failure();
  ArrayRef<int64_t> q = n.shapeOf(x.query), k = n.shapeOf(x.key),
                    v = n.shapeOf(x.value);
  if (q[0] != k[0] || q[0] != v[0] || q[3] != k[3] || k[1] != v[1] ||
      k[2] != v[2] || k[1] < 1 || q[1] % k[1] || q[3] < 1)
    return n.fail("shapes of query, key and value do not fit");
  return x;
}

static LogicalResult importAttention(OnnxNode &n) {
  FailureOr<Heads> heads = readHeads(n);
  if (failed(heads))
    return failure();
  Heads x = *heads;
  double softcap = n.floatAttr("softcap", 0);
  int64_t mode = n.intAttr("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3)
    return n.fail("qk_matmul_output_mode must be 0 to 3");
  // Probabilities of 16 bits stay in f32 up to the mean that they weight:
  // rounding them would cost as much as all other rounding together.
  Type type = n.elementOf(x.query), precision = type;
  if (n.hasAttr("softmax_precision")) {
    precision = n.elementType(n.intAttr("softmax_precision", 1));
    if (!precision || !isa<FloatType>(precision))
      return n.fail("softmax_precision must be a float type");
  }
  if (precision.getIntOrFloatBitWidth() < 32)
    precision = Float32Type::get(n.getContext());
  double scale = n.hasAttr("scale")
                     ? n.floatAttr("scale", 1)
                     : 1 / std::sqrt(double(n.shapeOf(x.query)[3]));
  if (!(scale >= 0))
    return n.fail("the scale must not be negative");
  if ((n.wants(1) && failed(n.out(1, x.key))) ||
      (n.wants(2) && failed(n.out(2, x.value))))
    return failure();
  FailureOr<Bias> bias = makeBias(n, x);
  if (failed(bias))
    return failure();
  int64_t times = n.shapeOf(x.query)[1] / n.shapeOf(x.key)[1];
  x.key = repeatHeads(n, x.key, times);
  x.value = repeatHeads(n, x.value, times);

  // Both sides take the root of the scale, so that neither overflows.
  double root = std::sqrt(scale);
  Value scores =
      n.dot(n.mul(x.query, root), n.mul(x.key, root), {0, 1}, {0, 1}, {3}, {3});
  Value shown = scores;
  if (softcap > 0)
    scores = n.mul(n.tanh(n.div(scores, softcap)), softcap);
  if (mode == 1)
    shown = scores;
  Value empty;
  if (bias->value) {
    SmallVector<int64_t> shape(n.shapeOf(scores));
    scores = n.add(scores, bias->value);
    if (!scores || n.shapeOf(scores) != ArrayRef<int64_t>(shape))
      return n.fail("the mask does not broadcast to queries and keys");
    if (bias->mayBeEmpty) {
      // A query that sees nothing gives zeros. It takes other scores before
      // the softmax, whose 0 / 0 would be in its derivative else.
      int64_t last = n.rankOf(bias->value) - 1;
      Value top = last < 0
                      ? bias->value
                      : n.reduce(Reduction::Max, bias->value, {last}, true);
      empty = n.make<IsInfOp>({top}, {n.flag("positive", false)});
      if (!empty)
        return failure();
    }
  }
  if (mode == 2)
    shown = scores;
  if (empty)
    scores = n.select(empty, n.scalar(0, type), scores);
  Value weights =
      n.make<SoftmaxOp>({n.convert(scores, precision)}, {n.i64("axis", 3)});
  if (empty)
    weights = n.select(empty, n.scalar(0, precision), weights);
  if (mode == 3)
    shown = n.convert(weights, type);
  if (n.wants(3) && failed(n.out(3, shown)))
    return failure();
  // Unlike those of a precision asked for, which end with the softmax.
  if (type.getIntOrFloatBitWidth() >= 32)
    weights = n.convert(weights, type);
  Value result = n.dot(weights, n.convert(x.value, n.elementOf(weights)),
                       {0, 1}, {0, 1}, {3}, {2});
  result = n.convert(result, type);
  return n.out(n.rankOf(n.in(0)) == 3 ? joinHeads(n, result) : result);
}

//===----------------------------------------------------------------------===//
// Rotary embedding
//===----------------------------------------------------------------------===//

/// The cosines or sines of input `i` as `shape` = [batch, heads, length, half].
static FailureOr<Value> readCache(OnnxNode &n, unsigned i,
                                  ArrayRef<int64_t> shape) {
  Value cache = n.in(i);
  if (Value positions = n.in(3)) {
    if (n.rankOf(cache) != 2 || n.isFloat(positions))
      return n.fail("with position_ids, which are integers, the caches must be "
                    "matrices");
    cache = n.make<GatherOp>({cache, positions}, {n.i64("axis", 0)});
    if (!cache)
      return failure();
  }
  if (n.shapeOf(cache) != ArrayRef<int64_t>{shape[0], shape[2], shape[3]})
    return n.fail("the caches do not fit the input");
  return n.broadcastDims(cache, shape, {0, 2, 3});
}

static LogicalResult importRotaryEmbedding(OnnxNode &n) {
  Value x = n.in(0);
  bool interleaved = n.intAttr("interleaved", 0) != 0;
  int64_t part = n.intAttr("rotary_embedding_dim", 0);
  int64_t heads = n.intAttr("num_heads", 0), rank = n.rankOf(x);
  if (rank != 3 && rank != 4)
    return n.fail("the input must have 3 or 4 dims");
  if (rank == 3)
    x = splitHeads(n, x, heads);
  if (!x)
    return failure();
  SmallVector<int64_t> s(n.shapeOf(x)); // batch, heads, length, size
  part = part ? part : s[3];
  if (part < 2 || part > s[3] || part % 2)
    return n.fail("rotary_embedding_dim must be even and at most " +
                  llvm::Twine(s[3]));
  SmallVector<int64_t> half = {s[0], s[1], s[2], part / 2};
  FailureOr<Value> cosine = readCache(n, 1, half), sine = readCache(n, 2, half);
  if (failed(cosine) || failed(sine))
    return failure();
  // Pairs are neighbours, or lie in the two halves.
  SmallVector<int64_t> pairs(half);
  pairs.insert(interleaved ? pairs.end() : pairs.begin() + 3, 2);
  int64_t pairDim = interleaved ? 4 : 3;
  Value turned = n.reshape(n.sliceDim(x, 3, 0, part), pairs);
  auto member = [&](int64_t i) {
    return n.reshape(n.sliceDim(turned, pairDim, i, i + 1), half);
  };
  Value first = member(0), second = member(1);
  Value real = n.sub(n.mul(*cosine, first), n.mul(*sine, second));
  Value imaginary = n.add(n.mul(*sine, first), n.mul(*cosine, second));
  SmallVector<int64_t> single(half);
  single.insert(single.begin() + pairDim, 1);
  Value result = n.reshape(
      n.concat({n.reshape(real, single), n.reshape(imaginary, single)},
               pairDim),
      {s[0], s[1], s[2], part});
  if (part < s[3])
    result = n.concat({result, n.sliceDim(x, 3, part, s[3])}, 3);
  return n.out(rank == 3 ? joinHeads(n, result) : result);
}

ArrayRef<OnnxOp> mlir::dist::graph::getOnnxAttentionOps() {
  static const OnnxOp rows[] = {
      {"Attention", 23, 3, 7, importAttention},
      {"RotaryEmbedding", 23, 3, 4, importRotaryEmbedding},
  };
  return rows;
}
