//===- evaluate_onnx.cpp - ONNX node cases through import and evaluator ---===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// evaluate-onnx CASE...: each a folder of `model.onnx` and `test_data_set_0`
// with `input_i.pb` and `output_i.pb`, tensors named as the model names them,
// or a folder of such folders. Prints a line a case: pass, wrong or refused
// with the reason, and a count. Exit 1 when one is wrong, or when the data of
// one cannot be read. `--quiet` leaves out the lines of those that pass.
// evaluate-onnx --print MODEL [BATCH]: the imported module.
// evaluate-onnx --coverage MODEL: which nodes can be imported.
// evaluate-onnx --try MODEL...: imports each; only a crash makes it fail.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Graph/Import/Importer.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/formats/onnx_tensor.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <map>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// Runs a function op by op.
static LogicalResult evaluate(ModuleOp module, func::FuncOp function,
                              ArrayRef<HostTensor> arguments,
                              SmallVectorImpl<HostTensor> &results) {
  DenseMap<Value, HostTensor> values;
  for (auto [argument, value] : llvm::zip(function.getArguments(), arguments)) {
    if (value.getType() != argument.getType())
      return function.emitError() << "an input is of another type";
    values[argument] = value;
  }
  for (Operation &op : function.getBody().front()) {
    SmallVector<HostTensor> operands, outs;
    for (Value operand : op.getOperands())
      operands.push_back(values[operand]);
    if (isa<func::ReturnOp>(op)) {
      results = operands;
      return success();
    }
    if (auto read = dyn_cast<ReadOp>(op)) {
      auto variable = SymbolTable::lookupNearestSymbolFrom<VariableOp>(
          &op, read.getVariableAttr());
      FailureOr<HostTensor> initial =
          HostTensor::fromAttribute(variable.getInitial());
      if (failed(initial))
        return failure();
      outs.push_back(*initial);
    } else if (failed(cast<ReferenceOpInterface>(op).evaluate(operands, outs)))
      return failure();
    for (auto [result, value] : llvm::zip(op.getResults(), outs)) {
      if (value.getType() != result.getType())
        return op.emitError() << "evaluates to another type";
      values[result] = value;
    }
  }
  return failure();
}

/// NumPy's allclose: bf16 has 8 bits, so it gets more room. Gives the position
/// of the first difference, or -1.
static int64_t findDifference(const HostTensor &got, const HostTensor &want) {
  if (got.getType() != want.getType())
    return 0;
  double tolerance = want.getType().getElementType().isBF16() ? 1e-2 : 1e-3;
  for (int64_t i = 0; i < got.getNumElements(); ++i) {
    if (!got.isFloat()) {
      if (got.getInt(i) != want.getInt(i))
        return i;
      continue;
    }
    double a = got.getDouble(i), b = want.getDouble(i);
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    if (!(std::abs(a - b) <= 1e-5 + tolerance * std::abs(b)))
      return i;
  }
  return -1;
}

/// The input tensors of a case by name.
static FailureOr<std::map<std::string, HostTensor>>
readInputs(MLIRContext *context, const std::string &data,
           std::string *problem) {
  std::map<std::string, HostTensor> inputs;
  for (int i = 0;; ++i) {
    std::string path = data + "input_" + std::to_string(i) + ".pb";
    if (!llvm::sys::fs::exists(path))
      return inputs;
    auto file = llvm::MemoryBuffer::getFile(path);
    std::string name;
    ::dist::HostArray array;
    if (!file) {
      *problem = "cannot read " + path;
      return failure();
    }
    std::string bytes = (*file)->getBuffer().str();
    ::dist::Status status = ::dist::parseOnnxTensor(bytes, path, &name, &array);
    if (!status.ok()) {
      *problem = status.message();
      return failure();
    }
    FailureOr<HostTensor> value = readTensorFile(context, path);
    if (failed(value))
      return failure();
    inputs[name] = *value;
  }
}

/// Imports; inputs that decide a shape are given one at a time, as the tools
/// do.
static FailureOr<OwningOpRef<ModuleOp>>
importCase(MLIRContext *context, const std::string &path,
           const std::map<std::string, HostTensor> &inputs,
           std::string *message) {
  ImportOptions options;
  for (;;) {
    message->clear();
    FailureOr<OwningOpRef<ModuleOp>> module =
        importModel(context, path, options);
    size_t at = message->find("--bind ");
    if (succeeded(module) || at == std::string::npos)
      return module;
    std::string name = message->substr(at + 7);
    name.resize(name.find('='));
    auto it = inputs.find(name);
    if (it == inputs.end() || options.bindings.count(name))
      return module;
    options.bindings[name] = it->second;
  }
}

static std::pair<std::string, std::string> runCase(const std::string &folder) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<GraphDialect, func::FuncDialect>();
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (message.empty())
      message = diagnostic.str();
    return success();
  });
  std::string data = folder + "/test_data_set_0/";
  auto inputs = readInputs(&context, data, &message);
  // The model says whether a type is supported, unless it cannot be read.
  std::string unread = message;
  FailureOr<OwningOpRef<ModuleOp>> module = importCase(
      &context, folder + "/model.onnx",
      succeeded(inputs) ? *inputs : std::map<std::string, HostTensor>(),
      &message);
  if (failed(module))
    return {"refused", message};
  if (failed(inputs))
    return {"unreadable", unread};
  message.clear();
  auto function = (*module)->lookupSymbol<func::FuncOp>("predict");
  SmallVector<HostTensor> arguments;
  for (unsigned a = 0; a < function.getNumArguments(); ++a) {
    std::string name =
        function.getArgAttrOfType<StringAttr>(a, kNameAttr).str();
    auto it = inputs->find(name);
    if (it == inputs->end())
      return {"unreadable", "no file for input '" + name + "'"};
    arguments.push_back(it->second);
  }
  SmallVector<HostTensor> results;
  if (failed(evaluate(**module, function, arguments, results)))
    return {"wrong", message.empty() ? "not evaluated" : message};
  for (auto [i, got] : llvm::enumerate(results)) {
    std::string file = data + "output_" + std::to_string(i) + ".pb";
    if (!llvm::sys::fs::exists(file))
      return {"unreadable", "no " + file};
    FailureOr<HostTensor> want = readTensorFile(&context, file);
    if (failed(want))
      return {"unreadable", message};
    if (int64_t at = findDifference(got, *want); at >= 0) {
      std::string text;
      llvm::raw_string_ostream stream(text);
      stream << "output " << i << ": " << got.getType() << ", expected "
             << want->getType();
      if (at < got.getNumElements() && at < want->getNumElements())
        stream << "; element " << at << " is " << got.getDouble(at)
               << ", expected " << want->getDouble(at);
      return {"wrong", text};
    }
  }
  return {"pass", ""};
}

static int runCases(std::vector<std::string> arguments) {
  bool quiet = !arguments.empty() && arguments[0] == "--quiet";
  std::vector<std::string> folders;
  for (size_t i = quiet; i < arguments.size(); ++i) {
    if (llvm::sys::fs::exists(arguments[i] + "/model.onnx")) {
      folders.push_back(arguments[i]);
      continue;
    }
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(arguments[i], error), end;
         it != end && !error; it.increment(error))
      if (llvm::sys::fs::exists(it->path() + "/model.onnx"))
        folders.push_back(it->path());
  }
  llvm::sort(folders);
  std::map<std::string, int> counts = {{"pass", 0}, {"wrong", 0}};
  for (const std::string &folder : folders) {
    auto [verdict, reason] = runCase(folder);
    ++counts[verdict];
    if (!quiet || verdict != "pass")
      llvm::outs() << verdict << " " << folder << " " << reason << "\n";
    llvm::outs().flush();
  }
  for (const auto &[verdict, count] : counts)
    llvm::outs() << "total " << verdict << " " << count << "\n";
  return counts["wrong"] || counts.count("unreadable") || folders.empty();
}

int main(int argc, char **argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() >= 2 && arguments[0] == "--print") {
    MLIRContext context;
    ImportOptions options;
    if (arguments.size() > 2)
      options.batchSize = std::atoi(arguments[2].c_str());
    auto module = importModel(&context, arguments[1], options);
    if (failed(module))
      return 1;
    (*module)->print(
        llvm::outs(),
        OpPrintingFlags().elideLargeElementsAttrs().elideLargeResourceString());
    return 0;
  }
  if (arguments.size() == 2 && arguments[0] == "--coverage") {
    MLIRContext context;
    auto coverage = importCoverage(&context, arguments[1], {});
    if (failed(coverage))
      return 1;
    for (const CoverageRow &row : coverage->rows)
      llvm::outs() << row.node << " " << row.op << " " << row.opset << " "
                   << (row.supported ? "yes" : "no") << " " << row.reason
                   << "\n";
    return 0;
  }
  if (!arguments.empty() && arguments[0] == "--try") {
    int imported = 0, refused = 0;
    for (size_t i = 1; i < arguments.size(); ++i) {
      MLIRContext context(MLIRContext::Threading::DISABLED);
      int errors = 0;
      ScopedDiagnosticHandler count(&context, [&](Diagnostic &diagnostic) {
        errors += diagnostic.getSeverity() == DiagnosticSeverity::Error;
        return success();
      });
      ImportOptions options;
      options.batchSize = 2;
      bool good = succeeded(importModel(&context, arguments[i], options));
      ++(good ? imported : refused);
      if (good != (errors == 0)) {
        llvm::errs() << arguments[i] << ": refused without an error\n";
        return 1;
      }
    }
    llvm::outs() << imported << " imported, " << refused << " refused\n";
    return 0;
  }
  return runCases(arguments);
}
