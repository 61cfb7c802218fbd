//===- OnnxNode.h - One ONNX node while it is imported -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the functions of the op table see. Reading an attribute of the wrong
// type, a missing input or a value that is not known yet records an error and
// gives a default, so that these functions stay straight. An attribute that
// was not asked for is an error in the end: nothing is ignored silently.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IMPORT_ONNXNODE_H
#define DIALECTS_GRAPH_IMPORT_ONNXNODE_H

#include "dialects/Graph/Import/Emitter.h"
#include "runtime/formats/onnx.pb.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <optional>

namespace dist {
class ExternalFiles;
struct HostArray;
} // namespace dist

namespace mlir::dist::graph {

namespace onnx = ::dist::onnx;

class OnnxNode : public Emitter {
public:
  using Emitter::Emitter;

  // The node.
  int64_t opset = 0;
  StringRef op() const { return proto->op_type(); }
  bool stopsGradient() const;

  // Inputs; null when omitted.
  unsigned numInputs() const { return inputs.size(); }
  bool has(unsigned i) const { return i < inputs.size() && inputs[i]; }
  Value in(unsigned i) const { return has(i) ? inputs[i] : Value(); }
  ArrayRef<Value> allInputs() const { return inputs; }
  /// The value of an input that must be known at import.
  FailureOr<HostTensor> constant(unsigned i);
  using Emitter::constant;
  FailureOr<SmallVector<int64_t>> ints(unsigned i);
  FailureOr<int64_t> oneInt(unsigned i);

  // Attributes.
  bool hasAttr(StringRef name) { return findAttr(name) != nullptr; }
  int64_t intAttr(StringRef name, int64_t standard);
  double floatAttr(StringRef name, double standard);
  std::string textAttr(StringRef name, StringRef standard);
  std::optional<SmallVector<int64_t>> intsAttr(StringRef name);
  std::optional<SmallVector<double>> floatsAttr(StringRef name);
  std::optional<SmallVector<std::string>> textsAttr(StringRef name);
  const onnx::TensorProto *tensorAttr(StringRef name);
  /// Attributes that change nothing here.
  void ignore(std::initializer_list<StringRef> names);
  /// Ints of an attribute up to opset `last`, of input `input` from then on;
  /// none when absent.
  FailureOr<std::optional<SmallVector<int64_t>>>
  intsOf(StringRef attribute, unsigned input, int64_t last);

  /// A dim counted from the end when negative; an error out of [-rank, rank).
  FailureOr<int64_t> dim(int64_t axis, int64_t rank);
  FailureOr<SmallVector<int64_t>> dims(ArrayRef<int64_t> axes, int64_t rank);

  // A model that was exported at a batch of one size, and is used at another.
  /// What a shape that the file has as numbers is for: `x` takes it, or is
  /// repeated to it (dims aligned at the end); or it is of something new.
  enum class ShapeUse { Reshape, Repeat, Make };
  /// Puts the new batch where the shape has the old one.
  LogicalResult rebatch(ShapeUse use, Value x, SmallVectorImpl<int64_t> &shape);
  /// The same of inputs that are joined: those that have one row for all
  /// examples are repeated.
  LogicalResult rebatchPieces(SmallVectorImpl<Value> &pieces, int64_t axis);
  int64_t batchFrom = 0, batchTo = 0; // 0: it is not
  /// The number of draws before; what they are made of (none: refused).
  uint64_t numDraws = 0;
  std::optional<uint64_t> seed;
  /// The tensor<i64> that counts steps.
  virtual Value stepCounter() = 0;
  /// Whether the value of an input was given by the user, not by the file.
  virtual bool isBound(unsigned i) const = 0;
  /// Whether the file was made of a model of Keras.
  virtual bool isOfKeras() const = 0;

  // Outputs.
  unsigned numOutputs() const { return proto->output_size(); }
  bool wants(unsigned i) const {
    return i < numOutputs() && !proto->output(i).empty();
  }
  LogicalResult out(Value value) { return out(0, value); }
  LogicalResult out(unsigned i, Value value);

  /// Records why the node cannot be imported (the first reason counts) and
  /// what the user can do.
  LogicalResult fail(const llvm::Twine &why, const llvm::Twine &todo = "");
  /// An attribute's tensor.
  FailureOr<HostTensor> tensor(const onnx::TensorProto &tensor);
  /// The element type of a number of TensorProto.DataType; null after `fail`.
  Type elementType(int64_t onnxType);

protected:
  /// The dim of the node's shape (of its inputs, when joined) that holds the
  /// batch; -1: none does.
  virtual FailureOr<int64_t> findBatchDim(ShapeUse use, Value x,
                                          ArrayRef<int64_t> shape) = 0;
  virtual FailureOr<int64_t> findBatchDim(ArrayRef<Value> pieces,
                                          int64_t axis) = 0;
  /// Where an attribute's tensor may keep its elements; null: in the message
  /// only.
  virtual ::dist::ExternalFiles *getExternalFiles() = 0;
  const onnx::AttributeProto *findAttr(StringRef name);
  void begin(const onnx::NodeProto &node, int64_t opset, Location loc,
             SmallVector<Value> inputs);

  const onnx::NodeProto *proto = nullptr;
  SmallVector<Value> inputs, outputs;
  llvm::StringSet<> askedAttributes;
  std::string why, todo;
};

using OnnxImportFn = LogicalResult (*)(OnnxNode &);

/// A row of the op table. A node of opset N takes the row with the largest
/// `since` <= N. A null function: the op is no more, or not supported for
/// the reason given.
struct OnnxOp {
  const char *name;
  int since;
  unsigned minInputs, maxInputs;
  OnnxImportFn import;
  const char *reason = nullptr;
  const char *domain = "";
  const char *todo = nullptr;
};
constexpr unsigned kManyInputs = 1u << 20;

/// The rows of each family.
ArrayRef<OnnxOp> getOnnxMathOps();
ArrayRef<OnnxOp> getOnnxActivationOps();
ArrayRef<OnnxOp> getOnnxShapeOps();
ArrayRef<OnnxOp> getOnnxDataOps();
ArrayRef<OnnxOp> getOnnxIndexOps();
ArrayRef<OnnxOp> getOnnxReduceOps();
ArrayRef<OnnxOp> getOnnxContractionOps();
ArrayRef<OnnxOp> getOnnxAttentionOps();
ArrayRef<OnnxOp> getOnnxEinsumOps();
ArrayRef<OnnxOp> getOnnxPoolOps();
ArrayRef<OnnxOp> getOnnxFoldOps();
ArrayRef<OnnxOp> getOnnxGridOps();
ArrayRef<OnnxOp> getOnnxFourierOps();
ArrayRef<OnnxOp> getOnnxNormOps();
ArrayRef<OnnxOp> getOnnxLossOps();
ArrayRef<OnnxOp> getOnnxResizeOps();
ArrayRef<OnnxOp> getOnnxRandomOps();
ArrayRef<OnnxOp> getOnnxRecurrentOps();
ArrayRef<OnnxOp> getOnnxRefusedOps();

/// The row for a node, or null after nothing was found.
const OnnxOp *findOnnxOp(StringRef domain, StringRef name, int64_t opset);

/// A tensor of a file as a value of the evaluator, and as an attribute that
/// refers to the file's bytes (small ones are copied).
FailureOr<HostTensor> toHostTensor(MLIRContext *context,
                                   const ::dist::HostArray &array);
ElementsAttr toElements(MLIRContext *context, StringRef name,
                        const ::dist::HostArray &array);
RankedTensorType toTensorType(MLIRContext *context,
                              const ::dist::HostArray &array);
/// Null when there is no such element type here.
Type toElementType(MLIRContext *context, int32_t onnxType);

/// Whether an initializer is trained, and why.
struct Trainability {
  bool trainable = false;
  std::string group = "parameter";
  std::string why;
  /// The nodes that it is a parameter of as a whole, each once.
  std::vector<std::string> users;
  /// Whether --train or --freeze decided.
  bool byUser = false;
  /// Whether some use had a reason: uses without one do not replace it.
  bool seen = false;
};
/// Whether a value has a name that the source gave a parameter, rather than
/// one that an exporter made up.
bool isParameterName(StringRef name);
/// Visits the nodes of a graph in their order, and those of branches before
/// the nodes that have them.
void forEachNode(const onnx::GraphProto &graph,
                 llvm::function_ref<void(const onnx::NodeProto &)> visit);
/// By the rule of the design, for all floating-point initializers of the
/// model's graph, or in the place of them.
llvm::StringMap<Trainability>
findTrainable(const onnx::ModelProto &model,
              const llvm::StringMap<::dist::HostArray> &initializers);

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IMPORT_ONNXNODE_H
