//===- AxisParts.cpp - Axes of the mesh in parts -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/AxisParts.h"
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Dist/IR/Processes.h"
#include "dialects/Dist/IR/Sources.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/MapVector.h"
#include <set>

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::string AxisPart::getName() const {
  return axis + ":(" + std::to_string(before) + ")" + std::to_string(size);
}

std::optional<AxisPart> AxisPart::parse(StringRef name) {
  auto [whole, numbers] = name.rsplit(":(");
  auto [before, size] = numbers.split(')');
  AxisPart part;
  part.axis = whole.str();
  if (whole.empty() || before.getAsInteger(10, part.before) ||
      size.getAsInteger(10, part.size) || part.before < 1 || part.size < 2 ||
      part.getName() != name)
    return std::nullopt;
  return part;
}

StringRef mlir::dist::getWholeAxis(StringRef name) {
  return AxisPart::parse(name) ? name.rsplit(":(").first : name;
}

/// The numbers of ranks before and with a part.
static std::pair<int64_t, int64_t> getRange(StringRef name, int64_t size) {
  auto part = AxisPart::parse(name);
  int64_t before = part ? part->before : 1;
  return {before, before * size};
}

bool mlir::dist::isAxisWithin(StringAttr a, StringAttr b) {
  if (a == b)
    return true;
  auto inner = AxisPart::parse(a), outer = AxisPart::parse(b);
  if (!inner || inner->axis != getWholeAxis(b))
    return false;
  return !outer || (inner->before >= outer->before &&
                    inner->before * inner->size <= outer->before * outer->size);
}

SmallVector<std::pair<StringAttr, int64_t>>
mlir::dist::getWholeAxes(MeshOp mesh) {
  SmallVector<std::pair<StringAttr, int64_t>> axes;
  for (auto [name, size] : llvm::zip(
           mesh.getAxisNames().getAsRange<StringAttr>(), mesh.getAxisSizes())) {
    auto whole = StringAttr::get(mesh.getContext(), getWholeAxis(name));
    if (!axes.empty() && axes.back().first == whole)
      axes.back().second *= size;
    else
      axes.emplace_back(whole, size);
  }
  return axes;
}

SmallVector<StringAttr> mlir::dist::findAxes(MeshOp mesh, StringRef name) {
  auto wanted = StringAttr::get(mesh.getContext(), name);
  SmallVector<StringAttr> axes;
  for (auto axis : mesh.getAxisNames().getAsRange<StringAttr>())
    if (isAxisWithin(axis, wanted))
      axes.push_back(axis);
  // Of a part, they must be all of it.
  auto part = AxisPart::parse(name);
  if (part && mesh.getGroupSize(axes) != part->size)
    axes.clear();
  return axes;
}

SmallVector<StringAttr> mlir::dist::mergeParts(MeshOp mesh,
                                               ArrayRef<StringAttr> axes) {
  auto getSize = [&](StringRef name) {
    int64_t size = mesh.getAxisSize(name);
    auto part = AxisPart::parse(name);
    return size == 0 && part ? part->size : size;
  };
  SmallVector<StringAttr> merged;
  for (StringAttr axis : axes) {
    if (!merged.empty()) {
      auto last = AxisPart::parse(merged.back()), next = AxisPart::parse(axis);
      if (last && next && last->axis == next->axis &&
          last->before * last->size == next->before) {
        last->size *= next->size;
        merged.back() = StringAttr::get(mesh.getContext(), last->getName());
        continue;
      }
    }
    merged.push_back(axis);
  }
  for (auto [whole, size] : getWholeAxes(mesh))
    for (StringAttr &axis : merged)
      if (getWholeAxis(axis) == whole && getSize(axis) == size)
        axis = whole;
  return merged;
}

LogicalResult mlir::dist::verifyParts(MeshOp mesh) {
  StringRef current;
  int64_t next = 1;
  llvm::StringMap<bool> seen;
  for (auto [name, size] : llvm::zip(
           mesh.getAxisNames().getAsRange<StringAttr>(), mesh.getAxisSizes())) {
    auto part = AxisPart::parse(name);
    StringRef whole = getWholeAxis(name);
    if (part && part->size != size)
      return mesh.emitOpError()
             << "expected axis '" << name.getValue() << "' to have size "
             << part->size << ", as its name says, but got " << size;
    if (whole != current) {
      if (!seen.try_emplace(whole, true).second)
        return mesh.emitOpError() << "expected the parts of axis '" << whole
                                  << "' to stand together";
      current = whole;
      next = 1;
    } else if (!part || next == 0) {
      return mesh.emitOpError()
             << "expected axis '" << whole << "' as a whole or in parts";
    }
    if (!part) {
      next = 0;
      continue;
    }
    if (part->before != next)
      return mesh.emitOpError()
             << "expected " << next << " ranks of axis '" << whole
             << "' before '" << name.getValue() << "'";
    next *= size;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Refinement
//===----------------------------------------------------------------------===//

namespace {
/// What becomes of the axes of a mesh.
class Refinement {
public:
  explicit Refinement(MeshOp mesh) : mesh(mesh) {
    for (auto [name, size] :
         llvm::zip(mesh.getAxisNames().getAsRange<StringAttr>(),
                   mesh.getAxisSizes())) {
      auto [before, with] = getRange(name, size);
      cuts[getWholeAxis(name)].insert({before, with});
    }
  }
  void add(StringRef name) {
    if (auto part = AxisPart::parse(name))
      if (auto found = cuts.find(part->axis); found != cuts.end())
        found->second.insert({part->before, part->before * part->size});
  }
  /// An error where the parts of an axis do not fit into one grid.
  LogicalResult check(llvm::function_ref<InFlightDiagnostic()> emitError);
  bool changesMesh();
  LogicalResult run(ModuleOp module);

private:
  SmallVector<StringAttr> expand(ArrayRef<StringAttr> axes);
  DictionaryAttr expandKeys(DictionaryAttr dictionary);
  void collectNames(SmallVectorImpl<Attribute> &names,
                    SmallVectorImpl<int64_t> &sizes);

  MeshOp mesh;
  /// By whole axis: numbers of ranks at which it is cut, and how many it has.
  llvm::MapVector<StringRef, std::set<int64_t>> cuts;
};
} // namespace

LogicalResult
Refinement::check(llvm::function_ref<InFlightDiagnostic()> emitError) {
  for (auto [axis, size] : getWholeAxes(mesh)) {
    int64_t last = 1;
    for (int64_t cut : cuts[axis]) {
      if (size % cut)
        return emitError() << "axis '" << axis.getValue() << "' of " << size
                           << " ranks has no part that ends at " << cut
                           << "; give (PRE)SIZE so that PRE x SIZE divides "
                           << size;
      if (cut % last)
        return emitError() << "the parts of axis '" << axis.getValue()
                           << "' that end at " << last << " and at " << cut
                           << " ranks do not fit into one grid; choose parts "
                              "of which each divides the next";
      last = cut;
    }
  }
  return success();
}

void Refinement::collectNames(SmallVectorImpl<Attribute> &names,
                              SmallVectorImpl<int64_t> &sizes) {
  for (auto [axis, size] : getWholeAxes(mesh)) {
    const std::set<int64_t> &own = cuts[axis];
    // One rank, or nothing but the start and the end.
    if (own.size() <= 2) {
      names.push_back(axis);
      sizes.push_back(size);
      continue;
    }
    for (auto cut = own.begin(); std::next(cut) != own.end(); ++cut) {
      AxisPart part{axis.str(), *cut, *std::next(cut) / *cut};
      names.push_back(StringAttr::get(mesh.getContext(), part.getName()));
      sizes.push_back(part.size);
    }
  }
}

bool Refinement::changesMesh() {
  SmallVector<Attribute> names;
  SmallVector<int64_t> sizes;
  collectNames(names, sizes);
  return ArrayAttr::get(mesh.getContext(), names) != mesh.getAxisNames();
}

/// The parts of each, which the mesh has by now.
SmallVector<StringAttr> Refinement::expand(ArrayRef<StringAttr> axes) {
  SmallVector<StringAttr> all;
  for (StringAttr axis : axes) {
    SmallVector<StringAttr> parts = findAxes(mesh, axis);
    if (parts.empty())
      all.push_back(axis);
    all.append(parts);
  }
  return all;
}

DictionaryAttr Refinement::expandKeys(DictionaryAttr dictionary) {
  NamedAttrList list;
  for (NamedAttribute entry : dictionary)
    for (StringAttr axis : expand({entry.getName()}))
      list.set(axis, entry.getValue());
  return list.getDictionary(mesh.getContext());
}

LogicalResult Refinement::run(ModuleOp module) {
  MLIRContext *context = module.getContext();
  SmallVector<Attribute> names;
  SmallVector<int64_t> sizes;
  collectNames(names, sizes);
  mesh.setAxisNamesAttr(ArrayAttr::get(context, names));
  mesh.setAxisSizes(sizes);
  // Reasons and link costs, by axis; processes are along whole ones.
  for (NamedAttribute attribute : llvm::to_vector(mesh->getDiscardableAttrs()))
    if (auto byAxis = dyn_cast<DictionaryAttr>(attribute.getValue());
        byAxis && attribute.getName() != kProcessesAttr &&
        llvm::all_of(byAxis, [&](NamedAttribute entry) {
          return !findAxes(mesh, entry.getName()).empty();
        }))
      mesh->setDiscardableAttr(attribute.getName(), expandKeys(byAxis));
  module.walk([&](Operation *op) {
    if (auto why = op->getAttrOfType<DictionaryAttr>(kWhyAttr))
      op->setAttr(kWhyAttr, expandKeys(why));
  });
  bool valid = true;
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](ShardingAttr sharding)
          -> std::optional<std::pair<Attribute, WalkResult>> {
        SmallVector<DimShardingAttr> dims;
        for (DimShardingAttr dim : sharding.getDims())
          dims.push_back(DimShardingAttr::get(context, expand(dim.getAxes()),
                                              dim.getOpen(),
                                              dim.getPriority()));
        SmallVector<StringAttr> unreduced = expand(sharding.getUnreduced()),
                                replicated = expand(sharding.getReplicated());
        // What is used twice, once as a part, shows only now.
        auto refined = ShardingAttr::getChecked(
            [&] { return mesh.emitError(); }, context, sharding.getMesh(),
            ArrayRef<DimShardingAttr>(dims), ArrayRef<StringAttr>(unreduced),
            ArrayRef<StringAttr>(replicated));
        valid &= bool(refined);
        return std::make_pair(refined ? Attribute(refined)
                                      : Attribute(sharding),
                              WalkResult::skip());
      });
  replacer.recursivelyReplaceElementsIn(module);
  return success(valid);
}

FailureOr<bool>
mlir::dist::refineMesh(ModuleOp module, ArrayRef<std::string> names,
                       llvm::function_ref<InFlightDiagnostic()> emitError) {
  MeshOp mesh = findMesh(module);
  if (!mesh)
    return false;
  Refinement refinement(mesh);
  for (const std::string &name : names)
    refinement.add(name);
  AttrTypeWalker walker;
  walker.addWalk([&](ShardingAttr sharding) {
    for (DimShardingAttr dim : sharding.getDims())
      for (StringAttr axis : dim.getAxes())
        refinement.add(axis);
    for (StringAttr axis : sharding.getUnreduced())
      refinement.add(axis);
    for (StringAttr axis : sharding.getReplicated())
      refinement.add(axis);
  });
  module.walk([&](Operation *op) { walker.walk(op->getAttrDictionary()); });
  if (failed(refinement.check(emitError)))
    return failure();
  if (!refinement.changesMesh())
    return false;
  if (failed(refinement.run(module)))
    return failure();
  return true;
}
