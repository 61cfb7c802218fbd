//===- Processes.h - Which ranks share a process's memory -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks may be of several processes, which share no memory: the attribute
// `processes` of a mesh says into how many an axis is cut, each with as many of
// its positions, the first ones first. Processes are numbered as ranks are, by
// the mesh's axes.
//
//   dist.mesh @mesh ["host"=2, "data"=4] {processes = {host = 2 : i64}}
//
// What may be read by address, which links a collective passes, and the table
// of a package's manifest all follow from it.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_DIST_IR_PROCESSES_H
#define DIALECTS_DIST_IR_PROCESSES_H

#include "dialects/Dist/IR/Dist.h"

namespace mlir::dist {

inline constexpr llvm::StringLiteral kProcessesAttr = "processes";
/// The mesh's attribute `link_costs = {axis = 4.0}`: how many times dearer a
/// byte is along an axis than along others.
inline constexpr llvm::StringLiteral kLinkCosts = "link_costs";

/// Processes are along axes as a whole, not along parts of them, each a number
/// > 1 that divides the axis's size; and the mesh has no host besides.
LogicalResult verifyProcesses(MeshOp mesh);

/// Cuts an axis into so many processes; one: it stays as it is.
void setProcesses(MeshOp mesh, StringRef axis, int64_t count);

/// Into how many an axis, as a whole, is cut; 1: it is not.
int64_t getNumProcesses(MeshOp mesh, StringRef axis);

/// How many processes the ranks are of.
int64_t getNumProcesses(MeshOp mesh);

/// The process that a rank is of.
int64_t getProcessOfRank(MeshOp mesh, int64_t rank);

/// The number of each rank where those of a process follow each other, and
/// processes do, too, as on hosts and in racks: along the mesh's axes other
/// processes' ranks may be between them.
SmallVector<int64_t> numberByProcess(MeshOp mesh);

/// Whether a group along the axes has ranks of several processes, which cannot
/// read each other's memory.
bool crossesProcesses(MeshOp mesh, ArrayRef<StringAttr> axes);

} // namespace mlir::dist

#endif // DIALECTS_DIST_IR_PROCESSES_H
