//===- TensorFlowState.cpp - Variables of TensorFlow --------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/TensorFlowNode.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

using Node = TensorFlowNode;

static LogicalResult importPlaceholder(Node &n) {
  return n.fail("it is no input of the signature",
                "give a --signature that has it, or leave what it feeds out "
                "with --outputs NAME,...");
}
static LogicalResult importDefault(Node &n) { return n.result(n.in(0)); }
static LogicalResult importConst(Node &n) { return n.importConst(); }
static LogicalResult importNothing(Node &) { return success(); }
static LogicalResult importIdentities(Node &n) {
  for (auto [i, item] : llvm::enumerate(n.allItems()))
    (void)n.give(i, item);
  return success();
}

static LogicalResult importHandle(Node &n) {
  int variable = n.findVariable();
  if (variable < 0)
    return n.fail("a variable within a function is not supported",
                  "make it where the model is made");
  TensorFlowItem item;
  item.variable = variable;
  // Before TensorFlow 2, what reads a variable takes it itself.
  if (n.kind() != "VarHandleOp" && !(item.value = n.readVariable(variable)))
    return failure();
  return n.give(0, item);
}

static LogicalResult importRead(Node &n) {
  if (n.item(0).variable < 0)
    // A frozen graph may have what was read in the handle's place.
    return n.item(0).value ? n.give(0, n.item(0))
                           : n.fail("its input is no variable");
  return n.result(n.readVariable(n.item(0).variable));
}

static LogicalResult importAssign(Node &n) {
  if (n.item(0).variable < 0)
    return n.fail("its input is no variable");
  return n.assignVariable(n.item(0).variable, n.in(1));
}

static LogicalResult importIsInitialized(Node &n) {
  return n.result(n.scalar(1, IntegerType::get(n.getContext(), 1)));
}

/// Numbers come from our own generator, by --seed.
template <bool isNormal> static LogicalResult importRandom(Node &n) {
  FailureOr<SmallVector<int64_t>> shape = n.numbers(0);
  Type type = n.getType("dtype");
  if (failed(shape) || !type)
    return failure();
  Value drawn = n.onnx(isNormal ? "RandomNormal" : "RandomUniform", {},
                       {onnxInts("shape", *shape), onnxInt("dtype", 1)});
  return n.result(n.convert(drawn, type));
}

/// What dropout and its like draw, by a seed that is a variable of the model.
static LogicalResult refuseRandom(Node &n) {
  return n.fail("it draws random numbers by a generator of TensorFlow's, whose "
                "state the model assigns",
                "save the model as for inference (training=False)");
}

ArrayRef<TensorFlowOp> mlir::dist::graph::getTensorFlowStateOps() {
  static const TensorFlowOp rows[] = {
      {"Placeholder", importPlaceholder, 0},
      {"PlaceholderWithDefault", importDefault},
      {"Const", importConst, 0},
      {"IdentityN", importIdentities, 0},
      {"NoOp", importNothing, 0},
      {"Assert", importNothing, 0},
      {"Print", importDefault},
      {"DisableCopyOnRead", importNothing, 0},
      {"VarHandleOp", importHandle, 0},
      {"VariableV2", importHandle, 0},
      {"Variable", importHandle, 0},
      {"ReadVariableOp", importRead},
      {"AssignVariableOp", importAssign},
      {"AssignAddVariableOp", importAssign},
      {"AssignSubVariableOp", importAssign},
      {"Assign", importAssign},
      {"AssignAdd", importAssign},
      {"AssignSub", importAssign},
      {"VarIsInitializedOp", importIsInitialized, 0},
      {"RandomUniform", importRandom<false>},
      {"RandomStandardNormal", importRandom<true>},
      {"StatelessRandomGetKeyCounter", refuseRandom, 0},
      {"StatelessRandomUniform", refuseRandom, 0},
      {"StatelessRandomUniformV2", refuseRandom, 0},
      {"StatelessRandomNormal", refuseRandom, 0},
      {"StatelessRandomNormalV2", refuseRandom, 0},
  };
  return rows;
}
