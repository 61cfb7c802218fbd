//===- StableHloImport.cpp - A StableHLO module to the graph dialect ------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/StableHlo.h"
#include "dialects/Graph/Import/Importer.h"
#include "dialects/Graph/Import/StableHloImporter.h"
#include "dialects/Interfaces/Ports.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

bool mlir::dist::graph::isStableHlo(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        StringRef dialect = op->getName().getDialectNamespace();
        return dialect == "stablehlo" || dialect == "chlo"
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

FailureOr<OwningOpRef<ModuleOp>>
mlir::dist::graph::importStableHlo(ModuleOp source) {
  return StableHloImporter(source).import();
}

StableHloImporter::StableHloImporter(ModuleOp source)
    : BuilderStorage(source.getContext()), Emitter(storage), source(source),
      symbols(source), table([] {
        Table rows;
        addMath(rows);
        addShapes(rows);
        addReductions(rows);
        addContractions(rows);
        addIndexing(rows);
        addControl(rows);
        return rows;
      }()) {
  // A file without any of their ops does not load them.
  getContext()->loadDialect<GraphDialect, func::FuncDialect>();
}

void StableHloImporter::addRows(Table &table, ArrayRef<Row> rows) {
  for (const Row &row : rows)
    table[row.name] = row;
}

void StableHloImporter::fail(const llvm::Twine &why, const llvm::Twine &todo) {
  InFlightDiagnostic error = emitError();
  if (current)
    error << "cannot import '" << current->getName() << "': ";
  error << why.str();
  if (std::string text = todo.str(); !text.empty())
    error << "; " << text;
}

FailureOr<HostTensor> StableHloImporter::readInitial(StringRef) {
  // A parameter's value changes: nothing may rest on it.
  return failure();
}

static std::string spell(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static bool isTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() &&
         isa<FloatType, IntegerType>(tensor.getElementType());
}

LogicalResult StableHloImporter::checkTypes(Operation *op) {
  for (Type type : op->getResultTypes()) {
    if (isTensor(type))
      continue;
    auto tensor = dyn_cast<RankedTensorType>(type);
    fail("its result would be a " + llvm::Twine(tensor ? "tensor" : "value") +
             " that is not of floats or integers in a fixed shape (" +
             spell(type) + ")",
         tensor && !tensor.hasStaticShape()
             ? "export the function for arguments of fixed shapes"
             : "");
    return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

/// The name that a tracer noted as an argument's place; empty: none.
static StringRef nameOf(Value argument) {
  auto name = dyn_cast<NameLoc>(argument.getLoc());
  return name ? name.getName().getValue() : StringRef();
}

LogicalResult StableHloImporter::addVariable(func::FuncOp entry, unsigned i) {
  auto symbol = entry.getArgAttrOfType<FlatSymbolRefAttr>(i, kVariableAttr);
  auto initial = entry.getArgAttrOfType<ElementsAttr>(i, kInitialAttr);
  Type type = entry.getArgument(i).getType();
  if (!symbol || !initial || initial.getType() != type) {
    fail("argument " + llvm::Twine(i) + " of '" + entry.getSymName() +
             "' is a variable, and has no name (" + kVariableAttr +
             ") or no value of its type to start from (" + kInitialAttr + ")",
         "give it both");
    return failure();
  }
  if (module->lookupSymbol(symbol.getAttr())) {
    fail("two variables are named '" + symbol.getValue() + "'",
         "give each a name of its own");
    return failure();
  }
  bool isTrained = entry.getArgAttr(i, kTrainableAttr) != nullptr;
  if (isTrained && !isa<FloatType>(cast<ShapedType>(type).getElementType())) {
    fail("variable '" + symbol.getValue() + "' is of integers, and trained",
         "leave " + kTrainableAttr + " out");
    return failure();
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(function);
  auto why = builder.getStringAttr(
      isTrained ? "the file says so" : "the file does not say that it is");
  auto variable = VariableOp::create(
      builder, loc, builder.getStringAttr(symbol.getValue()),
      TypeAttr::get(type), initial,
      isTrained ? builder.getUnitAttr() : UnitAttr(),
      builder.getStringAttr("parameter"),
      SynchronizationAttr::get(getContext(), Synchronization::OnWrite),
      AggregationAttr::get(getContext(), Aggregation::None),
      /*slot_of=*/FlatSymbolRefAttr(), why, /*sharding=*/Attribute());
  variable->setAttr("graph.model_name",
                    builder.getStringAttr(symbol.getValue()));
  builder.setInsertionPointToEnd(&function.front());
  values[entry.getArgument(i)] = ReadOp::create(builder, loc, type, symbol);
  return success();
}

/// The size of the first dim, if all of these have it.
static int64_t findLeadingSize(func::FuncOp entry, ArrayRef<unsigned> inputs) {
  SmallVector<Type> types(entry.getResultTypes());
  for (unsigned i : inputs)
    types.push_back(entry.getArgumentTypes()[i]);
  int64_t size = 0;
  for (Type type : types) {
    auto tensor = cast<RankedTensorType>(type);
    if (tensor.getRank() == 0 || (size && tensor.getDimSize(0) != size))
      return 0;
    size = tensor.getDimSize(0);
  }
  return inputs.empty() ? 0 : size;
}

LogicalResult StableHloImporter::importArguments(func::FuncOp entry) {
  SmallVector<unsigned> inputs;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    Type type = entry.getArgument(i).getType();
    if (!isTensor(type)) {
      fail("argument " + llvm::Twine(i) + " of '" + entry.getSymName() +
               "' is not of floats or integers in a fixed shape (" +
               spell(type) + ")",
           "export the function for arguments of fixed shapes");
      return failure();
    }
    auto role = entry.getArgAttrOfType<StringAttr>(i, kRoleAttr);
    if (!role || role.getValue() != "variable")
      inputs.push_back(i);
  }
  if (!llvm::all_of(entry.getResultTypes(), isTensor)) {
    fail("a result of '" + entry.getSymName() +
             "' is not of floats or integers in a fixed shape",
         "export the function for arguments of fixed shapes");
    return failure();
  }
  // Where nothing says so, what all inputs and results have in front counts
  // examples.
  bool hasBatch = findLeadingSize(entry, inputs) > 0;
  SmallVector<Type> types;
  for (unsigned i : inputs)
    types.push_back(entry.getArgumentTypes()[i]);
  function = func::FuncOp::create(
      builder, loc, "predict",
      builder.getFunctionType(types, entry.getResultTypes()));
  Block *body = function.addEntryBlock();
  for (auto [i, input] : llvm::enumerate(inputs)) {
    values[entry.getArgument(input)] = body->getArgument(i);
    auto name = entry.getArgAttrOfType<StringAttr>(input, kNameAttr);
    if (!name)
      name = builder.getStringAttr(nameOf(entry.getArgument(input)));
    if (name.empty())
      name = builder.getStringAttr("arg" + llvm::Twine(input));
    function.setArgAttr(i, kRoleAttr, builder.getStringAttr("input"));
    function.setArgAttr(i, kNameAttr, name);
    if (Attribute dim = entry.getArgAttr(input, kBatchDimAttr))
      function.setArgAttr(i, kBatchDimAttr, dim);
    else if (hasBatch)
      function.setArgAttr(i, kBatchDimAttr, builder.getI64IntegerAttr(0));
  }
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    auto name = entry.getResultAttrOfType<StringAttr>(i, kNameAttr);
    if (!name)
      name = entry.getResultAttrOfType<StringAttr>(i, "jax.result_info");
    if (!name || name.empty())
      name = builder.getStringAttr("result" + llvm::Twine(i));
    function.setResultAttr(i, kRoleAttr, builder.getStringAttr("output"));
    function.setResultAttr(i, kNameAttr, name);
    if (Attribute dim = entry.getResultAttr(i, kBatchDimAttr))
      function.setResultAttr(i, kBatchDimAttr, dim);
    else if (hasBatch)
      function.setResultAttr(i, kBatchDimAttr, builder.getI64IntegerAttr(0));
  }
  builder.setInsertionPointToEnd(body);
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (!llvm::is_contained(inputs, i) && failed(addVariable(entry, i)))
      return failure();
  return success();
}

/// Weights within the function are numbers like any others.
void StableHloImporter::noteConstants() {
  if (largeConstants == 0 || !module->getOps<VariableOp>().empty())
    return;
  std::string note =
      std::to_string(largeConstants) +
      " constants of the function are tables of floats, " +
      std::to_string(constantElements) +
      " numbers: if they are weights, they are not trained; export them as "
      "arguments that are variables, as examples/export/jax_to_mlir.py does";
  (*module)->setAttr(kNotes,
                     builder.getArrayAttr({builder.getStringAttr(note)}));
}

void StableHloImporter::finishEntry(func::FuncOp entry, ValueRange results) {
  func::ReturnOp::create(builder, entry.getLoc(), results);
  // What was evaluated on the way, and copies that later ones replaced.
  llvm::StringSet<> read;
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.front()))) {
    if (op.use_empty() && !isa<func::ReturnOp>(op))
      op.erase();
    else if (auto variable = dyn_cast<ReadOp>(op))
      read.insert(variable.getVariable());
  }
  for (auto variable : llvm::make_early_inc_range(module->getOps<VariableOp>()))
    if (!read.contains(variable.getSymName()))
      variable.erase();
  noteConstants();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// What no model needs, and hostile files would fill the memory with: a
/// function of two calls of one of two calls (and so on) is small in the file.
static constexpr unsigned kMostOps = 1 << 20;

LogicalResult StableHloImporter::importOp(Operation *op) {
  current = op;
  loc = op->getLoc();
  if (++ops > kMostOps) {
    fail("the functions and loops are more than " + llvm::Twine(kMostOps) +
         " ops when each call and round is written out");
    return failure();
  }
  if (failed(checkTypes(op)))
    return failure();
  auto row = table.find(op->getName().getStringRef());
  if (row == table.end()) {
    fail("this op is not supported",
         "write the function with others, or export it to ONNX");
    return failure();
  }
  const auto &[name, method, operandCount, resultCount] = row->second;
  if (op->getNumOperands() < operandCount ||
      op->getNumResults() < resultCount) {
    fail("it has " + llvm::Twine(op->getNumOperands()) + " operands and " +
         llvm::Twine(op->getNumResults()) + " results, and takes " +
         llvm::Twine(operandCount) + " and gives " + llvm::Twine(resultCount));
    return failure();
  }
  Results results = (this->*method)(op);
  current = op;
  loc = op->getLoc();
  if (results.empty() && op->getNumResults() > 0)
    return failure();
  if (results.size() != op->getNumResults()) {
    fail("it would have " + llvm::Twine(results.size()) + " results, and has " +
         llvm::Twine(op->getNumResults()));
    return failure();
  }
  for (auto [result, value] : llvm::zip_equal(op->getResults(), results)) {
    if (!value)
      return failure();
    if (value.getType() != result.getType()) {
      fail("it would give " + spell(value.getType()) + ", and the file has " +
           spell(result.getType()));
      return failure();
    }
    values[result] = value;
  }
  return success();
}

FailureOr<StableHloImporter::Results>
StableHloImporter::importBlock(Block &block, ValueRange arguments) {
  Operation *outer = current;
  for (auto [argument, value] :
       llvm::zip_equal(block.getArguments(), arguments)) {
    if (argument.getType() != value.getType()) {
      fail("it gives " + spell(value.getType()) + " where " +
           spell(argument.getType()) + " is taken");
      return failure();
    }
    values[argument] = value;
  }
  for (Operation &op : block) {
    StringRef name = op.getName().getStringRef();
    if (&op == &block.back() &&
        (name == "stablehlo.return" || name == "func.return")) {
      current = outer;
      return llvm::map_to_vector(op.getOperands(),
                                 [&](Value v) { return values.lookup(v); });
    }
    if (failed(importOp(&op)))
      return failure();
  }
  fail("a block of it has no end");
  return failure();
}

FailureOr<OwningOpRef<ModuleOp>> StableHloImporter::import() {
  loc = source.getLoc();
  auto entry = symbols.lookup<func::FuncOp>("main");
  if (!entry || !entry.getBody().hasOneBlock()) {
    fail("the module has no function 'main' of one block",
         "give what jax.jit(f).lower(...) has");
    return failure();
  }
  loc = entry.getLoc();
  module = ModuleOp::create(source.getLoc());
  builder.setInsertionPointToEnd(module->getBody());
  if (failed(importArguments(entry)))
    return failure();
  SmallVector<Value> arguments = llvm::map_to_vector(
      entry.getArguments(), [&](Value v) { return values.lookup(v); });
  FailureOr<Results> results = importBlock(entry.front(), arguments);
  if (failed(results))
    return failure();
  finishEntry(entry, *results);
  return std::move(module);
}
