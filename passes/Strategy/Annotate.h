//===- Annotate.h - What all strategies say first -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A strategy's pass annotates the module with a mesh: entries' arguments and
// results, and variables. The first of a list of strategies finds nothing and
// says where the batch lies; later ones refine it.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_STRATEGY_ANNOTATE_H
#define PASSES_STRATEGY_ANNOTATE_H

#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Graph/IR/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dist {

/// Adds `@mesh` with axes given as NAME:SIZE, some of which are cut into
/// processes, given as NAME:NUMBER, which a byte passes at so many times the
/// cost. Fails if there is a mesh already.
FailureOr<MeshOp> createMesh(ModuleOp module, ArrayRef<std::string> axes,
                             ArrayRef<std::string> processes = {},
                             double processLinkCost = 1);

/// The module's mesh; fails with an error that names `pass`.
FailureOr<MeshOp> getMesh(ModuleOp module, StringRef pass);

/// Axes by their names, which the mesh must have; the parts of those that stand
/// in parts.
FailureOr<SmallVector<StringAttr>>
getAxes(MeshOp mesh, ArrayRef<std::string> names, StringRef pass);

/// Notes for tables and messages why the mesh has `axis`.
void addReason(MeshOp mesh, StringAttr axis, const Twine &reason);

/// Notes why a variable is split over `axis`.
void addReason(graph::VariableOp variable, StringAttr axis,
               const Twine &reason);

/// Whether a strategy has annotated the module.
bool isAnnotated(ModuleOp module);

/// Inputs, labels, masks and outputs are split along their batch dim over
/// `replicaAxes` (none: whole on each rank); variables are whole with respect
/// to these axes, but ON_READ ones: SUM is unreduced, MEAN and
/// ONLY_FIRST_REPLICA are split along dim 0. Where the mesh has other axes,
/// variables and outputs stay open to them. The batch divides into `parts`, of
/// which unequal replicas take several; 0: one each.
LogicalResult annotate(ModuleOp module, MeshOp mesh,
                       ArrayRef<StringAttr> replicaAxes, int64_t parts = 0);

/// Whether dim 0 of the variable, which the model file does not know, has a row
/// for each replica: ON_READ, MEAN or ONLY_FIRST_REPLICA.
bool hasReplicaRows(graph::VariableOp variable);

/// A variable's sharding; null before a strategy has annotated it.
ShardingAttr getVariableSharding(graph::VariableOp variable);

/// A module's variables and where its functions take and give them, looked up
/// once: a model of many layers has thousands. While it lives, functions keep
/// their arguments and results.
class VariableTable {
public:
  explicit VariableTable(ModuleOp module);

  graph::VariableOp find(FlatSymbolRefAttr name) const;
  /// The optimizer slots and accumulators of a variable.
  ArrayRef<graph::VariableOp> getSlots(graph::VariableOp variable) const;
  /// The variable that an argument stands for; null if none.
  graph::VariableOp findOf(BlockArgument argument) const;
  /// What binds a variable to arguments or results of `function`.
  BlockArgument findArgument(func::FuncOp function,
                             graph::VariableOp variable) const;
  SmallVector<unsigned> findResults(func::FuncOp function,
                                    graph::VariableOp variable) const;
  /// Of the variable; update() tells the functions that take or give it.
  void setSharding(graph::VariableOp variable, ShardingAttr sharding);
  void update();

private:
  struct Port {
    func::FuncOp function;
    unsigned index;
    bool isResult;
  };
  DenseMap<StringAttr, graph::VariableOp> variables;
  DenseMap<StringAttr, SmallVector<graph::VariableOp>> slots;
  DenseMap<StringAttr, SmallVector<Port, 4>> ports;
  DenseMap<Value, graph::VariableOp> arguments;
  SmallVector<graph::VariableOp> changed;
};

} // namespace mlir::dist

#endif // PASSES_STRATEGY_ANNOTATE_H
