//===- RandomInputs.cpp - Arguments to try a function with -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/RandomInputs.h"
#include "dialects/Dist/IR/PulledRows.h"
#include "dialects/Graph/IR/Graph.h"
#include "passes/Analysis/IndexUses.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <limits>

using namespace mlir;
using namespace mlir::dist;

namespace {
/// SplitMix64: the same numbers on every machine, unlike std's distributions.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  double uniform(double low, double high) {
    return low + (high - low) * (next() >> 11) * 0x1.0p-53;
  }

private:
  uint64_t state;
};
} // namespace

/// Whether the numbers become floats somewhere behind ops that only move them.
static bool becomesFloat(Value value) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> work = {value};
  while (!work.empty()) {
    for (Operation *op : work.pop_back_val().getUsers()) {
      if (op->getNumOperands() != 1 || op->getNumResults() != 1 ||
          !seen.insert(op).second)
        continue;
      if (isa<FloatType>(getElementTypeOrSelf(op->getResult(0))))
        return true;
      work.push_back(op->getResult(0));
    }
  }
  return false;
}

std::optional<int64_t> mlir::dist::findIntegerRange(Value value) {
  int64_t range = std::numeric_limits<int64_t>::max();
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> work = {value};
  while (!work.empty()) {
    Value current = work.pop_back_val();
    for (OpOperand &use : current.getUses()) {
      Operation *op = use.getOwner();
      if (std::optional<IndexUse> index = findIndexUse(use)) {
        for (int64_t count : index->counts)
          range = std::min(range, count);
      } else if (op->getNumOperands() == 1 && op->getNumResults() == 1 &&
                 seen.insert(op).second &&
                 (isa<graph::ConvertOp>(op) || keepsElements(op))) {
        work.push_back(op->getResult(0));
      }
    }
  }
  if (range == std::numeric_limits<int64_t>::max())
    return std::nullopt;
  return std::max<int64_t>(range, 1);
}

/// Numbers of all sizes that `bits` bits hold, small and large ones alike, of
/// both signs where the type has them: 0 and 1 alone would hide what wraps,
/// truncates or takes a sign for a size.
static void fillWide(HostTensor &tensor, Random &random, unsigned bits) {
  bool isSigned = !tensor.isUnsigned();
  for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i) {
    uint64_t size = random.next() % (bits + !isSigned);
    uint64_t mask = size >= 64 ? ~uint64_t(0) : (uint64_t(1) << size) - 1;
    uint64_t number = random.next() & mask;
    bool negative = isSigned && (random.next() & 1);
    tensor.setInt(i, int64_t(negative ? 0 - number : number));
  }
}

static void fill(HostTensor &tensor, Random &random, double low, double high,
                 int64_t range) {
  for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i) {
    if (tensor.isFloat())
      tensor.setDouble(i, random.uniform(low, high));
    else
      tensor.setInt(i, int64_t(random.next() % uint64_t(range)));
  }
}

/// The initial value of a variable; metrics, sums, optimizer slots and what is
/// left of compressed gradients get random ones below: zeros would hide a sum
/// that is counted twice, or never, or a slot's wrong shard. And a slot of
/// zeros makes of a gradient that is zero but for rounding (of a bias of keys)
/// a value of that rounding's sign (Lion), or 1 / epsilon times its size
/// (LAMB).
static std::optional<HostTensor> getInitialValue(func::FuncOp function,
                                                 FlatSymbolRefAttr name) {
  auto variable =
      SymbolTable::lookupNearestSymbolFrom<graph::VariableOp>(function, name);
  if (!variable || variable.getGroup() == "metric" ||
      variable.getGroup() == "accumulator" || variable.getGroup() == "slot" ||
      variable.getGroup() == "compression")
    return std::nullopt;
  // Nor are a table's rows zeros, once they were pulled.
  if (variable.getGroup() == kPulledGroup &&
      isa<FloatType>(variable.getType().getElementType()))
    return std::nullopt;
  auto value = HostTensor::fromAttribute(variable.getInitial());
  if (failed(value))
    return std::nullopt;
  return *value;
}

SmallVector<HostTensor> mlir::dist::makeRandomArguments(func::FuncOp function,
                                                        uint64_t seed,
                                                        MeshOp mesh) {
  SmallVector<HostTensor> arguments;
  int64_t count = -1;
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto type = cast<RankedTensorType>(argument.getType());
    if (ShardingAttr sharding = mesh ? findSharding(argument) : nullptr)
      type = getGlobalType(type, sharding, mesh);
    // Each argument has its own stream: adding one does not change the others.
    Random random(seed * 1000003 + number);
    auto role = function.getArgAttrOfType<StringAttr>(number, kRoleAttr);
    StringRef roleName = role ? role.getValue() : "";
    HostTensor tensor(type);
    if (roleName == "mask") {
      int64_t rows = tensor.getNumElements();
      count = rows > 1 ? rows - (rows + 3) / 4 : rows;
      for (int64_t i = 0; i < count; ++i)
        tensor.setInt(i, 1);
    } else if (roleName == "variable") {
      auto name =
          function.getArgAttrOfType<FlatSymbolRefAttr>(number, kVariableAttr);
      auto initial = name ? getInitialValue(function, name) : std::nullopt;
      if (initial && initial->getType() == type)
        tensor = *initial;
      else
        fill(tensor, random, 0, 1, 2);
    } else {
      auto integer = dyn_cast<IntegerType>(type.getElementType());
      auto range = integer ? findIntegerRange(argument) : std::nullopt;
      if (integer && !range)
        // As floats they are multiplied and exponentiated like any others.
        fillWide(
            tensor, random,
            std::min(integer.getWidth(), becomesFloat(argument) ? 8u : 64u));
      else
        fill(tensor, random, roleName == "label" ? 0 : -1, 1,
             range.value_or(1));
      if (auto ignored =
              function.getArgAttrOfType<IntegerAttr>(number, kIgnoredLabelAttr))
        for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i)
          if (random.next() % 4 == 0)
            tensor.setInt(i, ignored.getInt());
    }
    arguments.push_back(tensor);
  }
  for (unsigned i = 0; i < arguments.size(); ++i)
    if (auto role = function.getArgAttrOfType<StringAttr>(i, kRoleAttr))
      if (role.getValue() == "count" && arguments[i].getNumElements() == 1)
        arguments[i].setDouble(0, count < 0 ? 1 : count);
  return arguments;
}
