//===- random_program_ops.cpp - Contractions, windows, composites ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "random_program.h"
#include <algorithm>
#include <iterator>

using namespace mlir::dist::test;

static std::string list(const Shape &numbers) {
  std::string text = "array<i64";
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i ? ", " : ": ") + std::to_string(numbers[i]);
  return text + ">";
}

static int64_t count(const Shape &shape) {
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  return elements;
}

static std::string axisText(int64_t axis) {
  return "axis = " + std::to_string(axis) + " : i64";
}

//===----------------------------------------------------------------------===//
// Slices, pads and concats
//===----------------------------------------------------------------------===//

void RandomProgram::addSlice() {
  RandomValue x = pickValue(pickType(), 1), y = x;
  Shape starts, limits, strides;
  for (size_t dim = 0; dim < x.shape.size(); ++dim) {
    int64_t size = x.shape[dim], start = 0, limit = size, stride = 1;
    if (once(2)) {
      start = pick(0, size - 1);
      limit = pick(start + 1, size);
      stride = pick(1, 2);
    }
    starts.push_back(start);
    limits.push_back(limit);
    strides.push_back(stride);
    y.shape[dim] = (limit - start + stride - 1) / stride;
  }
  emit("graph.slice", {x},
       "starts = " + list(starts) + ", limits = " + list(limits) +
           ", strides = " + list(strides),
       y, true);
}

void RandomProgram::addPad() {
  RandomValue x = pickValue('f', 1), value = pickLike({}, 'f'), y = x;
  Shape low, high, interior;
  for (size_t dim = 0; dim < x.shape.size(); ++dim) {
    bool pads = once(2);
    low.push_back(pads ? pick(0, 2) : 0);
    high.push_back(pads ? pick(0, 2) : 0);
    interior.push_back(pads && once(4) ? 1 : 0);
    y.shape[dim] += low[dim] + high[dim] + interior[dim] * (x.shape[dim] - 1);
  }
  if (count(y.shape) > 1200)
    return;
  y.bound = std::max(x.bound, value.bound);
  emit("graph.pad", {x, value},
       "low = " + list(low) + ", high = " + list(high) +
           ", interior = " + list(interior),
       y, true);
}

void RandomProgram::addConcat() {
  RandomValue x = pickValue('f', 1), z = x;
  size_t axis = pick(0, x.shape.size() - 1);
  Shape shape = x.shape;
  if (once(2))
    shape[axis] = makeShape(1).front();
  RandomValue y = pickLike(shape, 'f');
  z.shape[axis] += y.shape[axis];
  if (count(z.shape) > 1200)
    return;
  z.bound = std::max(x.bound, y.bound);
  emit("graph.concat", {x, y}, "axis = " + std::to_string(axis), z, true);
}

//===----------------------------------------------------------------------===//
// Contractions and windows
//===----------------------------------------------------------------------===//

void RandomProgram::addDot() {
  RandomValue x = pickValue(pickType(), 1);
  // Each dim of the left side is a batch dim, contracted or free.
  Shape lhsBatch, lhsContract, rhsBatch, rhsContract, right, result, free;
  double terms = 1;
  for (size_t dim = 0; dim < x.shape.size(); ++dim) {
    int64_t kind = pick(0, 3);
    if (kind == 0 && dim == 0) {
      lhsBatch.push_back(dim);
      rhsBatch.push_back(right.size());
      right.push_back(x.shape[dim]);
      result.push_back(x.shape[dim]);
    } else if (kind == 1 || dim + 1 == x.shape.size()) {
      lhsContract.push_back(dim);
      rhsContract.push_back(right.size());
      right.push_back(x.shape[dim]);
      terms *= x.shape[dim];
    } else {
      free.push_back(x.shape[dim]);
    }
  }
  result.insert(result.end(), free.begin(), free.end());
  int64_t columns = makeShape(1).front();
  right.push_back(columns);
  result.push_back(columns);
  int64_t elements = 1;
  for (int64_t size : result)
    elements *= size;
  if (elements > 1200)
    return;
  RandomValue y = pickLike(right, x.type), z = x;
  z.shape = result;
  z.bound = x.bound * y.bound * terms;
  z.exact = false;
  emit("graph.dot_general", {x, y},
       "lhs_batch = " + list(lhsBatch) + ", rhs_batch = " + list(rhsBatch) +
           ", lhs_contract = " + list(lhsContract) +
           ", rhs_contract = " + list(rhsContract),
       z, true);
}

void RandomProgram::addConv() {
  int64_t n = pick(0, 1) ? 4 : 6, size = pick(3, 6), in = pick(0, 1) ? 4 : 2,
          out = pick(0, 1) ? 4 : 6, window = pick(1, 3), stride = pick(1, 2),
          pad = window > 1 ? pick(0, 1) : 0;
  // The window moves along one dim; batch and channels around it.
  RandomValue x = pickLike({n, size, in}, 'f');
  RandomValue w = pickLike({out, in, window}, 'f'), y = x;
  y.shape = {n, (size + 2 * pad - window) / stride + 1, out};
  y.bound = x.bound * w.bound * in * window;
  y.exact = false;
  std::string attributes = "strides = " + list({stride}) +
                           ", pad_low = " + list({pad}) +
                           ", pad_high = " + list({pad}) +
                           ", dilations = array<i64: 1>, groups = 1, "
                           "input_layout = \"N0C\", filter_layout = \"OI0\", "
                           "output_layout = \"N0C\"";
  y = emit("graph.conv", {x, w}, attributes, y, true);
  if (once(2)) {
    RandomValue dw = w;
    dw.bound = x.bound * y.bound * n * size;
    dw.exact = false;
    emit("graph.conv_filter_grad", {x, y}, attributes, dw, true);
  } else if (once(2)) {
    RandomValue dx = x;
    dx.bound = w.bound * y.bound * out * window;
    dx.exact = false;
    emit("graph.conv_input_grad", {y, w}, attributes, dx, true);
  }
}

void RandomProgram::addPool() {
  RandomValue x = pickValue('f', 2, /*exact=*/true);
  size_t dim = pick(0, x.shape.size() - 1);
  if (x.shape[dim] < 2)
    return;
  Shape ones(x.shape.size(), 1), zeros(x.shape.size(), 0), window = ones;
  window[dim] = 2;
  Shape strides = once(2) ? window : ones;
  RandomValue y = x;
  y.shape[dim] = (x.shape[dim] - 2) / strides[dim] + 1;
  std::string attributes =
      "window = " + list(window) + ", strides = " + list(strides) +
      ", dilations = " + list(ones) + ", pad_low = " + list(zeros) +
      ", pad_high = " + list(zeros);
  emit("graph.avg_pool", {x}, attributes + ", count_include_pad = false", y,
       true);
}

//===----------------------------------------------------------------------===//
// Composites
//===----------------------------------------------------------------------===//

void RandomProgram::addSoftmax() {
  RandomValue x = pickValue('f', 1), y = x;
  bool log = once(2);
  y.bound = log ? 2 * x.bound + 3 : 1;
  y.exact = false;
  emit(log ? "graph.log_softmax" : "graph.softmax", {x},
       axisText(pick(0, x.shape.size() - 1)), y, false);
}

void RandomProgram::addLayerNorm() {
  RandomValue x = pickValue('f', 2), mean = x;
  size_t axis = pick(1, x.shape.size() - 1);
  Shape tail(x.shape.begin() + axis, x.shape.end());
  RandomValue s = pickLike(tail, 'f'), b = pickLike(tail, 'f');
  RandomValue y = x;
  y.bound = 35 * s.bound + b.bound;
  y.exact = mean.exact = false;
  mean.shape.assign(x.shape.begin(), x.shape.begin() + axis);
  RandomValue scale = mean;
  scale.bound = 35;
  emitMany("graph.layer_norm", {x, s, b},
           axisText(axis) + ", epsilon = 1.0e-3 : f64", {y, mean, scale});
}

void RandomProgram::addBatchNorm() {
  RandomValue x = pickValue('f', 2);
  int64_t axis = x.shape.size() - 1, groups = 1;
  for (auto &[name, size] : axes)
    if (once(2) && x.shape[0] % (groups * size) == 0)
      groups *= size;
  Shape channels = {x.shape.back()};
  RandomValue s = pickLike(channels, 'f'), b = pickLike(channels, 'f');
  RandomValue y = x, mean = x, counts = x;
  y.bound = 35 * s.bound + b.bound;
  y.exact = mean.exact = counts.exact = false;
  mean.shape = {groups, x.shape.back()};
  counts.shape = {groups};
  counts.bound = 10;
  RandomValue variance = mean;
  variance.bound = x.bound * x.bound;
  emitMany("graph.batch_norm", {x, s, b},
           axisText(axis) + ", epsilon = 1.0e-3 : f64, groups = " +
               std::to_string(groups) + " : i64",
           {y, mean, variance, counts});
}

void RandomProgram::addCrossEntropy() {
  RandomValue x = pickValue('f', 2), y = x;
  y.shape.pop_back();
  y.bound = 2 * x.bound + 3;
  y.exact = false;
  // Its own argument: the classes bound the labels.
  emit("graph.cross_entropy", {x, makeArgument(y.shape, 'i')}, "", y, true);
  values.erase(std::remove_if(values.begin(), values.end(),
                              [](const RandomValue &value) {
                                return value.type == 'i' &&
                                       value.name[1] == 'a';
                              }),
               values.end());
}

/// The gradient of a product's weights, as backward passes write it: a sum over
/// the batch that joins an update.
void RandomProgram::addGradientLike() {
  RandomValue x = pickValue('f', 2);
  if (x.shape.size() != 2)
    return;
  RandomValue dy = pickLike({x.shape[0], makeShape(1).front()}, 'f');
  RandomValue w = x, updated = x;
  w.shape = {x.shape[1], dy.shape[1]};
  w.exact = false;
  w.bound = x.bound * dy.bound * x.shape[0];
  w = emit("graph.dot_general", {x, dy},
           "lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = "
           "array<i64: 0>, rhs_contract = array<i64: 0>",
           w, true);
  RandomValue old = pickLike(w.shape, 'f');
  updated = w;
  updated.bound = w.bound + old.bound;
  emit("graph.sub", {old, w}, "", updated, false);
}

//===----------------------------------------------------------------------===//
// Indices, along an axis
//===----------------------------------------------------------------------===//

void RandomProgram::addGather() {
  RandomValue x = pickValue('f', 1), y = x;
  size_t axis = pick(0, x.shape.size() - 1);
  RandomValue indices = makeArgument(makeShape(pick(1, 2)), 'i');
  values.pop_back();
  y.shape.erase(y.shape.begin() + axis);
  y.shape.insert(y.shape.begin() + axis, indices.shape.begin(),
                 indices.shape.end());
  int64_t elements = 1;
  for (int64_t size : y.shape)
    elements *= size;
  if (elements > 1200)
    return;
  emit("graph.gather", {x, indices}, axisText(axis), y, true);
}

void RandomProgram::addScatterAdd() {
  RandomValue x = pickValue('f', 1), z = x;
  size_t axis = pick(0, x.shape.size() - 1);
  RandomValue indices = makeArgument(makeShape(1), 'i');
  values.pop_back();
  Shape shape = x.shape;
  shape[axis] = indices.shape[0];
  RandomValue updates = pickLike(shape, 'f');
  z.bound = x.bound + updates.bound * shape[axis];
  z.exact = false;
  // Without this use the indices' range would not be known.
  RandomValue rows = x;
  rows.shape[axis] = indices.shape[0];
  emit("graph.gather", {x, indices}, axisText(axis), rows, true);
  emit("graph.scatter_add", {x, indices, updates}, axisText(axis), z, true);
}

void RandomProgram::addLookup() {
  RandomValue x = pickValue('f', 1), y = x, z = x;
  RandomValue indices = makeArgument(makeShape(pick(1, 2)), 'i');
  values.pop_back();
  y.shape = indices.shape;
  y.shape.insert(y.shape.end(), x.shape.begin() + 1, x.shape.end());
  if (count(y.shape) > 1200)
    return;
  RandomValue numbers = emit("graph.iota", {}, "dim = 0",
                             {"", {x.shape[0]}, 'i', true, 1}, false);
  values.pop_back();
  std::string rows = "num_rows = " + std::to_string(x.shape[0]);
  y = emit("graph.gather_rows", {x, indices, numbers}, rows, y, true);
  z.bound = x.bound + y.bound * count(indices.shape);
  z.exact = false;
  emit("graph.scatter_add_rows", {x, indices, y, numbers}, rows, z, true);
}

void RandomProgram::addAlongAxis() {
  RandomValue x = pickValue('f', 1), y = x;
  size_t axis = pick(0, x.shape.size() - 1);
  if (once(2)) {
    y.bound = x.bound * x.shape[axis];
    y.exact = false;
    emit("graph.cumsum", {x}, axisText(axis), y, false);
  } else {
    emit("graph.reverse", {x}, "dims = " + list({int64_t(axis)}), y, false);
  }
}

void RandomProgram::addArgMax() {
  RandomValue x = pickValue('f', 1, /*exact=*/true), y = x;
  size_t axis = pick(0, x.shape.size() - 1);
  y.shape.erase(y.shape.begin() + axis);
  y.type = 'i';
  y.bound = double(x.shape[axis]);
  emit("graph.arg_max", {x}, axisText(axis), y, true);
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

void RandomProgram::addInteger() {
  static const char *kOps[] = {
      "add", "sub", "mul", "div", "div", "rem",        "max",        "min",
      "and", "or",  "xor", "neg", "abs", "shift_left", "shift_right"};
  RandomValue x = pickValue('i', 0), z = x;
  int64_t kind = pick(0, std::size(kOps) - 1);
  std::string op = std::string("graph.") + kOps[kind];
  // They wrap.
  z.bound = 1e19;
  if (kind == 11 || kind == 12)
    emit(op, {x}, "", z, false);
  else
    emit(op, {x, pickLike(x.shape, 'i')}, "", z, false);
}

/// A sum that is divided: what is split must not be cut off part by part.
void RandomProgram::addIntegerMean() {
  static const char *kKinds[] = {"sum", "sum", "sum", "max", "min", "product"};
  RandomValue x = pickValue('i', 1), y = x;
  size_t dim = pick(0, x.shape.size() - 1);
  y.shape.erase(y.shape.begin() + dim);
  y.bound = 1e19;
  y = emit(std::string("graph.reduce ") + kKinds[pick(0, 5)] + ",", {x},
           "dims = " + list({int64_t(dim)}), y, true);
  emit(once(3) ? "graph.rem" : "graph.div", {y, pickLike(y.shape, 'i')}, "", y,
       false);
}

void RandomProgram::addReshard() {
  RandomValue x = pickValue('f', 1), y = x;
  y.name = "%" + std::to_string(numValues++);
  body += "  " + y.name + " = dist.reshard " + x.name + " to " +
          makeSharding(x.shape, false, false) +
          " because \"asked for\" : " + typeOf(x) + "\n";
  used.push_back(x.name);
  values.push_back(y);
}
