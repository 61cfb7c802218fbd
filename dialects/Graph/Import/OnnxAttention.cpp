//===- OnnxAttention.cpp - Attention, rotary embedding, einsum -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Composed as in the ONNX operators' own function bodies.
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
    (void)n.fail("the hidden size does not divide by the number of heads");
    return {};
  }
  return n.transpose(n.reshape(x, {s[0], s[1], heads, s[2] / heads}),
                     {0, 2, 1, 3});
}

/// Each head `times` in a row.
static Value repeatHeads(OnnxNode &n, Value x, int64_t times) {
  if (times == 1 || !x)
    return x;
  SmallVector<int64_t> s(n.shapeOf(x));
  x = n.broadcastDims(x, {s[0], s[1], times, s[2], s[3]}, {0, 1, 3, 4});
  return n.reshape(x, {s[0], s[1] * times, s[2], s[3]});
}

namespace {
/// What a query may see, as a bias of 0 or -inf.
struct Bias {
  Value value;
  /// Some query may see nothing.
  bool mayBeEmpty = false;
};
} // namespace

static Bias makeBias(OnnxNode &n, Value q, Value k, bool causal) {
  Bias bias;
  Type type = n.elementOf(q), i64 = IntegerType::get(n.getContext(), 64);
  int64_t queries = n.shapeOf(q)[2], keys = n.shapeOf(k)[2];
  int64_t batch = n.shapeOf(q)[0];
  Value zero = n.scalar(0, type), minus = n.scalar(-INFINITY, type);
  auto also = [&](Value allowed) {
    Value part = n.select(allowed, zero, minus);
    bias.value = bias.value ? n.add(bias.value, part) : part;
  };
  Value position = n.iota({queries, keys}, 1, i64);
  if (Value mask = n.in(3)) {
    bias.mayBeEmpty = true;
    bool isBool = n.elementOf(mask).isInteger(1);
    int64_t rank = n.rankOf(mask), missing = 0;
    if (rank > 0)
      missing = keys - n.shapeOf(mask).back();
    if (rank < 1 || rank > 4 || (missing && n.shapeOf(mask).back() == 1 && keys != 1))
      missing = 0;
    if (!isBool && n.elementOf(mask) != type) {
      (void)n.fail("the mask must be boolean or of the query's type");
      return bias;
    }
    mask = isBool ? n.select(mask, zero, minus) : mask;
    if (missing > 0) {
      SmallVector<int64_t> low(rank, 0), high(rank, 0);
      high.back() = missing;
      mask = n.pad(mask, minus, low, high);
    }
    bias.value = mask;
  }
  Value lengths = n.in(6);
  if (lengths && (n.rankOf(lengths) != 1 || n.shapeOf(lengths)[0] != batch)) {
    (void)n.fail("nonpad_kv_seqlen must be a vector of one number an example");
    return bias;
  }
  lengths = n.convert(lengths, i64);
  SmallVector<int64_t> full = {batch, 1, queries, keys};
  auto perExample = [&](Value v) { return n.broadcastDims(v, full, {0}); };
  int64_t left = -1, right = -1;
  if (n.opset >= 25) {
    left = n.intAttr("left_window_size", -1);
    right = n.intAttr("right_window_size", -1);
    if (left < -1 || right < -1 || left > kMaxElements || right > kMaxElements) {
      (void)n.fail("a window size is out of range");
      return bias;
    }
  }
  if (causal || left >= 0 || right >= 0) {
    // Query i stands at i + offset among the keys.
    Value query = n.iota({queries, keys}, 0, i64);
    if (n.in(4)) {
      query = n.add(query, n.intScalar(n.shapeOf(n.in(4))[2], i64));
    } else if (lengths) {
      query = n.add(perExample(n.add(lengths, n.intScalar(-queries, i64))),
                    query);
      bias.mayBeEmpty = true;
    }
    if (causal)
      also(n.compare(ComparePredicate::LE, position, query));
    if (left >= 0)
      also(n.compare(ComparePredicate::LE, query,
                     n.add(position, n.intScalar(left, i64))));
    if (right >= 0)
      also(n.compare(ComparePredicate::LE, position,
                     n.add(query, n.intScalar(right, i64))));
    bias.mayBeEmpty |= left >= 0 || right >= 0;
  }
  if (lengths) {
    also(n.compare(ComparePredicate::LT, position, perExample(lengths)));
    bias.mayBeEmpty = true;
  }
  return bias;
}

static LogicalResult importAttention(OnnxNode &n) {
  Value q = n.in(0), k = n.in(1), v = n.in(2);
  int64_t qHeads = n.intAttr("q_num_heads", 0), kvHeads = n.intAttr("kv_num_heads", 0);
  bool causal = n.intAttr("is_causal", 0) != 0;
  double softcap = n.floatAttr("softcap", 0);
  int64_t mode = n.intAttr("qk_matmul_output_mode", 0);
  int64_t rank = n.rankOf(q);
  if ((rank != 3 && rank != 4) || n.rankOf(k) != rank || n.rankOf(v) != rank)
    return n.fail("query, key and value must have 3 or 4 dims");
  Type type = n.elementOf(q);
  if (!n.isFloat(q) || n.elementOf(k) != type || n.elementOf(v) != type)
    return n.fail("query, key and value must be of one float type");
  Type precision = type;
  if (n.hasAttr("softmax_precision"))
    precision = n.elementType(n.intAttr("softmax_precision", 1));
  if (!precision)
    return failure();
  if (rank == 3) {
    q = splitHeads(n, q, qHeads);
    k = splitHeads(n, k, kvHeads);
    v = splitHeads(n, v, kvHeads);
    if (!q || !k || !v)
      return failure();
  }
  double scale = n.hasAttr("scale") ? n.floatAttr("scale", 1)
                                    : 1 / std::sqrt(double(n.shapeOf(q)[3]));
  if (bool(n.in(4)) != bool(n.in(5)) || (n.in(4) && n.in(6)))
    return n.fail("past_key and past_value come together, and without "
                  "nonpad_kv_seqlen");
  if (n.in(4)) {
    if (n.rankOf(n.in(4)) != 4 || n.rankOf(n.in(5)) != 4)
      return n.fail("past_key and past_value must have 4 dims");
    k = n.concat({n.in(4), k}, 2);
    v = n.concat({n.in(5), v}, 2);
    if (!k || !v)
      return failure();
  }
  if ((n.wants(1) && failed(n.out(1, k))) || (n.wants(2) && failed(n.out(2, v))))
    return failure();
  ArrayRef<int64_t> qs = n.shapeOf(q), ks = n.shapeOf(k), vs = n.shapeOf(v);
  if (qs[0] != ks[0] || qs[0] != vs[0] || qs[3] != ks[3] || ks[1] != vs[1] ||
      ks[2] != vs[2] || ks[1] < 1 || qs[1] % ks[1])
    return n.fail("shapes of query, key and value do not fit");
  Bias bias = makeBias(n, q, k, causal);
  int64_t times = qs[1] / ks[1];
  k = repeatHeads(n, k, times);
  v = repeatHeads(n, v, times);
  double root = std::sqrt(scale);
  Value scores = n.dot(n.mul(q, root), n.mul(k, root), {0, 1}, {0, 1}, {3}, {3});
  if (softcap > 0) {
    if (n.wants(3) && mode == 0)
      return n.fail("qk_matmul_output_mode 0 with a softcap is not supported");
    scores = n.mul(n.tanh(n.div(scores, softcap)), softcap);
  }
  Value shown = scores;
  if (bias.value)
    scores = n.add(scores, bias.value);
  if (mode == 2)
    shown = scores;
  Value weights = n.make<SoftmaxOp>({n.convert(scores, precision)},
                                    {n.i64("axis", 3)});
  if (bias.mayBeEmpty && weights && bias.value) {
    // A query that sees nothing gives zeros, not 0 / 0.
    int64_t last = n.rankOf(bias.value) - 1;
    Value top = n.reduce(ReduceKind::Max, bias.value, {last}, true);
    Value empty = n.make<IsInfOp>({top}, {n.flag("positive", false)});
    if (!empty)
      return failure();
    weights = n.select(empty, n.scalar(0, precision), weights);
  }
  if (mode == 3)
    shown = n.convert(weights, type);
  if (mode < 0 || mode > 3)
    return n.fail("qk_matmul_output_mode must be 0 to 3");
  if (n.wants(3) && failed(n.out(3, n.convert(shown, type))))
    return failure();
  Value y = n.dot(n.convert(weights, type), v, {0, 1}, {0, 1}, {3}, {2});
  if (rank == 3 && y) {
    SmallVector<int64_t> s(n.shapeOf(y));
    y = n.reshape(n.transpose(y, {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]});
  }
  return n.out(y);
}

static LogicalResult importRotaryEmbedding(OnnxNode &n) {
  Value x = n.in(0);
  bool interleaved = n.intAttr("interleaved", 0) != 0;
  int64_t part = n.intAttr("rotary_embedding_dim", 0);
  int64_t heads = n.intAttr("num_heads", 0), rank = n.rankOf(x);
  if (rank != 3 && rank != 4)
    return n.fail("the input must have 3 or 4 dims");
  SmallVector<int64_t> original(n.shapeOf(x));
  if (rank == 3)
    x = splitHeads(n, x, heads);
  if (!x)
    return failure();
  SmallVector<int64_t> s(n.shapeOf(x)); // batch, heads, length, size
  part = part ? part : s[3];
  if (part < 2 || part > s[3] || part % 2)
    return n.fail("rotary_embedding_dim is out of range");
  SmallVector<int64_t> half = {s[0], s[1], s[2], part / 2};
  Value caches[2];
  for (unsigned i : {0u, 1u}) {
    Value cache = n.in(i + 1);
    if (Value ids = n.in(3)) {
      if (n.rankOf(cache) != 2)
        return n.fail("caches must be tables when there are positions");
      cache = n.make<GatherOp>({cache, ids}, {n.i64("axis", 0)});
      if (!cache)
        return failure();
    }
    if (n.shapeOf(cache) != ArrayRef<int64_t>{s[0], s[2], part / 2})
      return n.fail("the caches do not fit the input");
    caches[i] = n.broadcastDims(cache, half, {0, 2, 3});
  }
  Value turned = n.sliceDim(x, 3, 0, part), rest = n.sliceDim(x, 3, part, s[3]);
  Value first, second;
  if (interleaved) {
    turned = n.reshape(turned, {s[0], s[1], s[2], part / 2, 2});
    first = n.reshape(n.sliceDim(turned, 4, 0, 1), half);
    second = n.reshape(n.sliceDim(turned, 4, 1, 2), half);
  } else {
    first = n.sliceDim(turned, 3, 0, part / 2);
    second = n.sliceDim(turned, 3, part / 2, part);
  }
  Value real = n.sub(n.mul(caches[0], first), n.mul(caches[1], second));
  Value imaginary = n.add(n.mul(caches[1], first), n.mul(caches[0], second));
  Value result;
  if (interleaved) {
    SmallVector<int64_t> single(half);
    single.push_back(1);
    result = n.reshape(
        n.concat({n.reshape(real, single), n.reshape(imaginary, single)}, 4),
        {s[0], s[1], s[2], part});
  } else {
    result = n.concat({real, imaginary}, 3);
  }
  if (part < s[3])
    result = n.concat({result, rest}, 3);
  if (rank == 3)
    result = n.reshape(n.transpose(result, {0, 2, 1, 3}), original);
  return n.out(result);
}

//===----------------------------------------------------------------------===//
// Einsum
//===----------------------------------------------------------------------===//

/// Puts a letter to each dim; those of an ellipsis are '0', '1', ... counted
/// from the end.
static FailureOr<std::string> labelDims(OnnxNode &n, StringRef term,
                                        int64_t rank) {
  std::string labels;
  size_t dots = term.find("...");
  int64_t letters = term.size() - (dots == StringRef::npos ? 0 : 3);
  int64_t hidden = rank - letters;
  if (hidden < 0 || hidden > 9 || (dots == StringRef::npos && hidden != 0))
    return n.fail("a term does not fit its input's dims");
  for (size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      for (int64_t d = hidden; d > 0; --d)
        labels += char('0' + d - 1);
      i += 2;
      continue;
    }
    if (!llvm::isAlpha(term[i]))
      return n.fail("the equation has a character that is no letter");
    labels += term[i];
  }
  for (size_t i = 0; i < labels.size(); ++i)
    if (labels.find(labels[i], i + 1) != std::string::npos)
      return n.fail("diagonals are not supported");
  return labels;
}

/// Sums away dims that nobody needs any more.
static Value sumOthers(OnnxNode &n, Value x, std::string *labels,
                       StringRef needed) {
  SmallVector<int64_t> gone;
  std::string kept;
  for (auto [d, label] : llvm::enumerate(*labels)) {
    if (needed.contains(label))
      kept += label;
    else
      gone.push_back(d);
  }
  *labels = kept;
  return gone.empty() ? x : n.reduce(ReduceKind::Sum, x, gone, false);
}

static LogicalResult importEinsum(OnnxNode &n) {
  std::string equation;
  for (char c : n.textAttr("equation", ""))
    if (c != ' ')
      equation += c;
  auto [left, right] = StringRef(equation).split("->");
  bool explicitOutput = StringRef(equation).contains("->");
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  if (terms.size() != n.numInputs())
    return n.fail("the equation has not one term an input");
  SmallVector<std::string> labels;
  std::string all;
  int64_t hidden = 0;
  for (auto [i, term] : llvm::enumerate(terms)) {
    FailureOr<std::string> one = labelDims(n, term, n.rankOf(n.in(i)));
    if (failed(one))
      return failure();
    labels.push_back(*one);
    all += *one;
    for (char c : *one)
      if (c <= '9')
        hidden = std::max<int64_t>(hidden, c - '0' + 1);
  }
  std::string output;
  if (explicitOutput) {
    int64_t letters = right.size() - (right.contains("...") ? 3 : 0);
    FailureOr<std::string> one = labelDims(
        n, right, letters + (right.contains("...") ? hidden : 0));
    if (failed(one))
      return failure();
    output = *one;
  } else {
    // Ellipsis dims first, then letters that occur once, in order.
    for (int64_t d = hidden; d > 0; --d)
      output += char('0' + d - 1);
    std::string letters = all;
    llvm::sort(letters);
    for (char c : letters)
      if (c > '9' && llvm::count(letters, c) == 1)
        output += c;
  }
  for (char c : output)
    if (all.find(c) == std::string::npos)
      return n.fail("the output has a letter that no input has");
  Value result = n.in(0);
  std::string current = labels[0];
  for (unsigned i = 0; i < n.numInputs(); ++i) {
    std::string needed = output;
    for (unsigned j = i + 1; j < n.numInputs(); ++j)
      needed += labels[j];
    if (i == 0) {
      result = sumOthers(n, result, &current, needed);
      continue;
    }
    Value other = sumOthers(n, n.in(i), &labels[i], needed + current);
    if (!result || !other)
      return failure();
    result = sumOthers(n, result, &current, needed + labels[i]);
    SmallVector<int64_t> xBatch, yBatch, xContract, yContract;
    std::string batch, xRest, yRest;
    for (auto [d, label] : llvm::enumerate(current)) {
      size_t at = labels[i].find(label);
      if (at == std::string::npos) {
        xRest += label;
        continue;
      }
      if (n.shapeOf(result)[d] != n.shapeOf(other)[at])
        return n.fail("dims of one letter differ in size");
      bool kept = needed.find(label) != std::string::npos;
      (kept ? xBatch : xContract).push_back(d);
      (kept ? yBatch : yContract).push_back(at);
      if (kept)
        batch += label;
    }
    for (char label : labels[i])
      if (current.find(label) == std::string::npos)
        yRest += label;
    result = n.dot(result, other, xBatch, yBatch, xContract, yContract);
    current = batch + xRest + yRest;
  }
  SmallVector<int64_t> permutation;
  for (char c : output)
    permutation.push_back(current.find(c));
  return n.out(result ? n.transpose(result, permutation) : result);
}

ArrayRef<OnnxOp> mlir::dist::graph::getOnnxAttentionOps() {
  static const OnnxOp rows[] = {
      {"Attention", 23, 3, 7, importAttention},
      {"RotaryEmbedding", 23, 3, 4, importRotaryEmbedding},
      {"Einsum", 12, 1, kManyInputs, importEinsum},
  };
  return rows;
}
