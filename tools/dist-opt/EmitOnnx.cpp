//===- EmitOnnx.cpp - The model file with its shardings -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Dist/IR/Stage.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Graph/Import/Importer.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Strategy/Annotate.h"
#include "runtime/export/onnx_export.h"
#include "tools/dist-opt/Compilation.h"
#include "tools/dist-opt/Reports.h"
#include "tools/options/interrupt.h"
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
              function.getArgAttrOfType<FlatSymbolRefAttr>(i, kVariableAttr))
        stages[name.getValue()].insert(stage.getInt());
  }
  return stages;
}

/// As `dist-run fit --output FILE.onnx` writes them, of the partitioned module.
std::map<std::string, OnnxShards> Compilation::findShards() {
  MeshOp mesh = findMesh(*module);
  if (!mesh)
    return {};
  std::vector<std::pair<std::string, int64_t>> axes;
  int64_t numStages = 1;
  for (auto [name, size] : llvm::zip(
           mesh.getAxisNames().getAsRange<StringAttr>(), mesh.getAxisSizes())) {
    axes.emplace_back(name.str(), size);
    if (name.getValue() == strategy.stageAxis)
      numStages = size;
  }
  auto stages = findStages(*module);
  std::map<std::string, OnnxShards> result;
  for (auto variable : module->getOps<graph::VariableOp>()) {
    auto sharding = dyn_cast_or_null<ShardingAttr>(variable.getShardingAttr());
    auto name = variable->getAttrOfType<StringAttr>("graph.model_name");
    if (!sharding || !name)
      continue;
    std::vector<std::vector<std::string>> axesOfDims;
    // The model has no dim for the row that each replica keeps.
    for (unsigned dim = hasReplicaRows(variable); dim < sharding.getNumDims();
         ++dim) {
      std::vector<std::string> &ofDim = axesOfDims.emplace_back();
      // What the batch splits (zero's shards) is gathered for computing.
      for (StringAttr axis : sharding.getAxes(dim))
        if (!llvm::is_contained(strategy.dataAxes, axis.getValue()))
          ofDim.push_back(axis.str());
    }
    const std::set<int64_t> &holders = stages[variable.getSymName()];
    auto holds = [&](int64_t rank) {
      return holders.empty() || llvm::any_of(holders, [&](int64_t stage) {
               auto [first, count] = getProgramRanks(mesh, stage, numStages);
               return first <= rank && rank < first + count;
             });
    };
    OnnxShards shards = ::dist::arrangeShards(axes, axesOfDims, holds);
    if (shards.devices.size() == 1)
      continue;
    result[name.str()] = std::move(shards);
  }
  return result;
}

/// The initializers that the import made of shared ones.
std::vector<::dist::OnnxCopy> Compilation::findOnnxCopies() {
  std::vector<::dist::OnnxCopy> copies;
  if (auto untied = (*module)->getAttrOfType<ArrayAttr>(graph::kUntied))
    for (auto fields : untied.getAsRange<ArrayAttr>())
      if (fields.size() == 4)
        copies.push_back({cast<StringAttr>(fields[0]).str(),
                          cast<StringAttr>(fields[1]).str(),
                          cast<StringAttr>(fields[2]).str(),
                          int(cast<IntegerAttr>(fields[3]).getInt())});
  return copies;
}

int Compilation::emitOnnx() {
  ::dist::tools::Shield shield("writing the model");
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
  Status status = ::dist::writeOnnxSkeleton(
      options.model, {}, skeleton.str().str(), findOnnxCopies());
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
