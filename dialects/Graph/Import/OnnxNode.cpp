//===- OnnxNode.cpp - One ONNX node while it is imported -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxNode.h"
#include "dialects/Graph/Import/OnnxSource.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "runtime/formats/onnx_tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
/// Numbers of AttributeProto.AttributeType.
enum AttributeType {
  Float = 1,
  Int = 2,
  Text = 3,
  Tensor = 4,
  Floats = 6,
  Ints = 7,
  Texts = 8
};
} // namespace

//===----------------------------------------------------------------------===//
// Tensors of files
//===----------------------------------------------------------------------===//

static Type toElementType(MLIRContext *context, ::dist::DataType type) {
  Builder b(context);
  namespace m = ::dist::manifest;
  switch (type) {
  case m::F32:
    return b.getF32Type();
  case m::F64:
    return b.getF64Type();
  case m::F16:
    return b.getF16Type();
  case m::BF16:
    return b.getBF16Type();
  case m::BOOL:
    return b.getI1Type();
  case m::I8:
    return b.getI8Type();
  case m::I16:
    return b.getI16Type();
  case m::I32:
    return b.getI32Type();
  case m::I64:
    return b.getI64Type();
  case m::U8:
    return b.getIntegerType(8, false);
  case m::U16:
    return b.getIntegerType(16, false);
  case m::U32:
    return b.getIntegerType(32, false);
  case m::U64:
    return b.getIntegerType(64, false);
  default:
    return {};
  }
}

Type mlir::dist::graph::toElementType(MLIRContext *context, int32_t onnxType) {
  return ::toElementType(context, ::dist::fromOnnxType(onnxType));
}

RankedTensorType
mlir::dist::graph::toTensorType(MLIRContext *context,
                                const ::dist::HostArray &array) {
  Type element = ::toElementType(context, array.type);
  if (!element || !isSaneShape(array.shape))
    return {};
  return RankedTensorType::get(array.shape, element);
}

FailureOr<HostTensor>
mlir::dist::graph::toHostTensor(MLIRContext *context,
                                const ::dist::HostArray &array) {
  RankedTensorType type = toTensorType(context, array);
  if (!type)
    return failure();
  return HostTensor::fromBytes(type, {array.data, array.view().bytes()});
}

ElementsAttr mlir::dist::graph::toElements(MLIRContext *context, StringRef name,
                                           const ::dist::HostArray &array) {
  RankedTensorType type = toTensorType(context, array);
  if (!type)
    return {};
  if (type.getNumElements() <= 64) {
    FailureOr<HostTensor> tensor = toHostTensor(context, array);
    return succeeded(tensor) ? ElementsAttr(tensor->toAttribute())
                             : ElementsAttr();
  }
  // The blob keeps the file's bytes alive instead of copying them. Files put
  // them anywhere: who reads elements does so byte by byte (HostTensor).
  size_t element = ::dist::byteSize(array.type);
  bool aligned = reinterpret_cast<uintptr_t>(array.data) % element == 0;
  AsmResourceBlob blob(
      {array.data, array.view().bytes()}, aligned ? element : 1,
      [owner = array.owner](void *, size_t, size_t) {},
      /*dataIsMutable=*/false);
  return DenseResourceElementsAttr::get(type, name, std::move(blob));
}

//===----------------------------------------------------------------------===//
// OnnxNode
//===----------------------------------------------------------------------===//

void OnnxNode::begin(const onnx::NodeProto &node, int64_t nodeOpset,
                     Location nodeLoc, SmallVector<Value> nodeInputs) {
  proto = &node;
  opset = nodeOpset;
  loc = nodeLoc;
  inputs = std::move(nodeInputs);
  outputs.assign(node.output_size(), Value());
  askedAttributes.clear();
  why.clear();
  todo.clear();
}

LogicalResult OnnxNode::fail(const llvm::Twine &reason,
                             const llvm::Twine &advice) {
  if (why.empty()) {
    why = reason.str();
    todo = advice.str();
  }
  return failure();
}

bool OnnxNode::stopsGradient() const { return graph::stopsGradient(*proto); }

FailureOr<HostTensor> OnnxNode::constant(unsigned i) {
  if (!has(i))
    return fail("input " + llvm::Twine(i) + " is missing");
  BlockArgument argument;
  FailureOr<HostTensor> value = evaluate(in(i), &argument);
  if (succeeded(value))
    return value;
  if (!argument)
    return fail("the value of input '" + proto->input(i) +
                "' must be known at compile time, but is not");
  auto func = cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  auto name =
      func.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr);
  return fail("needs the value of input '" + name.getValue() +
                  "' at compile time",
              "give --bind " + name.getValue() + "=FILE");
}

FailureOr<SmallVector<int64_t>> OnnxNode::ints(unsigned i) {
  FailureOr<HostTensor> tensor = constant(i);
  if (failed(tensor))
    return failure();
  if (tensor->isFloat() || tensor->getShape().size() > 1)
    return fail("input " + llvm::Twine(i) + " must be a vector of integers");
  SmallVector<int64_t> values;
  for (int64_t e = 0; e < tensor->getNumElements(); ++e)
    values.push_back(tensor->getInt(e));
  return values;
}

FailureOr<int64_t> OnnxNode::oneInt(unsigned i) {
  FailureOr<HostTensor> tensor = constant(i);
  if (failed(tensor))
    return failure();
  if (tensor->isFloat() || tensor->getNumElements() != 1)
    return fail("input " + llvm::Twine(i) + " must be one integer");
  return tensor->getInt(0);
}

const onnx::AttributeProto *OnnxNode::findAttr(StringRef name) {
  askedAttributes.insert(name);
  for (const onnx::AttributeProto &attribute : proto->attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

/// Files before ONNX 1.3 may leave the type out: what is set tells it.
static bool isOfType(const onnx::AttributeProto &attribute,
                     AttributeType type) {
  if (attribute.type() != 0)
    return attribute.type() == type;
  switch (type) {
  case Float:
    return attribute.has_f();
  case Int:
    return attribute.has_i();
  case Text:
    return attribute.has_s();
  case Tensor:
    return attribute.has_t();
  case Floats:
  case Ints:
  case Texts:
    return true; // an empty list
  }
  llvm_unreachable("no type of an attribute");
}

/// The attribute, if there is one; null, too, with an error, where it is none
/// of the type.
static const onnx::AttributeProto *
takeTyped(OnnxNode &node, const onnx::AttributeProto *attribute,
          AttributeType type, StringRef what) {
  if (!attribute || isOfType(*attribute, type))
    return attribute;
  (void)node.fail("attribute '" + attribute->name() + "' must be " + what);
  return nullptr;
}

int64_t OnnxNode::intAttr(StringRef name, int64_t standard) {
  const onnx::AttributeProto *attribute =
      takeTyped(*this, findAttr(name), Int, "an integer");
  return attribute ? attribute->i() : standard;
}

double OnnxNode::floatAttr(StringRef name, double standard) {
  const onnx::AttributeProto *attribute =
      takeTyped(*this, findAttr(name), Float, "a float");
  return attribute ? attribute->f() : static_cast<float>(standard);
}

std::string OnnxNode::textAttr(StringRef name, StringRef standard) {
  const onnx::AttributeProto *attribute =
      takeTyped(*this, findAttr(name), Text, "a string");
  return attribute ? attribute->s() : standard.str();
}

std::optional<SmallVector<int64_t>> OnnxNode::intsAttr(StringRef name) {
  const onnx::AttributeProto *attribute =
      takeTyped(*this, findAttr(name), Ints, "a list of integers");
  if (!attribute)
    return std::nullopt;
  return llvm::to_vector_of<int64_t>(attribute->ints());
}

std::optional<SmallVector<double>> OnnxNode::floatsAttr(StringRef name) {
  const onnx::AttributeProto *attribute =
      takeTyped(*this, findAttr(name), Floats, "a list of floats");
  if (!attribute)
    return std::nullopt;
  return llvm::to_vector_of<double>(attribute->floats());
}

std::optional<SmallVector<std::string>> OnnxNode::textsAttr(StringRef name) {
  const onnx::AttributeProto *attribute =
      takeTyped(*this, findAttr(name), Texts, "a list of strings");
  if (!attribute)
    return std::nullopt;
  return llvm::to_vector_of<std::string>(attribute->strings());
}

const onnx::TensorProto *OnnxNode::tensorAttr(StringRef name) {
  const onnx::AttributeProto *attribute =
      takeTyped(*this, findAttr(name), Tensor, "a tensor");
  return attribute ? &attribute->t() : nullptr;
}

void OnnxNode::ignore(std::initializer_list<StringRef> names) {
  for (StringRef name : names)
    askedAttributes.insert(name);
}

FailureOr<std::optional<SmallVector<int64_t>>>
OnnxNode::intsOf(StringRef attribute, unsigned input, int64_t last) {
  if (opset <= last)
    return intsAttr(attribute);
  if (!has(input))
    return std::optional<SmallVector<int64_t>>();
  FailureOr<SmallVector<int64_t>> values = ints(input);
  if (failed(values))
    return failure();
  return std::make_optional(std::move(*values));
}

FailureOr<int64_t> OnnxNode::dim(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return fail("axis " + llvm::Twine(axis) + " is not a dim of " +
                llvm::Twine(rank));
  return axis < 0 ? axis + rank : axis;
}

FailureOr<SmallVector<int64_t>> OnnxNode::dims(ArrayRef<int64_t> axes,
                                               int64_t rank) {
  SmallVector<int64_t> result;
  for (int64_t axis : axes) {
    FailureOr<int64_t> one = dim(axis, rank);
    if (failed(one))
      return failure();
    if (llvm::is_contained(result, *one))
      return fail("axis " + llvm::Twine(axis) + " is named twice");
    result.push_back(*one);
  }
  return result;
}

LogicalResult OnnxNode::rebatch(ShapeUse use, Value x,
                                SmallVectorImpl<int64_t> &shape) {
  if (!batchFrom)
    return success();
  FailureOr<int64_t> dim = findBatchDim(use, x, shape);
  if (failed(dim))
    return failure();
  if (*dim < 0)
    return success();
  int64_t &size = shape[*dim];
  if (size % batchFrom || llvm::MulOverflow(size / batchFrom, batchTo, size))
    return fail("dim " + llvm::Twine(*dim) +
                " of its shape cannot take the batch");
  return success();
}

LogicalResult OnnxNode::rebatchPieces(SmallVectorImpl<Value> &pieces,
                                      int64_t axis) {
  if (!batchFrom)
    return success();
  FailureOr<int64_t> dim = findBatchDim(pieces, axis);
  if (failed(dim))
    return failure();
  if (*dim < 0)
    return success();
  int64_t rows = 1;
  for (Value piece : pieces)
    rows = std::max(rows, shapeOf(piece)[*dim]);
  for (Value &piece : pieces) {
    SmallVector<int64_t> shape(shapeOf(piece));
    if (std::exchange(shape[*dim], rows) == 1)
      piece = broadcastTo(piece, shape);
  }
  return success();
}

LogicalResult OnnxNode::out(unsigned i, Value value) {
  if (!value)
    return failure();
  if (i < outputs.size())
    outputs[i] = value;
  return success();
}

FailureOr<HostTensor> OnnxNode::tensor(const onnx::TensorProto &message) {
  onnx::TensorProto copy = message;
  ::dist::HostArray array;
  ::dist::Status status =
      ::dist::takeOnnxTensor(copy, getExternalFiles(), "attribute", &array);
  if (!status.ok())
    return fail(status.message());
  FailureOr<HostTensor> value = toHostTensor(getContext(), array);
  if (failed(value))
    return fail("a tensor attribute is too large");
  return value;
}

Type OnnxNode::elementType(int64_t onnxType) {
  Type type = onnxType >= 0 && onnxType < 1000
                  ? toElementType(getContext(), static_cast<int32_t>(onnxType))
                  : Type();
  if (!type)
    (void)fail("elements of " +
               ::dist::onnxTypeName(static_cast<int32_t>(onnxType)) +
               " are not supported");
  return type;
}

//===----------------------------------------------------------------------===//
// Op table
//===----------------------------------------------------------------------===//

const OnnxOp *mlir::dist::graph::findOnnxOp(StringRef domain, StringRef name,
                                            int64_t opset) {
  static const auto table = [] {
    llvm::StringMap<SmallVector<const OnnxOp *, 1>> result;
    for (ArrayRef<OnnxOp> rows :
         {getOnnxMathOps(), getOnnxActivationOps(), getOnnxShapeOps(),
          getOnnxDataOps(), getOnnxIndexOps(), getOnnxReduceOps(),
          getOnnxContractionOps(), getOnnxAttentionOps(), getOnnxEinsumOps(),
          getOnnxPoolOps(), getOnnxFoldOps(), getOnnxGridOps(),
          getOnnxFourierOps(), getOnnxNormOps(), getOnnxLossOps(),
          getOnnxResizeOps(), getOnnxRandomOps(), getOnnxRecurrentOps(),
          getOnnxRefusedOps()})
      for (const OnnxOp &row : rows)
        result[(llvm::Twine(row.domain) + ":" + row.name).str()].push_back(
            &row);
    return result;
  }();
  if (domain == "ai.onnx")
    domain = "";
  auto it = table.find((domain + ":" + name).str());
  const OnnxOp *best = nullptr;
  if (it != table.end())
    for (const OnnxOp *row : it->second)
      if (row->since <= opset && (!best || row->since > best->since))
        best = row;
  return best;
}
