//===- OnnxShape.cpp - ONNX ops that change the form of a tensor ----------===//
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

static LogicalResult importIdentity(OnnxNode &n) {
  Value x = n.in(0);
  return n.out(n.stopsGradient() && n.isFloat(x) ? n.unary<StopGradientOp>(x)
                                                 : x);
}

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

static LogicalResult importFlatten(OnnxNode &n) {
  Value x = n.in(0);
  int64_t axis = n.intAttr("axis", 1), rank = n.rankOf(x);
  if (axis < -rank || axis > rank)
    return n.fail("axis " + llvm::Twine(axis) + " is out of range");
  if (axis < 0)
    axis += rank;
  ArrayRef<int64_t> shape = n.shapeOf(x);
  return n.out(n.reshape(
      x, {product(shape.take_front(axis)), product(shape.drop_front(axis))}));
}

static LogicalResult importReshape(OnnxNode &n) {
  Value x = n.in(0);
  bool allowZero = n.intAttr("allowzero", 0) != 0;
  auto given = n.intsOf("shape", 1, 4);
  if (failed(given) || !*given)
    return n.fail("it has no shape");
  FailureOr<SmallVector<int64_t>> shape = **given;
  int64_t total = n.typeOf(x).getNumElements(), rest = 1, unknown = -1;
  if (failed(n.rebatch(OnnxNode::ShapeUse::Reshape, x, *shape)))
    return failure();
  for (auto [i, size] : llvm::enumerate(*shape)) {
    if (size == 0 && !allowZero) {
      if (int64_t(i) >= n.rankOf(x))
        return n.fail("dim " + llvm::Twine(i) + " copies one the input lacks");
      size = n.shapeOf(x)[i];
    }
    if (size == -1) {
      if (unknown >= 0)
        return n.fail("two dims of the shape are -1");
      unknown = i;
      continue;
    }
    if (size < 0 || llvm::MulOverflow(rest, size, rest) || rest > kMaxElements)
      return n.fail("the shape is out of range");
  }
  if (unknown >= 0) {
    if (rest == 0 ? total != 0 : total % rest != 0)
      return n.fail(llvm::Twine(total) + " elements do not divide by " +
                    llvm::Twine(rest));
    (*shape)[unknown] = rest == 0 ? 0 : total / rest;
    rest = total;
  }
  if (rest != total)
    return n.fail(llvm::Twine(total) + " elements cannot take a shape of " +
                  llvm::Twine(rest));
  return n.out(n.reshape(x, *shape));
}

static LogicalResult importTranspose(OnnxNode &n) {
  Value x = n.in(0);
  SmallVector<int64_t> reversed;
  for (int64_t i = n.rankOf(x) - 1; i >= 0; --i)
    reversed.push_back(i);
  FailureOr<SmallVector<int64_t>> permutation =
      n.dims(n.intsAttr("perm").value_or(reversed), n.rankOf(x));
  if (failed(permutation))
    return failure();
  if (int64_t(permutation->size()) != n.rankOf(x))
    return n.fail("perm must name every dim");
  return n.out(n.transpose(x, *permutation));
}

static LogicalResult importSqueeze(OnnxNode &n) {
  Value x = n.in(0);
  auto axes = n.intsOf("axes", 1, 12);
  if (failed(axes))
    return failure();
  SmallVector<int64_t> shape;
  FailureOr<SmallVector<int64_t>> gone =
      n.dims(axes->value_or(SmallVector<int64_t>()), n.rankOf(x));
  if (failed(gone))
    return failure();
  for (int64_t i = 0; i < n.rankOf(x); ++i) {
    int64_t size = n.shapeOf(x)[i];
    bool named = llvm::is_contained(*gone, i);
    if (named && size != 1)
      return n.fail("dim " + llvm::Twine(i) + " has size " + llvm::Twine(size) +
                    ", not 1");
    if (!(named || (!*axes && size == 1)))
      shape.push_back(size);
  }
  return n.out(n.reshape(x, shape));
}

static LogicalResult importUnsqueeze(OnnxNode &n) {
  Value x = n.in(0);
  auto axes = n.intsOf("axes", 1, 12);
  if (failed(axes))
    return failure();
  if (!*axes)
    return n.fail("it has no axes");
  FailureOr<SmallVector<int64_t>> added =
      n.dims(**axes, n.rankOf(x) + (*axes)->size());
  if (failed(added))
    return failure();
  SmallVector<int64_t> shape(n.shapeOf(x));
  llvm::sort(*added);
  for (int64_t dim : *added)
    shape.insert(shape.begin() + dim, 1);
  return n.out(n.reshape(x, shape));
}

static LogicalResult importExpand(OnnxNode &n) {
  FailureOr<SmallVector<int64_t>> shape = n.ints(1);
  if (failed(shape))
    return failure();
  if (failed(n.rebatch(OnnxNode::ShapeUse::Repeat, n.in(0), *shape)))
    return failure();
  FailureOr<SmallVector<int64_t>> common =
      n.commonShape(n.shapeOf(n.in(0)), *shape);
  if (failed(common) || !isSaneShape(*common))
    return n.fail("the shapes do not broadcast");
  return n.out(n.broadcastTo(n.in(0), *common));
}

/// Repeats by broadcasting to [repeat, size] pairs of dims.
static LogicalResult importTile(OnnxNode &n) {
  Value x = n.in(0);
  FailureOr<SmallVector<int64_t>> repeats = n.ints(1);
  if (failed(repeats))
    return failure();
  if (int64_t(repeats->size()) != n.rankOf(x))
    return n.fail("repeats must have one entry a dim");
  if (failed(n.rebatch(OnnxNode::ShapeUse::Make, x, *repeats)))
    return failure();
  SmallVector<int64_t> wide, dims, result;
  for (auto [repeat, size] : llvm::zip(*repeats, n.shapeOf(x))) {
    if (repeat < 0 || repeat > kMaxElements)
      return n.fail("repeats are out of range");
    wide.push_back(repeat);
    dims.push_back(wide.size());
    wide.push_back(size);
    int64_t total;
    if (llvm::MulOverflow(repeat, size, total))
      return n.fail("its result would be too large");
    result.push_back(total);
  }
  if (!isSaneShape(result) || !isSaneShape(wide))
    return n.fail("its result would be too large");
  return n.out(n.reshape(n.broadcastDims(x, wide, dims), result));
}

static LogicalResult importConcat(OnnxNode &n) {
  FailureOr<int64_t> axis = n.dim(n.intAttr("axis", 1), n.rankOf(n.in(0)));
  if (failed(axis))
    return failure();
  SmallVector<Value> pieces(n.allInputs());
  if (!llvm::is_contained(pieces, Value()) &&
      failed(n.rebatchPieces(pieces, *axis)))
    return failure();
  ArrayRef<int64_t> first = n.shapeOf(pieces[0]);
  int64_t total = 0;
  for (Value value : pieces) {
    if (!value)
      return n.fail("an input is missing");
    ArrayRef<int64_t> shape = n.shapeOf(value);
    bool fits = shape.size() == first.size() &&
                n.elementOf(value) == n.elementOf(n.in(0));
    for (size_t d = 0; fits && d < shape.size(); ++d)
      fits = int64_t(d) == *axis || shape[d] == first[d];
    if (!fits)
      return n.fail("the inputs' shapes do not fit");
    total += shape[*axis];
    if (total > kMaxElements)
      return n.fail("its result would be too large");
  }
  return n.out(n.concat(pieces, *axis));
}

static LogicalResult importSplit(OnnxNode &n) {
  Value x = n.in(0);
  FailureOr<int64_t> axis = n.dim(n.intAttr("axis", 0), n.rankOf(x));
  if (failed(axis))
    return failure();
  auto sizes = n.intsOf("split", 1, 12);
  if (failed(sizes))
    return failure();
  int64_t total = n.shapeOf(x)[*axis], parts = n.numOutputs();
  if (n.opset >= 18) {
    parts = n.intAttr("num_outputs", parts);
    if (parts < 1 || parts > int64_t(kManyInputs))
      return n.fail("num_outputs is out of range");
  }
  SmallVector<int64_t> lengths;
  if (*sizes) {
    lengths = **sizes;
  } else {
    // The last part is smaller when they do not divide.
    int64_t each = (total + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i)
      lengths.push_back(std::clamp<int64_t>(total - i * each, 0, each));
  }
  int64_t at = 0;
  if (lengths.size() < n.numOutputs())
    return n.fail("it has more outputs than parts");
  for (auto [i, length] : llvm::enumerate(lengths)) {
    if (length < 0 || length > total - at)
      return n.fail("the parts are not the whole");
    if (n.wants(i) && failed(n.out(i, n.sliceDim(x, *axis, at, at + length))))
      return failure();
    at += length;
  }
  return at == total ? success() : n.fail("the parts are not the whole");
}

static LogicalResult importSlice(OnnxNode &n) {
  Value x = n.in(0);
  int64_t rank = n.rankOf(x);
  auto starts = n.intsOf("starts", 1, 9), ends = n.intsOf("ends", 2, 9);
  auto axes = n.intsOf("axes", 3, 9);
  if (failed(starts) || failed(ends) || failed(axes))
    return failure();
  std::optional<SmallVector<int64_t>> steps;
  if (n.opset >= 10 && n.has(4)) {
    FailureOr<SmallVector<int64_t>> given = n.ints(4);
    if (failed(given))
      return failure();
    steps = *given;
  }
  if (!*starts || !*ends)
    return n.fail("it has no starts or no ends");
  size_t count = (*starts)->size();
  FailureOr<SmallVector<int64_t>> where = n.dims(
      axes->value_or(llvm::to_vector(llvm::seq<int64_t>(0, count))), rank);
  if (failed(where))
    return failure();
  if ((*ends)->size() != count || where->size() != count ||
      (steps && steps->size() != count))
    return n.fail("starts, ends, axes and steps must be of one length");
  SmallVector<int64_t> low(rank, 0), high(n.shapeOf(x)), strides(rank, 1);
  SmallVector<int64_t> reversed;
  for (size_t i = 0; i < count; ++i) {
    int64_t d = (*where)[i], size = n.shapeOf(x)[d];
    int64_t step = steps ? (*steps)[i] : 1;
    int64_t start = (**starts)[i], end = (**ends)[i];
    if (step == 0 || step == INT64_MIN)
      return n.fail("a step is 0 or out of range");
    start = start < 0 ? (start < -size ? -1 : start + size) : start;
    end = end < 0 ? (end < -size ? -1 : end + size) : end;
    if (step > 0) {
      low[d] = std::clamp<int64_t>(start, 0, size);
      high[d] = std::max(low[d], std::clamp<int64_t>(end, 0, size));
      strides[d] = std::min(step, std::max<int64_t>(size, 1));
      continue;
    }
    // Backwards: element start, start - s, ... > end, as a slice of the dim
    // reversed.
    start = std::clamp<int64_t>(start, -1, size - 1);
    end = std::clamp<int64_t>(end, -1, size - 1);
    reversed.push_back(d);
    low[d] = size - 1 - start;
    high[d] = std::max(low[d], size - 1 - end);
    strides[d] = std::min(-step, std::max<int64_t>(size, 1));
  }
  for (int64_t d : reversed)
    x = n.reverse(x, d);
  return n.out(x ? n.slice(x, low, high, strides) : x);
}

static LogicalResult importDepthToSpace(OnnxNode &n) {
  Value x = n.in(0);
  int64_t block = n.intAttr("blocksize", 0);
  std::string mode = n.textAttr("mode", "DCR");
  if (n.rankOf(x) != 4 || block < 1 || block > (1 << 20) ||
      n.shapeOf(x)[1] % (block * block))
    return n.fail("4 dims and channels that divide by blocksize^2 are "
                  "expected");
  if (mode != "DCR" && mode != "CRD")
    return n.fail("mode must be DCR or CRD");
  ArrayRef<int64_t> s = n.shapeOf(x);
  int64_t depth = s[1] / (block * block), rows = s[2] * block,
          columns = s[3] * block, batch = s[0];
  bool depthFirst = mode == "CRD";
  SmallVector<int64_t> wide =
      depthFirst ? SmallVector<int64_t>{batch, depth, block, block, s[2], s[3]}
                 : SmallVector<int64_t>{batch, block, block, depth, s[2], s[3]};
  x = n.transpose(n.reshape(x, wide),
                  depthFirst ? ArrayRef<int64_t>{0, 1, 4, 2, 5, 3}
                             : ArrayRef<int64_t>{0, 3, 4, 1, 5, 2});
  return n.out(n.reshape(x, {batch, depth, rows, columns}));
}

static LogicalResult importSpaceToDepth(OnnxNode &n) {
  Value x = n.in(0);
  int64_t block = n.intAttr("blocksize", 0);
  std::string mode = n.textAttr("mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    return n.fail("mode must be DCR or CRD");
  if (n.rankOf(x) != 4 || block < 1 || block > (1 << 20) ||
      n.shapeOf(x)[2] % block || n.shapeOf(x)[3] % block)
    return n.fail("4 dims and rows and columns that divide by blocksize are "
                  "expected");
  ArrayRef<int64_t> s = n.shapeOf(x);
  int64_t batch = s[0], depth = s[1], rows = s[2] / block,
          columns = s[3] / block;
  x = n.reshape(x, {batch, depth, rows, block, columns, block});
  x = n.transpose(x, mode == "CRD" ? ArrayRef<int64_t>{0, 1, 3, 5, 2, 4}
                                   : ArrayRef<int64_t>{0, 3, 5, 1, 2, 4});
  return n.out(n.reshape(x, {batch, depth * block * block, rows, columns}));
}

ArrayRef<OnnxOp> mlir::dist::graph::getOnnxShapeOps() {
  static const OnnxOp rows[] = {
      {"Identity", 1, 1, 1, importIdentity},
      {"Flatten", 1, 1, 1, importFlatten},
      {"Reshape", 1, 1, 2, importReshape},
      {"Transpose", 1, 1, 1, importTranspose},
      {"Squeeze", 1, 1, 2, importSqueeze},
      {"Unsqueeze", 1, 1, 2, importUnsqueeze},
      {"Expand", 8, 2, 2, importExpand},
      {"Tile", 6, 2, 2, importTile},
      {"Concat", 1, 1, kManyInputs, importConcat},
      {"Split", 2, 1, 2, importSplit},
      {"Slice", 1, 1, 5, importSlice},
      {"DepthToSpace", 1, 1, 1, importDepthToSpace},
      {"SpaceToDepth", 1, 1, 1, importSpaceToDepth},
  };
  return rows;
}
