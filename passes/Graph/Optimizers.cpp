//===- Optimizers.cpp - Updates of variables as graph ops -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `update_step` of the files named in the table, op by op, so that rounding
// differs as little as possible. To add an optimizer: a function and a row.
//
//===----------------------------------------------------------------------===//
#include "passes/Graph/Optimizers.h"

using namespace mlir;
using namespace mlir::dist::graph;

//===----------------------------------------------------------------------===//
// What updates are written with
//===----------------------------------------------------------------------===//

Value UpdateStep::getScalar(StringRef name, Type type,
                            llvm::function_ref<Value()> build) {
  std::string key = name.str() + (type.isF64() ? "/f64" : "/f32");
  Value &value = scalars[key];
  if (!value)
    value = build();
  return value;
}

VariableUpdate::VariableUpdate(UpdateStep &step, VariableOp variable,
                               Value value, Value gradient)
    : step(step), g(step.g), variable(variable) {
  Type stored = cast<RankedTensorType>(value.getType()).getElementType();
  Builder builder(variable.getContext());
  number = stored.isF64() ? Type(builder.getF64Type()) : builder.getF32Type();
  w = g.convert(value, number);
  this->gradient = g.convert(gradient, number);
}

VariableOp VariableUpdate::getSlotVariable(StringRef name, double fill) {
  NewVariable properties;
  properties.group = "slot";
  properties.fill = fill;
  properties.slotOf = FlatSymbolRefAttr::get(variable.getSymNameAttr());
  std::string symbol =
      ("optimizer/" + variable.getSymName() + "/" + name).str();
  auto type = cast<RankedTensorType>(variable.getType()).clone(number);
  return step.state.add(symbol, type, properties);
}

Value VariableUpdate::getSlot(StringRef name, double fill) {
  return step.state.getArgument(step.entry, getSlotVariable(name, fill));
}

Value VariableUpdate::setSlot(StringRef name, Value value) {
  step.state.setResult(step.entry, getSlotVariable(name, 0), value);
  return value;
}

Value VariableUpdate::spread(Value scalar) {
  return g.broadcastScalar(scalar,
                           cast<RankedTensorType>(w.getType()).getShape());
}

Value VariableUpdate::getRate() {
  return getScalar("rate", [&] { return getRateScalar(); });
}

Value VariableUpdate::getScalar(StringRef name,
                                llvm::function_ref<Value()> build) {
  return spread(step.getScalar(name, number, build));
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

/// a += (b - a) * share, as Keras writes its averages.
static Value approach(GraphBuilder &g, Value a, Value b, double share) {
  return g.add(a, g.mul(g.sub(b, a), share));
}

static Value updateSgd(VariableUpdate &u) {
  GraphBuilder &g = u.g;
  Value step = g.mul(u.gradient, u.getRate());
  double momentum = u.get("momentum");
  if (momentum == 0)
    return g.sub(u.w, step);
  Value m = u.getSlot("momentum");
  m = u.setSlot("momentum", g.sub(g.mul(m, momentum), step));
  return g.add(u.w, m);
}

static Value updateNesterov(VariableUpdate &u) {
  GraphBuilder &g = u.g;
  Value step = g.mul(u.gradient, u.getRate());
  double momentum = u.get("momentum");
  Value m = u.getSlot("momentum");
  m = u.setSlot("momentum", g.sub(g.mul(m, momentum), step));
  return g.add(u.w, g.sub(g.mul(m, momentum), step));
}

/// 1 - beta^t.
static Value getCorrection(VariableUpdate &u, double beta) {
  GraphBuilder &g = u.g;
  Value t = u.getNumberScalar();
  return g.sub(g.like(t, 1), g.pow(g.like(t, beta), t));
}

static Value updateAdam(VariableUpdate &u) {
  GraphBuilder &g = u.g;
  double beta1 = u.get("beta1"), beta2 = u.get("beta2");
  Value alpha = u.getScalar("alpha", [&] {
    return g.div(g.mul(u.getRateScalar(), g.sqrt(getCorrection(u, beta2))),
                 getCorrection(u, beta1));
  });
  Value m = u.setSlot("m", approach(g, u.getSlot("m"), u.gradient, 1 - beta1));
  Value v = u.setSlot(
      "v", approach(g, u.getSlot("v"), g.square(u.gradient), 1 - beta2));
  return g.sub(u.w, g.div(g.mul(m, alpha), g.add(g.sqrt(v), u.get("epsilon"))));
}

static Value updateRmsprop(VariableUpdate &u) {
  GraphBuilder &g = u.g;
  double rho = u.get("rho"), momentum = u.get("momentum");
  Value v =
      g.add(g.mul(u.getSlot("v"), rho), g.mul(g.square(u.gradient), 1 - rho));
  u.setSlot("v", v);
  Value step =
      g.div(g.mul(u.gradient, u.getRate()), g.sqrt(g.add(v, u.get("epsilon"))));
  if (momentum == 0)
    return g.sub(u.w, step);
  Value m = g.add(g.mul(u.getSlot("momentum"), momentum), step);
  return g.sub(u.w, u.setSlot("momentum", m));
}

static Value updateAdagrad(VariableUpdate &u) {
  GraphBuilder &g = u.g;
  Value sum = u.getSlot("accumulator", u.get("initial-accumulator"));
  sum = u.setSlot("accumulator", g.add(sum, g.square(u.gradient)));
  return g.sub(u.w, g.div(g.mul(u.gradient, u.getRate()),
                          g.sqrt(g.add(sum, u.get("epsilon")))));
}

/// The 2-norm of all elements, as a scalar.
static Value getNorm(GraphBuilder &g, Value x) {
  int64_t rank = cast<RankedTensorType>(x.getType()).getRank();
  return g.sqrt(
      g.sum(g.square(x), llvm::to_vector(llvm::seq<int64_t>(0, rank))));
}

static Value updateLamb(VariableUpdate &u) {
  GraphBuilder &g = u.g;
  double beta1 = u.get("beta1"), beta2 = u.get("beta2");
  Value m = u.setSlot("m", approach(g, u.getSlot("m"), u.gradient, 1 - beta1));
  Value v = u.setSlot(
      "v", approach(g, u.getSlot("v"), g.square(u.gradient), 1 - beta2));
  Value mHat = g.div(
      m, u.getScalar("correction1", [&] { return getCorrection(u, beta1); }));
  Value vHat = g.div(
      v, u.getScalar("correction2", [&] { return getCorrection(u, beta2); }));
  Value direction = g.div(mHat, g.add(g.sqrt(vHat), u.get("epsilon")));
  Value size = getNorm(g, u.w), length = getNorm(g, direction);
  Value zero = g.like(size, 0), one = g.like(size, 1);
  Value ratio = g.select(g.compare(ComparePredicate::GT, size, zero),
                         g.select(g.compare(ComparePredicate::GT, length, zero),
                                  g.div(size, length), one),
                         one);
  return g.sub(u.w,
               g.mul(direction, u.spread(g.mul(ratio, u.getRateScalar()))));
}

static Value updateLion(VariableUpdate &u) {
  GraphBuilder &g = u.g;
  double beta1 = u.get("beta1"), beta2 = u.get("beta2");
  Value m = u.getSlot("m");
  Value direction =
      g.make<SignOp>(g.add(g.mul(m, beta1), g.mul(u.gradient, 1 - beta1)));
  u.setSlot("m", g.add(g.mul(m, beta2), g.mul(u.gradient, 1 - beta2)));
  return g.sub(u.w, g.mul(direction, u.getRate()));
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static TrainingKey rate(double value) { return {"lr", value, 0}; }
static TrainingKey share(StringRef name, double value) {
  return {name, value, 0, 1};
}
/// Of a mean's correction, by 1 / (1 - beta^t).
static TrainingKey beta(StringRef name, double value) {
  return {name, value, 0, 1, /*integer=*/false, /*below=*/true};
}
static TrainingKey epsilon() { return {"epsilon", 1e-7, 0}; }
static TrainingKey decay(double value = 0) {
  return {"weight-decay", value, 0};
}

static ArrayRef<Optimizer> getOptimizers() {
  static constexpr StringRef adam =
      "m += (g - m)(1 - beta1); v += (g^2 - v)(1 - beta2); "
      "w -= m lr sqrt(1 - beta2^t) / (1 - beta1^t) / (sqrt(v) + epsilon)";
  static const Optimizer table[] = {
      {{"sgd",
        {rate(0.01), share("momentum", 0), decay()},
        "w -= lr g; with momentum: m = momentum m - lr g; w += m",
        "keras/src/optimizers/sgd.py"},
       updateSgd},
      {{"momentum",
        {rate(0.01), share("momentum", 0.9), decay()},
        "m = momentum m - lr g; w += m",
        "keras/src/optimizers/sgd.py"},
       updateSgd},
      {{"nesterov",
        {rate(0.01), share("momentum", 0.9), decay()},
        "m = momentum m - lr g; w += momentum m - lr g",
        "keras/src/optimizers/sgd.py"},
       updateNesterov},
      {{"adam",
        {rate(0.001), beta("beta1", 0.9), beta("beta2", 0.999), epsilon(),
         decay()},
        adam,
        "keras/src/optimizers/adam.py"},
       updateAdam},
      {{"adamw",
        {rate(0.001), beta("beta1", 0.9), beta("beta2", 0.999), epsilon(),
         decay(0.004)},
        adam,
        "keras/src/optimizers/adamw.py"},
       updateAdam},
      {{"rmsprop",
        {rate(0.001), share("rho", 0.9), share("momentum", 0), epsilon(),
         decay()},
        "v = rho v + (1 - rho) g^2; w -= lr g / sqrt(v + epsilon); with "
        "momentum: m = momentum m + that; w -= m",
        "keras/src/optimizers/rmsprop.py"},
       updateRmsprop},
      {{"adagrad",
        {rate(0.001), {"initial-accumulator", 0.1, 0}, epsilon(), decay()},
        "a += g^2; w -= lr g / sqrt(a + epsilon)",
        "keras/src/optimizers/adagrad.py"},
       updateAdagrad},
      {{"lamb",
        {rate(0.001), beta("beta1", 0.9), beta("beta2", 0.999), epsilon(),
         decay()},
        "m, v as in adam; r = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + "
        "epsilon); w -= lr |w| / |r| r",
        "keras/src/optimizers/lamb.py"},
       updateLamb},
      {{"lion",
        {rate(0.001), beta("beta1", 0.9), beta("beta2", 0.99), decay()},
        "w -= lr sign(beta1 m + (1 - beta1) g); m = beta2 m + (1 - beta2) g",
        "keras/src/optimizers/lion.py"},
       updateLion},
  };
  return table;
}

const Optimizer *mlir::dist::graph::findOptimizer(StringRef name) {
  for (const Optimizer &optimizer : getOptimizers())
    if (optimizer.choice.name == name)
      return &optimizer;
  return nullptr;
}

std::vector<TrainingChoice> mlir::dist::graph::listOptimizers() {
  std::vector<TrainingChoice> choices;
  for (const Optimizer &optimizer : getOptimizers())
    choices.push_back(optimizer.choice);
  return choices;
}
