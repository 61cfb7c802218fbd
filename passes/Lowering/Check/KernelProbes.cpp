//===- KernelProbes.cpp - Each kernel of a program as an entry ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Check/KernelProbes.h"
#include "dialects/Rt/IR/Rt.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Lowering/Check/KernelReference.h"
#include "passes/Lowering/Library/LibraryKernels.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// Probes
//===----------------------------------------------------------------------===//

static bool isKernel(Operation *op) {
  return isa<rt::FusedOp, rt::LibraryOp>(op);
}

/// The kernel's op behind those that prepare what it reads, in order; and the
/// values that they take.
static void collect(Operation *op, llvm::SetVector<Operation *> &ops,
                    llvm::SetVector<Value> &inputs) {
  for (Value operand : op->getOperands()) {
    if (hasKernelLayout(operand))
      collect(operand.getDefiningOp(), ops, inputs);
    else
      inputs.insert(operand);
  }
  ops.insert(op);
}

/// What the kernel does, by its ops; of many the first and how many more.
static std::string describeWork(Operation *op) {
  if (auto library = dyn_cast<rt::LibraryOp>(op)) {
    DictionaryAttr kernel = library.getKernel();
    std::string text = kernel.getAs<StringAttr>("kind").str();
    for (StringRef part : {"bias", "relu"})
      if (kernel.contains(part))
        text += (", " + part).str();
    return text;
  }
  std::string text;
  int64_t count = 0;
  Block &body = cast<rt::FusedOp>(op).getBody().front();
  for (Operation &inner : body.without_terminator()) {
    if (isFreeToRepeat(&inner))
      continue;
    if (++count <= 6)
      text += (count > 1 ? ", " : "") + inner.getName().stripDialect().str();
  }
  return count > 6 ? text + " and " + std::to_string(count - 6) + " more"
                   : text;
}

/// The nodes of the model that the ops come from.
static std::string describeNodes(ArrayRef<Operation *> ops) {
  llvm::SetVector<StringAttr> names;
  for (Operation *op : ops)
    op->walk([&](Operation *inner) {
      std::string name = getLocationName(inner->getLoc());
      if (!name.empty())
        names.insert(StringAttr::get(op->getContext(), name));
    });
  std::string text;
  for (auto [i, name] : llvm::enumerate(names.getArrayRef().take_front(4)))
    text += (i ? ", '" : "'") + name.str() + "'";
  if (names.size() > 4)
    text += " and " + std::to_string(names.size() - 4) + " more";
  return text;
}

static std::string describeImplementation(Operation *op, int64_t threads) {
  auto library = dyn_cast<rt::LibraryOp>(op);
  if (!library)
    return "generated";
  auto info = askLibrary(library.getKernel(), threads);
  return info ? info->implementation : "library";
}

static std::optional<Reduction> findChunks(Operation *op, unsigned number) {
  auto fused = dyn_cast<rt::FusedOp>(op);
  if (!fused)
    return std::nullopt;
  auto yield = cast<rt::YieldOp>(fused.getBody().front().getTerminator());
  Value yielded = yield.getValues()[number];
  if (yielded.getType() == fused.getResult(number).getType())
    return std::nullopt;
  auto reduce = yielded.getDefiningOp<graph::ReduceOp>();
  return reduce ? reduce.getKind() : Reduction::Sum;
}

/// The function of a probe: its ops, on arguments for the values they take.
static func::FuncOp emitProbe(OpBuilder &builder, StringRef name,
                              const KernelProbe &probe,
                              ArrayRef<Operation *> ops) {
  auto typesOf = [](ArrayRef<Value> values) {
    return llvm::map_to_vector(values, [](Value v) { return v.getType(); });
  };
  Location loc = ops.back()->getLoc();
  auto function = func::FuncOp::create(
      builder, loc, name,
      builder.getFunctionType(typesOf(probe.inputs), typesOf(probe.results)));
  OpBuilder inner(function.getContext());
  inner.setInsertionPointToStart(function.addEntryBlock());
  IRMapping mapping;
  for (auto [i, value] : llvm::enumerate(probe.inputs)) {
    mapping.map(value, function.getArgument(i));
    function.setArgAttr(i, kRoleAttr, builder.getStringAttr("input"));
    function.setArgAttr(i, kNameAttr, builder.getStringAttr(std::to_string(i)));
  }
  for (Operation *op : ops)
    inner.clone(*op, mapping);
  // A probe is one rank's own: nothing of it is split over a mesh.
  function.walk([](Operation *op) {
    for (NamedAttribute attribute :
         SmallVector<NamedAttribute>(op->getDiscardableAttrs()))
      if (attribute.getName().strref().starts_with("dist."))
        op->removeDiscardableAttr(attribute.getName());
  });
  SmallVector<Value> results;
  for (auto [i, value] : llvm::enumerate(probe.results)) {
    results.push_back(mapping.lookup(value));
    function.setResultAttr(i, kRoleAttr, builder.getStringAttr("output"));
    function.setResultAttr(i, kNameAttr,
                           builder.getStringAttr(std::to_string(i)));
  }
  func::ReturnOp::create(inner, loc, results);
  return function;
}

KernelProbes mlir::dist::makeKernelProbes(ModuleOp kernels, int64_t threads) {
  KernelProbes all;
  all.module = ModuleOp::create(kernels.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(all.module->getBody());
  for (auto function : kernels.getOps<func::FuncOp>()) {
    int64_t number = 0;
    if (function.isExternal())
      continue;
    for (Operation &op : function.front()) {
      if (!isKernel(&op))
        continue;
      KernelProbe probe;
      probe.program = function.getSymName().str();
      probe.number = number++;
      for (OpResult result : op.getResults())
        if (!hasKernelLayout(result)) {
          probe.results.push_back(result);
          probe.chunks.push_back(findChunks(&op, result.getResultNumber()));
        }
      if (probe.results.empty())
        continue;
      llvm::SetVector<Operation *> ops;
      llvm::SetVector<Value> inputs;
      collect(&op, ops, inputs);
      probe.inputs = SmallVector<Value>(inputs.getArrayRef());
      probe.work = describeWork(&op);
      probe.nodes = describeNodes(ops.getArrayRef());
      probe.implementation = describeImplementation(&op, threads);
      probe.tolerance = getTypeTolerance(&op);
      probe.function =
          emitProbe(builder, "probe_" + std::to_string(all.probes.size()),
                    probe, ops.getArrayRef());
      all.numbers[&op] = all.probes.size();
      all.probes.push_back(std::move(probe));
    }
  }
  return all;
}

//===----------------------------------------------------------------------===//
// Their cases
//===----------------------------------------------------------------------===//

namespace {
/// The first rank's values that kernels still to come take.
class ProbedValues {
public:
  explicit ProbedValues(const KernelProbes &probes) {
    for (const KernelProbe &probe : probes.probes)
      for (Value input : probe.inputs)
        ++uses[input];
  }
  void set(Value value, const HostTensor &tensor) {
    if (uses.lookup(value) > 0)
      values[value] = tensor;
  }
  HostTensor take(Value value) {
    HostTensor tensor = values[value];
    if (--uses[value] == 0)
      values.erase(value);
    return tensor;
  }

private:
  DenseMap<Value, int64_t> uses;
  DenseMap<Value, HostTensor> values;
};
} // namespace

LogicalResult mlir::dist::evaluateKernels(
    ModuleOp global, ModuleOp kernels, const KernelProbes &probes,
    uint64_t seed, llvm::function_ref<LogicalResult(KernelCase)> visit,
    llvm::function_ref<LogicalResult(const EntryPrograms &, EntryCase)>
        visitEntry) {
  ProbedValues values(probes);
  for (auto entry : global.getOps<func::FuncOp>()) {
    FailureOr<EntryPrograms> made = makeEntryPrograms(entry, kernels, seed);
    if (failed(made))
      return failure();
    if (made->programs.empty())
      continue;
    for (const RankProgram &program : made->programs)
      for (auto [value, tensor] :
           llvm::zip(func::FuncOp(program.function).getArguments(),
                     program.arguments.front()))
        values.set(value, tensor);
    auto observe = [&](Operation *op, ArrayRef<RankTensors> results) {
      if (isStart(op))
        return success();
      for (auto [value, tensor] : llvm::zip(op->getResults(), results.front()))
        values.set(value, tensor);
      auto found = probes.numbers.find(op);
      if (found == probes.numbers.end())
        return success();
      KernelCase test;
      test.probe = &probes.probes[found->second];
      for (Value input : test.probe->inputs)
        test.inputs.push_back(values.take(input));
      for (Value result : test.probe->results)
        test.expected.push_back(
            results.front()[cast<OpResult>(result).getResultNumber()]);
      return visit(std::move(test));
    };
    auto results = evaluatePrograms(made->programs, findMesh(kernels), observe);
    if (failed(results) ||
        failed(visitEntry(*made, makeEntryCase(*made, *results))))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

/// The numbers of a result; of one that is kept by chunk, what all together
/// are.
static std::vector<double> getNumbers(const HostTensor &tensor,
                                      std::optional<Reduction> chunks) {
  std::vector<double> numbers(tensor.getNumElements());
  for (auto [i, number] : llvm::enumerate(numbers))
    number = tensor.getDouble(i);
  if (!chunks || numbers.empty())
    return numbers;
  int64_t size = numbers.size() / tensor.getShape().front();
  for (size_t i = size; i < numbers.size(); ++i) {
    double &all = numbers[i % size], x = numbers[i];
    switch (*chunks) {
    case Reduction::Sum:
      all += x;
      break;
    case Reduction::Product:
      all *= x;
      break;
    case Reduction::Max:
      all = std::isnan(x) || x > all ? x : all;
      break;
    case Reduction::Min:
      all = std::isnan(x) || x < all ? x : all;
      break;
    }
  }
  numbers.resize(size);
  return numbers;
}

/// How far apart two numbers are; infinite where only one is NaN.
static double getDistance(double x, double y) {
  if (x == y || (std::isnan(x) && std::isnan(y)))
    return 0;
  double distance = std::abs(x - y);
  return std::isnan(distance) ? std::numeric_limits<double>::infinity()
                              : distance;
}

/// The inputs, each float changed by its rounding up or down.
static SmallVector<HostTensor> perturb(ArrayRef<HostTensor> inputs,
                                       double rounding, uint64_t trial) {
  SmallVector<HostTensor> changed(inputs);
  uint64_t state = trial * 0x9e3779b97f4a7c15ull + 1;
  for (HostTensor &tensor : changed)
    if (tensor.isFloat())
      for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        double x = tensor.getDouble(i);
        tensor.setDouble(i, state >> 63 ? x + x * rounding : x - x * rounding);
      }
  return changed;
}

FailureOr<KernelDifference>
mlir::dist::compareKernel(const KernelCase &test, ArrayRef<HostTensor> actual) {
  const KernelProbe &probe = *test.probe;
  // What the element itself moves by, of all results; found out when needed.
  std::vector<std::vector<double>> moves;
  auto findMoves = [&]() -> LogicalResult {
    for (const HostTensor &tensor : test.expected)
      moves.emplace_back(tensor.getNumElements(), 0.0);
    // Some units in the last place: of f32, of bf16, of f64.
    double rounding = probe.tolerance > 1e-3   ? 0x1p-8
                      : probe.tolerance > 1e-7 ? 0x1p-22
                                               : 0x1p-50;
    for (uint64_t trial = 0; trial < 8; ++trial) {
      auto results = evaluateFunction(probe.function,
                                      perturb(test.inputs, rounding, trial));
      if (failed(results))
        return failure();
      for (unsigned r = 0; r < results->size(); ++r) {
        auto whole = getNumbers(test.expected[r], probe.chunks[r]);
        auto moved = getNumbers((*results)[r], probe.chunks[r]);
        for (size_t i = 0; i < whole.size(); ++i)
          moves[r][i] = std::max(moves[r][i], getDistance(whole[i], moved[i]));
      }
    }
    return success();
  };
  KernelDifference worst;
  for (unsigned r = 0; r < test.expected.size(); ++r) {
    auto want = getNumbers(test.expected[r], probe.chunks[r]);
    auto got = getNumbers(actual[r], probe.chunks[r]);
    double magnitude = 1e-6;
    for (double x : want)
      if (std::isfinite(x))
        magnitude = std::max(magnitude, std::abs(x));
    bool isFloat = test.expected[r].isFloat();
    double allowed = isFloat ? probe.tolerance * magnitude : 0;
    for (size_t i = 0; i < want.size(); ++i) {
      double distance = getDistance(want[i], got[i]);
      double excess = distance;
      if (distance > allowed) {
        if (moves.empty() && failed(findMoves()))
          return failure();
        // An overflow, or NaN, next to one is anything.
        excess = std::isinf(moves[r][i]) ? 0 : distance - 16 * moves[r][i];
      }
      bool isAllowed = excess <= allowed;
      double relative =
          std::max(isAllowed ? std::min(distance, allowed) : distance, 0.0) /
          magnitude;
      if (isAllowed != worst.isAllowed ? isAllowed : relative <= worst.largest)
        continue;
      worst.largest = relative;
      worst.isAllowed = isAllowed;
      worst.result = r;
      worst.expected = want[i];
      worst.actual = got[i];
      HostTensor whole = test.expected[r];
      worst.index = whole.delinearize(i);
      if (probe.chunks[r])
        worst.index.erase(worst.index.begin());
    }
  }
  return worst;
}
