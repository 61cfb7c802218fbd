//===- OnnxRecurrent.cpp - RNN, GRU and LSTM of ONNX ----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps are written out. What they take of the input is one product of all
// of them; each has one product with its state (a GRU that resets before it,
// two), and element-wise ops of the gates. A weight stays one variable, in the
// order of the file.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxActivation.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// A step of an LSTM and of its derivative takes some 40 ms to compile: more of
/// them would take longer than ten minutes.
static constexpr int64_t kMaxSteps = 1 << 14;

namespace {
/// A function of a gate, and its numbers.
struct GateFunction {
  const OnnxActivation *activation;
  double alpha, beta;
};

/// What goes from step to step, [batch, hidden] each.
struct State {
  Value hidden, cell;
};

/// What the steps of one direction have alike.
struct Direction {
  Value input;       // [steps, batch, gates * hidden], with its biases
  Value weight;      // [gates * hidden, hidden] of the product with the state
  Value resetWeight; // [hidden, hidden] of what a GRU has reset, or null
  Value bias;        // of the product with the state, if it is not in `input`
  Value peepholes;   // [3 * hidden], or null
  State initial;
  SmallVector<GateFunction, 3> functions;
};

/// A node while it is written out. An op that cannot be made gives null, as
/// do ops of it.
class Recurrent {
public:
  Recurrent(OnnxNode &n, int64_t gates,
            std::initializer_list<const char *> functions)
      : n(n), gates(gates), standard(functions) {}
  LogicalResult read();
  /// `step(direction, x, state)`: the next state, from a step's part
  /// [batch, gates * hidden] of the input.
  LogicalResult
  run(llvm::function_ref<State(const Direction &, Value, State)> step);

  // For the steps.
  Value part(Value value, int64_t from, int64_t to);
  Value part(Value value, int64_t gate) { return part(value, gate, gate + 1); }
  Value product(Value state, Value weight);
  Value plus(Value x, Value y);
  Value times(Value x, Value y);
  /// A gate's parts of both: its kernel then reads these as they are, and no
  /// sum of all gates is kept.
  Value sum(Value x, Value states, int64_t gate) {
    return plus(part(x, gate), part(states, gate));
  }
  Value activate(const GateFunction &function, Value x);
  /// x, and the gate's peephole at the cell if there is one.
  Value peep(const Direction &direction, int64_t gate, Value x, Value cell);

  OnnxNode &n;
  int64_t steps = 0, batch = 0, hidden = 0;
  /// Of a GRU: whether the reset comes before its gate's product with the
  /// state, or behind it.
  bool resetsBefore = false, resetsBehind = false;

private:
  LogicalResult readShapes();
  LogicalResult readFunctions();
  LogicalResult readLengths();
  bool hasOneBias();
  Value direct(Value value, int64_t direction);
  Value initialState(unsigned input, int64_t direction);
  Direction makeDirection(int64_t direction);
  /// Per example, whether the step is one of its own; null: all are.
  Value isWithin(int64_t step);
  Value choose(Value within, Value x, Value y);
  LogicalResult give(ArrayRef<SmallVector<Value>> hiddens,
                     ArrayRef<State> last);

  int64_t gates;
  SmallVector<const char *, 3> standard;
  Value input; // [steps, batch, size]
  Type type;
  bool batchFirst = false;
  /// Whether each direction runs from the end.
  SmallVector<bool, 2> reversed;
  SmallVector<GateFunction, 6> functions; // of all directions
  Value lengths;
  double clip = 0; // 0: none
};
} // namespace

//===----------------------------------------------------------------------===//
// What the steps are made of
//===----------------------------------------------------------------------===//

/// Whether all elements are known to be zero: the state that most models start
/// from, whose products nobody needs.
static bool isZeros(Value value) {
  while (value && value.getDefiningOp() &&
         isa<BroadcastOp, ReshapeOp, SliceOp, TransposeOp, ConvertOp>(
             value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value && matchPattern(value, m_AnyZeroFloat());
}

/// Columns of gates, of a matrix of a row an example, or elements of a vector.
Value Recurrent::part(Value value, int64_t from, int64_t to) {
  return n.sliceDim(value, n.rankOf(value) - 1, from * hidden, to * hidden);
}

/// The state [batch, hidden] times the transpose of the weight.
Value Recurrent::product(Value state, Value weight) {
  if (isZeros(state))
    return n.zeros({batch, n.shapeOf(weight)[0]}, type);
  return n.dot(state, weight, {}, {}, {1}, {1});
}

Value Recurrent::plus(Value x, Value y) {
  return isZeros(y) ? x : isZeros(x) ? y : n.add(x, y);
}

Value Recurrent::times(Value x, Value y) {
  return isZeros(y) ? y : isZeros(x) ? x : n.mul(x, y);
}

Value Recurrent::activate(const GateFunction &function, Value x) {
  if (clip > 0)
    x = clampTo(n, x, -clip, clip);
  return function.activation->make(n, x, function.alpha, function.beta);
}

Value Recurrent::peep(const Direction &direction, int64_t gate, Value x,
                      Value cell) {
  if (!direction.peepholes)
    return x;
  return plus(x, times(cell, part(direction.peepholes, gate)));
}

/// Of a value with a leading dim of directions, that one's.
Value Recurrent::direct(Value value, int64_t direction) {
  if (!value)
    return value;
  return n.reshape(n.sliceDim(value, 0, direction, direction + 1),
                   n.shapeOf(value).drop_front());
}

Value Recurrent::initialState(unsigned input, int64_t direction) {
  if (!n.has(input))
    return n.zeros({batch, hidden}, type);
  Value value = n.in(input);
  return direct(batchFirst ? n.transpose(value, {1, 0, 2}) : value, direction);
}

/// A layer of Keras has one bias for both products, but one that resets behind
/// the product with the state. Exporters write zeros for the other, which would
/// be trained, and move the sum at twice the rate.
bool Recurrent::hasOneBias() {
  auto read = n.in(3).getDefiningOp<ReadOp>();
  if (!n.isOfKeras() || resetsBehind || !read)
    return false;
  BlockArgument argument;
  FailureOr<HostTensor> biases = n.evaluate(read, &argument);
  if (failed(biases))
    return false;
  int64_t half = gates * hidden;
  for (int64_t i = 0; i < biases->getNumElements(); ++i)
    if (i / half % 2 == 1 && biases->getDouble(i) != 0)
      return false;
  return true;
}

Direction Recurrent::makeDirection(int64_t direction) {
  Direction result;
  // [gates * hidden, size] times a row for each step and example.
  result.input = n.dot(input, direct(n.in(1), direction), {}, {}, {2}, {1});
  result.weight = direct(n.in(2), direction);
  if (resetsBefore) {
    result.resetWeight = n.sliceDim(result.weight, 0, 2 * hidden, 3 * hidden);
    result.weight = n.sliceDim(result.weight, 0, 0, 2 * hidden);
  }
  if (n.has(3)) {
    Value biases = direct(n.in(3), direction);
    Value own = part(biases, 0, gates), states;
    if (!hasOneBias())
      states = part(biases, gates, 2 * gates);
    if (resetsBehind) {
      result.bias = part(states, 2);
      states = n.concat({part(states, 0, 2), n.zeros({hidden}, type)}, 0);
    }
    result.input = n.add(result.input, states ? n.add(own, states) : own);
  }
  result.peepholes = direct(n.in(7), direction);
  result.initial = {initialState(5, direction), initialState(6, direction)};
  result.functions.append(functions.begin() + direction * standard.size(),
                          functions.begin() +
                              (direction + 1) * standard.size());
  return result;
}

//===----------------------------------------------------------------------===//
// Inputs and attributes
//===----------------------------------------------------------------------===//

static std::string describe(ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (auto [i, size] : llvm::enumerate(shape))
    text += (i ? ", " : "") + std::to_string(size);
  return text + "]";
}

LogicalResult Recurrent::readShapes() {
  Value x = n.in(0), recurrence = n.in(2);
  if (n.rankOf(x) != 3 || !n.isFloat(x))
    return n.fail("the input must be floats with 3 dims");
  type = n.elementOf(x);
  input = batchFirst ? n.transpose(x, {1, 0, 2}) : x;
  if (!input)
    return failure();
  ArrayRef<int64_t> shape = n.shapeOf(input);
  steps = shape[0];
  batch = shape[1];
  int64_t size = shape[2], directions = reversed.size();
  hidden = n.rankOf(recurrence) == 3 ? n.shapeOf(recurrence)[2] : 0;
  if (hidden < 1 || n.intAttr("hidden_size", hidden) != hidden)
    return n.fail("R must have a last dim of hidden_size elements");
  if (steps < 1)
    return n.fail("the input has no steps");
  if (steps > kMaxSteps / directions)
    return n.fail("its " + llvm::Twine(steps) +
                      " steps are written out, and so many take too long",
                  "give it sequences of at most " +
                      llvm::Twine(kMaxSteps / directions) + " steps");
  auto check = [&](unsigned i, StringRef name, ArrayRef<int64_t> expected) {
    if (!n.has(i) ||
        (n.shapeOf(n.in(i)) == expected && n.elementOf(n.in(i)) == type))
      return success();
    return n.fail(name + " must be of the input's type and of shape " +
                  describe(expected));
  };
  SmallVector<int64_t> state = {directions, batch, hidden};
  if (batchFirst)
    std::swap(state[0], state[1]);
  return success(
      succeeded(check(1, "W", {directions, gates * hidden, size})) &&
      succeeded(check(2, "R", {directions, gates * hidden, hidden})) &&
      succeeded(check(3, "B", {directions, 2 * gates * hidden})) &&
      succeeded(check(5, "initial_h", state)) &&
      succeeded(check(6, "initial_c", state)) &&
      succeeded(check(7, "P", {directions, 3 * hidden})));
}

LogicalResult Recurrent::readFunctions() {
  SmallVector<std::string> names;
  for (size_t i = 0; i < reversed.size(); ++i)
    names.append(standard.begin(), standard.end());
  if (auto given = n.textsAttr("activations")) {
    if (given->size() != names.size())
      return n.fail("activations must name " + llvm::Twine(names.size()) +
                    " functions, but name " + llvm::Twine(given->size()));
    names = *given;
  }
  // The numbers belong to the functions that have some, in their order.
  auto alphas =
           n.floatsAttr("activation_alpha").value_or(SmallVector<double>()),
       betas = n.floatsAttr("activation_beta").value_or(SmallVector<double>());
  size_t nextAlpha = 0, nextBeta = 0;
  for (const std::string &name : names) {
    const OnnxActivation *known = findOnnxActivation(name);
    if (!known)
      return n.fail("activation '" + name + "' is not one of a gate's");
    auto take = [&](ArrayRef<double> given, size_t &next,
                    std::optional<double> standard, bool has,
                    StringRef attribute) -> FailureOr<double> {
      if (!has)
        return 0.0;
      if (next < given.size())
        return given[next++];
      if (!standard)
        return n.fail("activation '" + name + "' needs a number of " +
                      attribute);
      return *standard;
    };
    FailureOr<double> alpha = take(alphas, nextAlpha, known->alpha,
                                   known->numNumbers > 0, "activation_alpha");
    FailureOr<double> beta = take(betas, nextBeta, known->beta,
                                  known->numNumbers > 1, "activation_beta");
    if (failed(alpha) || failed(beta))
      return failure();
    functions.push_back({known, *alpha, *beta});
  }
  if (nextAlpha < alphas.size() || nextBeta < betas.size())
    return n.fail("activation_alpha or activation_beta has more numbers than "
                  "its activations take");
  return success();
}

LogicalResult Recurrent::readLengths() {
  lengths = n.in(4);
  if (!lengths)
    return success();
  if (n.shapeOf(lengths) != ArrayRef<int64_t>{batch} || n.isFloat(lengths))
    return n.fail("sequence_lens must be a vector of an integer an example");
  if (!lengths.getDefiningOp<ConstantOp>())
    return success();
  FailureOr<SmallVector<int64_t>> known = n.ints(4);
  if (failed(known))
    return failure();
  for (int64_t length : *known)
    if (length < 0 || length > steps)
      return n.fail("sequence_lens has " + llvm::Twine(length) +
                    ", but there are " + llvm::Twine(steps) + " steps");
  if (llvm::all_of(*known, [&](int64_t length) { return length == steps; }))
    lengths = Value();
  return success();
}

LogicalResult Recurrent::read() {
  std::string direction = n.textAttr("direction", "forward");
  if (direction == "forward")
    reversed = {false};
  else if (direction == "reverse")
    reversed = {true};
  else if (direction == "bidirectional")
    reversed = {false, true};
  else
    return n.fail("direction must be forward, reverse or bidirectional, not '" +
                  direction + "'");
  if (n.opset >= 14) {
    int64_t layout = n.intAttr("layout", 0);
    if (layout != 0 && layout != 1)
      return n.fail("layout must be 0 or 1");
    batchFirst = layout == 1;
  }
  if (n.hasAttr("clip")) {
    clip = n.floatAttr("clip", 0);
    if (!(clip > 0))
      return n.fail("clip must be positive");
  }
  // Until opset 6 whether Y is given, which its name tells.
  if (n.opset < 7)
    n.ignore({"output_sequence"});
  return success(succeeded(readShapes()) && succeeded(readFunctions()) &&
                 succeeded(readLengths()));
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Value Recurrent::isWithin(int64_t step) {
  return n.broadcastDims(n.compare(ComparePredicate::GT, lengths,
                                   n.intScalar(step, n.elementOf(lengths))),
                         {batch, hidden}, {0});
}

Value Recurrent::choose(Value within, Value x, Value y) {
  return lengths ? n.select(within, x, y) : x;
}

LogicalResult Recurrent::give(ArrayRef<SmallVector<Value>> hiddens,
                              ArrayRef<State> last) {
  if (n.wants(0)) {
    SmallVector<Value> sequences;
    for (ArrayRef<Value> sequence : hiddens) {
      SmallVector<Value> rows;
      for (Value row : sequence)
        rows.push_back(n.reshape(row, {1, 1, batch, hidden}));
      sequences.push_back(n.concat(rows, 0));
    }
    Value all = n.concat(sequences, 1);
    if (failed(n.out(0, batchFirst ? n.transpose(all, {2, 0, 1, 3}) : all)))
      return failure();
  }
  for (unsigned output : {1u, 2u}) {
    if (!n.wants(output))
      continue;
    SmallVector<Value> states;
    for (const State &state : last)
      states.push_back(n.reshape(output == 1 ? state.hidden : state.cell,
                                 {1, batch, hidden}));
    Value all = n.concat(states, 0);
    if (failed(n.out(output, batchFirst ? n.transpose(all, {1, 0, 2}) : all)))
      return failure();
  }
  return success();
}

LogicalResult Recurrent::run(
    llvm::function_ref<State(const Direction &, Value, State)> step) {
  SmallVector<SmallVector<Value>, 2> hiddens;
  SmallVector<State, 2> last;
  for (auto [number, backwards] : llvm::enumerate(reversed)) {
    Direction direction = makeDirection(number);
    State state = direction.initial;
    SmallVector<Value> &sequence = hiddens.emplace_back(steps);
    for (int64_t i = 0; i < steps; ++i) {
      // What lies behind an example's end changes nothing: from the back, its
      // own sequence begins there.
      int64_t at = backwards ? steps - 1 - i : i;
      Value x = n.reshape(n.sliceDim(direction.input, 0, at, at + 1),
                          {batch, gates * hidden});
      State next = step(direction, x, state);
      if (!next.hidden)
        return failure();
      Value within = lengths ? isWithin(at) : Value();
      sequence[at] =
          choose(within, next.hidden, n.zeros({batch, hidden}, type));
      state.hidden = choose(within, next.hidden, state.hidden);
      state.cell = next.cell ? choose(within, next.cell, state.cell) : Value();
    }
    last.push_back(state);
  }
  return give(hiddens, last);
}

/// H = f(X W' + H R' + b).
static LogicalResult importRNN(OnnxNode &n) {
  Recurrent r(n, 1, {"Tanh"});
  if (failed(r.read()))
    return failure();
  return r.run([&](const Direction &d, Value x, State state) -> State {
    Value sum = r.plus(x, r.product(state.hidden, d.weight));
    return {r.activate(d.functions[0], sum), {}};
  });
}

/// z = f(Xz + H Rz'), r = f(Xr + H Rr'), H = (1 - z) h + z H where h is of what
/// r leaves of H: g(Xh + (r H) Rh'), or g(Xh + r (H Rh' + b)).
static LogicalResult importGRU(OnnxNode &n) {
  Recurrent r(n, 3, {"Sigmoid", "Tanh"});
  if (n.opset >= 3)
    r.resetsBehind = n.intAttr("linear_before_reset", 0) != 0;
  r.resetsBefore = !r.resetsBehind;
  if (failed(r.read()))
    return failure();
  return r.run([&](const Direction &d, Value x, State state) -> State {
    Value h = state.hidden, fresh = r.part(x, 2);
    Value states = r.product(h, d.weight);
    Value update = r.activate(d.functions[0], r.sum(x, states, 0));
    Value reset = r.activate(d.functions[0], r.sum(x, states, 1));
    if (r.resetsBehind) {
      Value own = r.part(states, 2);
      if (d.bias)
        own = r.plus(n.broadcastTo(d.bias, n.shapeOf(own)), own);
      fresh = r.plus(fresh, r.times(reset, own));
    } else {
      fresh = r.plus(fresh, r.product(r.times(reset, h), d.resetWeight));
    }
    fresh = r.activate(d.functions[1], fresh);
    Value kept = n.mul(n.sub(n.splat(1, update), update), fresh);
    return {r.plus(kept, r.times(update, h)), {}};
  });
}

/// C = f C + i c and H = o h(C), of gates that see C besides by peepholes.
static LogicalResult importLSTM(OnnxNode &n) {
  Recurrent r(n, 4, {"Sigmoid", "Tanh", "Tanh"});
  bool coupled = n.intAttr("input_forget", 0) != 0;
  if (failed(r.read()))
    return failure();
  return r.run([&](const Direction &d, Value x, State state) -> State {
    enum Gate { In, Out, Forget, Cell };
    enum Peephole { PeepIn, PeepOut, PeepForget };
    Value states = r.product(state.hidden, d.weight);
    auto gate = [&](Gate which, Peephole hole, Value cell) {
      return r.activate(d.functions[0],
                        r.peep(d, hole, r.sum(x, states, which), cell));
    };
    Value in = gate(In, PeepIn, state.cell);
    Value forget = coupled ? n.sub(n.splat(1, in), in)
                           : gate(Forget, PeepForget, state.cell);
    Value fresh = r.activate(d.functions[1], r.sum(x, states, Cell));
    Value cell = r.plus(n.mul(in, fresh), r.times(forget, state.cell));
    Value out = gate(Out, PeepOut, cell);
    return {n.mul(out, r.activate(d.functions[2], cell)), cell};
  });
}

ArrayRef<OnnxOp> mlir::dist::graph::getOnnxRecurrentOps() {
  static const OnnxOp rows[] = {
      {"RNN", 1, 3, 6, importRNN},
      {"GRU", 1, 3, 6, importGRU},
      {"LSTM", 1, 3, 8, importLSTM},
  };
  return rows;
}
