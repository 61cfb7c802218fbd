//===- Sdy.cpp - Shardy's text -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/AxisParts.h"
#include "passes/Interchange/Annotations.h"
#include "passes/Interchange/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_EXPORTSDYPASS
#define GEN_PASS_DEF_IMPORTSDYPASS
#include "passes/Interchange/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

static constexpr llvm::StringLiteral kSharding = "sharding";
static constexpr llvm::StringLiteral kPerValue = "sharding_per_value";

//===----------------------------------------------------------------------===//
// Export
//===----------------------------------------------------------------------===//

namespace {
struct ExportSdyPass : mlir::dist::impl::ExportSdyPassBase<ExportSdyPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

void ExportSdyPass::runOnOperation() {
  auto all = Annotations::collect(getOperation(), "dist-export-sdy");
  if (failed(all))
    return signalPassFailure();
  MLIRContext *context = &getContext();
  auto merge = [&](ShardingAttr sharding) {
    SmallVector<DimShardingAttr> dims;
    for (DimShardingAttr dim : sharding.getDims())
      dims.push_back(DimShardingAttr::get(context,
                                          mergeParts(all->mesh, dim.getAxes()),
                                          dim.getOpen(), dim.getPriority()));
    return ShardingAttr::get(context, sharding.getMesh(), dims,
                             mergeParts(all->mesh, sharding.getUnreduced()),
                             mergeParts(all->mesh, sharding.getReplicated()));
  };
  auto write = [&](ShardingAttr sharding) {
    return getSdyAttribute(context, kSharding, printSdyBody(merge(sharding)));
  };
  // An op's results share an attribute.
  llvm::MapVector<Operation *, std::string> ofOps;
  for (const Annotations::OfValue &of : all->values) {
    if (Operation *op = of.value.getDefiningOp()) {
      std::string &list = ofOps[op];
      list +=
          (list.empty() ? "<" : ", <") + printSdyBody(merge(of.sharding)) + ">";
      continue;
    }
    auto argument = cast<BlockArgument>(of.value);
    cast<func::FuncOp>(argument.getOwner()->getParentOp())
        .setArgAttr(argument.getArgNumber(), kSdySharding, write(of.sharding));
  }
  for (auto &[op, list] : ofOps)
    op->setAttr(kSdySharding,
                getSdyAttribute(context, kPerValue, "[" + list + "]"));
  for (Annotations::OfResult &of : all->results)
    of.function.setResultAttr(of.result, kSdySharding, write(of.sharding));
  all->strip();
  for (ReshardOp reshard : all->reshards) {
    OpBuilder builder(reshard);
    OperationState state(reshard.getLoc(), kSdyConstraint);
    state.addOperands(reshard.getOperand());
    state.addTypes(reshard.getType());
    state.addAttribute("sharding", merge(reshard.getTarget()));
    reshard->replaceAllUsesWith(builder.create(state));
    reshard.erase();
  }
  OpBuilder builder(all->mesh);
  OperationState state(all->mesh.getLoc(), kSdyMesh);
  state.addAttribute("sym_name", all->mesh.getSymNameAttr());
  SmallVector<Attribute> names;
  SmallVector<int64_t> sizes;
  for (auto [name, size] : getWholeAxes(all->mesh)) {
    names.push_back(name);
    sizes.push_back(size);
  }
  state.addAttribute("axis_names", builder.getArrayAttr(names));
  state.addAttribute("axis_sizes", builder.getDenseI64ArrayAttr(sizes));
  builder.create(state);
  all->mesh.erase();
}

//===----------------------------------------------------------------------===//
// Import
//===----------------------------------------------------------------------===//

namespace {
struct ImportSdyPass : mlir::dist::impl::ImportSdyPassBase<ImportSdyPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  LogicalResult importMesh(Operation *op);
  LogicalResult importConstraint(Operation *op);
  LogicalResult importResults(Operation *op);
  LogicalResult importFunction(func::FuncOp function);
  FailureOr<ShardingAttr> read(Operation *op, Attribute attribute);
};
} // namespace

LogicalResult ImportSdyPass::importMesh(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>("sym_name");
  auto names = op->getAttrOfType<ArrayAttr>("axis_names");
  auto sizes = op->getAttrOfType<DenseI64ArrayAttr>("axis_sizes");
  if (!name || !names || !sizes)
    return op->emitError() << "dist-import-sdy: expected the mesh in its short "
                              "form: sdy.mesh @mesh = <[\"a\"=2]>";
  if (failed(createMesh(op, name, names, sizes)))
    return failure();
  op->erase();
  return success();
}

FailureOr<ShardingAttr> ImportSdyPass::read(Operation *op,
                                            Attribute attribute) {
  auto body = findSdyBody(attribute, kSharding);
  if (!body) {
    op->emitError() << "dist-import-sdy: expected #sdy.sharding<..>, but got "
                    << attribute;
    return failure();
  }
  return parseSdyBody(&getContext(), *body,
                      [&] { return op->emitError() << "dist-import-sdy: "; });
}

/// `[<A>, <B>]` to A and B.
static SmallVector<StringRef> splitList(StringRef text) {
  SmallVector<StringRef> parts;
  int depth = 0;
  size_t begin = 0;
  for (auto [i, c] : llvm::enumerate(text)) {
    if (c == '<' && depth++ == 0)
      begin = i + 1;
    if (c == '>' && --depth == 0)
      parts.push_back(text.slice(begin, i));
  }
  return parts;
}

LogicalResult ImportSdyPass::importResults(Operation *op) {
  Attribute attribute = op->removeAttr(kSdySharding);
  if (!attribute)
    return success();
  auto body = findSdyBody(attribute, kPerValue);
  SmallVector<StringRef> parts;
  if (body)
    parts = splitList(*body);
  if (parts.size() != op->getNumResults())
    return op->emitError()
           << "dist-import-sdy: expected #sdy.sharding_per_value<[..]> of "
           << op->getNumResults() << " shardings, but got " << attribute;
  SmallVector<Attribute> list;
  for (StringRef part : parts) {
    auto sharding = parseSdyBody(&getContext(), part, [&] {
      return op->emitError() << "dist-import-sdy: ";
    });
    if (failed(sharding))
      return failure();
    list.push_back(*sharding);
  }
  op->setAttr(DistDialect::kShardings, ArrayAttr::get(&getContext(), list));
  return success();
}

LogicalResult ImportSdyPass::importFunction(func::FuncOp function) {
  auto name = StringAttr::get(&getContext(), kSdySharding);
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (Attribute attribute = function.removeArgAttr(i, name)) {
      auto sharding = read(function, attribute);
      if (failed(sharding))
        return failure();
      function.setArgAttr(i, DistDialect::kSharding, *sharding);
    }
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (Attribute attribute = function.removeResultAttr(i, name)) {
      auto sharding = read(function, attribute);
      if (failed(sharding))
        return failure();
      function.setResultAttr(i, DistDialect::kSharding, *sharding);
    }
  return success();
}

LogicalResult ImportSdyPass::importConstraint(Operation *op) {
  auto sharding = op->getAttrOfType<ShardingAttr>("sharding");
  if (!sharding || op->getNumOperands() != 1)
    return op->emitError() << "dist-import-sdy: expected the constraint in its "
                              "short form: sdy.sharding_constraint %0 <@mesh, "
                              "[{\"a\"}]> : tensor<8xf32>";
  OpBuilder builder(op);
  auto reshard = ReshardOp::create(
      builder, op->getLoc(), op->getResult(0).getType(), op->getOperand(0),
      sharding, builder.getStringAttr(kSdyConstraint));
  op->replaceAllUsesWith(reshard);
  op->erase();
  return success();
}

void ImportSdyPass::runOnOperation() {
  SmallVector<Operation *> ops;
  getOperation().walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops) {
    StringRef name = op->getName().getStringRef();
    LogicalResult result = success();
    if (name == kSdyMesh)
      result = importMesh(op);
    else if (name == kSdyConstraint)
      result = importConstraint(op);
    else if (op->getName().getDialectNamespace() ==
             SdyDialect::getDialectNamespace())
      result = op->emitError() << "dist-import-sdy: this op has no "
                                  "counterpart; only meshes, shardings and "
                                  "constraints are imported";
    else if (auto function = dyn_cast<func::FuncOp>(op))
      result = importFunction(function);
    else
      result = importResults(op);
    if (failed(result))
      return signalPassFailure();
  }
  if (failed(refineMesh(getOperation(), {}, [&] {
        return findMesh(getOperation()).emitError() << "dist-import-sdy: ";
      })))
    signalPassFailure();
}
