//===- OpCheckerSharding.cpp - Each split against the whole op -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "OpChecker.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

/// A part of a tensor: `counts[d]` elements from `starts[d]` of each dim.
static HostTensor cut(const HostTensor &tensor, ArrayRef<int64_t> starts,
                      ArrayRef<int64_t> counts) {
  HostTensor part(tensor.getType().clone(counts));
  int64_t i = 0;
  forEachIndex(counts, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> source(index);
    for (size_t d = 0; d < source.size(); ++d)
      source[d] += starts[d];
    int64_t from = tensor.linearize(source);
    if (part.isFloat())
      part.setDouble(i++, tensor.getDouble(from));
    else
      part.setInt(i++, tensor.getInt(from));
  });
  return part;
}

/// How one factor's split cuts the tensor dims that have it.
struct test::Split {
  unsigned factor;
  int64_t parts;

  std::optional<unsigned> findDim(const TensorFactors &dims) const {
    for (unsigned d = 0; d < dims.size(); ++d)
      if (llvm::is_contained(dims[d], factor))
        return d;
    return std::nullopt;
  }
  RankedTensorType localType(RankedTensorType type,
                             const TensorFactors &dims) const {
    SmallVector<int64_t> shape(type.getShape());
    if (std::optional<unsigned> d = findDim(dims))
      shape[*d] /= parts;
    return type.clone(shape);
  }
  HostTensor part(const HostTensor &tensor, const TensorFactors &dims,
                  int64_t number) const {
    SmallVector<int64_t> starts(tensor.getShape().size(), 0);
    RankedTensorType type = localType(tensor.getType(), dims);
    if (std::optional<unsigned> d = findDim(dims))
      starts[*d] = number * type.getDimSize(*d);
    return cut(tensor, starts, type.getShape());
  }
};

LogicalResult OpChecker::checkSizes(const ShardingRule &rule) {
  auto check = [&](ArrayRef<TensorFactors> rows, TypeRange types,
                   StringRef what) -> LogicalResult {
    if (rows.size() != types.size())
      return op->emitError("rule has ") << rows.size() << " rows for "
                                        << types.size() << " " << what << "s";
    for (auto [i, row] : llvm::enumerate(rows)) {
      auto type = mlir::cast<RankedTensorType>(types[i]);
      if (int64_t(row.size()) != type.getRank())
        return op->emitError("rule of ") << what << " " << i << " has "
                                         << row.size() << " dims for " << type;
      for (auto [d, factors] : llvm::enumerate(row)) {
        int64_t size = 1;
        for (unsigned factor : factors)
          size *= rule.factors[factor].size;
        if (!factors.empty() && size != type.getDimSize(d))
          return op->emitError("factors of ")
                 << what << " " << i << " dim " << d << " multiply to " << size
                 << ", not " << type.getDimSize(d);
      }
    }
    return success();
  };
  if (failed(check(rule.operands, op->getOperandTypes(), "operand")))
    return failure();
  return check(rule.results, op->getResultTypes(), "result");
}

LogicalResult OpChecker::checkSharding() {
  ShardingRule rule = mlir::cast<ShardingRuleOpInterface>(op).getShardingRule();
  if (failed(checkSizes(rule)))
    return failure();
  for (unsigned f = 0; f < rule.factors.size(); ++f) {
    FactorKind kind = rule.factors[f].kind;
    if (kind != FactorKind::PassThrough && kind != FactorKind::Reduction)
      continue;
    // A factor below another one in a dim is split only together with it.
    bool isMajor = true;
    for (const auto &rows : {rule.operands, rule.results})
      for (const TensorFactors &row : rows)
        for (const DimFactors &dim : row)
          for (unsigned other : dim) {
            if (other == f)
              break;
            isMajor &=
                !llvm::is_contained(dim, f) || rule.factors[other].size == 1;
          }
    bool isSplit = false;
    for (int64_t parts : {2, 3, 4}) {
      if (!isMajor || rule.factors[f].size % parts != 0)
        continue;
      isSplit = true;
      if (failed(checkSplit(rule, Split{f, parts})))
        return failure();
    }
    numFactors += isSplit;
  }
  return success();
}

LogicalResult OpChecker::checkSplit(const ShardingRule &rule,
                                    const Split &split) {
  SmallVector<int64_t> shards(rule.factors.size(), 1);
  shards[split.factor] = split.parts;
  SmallVector<Type> localTypes;
  for (auto [result, row] : llvm::zip(op->getResults(), rule.results))
    localTypes.push_back(split.localType(typeOf(result), row));
  SmallVector<Tensors> parts;
  for (int64_t number = 0; number < split.parts; ++number) {
    Scratch scratch(op->getLoc());
    Tensors local;
    for (auto [operand, row] : llvm::zip(operands, rule.operands))
      local.push_back(split.part(operand, row, number));
    SmallVector<Value> values = buildOperands(scratch, local);
    FailureOr<Operation *> shard =
        mlir::cast<ShardingRuleOpInterface>(op).partition(
            scratch.getBuilder(), values, localTypes, shards);
    if (failed(shard))
      return op->emitError("partition failed for factor ") << split.factor;
    if ((*shard)->getResultTypes() != TypeRange(localTypes))
      return op->emitError("partition by factor ")
             << split.factor << " gives other result types than asked";
    if (failed(scratch.run()))
      return failure();
    Tensors results;
    for (Value result : (*shard)->getResults())
      results.push_back(scratch.get(result));
    parts.push_back(results);
  }
  const Factor &factor = rule.factors[split.factor];
  for (unsigned r = 0; r < op->getNumResults(); ++r) {
    HostTensor joined;
    if (std::optional<unsigned> dim = split.findDim(rule.results[r])) {
      joined = HostTensor(typeOf(op->getResult(r)));
      int64_t i = 0, size = joined.getShape()[*dim] / split.parts;
      forEachIndex(joined.getShape(), [&](ArrayRef<int64_t> index) {
        SmallVector<int64_t> local(index);
        const HostTensor &part = parts[index[*dim] / size][r];
        local[*dim] %= size;
        joined.setDouble(i++, part.getDouble(part.linearize(local)));
      });
    } else {
      joined = parts[0][r];
      for (int64_t number = 1; number < split.parts; ++number) {
        const HostTensor &part = parts[number][r];
        if (factor.kind == FactorKind::PassThrough) {
          if (findDifference(part, joined))
            return op->emitError("result ")
                   << r << " lacks pass-through factor " << split.factor
                   << ", but its parts differ";
          continue;
        }
        for (int64_t i = 0, e = joined.getNumElements(); i < e; ++i)
          joined.setDouble(i, combine(factor.reduction, joined.getDouble(i),
                                      part.getDouble(i)));
      }
    }
    if (auto difference = findDifference(joined, whole[r]))
      return op->emitError("split of factor ")
             << split.factor << " into " << split.parts << " changes result "
             << r << ": " << *difference;
  }
  return success();
}
