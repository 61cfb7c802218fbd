//===- OnnxIndex.cpp - Gathers, scatters and pads of ONNX -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxNode.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// An index that is known must be in range; others are clamped when compiled.
static LogicalResult checkIndices(OnnxNode &n, Value indices, int64_t size) {
  if (!isa<IntegerType>(n.elementOf(indices)))
    return n.fail("indices must be integers");
  BlockArgument argument;
  if (!indices.getDefiningOp<ConstantOp>())
    return success();
  FailureOr<HostTensor> known = n.evaluate(indices, &argument);
  if (failed(known))
    return success();
  for (int64_t i = 0; i < known->getNumElements(); ++i)
    if (known->getInt(i) < -size || known->getInt(i) >= size)
      return n.fail("index " + llvm::Twine(known->getInt(i)) +
                    " is out of range");
  return success();
}

static LogicalResult importGather(OnnxNode &n) {
  Value x = n.in(0), indices = n.in(1);
  FailureOr<int64_t> axis = n.dim(n.intAttr("axis", 0), n.rankOf(x));
  if (failed(axis) || failed(checkIndices(n, indices, n.shapeOf(x)[*axis])))
    return failure();
  return n.out(n.make<GatherOp>({x, indices}, {n.i64("axis", *axis)}));
}

static LogicalResult importGatherElements(OnnxNode &n) {
  Value x = n.in(0), indices = n.in(1);
  FailureOr<int64_t> axis = n.dim(n.intAttr("axis", 0), n.rankOf(x));
  if (failed(axis) || failed(checkIndices(n, indices, n.shapeOf(x)[*axis])))
    return failure();
  if (n.rankOf(indices) != n.rankOf(x))
    return n.fail("data and indices must have the same number of dims");
  for (int64_t d = 0; d < n.rankOf(x); ++d)
    if (d != *axis && n.shapeOf(indices)[d] > n.shapeOf(x)[d])
      return n.fail("indices are larger than the data in dim " +
                    llvm::Twine(d));
  return n.out(n.make<GatherElementsOp>({x, indices}, {n.i64("axis", *axis)}));
}

static LogicalResult importGatherND(OnnxNode &n) {
  Value x = n.in(0), indices = n.in(1);
  int64_t batch = n.opset >= 12 ? n.intAttr("batch_dims", 0) : 0;
  int64_t rank = n.rankOf(x), indexRank = n.rankOf(indices);
  if (rank < 1 || indexRank < 1 || batch < 0 ||
      batch >= std::min(rank, indexRank) || n.shapeOf(indices).back() < 1 ||
      n.shapeOf(indices).back() > rank - batch ||
      n.shapeOf(x).take_front(batch) != n.shapeOf(indices).take_front(batch))
    return n.fail("shapes of data and indices do not fit");
  return n.out(n.make<GatherNDOp>({x, indices}, {n.i64("batch_dims", batch)}));
}

static FailureOr<ScatterKind> readScatterKind(OnnxNode &n, int64_t since) {
  std::string name =
      n.opset >= since ? n.textAttr("reduction", "none") : "none";
  static const std::pair<const char *, ScatterKind> kinds[] = {
      {"none", ScatterKind::Set},
      {"add", ScatterKind::Add},
      {"mul", ScatterKind::Mul},
      {"max", ScatterKind::Max},
      {"min", ScatterKind::Min}};
  for (auto [text, kind] : kinds)
    if (name == text)
      return kind;
  return n.fail("reduction '" + name + "' is not known");
}

/// The type that updates are combined in: sums and products of types narrower
/// than f32 are in f32, and rounded once.
static Type getCombinedType(OnnxNode &n, ScatterKind kind, Value x) {
  auto element = dyn_cast<FloatType>(n.elementOf(x));
  bool accumulates = kind == ScatterKind::Add || kind == ScatterKind::Mul;
  return accumulates && element && element.getWidth() < 32
             ? Type(Float32Type::get(n.getContext()))
             : n.elementOf(x);
}

static LogicalResult importScatterElements(OnnxNode &n) {
  Value x = n.in(0), indices = n.in(1), updates = n.in(2);
  FailureOr<ScatterKind> kind = readScatterKind(n, 16);
  FailureOr<int64_t> axis = n.dim(n.intAttr("axis", 0), n.rankOf(x));
  if (failed(kind) || failed(axis) ||
      failed(checkIndices(n, indices, n.shapeOf(x)[*axis])))
    return failure();
  bool fits = n.rankOf(indices) == n.rankOf(x) &&
              n.shapeOf(indices) == n.shapeOf(updates) &&
              n.elementOf(updates) == n.elementOf(x);
  for (int64_t d = 0; fits && d < n.rankOf(x); ++d)
    fits = d == *axis || n.shapeOf(indices)[d] <= n.shapeOf(x)[d];
  if (!fits)
    return n.fail("shapes of data, indices and updates do not fit");
  Type wide = getCombinedType(n, *kind, x);
  Value result = n.make<ScatterElementsOp>(
      {n.convert(x, wide), indices, n.convert(updates, wide)},
      {n.attr("kind", ScatterKindAttr::get(n.getContext(), *kind)),
       n.i64("axis", *axis)});
  return n.out(n.convert(result, n.elementOf(x)));
}

static LogicalResult importScatterND(OnnxNode &n) {
  Value x = n.in(0), indices = n.in(1), updates = n.in(2);
  FailureOr<ScatterKind> kind = readScatterKind(n, 16);
  if (failed(kind))
    return failure();
  ArrayRef<int64_t> shape = n.shapeOf(x), where = n.shapeOf(indices);
  if (where.empty() || where.back() > n.rankOf(x) || where.back() < 1)
    return n.fail("indices do not fit the data");
  SmallVector<int64_t> expected(where.drop_back());
  expected.append(shape.begin() + where.back(), shape.end());
  if (ArrayRef<int64_t>(expected) != n.shapeOf(updates) ||
      n.elementOf(updates) != n.elementOf(x))
    return n.fail("updates do not fit data and indices");
  Type wide = getCombinedType(n, *kind, x);
  Value result = n.make<ScatterNDOp>(
      {n.convert(x, wide), indices, n.convert(updates, wide)},
      {n.attr("kind", ScatterKindAttr::get(n.getContext(), *kind)),
       n.i64("batch_dims", 0)});
  return n.out(n.convert(result, n.elementOf(x)));
}

/// on where a position along `axis` is the index, off elsewhere.
static LogicalResult importOneHot(OnnxNode &n) {
  Value indices = n.in(0), values = n.in(2);
  FailureOr<HostTensor> depthValue = n.constant(1);
  if (failed(depthValue))
    return failure();
  int64_t rank = n.rankOf(indices) + 1;
  FailureOr<int64_t> axis = n.dim(n.intAttr("axis", -1), rank);
  if (failed(axis))
    return failure();
  int64_t depth = depthValue->getNumElements() == 1 ? depthValue->getInt(0) : 0;
  if (depth < 1 || depth > kMaxElements)
    return n.fail("the depth must be a positive number");
  if (n.shapeOf(values) != ArrayRef<int64_t>{2})
    return n.fail("values must be [off, on]");
  SmallVector<int64_t> shape(n.shapeOf(indices));
  shape.insert(shape.begin() + *axis, depth);
  if (!isSaneShape(shape))
    return n.fail("its result would be too large");
  Type i64 = IntegerType::get(n.getContext(), 64);
  Value index = n.convert(indices, i64);
  Value negative = n.compare(ComparePredicate::LT, index, n.intScalar(0, i64));
  index = n.select(negative, n.add(index, n.intScalar(depth, i64)), index);
  Value hit = n.compare(ComparePredicate::EQ, n.iota(shape, *axis, i64),
                        n.broadcastMissing(index, shape, {*axis}));
  Value off = n.reshape(n.sliceDim(values, 0, 0, 1), {});
  Value on = n.reshape(n.sliceDim(values, 0, 1, 2), {});
  return n.out(n.select(hit, on, off));
}

/// Padding that repeats elements: a gather of the source positions, dim by dim.
/// Negative pads leave elements out: what is repeated then are those that stay.
static Value padByPosition(OnnxNode &n, Value x, int64_t dim, int64_t low,
                           int64_t high, StringRef mode) {
  int64_t size = n.shapeOf(x)[dim], total = low + size + high;
  int64_t first = std::max<int64_t>(-low, 0);
  int64_t kept = size - first - std::max<int64_t>(-high, 0);
  if (kept <= 0 && total > 0) {
    (void)n.fail("a dim without elements cannot be padded by its own");
    return {};
  }
  SmallVector<int64_t> positions;
  for (int64_t i = 0; i < total; ++i) {
    int64_t at = i - low;
    if (mode == "edge") {
      at = std::clamp<int64_t>(at, 0, size - 1);
    } else if (mode == "wrap") {
      at = first + (((at - first) % kept) + kept) % kept;
    } else {
      int64_t period = std::max<int64_t>(2 * (size - 1), 1);
      at = ((at % period) + period) % period;
      at = at < size ? at : period - at;
    }
    positions.push_back(at);
  }
  return n.make<GatherOp>({x, n.intList(positions)}, {n.i64("axis", dim)});
}

static LogicalResult importPad(OnnxNode &n) {
  Value x = n.in(0);
  int64_t rank = n.rankOf(x);
  std::string mode = n.textAttr("mode", "constant");
  auto pads = n.intsOf("pads", 1, 10);
  Value value;
  if (n.opset < 11)
    value = n.scalar(n.floatAttr("value", 0), n.elementOf(x));
  else if (n.has(2))
    value = n.in(2);
  else
    value = n.scalar(0, n.elementOf(x));
  if (failed(pads) || !*pads)
    return n.fail("it has no pads");
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (n.opset >= 18 && n.has(3)) {
    FailureOr<SmallVector<int64_t>> given = n.ints(3);
    if (failed(given) || failed(given = n.dims(*given, rank)))
      return failure();
    axes = *given;
  }
  if ((*pads)->size() != 2 * axes.size())
    return n.fail("pads must have two entries a dim");
  SmallVector<int64_t> low(rank, 0), high(rank, 0), result(n.shapeOf(x));
  for (auto [i, d] : llvm::enumerate(axes)) {
    low[d] = (**pads)[i];
    high[d] = (**pads)[axes.size() + i];
    if (std::max(std::abs(low[d]), std::abs(high[d])) > kMaxElements)
      return n.fail("pads are out of range");
    result[d] += low[d] + high[d];
  }
  if (!isSaneShape(result))
    return n.fail("its result's shape is impossible");
  if (mode == "constant") {
    if (n.typeOf(value).getNumElements() != 1 ||
        n.elementOf(value) != n.elementOf(x))
      return n.fail("the value must be one number of the input's type");
    return n.out(n.pad(x, n.reshape(value, {}), low, high));
  }
  if (mode != "edge" && mode != "reflect" && mode != "wrap")
    return n.fail("mode '" + mode + "' is not known");
  for (int64_t d = 0; x && d < rank; ++d) {
    if (low[d] == 0 && high[d] == 0)
      continue;
    if (result[d] > (int64_t(1) << 24))
      return n.fail("its result would be too large");
    x = padByPosition(n, x, d, low[d], high[d], mode);
  }
  return n.out(x);
}

/// The first elements of each example's sequence in reverse, as many as its
/// length says.
static LogicalResult importReverseSequence(OnnxNode &n) {
  Value x = n.in(0), lengths = n.in(1);
  int64_t batchAxis = n.intAttr("batch_axis", 1),
          timeAxis = n.intAttr("time_axis", 0);
  if (n.rankOf(x) < 2 || batchAxis + timeAxis != 1 || batchAxis * timeAxis != 0)
    return n.fail("batch_axis and time_axis must be the first two dims");
  ArrayRef<int64_t> shape = n.shapeOf(x);
  int64_t batch = shape[batchAxis], steps = shape[timeAxis];
  if (n.shapeOf(lengths) != ArrayRef<int64_t>{batch} || n.isFloat(lengths))
    return n.fail("sequence_lens must be a vector of an integer an example");
  BlockArgument argument;
  FailureOr<HostTensor> known = failure();
  if (lengths.getDefiningOp<ConstantOp>())
    known = n.evaluate(lengths, &argument);
  bool whole = succeeded(known);
  for (int64_t i = 0; succeeded(known) && i < batch; ++i) {
    int64_t length = known->getInt(i);
    if (length < 0 || length > steps)
      return n.fail("sequence_lens has " + llvm::Twine(length) +
                    ", but there are " + llvm::Twine(steps) + " steps");
    whole &= length == steps;
  }
  if (whole)
    return n.out(n.reverse(x, timeAxis));
  Type number = IntegerType::get(n.getContext(), 64);
  ArrayRef<int64_t> places = shape.take_front(2);
  Value place = n.iota(places, timeAxis, number);
  Value last = n.add(n.convert(lengths, number), n.intScalar(-1, number));
  Value mirrored = n.sub(n.broadcastAlong(last, places, batchAxis), place);
  Value zero = n.splat(0, mirrored);
  place = n.select(n.compare(ComparePredicate::GE, mirrored, zero), mirrored,
                   place);
  Value indices = n.broadcastDims(place, shape, {0, 1});
  return n.out(
      n.make<GatherElementsOp>({x, indices}, {n.i64("axis", timeAxis)}));
}

ArrayRef<OnnxOp> mlir::dist::graph::getOnnxIndexOps() {
  static const OnnxOp rows[] = {
      {"Gather", 1, 2, 2, importGather},
      {"GatherElements", 11, 2, 2, importGatherElements},
      {"GatherND", 11, 2, 2, importGatherND},
      {"Scatter", 9, 3, 3, importScatterElements},
      {"ScatterElements", 11, 3, 3, importScatterElements},
      {"ScatterND", 11, 3, 3, importScatterND},
      {"OneHot", 9, 3, 3, importOneHot},
      {"Pad", 2, 1, 4, importPad},
      {"ReverseSequence", 10, 2, 2, importReverseSequence},
  };
  return rows;
}
