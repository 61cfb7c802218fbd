//===- StableHloShape.cpp - Ops of StableHLO that move elements -----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/StableHloImporter.h"
#include "llvm/ADT/Sequence.h"
#include <algorithm>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// Dims of the operand may stand in another order in the result.
StableHloImporter::Results StableHloImporter::importBroadcast(Operation *) {
  std::optional<SmallVector<int64_t>> dims = ints("broadcast_dimensions");
  Value x = operand(0);
  if (!dims)
    return {};
  if (int64_t(dims->size()) != rankOf(x))
    return refuse("its 'broadcast_dimensions' are not one a dim");
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x)));
  llvm::sort(order,
             [&](int64_t a, int64_t b) { return (*dims)[a] < (*dims)[b]; });
  llvm::sort(*dims);
  return one(
      broadcastDims(transpose(x, order), resultType().getShape(), *dims));
}

StableHloImporter::Results StableHloImporter::importReshape(Operation *) {
  return one(reshape(operand(0), resultType().getShape()));
}

StableHloImporter::Results StableHloImporter::importTranspose(Operation *) {
  std::optional<SmallVector<int64_t>> permutation = ints("permutation");
  return permutation ? one(transpose(operand(0), *permutation)) : Results();
}

StableHloImporter::Results StableHloImporter::importSlice(Operation *) {
  std::optional<SmallVector<int64_t>> starts = ints("start_indices"),
                                      limits = ints("limit_indices"),
                                      strides = ints("strides");
  if (!starts || !limits || !strides)
    return {};
  return one(slice(operand(0), *starts, *limits, *strides));
}

StableHloImporter::Results StableHloImporter::importPad(Operation *) {
  std::optional<SmallVector<int64_t>> low = ints("edge_padding_low"),
                                      high = ints("edge_padding_high"),
                                      interior = ints("interior_padding");
  if (!low || !high || !interior)
    return {};
  return one(make<PadOp>(
      {operand(0), operand(1)},
      {list("low", *low), list("high", *high), list("interior", *interior)}));
}

StableHloImporter::Results StableHloImporter::importConcatenate(Operation *) {
  std::optional<int64_t> dim = integer("dimension");
  return dim ? one(concat(operands(), *dim)) : Results();
}

StableHloImporter::Results StableHloImporter::importReverse(Operation *) {
  std::optional<SmallVector<int64_t>> dims = ints("dimensions");
  return dims ? one(make<ReverseOp>({operand(0)}, {list("dims", *dims)}))
              : Results();
}

//===----------------------------------------------------------------------===//
// Windows whose place is a number in a tensor
//===----------------------------------------------------------------------===//

std::optional<int64_t> StableHloImporter::findNumber(Value value) {
  FailureOr<HostTensor> tensor = evaluate(value, nullptr);
  return failed(tensor) || tensor->getNumElements() != 1
             ? std::nullopt
             : std::optional(tensor->getInt(0));
}

Value StableHloImporter::countUp(ArrayRef<int64_t> shape, int64_t dim) {
  constexpr int64_t kMostElements = 1024;
  auto type = RankedTensorType::get(shape, builder.getI64Type());
  if (!isSaneShape(shape) || type.getNumElements() > kMostElements)
    return iota(shape, dim, type.getElementType());
  HostTensor tensor(type);
  int64_t i = 0;
  forEachIndex(
      shape, [&](ArrayRef<int64_t> index) { tensor.setInt(i++, index[dim]); });
  return constant(tensor);
}

Value StableHloImporter::clampStart(Value start, int64_t most) {
  Value wide = convert(start, builder.getI64Type());
  return minimum(maximum(wide, intScalar(0, builder.getI64Type())),
                 intScalar(most, builder.getI64Type()));
}

StableHloImporter::Results StableHloImporter::importDynamicSlice(Operation *) {
  std::optional<SmallVector<int64_t>> sizes = ints("slice_sizes");
  Value x = operand(0);
  if (!sizes)
    return {};
  if (int64_t(sizes->size()) != rankOf(x) ||
      current->getNumOperands() != 1 + sizes->size())
    return refuse("its sizes and starts are not one a dim");
  for (int64_t d = 0; x && d < rankOf(x); ++d) {
    int64_t size = (*sizes)[d], most = shapeOf(x)[d] - size;
    if (size < 0 || most < 0)
      return refuse("its slice is larger than the operand");
    if (most == 0)
      continue;
    Value start = operand(1 + d);
    if (std::optional<int64_t> number = findNumber(start)) {
      int64_t at = std::clamp<int64_t>(*number, 0, most);
      x = sliceDim(x, d, at, at + size);
      continue;
    }
    Value indices = add(countUp({size}, 0), clampStart(start, most));
    x = make<GatherOp>({x, indices}, {i64("axis", d)});
  }
  return one(x);
}

Value StableHloImporter::replacePart(Value x, Value update, int64_t dim,
                                     int64_t start) {
  int64_t size = shapeOf(update)[dim], end = start + size;
  SmallVector<Value> before = {x};
  if (auto it = partsOf.find(x); it != partsOf.end() && it->second.dim == dim)
    before = it->second.parts;
  SmallVector<Value> after;
  int64_t at = 0;
  bool isPlaced = false;
  auto keep = [&](Value part, int64_t from, int64_t limit) {
    if (from < limit)
      after.push_back(sliceDim(part, dim, from - at, limit - at));
  };
  for (Value part : before) {
    int64_t limit = at + shapeOf(part)[dim];
    keep(part, at, std::min(limit, start));
    if (!isPlaced && limit > start) {
      after.push_back(update);
      isPlaced = true;
    }
    keep(part, std::max(at, end), limit);
    at = limit;
  }
  Value result = concat(after, dim);
  if (result)
    partsOf[result] = Parts{dim, after};
  return result;
}

StableHloImporter::Results
StableHloImporter::importDynamicUpdateSlice(Operation *) {
  Value x = operand(0), update = operand(1);
  if (rankOf(update) != rankOf(x) ||
      int64_t(current->getNumOperands()) != 2 + rankOf(x))
    return refuse("its update and starts are not of the operand's dims");
  SmallVector<int64_t> partial;
  for (int64_t d = 0; d < rankOf(x); ++d) {
    if (shapeOf(update)[d] > shapeOf(x)[d])
      return refuse("its update is larger than the operand");
    if (shapeOf(update)[d] < shapeOf(x)[d])
      partial.push_back(d);
  }
  if (partial.empty() || typeOf(x).getNumElements() == 0)
    return one(update);
  if (typeOf(update).getNumElements() == 0)
    return one(x);
  if (partial.size() == 1) {
    int64_t dim = partial.front();
    if (std::optional<int64_t> start = findNumber(operand(2 + dim))) {
      int64_t most = shapeOf(x)[dim] - shapeOf(update)[dim];
      return one(
          replacePart(x, update, dim, std::clamp<int64_t>(*start, 0, most)));
    }
  }
  // Each element's place within the update, and whether it has one.
  Value inside;
  for (int64_t dim : partial) {
    int64_t size = shapeOf(update)[dim], whole = shapeOf(x)[dim];
    Type type = builder.getI64Type();
    Value place =
        sub(countUp({whole}, 0), clampStart(operand(2 + dim), whole - size));
    Value zero = intScalar(0, type), last = intScalar(size - 1, type);
    Value within = binary<AndOp>(compare(ComparePredicate::GE, place, zero),
                                 compare(ComparePredicate::LE, place, last));
    Value spread = broadcastAlong(within, shapeOf(x), dim);
    inside = inside ? binary<AndOp>(inside, spread) : spread;
    update = make<GatherOp>({update, minimum(maximum(place, zero), last)},
                            {i64("axis", dim)});
  }
  return one(select(inside, update, x));
}

void StableHloImporter::addShapes(Table &table) {
  using I = StableHloImporter;
  static const Row rows[] = {
      {"stablehlo.broadcast_in_dim", &I::importBroadcast},
      {"stablehlo.reshape", &I::importReshape},
      {"stablehlo.transpose", &I::importTranspose},
      {"stablehlo.slice", &I::importSlice},
      {"stablehlo.pad", &I::importPad, 2},
      {"stablehlo.concatenate", &I::importConcatenate},
      {"stablehlo.reverse", &I::importReverse},
      {"stablehlo.dynamic_slice", &I::importDynamicSlice},
      {"stablehlo.dynamic_update_slice", &I::importDynamicUpdateSlice, 2},
  };
  addRows(table, rows);
}
