//===- Entry.h - Arguments and results of an entry by their roles ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an argument or result of an entry is for stands in attributes
// (`graph.role`, `graph.name`, `graph.variable`, `graph.batch_dim`). The passes
// of this folder find and add them through these functions.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_GRAPH_ENTRY_H
#define PASSES_GRAPH_ENTRY_H

#include "dialects/Graph/IR/Graph.h"
#include "dialects/Interfaces/Signature.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::dist::graph {

/// What an argument or result is for. Null or empty members are absent.
struct Port {
  StringRef role;
  StringRef name;
  FlatSymbolRefAttr variable;
  int64_t batchDim = -1;
  int64_t classCount = 0;
  /// Of labels: the number that is none of a class.
  std::optional<int64_t> ignoredLabel;
};

StringRef getArgumentRole(func::FuncOp entry, unsigned index);
StringRef getResultRole(func::FuncOp entry, unsigned index);

/// The argument of that role, or null.
BlockArgument findArgument(func::FuncOp entry, StringRef role);
/// Index of the first result of that role; -1 if there is none.
int64_t findResult(func::FuncOp entry, StringRef role);

BlockArgument addArgument(func::FuncOp entry, Type type, const Port &port,
                          Location loc);
void addResult(func::FuncOp entry, Value value, const Port &port);
void addResults(func::FuncOp entry, ArrayRef<std::pair<Value, Port>> results);
void eraseResults(func::FuncOp entry,
                  llvm::function_ref<bool(unsigned)> predicate);

/// `return` of a function of one block.
func::ReturnOp getReturn(func::FuncOp entry);
/// Fails with an error of pass `pass` where there is no such: a declaration, or
/// several blocks.
LogicalResult verifyOneBlock(func::FuncOp entry, StringRef pass);

/// Size of the batch: dim `graph.batch_dim` of the first input that has one,
/// else dim 0 of the first input. Fails with an error on `entry`.
FailureOr<int64_t> getBatchSize(func::FuncOp entry);

/// The arguments of a partial entry: which rows are examples, and how many
/// there are on all replicas.
BlockArgument getMask(func::FuncOp entry, int64_t batch);
BlockArgument getCount(func::FuncOp entry);

/// A copy of `entry` after it, under another name.
func::FuncOp cloneEntry(func::FuncOp entry, StringRef name);
func::FuncOp findEntry(ModuleOp module, StringRef name);

/// Adds a variable after the module's others, every element `fill`; returns
/// the one of that name if it exists.
struct NewVariable {
  StringRef group;
  double fill = 0;
  FlatSymbolRefAttr slotOf = nullptr;
  Synchronization synchronization = Synchronization::OnWrite;
  Aggregation aggregation = Aggregation::None;
};
VariableOp addVariable(ModuleOp module, StringRef name, Type type,
                       const NewVariable &properties);

/// Variables by name, and the arguments and results that stand for them: looked
/// up once, so that a model of many layers costs no more a layer. While it
/// lives, variables and entries' arguments and results are only added. An entry
/// to which it adds is whole, but for its signature, which finish() sets.
class StateIndex {
public:
  explicit StateIndex(ModuleOp module);
  MLIRContext *getContext() { return module.getContext(); }
  VariableOp find(FlatSymbolRefAttr name);
  VariableOp add(StringRef name, Type type, const NewVariable &properties);
  /// The variable's argument, added if there is none.
  BlockArgument getArgument(func::FuncOp entry, VariableOp variable);
  /// The variable's new value becomes a result, or replaces the one there is.
  void setResult(func::FuncOp entry, VariableOp variable, Value value);
  /// Another result.
  void addResult(func::FuncOp entry, Value value, const Port &port);
  /// To be called before other code asks for arguments and results.
  void finish();

private:
  struct Ports {
    DenseMap<StringAttr, unsigned> arguments, results;
    std::optional<Signature> changed;
  };
  Ports &getPorts(func::FuncOp entry);

  ModuleOp module;
  SymbolTable symbols;
  VariableOp last;
  llvm::MapVector<Operation *, Ports> ports;
};

/// Erases the ops of `entry` that nothing uses.
void eraseDeadOps(func::FuncOp entry);

} // namespace mlir::dist::graph

#endif // PASSES_GRAPH_ENTRY_H
