//===- ApplyOptimizer.cpp - Gradients as updates of variables -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Graph/Entry.h"
#include "passes/Graph/LossScale.h"
#include "passes/Graph/Optimizers.h"
#include "passes/Graph/Passes.h"
#include "passes/Graph/Schedules.h"

namespace mlir::dist {
#define GEN_PASS_DEF_APPLYOPTIMIZERPASS
#include "passes/Graph/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
struct Gradient {
  /// Null: of an input.
  VariableOp variable;
  Value value;
  Port port;
};

struct ApplyOptimizerPass
    : dist::impl::ApplyOptimizerPassBase<ApplyOptimizerPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  LogicalResult parseOptions();
  LogicalResult verifyResults(func::FuncOp entry);
  FailureOr<SmallVector<Gradient>> takeGradients(func::FuncOp entry);
  VariableOp getIteration();
  VariableOp getRateVariable();
  VariableOp getAccumulator(VariableOp variable);
  Value addLearningRate(GraphBuilder &g, func::FuncOp entry);
  void addFinite(GraphBuilder &g, func::FuncOp entry, Value finite);
  void await(GraphBuilder &g, MutableArrayRef<Gradient> gradients,
             Value finite);
  void clip(GraphBuilder &g, MutableArrayRef<Gradient> gradients);
  enum class Checked { Here, Before };
  void update(GraphBuilder &g, func::FuncOp entry,
              SmallVector<Gradient> gradients, Value loss,
              Checked checked = Checked::Here);
  void unscale(GraphBuilder &g, func::FuncOp entry,
               MutableArrayRef<Gradient> gradients);
  /// Whether a step that is not finite changes nothing.
  bool leavesOut() const { return onNonfinite == "skip" || lossScale; }
  /// Whether the host learns if the step is finite.
  bool looks() const { return onNonfinite != "continue" || lossScale; }
  void accumulateGradients(func::FuncOp entry, ArrayRef<Gradient> gradients);
  LogicalResult createGradients(func::FuncOp step);
  void findAssigned(func::FuncOp step);
  func::FuncOp createApply(func::FuncOp after);
  func::FuncOp createAccumulatedApply(func::FuncOp after,
                                      ArrayRef<VariableOp> variables);
  func::FuncOp createSeparateApply(func::FuncOp after,
                                   ArrayRef<Gradient> gradients);

  const Optimizer *row = nullptr;
  std::optional<StateIndex> state;
  /// With independent updates, variables that the forward pass assigns.
  SmallVector<VariableOp> assigned;
  TrainingSpec spec, schedule;
  double decay = 0;
};
} // namespace

LogicalResult ApplyOptimizerPass::parseOptions() {
  auto emitError = [&]() { return getOperation().emitError(); };
  auto parsed = TrainingSpec::parse(optimizer, listOptimizers(), "--optimizer",
                                    emitError);
  if (failed(parsed))
    return failure();
  auto parsedSchedule = TrainingSpec::parse(lrSchedule, listSchedules(),
                                            "--lr-schedule", emitError);
  if (failed(parsedSchedule))
    return failure();
  spec = *parsed;
  schedule = *parsedSchedule;
  row = findOptimizer(spec.getName());
  decay = spec.get("weight-decay");
  if (weightDecay >= 0) {
    if (spec.isGiven("weight-decay"))
      return emitError() << "--weight-decay: the optimizer's key "
                            "'weight-decay' is given too; give one of them";
    decay = weightDecay;
  }
  if (clipNorm < 0 || clipValue < 0)
    return emitError() << (clipNorm < 0 ? "--clip-norm" : "--clip-value")
                       << ": expected a positive number";
  if (clipNorm > 0 && clipValue > 0)
    return emitError() << "--clip-norm and --clip-value: give one of them; "
                          "clipping twice has no defined order";
  if (accumulate < 1)
    return emitError() << "--accumulate: expected at least 1, but got "
                       << accumulate.getValue();
  if (onNonfinite != "stop" && onNonfinite != "skip" &&
      onNonfinite != "continue")
    return emitError()
           << "--on-nonfinite: expected continue, skip or stop, but "
              "got '"
           << onNonfinite << "'";
  return success();
}

/// Results that are variables' new values or gradients fit their variables.
LogicalResult ApplyOptimizerPass::verifyResults(func::FuncOp entry) {
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    auto symbol =
        entry.getResultAttrOfType<FlatSymbolRefAttr>(i, kVariableAttr);
    VariableOp variable = symbol ? state->find(symbol) : VariableOp();
    StringRef role = getResultRole(entry, i);
    if (role != "variable" && role != "gradient")
      continue;
    if ((symbol || role == "variable") &&
        (!variable || variable.getType() != entry.getResultTypes()[i]))
      return entry.emitError()
             << "'" << entry.getSymName() << "': " << role << " " << i
             << (variable ? " has not the type of its variable"
                          : " names no variable");
  }
  return success();
}

FailureOr<SmallVector<Gradient>>
ApplyOptimizerPass::takeGradients(func::FuncOp entry) {
  SmallVector<Gradient> gradients;
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    if (getResultRole(entry, i) != "gradient")
      continue;
    auto symbol =
        entry.getResultAttrOfType<FlatSymbolRefAttr>(i, kVariableAttr);
    auto variable = symbol ? state->find(symbol) : VariableOp();
    Port port;
    port.role = "gradient";
    if (variable)
      port.name = variable.getSymName();
    else if (auto name = entry.getResultAttrOfType<StringAttr>(i, kNameAttr))
      port.name = name;
    if (auto dim = entry.getResultAttrOfType<IntegerAttr>(i, kBatchDimAttr))
      port.batchDim = dim.getInt();
    gradients.push_back({variable, getReturn(entry)->getOperand(i), port});
  }
  if (gradients.empty())
    return entry.emitError() << "'" << entry.getSymName()
                             << "' has no gradients; run graph-differentiate "
                                "first";
  if (llvm::none_of(gradients,
                    [](const Gradient &one) { return bool(one.variable); }))
    return entry.emitError()
           << "'" << entry.getSymName() << "' has gradients of no variable";
  eraseResults(
      entry, [&](unsigned i) { return getResultRole(entry, i) == "gradient"; });
  return gradients;
}

VariableOp ApplyOptimizerPass::getIteration() {
  NewVariable properties;
  properties.group = "counter";
  properties.aggregation = Aggregation::OnlyFirst;
  Builder builder(&getContext());
  return state->add("optimizer/iteration",
                    RankedTensorType::get({}, builder.getI64Type()),
                    properties);
}

/// The optimizer's lr where the host may set it between steps.
VariableOp ApplyOptimizerPass::getRateVariable() {
  NewVariable properties;
  properties.group = "counter";
  properties.aggregation = Aggregation::OnlyFirst;
  properties.fill = spec.get("lr");
  Builder builder(&getContext());
  return state->add("optimizer/learning_rate",
                    RankedTensorType::get({}, builder.getF32Type()),
                    properties);
}

VariableOp ApplyOptimizerPass::getAccumulator(VariableOp variable) {
  NewVariable properties;
  properties.group = "accumulator";
  properties.slotOf = FlatSymbolRefAttr::get(variable.getSymNameAttr());
  properties.synchronization = Synchronization::OnRead;
  properties.aggregation = Aggregation::Sum;
  return state->add(("accumulator/" + variable.getSymName()).str(),
                    variable.getType(), properties);
}

Value ApplyOptimizerPass::addLearningRate(GraphBuilder &g, func::FuncOp entry) {
  Value iteration = state->getArgument(entry, getIteration());
  Value given = settableLr
                    ? Value(state->getArgument(entry, getRateVariable()))
                    : g.scalar(g.getBuilder().getF32Type(), spec.get("lr"));
  Value rate = buildLearningRate(g, schedule, given, iteration);
  Port port;
  port.role = port.name = "learning_rate";
  state->addResult(entry, rate, port);
  return rate;
}

/// Tells the host whether the step is finite. One that is not keeps all
/// variables where it is to be left out; where it ends the run, nothing waits
/// for the answer, so that to look costs no pass of its own.
void ApplyOptimizerPass::addFinite(GraphBuilder &g, func::FuncOp entry,
                                   Value finite) {
  Port port;
  port.role = port.name = "finite";
  Value reported = finite;
  // An overflow is what a scale above 1 is there for: no news for the host.
  if (lossScale) {
    Value scale = state->getArgument(entry, getLossScale(*state));
    reported = g.make<OrOp>(
        finite, g.compare(ComparePredicate::GT, scale, g.like(scale, 1)));
  }
  state->addResult(entry, reported, port);
  state->finish();
  if (!leavesOut())
    return;
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    auto symbol =
        entry.getResultAttrOfType<FlatSymbolRefAttr>(i, kVariableAttr);
    if (!symbol || getResultRole(entry, i) != "variable")
      continue;
    VariableOp variable = state->find(symbol);
    // A sum that is not finite starts anew, too.
    if (variable.getGroup() == "accumulator" && entry.getSymName() == "apply")
      continue;
    Value old = state->getArgument(entry, variable);
    Value next = getReturn(entry)->getOperand(i);
    Value all = g.broadcastScalar(
        finite, cast<RankedTensorType>(old.getType()).getShape());
    getReturn(entry)->setOperand(i, g.select(all, next, old));
  }
}

/// False for NaN and for either infinity.
static Value isFinite(GraphBuilder &g, Value x) {
  return g.compare(ComparePredicate::LT, g.make<AbsOp>(x),
                   g.like(x, std::numeric_limits<double>::infinity()));
}

/// How many elements of a gradient are not finite, as a scalar. Counts of parts
/// add up (what ranks have of a gradient needs one all-reduce for all of them),
/// and no finite element can overflow a count, as it can a norm.
static Value countNonfinite(GraphBuilder &g, Value gradient) {
  auto type = cast<RankedTensorType>(gradient.getType());
  auto counted =
      RankedTensorType::get(type.getShape(), g.getBuilder().getF32Type());
  Value bad =
      g.select(isFinite(g, gradient), g.splat(counted, 0), g.splat(counted, 1));
  return g.sum(bad, llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())));
}

/// Whether the loss, unless null, and all that `counts` counts is finite.
static Value areFinite(GraphBuilder &g, Value loss, ArrayRef<Value> counts) {
  Value sum = counts.front();
  for (Value count : counts.drop_front())
    sum = g.add(sum, count);
  Value known = g.compare(ComparePredicate::EQ, sum, g.like(sum, 0));
  return loss ? g.make<AndOp>(isFinite(g, loss), known) : known;
}

/// Of all gradients together, as an f64 scalar: as f32, gradients from 1e19 on
/// would have an infinite norm, and clipping by it would make them 0.
static Value getSquaredNorm(GraphBuilder &g, ArrayRef<Gradient> gradients) {
  Value sum;
  for (const Gradient &gradient : gradients) {
    Value x = g.convert(gradient.value, g.getBuilder().getF64Type());
    int64_t rank = cast<RankedTensorType>(x.getType()).getRank();
    Value part =
        g.sum(g.square(x), llvm::to_vector(llvm::seq<int64_t>(0, rank)));
    sum = sum ? g.add(sum, part) : part;
  }
  return sum;
}

static Value scaleBy(GraphBuilder &g, Value x, Value scalar) {
  auto type = cast<RankedTensorType>(x.getType());
  return g.mul(x, g.broadcastScalar(g.convert(scalar, type.getElementType()),
                                    type.getShape()));
}

void ApplyOptimizerPass::clip(GraphBuilder &g,
                              MutableArrayRef<Gradient> gradients) {
  Value scale;
  if (clipNorm > 0) {
    Value norm = g.sqrt(getSquaredNorm(g, gradients));
    scale = g.div(g.like(norm, clipNorm), g.max(norm, g.like(norm, clipNorm)));
  }
  for (Gradient &gradient : gradients) {
    Value x = gradient.value;
    if (clipNorm > 0)
      gradient.value = scaleBy(g, x, scale);
    else if (clipValue > 0)
      gradient.value =
          g.min(g.max(x, g.like(x, -clipValue)), g.like(x, clipValue));
  }
}

/// Ops between `before` (null: the block's first) and `end` are the variable's,
/// and bear its name where they bear none but the model's.
static void nameOps(VariableOp variable, Operation *before, Operation *end,
                    Location unnamed) {
  auto name = variable->getAttrOfType<StringAttr>("graph.model_name");
  Location location = NameLoc::get(name ? name : variable.getSymNameAttr());
  Operation *op = before ? before->getNextNode() : &end->getBlock()->front();
  for (; op != end; op = op->getNextNode())
    if (op->getLoc() == unnamed)
      op->setLoc(location);
}

/// Divides gradients by the loss scale, if there is one.
void ApplyOptimizerPass::unscale(GraphBuilder &g, func::FuncOp entry,
                                 MutableArrayRef<Gradient> gradients) {
  if (!lossScale)
    return;
  Value scale = state->getArgument(entry, getLossScale(*state));
  Value share = g.div(g.like(scale, 1), scale);
  for (Gradient &gradient : gradients)
    gradient.value = scaleBy(g, gradient.value, share);
}

/// Makes the updates wait for `finite`. Their results are chosen by it: begun
/// before, in the pass that looks at the gradients, they would be written
/// beside the variables, and copied in another pass.
void ApplyOptimizerPass::await(GraphBuilder &g,
                               MutableArrayRef<Gradient> gradients,
                               Value finite) {
  for (Gradient &gradient : gradients) {
    Value x = gradient.value;
    Value all = g.broadcastScalar(
        finite, cast<RankedTensorType>(x.getType()).getShape());
    gradient.value = g.select(all, x, g.like(x, 0));
  }
}

/// Updates the variables of `entry` by their gradients. `loss` is what is still
/// to be checked of it; null where it was checked before. Gradients that were
/// checked before are clipped, too: nothing looks at several of them.
void ApplyOptimizerPass::update(GraphBuilder &g, func::FuncOp entry,
                                SmallVector<Gradient> gradients, Value loss,
                                Checked checked) {
  bool looksHere = looks() && checked == Checked::Here;
  bool leavesOutHere = leavesOut() && checked == Checked::Here;
  Value rate = addLearningRate(g, entry);
  Value iteration = state->getArgument(entry, getIteration());
  Value next = g.add(iteration, 1.0);
  // What is clipped is looked at before. All of it first where the updates wait
  // for the answer or read all gradients for a norm; else each in the pass that
  // updates by it.
  SmallVector<Value> looked, counts;
  if (looksHere)
    for (const Gradient &gradient : gradients)
      looked.push_back(gradient.value);
  auto count = [&](Value gradient) {
    counts.push_back(countNonfinite(g, gradient));
  };
  if (leavesOutHere || clipNorm > 0)
    llvm::for_each(std::exchange(looked, {}), count);
  Value finite = leavesOutHere ? areFinite(g, loss, counts) : Value();
  if (checked == Checked::Here)
    clip(g, gradients);
  if (leavesOutHere)
    await(g, gradients, finite);

  UpdateStep step(g, *state, entry, spec, rate,
                  g.convert(next, g.getBuilder().getF32Type()));
  for (auto [i, gradient] : llvm::enumerate(gradients)) {
    if (!looked.empty())
      count(looked[i]);
    Operation *before = getReturn(entry)->getPrevNode();
    Value old = state->getArgument(entry, gradient.variable);
    VariableUpdate one(step, gradient.variable, old, gradient.value);
    // Decoupled: keras/src/optimizers/base_optimizer.py, _apply_weight_decay.
    if (decay > 0)
      one.w = g.sub(one.w, g.mul(one.w, one.getScalar("decay", [&] {
        return g.mul(one.getRateScalar(), decay);
      })));
    Value updated = row->update(one);
    Type stored = cast<RankedTensorType>(old.getType()).getElementType();
    state->setResult(entry, gradient.variable, g.convert(updated, stored));
    nameOps(gradient.variable, before, getReturn(entry), entry.getLoc());
  }
  state->setResult(entry, getIteration(), next);
  if (looksHere)
    addFinite(g, entry, finite ? finite : areFinite(g, loss, counts));
  if (lossScale)
    updateLossScale(g, *state, entry, finite);
}

/// `entry` adds its gradients to the accumulators.
void ApplyOptimizerPass::accumulateGradients(func::FuncOp entry,
                                             ArrayRef<Gradient> gradients) {
  OpBuilder builder(getReturn(entry));
  GraphBuilder g(builder, entry.getLoc());
  addLearningRate(g, entry);
  for (const Gradient &gradient : gradients) {
    VariableOp accumulator = getAccumulator(gradient.variable);
    Value old = state->getArgument(entry, accumulator);
    state->setResult(entry, accumulator, g.add(old, gradient.value));
  }
  // A batch's gradients are looked at in their sum: ranks have parts of them,
  // which none adds up before the update.
  if (looks())
    addFinite(
        g, entry,
        isFinite(g, getReturn(entry)->getOperand(findResult(entry, "loss"))));
}

/// A copy of the step that gives its gradients instead of updating by them.
LogicalResult ApplyOptimizerPass::createGradients(func::FuncOp step) {
  bool isPartial = step.getSymName() == "train_step_partial";
  func::FuncOp entry =
      cloneEntry(step, isPartial ? "gradients_partial" : "gradients");
  FailureOr<SmallVector<Gradient>> gradients = takeGradients(entry);
  if (failed(gradients))
    return failure();
  OpBuilder builder(getReturn(entry));
  GraphBuilder g(builder, entry.getLoc());
  unscale(g, entry, *gradients);
  SmallVector<Value> counts;
  if (looks())
    for (const Gradient &gradient : *gradients)
      counts.push_back(countNonfinite(g, gradient.value));
  // Those of inputs come last, and are none that the step clips.
  if (independentUpdates)
    clip(g, MutableArrayRef(*gradients).take_while([](const Gradient &one) {
      return bool(one.variable);
    }));
  for (const Gradient &gradient : *gradients)
    state->addResult(entry, gradient.value, gradient.port);
  // What the step leaves alone then, its first half leaves alone.
  if (looks()) {
    Value loss = getReturn(entry)->getOperand(findResult(entry, "loss"));
    addFinite(g, entry, areFinite(g, loss, counts));
  }
  state->finish();
  eraseDeadOps(entry);
  return success();
}

func::FuncOp ApplyOptimizerPass::createApply(func::FuncOp after) {
  OpBuilder builder(&getContext());
  builder.setInsertionPointAfter(after);
  auto apply = func::FuncOp::create(builder, after.getLoc(), "apply",
                                    builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(apply.addEntryBlock());
  func::ReturnOp::create(builder, after.getLoc());
  return apply;
}

/// Updates by the mean of what the accumulators hold, and clears them.
func::FuncOp
ApplyOptimizerPass::createAccumulatedApply(func::FuncOp after,
                                           ArrayRef<VariableOp> variables) {
  func::FuncOp apply = createApply(after);
  OpBuilder builder(getReturn(apply));
  GraphBuilder g(builder, apply.getLoc());
  SmallVector<Gradient> gradients;
  for (VariableOp variable : variables) {
    Value sum = state->getArgument(apply, getAccumulator(variable));
    gradients.push_back({variable, g.mul(sum, 1.0 / accumulate), {}});
    state->setResult(apply, getAccumulator(variable), g.like(sum, 0));
  }
  unscale(g, apply, gradients);
  // The losses were checked when they were computed.
  update(g, apply, gradients, nullptr);
  return apply;
}

/// Moving statistics and the like. Metrics and counters are of those who count.
void ApplyOptimizerPass::findAssigned(func::FuncOp step) {
  for (unsigned i = 0; i < step.getNumResults(); ++i) {
    if (getResultRole(step, i) != "variable")
      continue;
    VariableOp variable = state->find(
        step.getResultAttrOfType<FlatSymbolRefAttr>(i, kVariableAttr));
    if (!llvm::is_contained({"metric", "counter"}, variable.getGroup()) &&
        !llvm::is_contained(assigned, variable))
      assigned.push_back(variable);
  }
}

/// Updates by gradients that the caller has: those that @gradients gives.
func::FuncOp ApplyOptimizerPass::createSeparateApply(func::FuncOp after,
                                                     ArrayRef<Gradient> given) {
  func::FuncOp apply = createApply(after);
  SmallVector<Gradient> gradients;
  for (const Gradient &one : given)
    gradients.push_back(
        {one.variable,
         addArgument(apply, one.value.getType(), one.port, apply.getLoc()),
         one.port});
  // Who gives these has them from @gradients, too: it assigns them.
  SmallVector<std::pair<VariableOp, Value>> values;
  for (VariableOp variable : assigned) {
    Port port;
    port.role = "gradient";
    port.name = variable.getSymName();
    values.emplace_back(variable, addArgument(apply, variable.getType(), port,
                                              variable.getLoc()));
  }
  OpBuilder builder(getReturn(apply));
  GraphBuilder g(builder, apply.getLoc());
  for (auto [variable, value] : values) {
    state->getArgument(apply, variable);
    state->setResult(apply, variable, value);
  }
  update(g, apply, gradients, nullptr,
         independentUpdates ? Checked::Before : Checked::Here);
  return apply;
}

void ApplyOptimizerPass::runOnOperation() {
  if (failed(parseOptions()))
    return signalPassFailure();
  ModuleOp module = getOperation();
  SmallVector<func::FuncOp> entries;
  for (StringRef name : {"train_step", "train_step_partial"})
    if (func::FuncOp entry = findEntry(module, name))
      entries.push_back(entry);
  if (entries.empty()) {
    module.emitError()
        << "graph-apply-optimizer: the module has no function 'train_step'";
    return signalPassFailure();
  }
  for (func::FuncOp entry : entries)
    if (failed(verifyOneBlock(entry, "graph-apply-optimizer")))
      return signalPassFailure();
  if (separate && accumulate > 1) {
    module.emitError()
        << "--entries: with --accumulate " << accumulate.getValue()
        << " the entries 'gradients' and 'apply' sum up in the session and "
           "give and take no gradients; leave --accumulate out and sum them in "
           "the loop, or ask for 'train'";
    return signalPassFailure();
  }
  if (independentUpdates && lossScale) {
    module.emitError()
        << "graph-apply-optimizer: with independent-updates there is no loss "
           "scale: it follows what is found in all gradients together";
    return signalPassFailure();
  }
  state.emplace(module);
  assigned.clear();
  SmallVector<VariableOp> accumulated;
  SmallVector<Gradient> returned;
  for (func::FuncOp entry : entries)
    if (failed(verifyResults(entry)))
      return signalPassFailure();
  for (func::FuncOp entry : llvm::to_vector(entries)) {
    if (separate && independentUpdates)
      findAssigned(entry);
    if (separate && findResult(entry, "loss") >= 0 &&
        failed(createGradients(entry)))
      return signalPassFailure();
    FailureOr<SmallVector<Gradient>> gradients = takeGradients(entry);
    if (failed(gradients))
      return signalPassFailure();
    // Of inputs they are nothing to update by.
    llvm::erase_if(*gradients,
                   [](const Gradient &one) { return !one.variable; });
    returned = *gradients;
    int64_t loss = findResult(entry, "loss");
    if (loss < 0) {
      entry.emitError() << "'" << entry.getSymName()
                        << "' has no result of role \"loss\"";
      return signalPassFailure();
    }
    if (accumulate > 1) {
      accumulateGradients(entry, *gradients);
      bool isPartial = entry.getSymName() == "train_step_partial";
      entry.setSymName(isPartial ? "gradients_partial" : "gradients");
      for (const Gradient &gradient : *gradients)
        if (!llvm::is_contained(accumulated, gradient.variable))
          accumulated.push_back(gradient.variable);
      continue;
    }
    OpBuilder builder(getReturn(entry));
    GraphBuilder g(builder, entry.getLoc());
    unscale(g, entry, *gradients);
    update(g, entry, *gradients, getReturn(entry)->getOperand(loss));
  }
  if (accumulate > 1)
    entries.push_back(createAccumulatedApply(entries.back(), accumulated));
  else if (separate)
    entries.push_back(createSeparateApply(entries.back(), returned));
  state->finish();
  for (func::FuncOp entry : entries)
    eraseDeadOps(entry);
}
