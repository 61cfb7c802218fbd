//===- StableHloReduce.cpp - Reductions, windows and sorts of StableHLO ---===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a region of several ops computes is found by what it gives for a few
// numbers, whatever the ops are that a version of JAX writes it with.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/StableHloImporter.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

StableHloImporter::Results StableHloImporter::importReduce(Operation *op) {
  if (op->getNumOperands() == 4)
    return importArgReduce(op);
  if (op->getNumOperands() != 2 || op->getNumRegions() != 1)
    return refuse("it reduces several operands at once",
                  "reduce one after the other");
  std::optional<SmallVector<int64_t>> dims = ints("dimensions");
  if (!dims)
    return {};
  Value x = operand(0), start = operand(1);
  Combiner combiner = findCombiner(op->getRegion(0));
  Reduction kind;
  switch (combiner) {
  case Combiner::Add:
    kind = Reduction::Sum;
    break;
  case Combiner::Multiply:
    kind = Reduction::Product;
    break;
  case Combiner::Maximum:
  case Combiner::Or:
    kind = Reduction::Max;
    break;
  case Combiner::Minimum:
  case Combiner::And:
    kind = Reduction::Min;
    break;
  case Combiner::None:
  case Combiner::Second:
    return refuse("what its region computes is no sum, product, maximum, "
                  "minimum, 'and' or 'or'",
                  "write it with such reductions");
  }
  for (int64_t dim : *dims)
    if (dim < 0 || dim >= rankOf(x))
      return refuse("its dims are not those of its operand");
  Value result = reduce(kind, x, *dims, /*keepDims=*/false);
  if (!isNeutral(combiner, start))
    result = combine(combiner, result, start);
  return one(result);
}

/// The largest or smallest element and the first place where it is, as
/// `jnp.argmax` has it: pairs of an element and its index are reduced.
StableHloImporter::Results StableHloImporter::importArgReduce(Operation *op) {
  constexpr StringLiteral why =
      "what its region computes of pairs is no argmax or argmin";
  std::optional<SmallVector<int64_t>> dims = ints("dimensions");
  if (!dims)
    return {};
  if (dims->size() != 1 || op->getNumRegions() != 1)
    return refuse(why);
  int64_t dim = dims->front();
  Value x = operand(0), places = operand(1);
  if (dim < 0 || dim >= rankOf(x) || shapeOf(x) != shapeOf(places))
    return refuse(why);
  auto is = [&](ArrayRef<double> numbers, double value,
                int64_t place) -> FailureOr<bool> {
    auto results = callWithNumbers(op->getRegion(0), numbers);
    if (failed(results) || results->size() != 2)
      return failure();
    return (*results)[0].getDouble(0) == value &&
           (*results)[1].getInt(0) == place;
  };
  auto isFirst = [&](double best, double worse) -> FailureOr<bool> {
    struct Case {
      double x, xPlace, y, yPlace;
      int64_t place;
    };
    for (const Case &c :
         {Case{best, 0, worse, 1, 0}, Case{worse, 0, best, 1, 1},
          Case{best, 0, best, 1, 0}, Case{best, 1, best, 0, 0}}) {
      FailureOr<bool> found = is({c.x, c.xPlace, c.y, c.yPlace}, best, c.place);
      if (failed(found) || !*found)
        return found;
    }
    return true;
  };
  FailureOr<bool> largest = isFirst(2, 1);
  if (failed(largest))
    return {};
  FailureOr<bool> smallest = isFirst(1, 2);
  if (failed(smallest))
    return {};
  if (*largest == *smallest)
    return refuse(why);
  auto iota = places.getDefiningOp<IotaOp>();
  bool isPlaces = iota && int64_t(iota.getDim()) == dim;
  if (FailureOr<HostTensor> tensor = evaluate(places, nullptr);
      !isPlaces && succeeded(tensor)) {
    isPlaces = true;
    int64_t i = 0;
    forEachIndex(tensor->getShape(), [&](ArrayRef<int64_t> index) {
      isPlaces &= tensor->getInt(i++) == index[dim];
    });
  }
  Combiner combiner = *largest ? Combiner::Maximum : Combiner::Minimum;
  if (!isPlaces || findSplat(operand(3)) != 0.0 ||
      !isNeutral(combiner, operand(2)))
    return refuse(why);
  Value best = reduce(*largest ? Reduction::Max : Reduction::Min, x, {dim},
                      /*keepDims=*/false);
  Value place = *largest ? make<ArgMaxOp>({x}, {i64("axis", dim)})
                         : make<ArgMinOp>({x}, {i64("axis", dim)});
  place = convert(place, elementOf(places));
  return best && place ? Results{best, place} : Results();
}

StableHloImporter::Results
StableHloImporter::importReduceWindow(Operation *op) {
  if (op->getNumOperands() != 2 || op->getNumRegions() != 1)
    return refuse("it reduces several operands at once",
                  "reduce one after the other");
  Value x = operand(0), start = operand(1);
  size_t rank = rankOf(x);
  SmallVector<int64_t> ones(rank, 1), none(2 * rank);
  std::optional<SmallVector<int64_t>> window = ints("window_dimensions", ones),
                                      strides = ints("window_strides", ones),
                                      holes = ints("base_dilations", ones),
                                      dilations =
                                          ints("window_dilations", ones),
                                      pads = ints("padding", none);
  if (!window || !strides || !holes || !dilations || !pads)
    return {};
  if (pads->size() == 1)
    pads->assign(2 * rank, pads->front());
  if (window->size() != rank || strides->size() != rank ||
      holes->size() != rank || dilations->size() != rank ||
      pads->size() != 2 * rank)
    return refuse("its windows are not of the operand's dims");
  SmallVector<int64_t> low(rank), high(rank);
  for (size_t d = 0; d < rank; ++d)
    std::tie(low[d], high[d]) = std::pair((*pads)[2 * d], (*pads)[2 * d + 1]);
  Combiner combiner = findCombiner(op->getRegion(0));
  if (combiner != Combiner::Add && combiner != Combiner::Maximum &&
      combiner != Combiner::Minimum)
    return refuse("what its region computes is no sum, maximum or minimum");
  if (!isNeutral(combiner, start))
    return refuse("it starts from another number than that which changes "
                  "nothing");
  // Of a running sum each window ends (or begins) with its element.
  SmallVector<int64_t> wide;
  for (size_t d = 0; d < rank; ++d)
    if ((*window)[d] != 1)
      wide.push_back(d);
  bool isPlain = *strides == ones && *holes == ones && *dilations == ones;
  if (combiner == Combiner::Add && isPlain && wide.size() == 1) {
    int64_t dim = wide.front(), before = shapeOf(x)[dim] - 1;
    SmallVector<int64_t> zeros(rank, 0), others = zeros;
    others[dim] = before;
    if ((*window)[dim] == before + 1 &&
        ((low == others && high == zeros) || (high == others && low == zeros)))
      return one(make<CumSumOp>(
          {x}, {i64("axis", dim), flag("reverse", low == zeros)}, x.getType()));
  }
  auto isNegative = [](int64_t n) { return n < 0; };
  if (*holes != ones || llvm::any_of(low, isNegative) ||
      llvm::any_of(high, isNegative)) {
    SmallVector<int64_t> between(*holes);
    for (int64_t &n : between)
      --n;
    x = make<PadOp>({x, start}, {list("low", low), list("high", high),
                                 list("interior", between)});
    low.assign(rank, 0);
    high.assign(rank, 0);
  }
  SmallVector<NamedAttribute> attributes = {
      list("window", *window), list("strides", *strides),
      list("dilations", *dilations), list("pad_low", low),
      list("pad_high", high)};
  if (combiner == Combiner::Maximum)
    return one(make<MaxPoolOp>({x}, attributes));
  if (combiner == Combiner::Minimum && isFloat(x))
    return one(neg(make<MaxPoolOp>({neg(x)}, attributes)));
  if (!isFloat(x))
    return refuse("sums and minima of windows are of floats",
                  "convert its operand");
  double count = 1;
  for (int64_t size : *window)
    count *= size;
  attributes.push_back(flag("count_include_pad", true));
  // Sums of 16 bits are taken in 32, as those of other reductions.
  Type type = elementOf(x);
  if (type.getIntOrFloatBitWidth() < 32)
    x = convert(x, builder.getF32Type());
  return one(convert(mul(make<AvgPoolOp>({x}, attributes), count), type));
}

/// By its first operand, from the smallest or from the largest; others follow.
StableHloImporter::Results StableHloImporter::importSort(Operation *op) {
  Value keys = operand(0);
  std::optional<int64_t> dim = integer("dimension", -1);
  if (!dim)
    return {};
  if (*dim < 0)
    *dim += rankOf(keys);
  if (*dim < 0 || *dim >= rankOf(keys) || op->getNumRegions() != 1)
    return refuse("its 'dimension' is none of its operand");
  unsigned count = op->getNumOperands();
  auto isBefore = [&](double x, double y, double otherX,
                      double otherY) -> FailureOr<bool> {
    SmallVector<double> numbers = {x, y};
    for (unsigned i = 1; i < count; ++i)
      numbers.append({otherX, otherY});
    auto results = callWithNumbers(op->getRegion(0), numbers);
    if (failed(results) || results->size() != 1)
      return failure();
    return results->front().getInt(0) != 0;
  };
  // Of smaller, larger, equal; others tell nothing.
  SmallVector<bool> order;
  for (auto [x, y] :
       {std::pair(0., 1.), std::pair(1., 0.), std::pair(1., 1.)}) {
    std::optional<bool> first;
    for (auto [otherX, otherY] : {std::pair(0., 1.), std::pair(1., 0.)}) {
      FailureOr<bool> found = isBefore(x, y, otherX, otherY);
      if (failed(found))
        return {};
      if (first && *first != *found)
        return refuse("it compares more than its first operand",
                      "sort by one key");
      first = *found;
    }
    order.push_back(*first);
  }
  bool ascends = order[0] && !order[1], descends = order[1] && !order[0];
  if (!ascends && !descends)
    return refuse("what its region computes is no comparison by size");
  int64_t last = rankOf(keys) - 1, size = shapeOf(keys)[*dim];
  if (size == 0)
    return operands();
  SmallVector<Value> sorted = makeAll<TopKOp>(
      {moveDim(keys, *dim, last)}, {i64("k", size), flag("largest", descends)});
  if (sorted.size() != 2)
    return {};
  Results results = {moveDim(sorted[0], last, *dim)};
  for (unsigned i = 1; i < count; ++i) {
    Value other = moveDim(operand(i), *dim, last);
    results.push_back(
        moveDim(make<GatherElementsOp>({other, sorted[1]}, {i64("axis", last)}),
                last, *dim));
  }
  return results;
}

StableHloImporter::Results StableHloImporter::importTopK(Operation *op) {
  std::optional<int64_t> k = integer("k");
  if (!k)
    return {};
  if (op->getNumResults() != 2)
    return refuse("it has not two results");
  SmallVector<Value> best = makeAll<TopKOp>({operand(0)}, {i64("k", *k)});
  if (best.size() != 2)
    return {};
  Value places = convert(best[1], resultType(1).getElementType());
  return places ? Results{best[0], places} : Results();
}

void StableHloImporter::addReductions(Table &table) {
  using I = StableHloImporter;
  static const Row rows[] = {
      {"stablehlo.reduce", &I::importReduce, 2},
      {"stablehlo.reduce_window", &I::importReduceWindow, 2},
      {"stablehlo.sort", &I::importSort},
      {"chlo.top_k", &I::importTopK},
  };
  addRows(table, rows);
}
