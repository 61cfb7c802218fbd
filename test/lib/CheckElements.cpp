//===- CheckElements.cpp - Interprets the scalar code of ops -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every scalar is an attribute, and an op is run by folding it: arith and math
// bring their own semantics, and only control flow and memory stand here.
//
//===----------------------------------------------------------------------===//
#include "CheckElements.h"
#include "dialects/Interfaces/Decomposable.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/IR/Verifier.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;

namespace {

/// The tensor's type as memory of its storage type.
MemRefType getMemRefType(RankedTensorType type) {
  return MemRefType::get(type.getShape(),
                         getStorageType(type.getElementType()));
}

class Interpreter {
public:
  explicit Interpreter(Operation *reportTo) : reportTo(reportTo) {}

  void bind(Value value, Attribute scalar) { scalars[value] = scalar; }
  void bindMemory(Value value, HostTensor tensor) {
    memory[value] = std::move(tensor);
  }
  HostTensor getMemory(Value value) { return memory.lookup(value); }

  /// Runs a block up to its terminator; gives the terminator's operands.
  FailureOr<SmallVector<Attribute>> run(Block &block) {
    for (Operation &op : block.without_terminator())
      if (failed(run(&op)))
        return failure();
    SmallVector<Attribute> yielded;
    for (Value value : block.getTerminator()->getOperands())
      yielded.push_back(scalars.lookup(value));
    return yielded;
  }

private:
  int64_t getIndex(Value value) {
    return cast<IntegerAttr>(scalars.lookup(value)).getValue().getSExtValue();
  }
  LogicalResult bindAll(ValueRange values, ArrayRef<Attribute> attributes) {
    for (auto [value, attribute] : llvm::zip(values, attributes))
      bind(value, attribute);
    return success();
  }

  LogicalResult run(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return runLoop(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      bool taken = getIndex(branch.getCondition()) != 0;
      Region &region = taken ? branch.getThenRegion() : branch.getElseRegion();
      if (region.empty())
        return success();
      auto results = run(region.front());
      return failed(results) ? failure() : bindAll(op->getResults(), *results);
    }
    if (auto load = dyn_cast<memref::LoadOp>(op)) {
      auto position = locate(load.getMemRef(), load.getIndices());
      if (failed(position))
        return failure();
      bind(load,
           getElement(memory[load.getMemRef()], *position, load.getType()));
      return success();
    }
    if (auto store = dyn_cast<memref::StoreOp>(op)) {
      auto position = locate(store.getMemRef(), store.getIndices());
      if (failed(position))
        return failure();
      setElement(memory[store.getMemRef()], *position,
                 scalars.lookup(store.getValue()));
      return success();
    }
    if (isa<memref::AllocaOp, memref::AllocOp>(op)) {
      auto type = cast<MemRefType>(op->getResult(0).getType());
      bindMemory(op->getResult(0),
                 HostTensor(RankedTensorType::get(type.getShape(),
                                                  type.getElementType())));
      return success();
    }
    return fold(op);
  }

  LogicalResult runLoop(scf::ForOp loop) {
    SmallVector<Attribute> state;
    for (Value init : loop.getInitArgs())
      state.push_back(scalars.lookup(init));
    int64_t step = getIndex(loop.getStep());
    Builder builder(loop.getContext());
    for (int64_t i = getIndex(loop.getLowerBound()),
                 end = getIndex(loop.getUpperBound());
         i < end; i += step) {
      bind(loop.getInductionVar(),
           builder.getIntegerAttr(loop.getInductionVar().getType(), i));
      (void)bindAll(loop.getRegionIterArgs(), state);
      auto next = run(*loop.getBody());
      if (failed(next))
        return failure();
      state = *next;
    }
    return bindAll(loop.getResults(), state);
  }

  LogicalResult fold(Operation *op) {
    SmallVector<Attribute> operands;
    for (Value operand : op->getOperands())
      operands.push_back(scalars.lookup(operand));
    SmallVector<OpFoldResult> results;
    if (op->getNumRegions() || failed(op->fold(operands, results)) ||
        results.size() != op->getNumResults()) {
      Attribute value = compute(op, operands);
      if (!value)
        return reportTo->emitError("scalar code has an op that does not run: ")
               << *op;
      bind(op->getResult(0), value);
      return success();
    }
    for (auto [value, result] : llvm::zip(op->getResults(), results)) {
      if (auto same = dyn_cast<Value>(result))
        bind(value, scalars.lookup(same));
      else
        bind(value, cast<Attribute>(result));
    }
    return success();
  }

  /// The ops without a folder, or whose folder refuses to round.
  static Attribute compute(Operation *op, ArrayRef<Attribute> operands) {
    StringRef name = op->getName().getStringRef();
    if (operands.empty() || !isa_and_nonnull<FloatAttr>(operands[0]))
      return {};
    auto x = cast<FloatAttr>(operands[0]);
    double number = x.getValueAsDouble();
    auto give = [&](double result) {
      auto type = cast<FloatType>(op->getResult(0).getType());
      return FloatAttr::get(type, roundToType(result, type));
    };
    if (name == "arith.truncf")
      return give(number);
    if (name == "math.rsqrt")
      return give(1 / std::sqrt(number));
    if (name == "math.asinh")
      return give(std::asinh(number));
    if (name == "math.acosh")
      return give(std::acosh(number));
    if (name == "math.atanh")
      return give(std::atanh(number));
    if (name == "math.sinh")
      return give(std::sinh(number));
    if (name == "math.cosh")
      return give(std::cosh(number));
    if (name == "math.absf")
      return give(std::fabs(number));
    auto isBool = [&](bool result) {
      return BoolAttr::get(op->getContext(), result);
    };
    if (name == "math.isnan")
      return isBool(std::isnan(number));
    if (name == "math.isinf")
      return isBool(std::isinf(number));
    if (name == "math.isfinite")
      return isBool(std::isfinite(number));
    return {};
  }

  FailureOr<int64_t> locate(Value memref, ValueRange indices) {
    const HostTensor &tensor = memory[memref];
    SmallVector<int64_t> index;
    for (auto [value, size] : llvm::zip(indices, tensor.getShape())) {
      index.push_back(getIndex(value));
      if (index.back() < 0 || index.back() >= size)
        return reportTo->emitError("scalar code reaches index ")
               << index.back() << " of a dim of " << size;
    }
    return tensor.linearize(index);
  }

  /// Floats may lie in memory as their bits.
  static Attribute getElement(const HostTensor &tensor, int64_t at, Type type) {
    auto held = dyn_cast<FloatType>(tensor.getType().getElementType());
    if (held && isa<IntegerType>(type)) {
      auto number = FloatAttr::get(held, tensor.getDouble(at));
      return IntegerAttr::get(type, number.getValue().bitcastToAPInt());
    }
    if (auto floatType = dyn_cast<FloatType>(type))
      return FloatAttr::get(floatType, tensor.getDouble(at));
    return IntegerAttr::get(type,
                            APInt(type.getIntOrFloatBitWidth(),
                                  uint64_t(tensor.getInt(at)), false, true));
  }
  static void setElement(HostTensor &tensor, int64_t at, Attribute value) {
    auto held = dyn_cast<FloatType>(tensor.getType().getElementType());
    if (held && isa<IntegerAttr>(value))
      value =
          FloatAttr::get(held, APFloat(held.getFloatSemantics(),
                                       cast<IntegerAttr>(value).getValue()));
    if (auto number = dyn_cast<FloatAttr>(value))
      tensor.setDouble(at, number.getValueAsDouble());
    else
      tensor.setInt(at, cast<IntegerAttr>(value).getValue().getSExtValue());
  }

  Operation *reportTo;
  llvm::DenseMap<Value, Attribute> scalars;
  llvm::DenseMap<Value, HostTensor> memory;
};

/// A function of memrefs in which scalar code is built and run.
struct Code {
  Code(Operation *op, bool withIndices, unsigned result)
      : builder(op->getContext()) {
    Location loc = op->getLoc();
    function =
        func::FuncOp::create(loc, "code", builder.getFunctionType({}, {}));
    Block *block = function->addEntryBlock();
    auto add = [&](Value value) {
      return block->addArgument(
          getMemRefType(cast<RankedTensorType>(value.getType())), loc);
    };
    for (Value operand : op->getOperands())
      operands.push_back(add(operand));
    for (Value value : op->getResults())
      results.push_back(add(value));
    if (withIndices) {
      auto type = cast<RankedTensorType>(op->getResult(result).getType());
      for (int64_t d = 0; d < type.getRank(); ++d)
        indices.push_back(block->addArgument(builder.getIndexType(), loc));
    }
    function->setType(builder.getFunctionType(block->getArgumentTypes(), {}));
    builder.setInsertionPointToEnd(block);
  }
  OwningOpRef<func::FuncOp> function;
  OpBuilder builder;
  SmallVector<Value> operands, results, indices;
};

} // namespace

/// Runs code that writes one element of a result, at each of its indices.
static LogicalResult runAtEachIndex(Code &code, Operation *op,
                                    ArrayRef<HostTensor> operands,
                                    unsigned result, HostTensor &tensor) {
  if (failed(verify(*code.function)))
    return op->emitError("scalar code does not verify");
  Interpreter interpreter(op);
  for (auto [value, operand] : llvm::zip(code.operands, operands))
    interpreter.bindMemory(value, operand);
  interpreter.bindMemory(code.results[result], tensor);
  LogicalResult status = success();
  forEachIndex(tensor.getShape(), [&](ArrayRef<int64_t> index) {
    for (auto [value, position] : llvm::zip(code.indices, index))
      interpreter.bind(value, code.builder.getIndexAttr(position));
    if (succeeded(status) &&
        failed(interpreter.run(code.function->getBody().front())))
      status = failure();
  });
  tensor = interpreter.getMemory(code.results[result]);
  return status;
}

static LogicalResult interpretElements(ElementalOpInterface op, unsigned result,
                                       ArrayRef<HostTensor> operands,
                                       HostTensor &tensor) {
  Code code(op, /*withIndices=*/true, result);
  Location loc = op.getLoc();
  auto load = [&](unsigned operand, ValueRange indices) -> Value {
    Type element = getElementTypeOrSelf(op->getOperand(operand).getType());
    Value stored = memref::LoadOp::create(code.builder, loc,
                                          code.operands[operand], indices);
    return emitToCompute(code.builder, loc, stored, element);
  };
  Value element = op.emitElement(code.builder, loc, result, code.indices, load);
  RankedTensorType type = tensor.getType();
  if (!element || element.getType() != getComputeType(type.getElementType()))
    return op.emitError("scalar code does not give the compute type of ")
           << type;
  Value stored =
      emitToStorage(code.builder, loc, element, type.getElementType());
  memref::StoreOp::create(code.builder, loc, stored, code.results[result],
                          code.indices);
  func::ReturnOp::create(code.builder, loc);
  return runAtEachIndex(code, op, operands, result, tensor);
}

/// Rows one after the other, each into memory of its own.
static LogicalResult interpretRows(RowCodeOpInterface op,
                                   ArrayRef<HostTensor> operands,
                                   HostTensor &tensor) {
  Code code(op, /*withIndices=*/true, 0);
  OpBuilder &b = code.builder;
  Location loc = op.getLoc();
  RankedTensorType type = tensor.getType();
  Value memory = memref::AllocaOp::create(
      b, loc,
      MemRefType::get(type.getShape().take_back(1),
                      getComputeType(type.getElementType())));
  op.emitRow(
      b, loc, ArrayRef(code.indices).drop_back(),
      [&](unsigned operand, ValueRange indices) -> Value {
        Type element = getElementTypeOrSelf(op->getOperand(operand).getType());
        Value stored =
            memref::LoadOp::create(b, loc, code.operands[operand], indices);
        return emitToCompute(b, loc, stored, element);
      },
      memory);
  Value computed = memref::LoadOp::create(b, loc, memory, code.indices.back());
  memref::StoreOp::create(
      b, loc, emitToStorage(b, loc, computed, type.getElementType()),
      code.results[0], code.indices);
  func::ReturnOp::create(b, loc);
  return runAtEachIndex(code, op, operands, 0, tensor);
}

static LogicalResult interpretLoops(LoopedOpInterface op,
                                    ArrayRef<HostTensor> operands,
                                    MutableArrayRef<HostTensor> results) {
  Code code(op, /*withIndices=*/false, 0);
  // Rows in two parts, as two threads would run them.
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(code.builder, op.getLoc(), value);
  };
  int64_t rows = op.getLoopRows();
  int64_t ends[] = {0, rows / 2, rows};
  for (int part = rows == 1; part < 2; ++part)
    if (failed(op.emitLoops(code.builder, op.getLoc(), code.operands,
                            code.results, index(ends[part]),
                            index(ends[part + 1]))))
      return op.emitError("has no loops");
  func::ReturnOp::create(code.builder, op.getLoc());
  if (failed(verify(*code.function)))
    return op.emitError("loops do not verify");
  Interpreter interpreter(op);
  for (auto [value, operand] : llvm::zip(code.operands, operands))
    interpreter.bindMemory(value, operand);
  for (auto [value, result] : llvm::zip(code.results, results))
    interpreter.bindMemory(value, result);
  if (failed(interpreter.run(code.function->getBody().front())))
    return failure();
  for (auto [value, result] : llvm::zip(code.results, results))
    result = interpreter.getMemory(value);
  return success();
}

void mlir::dist::registerScalarDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, func::FuncDialect, math::MathDialect,
                  memref::MemRefDialect, scf::SCFDialect>();
}

FailureOr<SmallVector<HostTensor>>
mlir::dist::interpretScalarCode(Operation *op, ArrayRef<HostTensor> operands) {
  SmallVector<HostTensor> results;
  auto looped = dyn_cast<LoopedOpInterface>(op);
  // Constants are data of the program, composites are decomposed before.
  if (!looped && !isElemental(op))
    return results;
  for (Type type : op->getResultTypes())
    results.emplace_back(cast<RankedTensorType>(type));
  if (looped) {
    if (failed(interpretLoops(looped, operands, results)))
      return failure();
    return results;
  }
  if (auto rows = dyn_cast<RowCodeOpInterface>(op)) {
    if (failed(interpretRows(rows, operands, results[0])))
      return failure();
    return results;
  }
  auto elemental = cast<ElementalOpInterface>(op);
  for (unsigned i = 0; i < results.size(); ++i)
    if (failed(interpretElements(elemental, i, operands, results[i])))
      return failure();
  return results;
}
