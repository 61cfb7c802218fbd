//===- Compression.cpp - Fewer bytes for a gradient -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A gradient that is not finite must stay so through every method: the finite
// check comes after the sum.
//
//===----------------------------------------------------------------------===//
#include "passes/Partition/Compression.h"
#include "dialects/Dist/IR/Sources.h"
#include "llvm/Support/xxhash.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// Where a quantity of next to nothing stands for zero: its inverse is finite.
static constexpr double kTiny = 1e-30;

static RankedTensorType getTensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

Value GradientCompression::allReduce(Value value) {
  auto op = cast<CollectiveOpInterface>(collective);
  auto reduce =
      g.create<AllReduceOp>(TypeRange{value.getType()}, ValueRange{value},
                            Reduction::Sum, op.getCollectiveMesh().getValue(),
                            collective->getAttrOfType<ArrayAttr>("axes"),
                            op.getCollectiveReason(), op.getCollectiveOrigin());
  return copyCauses(collective, reduce)->getResult(0);
}

Value GradientCompression::reduceAlike(Value value) {
  auto scatter = dyn_cast<ReduceScatterOp>(collective);
  if (!scatter)
    return allReduce(value);
  Type type = cast<RankedTensorType>(scatter->getResultTypes()[0])
                  .clone(getTensor(value).getElementType());
  auto reduce = g.create<ReduceScatterOp>(
      TypeRange{type}, ValueRange{value}, scatter.getDims(), Reduction::Sum,
      scatter.getMesh(), scatter.getAxes(), scatter.getReason(),
      scatter.getOrigin());
  return copyCauses(collective, reduce)->getResult(0);
}

SmallVector<Value> GradientCompression::allGather(ValueRange values,
                                                  ArrayRef<int64_t> dims) {
  auto op = cast<CollectiveOpInterface>(collective);
  SmallVector<Type> types;
  for (auto [value, dim] : llvm::zip(values, dims)) {
    SmallVector<int64_t> shape(getTensor(value).getShape());
    shape[dim] *= ranks;
    types.push_back(getTensor(value).clone(shape));
  }
  auto gather = g.create<AllGatherOp>(
      types, values, dims, op.getCollectiveMesh().getValue(),
      collective->getAttrOfType<ArrayAttr>("axes"), op.getCollectiveReason(),
      op.getCollectiveOrigin());
  copyCauses(collective, gather)
      ->setAttr(kOfGradients, g.getBuilder().getUnitAttr());
  return llvm::to_vector_of<Value>(gather->getResults());
}

Value GradientCompression::addLeft() {
  Value sum = g.add(gradient, left);
  note(sum.getDefiningOp());
  return sum;
}

//===----------------------------------------------------------------------===//
// f16, bf16: summed in f32 and rounded once by the communicator
//===----------------------------------------------------------------------===//

static double getHalfBytes(RankedTensorType type, int64_t, double,
                           double sent) {
  return sent * 16 / type.getElementTypeBitWidth();
}

static CompressedGradient compressToHalf(GradientCompression &one, Type half) {
  GraphBuilder &g = one.g;
  Value x = one.addLeft();
  Type type = getTensor(x).getElementType();
  Value rounded = g.convert(x, half);
  return {g.convert(one.reduceAlike(rounded), type),
          g.sub(x, g.convert(rounded, type))};
}
static CompressedGradient compressToF16(GradientCompression &one) {
  return compressToHalf(one, one.g.getBuilder().getF16Type());
}
static CompressedGradient compressToBF16(GradientCompression &one) {
  return compressToHalf(one, one.g.getBuilder().getBF16Type());
}

//===----------------------------------------------------------------------===//
// int8: gathered with a scale a rank, and summed by each
//===----------------------------------------------------------------------===//

static double getInt8Bytes(RankedTensorType type, int64_t ranks, double,
                           double) {
  return double(ranks - 1) * (type.getNumElements() + 4);
}

static CompressedGradient compressToInt8(GradientCompression &one) {
  GraphBuilder &g = one.g;
  Value x = one.addLeft();
  RankedTensorType type = getTensor(x);
  Type element = type.getElementType();
  SmallVector<int64_t> dims =
      llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  // The largest magnitude is NaN where an element is, and then all are.
  Value largest = g.reduce(Reduction::Max, g.make<AbsOp>(x), dims);
  Value bounded = g.max(largest, g.like(largest, kTiny));
  Value scale = g.mul(bounded, 1.0 / 127);
  Value inverse = g.div(g.like(bounded, 127), bounded);
  Value numbers = g.convert(
      g.make<RoundOp>(g.mul(x, g.broadcastScalar(inverse, type.getShape()))),
      g.getBuilder().getIntegerType(8));
  int64_t count = type.getNumElements();
  SmallVector<Value> all = one.allGather(
      {g.reshape(numbers, {1, count}), g.reshape(scale, {1})}, {0, 0});
  Value each = g.mul(g.convert(all[0], element),
                     g.broadcast(all[1], {one.ranks, count}, {0}));
  return {g.reshape(g.sum(each, {0}), type.getShape()),
          g.sub(x, g.mul(g.convert(numbers, element),
                         g.broadcastScalar(scale, type.getShape())))};
}

//===----------------------------------------------------------------------===//
// topk: the largest of each block, with their indices in it
//===----------------------------------------------------------------------===//

namespace {
/// Selecting from short rows is linear work, and indices in them are i16.
struct Blocks {
  static constexpr int64_t kMost = 1024;

  /// The fewest blocks, all of one size, into which the tensor can be cut
  /// without a rest; with one where blocks would be less than half as large.
  Blocks(RankedTensorType type, double ratio) {
    int64_t count = type.getNumElements();
    int64_t fewest = (count + kMost - 1) / kMost;
    rows = fewest;
    while (count % rows != 0 && rows < 2 * fewest)
      ++rows;
    if (count % rows != 0)
      rows = fewest;
    columns = (count + rows - 1) / rows;
    kept = std::max<int64_t>(1, std::llround(ratio * double(columns)));
  }
  int64_t rows, columns, kept;
};
} // namespace

static double getTopKBytes(RankedTensorType type, int64_t ranks, double ratio,
                           double) {
  Blocks blocks(type, ratio);
  int64_t bytes = type.getElementTypeBitWidth() / 8 + 2; // and its index
  return double((ranks - 1) * blocks.rows * blocks.kept * bytes);
}

/// Of magnitudes NaN and infinities are the largest: they are sent.
static CompressedGradient compressToTopK(GradientCompression &one) {
  GraphBuilder &g = one.g;
  RankedTensorType type = getTensor(one.gradient);
  Blocks blocks(type, one.parameter);
  int64_t count = type.getNumElements(), size = blocks.rows * blocks.columns;
  SmallVector<int64_t, 1> none{0};
  auto cut = [&](Value x) {
    x = g.reshape(x, {count});
    if (size > count)
      x = g.make<PadOp>(x, g.scalar(type.getElementType(), 0), none,
                        ArrayRef<int64_t>{size - count}, none);
    return g.reshape(x, {blocks.rows, blocks.columns});
  };
  auto join = [&](Value x) {
    x = g.reshape(x, {size});
    if (size > count)
      x = g.make<SliceOp>(x, none, ArrayRef<int64_t>{count},
                          ArrayRef<int64_t>{1});
    return g.reshape(x, type.getShape());
  };
  Value gradient = cut(one.gradient), left = cut(one.left);
  auto top = g.create<TakeTopKOp>(gradient, left, blocks.kept);
  one.note(top);
  SmallVector<Value> all =
      one.allGather({top.getValues(), top.getIndices()}, {1, 1});
  return {join(g.make<ScatterRowsOp>(all[0], all[1], blocks.columns)),
          join(top.getRest())};
}

//===----------------------------------------------------------------------===//
// powersgd: Vogels, Karimireddy, Jaggi, "PowerSGD: Practical Low-Rank Gradient
// Compression for Distributed Optimization" (2019)
//===----------------------------------------------------------------------===//

/// The tensor as a matrix, cut between the dims where its sides are shortest.
static std::pair<int64_t, int64_t> getMatrix(RankedTensorType type) {
  std::pair<int64_t, int64_t> best{type.getNumElements(), 1};
  int64_t rows = 1;
  for (int64_t size : type.getShape()) {
    int64_t columns = type.getNumElements() / std::max<int64_t>(rows, 1);
    if (rows + columns < best.first + best.second)
      best = {rows, columns};
    rows *= size;
  }
  return best;
}

static double getPowerSgdBytes(RankedTensorType type, int64_t, double rank,
                               double sent) {
  auto [rows, columns] = getMatrix(type);
  if (std::min(rows, columns) <= rank)
    return sent;
  return sent * rank * double(rows + columns) / type.getNumElements();
}

/// Columns of random signs and sizes, the same whenever this model is compiled.
static DenseElementsAttr getStart(RankedTensorType type) {
  SmallVector<APFloat> numbers;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    uint64_t bits = llvm::xxh3_64bits(
        ArrayRef(reinterpret_cast<const uint8_t *>(&i), sizeof i));
    APFloat number(double(bits >> 11) * 0x1p-52 - 1);
    bool loses = false;
    number.convert(cast<FloatType>(type.getElementType()).getFloatSemantics(),
                   APFloat::rmNearestTiesToEven, &loses);
    numbers.push_back(number);
  }
  return DenseElementsAttr::get(type, numbers);
}

/// Gram and Schmidt's, column by column; a column of nothing stays nothing.
static Value orthonormalize(GraphBuilder &g, Value matrix) {
  RankedTensorType type = getTensor(matrix);
  int64_t rows = type.getDimSize(0);
  SmallVector<Value> columns;
  for (int64_t i = 0; i < type.getDimSize(1); ++i) {
    Value column = g.make<SliceOp>(matrix, ArrayRef<int64_t>{0, i},
                                   ArrayRef<int64_t>{rows, i + 1},
                                   ArrayRef<int64_t>{1, 1});
    auto scale = [&](Value x, Value by) {
      return g.mul(x, g.broadcast(by, {rows, 1}, {1}));
    };
    for (Value other : columns)
      column = g.sub(column, scale(other, g.sum(g.mul(column, other), {0})));
    Value square = g.sum(g.square(column), {0});
    columns.push_back(
        scale(column, g.rsqrt(g.max(square, g.like(square, kTiny)))));
  }
  return columns.size() == 1 ? columns[0] : g.make<ConcatOp>(columns, 1);
}

static CompressedGradient compressToPowerSgd(GradientCompression &one) {
  GraphBuilder &g = one.g;
  Value x = one.addLeft();
  RankedTensorType type = getTensor(x);
  auto [rows, columns] = getMatrix(type);
  int64_t rank = one.parameter;
  Value matrix = g.reshape(x, {rows, columns});
  auto dot = [&](Value a, int64_t over, Value b, int64_t with) {
    ArrayRef<int64_t> batch;
    return g.make<DotGeneralOp>(a, b, batch, batch, ArrayRef<int64_t>{over},
                                ArrayRef<int64_t>{with});
  };
  Value right = one.getState("q", getStart(RankedTensorType::get(
                                      {columns, rank}, type.getElementType())));
  Value left = orthonormalize(g, one.allReduce(dot(matrix, 1, right, 0)));
  Value own = dot(matrix, 0, left, 0); // columns x rank
  Value all = one.allReduce(own);
  // The next step starts from these directions; from the old one where there
  // was nothing to find.
  Value square = g.sum(g.square(all), {0});
  ArrayRef<int64_t> shape = getTensor(all).getShape();
  Value unit =
      g.mul(all, g.broadcast(g.rsqrt(g.max(square, g.like(square, kTiny))),
                             shape, {1}));
  Value found = g.make<AndOp>(
      g.compare(ComparePredicate::GT, square, g.like(square, kTiny)),
      g.compare(ComparePredicate::LT, square,
                g.like(square, std::numeric_limits<double>::infinity())));
  one.setState("q", g.select(g.broadcast(found, shape, {1}), unit, right));
  auto combine = [&](Value factor) {
    return g.reshape(dot(left, 1, factor, 1), type.getShape());
  };
  return {combine(all), g.sub(x, combine(own))};
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

ArrayRef<CompressionMethod> mlir::dist::getCompressionMethods() {
  static const CompressionMethod methods[] = {
      {"f16", "", 0, 0, false, true, "as 16-bit floats", getHalfBytes,
       compressToF16},
      {"bf16", "", 0, 0, false, true, "as 16-bit floats of f32's range",
       getHalfBytes, compressToBF16},
      {"int8", "", 0, 0, false, false, "as bytes and a scale a tensor",
       getInt8Bytes, compressToInt8},
      {"topk", "ratio", 0, 1, false, false,
       "the largest of every block of up to 1024, by this ratio", getTopKBytes,
       compressToTopK},
      {"powersgd", "rank", 1, 16, true, false,
       "matrices as products of two of this rank", getPowerSgdBytes,
       compressToPowerSgd},
  };
  return methods;
}

FailureOr<CompressionSpec>
CompressionSpec::parse(StringRef text,
                       function_ref<InFlightDiagnostic()> emitError) {
  auto [name, rest] = text.split(':');
  CompressionSpec spec;
  std::string known;
  for (const CompressionMethod &method : getCompressionMethods()) {
    known += (known.empty() ? "" : ", ") + method.name.str();
    if (!method.key.empty())
      known += (":" + method.key + "=X").str();
    if (method.name == name)
      spec.method = &method;
  }
  if (!spec.method)
    return emitError() << "--compress: expected one of " << known
                       << ", but got '" << text << "'";
  const CompressionMethod &method = *spec.method;
  if (method.key.empty()) {
    if (text.contains(':'))
      return emitError() << "--compress: expected '" << name
                         << "' without keys, but got '" << text << "'";
    return spec;
  }
  auto [key, value] = rest.split('=');
  if (key != method.key || value.getAsDouble(spec.parameter) ||
      !(spec.parameter >= double(method.least) &&
        spec.parameter <= double(method.most)) ||
      spec.parameter == 0 ||
      (method.integer && spec.parameter != std::floor(spec.parameter)))
    return emitError() << "--compress: expected " << name << ":" << method.key
                       << "=X, X " << (method.integer ? "an integer " : "")
                       << "from " << method.least << " to " << method.most
                       << ", but got '" << text << "'";
  return spec;
}
