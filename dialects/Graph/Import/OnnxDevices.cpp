//===- OnnxDevices.cpp - What a model says of devices -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An ONNX multi-device configuration splits tensors at nodes. That of
// initializers is taken over: how many shards each dim has. Those of other
// tensors follow from it by propagation.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxModel.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

LogicalResult OnnxModel::loadShards() {
  // Of several configurations the first is the model's own choice.
  if (model.configuration_size() == 0)
    return success();
  const std::string &chosen = model.configuration(0).name();
  for (const onnx::NodeProto &node : model.graph().node())
    for (const auto &configuration : node.device_configurations())
      if (configuration.configuration_id() == chosen)
        for (const auto &spec : configuration.sharding_spec())
          if (failed(addShards(spec)))
            return failure();
  return success();
}

LogicalResult OnnxModel::addShards(const onnx::ShardingSpecProto &spec) {
  auto tensor = initializers.find(spec.tensor_name());
  if (tensor == initializers.end())
    return success();
  int64_t rank = tensor->second.shape.size();
  SmallVector<int64_t> counts(rank, 1);
  auto refuse = [&](const llvm::Twine &why) {
    return error("cannot import the sharding of '" + spec.tensor_name() + "'",
                 why,
                 "correct the model's device configuration, or remove it and "
                 "give --split rules");
  };
  for (const onnx::ShardedDimProto &dim : spec.sharded_dim()) {
    int64_t axis = dim.axis() < 0 ? dim.axis() + rank : dim.axis();
    if (axis < 0 || axis >= rank)
      return refuse("it has no axis " + llvm::Twine(dim.axis()));
    if (dim.simple_sharding_size() != 1)
      return refuse("axis " + llvm::Twine(dim.axis()) + " is cut into " +
                    llvm::Twine(dim.simple_sharding_size()) +
                    " parts that are sharded by themselves, which is not "
                    "supported");
    counts[axis] = dim.simple_sharding(0).num_shards();
    if (counts[axis] < 1)
      return refuse("axis " + llvm::Twine(dim.axis()) + " has " +
                    llvm::Twine(counts[axis]) + " shards");
  }
  auto [known, isNew] = shards.try_emplace(spec.tensor_name(), counts);
  if (!isNew && known->second != counts)
    return refuse("two nodes split it differently");
  return success();
}
