//===- CompareShards.cpp - What ranks hold against the whole --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/CompareShards.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::dist;

MeshOp mlir::dist::getMeshOf(ShardingAttr sharding, Operation *inside) {
  return SymbolTable::lookupNearestSymbolFrom<MeshOp>(inside,
                                                      sharding.getMesh());
}

/// Whether the tensors that a function is given have all 53 bits: what is only
/// computed in f64 of f32 (a norm, a loss scale) differs as f32 does. A
/// learning rate, a number alone, is of f32 in any model.
static bool isOfDoubles(Operation *inside) {
  auto function = dyn_cast<FunctionOpInterface>(inside);
  auto isNarrower = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    auto element =
        tensor ? dyn_cast<FloatType>(tensor.getElementType()) : FloatType();
    return element && !element.isF64() && tensor.getRank() > 0;
  };
  return function && llvm::none_of(function.getArgumentTypes(), isNarrower);
}

double ShardComparison::getTolerance(Type elementType) const {
  if (isa<IntegerType>(elementType))
    return 0;
  if (options.tolerance > 0)
    return options.tolerance;
  if (elementType.isF64() && ofDoubles)
    return 1e-9;
  return elementType.getIntOrFloatBitWidth() >= 32 ? 1e-5 : 2e-2;
}

ShardComparison::ShardComparison(Operation *inside, const CheckOptions &options,
                                 FunctionCheck &check)
    : inside(inside), options(options), check(check),
      ofDoubles(isOfDoubles(inside)) {}

namespace {
struct Difference {
  /// The largest finite number of the whole, the largest difference from it,
  /// and which element that is at.
  double magnitude = 0, largest = 0;
  int64_t at = 0;
};
} // namespace

static Difference findLargest(const HostTensor &whole,
                              const HostTensor &actual) {
  Difference found;
  for (int64_t i = 0, e = whole.getNumElements(); i < e; ++i) {
    double a = whole.getDouble(i), b = actual.getDouble(i);
    if (std::isfinite(a))
      found.magnitude = std::max(found.magnitude, std::abs(a));
    // Integers as they are: large ones that differ may be equal as doubles.
    if (whole.isFloat() ? a == b || (std::isnan(a) && std::isnan(b))
                        : whole.getInt(i) == actual.getInt(i))
      continue;
    double difference = std::abs(a - b);
    if (std::isnan(difference))
      difference = std::numeric_limits<double>::infinity();
    if (!whole.isFloat())
      difference = std::max(difference, 1.0);
    if (difference > found.largest) {
      found.largest = difference;
      found.at = i;
    }
  }
  return found;
}

HostTensor ShardComparison::join(ArrayRef<HostTensor> shards,
                                 ShardingAttr sharding, const HostTensor &whole,
                                 double &copyDifference) const {
  HostTensor actual =
      sharding ? joinShards(shards, sharding, getMeshOf(sharding, inside),
                            &copyDifference)
               : shards.front();
  if (sharding && actual.getType() != whole.getType() &&
      sharding.getNumDims() == whole.getType().getRank()) {
    // Dims of examples have none where they are split by weight.
    auto padded =
        getPaddedType(whole.getType(), sharding, getMeshOf(sharding, inside));
    bool fits = actual.getType().getElementType() == padded.getElementType();
    for (auto [size, own, more] :
         llvm::zip(actual.getShape(), whole.getShape(), padded.getShape()))
      fits &= size == own || size == more;
    if (fits)
      actual = dropPadding(actual, whole.getType());
  }
  return actual;
}

void ShardComparison::compare(ArrayRef<HostTensor> shards,
                              ShardingAttr sharding, const HostTensor &whole,
                              StringRef op, StringRef place, int64_t when) {
  double copyDifference = 0;
  HostTensor actual = join(shards, sharding, whole, copyDifference);
  if (actual.getType() != whole.getType())
    return;
  ++check.comparedOps;
  Difference found = findLargest(whole, actual);
  // Tensors that are zero but for rounding have no scale of their own.
  double relative =
      found.largest == 0 ? 0 : found.largest / std::max(found.magnitude, 1e-6);
  double tolerance = getTolerance(whole.getType().getElementType());
  bool copiesDiffer = copyDifference > tolerance;
  double worst = std::max(relative, copyDifference);
  if (worst > check.largestDifference) {
    check.largestDifference = worst;
    check.largestPlace = place.str();
  }
  if ((check.first && firstWhen <= when) ||
      (relative <= tolerance && !copiesDiffer))
    return;
  Divergence divergence;
  divergence.op = op.str();
  divergence.place = place.str();
  if (whole.getNumElements() > 0) {
    SmallVector<int64_t> index = whole.delinearize(found.at);
    divergence.index.assign(index.begin(), index.end());
    divergence.expected = whole.getDouble(found.at);
    divergence.actual = actual.getDouble(found.at);
  }
  divergence.difference = worst;
  divergence.copiesDiffer = relative <= tolerance;
  check.first = divergence;
  firstWhen = when;
}
