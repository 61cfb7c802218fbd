//===- FactorSharding.cpp - Shardings of dims as shardings of factors -----===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Partition/FactorSharding.h"
#include "dialects/Dist/IR/AxisParts.h"

using namespace mlir;
using namespace mlir::dist;

bool mlir::dist::isPrefix(ArrayRef<StringAttr> a, ArrayRef<StringAttr> b) {
  return a.size() <= b.size() && b.take_front(a.size()) == a;
}

bool mlir::dist::isSplittable(const Factor &factor) {
  return factor.kind == FactorKind::PassThrough ||
         factor.kind == FactorKind::Reduction;
}

bool mlir::dist::canSplit(const ShardingRule &rule, unsigned factor,
                          int64_t parts) {
  int64_t size = rule.factors[factor].size;
  if (size % parts == 0)
    return true;
  auto standsAlone = [&](const TensorFactors &tensor) {
    return llvm::all_of(tensor, [&](const DimFactors &dim) {
      return dim.size() == 1 || !llvm::is_contained(dim, factor);
    });
  };
  return isSplitWorthwhile(size, parts) &&
         llvm::all_of(rule.operands, standsAlone) &&
         llvm::all_of(rule.results, standsAlone);
}

AxisLists mlir::dist::getDimAxes(ShardingAttr sharding) {
  AxisLists dims;
  for (DimShardingAttr dim : sharding.getDims())
    dims.emplace_back(dim.getAxes());
  return dims;
}

bool mlir::dist::splitsAlike(ArrayRef<AxisList> a, ArrayRef<AxisList> b,
                             MeshOp mesh) {
  auto splitting = [&](const AxisList &axes) {
    AxisList list(axes);
    llvm::erase_if(
        list, [&](StringAttr axis) { return mesh.getAxisSize(axis) == 1; });
    return list;
  };
  return llvm::all_of_zip(a, b, [&](const AxisList &x, const AxisList &y) {
    return splitting(x) == splitting(y);
  });
}

bool mlir::dist::projectToFactors(ArrayRef<AxisList> dims,
                                  const TensorFactors &tensor,
                                  const ShardingRule &rule, MeshOp mesh,
                                  AxisLists &factors) {
  bool complete = true;
  for (auto [axes, dimFactors] : llvm::zip(dims, tensor)) {
    if (axes.empty())
      continue;
    unsigned next = 0;
    int64_t parts = 1;
    for (StringAttr axis : axes) {
      int64_t size = mesh.getAxisSize(axis);
      // An axis of one rank splits nothing, and could stand anywhere; one that
      // the mesh has not is another mesh's, of microbatches.
      if (size <= 1)
        continue;
      // A factor that is used up passes on to the next, minor one.
      while (next + 1 < dimFactors.size() &&
             parts == rule.factors[dimFactors[next]].size) {
        ++next;
        parts = 1;
      }
      if (dimFactors.empty() ||
          !canSplit(rule, dimFactors[next], parts * size)) {
        complete = false;
        break;
      }
      parts *= size;
      factors[dimFactors[next]].push_back(axis);
    }
  }
  return complete;
}

std::optional<std::string>
mlir::dist::findPartToCut(ArrayRef<AxisList> dims, const TensorFactors &tensor,
                          const ShardingRule &rule, MeshOp mesh,
                          llvm::function_ref<bool(StringAttr)> mayCut) {
  for (auto [axes, factors] : llvm::zip(dims, tensor)) {
    unsigned next = 0;
    int64_t parts = 1;
    for (StringAttr axis : axes) {
      int64_t size = mesh.getAxisSize(axis);
      if (size <= 1)
        continue;
      while (next + 1 < factors.size() &&
             parts == rule.factors[factors[next]].size) {
        ++next;
        parts = 1;
      }
      if (next + 1 >= factors.size())
        break;
      int64_t left = rule.factors[factors[next]].size / parts;
      if (rule.factors[factors[next]].size % (parts * size) == 0) {
        parts *= size;
        continue;
      }
      if (left > 1 && size % left == 0 && mayCut(axis) &&
          rule.factors[factors[next]].size % parts == 0 &&
          rule.factors[factors[next + 1]].size % (size / left) == 0 &&
          isSplittable(rule.factors[factors[next]]) &&
          isSplittable(rule.factors[factors[next + 1]])) {
        auto known = AxisPart::parse(axis);
        AxisPart part{getWholeAxis(axis).str(), known ? known->before : 1,
                      left};
        return part.getName();
      }
      break;
    }
  }
  return std::nullopt;
}

AxisList mlir::dist::projectToDim(const DimFactors &dim,
                                  const AxisLists &factors,
                                  const ShardingRule &rule, MeshOp mesh) {
  AxisList axes;
  for (unsigned factor : dim) {
    llvm::append_range(axes, factors[factor]);
    if (mesh.getGroupSize(factors[factor]) != rule.factors[factor].size)
      break;
  }
  return axes;
}

AxisLists mlir::dist::projectToDims(const TensorFactors &tensor,
                                    const AxisLists &factors,
                                    const ShardingRule &rule, MeshOp mesh) {
  AxisLists dims;
  for (const DimFactors &dim : tensor)
    dims.push_back(projectToDim(dim, factors, rule, mesh));
  return dims;
}

AxisLists mlir::dist::getFactorAxes(Operation *op, const ShardingRule &rule,
                                    MeshOp mesh) {
  AxisLists axes(rule.factors.size());
  auto add = [&](Value value, const TensorFactors &tensor) {
    ShardingAttr sharding = findSharding(value);
    if (!sharding)
      return;
    AxisLists own(rule.factors.size());
    projectToFactors(getDimAxes(sharding), tensor, rule, mesh, own);
    for (auto [all, mine] : llvm::zip(axes, own))
      if (mine.size() > all.size())
        all = mine;
  };
  for (auto [value, tensor] : llvm::zip(op->getOperands(), rule.operands))
    add(value, tensor);
  for (auto [value, tensor] : llvm::zip(op->getResults(), rule.results))
    add(value, tensor);
  return axes;
}
