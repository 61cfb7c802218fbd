//===- TensorSplit.cpp - Variables split by rule or by pattern -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/AxisParts.h"
#include "passes/Analysis/ExplainUnits.h"
#include "passes/Strategy/Passes.h"
#include "passes/Strategy/SplitByCost.h"
#include "passes/Strategy/SplitDims.h"
#include "passes/Strategy/SplitPatterns.h"
#include "passes/Strategy/SplitRule.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Regex.h"

namespace mlir::dist {
#define GEN_PASS_DEF_TENSORSPLITPASS
#include "passes/Strategy/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
struct TensorSplitPass
    : mlir::dist::impl::TensorSplitPassBase<TensorSplitPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  LogicalResult applyRule(const SplitRule &rule);
  LogicalResult applyPresets();
  LogicalResult splitHeads(func::FuncOp entry, StringRef preset,
                           PatternDims &found);
  LogicalResult applyModel();
  LogicalResult splitSingly(func::FuncOp entry, int64_t parts, bool &found);
  LogicalResult split(graph::VariableOp variable, unsigned dim, StringRef over,
                      const Twine &rule, int64_t priority = 0);

  MeshOp mesh;
  std::optional<VariableTable> table;
  /// What was split, slots left out.
  SplitDims splits;
};
} // namespace

/// The variable and its slots.
LogicalResult TensorSplitPass::split(graph::VariableOp variable, unsigned dim,
                                     StringRef over, const Twine &rule,
                                     int64_t priority) {
  auto type = cast<RankedTensorType>(variable.getType());
  unsigned known = dim - hasReplicaRows(variable);
  ShardingAttr sharding = getVariableSharding(variable);
  SmallVector<StringAttr> axes(sharding.getAxes(dim));
  SmallVector<StringAttr> added = findAxes(mesh, over);
  if (llvm::any_of(added,
                   [&](StringAttr axis) { return sharding.splitsOver(axis); }))
    return variable.emitError()
           << rule << ": '" << variable.getSymName() << "' is split over '"
           << over << "' already; split each variable over an axis once";
  if (llvm::any_of(added, [&](StringAttr axis) {
        return llvm::is_contained(sharding.getReplicated(), axis);
      }))
    return variable.emitError()
           << rule << ": '" << variable.getSymName() << "' is the same on all "
           << "ranks along '" << over
           << "', over which the batch is split; split it over another axis, "
              "or "
              "use zero:stage=3";
  if (!axes.empty() && sharding.getPriority(dim) != priority)
    return variable.emitError()
           << rule << ": dim " << known << " of '" << variable.getSymName()
           << "' has priority " << sharding.getPriority(dim)
           << " from a rule before; give both the same";
  axes.append(added);
  int64_t parts = mesh.getGroupSize(axes), size = type.getDimSize(dim);
  if (!isSplitAllowed(size, parts, strictDivisibility))
    return variable.emitError()
           << rule << ": dim " << known << " of '" << variable.getSymName()
           << "' "
           << describeMisfit(size, parts, formatAxes(axes), strictDivisibility);
  auto set = [&](graph::VariableOp one) {
    ShardingAttr own = getVariableSharding(one);
    SmallVector<StringAttr> ownAxes(own.getAxes(dim));
    ownAxes.append(added);
    table->setSharding(one, own.withDim(dim, ownAxes, priority));
    for (StringAttr axis : added)
      addReason(one, axis,
                rule + " splits dim " + Twine(known) + " over '" + over + "'");
  };
  set(variable);
  splits[variable].push_back(dim);
  for (graph::VariableOp slot : table->getSlots(variable))
    if (slot.getType() == type)
      set(slot);
  return success();
}

/// "the nearest are 'a' and 'b'; ": names in which the expression matches a
/// part, or else of the fewest changes.
static std::string describeNearest(ModuleOp module, StringRef pattern) {
  llvm::Regex part(pattern);
  // The distance, and where in the module.
  SmallVector<std::tuple<unsigned, size_t, StringRef>> names;
  for (auto variable : module.getOps<graph::VariableOp>())
    if (!variable.getSlotOfAttr() && variable.getGroup() == "parameter") {
      StringRef name = variable.getSymName();
      names.push_back({part.match(name) ? 0 : 1 + name.edit_distance(pattern),
                       names.size(), name});
    }
  llvm::sort(names);
  constexpr size_t most = 3;
  if (names.size() > most)
    names.truncate(most);
  std::string text;
  for (const auto &[distance, place, name] : names)
    text += (text.empty() ? "the nearest: '" : ", '") + name.str() + "'";
  return text.empty() ? text : text + "; ";
}

LogicalResult TensorSplitPass::applyRule(const SplitRule &rule) {
  ModuleOp module = getOperation();
  StringRef where = rule.text;
  unsigned dim = rule.dim;
  if (findAxes(mesh, rule.axis).empty()) {
    // Of a part, it is the axis that is missing: parts are made.
    auto part = AxisPart::parse(rule.axis);
    InFlightDiagnostic error = module.emitError()
                               << where << ": the mesh has no axis '"
                               << (part ? part->axis : rule.axis) << "'";
    llvm::SetVector<StringRef> known;
    for (auto own : mesh.getAxisNames().getAsRange<StringAttr>())
      known.insert(getWholeAxis(own));
    for (auto [i, name] : llvm::enumerate(known))
      error << (i == 0 ? "; it has '" : ", '") << name << "'";
    return error;
  }
  llvm::Regex regex(rule.pattern);
  SmallVector<graph::VariableOp> tooFew;
  unsigned matched = 0;
  for (auto variable : module.getOps<graph::VariableOp>()) {
    if (variable.getSlotOfAttr() || !regex.match(variable.getSymName()))
      continue;
    unsigned own = dim + hasReplicaRows(variable);
    // A bias that a rule for its weight matches follows the weight.
    if (cast<RankedTensorType>(variable.getType()).getRank() <= own) {
      tooFew.push_back(variable);
      continue;
    }
    ++matched;
    if (failed(split(variable, own, rule.axis, where, rule.priority)))
      return failure();
  }
  if (matched)
    return success();
  if (!tooFew.empty()) {
    auto type = cast<RankedTensorType>(tooFew.front().getType());
    return tooFew.front().emitError()
           << where << ": '" << tooFew.front().getSymName() << "' of "
           << type.clone(
                  type.getShape().drop_front(hasReplicaRows(tooFew.front())))
           << " has no dim " << dim;
  }
  return module.emitError()
         << where << ": matches no variable: the regular expression has to "
         << "match the whole name; " << describeNearest(module, rule.name)
         << "'dist-run info' lists all of them";
}

/// Heads that the axis does not divide are split over a part of it, the largest
/// that they divide by: the ranks of the rest compute the same. (Padding would
/// stand between the heads of a weight's dim.) Of attention that stays
/// whole the user is told: every rank computes it all.
LogicalResult TensorSplitPass::splitHeads(func::FuncOp entry, StringRef preset,
                                          PatternDims &found) {
  int64_t ranks = mesh.getGroupSize(findAxes(mesh, axis));
  AxisPart part = AxisPart::parse(axis).value_or(AxisPart{axis, 1, ranks});
  for (int64_t parts = ranks / 2; parts > 1; --parts) {
    if (ranks % parts)
      continue;
    size_t before = found.size();
    findAttentionSplits(entry, *table, parts, preset, found);
    if (found.size() == before)
      continue;
    part.size = parts;
    std::string over = part.getName();
    if (failed(refineMesh(getOperation(), {over}, [&] {
          return getOperation().emitError() << "--split-preset: ";
        })))
      return failure();
    for (auto &[variable, dim] : llvm::drop_begin(found.getArrayRef(), before))
      if (failed(split(variable, dim, over,
                       "--split-preset " + preset +
                           " (heads do not divide by " + Twine(ranks) + ")")))
        return failure();
  }
  PatternDims all;
  findAttentionSplits(entry, *table, /*parts=*/1, preset, all);
  for (auto &[variable, dim] : all)
    if (!found.contains(variable)) {
      variable.emitWarning()
          << "--split-preset " << preset << ": attention stays whole on each "
          << "of the " << ranks << " ranks of '" << axis
          << "': no part of the axis divides its heads, or a weight of it is "
             "split with another layer; --split rules say how to split it";
      break;
    }
  return success();
}

/// Where no pattern fits: variables each by itself, whose cost is named.
LogicalResult TensorSplitPass::splitSingly(func::FuncOp entry, int64_t parts,
                                           bool &found) {
  SmallVector<SingleSplit> splits =
      findSingleSplits(entry, *table, parts, /*mayPad=*/false);
  if (splits.empty() && !strictDivisibility)
    splits = findSingleSplits(entry, *table, parts, /*mayPad=*/true);
  found = !splits.empty();
  for (SingleSplit &one : splits) {
    std::string cost = "keeps " + formatBytes(one.saved) +
                       " less on each rank and sends some " +
                       formatBytes(one.sent) + " a step";
    if (!one.isWorthwhile())
      one.variable.emitWarning()
          << "--split-preset auto: no pattern of layers fits, and no variable "
             "keeps more bytes off a rank than its split sends; '"
          << one.variable.getSymName() << "' along dim " << one.dim
          << " comes nearest: it " << cost;
    if (failed(split(one.variable, one.dim, axis,
                     "--split-preset auto (by itself: it " + cost + ")")))
      return failure();
  }
  return success();
}

LogicalResult TensorSplitPass::applyPresets() {
  ModuleOp module = getOperation();
  func::FuncOp entry = findEntry(module);
  if (!entry)
    return module.emitError() << "dist-tensor-split: the module has no entry "
                                 "to look for patterns in";
  int64_t parts = mesh.getGroupSize(findAxes(mesh, axis));
  auto refuse = [&](StringRef one) -> LogicalResult {
    return module.emitError()
           << "--split-preset " << one
           << ": nothing in the model fits: no variable can be split over '"
           << axis << "' (" << parts << " ranks)"
           << (one == "auto" ? "" : " so that what follows computes on parts")
           << "; give --split 'REGEX=DIM:AXIS' rules, or choose another "
              "strategy";
  };
  PatternDims found;
  bool noPairs = false;
  for (StringRef one : llvm::split(preset, ',')) {
    size_t before = found.size();
    // What divides comes first; what would be padded only where nothing does,
    // and where nothing may be padded, to tell which sizes would do.
    findSplits(entry, *table, parts, /*mayPad=*/false, one, found);
    if (found.size() == before)
      findSplits(entry, *table, parts, /*mayPad=*/true, one, found);
    for (auto &[variable, dim] : llvm::drop_begin(found.getArrayRef(), before))
      if (failed(split(variable, dim, axis, "--split-preset " + one)))
        return failure();
    if (!wholeAxes && failed(splitHeads(entry, one, found)))
      return failure();
    if (found.size() > before)
      continue;
    if (one != "auto")
      return refuse(one);
    noPairs = true;
  }
  // Last: what the other presets name goes before.
  bool any = !noPairs || !found.empty();
  if (!any && failed(splitSingly(entry, parts, any)))
    return failure();
  return any ? success() : refuse("auto");
}

/// What the model file itself says of a variable: how many shards a dim has.
static ArrayRef<int64_t> getShards(graph::VariableOp variable) {
  auto shards = variable->getAttrOfType<DenseI64ArrayAttr>("graph.shards");
  return shards ? shards.asArrayRef() : ArrayRef<int64_t>();
}

LogicalResult TensorSplitPass::applyModel() {
  int64_t ranks = mesh.getGroupSize(findAxes(mesh, axis));
  for (auto variable : getOperation().getOps<graph::VariableOp>())
    for (auto [dim, count] : llvm::enumerate(getShards(variable))) {
      if (count == 1)
        continue;
      if (count != ranks)
        return variable.emitError()
               << "the model file splits dim " << dim << " of '"
               << variable.getSymName() << "' into " << count
               << " shards, but '" << axis << "' has " << ranks
               << " ranks; choose --devices and --mesh to fit, or give --split "
                  "rules or a --split-preset";
      if (failed(split(variable, dim + hasReplicaRows(variable), axis,
                       "the model file's sharding")))
        return failure();
    }
  return success();
}

void TensorSplitPass::runOnOperation() {
  ModuleOp module = getOperation();
  auto found = getMesh(module, "dist-tensor-split");
  if (failed(found))
    return signalPassFailure();
  mesh = *found;
  // First of all: what follows finds the mesh as fine as the rules need it.
  SmallVector<SplitRule> parsed;
  SmallVector<std::string> named;
  for (const std::string &text : rules) {
    auto rule = SplitRule::parse(text, [&] { return module.emitError(); });
    if (failed(rule))
      return signalPassFailure();
    named.push_back(rule->axis);
    parsed.push_back(std::move(*rule));
  }
  bool hasParts = llvm::any_of(
      named, [](const std::string &name) { return AxisPart::parse(name); });
  if (hasParts && failed(refineMesh(module, named, [&] {
        return module.emitError() << "--split: ";
      })))
    return signalPassFailure();
  auto axes = getAxes(mesh, {axis}, "dist-tensor-split");
  if (failed(axes))
    return signalPassFailure();
  bool asInModel =
      rules.empty() && preset == "auto" &&
      llvm::any_of(module.getOps<graph::VariableOp>(), [](auto variable) {
        return llvm::any_of(getShards(variable),
                            [](int64_t count) { return count != 1; });
      });
  llvm::SetVector<StringAttr> used(axes->begin(), axes->end());
  for (const SplitRule &rule : parsed)
    used.insert_range(findAxes(mesh, rule.axis));
  for (StringAttr one : used)
    addReason(mesh, one,
              asInModel       ? "the model file splits variables"
              : rules.empty() ? "--split-preset " + preset + " splits variables"
                              : "--split rules split variables");
  if (!isAnnotated(module) && failed(annotate(module, mesh, {})))
    return signalPassFailure();
  table.emplace(module);
  splits.clear();
  if (rules.empty()) {
    if (failed(asInModel ? applyModel() : applyPresets()))
      return signalPassFailure();
  }
  for (const SplitRule &rule : parsed)
    if (failed(applyRule(rule)))
      return signalPassFailure();
  table->update();
  if (failed(takeInParts(module, *table, splits)))
    signalPassFailure();
}
