//===- TensorFlowNode.h - One TensorFlow node while imported ----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the functions of the op tables see: a node's inputs, attributes and
// results. To add an op: a function in the file of its family, and a row in the
// table at that file's end. What ONNX has as well is best imported by `onnx`,
// which runs the function of ONNX's op.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IMPORT_TENSORFLOWNODE_H
#define DIALECTS_GRAPH_IMPORT_TENSORFLOWNODE_H

#include "dialects/Graph/Import/OnnxNode.h"
#include "runtime/formats/tensorflow.pb.h"

namespace mlir::dist::graph {

namespace tensorflow = ::dist::tensorflow;

/// What an output of a node holds: a tensor, a variable's handle (its number),
/// or a list of tensors. None of them: what only a host has, as strings.
struct TensorFlowItem {
  Value value;
  int variable = -1;
  std::shared_ptr<const SmallVector<Value>> list;
};
using TensorFlowItems = SmallVector<TensorFlowItem>;

onnx::AttributeProto onnxInt(StringRef name, int64_t value);
onnx::AttributeProto onnxInts(StringRef name, ArrayRef<int64_t> value);
onnx::AttributeProto onnxFloat(StringRef name, double value);
onnx::AttributeProto onnxText(StringRef name, StringRef value);

class TensorFlowNode : public OnnxNode {
public:
  using OnnxNode::OnnxNode;

  StringRef kind() const { return node->op(); }

  // Inputs besides tensors, which `in`, `ints` and `constant` give.
  const TensorFlowItem &item(unsigned i) const { return items[i]; }
  ArrayRef<TensorFlowItem> allItems() const { return items; }
  /// The numbers of an input, each a value that is known; of any shape.
  FailureOr<SmallVector<int64_t>> numbers(unsigned i);

  // Attributes.
  const tensorflow::AttrValue *attribute(StringRef name) const;
  int64_t getInt(StringRef name, int64_t standard) const;
  double getFloat(StringRef name, double standard) const;
  bool getBool(StringRef name, bool standard) const;
  StringRef getText(StringRef name, StringRef standard) const;
  SmallVector<int64_t> getInts(StringRef name) const;
  /// Null after `fail`.
  Type getType(StringRef name);
  Type toType(int64_t tensorFlowType);

  // Results.
  LogicalResult give(unsigned i, TensorFlowItem item);
  LogicalResult result(Value value) { return result(0, value); }
  LogicalResult result(unsigned i, Value value);

  /// What ONNX's op of that name gives for these.
  SmallVector<Value> onnxAll(StringRef op, ArrayRef<Value> operands,
                             ArrayRef<onnx::AttributeProto> attributes = {},
                             unsigned numOutputs = 1);
  Value onnx(StringRef op, ArrayRef<Value> operands,
             ArrayRef<onnx::AttributeProto> attributes = {}) {
    SmallVector<Value> all = onnxAll(op, operands, attributes);
    return all.empty() ? Value() : all.front();
  }

  // Variables and functions, which the model has.
  virtual Value readVariable(int number) = 0;
  virtual LogicalResult assignVariable(int number, Value value) = 0;
  /// The number of the variable that a VarHandleOp or a VariableV2 makes.
  virtual int findVariable() = 0;
  /// The results of a function of the file.
  virtual FailureOr<TensorFlowItems> call(StringRef function,
                                          ArrayRef<TensorFlowItem> inputs) = 0;
  /// The value of a Const.
  virtual LogicalResult importConst() = 0;

protected:
  const tensorflow::NodeDef *node = nullptr;
  TensorFlowItems items, results;
};

/// A row of the op tables: the op's results by their names in TensorFlow, as
/// functions refer to them ("" where there is one, or one list).
struct TensorFlowOp {
  StringRef name;
  LogicalResult (*import)(TensorFlowNode &);
  unsigned minInputs = 1;
  StringRef results = "";
};
/// The rows of each family.
ArrayRef<TensorFlowOp> getTensorFlowMathOps();
ArrayRef<TensorFlowOp> getTensorFlowShapeOps();
ArrayRef<TensorFlowOp> getTensorFlowIndexOps();
ArrayRef<TensorFlowOp> getTensorFlowContractionOps();
ArrayRef<TensorFlowOp> getTensorFlowWindowOps();
ArrayRef<TensorFlowOp> getTensorFlowSpaceOps();
ArrayRef<TensorFlowOp> getTensorFlowStateOps();
ArrayRef<TensorFlowOp> getTensorFlowControlOps();

const TensorFlowOp *findTensorFlowOp(StringRef name);

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IMPORT_TENSORFLOWNODE_H
