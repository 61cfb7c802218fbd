//===- TensorFlowNode.cpp - One TensorFlow node while imported ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/TensorFlowNode.h"
#include "runtime/formats/onnx_tensor.h"
#include "runtime/formats/tensor_bundle.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// Of the ops of ONNX that nodes are imported by.
static constexpr int64_t kOpset = 24;
/// Numbers of AttributeProto.AttributeType.
static constexpr int kFloat = 1, kInt = 2, kText = 3, kInts = 7;

static onnx::AttributeProto named(StringRef name, int type) {
  onnx::AttributeProto attribute;
  attribute.set_name(name.str());
  attribute.set_type(type);
  return attribute;
}
onnx::AttributeProto mlir::dist::graph::onnxInt(StringRef name, int64_t value) {
  onnx::AttributeProto attribute = named(name, kInt);
  attribute.set_i(value);
  return attribute;
}
onnx::AttributeProto mlir::dist::graph::onnxInts(StringRef name,
                                                 ArrayRef<int64_t> value) {
  onnx::AttributeProto attribute = named(name, kInts);
  for (int64_t one : value)
    attribute.add_ints(one);
  return attribute;
}
onnx::AttributeProto mlir::dist::graph::onnxFloat(StringRef name,
                                                  double value) {
  onnx::AttributeProto attribute = named(name, kFloat);
  attribute.set_f(float(value));
  return attribute;
}
onnx::AttributeProto mlir::dist::graph::onnxText(StringRef name,
                                                 StringRef value) {
  onnx::AttributeProto attribute = named(name, kText);
  attribute.set_s(value.str());
  return attribute;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

const tensorflow::AttrValue *TensorFlowNode::attribute(StringRef name) const {
  auto it = node->attr().find(name.str());
  return it == node->attr().end() ? nullptr : &it->second;
}

int64_t TensorFlowNode::getInt(StringRef name, int64_t standard) const {
  const tensorflow::AttrValue *value = attribute(name);
  return value && value->has_i() ? value->i() : standard;
}
double TensorFlowNode::getFloat(StringRef name, double standard) const {
  const tensorflow::AttrValue *value = attribute(name);
  return value && value->has_f() ? value->f() : standard;
}
bool TensorFlowNode::getBool(StringRef name, bool standard) const {
  const tensorflow::AttrValue *value = attribute(name);
  return value && value->has_b() ? value->b() : standard;
}
StringRef TensorFlowNode::getText(StringRef name, StringRef standard) const {
  const tensorflow::AttrValue *value = attribute(name);
  return value && value->has_s() ? StringRef(value->s()) : standard;
}
SmallVector<int64_t> TensorFlowNode::getInts(StringRef name) const {
  const tensorflow::AttrValue *value = attribute(name);
  return value && value->has_list()
             ? llvm::to_vector_of<int64_t>(value->list().i())
             : SmallVector<int64_t>();
}

Type TensorFlowNode::toType(int64_t type) {
  Type element = toElementType(
      getContext(),
      ::dist::toOnnxType(::dist::fromTensorFlowType(int32_t(type))));
  if (!element)
    (void)fail("elements of " + ::dist::tensorFlowTypeName(int32_t(type)) +
               " are not supported");
  return element;
}
Type TensorFlowNode::getType(StringRef name) {
  const tensorflow::AttrValue *value = attribute(name);
  if (value && value->value_case() == tensorflow::AttrValue::kType)
    return toType(value->type());
  (void)fail("attribute '" + name + "' is missing, or no type");
  return {};
}

//===----------------------------------------------------------------------===//
// Inputs and results
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<int64_t>> TensorFlowNode::numbers(unsigned i) {
  FailureOr<HostTensor> tensor = constant(i);
  if (failed(tensor))
    return failure();
  if (tensor->isFloat())
    return fail("input " + llvm::Twine(i) + " must be of integers");
  SmallVector<int64_t> values;
  for (int64_t e = 0; e < tensor->getNumElements(); ++e)
    values.push_back(tensor->getInt(e));
  return values;
}

LogicalResult TensorFlowNode::give(unsigned i, TensorFlowItem item) {
  if (i >= results.size())
    results.resize(i + 1);
  results[i] = std::move(item);
  return success();
}

LogicalResult TensorFlowNode::result(unsigned i, Value value) {
  if (!value)
    return failure();
  TensorFlowItem item;
  item.value = value;
  return give(i, std::move(item));
}

SmallVector<Value>
TensorFlowNode::onnxAll(StringRef op, ArrayRef<Value> operands,
                        ArrayRef<onnx::AttributeProto> attributes,
                        unsigned numOutputs) {
  if (!why.empty() || llvm::is_contained(operands.take_front(1), Value()))
    return {};
  const OnnxOp *row = findOnnxOp("", op, kOpset);
  if (!row || !row->import) {
    (void)fail("ONNX's " + op + " is not supported");
    return {};
  }
  onnx::NodeProto stand;
  stand.set_op_type(op.str());
  for (size_t i = 0; i < operands.size(); ++i)
    stand.add_input("input " + std::to_string(i));
  for (unsigned i = 0; i < numOutputs; ++i)
    stand.add_output("output " + std::to_string(i));
  for (const onnx::AttributeProto &attribute : attributes)
    *stand.add_attribute() = attribute;
  const onnx::NodeProto *outer = proto;
  SmallVector<Value> outerInputs = inputs;
  llvm::scope_exit restore([&] {
    proto = outer;
    inputs = std::move(outerInputs);
  });
  begin(stand, kOpset, loc, llvm::to_vector(operands));
  SmallVector<Value> made;
  if (succeeded(row->import(*this)) && why.empty())
    made = outputs;
  return made;
}

//===----------------------------------------------------------------------===//
// The tables
//===----------------------------------------------------------------------===//

const TensorFlowOp *mlir::dist::graph::findTensorFlowOp(StringRef name) {
  static const llvm::StringMap<TensorFlowOp> table = [] {
    llvm::StringMap<TensorFlowOp> rows;
    for (ArrayRef<TensorFlowOp> family :
         {getTensorFlowMathOps(), getTensorFlowShapeOps(),
          getTensorFlowIndexOps(), getTensorFlowContractionOps(),
          getTensorFlowWindowOps(), getTensorFlowSpaceOps(),
          getTensorFlowStateOps(), getTensorFlowControlOps()})
      for (const TensorFlowOp &row : family)
        rows[row.name] = row;
    return rows;
  }();
  auto it = table.find(name);
  return it == table.end() ? nullptr : &it->second;
}
