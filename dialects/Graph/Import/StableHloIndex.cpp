//===- StableHloIndex.cpp - Gathers and scatters of StableHLO -------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// StableHLO reads and writes windows, which begin where the indices say and may
// lie anywhere in the operand. Here each element of a window gets coordinates
// of its own, in the form of `gather_nd` and `scatter_nd`.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/StableHloImporter.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

static SmallVector<int64_t> invert(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> inverse(permutation.size());
  for (auto [i, place] : llvm::enumerate(permutation))
    inverse[place] = i;
  return inverse;
}

/// Whether all are dims of a tensor of `rank`, each once.
static bool areDims(ArrayRef<int64_t> dims, int64_t rank) {
  llvm::SmallBitVector seen(rank);
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= rank || seen.test(dim))
      return false;
    seen.set(dim);
  }
  return true;
}

std::optional<StableHloImporter::Places>
StableHloImporter::findPlaces(const IndexDims &dims, Value indices,
                              RankedTensorType type, ArrayRef<int64_t> sizes,
                              bool clamps) {
  auto bad = [&](const llvm::Twine &why) {
    fail(why);
    return std::nullopt;
  };
  int64_t rank = type.getRank(), vector = dims.vector;
  if (vector == rankOf(indices)) {
    SmallVector<int64_t> shape(shapeOf(indices));
    shape.push_back(1);
    indices = reshape(indices, shape);
  }
  int64_t batchRank = rankOf(indices) - 1;
  SmallVector<int64_t> known = llvm::to_vector(
      llvm::concat<const int64_t>(dims.operandBatch, dims.collapsed));
  if (vector < 0 || vector > batchRank || dims.map.empty() ||
      !areDims(dims.map, rank) || !areDims(known, rank) ||
      !areDims(dims.indexBatch, batchRank + 1) ||
      llvm::is_contained(dims.indexBatch, vector) ||
      dims.indexBatch.size() != dims.operandBatch.size() ||
      shapeOf(indices)[vector] != int64_t(dims.map.size()) ||
      int64_t(dims.window.size() + known.size()) != rank ||
      !areDims(dims.window, batchRank + dims.window.size()))
    return bad("its dims do not agree with its operands");
  // The batch's dims, the other dims of the indices, the coordinates.
  SmallVector<int64_t> order(dims.indexBatch);
  for (int64_t d = 0; d <= batchRank; ++d)
    if (d != vector && !llvm::is_contained(dims.indexBatch, d))
      order.push_back(d);
  SmallVector<int64_t> batchOrder(order);
  order.push_back(vector);
  indices = convert(transpose(indices, order), builder.getI64Type());
  if (!indices)
    return std::nullopt;

  Places places;
  places.batchDims = dims.indexBatch.size();
  // Dims of windows that the indices move, and those that are there whole.
  SmallVector<int64_t> moved, whole;
  for (int64_t d = 0; d < rank; ++d) {
    if (llvm::is_contained(dims.operandBatch, d))
      continue;
    bool isMoved = llvm::is_contained(dims.map, d);
    if (isMoved && !llvm::is_contained(dims.collapsed, d))
      moved.push_back(d);
    if (!isMoved) {
      whole.push_back(d);
      if (llvm::is_contained(dims.collapsed, d))
        return bad("dim " + llvm::Twine(d) +
                   " of its operand is left out, but not indexed");
    }
  }
  SmallVector<int64_t> shape(shapeOf(indices).drop_back());
  for (int64_t d : moved)
    shape.push_back(sizes[d]);
  SmallVector<Value> coordinates;
  for (auto [i, d] : llvm::enumerate(dims.map)) {
    int64_t most = type.getDimSize(d) - sizes[d];
    if (most < 0)
      return bad("its window is larger than its operand");
    Value start = sliceDim(indices, batchRank, i, i + 1);
    start = reshape(start, shapeOf(indices).drop_back());
    Value zero = intScalar(0, builder.getI64Type()),
          limit = intScalar(most, builder.getI64Type());
    if (clamps) {
      start = minimum(maximum(start, zero), limit);
    } else {
      Value within = binary<AndOp>(compare(ComparePredicate::GE, start, zero),
                                   compare(ComparePredicate::LE, start, limit));
      places.within =
          places.within ? binary<AndOp>(places.within, within) : within;
    }
    auto leading = llvm::to_vector(llvm::seq<int64_t>(0, batchRank));
    start = broadcastDims(start, shape, leading);
    const auto *it = llvm::find(moved, d);
    if (it != moved.end())
      start = add(start, countUp(shape, batchRank + (it - moved.begin())));
    SmallVector<int64_t> column(shape);
    column.push_back(1);
    coordinates.push_back(reshape(start, column));
  }
  if (!llvm::all_of(coordinates, [](Value v) { return bool(v); }))
    return std::nullopt;
  if (places.within)
    places.within =
        broadcastDims(places.within, shape,
                      llvm::to_vector(llvm::seq<int64_t>(0, batchRank)));
  places.indices = concat(coordinates, shape.size());
  places.order = dims.operandBatch;
  places.order.append(dims.map);
  places.order.append(whole);
  // Dims of the result: windows where the op says, the indices' in between.
  SmallVector<int64_t> windows;
  for (int64_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(known, d))
      windows.push_back(d);
  SmallVector<int64_t> sortedBatch(batchOrder);
  llvm::sort(sortedBatch);
  int64_t nextBatch = 0, nextWindow = 0;
  for (int64_t d = 0; d < batchRank + int64_t(windows.size()); ++d) {
    if (!llvm::is_contained(dims.window, d)) {
      places.toResult.push_back(
          llvm::find(batchOrder, sortedBatch[nextBatch++]) -
          batchOrder.begin());
      continue;
    }
    int64_t window = windows[nextWindow++];
    const auto *it = llvm::find(moved, window);
    places.toResult.push_back(
        it != moved.end() ? batchRank + (it - moved.begin())
                          : batchRank + int64_t(moved.size()) +
                                (llvm::find(whole, window) - whole.begin()));
  }
  return places;
}

/// Windows begin where they are within the operand.
StableHloImporter::Results StableHloImporter::importGather(Operation *) {
  std::optional<IndexDims> dims =
      indexDims("dimension_numbers", /*scatters=*/false);
  std::optional<SmallVector<int64_t>> sizes = ints("slice_sizes");
  Value x = operand(0);
  if (!dims || !sizes)
    return {};
  if (int64_t(sizes->size()) != rankOf(x))
    return refuse("its sizes are not one a dim");
  RankedTensorType type = typeOf(x);
  std::optional<Places> places =
      findPlaces(*dims, operand(1), type, *sizes, /*clamps=*/true);
  if (!places)
    return {};
  for (int64_t d = 0; x && d < type.getRank(); ++d) {
    bool isPart = !llvm::is_contained(dims->map, d) &&
                  !llvm::is_contained(dims->operandBatch, d);
    if (isPart && ((*sizes)[d] < 0 || (*sizes)[d] > type.getDimSize(d)))
      return refuse("its window is larger than its operand");
    if (isPart)
      x = sliceDim(x, d, 0, (*sizes)[d]);
  }
  x = transpose(x, places->order);
  Value found;
  if (dims->map.size() == 1 && places->batchDims == 0) {
    // Rows of a table, which passes know by this op.
    SmallVector<int64_t> shape(shapeOf(places->indices).drop_back());
    found =
        make<GatherOp>({x, reshape(places->indices, shape)}, {i64("axis", 0)});
  } else {
    found = make<GatherNDOp>({x, places->indices},
                             {i64("batch_dims", places->batchDims)});
  }
  return found ? one(transpose(found, places->toResult)) : Results();
}

/// A window that is not within the operand is left out whole: it is written
/// behind the operand, where it is cut off.
StableHloImporter::Results StableHloImporter::importScatter(Operation *op) {
  if (op->getNumOperands() != 3 || op->getNumRegions() != 1)
    return refuse("it writes to several operands at once",
                  "write to one after the other");
  std::optional<IndexDims> dims =
      indexDims("scatter_dimension_numbers", /*scatters=*/true);
  if (!dims)
    return {};
  std::optional<ScatterKind> kind;
  switch (findCombiner(op->getRegion(0))) {
  case Combiner::Second:
    kind = ScatterKind::Set;
    break;
  case Combiner::Add:
    kind = ScatterKind::Add;
    break;
  case Combiner::Multiply:
    kind = ScatterKind::Mul;
    break;
  case Combiner::Maximum:
    kind = ScatterKind::Max;
    break;
  case Combiner::Minimum:
    kind = ScatterKind::Min;
    break;
  case Combiner::None:
  case Combiner::And:
  case Combiner::Or:
    return refuse("what its region computes is no sum, product, maximum or "
                  "minimum, nor the update");
  }
  Value x = operand(0), updates = operand(2);
  RankedTensorType type = typeOf(x);
  // The sizes of windows are those of the updates.
  SmallVector<int64_t> sizes(type.getRank(), 1);
  unsigned next = 0;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (llvm::is_contained(dims->collapsed, d) ||
        llvm::is_contained(dims->operandBatch, d))
      continue;
    if (next >= dims->window.size() || dims->window[next] < 0 ||
        dims->window[next] >= rankOf(updates))
      return refuse("its dims do not agree with its operands");
    sizes[d] = shapeOf(updates)[dims->window[next++]];
    if (!llvm::is_contained(dims->map, d) && sizes[d] != type.getDimSize(d))
      return refuse("its updates are smaller than dim " + llvm::Twine(d) +
                    " of its operand, which is not indexed");
  }
  std::optional<Places> places =
      findPlaces(*dims, operand(1), type, sizes, /*clamps=*/false);
  if (!places)
    return {};
  if (int64_t(places->toResult.size()) != rankOf(updates))
    return refuse("its dims do not agree with its operands");
  Value moved = transpose(x, places->order), indices = places->indices;
  int64_t dim = places->batchDims, whole = shapeOf(moved)[dim];
  FailureOr<HostTensor> within = evaluate(places->within, nullptr);
  bool isWithin = succeeded(within);
  for (int64_t i = 0; isWithin && i < within->getNumElements(); ++i)
    isWithin = within->getInt(i) != 0;
  if (!isWithin) {
    SmallVector<int64_t> low(rankOf(moved), 0), high(low);
    high[dim] = 1;
    moved = pad(moved, scalar(0, type.getElementType()), low, high);
    int64_t last = rankOf(indices) - 1,
            count = places->within ? shapeOf(indices)[last] : 0;
    SmallVector<int64_t> column(shapeOf(indices));
    column[last] = 1;
    Value behind = intScalar(whole, builder.getI64Type());
    SmallVector<Value> columns = {select(reshape(places->within, column),
                                         sliceDim(indices, last, 0, 1),
                                         behind)};
    // Its other coordinates only have to be some.
    for (int64_t i = 1; i < count; ++i)
      columns.push_back(select(reshape(places->within, column),
                               sliceDim(indices, last, i, i + 1),
                               intScalar(0, builder.getI64Type())));
    indices = concat(columns, last);
  }
  Value result = make<ScatterNDOp>(
      {moved, indices, transpose(updates, invert(places->toResult))},
      {attr("kind", ScatterKindAttr::get(getContext(), *kind)),
       i64("batch_dims", places->batchDims)});
  return result ? one(transpose(sliceDim(result, dim, 0, whole),
                                invert(places->order)))
                : Results();
}

void StableHloImporter::addIndexing(Table &table) {
  using I = StableHloImporter;
  static const Row rows[] = {
      {"stablehlo.gather", &I::importGather, 2},
      {"stablehlo.scatter", &I::importScatter, 3},
  };
  addRows(table, rows);
}
