//===- StableHloControl.cpp - Calls, branches and loops of StableHLO ------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/StableHloImporter.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// Functions that call each other deeper than any that a tracer wrote.
static constexpr unsigned kMaxDepth = 200;
/// Rounds of all loops together, each of which becomes ops of its own.
static constexpr unsigned kMaxRounds = 10000;
/// What examples/export/jax_to_mlir.py writes for what only a derivative sees.
static constexpr StringLiteral kStopGradient = "dist.stop_gradient";

StableHloImporter::Results StableHloImporter::importCallee(StringRef name) {
  auto callee = symbols.lookup<func::FuncOp>(name);
  if (!callee || callee.isExternal())
    return refuse("the file has no function '" + name + "'");
  if (!callee.getBody().hasOneBlock() ||
      callee.getNumArguments() != current->getNumOperands())
    return refuse("function '" + name + "' does not take what it is given");
  if (depth == kMaxDepth)
    return refuse("function '" + name + "' calls itself");
  ++depth;
  FailureOr<Results> results = importBlock(callee.front(), operands());
  --depth;
  return failed(results) ? Results() : *results;
}

StableHloImporter::Results StableHloImporter::importCall(Operation *op) {
  return importCallee(cast<func::CallOp>(op).getCallee());
}

/// What it is composed of stands in a function.
StableHloImporter::Results StableHloImporter::importComposite(Operation *op) {
  auto callee = op->getAttrOfType<FlatSymbolRefAttr>("decomposition");
  if (!callee)
    return refuse("it has no 'decomposition'");
  return importCallee(callee.getValue());
}

/// Written out: the number of rounds must not depend on an input.
StableHloImporter::Results StableHloImporter::importWhile(Operation *op) {
  if (op->getNumRegions() != 2 || !op->getRegion(0).hasOneBlock() ||
      !op->getRegion(1).hasOneBlock())
    return refuse("it has no condition and body");
  for (Region &region : op->getRegions())
    if (region.getNumArguments() != op->getNumOperands())
      return refuse("its regions do not take what it is given");
  Results state = operands();
  while (true) {
    FailureOr<Results> condition = importBlock(op->getRegion(0).front(), state);
    if (failed(condition))
      return {};
    current = op;
    loc = op->getLoc();
    if (condition->size() != 1)
      return refuse("its condition is not one value");
    std::optional<int64_t> goesOn = findNumber(condition->front());
    if (!goesOn)
      return refuse("its number of rounds depends on the model's inputs",
                    "give it a number that is known when it is traced, as "
                    "jax.lax.scan and fori_loop with numbers have it");
    if (*goesOn == 0)
      return state;
    if (++rounds > kMaxRounds)
      return refuse("loops have more than " + llvm::Twine(kMaxRounds) +
                        " rounds together, each of which is written out",
                    "export shorter sequences");
    FailureOr<Results> next = importBlock(op->getRegion(1).front(), state);
    if (failed(next))
      return {};
    current = op;
    loc = op->getLoc();
    if (next->size() != state.size())
      return refuse("its body does not give what it takes");
    state = std::move(*next);
  }
}

/// Of a number that is known, one branch; else all, of whose results one is
/// selected, which is as good for ops that only compute.
StableHloImporter::Results StableHloImporter::importCase(Operation *op) {
  Value which = operand(0);
  unsigned count = op->getNumRegions();
  bool isIf = op->getName().getStringRef() == "stablehlo.if";
  if (op->getNumOperands() != 1 || count == 0 || (isIf && count != 2) ||
      llvm::any_of(op->getRegions(), [](Region &region) {
        return !region.hasOneBlock() || region.getNumArguments() != 0;
      }))
    return refuse("its branches cannot be read");
  // The first region of an `if` is that of true; what is no branch's number is
  // the last one's.
  auto importBranch = [&](unsigned i) -> Results {
    FailureOr<Results> results = importBlock(op->getRegion(i).front(), {});
    current = op;
    loc = op->getLoc();
    if (failed(results))
      return {};
    if (results->size() != op->getNumResults())
      return refuse("its branches do not give its results");
    return *results;
  };
  if (std::optional<int64_t> number = findNumber(which)) {
    if (isIf)
      return importBranch(*number != 0 ? 0 : 1);
    return importBranch(*number >= 0 && *number < count ? *number : count - 1);
  }
  Results results = importBranch(count - 1);
  for (unsigned i = 0; i + 1 < count && !results.empty(); ++i) {
    Results branch = importBranch(i);
    if (branch.empty())
      return {};
    Value chosen = isIf ? which
                        : compare(ComparePredicate::EQ, which,
                                  intScalar(i, elementOf(which)));
    for (auto [result, other] : llvm::zip_equal(results, branch))
      result = select(chosen, other, result);
  }
  return results;
}

StableHloImporter::Results StableHloImporter::importCustomCall(Operation *op) {
  auto target = op->getAttrOfType<StringAttr>("call_target_name");
  StringRef name = target ? target.getValue() : StringRef();
  // Says where a tensor lies, not what it is.
  if (name == "Sharding" && op->getNumOperands() == op->getNumResults())
    return operands();
  if (name == kStopGradient && op->getNumOperands() == 1)
    return one(unary<StopGradientOp>(operand(0)));
  return refuse("its target '" + name +
                    "' is a function of the library that "
                    "runs the program",
                "write the function with ops of StableHLO");
}

void StableHloImporter::addControl(Table &table) {
  using I = StableHloImporter;
  static const Row rows[] = {
      {"func.call", &I::importCall, 0, 0},
      {"stablehlo.composite", &I::importComposite, 0, 0},
      {"stablehlo.while", &I::importWhile, 0, 0},
      {"stablehlo.case", &I::importCase, 1, 0},
      {"stablehlo.if", &I::importCase, 1, 0},
      {"stablehlo.custom_call", &I::importCustomCall, 0, 0},
  };
  addRows(table, rows);
}
