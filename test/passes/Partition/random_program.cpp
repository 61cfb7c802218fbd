//===- random_program.cpp - Programs that nobody wrote -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "random_program.h"
#include <algorithm>
#include <numeric>

using namespace mlir::dist::test;

static int64_t count(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                         std::multiplies<int64_t>());
}

std::string mlir::dist::test::typeOf(const RandomValue &value) {
  std::string text = "tensor<";
  for (int64_t size : value.shape)
    text += std::to_string(size) + "x";
  return text + (value.type == 'f'   ? "f32>"
                 : value.type == 'i' ? "i64>"
                                     : "i1>");
}

/// `array<i64: 1, 2>`
static std::string list(const Shape &numbers) {
  std::string text = "array<i64";
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i ? ", " : ": ") + std::to_string(numbers[i]);
  return text + ">";
}

//===----------------------------------------------------------------------===//
// Mesh and annotations
//===----------------------------------------------------------------------===//

void RandomProgram::makeMesh() {
  int64_t ranks = 1, numAxes = pick(1, 3);
  for (int64_t i = 0; i < numAxes; ++i) {
    int64_t size = once(12) ? 1 : pick(2, 4);
    if (ranks * size > 12)
      size = ranks * 2 <= 12 ? 2 : 1;
    ranks *= size;
    axes.push_back({std::string(1, char('x' + i)), size});
  }
}

Shape RandomProgram::makeShape(int64_t numDims) {
  static constexpr int64_t kEven[] = {1, 2, 3, 4, 4, 6, 8, 12};
  static constexpr int64_t kOdd[] = {1, 2, 3, 4, 5, 7, 9, 10};
  Shape shape;
  for (int64_t i = 0; i < numDims; ++i) {
    int64_t size = (mayPad ? kOdd : kEven)[pick(0, 7)];
    shape.push_back(count(shape) * size > 600 ? 2 : size);
  }
  return shape;
}

std::string RandomProgram::makeSharding(const Shape &shape, bool mayBeOpen,
                                        bool mayBeUnreduced) {
  std::vector<std::string> dims(shape.size());
  Shape parts(shape.size(), 1);
  // Less than half of the parts may be padding.
  auto fits = [&](int64_t size, int64_t parts) {
    return size % parts == 0 ||
           (mayPad && (size + parts - 1) / parts * parts < 2 * size);
  };
  std::string unreduced;
  auto order = axes;
  std::shuffle(order.begin(), order.end(), random);
  for (auto &[name, size] : order) {
    int64_t dim = shape.empty() ? 0 : pick(0, shape.size() - 1);
    bool splits = !once(3);
    if (mayBeUnreduced && once(4)) {
      unreduced += (unreduced.empty() ? "\"" : ", \"") + name + "\"";
    } else if (splits && !shape.empty() &&
               fits(shape[dim], parts[dim] * size)) {
      parts[dim] *= size;
      dims[dim] += (dims[dim].empty() ? "\"" : ", \"") + name + "\"";
    }
  }
  std::string sharding = "<@mesh, [";
  for (size_t i = 0; i < dims.size(); ++i) {
    std::string open =
        mayBeOpen && once(3) ? (dims[i].empty() ? "?" : ", ?") : "";
    sharding += (i ? ", {" : "{") + dims[i] + open + "}";
    // What has nothing to spread has no priority.
    if ((!dims[i].empty() || !open.empty()) && once(4))
      sharding += "p" + std::to_string(pick(1, 2));
  }
  sharding += "]";
  if (!unreduced.empty())
    sharding += ", unreduced = {" + unreduced + "}";
  return sharding + ">";
}

RandomValue RandomProgram::makeArgument(const Shape &shape, char type) {
  // Integers may come from a wide range.
  RandomValue value{"%a" + std::to_string(numArguments++), shape, type, true,
                    type == 'i' ? 1e6 : 1};
  arguments +=
      (arguments.empty() ? "" : ",\n    ") + value.name + ": " + typeOf(value);
  if (!once(3))
    arguments += " {dist.sharding = #dist.sharding" +
                 makeSharding(shape, true, type == 'f' && once(5)) + "}";
  values.push_back(value);
  return value;
}

void RandomProgram::returnSome() {
  // What nothing uses, or it would be dead; and a few others.
  std::vector<RandomValue> returned;
  for (const RandomValue &value : values) {
    bool isUsed = std::find(used.begin(), used.end(), value.name) != used.end();
    if (value.name[1] != 'a' && (!isUsed || once(10)))
      returned.push_back(value);
  }
  if (returned.empty())
    returned.push_back(values.back());
  std::string results, names, types;
  for (const RandomValue &value : returned) {
    std::string separator = names.empty() ? "" : ", ";
    results += separator + typeOf(value);
    if (once(2))
      results += " {dist.sharding = #dist.sharding" +
                 makeSharding(value.shape, true, value.type == 'f' && once(5)) +
                 "}";
    names += separator + value.name;
    types += separator + typeOf(value);
  }
  std::string mesh;
  for (auto &[name, size] : axes)
    mesh +=
        (mesh.empty() ? "\"" : ", \"") + name + "\"=" + std::to_string(size);
  text = "dist.mesh @mesh [" + mesh + "]\nfunc.func @random(" + arguments +
         ")\n    -> (" + results + ") {\n" + body + "  return " + names +
         " : " + types + "\n}\n";
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

RandomValue RandomProgram::pickValue(char type, int64_t minDims, bool exact) {
  std::vector<RandomValue> fitting;
  for (const RandomValue &value : values)
    if (value.type == type && int64_t(value.shape.size()) >= minDims &&
        (!exact || value.exact))
      fitting.push_back(value);
  if (fitting.empty() || once(6))
    return makeArgument(makeShape(pick(minDims, std::max<int64_t>(minDims, 3))),
                        type);
  // Late values more often: chains, not bushes.
  size_t at =
      std::max(pick(0, fitting.size() - 1), pick(0, fitting.size() - 1));
  return fitting[at];
}

RandomValue RandomProgram::pickLike(const Shape &shape, char type, bool exact) {
  std::vector<RandomValue> fitting;
  for (const RandomValue &value : values)
    if (value.type == type && value.shape == shape && (!exact || value.exact))
      fitting.push_back(value);
  if (fitting.empty() || once(4))
    return makeArgument(shape, type);
  return fitting[pick(0, fitting.size() - 1)];
}

void RandomProgram::keep(RandomValue value) {
  values.push_back(value);
  if (value.type != 'f' || value.bound < 100)
    return;
  RandomValue squashed = value;
  squashed.bound = 1;
  emit("graph.tanh", {value}, "", squashed, /*functional=*/false);
}

RandomValue RandomProgram::emit(const std::string &op,
                                const std::vector<RandomValue> &operands,
                                const std::string &attributes,
                                RandomValue result, bool functional) {
  result.name = "%" + std::to_string(numValues++);
  std::string names, types;
  bool exact = result.exact;
  for (const RandomValue &operand : operands) {
    names += (names.empty() ? "" : ", ") + operand.name;
    types += (types.empty() ? "" : ", ") + typeOf(operand);
    used.push_back(operand.name);
    exact &= operand.exact;
  }
  result.exact = exact;
  std::string all = attributes;
  if (once(7))
    all += (all.empty() ? "" : ", ") +
           ("dist.shardings = [#dist.sharding" +
            makeSharding(result.shape, true, false) + "]");
  body += "  " + result.name + " = " + op + " " + names +
          (all.empty() ? "" : " {" + all + "}") + " : " +
          (functional ? "(" + types + ") -> " : "") + typeOf(result) + "\n";
  keep(result);
  return result;
}

void RandomProgram::emitMany(const std::string &op,
                             const std::vector<RandomValue> &operands,
                             const std::string &attributes,
                             std::vector<RandomValue> results) {
  std::string base = "%" + std::to_string(numValues++), names, types, given;
  for (const RandomValue &operand : operands) {
    names += (names.empty() ? "" : ", ") + operand.name;
    types += (types.empty() ? "" : ", ") + typeOf(operand);
    used.push_back(operand.name);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    results[i].name = base + "#" + std::to_string(i);
    given += (i ? ", " : "") + typeOf(results[i]);
  }
  body += "  " + base + ":" + std::to_string(results.size()) + " = " + op +
          " " + names + " {" + attributes + "} : (" + types + ") -> (" + given +
          ")\n";
  for (const RandomValue &result : results)
    keep(result);
}

RandomProgram::RandomProgram(uint64_t seed, unsigned numOps, bool mayPad)
    : random(seed), mayPad(mayPad) {
  using Add = void (RandomProgram::*)();
  // Once each, but more of what other ops are made around.
  static const Add kKinds[] = {
      &RandomProgram::addUnary,        &RandomProgram::addUnary,
      &RandomProgram::addBinary,       &RandomProgram::addBinary,
      &RandomProgram::addBinary,       &RandomProgram::addSelect,
      &RandomProgram::addConvert,      &RandomProgram::addReduce,
      &RandomProgram::addReduce,       &RandomProgram::addBroadcast,
      &RandomProgram::addBroadcast,    &RandomProgram::addReshape,
      &RandomProgram::addReshape,      &RandomProgram::addTranspose,
      &RandomProgram::addDot,          &RandomProgram::addDot,
      &RandomProgram::addDot,          &RandomProgram::addConv,
      &RandomProgram::addPool,         &RandomProgram::addSoftmax,
      &RandomProgram::addLayerNorm,    &RandomProgram::addBatchNorm,
      &RandomProgram::addCrossEntropy, &RandomProgram::addGather,
      &RandomProgram::addScatterAdd,   &RandomProgram::addSlice,
      &RandomProgram::addPad,          &RandomProgram::addConcat,
      &RandomProgram::addAlongAxis,    &RandomProgram::addArgMax,
      &RandomProgram::addConstant,     &RandomProgram::addReshard,
      &RandomProgram::addGradientLike, &RandomProgram::addLookup,
      &RandomProgram::addInteger,      &RandomProgram::addInteger,
      &RandomProgram::addIntegerMean};
  makeMesh();
  makeArgument(makeShape(pick(1, 3)), 'f');
  for (unsigned i = 0; i < numOps; ++i)
    (this->*kKinds[pick(0, std::size(kKinds) - 1)])();
  returnSome();
}

//===----------------------------------------------------------------------===//
// Element-wise, shapes
//===----------------------------------------------------------------------===//

void RandomProgram::addUnary() {
  static const char *kOps[] = {"tanh", "logistic", "relu", "neg", "abs", "erf"};
  RandomValue x = pickValue('f', 0), y = x;
  int64_t kind = pick(0, 5);
  if (kind < 2 || kind == 5)
    y.bound = 1;
  emit(std::string("graph.") + kOps[kind], {x}, "", y, false);
}

void RandomProgram::addBinary() {
  static const char *kOps[] = {"add", "sub", "mul", "max", "min", "add"};
  RandomValue x = pickValue('f', 0), y = pickLike(x.shape, 'f'), z = x;
  int64_t kind = pick(0, 5);
  z.bound = kind == 2 ? x.bound * y.bound : x.bound + y.bound;
  emit(std::string("graph.") + kOps[kind], {x, y}, "", z, false);
}

void RandomProgram::addSelect() {
  RandomValue x = pickValue('f', 0, /*exact=*/true);
  RandomValue y = pickLike(x.shape, 'f', /*exact=*/true), p = x;
  p.type = 'b';
  p = emit("graph.compare gt,", {x, y}, "", p, true);
  RandomValue a = pickLike(x.shape, 'f'), b = pickLike(x.shape, 'f'), z = a;
  z.bound = std::max(a.bound, b.bound);
  emit("graph.select", {p, a, b}, "", z, true);
}

void RandomProgram::addConvert() {
  RandomValue x = pickValue(once(2) ? 'b' : 'i', 0), y = x;
  y.type = 'f';
  emit("graph.convert", {x}, "", y, true);
}

void RandomProgram::addReduce() {
  static const char *kKinds[] = {"sum", "sum", "max", "min"};
  int64_t kind = pick(0, 3);
  RandomValue x = pickValue('f', 1), y = x;
  Shape dims;
  y.shape.clear();
  for (size_t dim = 0; dim < x.shape.size(); ++dim) {
    if (once(2) || (dims.empty() && dim + 1 == x.shape.size())) {
      dims.push_back(dim);
      y.bound *= kind < 2 ? x.shape[dim] : 1;
    } else {
      y.shape.push_back(x.shape[dim]);
    }
  }
  y.exact = kind >= 2;
  emit(std::string("graph.reduce ") + kKinds[kind] + ",", {x},
       "dims = " + list(dims), y, true);
}

void RandomProgram::addBroadcast() {
  RandomValue x = pickValue(pickType(), 0), y = x;
  Shape dims(x.shape.size());
  std::iota(dims.begin(), dims.end(), 0);
  for (int64_t more = pick(1, 2); more > 0; --more) {
    size_t at = pick(0, y.shape.size());
    int64_t size = makeShape(1).front();
    if (count(y.shape) * size > 600)
      size = 1;
    y.shape.insert(y.shape.begin() + at, size);
    for (int64_t &dim : dims)
      dim += dim >= int64_t(at);
  }
  emit("graph.broadcast", {x}, "dims = " + list(dims), y, true);
}

void RandomProgram::addReshape() {
  RandomValue x = pickValue(pickType(), 1), y = x;
  // Merge neighbours, then cut dims in two.
  for (int64_t i = pick(0, 2); i > 0 && y.shape.size() > 1; --i) {
    size_t at = pick(0, y.shape.size() - 2);
    y.shape[at] *= y.shape[at + 1];
    y.shape.erase(y.shape.begin() + at + 1);
  }
  for (int64_t i = pick(0, 2); i > 0; --i) {
    size_t at = pick(0, y.shape.size() - 1);
    int64_t part = pick(2, 4);
    if (y.shape[at] % part)
      continue;
    y.shape[at] /= part;
    y.shape.insert(y.shape.begin() + at + pick(0, 1), part);
  }
  emit("graph.reshape", {x}, "", y, true);
}

void RandomProgram::addTranspose() {
  RandomValue x = pickValue(pickType(), 2), y = x;
  Shape order(x.shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  for (size_t i = 0; i < order.size(); ++i)
    y.shape[i] = x.shape[order[i]];
  emit("graph.transpose", {x}, "permutation = " + list(order), y, true);
}

void RandomProgram::addConstant() {
  // Neither its bytes nor its type come from a value: a splat, or an iota.
  RandomValue like = pickValue('f', 1), constant = like;
  constant.exact = true;
  if (once(2)) {
    constant.bound = 2;
    constant.name = "%" + std::to_string(numValues++);
    body += "  " + constant.name +
            " = graph.constant dense<1.5> : " + typeOf(constant) + "\n";
    values.push_back(constant);
  } else {
    constant.bound = 12;
    constant.name = "%" + std::to_string(numValues++);
    body += "  " + constant.name + " = graph.iota {dim = " +
            std::to_string(pick(0, like.shape.size() - 1)) +
            " : i64} : " + typeOf(constant) + "\n";
    values.push_back(constant);
  }
  RandomValue product = like;
  product.bound = like.bound * constant.bound;
  emit(once(2) ? "graph.mul" : "graph.add", {like, constant}, "", product,
       false);
}
