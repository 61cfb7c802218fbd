//===- Schedules.cpp - Learning rates as graph ops -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formulas of keras/src/optimizers/schedules/learning_rate_schedule.py, in f32
// as there. To add a schedule: a function and a row of the table.
//
//===----------------------------------------------------------------------===//
#include "passes/Graph/Schedules.h"

using namespace mlir;
using namespace mlir::dist::graph;

namespace {
struct Schedule {
  TrainingChoice choice;
  /// `rate` (the optimizer's lr) and `t` (the iteration) are f32 scalars.
  Value (*build)(GraphBuilder &g, const TrainingSpec &spec, Value rate,
                 Value t);
};
} // namespace

static Value buildConstant(GraphBuilder &, const TrainingSpec &, Value rate,
                           Value) {
  return rate;
}

/// min(t, steps) / steps.
static Value getProgress(GraphBuilder &g, Value t, double steps) {
  return g.div(g.min(t, g.like(t, steps)), g.like(t, steps));
}

/// While t < warmup: from 0 to `rate` in a straight line; then `after` of
/// t - warmup.
static Value afterWarmup(GraphBuilder &g, double warmup, Value rate, Value t,
                         llvm::function_ref<Value(Value)> after) {
  if (warmup <= 0)
    return after(t);
  Value rising = g.mul(g.div(t, g.like(t, warmup)), rate);
  Value rest = after(g.max(g.add(t, -warmup), g.like(t, 0)));
  Value early = g.compare(ComparePredicate::LT, t, g.like(t, warmup));
  return g.select(early, rising, rest);
}

static Value buildCosine(GraphBuilder &g, const TrainingSpec &spec, Value rate,
                         Value t) {
  double alpha = spec.get("alpha"), pi = 3.14159265358979323846;
  return afterWarmup(g, spec.get("warmup"), rate, t, [&](Value t) {
    Value progress = getProgress(g, t, spec.get("steps"));
    Value cosine = g.mul(g.add(g.make<CosOp>(g.mul(progress, pi)), 1.0), 0.5);
    return g.mul(g.add(g.mul(cosine, 1 - alpha), alpha), rate);
  });
}

static Value buildPolynomial(GraphBuilder &g, double warmup, double steps,
                             double end, double power, Value rate, Value t) {
  return afterWarmup(g, warmup, rate, t, [&](Value t) {
    Value left = g.sub(g.like(t, 1), getProgress(g, t, steps));
    if (power != 1)
      left = g.pow(left, g.like(left, power));
    return g.add(g.mul(left, g.add(rate, -end)), end);
  });
}

static Value buildPolynomialDecay(GraphBuilder &g, const TrainingSpec &spec,
                                  Value rate, Value t) {
  return buildPolynomial(g, 0, spec.get("steps"), spec.get("end"),
                         spec.get("power"), rate, t);
}

static Value buildWarmupLinear(GraphBuilder &g, const TrainingSpec &spec,
                               Value rate, Value t) {
  double warmup = spec.get("warmup"), steps = spec.get("steps");
  // Without `steps` the rate stays where the warm-up leads.
  if (steps <= warmup)
    return afterWarmup(g, warmup, rate, t, [&](Value) { return rate; });
  return buildPolynomial(g, warmup, steps - warmup, spec.get("end"), 1, rate,
                         t);
}

static Value buildStep(GraphBuilder &g, const TrainingSpec &spec, Value rate,
                       Value t) {
  Value times = g.make<FloorOp>(g.div(t, g.like(t, spec.get("steps"))));
  return g.mul(g.pow(g.like(t, spec.get("rate")), times), rate);
}

static Value buildExponential(GraphBuilder &g, const TrainingSpec &spec,
                              Value rate, Value t) {
  Value times = g.div(t, g.like(t, spec.get("steps")));
  return g.mul(g.pow(g.like(t, spec.get("rate")), times), rate);
}

static Value buildInverseTime(GraphBuilder &g, const TrainingSpec &spec,
                              Value rate, Value t) {
  Value times = g.div(t, g.like(t, spec.get("steps")));
  return g.div(rate, g.add(g.mul(times, spec.get("rate")), 1.0));
}

static ArrayRef<Schedule> getSchedules() {
  static constexpr StringRef source =
      "keras/src/optimizers/schedules/learning_rate_schedule.py";
  static const double given = std::numeric_limits<double>::quiet_NaN();
  static const TrainingKey steps = {"steps", given, 1, 1e15, true};
  static const TrainingKey warmup = {"warmup", 0, 0, 1e15, true};
  static const Schedule table[] = {
      {{"constant", {}, "lr", source}, buildConstant},
      {{"cosine",
        {steps, {"alpha", 0, 0, 1}, warmup},
        "lr ((1 - alpha) (1 + cos(pi min(t, steps) / steps)) / 2 + alpha), "
        "after "
        "`warmup` steps in a straight line from 0",
        source},
       buildCosine},
      {{"step",
        {steps, {"rate", 0.1, 0, 1e9}},
        "lr rate^floor(t / steps)",
        source},
       buildStep},
      {{"exponential",
        {steps, {"rate", 0.96, 0, 1e9}},
        "lr rate^(t / steps)",
        source},
       buildExponential},
      {{"polynomial",
        {steps, {"end", 1e-4, 0, 1e9}, {"power", 1, 0, 1e3}},
        "(lr - end) (1 - min(t, steps) / steps)^power + end",
        source},
       buildPolynomialDecay},
      {{"warmup-linear",
        {{"warmup", given, 0, 1e15, true},
         {"steps", 0, 0, 1e15, true},
         {"end", 0, 0, 1e9}},
        "straight lines: 0 to lr in `warmup` steps, then to `end` at `steps` "
        "(without it: stays)",
        source},
       buildWarmupLinear},
      {{"inverse-time",
        {steps, {"rate", 0.5, 0, 1e9}},
        "lr / (1 + rate t / steps)",
        source},
       buildInverseTime},
  };
  return table;
}

Value mlir::dist::graph::buildLearningRate(GraphBuilder &g,
                                           const TrainingSpec &schedule,
                                           Value rate, Value iteration) {
  Value t = g.convert(iteration, g.getBuilder().getF32Type());
  for (const Schedule &candidate : getSchedules())
    if (candidate.choice.name == schedule.getName())
      return candidate.build(g, schedule, rate, t);
  llvm_unreachable("a parsed schedule is one of the table's");
}

std::vector<TrainingChoice> mlir::dist::graph::listSchedules() {
  std::vector<TrainingChoice> choices;
  for (const Schedule &schedule : getSchedules())
    choices.push_back(schedule.choice);
  return choices;
}
