//===- EmitOnnx.cpp - The model file with its shardings -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Dist/IR/Stage.h"
#include "dialects/Graph/IR/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/export/onnx_export.h"
#include "tools/dist-opt/Compilation.h"
#include "tools/dist-opt/Reports.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include <set>

using namespace mlir;
using namespace mlir::dist;
using ::dist::OnnxShards;
using ::dist::Status;
using ::dist::StatusCode;

/// The stages whose programs read or write a variable; none: all have it.
static llvm::StringMap<std::set<int64_t>> findStages(ModuleOp module) {
  llvm::StringMap<std::set<int64_t>> stages;
  for (auto function : module.getOps<func::FuncOp>()) {
    auto stage = function->getAttrOfType<IntegerAttr>(kStageAttr);
    for (unsigned i = 0; stage && i < function.getNumArguments(); ++i)
      if (auto name =
              function.getArgAttrOfType<FlatSymbolRefAttr>(i, "graph.variable"))
        stages[name.getValue()].insert(stage.getInt());
  }
  return stages;
}

/// As `dist-run fit --output FILE.onnx` writes them, of the partitioned module.
std::map<std::string, OnnxShards> Compilation::findShards() {
  MeshOp mesh = findMesh(*module);
  if (!mesh)
    return {};
  llvm::StringMap<int64_t> strides, sizes;
  int64_t ranks = 1;
  for (auto [name, size] :
       llvm::reverse(llvm::zip(mesh.getAxisNames().getAsRange<StringAttr>(),
                               mesh.getAxisSizes()))) {
    strides[name.getValue()] = ranks;
    sizes[name.getValue()] = size;
    ranks *= size;
  }
  auto getPlace = [&](int64_t rank, StringRef axis) {
    return rank / strides[axis] % sizes[axis];
  };
  auto stages = findStages(*module);
  std::map<std::string, OnnxShards> result;
  for (auto variable : module->getOps<graph::VariableOp>()) {
    auto sharding = dyn_cast_or_null<ShardingAttr>(variable.getShardingAttr());
    auto name = variable->getAttrOfType<StringAttr>("graph.model_name");
    if (!sharding || !name)
      continue;
    OnnxShards shards;
    std::vector<int64_t> places(ranks, 0);
    int64_t parts = 1;
    // The model has no dim for the row that each replica keeps.
    unsigned first =
        variable.getSynchronization() == graph::Synchronization::OnRead &&
        variable.getAggregation() == graph::Aggregation::Mean;
    for (unsigned dim = first; dim < sharding.getNumDims(); ++dim) {
      int64_t count = 1;
      for (StringAttr axis : sharding.getAxes(dim)) {
        // What the batch splits (zero's shards) is gathered for computing.
        if (llvm::is_contained(strategy.dataAxes, axis.getValue()))
          continue;
        count *= sizes[axis.getValue()];
        for (int64_t rank = 0; rank < ranks; ++rank)
          places[rank] = places[rank] * sizes[axis.getValue()] +
                         getPlace(rank, axis.getValue());
      }
      shards.counts.push_back(count);
      parts *= count;
    }
    if (parts == 1)
      continue;
    shards.devices.resize(parts);
    const std::set<int64_t> &holders = stages[variable.getSymName()];
    for (int64_t rank = 0; rank < ranks; ++rank)
      if (holders.empty() || strategy.stageAxis.empty() ||
          holders.count(getPlace(rank, strategy.stageAxis)))
        shards.devices[places[rank]].push_back(rank);
    result[name.str()] = std::move(shards);
  }
  return result;
}

int Compilation::emitOnnx() {
  if (!isOnnx)
    return reportError(Status::error(
        StatusCode::InvalidArgument, "this model cannot be emitted so",
        "--emit=onnx", "'" + options.model + "' is no ONNX model",
        "use --emit=graph"));
  if (options.outFile.empty())
    return reportError(Status::error(StatusCode::InvalidArgument,
                                     "a model file needs a place",
                                     "--emit=onnx", "", "give -o FILE.onnx"));
  // Nothing is left out of the skeleton, so there is nothing to read.
  SmallString<128> skeleton;
  if (std::error_code error =
          llvm::sys::fs::createTemporaryFile("dist-opt", "onnx", skeleton))
    return reportError(Status::error(StatusCode::Unavailable,
                                     "cannot write ONNX", options.outFile,
                                     error.message()));
  llvm::FileRemover remover(skeleton);
  Status status =
      ::dist::writeOnnxSkeleton(options.model, {}, skeleton.str().str());
  if (status.ok())
    status = ::dist::writeOnnxModel(
        skeleton.str().str(),
        [&](const std::string &name, ::dist::Tensor *) {
          return Status::error(StatusCode::InvalidInput, "cannot write ONNX",
                               options.outFile,
                               "the model has no value of '" + name + "'");
        },
        options.outFile, findShards(), strategy.ranks);
  return status.ok() ? 0 : reportError(status);
}
