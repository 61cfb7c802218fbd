//===- Mesh.cpp - Ranks, groups and local types -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Dist/IR/Portion.h"
#include "dialects/Dist/IR/Stage.h"
#include "dialects/Interfaces/HostLoops.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <limits>
#include <map>

using namespace mlir;
using namespace mlir::dist;

MeshOp mlir::dist::findMesh(Operation *moduleOrInside) {
  auto module = dyn_cast<ModuleOp>(moduleOrInside);
  if (!module)
    module = moduleOrInside->getParentOfType<ModuleOp>();
  if (!module)
    return {};
  auto meshes = module.getOps<MeshOp>();
  return meshes.empty() ? MeshOp() : *meshes.begin();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

int64_t mlir::dist::getNumShards(ShardingAttr sharding, unsigned dim,
                                 MeshOp mesh) {
  return mesh.getGroupSize(sharding.getAxes(dim));
}

int64_t mlir::dist::getPaddedSize(int64_t size, int64_t shards) {
  // Near the largest number there may be no multiple above.
  uint64_t padded =
      llvm::divideCeil(uint64_t(size), uint64_t(shards)) * uint64_t(shards);
  return int64_t(std::min<uint64_t>(padded, INT64_MAX / shards * shards));
}

bool mlir::dist::isSplitWorthwhile(int64_t size, int64_t shards) {
  return size % shards == 0 || getPaddedSize(size, shards) - size < size;
}

bool mlir::dist::isSplitAllowed(int64_t size, int64_t shards, bool strict) {
  return strict ? size % shards == 0 : isSplitWorthwhile(size, shards);
}

std::string mlir::dist::describeMisfit(int64_t size, int64_t shards,
                                       StringRef axes, bool strict) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "has " << size << " elements, which '" << axes
      << "' cannot split into " << shards << " equal parts";
  if (!strict)
    out << ", and half of them or more would be padding";
  out << "; ";
  if (size > shards)
    out << "sizes that work are " << size / shards * shards << " and ";
  else
    out << "the least that works is ";
  out << getPaddedSize(size, shards);
  return text;
}

RankedTensorType mlir::dist::getPaddedType(RankedTensorType global,
                                           ShardingAttr sharding, MeshOp mesh) {
  SmallVector<int64_t> shape(global.getShape());
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    shape[dim] = getPaddedSize(shape[dim], getNumShards(sharding, dim, mesh));
  return RankedTensorType::get(shape, global.getElementType());
}

FailureOr<RankedTensorType> mlir::dist::getLocalType(RankedTensorType global,
                                                     ShardingAttr sharding,
                                                     MeshOp mesh) {
  SmallVector<int64_t> shape(global.getShape());
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    int64_t shards = getNumShards(sharding, dim, mesh);
    if (shape[dim] % shards)
      return failure();
    shape[dim] /= shards;
  }
  return RankedTensorType::get(shape, global.getElementType());
}

RankedTensorType mlir::dist::getGlobalType(RankedTensorType local,
                                           ShardingAttr sharding, MeshOp mesh) {
  SmallVector<int64_t> shape(local.getShape());
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    shape[dim] *= getNumShards(sharding, dim, mesh);
  return RankedTensorType::get(shape, local.getElementType());
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

/// Coordinate of a rank along each axis of the mesh.
static SmallVector<int64_t> getCoordinates(MeshOp mesh, int64_t rank) {
  ArrayRef<int64_t> sizes = mesh.getAxisSizes();
  SmallVector<int64_t> coordinates(sizes.size());
  for (int64_t i = int64_t(sizes.size()) - 1; i >= 0; --i) {
    coordinates[i] = rank % sizes[i];
    rank /= sizes[i];
  }
  return coordinates;
}

static unsigned getAxisNumber(MeshOp mesh, StringAttr axis) {
  for (auto [i, name] :
       llvm::enumerate(mesh.getAxisNames().getAsRange<StringAttr>()))
    if (name == axis)
      return i;
  llvm_unreachable("axes are verified");
}

int64_t mlir::dist::getPositionInGroup(MeshOp mesh, int64_t rank,
                                       ArrayRef<StringAttr> axes) {
  SmallVector<int64_t> coordinates = getCoordinates(mesh, rank);
  int64_t position = 0;
  for (StringAttr axis : axes) {
    unsigned number = getAxisNumber(mesh, axis);
    position = position * mesh.getAxisSizes()[number] + coordinates[number];
  }
  return position;
}

SmallVector<SmallVector<int64_t>>
mlir::dist::getGroups(MeshOp mesh, ArrayRef<StringAttr> axes) {
  // Ranks of one group agree on all coordinates but those along `axes`; the
  // rank with zeros there names the group.
  llvm::MapVector<int64_t, SmallVector<int64_t>> groups;
  int64_t size = mesh.getGroupSize(axes);
  for (int64_t rank = 0, e = mesh.getNumRanks(); rank < e; ++rank) {
    SmallVector<int64_t> coordinates = getCoordinates(mesh, rank);
    for (StringAttr axis : axes)
      coordinates[getAxisNumber(mesh, axis)] = 0;
    int64_t name = 0;
    for (auto [coordinate, axisSize] :
         llvm::zip(coordinates, mesh.getAxisSizes()))
      name = name * axisSize + coordinate;
    auto &group = groups[name];
    group.resize(size);
    group[getPositionInGroup(mesh, rank, axes)] = rank;
  }
  SmallVector<SmallVector<int64_t>> list;
  for (auto &entry : groups)
    list.push_back(entry.second);
  return list;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

HostTensor mlir::dist::cutDim(const HostTensor &tensor, unsigned dim,
                              int64_t part, int64_t parts) {
  SmallVector<int64_t> shape(tensor.getShape());
  SmallVector<int64_t> strides = getRowMajorStrides(shape);
  shape[dim] /= parts;
  return gatherStrided(
      RankedTensorType::get(shape, tensor.getType().getElementType()), tensor,
      strides, part * shape[dim] * strides[dim]);
}

HostTensor mlir::dist::joinDim(ArrayRef<HostTensor> parts, unsigned dim) {
  SmallVector<int64_t> shape(parts.front().getShape());
  int64_t partSize = shape[dim];
  shape[dim] *= parts.size();
  HostTensor result(
      RankedTensorType::get(shape, parts.front().getType().getElementType()));
  SmallVector<int64_t> strides = getRowMajorStrides(shape);
  for (auto [i, part] : llvm::enumerate(parts))
    scatterStrided(part, result, strides, i * partSize * strides[dim]);
  return result;
}

HostTensor mlir::dist::combine(ArrayRef<HostTensor> parts,
                               Reduction reduction) {
  HostTensor result = parts.front();
  for (const HostTensor &part : parts.drop_front())
    for (int64_t i = 0, e = result.getNumElements(); i < e; ++i) {
      if (result.isFloat())
        result.setDouble(
            i, combine(reduction, result.getDouble(i), part.getDouble(i)));
      else
        result.setInt(i, combine(reduction, result.getInt(i), part.getInt(i),
                                 result.isUnsigned()));
    }
  return result;
}

/// Elements beyond the given tensor hold zeros or poison.
static HostTensor addPadding(const HostTensor &tensor, RankedTensorType type,
                             ShardPadding padding) {
  HostTensor result(type);
  int64_t count = type.getNumElements();
  for (int64_t i = 0; padding == ShardPadding::Poison && i < count; ++i) {
    if (result.isFloat())
      result.setDouble(i, std::numeric_limits<double>::quiet_NaN());
    else
      result.setInt(i, 1 << 20);
  }
  scatterStrided(tensor, result, getRowMajorStrides(type.getShape()));
  return result;
}

HostTensor mlir::dist::dropPadding(const HostTensor &padded,
                                   RankedTensorType type) {
  return gatherStrided(type, padded, getRowMajorStrides(padded.getShape()));
}

HostTensor mlir::dist::cutShard(const HostTensor &global, ShardingAttr sharding,
                                MeshOp mesh, int64_t rank,
                                ShardPadding padding) {
  HostTensor result = global;
  RankedTensorType padded = getPaddedType(global.getType(), sharding, mesh);
  if (padded != global.getType())
    result = addPadding(global, padded, padding);
  for (unsigned dim = 0; dim < sharding.getNumDims(); ++dim) {
    ArrayRef<StringAttr> axes = sharding.getAxes(dim);
    if (!axes.empty())
      result = cutDim(result, dim, getPositionInGroup(mesh, rank, axes),
                      mesh.getGroupSize(axes));
  }
  if (getPositionInGroup(mesh, rank, sharding.getUnreduced()) != 0)
    return HostTensor(result.getType());
  return result;
}

/// Largest difference of two tensors; infinity where only one is NaN.
static double getDifference(const HostTensor &a, const HostTensor &b) {
  double largest = 0;
  for (int64_t i = 0, e = a.getNumElements(); i < e; ++i) {
    double x = a.getDouble(i), y = b.getDouble(i);
    if (x == y || (std::isnan(x) && std::isnan(y)))
      continue;
    double difference = std::abs(x - y);
    largest = std::isnan(difference) ? std::numeric_limits<double>::infinity()
                                     : std::max(largest, difference);
  }
  return largest;
}

HostTensor mlir::dist::joinShards(ArrayRef<HostTensor> shards,
                                  ShardingAttr sharding, MeshOp mesh,
                                  double *largestCopyDifference) {
  double copyDifference = 0;
  // Reduce first: what is left are ranks along split and along free axes.
  SmallVector<HostTensor> ranks(shards);
  if (!sharding.getUnreduced().empty())
    for (const auto &group : getGroups(mesh, sharding.getUnreduced())) {
      SmallVector<HostTensor> members;
      for (int64_t rank : group)
        members.push_back(shards[rank]);
      HostTensor sum = combine(members, Reduction::Sum);
      for (int64_t rank : group)
        ranks[rank] = sum;
    }
  // Where each part of a dim begins: parts may differ in size.
  SmallVector<int64_t> shape;
  SmallVector<SmallVector<int64_t>> starts;
  for (unsigned dim = 0; dim < sharding.getNumDims(); ++dim) {
    ArrayRef<StringAttr> axes = sharding.getAxes(dim);
    SmallVector<int64_t> sizes(mesh.getGroupSize(axes));
    for (auto [rank, shard] : llvm::enumerate(ranks)) {
      int64_t &size = sizes[getPositionInGroup(mesh, rank, axes)];
      assert((size == 0 || size == shard.getShape()[dim]) &&
             "copies of a part have one type");
      size = shard.getShape()[dim];
    }
    int64_t &end = shape.emplace_back(0);
    auto &list = starts.emplace_back();
    for (int64_t size : sizes) {
      list.push_back(end);
      end += size;
    }
  }
  auto type =
      RankedTensorType::get(shape, ranks.front().getType().getElementType());
  HostTensor result(type);
  SmallVector<int64_t> strides = getRowMajorStrides(shape);
  // Where a part begins, and the first rank that holds it: it writes the part,
  // those that come after it compare.
  std::map<SmallVector<int64_t>, int64_t> writers;
  for (int64_t rank = 0, e = ranks.size(); rank < e; ++rank) {
    SmallVector<int64_t> positions;
    int64_t base = 0;
    for (unsigned dim = 0; dim < shape.size(); ++dim) {
      positions.push_back(
          getPositionInGroup(mesh, rank, sharding.getAxes(dim)));
      base += starts[dim][positions.back()] * strides[dim];
    }
    auto [writer, isFirst] = writers.try_emplace(positions, rank);
    if (isFirst)
      scatterStrided(ranks[rank], result, strides, base);
    else if (largestCopyDifference)
      copyDifference = std::max(
          copyDifference, getDifference(ranks[rank], ranks[writer->second]));
  }
  if (largestCopyDifference) {
    double magnitude = 0;
    for (int64_t i = 0, e = result.getNumElements(); i < e; ++i)
      if (std::isfinite(result.getDouble(i)))
        magnitude = std::max(magnitude, std::abs(result.getDouble(i)));
    *largestCopyDifference = copyDifference == 0 || magnitude == 0
                                 ? copyDifference
                                 : copyDifference / magnitude;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Attributes of values, text
//===----------------------------------------------------------------------===//

ShardingAttr mlir::dist::findSharding(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function =
        dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    return function ? function.getArgAttrOfType<ShardingAttr>(
                          argument.getArgNumber(), DistDialect::kSharding)
                    : ShardingAttr();
  }
  auto list =
      value.getDefiningOp()->getAttrOfType<ArrayAttr>(DistDialect::kShardings);
  return list ? dyn_cast<ShardingAttr>(
                    list[cast<OpResult>(value).getResultNumber()])
              : ShardingAttr();
}

void mlir::dist::setSharding(Value value, ShardingAttr sharding) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function =
        cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    function.setArgAttr(argument.getArgNumber(), DistDialect::kSharding,
                        sharding);
    return;
  }
  Operation *op = value.getDefiningOp();
  SmallVector<Attribute> list;
  if (auto old = op->getAttrOfType<ArrayAttr>(DistDialect::kShardings))
    llvm::append_range(list, old);
  for (Value result : op->getResults().drop_front(list.size()))
    list.push_back(ShardingAttr::getWhole(
        sharding.getMesh(),
        cast<RankedTensorType>(result.getType()).getRank()));
  list[cast<OpResult>(value).getResultNumber()] = sharding;
  op->setAttr(DistDialect::kShardings, ArrayAttr::get(op->getContext(), list));
}

std::string mlir::dist::formatAxes(ArrayRef<StringAttr> axes) {
  return llvm::join(
      llvm::map_range(axes, [](StringAttr axis) { return axis.getValue(); }),
      ",");
}

std::string mlir::dist::getLocationName(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName().str();
  if (auto file = dyn_cast<FileLineColLoc>(loc))
    return (file.getFilename().getValue() + ":" + Twine(file.getLine())).str();
  if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      if (std::string name = getLocationName(part); !name.empty())
        return name;
    return "";
  }
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return getLocationName(call.getCallee());
  return "";
}

SmallVector<std::string> mlir::dist::getLocationNames(Location loc) {
  SmallVector<std::string> names;
  auto add = [&](auto &self, Location part) -> void {
    if (auto fused = dyn_cast<FusedLoc>(part)) {
      for (Location inner : fused.getLocations())
        self(self, inner);
      return;
    }
    std::string name = getLocationName(part);
    if (!name.empty() && !llvm::is_contained(names, name))
      names.push_back(std::move(name));
  };
  add(add, loc);
  return names;
}

std::string mlir::dist::getOriginName(Operation *op) {
  std::string name = getLocationName(op->getLoc());
  return name.empty() ? op->getName().getStringRef().str() : name;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

bool mlir::dist::isOnHost(Operation *op) {
  auto placement = op->getAttrOfType<PlacementAttr>(kPlacementAttr);
  return placement && placement.getValue() == Placement::Host;
}

int64_t mlir::dist::getProgramNumber(Operation *function) {
  if (isOnHost(function))
    return 1;
  if (std::optional<Portion> portion = findPortion(function))
    return portion->position;
  auto stage = function->getAttrOfType<IntegerAttr>(kStageAttr);
  return stage ? stage.getInt() : 0;
}

std::pair<int64_t, int64_t>
mlir::dist::getProgramRanks(MeshOp mesh, int64_t number, int64_t count) {
  int64_t ranks = mesh ? mesh.getNumRanks() : 1;
  if (mesh && mesh.getHost() && count > 1)
    return number == 0 ? std::pair(int64_t(0), ranks)
                       : std::pair(ranks, int64_t(1));
  // Stages, or portions, are the major positions.
  return {number * (ranks / count), ranks / count};
}
