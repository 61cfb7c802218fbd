//===- Processes.cpp - Which ranks share a process's memory -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Processes.h"
#include "dialects/Dist/IR/AxisParts.h"

using namespace mlir;
using namespace mlir::dist;

LogicalResult mlir::dist::verifyProcesses(MeshOp mesh) {
  Attribute attribute = mesh->getAttr(kProcessesAttr);
  if (!attribute)
    return success();
  auto processes = dyn_cast<DictionaryAttr>(attribute);
  if (!processes)
    return mesh.emitOpError()
           << "expected '" << kProcessesAttr
           << "' to be a dictionary of axes, but got " << attribute;
  if (mesh.getHost())
    return mesh.emitOpError() << "expected no host of a mesh in several "
                                 "processes";
  auto axes = getWholeAxes(mesh);
  for (NamedAttribute entry : processes) {
    auto axis = llvm::find_if(
        axes, [&](const auto &axis) { return axis.first == entry.getName(); });
    if (axis == axes.end())
      return mesh.emitOpError()
             << "has processes along '" << entry.getName().getValue()
             << "', which is none of its axes";
    auto count = dyn_cast<IntegerAttr>(entry.getValue());
    if (!count || count.getInt() < 2 || axis->second % count.getInt() != 0)
      return mesh.emitOpError()
             << "expected the processes along '" << entry.getName().getValue()
             << "' to be a number > 1 that divides " << axis->second
             << ", but got " << entry.getValue();
  }
  return success();
}

void mlir::dist::setProcesses(MeshOp mesh, StringRef axis, int64_t count) {
  if (count < 2)
    return;
  NamedAttrList processes(mesh->getAttrOfType<DictionaryAttr>(kProcessesAttr));
  processes.set(axis, Builder(mesh.getContext()).getI64IntegerAttr(count));
  mesh->setAttr(kProcessesAttr, processes.getDictionary(mesh.getContext()));
}

int64_t mlir::dist::getNumProcesses(MeshOp mesh, StringRef axis) {
  auto processes = mesh->getAttrOfType<DictionaryAttr>(kProcessesAttr);
  auto count = processes ? processes.getAs<IntegerAttr>(axis) : IntegerAttr();
  return count ? count.getInt() : 1;
}

int64_t mlir::dist::getNumProcesses(MeshOp mesh) {
  int64_t count = 1;
  for (auto [axis, size] : getWholeAxes(mesh))
    count *= getNumProcesses(mesh, axis);
  return count;
}

int64_t mlir::dist::getProcessOfRank(MeshOp mesh, int64_t rank) {
  // The last axis counts fastest, in ranks as in processes.
  int64_t process = 0, processesBehind = 1;
  auto axes = getWholeAxes(mesh); // which a reversed range does not keep
  for (auto [axis, size] : llvm::reverse(axes)) {
    int64_t count = getNumProcesses(mesh, axis);
    int64_t position = rank % size;
    rank /= size;
    process += position / (size / count) * processesBehind;
    processesBehind *= count;
  }
  return process;
}

SmallVector<int64_t> mlir::dist::numberByProcess(MeshOp mesh) {
  int64_t ranks = mesh.getNumRanks();
  int64_t ofEach = ranks / getNumProcesses(mesh);
  SmallVector<int64_t> numbers, next;
  for (int64_t begin = 0; begin < ranks; begin += ofEach)
    next.push_back(begin);
  for (int64_t rank = 0; rank < ranks; ++rank)
    numbers.push_back(next[getProcessOfRank(mesh, rank)]++);
  return numbers;
}

bool mlir::dist::crossesProcesses(MeshOp mesh, ArrayRef<StringAttr> axes) {
  return llvm::any_of(axes, [&](StringAttr axis) {
    if (mesh.getAxisSize(axis) < 2)
      return false;
    // The ranks of a part are within 1/before of the axis, and a process has
    // 1/count of it.
    auto part = AxisPart::parse(axis);
    return (part ? part->before : 1) <
           getNumProcesses(mesh, getWholeAxis(axis));
  });
}
