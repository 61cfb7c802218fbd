//===- TensorFlowShape.cpp - Shapes of TensorFlow -----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/TensorFlowNode.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

using Node = TensorFlowNode;

/// What a node may give at the most.
static constexpr int64_t kMostParts = 1 << 16;

static Type indexType(Node &n, StringRef attribute) {
  return n.attribute(attribute) ? n.getType(attribute)
                                : Type(IntegerType::get(n.getContext(), 32));
}
static Value listOf(Node &n, ArrayRef<int64_t> values, Type type) {
  return type ? n.convert(n.intList(values), type) : Value();
}
static FailureOr<int64_t> oneNumber(Node &n, unsigned i) {
  FailureOr<SmallVector<int64_t>> values = n.numbers(i);
  if (failed(values))
    return failure();
  if (values->size() != 1)
    return n.fail("input " + llvm::Twine(i) + " must be one number");
  return values->front();
}

//===----------------------------------------------------------------------===//
// Shapes as numbers
//===----------------------------------------------------------------------===//

static LogicalResult importShape(Node &n) {
  return n.result(listOf(n, n.shapeOf(n.in(0)), indexType(n, "out_type")));
}
static LogicalResult importShapeN(Node &n) {
  for (unsigned i = 0; i < n.numInputs(); ++i)
    if (failed(n.result(
            i, listOf(n, n.shapeOf(n.in(i)), indexType(n, "out_type")))))
      return failure();
  return success();
}
static LogicalResult importSize(Node &n) {
  int64_t size = 1;
  for (int64_t dim : n.shapeOf(n.in(0)))
    size *= dim;
  Type type = indexType(n, "out_type");
  return type ? n.result(n.intScalar(size, type)) : failure();
}
static LogicalResult importRank(Node &n) {
  return n.result(
      n.intScalar(n.rankOf(n.in(0)), IntegerType::get(n.getContext(), 32)));
}
static LogicalResult checkShape(Node &n, ArrayRef<int64_t> shape) {
  return isSaneShape(shape) ? success() : n.fail("its shape is impossible");
}
static LogicalResult importFill(Node &n) {
  FailureOr<SmallVector<int64_t>> shape = n.numbers(0);
  if (failed(shape) || failed(checkShape(n, *shape)))
    return failure();
  return n.result(n.broadcastTo(n.in(1), *shape));
}
static LogicalResult importZerosLike(Node &n) {
  return n.result(n.splat(0, n.in(0)));
}
static LogicalResult importOnesLike(Node &n) {
  return n.result(n.splat(1, n.in(0)));
}
static LogicalResult importRange(Node &n) {
  return n.result(n.onnx("Range", {n.in(0), n.in(1), n.in(2)}));
}
static LogicalResult importBroadcastTo(Node &n) {
  FailureOr<SmallVector<int64_t>> shape = n.numbers(1);
  if (failed(shape) || failed(checkShape(n, *shape)))
    return failure();
  auto common = n.commonShape(n.shapeOf(n.in(0)), *shape);
  if (failed(common) || *common != *shape)
    return n.fail("its input does not broadcast to that shape");
  return n.result(n.broadcastTo(n.in(0), *shape));
}
static LogicalResult importBroadcastArgs(Node &n) {
  FailureOr<SmallVector<int64_t>> x = n.numbers(0), y = n.numbers(1);
  if (failed(x) || failed(y))
    return failure();
  auto common = n.commonShape(*x, *y);
  if (failed(common))
    return n.fail("the shapes do not broadcast");
  return n.result(listOf(n, *common, n.elementOf(n.in(0))));
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

static LogicalResult importReshape(Node &n) {
  FailureOr<SmallVector<int64_t>> shape = n.numbers(1);
  if (failed(shape))
    return failure();
  int64_t open = -1, rest = 1, total = 1;
  for (int64_t dim : n.shapeOf(n.in(0)))
    total *= dim;
  for (auto [i, dim] : llvm::enumerate(*shape)) {
    if (dim == -1 && open < 0)
      open = i;
    else if (dim < 0 || llvm::MulOverflow(rest, dim, rest))
      return n.fail("its shape is impossible");
  }
  if (open >= 0) {
    if (rest == 0 || total % rest)
      return n.fail(llvm::Twine(total) +
                    " elements do not fit the shape that it is given");
    (*shape)[open] = total / rest;
    rest = total;
  }
  if (rest != total)
    return n.fail("it has " + llvm::Twine(total) + " elements, and the shape " +
                  llvm::Twine(rest));
  return n.result(n.reshape(n.in(0), *shape));
}

static LogicalResult importTranspose(Node &n) {
  FailureOr<SmallVector<int64_t>> order = n.numbers(1);
  if (failed(order))
    return failure();
  FailureOr<SmallVector<int64_t>> dims = n.dims(*order, n.rankOf(n.in(0)));
  if (failed(dims))
    return failure();
  if (int64_t(dims->size()) != n.rankOf(n.in(0)))
    return n.fail("it must name each dim once");
  return n.result(n.transpose(n.in(0), *dims));
}

static LogicalResult importSqueeze(Node &n) {
  ArrayRef<int64_t> shape = n.shapeOf(n.in(0));
  FailureOr<SmallVector<int64_t>> dims =
      n.dims(n.getInts("squeeze_dims"), shape.size());
  if (failed(dims))
    return failure();
  SmallVector<int64_t> kept;
  for (auto [i, size] : llvm::enumerate(shape)) {
    bool named = llvm::is_contained(*dims, int64_t(i));
    if (named && size != 1)
      return n.fail("dim " + llvm::Twine(i) + " is not of size 1");
    if (!named && (!dims->empty() || size != 1))
      kept.push_back(size);
  }
  return n.result(n.reshape(n.in(0), kept));
}

static LogicalResult importExpandDims(Node &n) {
  FailureOr<int64_t> axis = oneNumber(n, 1);
  if (failed(axis))
    return failure();
  SmallVector<int64_t> shape(n.shapeOf(n.in(0)));
  FailureOr<int64_t> dim = n.dim(*axis, int64_t(shape.size()) + 1);
  if (failed(dim))
    return failure();
  shape.insert(shape.begin() + *dim, 1);
  return n.result(n.reshape(n.in(0), shape));
}

/// With all masks: an ellipsis stands for whole dims, a new axis for one of
/// size 1, and a shrunk one is gone.
static LogicalResult importStridedSlice(Node &n) {
  Value x = n.in(0);
  FailureOr<SmallVector<int64_t>> begin = n.numbers(1), end = n.numbers(2),
                                  strides = n.numbers(3);
  if (failed(begin) || failed(end) || failed(strides))
    return failure();
  size_t count = begin->size();
  if (end->size() != count || strides->size() != count || count > 32)
    return n.fail("begin, end and strides must be of the same length");
  auto mask = [&](StringRef name, size_t i) {
    return (n.getInt(name, 0) >> i & 1) != 0;
  };
  size_t taken = 0;
  for (size_t i = 0; i < count; ++i)
    taken += !mask("ellipsis_mask", i) && !mask("new_axis_mask", i);
  SmallVector<int64_t> shape(n.shapeOf(x));
  if (taken > shape.size())
    return n.fail("it slices " + llvm::Twine(taken) + " dims of " +
                  llvm::Twine(shape.size()));
  SmallVector<int64_t> starts, limits, steps, result, reversed;
  auto whole = [&] {
    int64_t size = shape[starts.size()];
    starts.push_back(0);
    limits.push_back(size);
    steps.push_back(1);
    result.push_back(size);
  };
  bool hasEllipsis = false;
  for (size_t i = 0; i < count; ++i) {
    if (mask("ellipsis_mask", i)) {
      if (std::exchange(hasEllipsis, true))
        return n.fail("it has two ellipses");
      for (size_t k = taken; k < shape.size(); ++k)
        whole();
      continue;
    }
    if (mask("new_axis_mask", i)) {
      result.push_back(1);
      continue;
    }
    int64_t dim = starts.size(), size = shape[dim], step = (*strides)[i];
    bool shrinks = mask("shrink_axis_mask", i);
    if (step == 0)
      return n.fail("a stride is 0");
    auto place = [&](int64_t at) {
      at = at < 0 ? at + size : at;
      return step > 0 ? std::clamp<int64_t>(at, 0, size)
                      : std::clamp<int64_t>(at, -1, size - 1);
    };
    if (shrinks) {
      int64_t at = (*begin)[i] < 0 ? (*begin)[i] + size : (*begin)[i];
      if (at < 0 || at >= size)
        return n.fail("index " + llvm::Twine((*begin)[i]) + " is not in dim " +
                      llvm::Twine(dim) + " of size " + llvm::Twine(size));
      starts.push_back(at);
      limits.push_back(at + 1);
      steps.push_back(1);
      continue;
    }
    int64_t first =
        mask("begin_mask", i) ? (step > 0 ? 0 : size - 1) : place((*begin)[i]);
    int64_t last =
        mask("end_mask", i) ? (step > 0 ? size : -1) : place((*end)[i]);
    if (step < 0) {
      // The same elements of the reversed dim.
      reversed.push_back(dim);
      first = size - 1 - first;
      last = size - 1 - last;
      step = -step;
    }
    last = std::max(first, last);
    starts.push_back(first);
    limits.push_back(last);
    steps.push_back(step);
    result.push_back((last - first + step - 1) / step);
  }
  while (starts.size() < shape.size())
    whole();
  for (int64_t dim : reversed)
    x = n.reverse(x, dim);
  return n.result(n.reshape(n.slice(x, starts, limits, steps), result));
}

static LogicalResult importSlice(Node &n) {
  FailureOr<SmallVector<int64_t>> begin = n.numbers(1), size = n.numbers(2);
  if (failed(begin) || failed(size))
    return failure();
  ArrayRef<int64_t> shape = n.shapeOf(n.in(0));
  if (begin->size() != shape.size() || size->size() != shape.size())
    return n.fail("begin and size must have an entry a dim");
  SmallVector<int64_t> limits;
  for (auto [i, start] : llvm::enumerate(*begin)) {
    int64_t count = (*size)[i] == -1 ? shape[i] - start : (*size)[i];
    if (start < 0 || count < 0 || start > shape[i] || count > shape[i] - start)
      return n.fail("dim " + llvm::Twine(i) + " has no such part");
    limits.push_back(start + count);
  }
  return n.result(n.slice(n.in(0), *begin, limits));
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

static LogicalResult importConcat(Node &n) {
  unsigned last = n.numInputs() - 1;
  FailureOr<int64_t> axis = oneNumber(n, last);
  if (failed(axis))
    return failure();
  return n.result(
      n.onnx("Concat", n.allInputs().drop_back(), {onnxInt("axis", *axis)}));
}

static LogicalResult importPack(Node &n) {
  int64_t rank = n.rankOf(n.in(0));
  FailureOr<int64_t> dim = n.dim(n.getInt("axis", 0), rank + 1);
  if (failed(dim))
    return failure();
  SmallVector<Value> parts;
  for (Value part : n.allInputs()) {
    SmallVector<int64_t> shape(n.shapeOf(part));
    if (!part || shape != n.shapeOf(n.in(0)))
      return n.fail("its inputs must be of the same shape");
    shape.insert(shape.begin() + *dim, 1);
    parts.push_back(n.reshape(part, shape));
  }
  return n.result(n.concat(parts, *dim));
}

static LogicalResult importUnpack(Node &n) {
  SmallVector<int64_t> shape(n.shapeOf(n.in(0)));
  FailureOr<int64_t> dim = n.dim(n.getInt("axis", 0), shape.size());
  if (failed(dim))
    return failure();
  int64_t count = shape[*dim];
  if (count > kMostParts)
    return n.fail("it has more than " + llvm::Twine(kMostParts) + " parts");
  if (n.getInt("num", count) != count)
    return n.fail("it says that there are " +
                  llvm::Twine(n.getInt("num", count)) +
                  " parts, but there "
                  "are " +
                  llvm::Twine(count));
  shape.erase(shape.begin() + *dim);
  for (int64_t i = 0; i < count; ++i)
    if (failed(
            n.result(i, n.reshape(n.sliceDim(n.in(0), *dim, i, i + 1), shape))))
      return failure();
  return success();
}

static LogicalResult splitAt(Node &n, Value x, int64_t axis,
                             ArrayRef<int64_t> sizes) {
  FailureOr<int64_t> dim = n.dim(axis, n.rankOf(x));
  if (failed(dim))
    return failure();
  int64_t start = 0;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    if (size < 0 || size > n.shapeOf(x)[*dim] - start)
      return n.fail("its parts are larger than the dim");
    if (failed(n.result(i, n.sliceDim(x, *dim, start, start + size))))
      return failure();
    start += size;
  }
  return start == n.shapeOf(x)[*dim]
             ? success()
             : n.fail("its parts are smaller than the dim");
}
static LogicalResult importSplit(Node &n) {
  FailureOr<int64_t> axis = oneNumber(n, 0);
  int64_t count = n.getInt("num_split", 1);
  if (failed(axis))
    return failure();
  FailureOr<int64_t> dim = n.dim(*axis, n.rankOf(n.in(1)));
  if (failed(dim))
    return failure();
  int64_t size = n.shapeOf(n.in(1))[*dim];
  if (count < 1 || count > kMostParts || size % count)
    return n.fail("a dim of " + llvm::Twine(size) + " has no " +
                  llvm::Twine(count) + " equal parts");
  return splitAt(n, n.in(1), *dim, SmallVector<int64_t>(count, size / count));
}
static LogicalResult importSplitV(Node &n) {
  FailureOr<SmallVector<int64_t>> sizes = n.numbers(1);
  FailureOr<int64_t> axis = oneNumber(n, 2);
  if (failed(sizes) || failed(axis))
    return failure();
  FailureOr<int64_t> dim = n.dim(*axis, n.rankOf(n.in(0)));
  if (failed(dim))
    return failure();
  int64_t rest = n.shapeOf(n.in(0))[*dim];
  for (int64_t size : *sizes)
    rest -= std::max<int64_t>(size, 0);
  for (int64_t &size : *sizes)
    if (size == -1)
      size = rest;
  return splitAt(n, n.in(0), *dim, *sizes);
}

static LogicalResult importTile(Node &n) {
  Type i64 = IntegerType::get(n.getContext(), 64);
  return n.result(n.onnx("Tile", {n.in(0), n.convert(n.in(1), i64)}));
}

static LogicalResult importReverse(Node &n) {
  FailureOr<SmallVector<int64_t>> axes = n.numbers(1);
  if (failed(axes))
    return failure();
  FailureOr<SmallVector<int64_t>> dims = n.dims(*axes, n.rankOf(n.in(0)));
  if (failed(dims))
    return failure();
  Value x = n.in(0);
  for (int64_t dim : *dims)
    x = n.reverse(x, dim);
  return n.result(x);
}

/// `Pad` of zeros, `PadV2` of a number, `MirrorPad` of what is inside.
static LogicalResult importPad(Node &n) {
  FailureOr<SmallVector<int64_t>> pads = n.numbers(1);
  if (failed(pads))
    return failure();
  int64_t rank = n.rankOf(n.in(0));
  if (int64_t(pads->size()) != 2 * rank)
    return n.fail("it must have two pads a dim");
  SmallVector<int64_t> low, high;
  for (int64_t d = 0; d < rank; ++d) {
    low.push_back((*pads)[2 * d]);
    high.push_back((*pads)[2 * d + 1]);
    if (low.back() < 0 || high.back() < 0)
      return n.fail("a pad is negative");
  }
  if (n.kind() == "MirrorPad") {
    low.append(high);
    StringRef mode = n.getText("mode", "REFLECT");
    if (mode != "REFLECT")
      return n.fail("mode '" + mode + "' is not supported");
    return n.result(n.onnx("Pad", {n.in(0), n.intList(low)},
                           {onnxText("mode", "reflect")}));
  }
  Value value = n.numInputs() > 2 ? n.in(2) : n.scalar(0, n.elementOf(n.in(0)));
  return n.result(n.pad(n.in(0), value, low, high));
}

ArrayRef<TensorFlowOp> mlir::dist::graph::getTensorFlowShapeOps() {
  static const TensorFlowOp rows[] = {
      {"Shape", importShape},
      {"ShapeN", importShapeN},
      {"Size", importSize},
      {"Rank", importRank},
      {"Fill", importFill, 2},
      {"ZerosLike", importZerosLike},
      {"OnesLike", importOnesLike},
      {"Range", importRange, 3},
      {"BroadcastTo", importBroadcastTo, 2},
      {"BroadcastArgs", importBroadcastArgs, 2},
      {"Reshape", importReshape, 2},
      {"Transpose", importTranspose, 2},
      {"Squeeze", importSqueeze},
      {"ExpandDims", importExpandDims, 2},
      {"StridedSlice", importStridedSlice, 4},
      {"Slice", importSlice, 3},
      {"ConcatV2", importConcat, 2},
      {"Pack", importPack},
      {"Unpack", importUnpack},
      {"Split", importSplit, 2},
      {"SplitV", importSplitV, 3},
      {"Tile", importTile, 2},
      {"ReverseV2", importReverse, 2},
      {"Pad", importPad, 2},
      {"PadV2", importPad, 3},
      {"MirrorPad", importPad, 2},
  };
  return rows;
}
