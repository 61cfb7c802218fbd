//===- OnnxModel.h - A whole ONNX model while it is imported -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IMPORT_ONNXMODEL_H
#define DIALECTS_GRAPH_IMPORT_ONNXMODEL_H

#include "dialects/Graph/Import/Importer.h"
#include "dialects/Graph/Import/OnnxNode.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/formats/onnx_copies.h"
#include "runtime/formats/onnx_tensor.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::dist::graph {

/// A base, so that the builder exists before the node that refers to it.
struct BuilderStorage {
  explicit BuilderStorage(MLIRContext *context) : storage(context) {}
  OpBuilder storage;
};

/// `'a', 'b', 'c' and 4 more`.
std::string listNames(ArrayRef<std::string> names);

class OnnxModel : private BuilderStorage, private OnnxNode {
public:
  OnnxModel(MLIRContext *context, StringRef path, StringRef folder,
            const ImportOptions &options);

  /// Symbolic dims without a value are 2: for questions about ops, not sizes.
  void assumeSizes() {
    assumedSize = 2;
    seed = seed.value_or(0);
  }
  /// Parses and checks everything that does not need the op table. Errors are
  /// emitted.
  /// `owner` keeps the bytes alive, in which large initializers are left; null:
  /// all are copied.
  LogicalResult load(StringRef bytes, std::shared_ptr<const void> owner) {
    return failure(failed(parse(bytes, std::move(owner))) || failed(check()));
  }
  LogicalResult parse(StringRef bytes, std::shared_ptr<const void> owner);
  LogicalResult check();
  FailureOr<OwningOpRef<ModuleOp>> import();
  /// Without `complete` only the op table is asked: the file was refused.
  std::vector<CoverageRow> coverage(bool complete);
  /// Whether some node gives a shape as numbers.
  bool readsShapes() const;
  /// What a user should know of the model before it is trained.
  const std::vector<std::string> &getNotes() const { return notes; }

private:
  LogicalResult error(const llvm::Twine &what, const llvm::Twine &why,
                      const llvm::Twine &todo = "");
  LogicalResult loadOpsets();
  LogicalResult loadInitializers(onnx::GraphProto &graph);
  LogicalResult loadInitializer(onnx::TensorProto &tensor, int index,
                                ::dist::ExternalFiles &files);
  LogicalResult selectOutputs();
  void dropUnreadOutputs();
  void sortNodes();
  LogicalResult chooseBatch();
  LogicalResult checkNames();
  LogicalResult applyRegexes();
  /// Makes several of initializers that an exporter made one.
  LogicalResult untie();
  void untieStatistics(
      llvm::function_ref<std::string(const onnx::NodeProto &, StringRef)>
          nameCopy,
      std::vector<::dist::OnnxCopy> &copies);
  /// For `notes` and the variables' reasons: who shares a parameter, what is
  /// not trained, what the exporter dropped.
  void describeSharing();
  void listFrozen();
  void adviseOnExport();
  void adviseOnRows();
  /// Of the module's function.
  void adviseOnSteps();
  void adviseOnBatchNorms();
  /// Of an output whose shape is another one than the file says.
  void adviseOnShape(const onnx::ValueInfoProto &output, Value value);
  /// Of the model's device configuration: `shards`.
  LogicalResult loadShards();
  LogicalResult addShards(const onnx::ShardingSpecProto &spec);
  /// The type of a graph input with symbolic dims replaced; `batchDim` is -1
  /// when no dim is the batch.
  FailureOr<RankedTensorType> inputType(const onnx::ValueInfoProto &input,
                                        int64_t *batchDim);
  /// Module, function and its arguments.
  LogicalResult beginFunction();
  /// Which nodes the outputs need.
  std::vector<bool> findLiveNodes() const;
  /// Runs the op table's function of a node. On failure `why` and `todo` say
  /// why; nothing is emitted.
  LogicalResult importNode(const onnx::NodeProto &node);
  /// The same of a node that may have branches; `failedNode` is the one that
  /// cannot be imported.
  LogicalResult importAny(const onnx::NodeProto &node);
  LogicalResult importIf(const onnx::NodeProto &node);
  LogicalResult nodeError();
  /// Of the ops after `before`: what --coverage tells of a node.
  void describeOps(Operation *before, CoverageRow &row);
  LogicalResult finishFunction();
  void eraseDead();
  Value lookup(const std::string &name);
  int64_t opsetOf(const onnx::NodeProto &node) const;
  Location locOf(StringRef name);
  FailureOr<HostTensor> readInitial(StringRef variable) override;
  Value stepCounter() override;
  bool isBound(unsigned i) const override {
    return int(i) < proto->input_size() &&
           options.bindings.count(proto->input(i));
  }

  const ImportOptions &options;
  int64_t assumedSize = 0;
  std::string path, folder;
  Location fileLocation;
  onnx::ModelProto model;
  ::dist::RawElements raw;
  std::map<std::string, int64_t> opsets;
  llvm::StringMap<::dist::HostArray> initializers;
  /// Initializers that cannot be read, and why: an error only when used.
  llvm::StringMap<std::string> badInitializers;
  llvm::StringMap<Trainability> trainability;
  /// Copies of initializers: what they are of, and how to make them again.
  llvm::StringMap<std::string> untiedFrom;
  SmallVector<Attribute> untied;
  std::vector<std::string> notes;
  /// Initializer -> how many shards each dim has.
  llvm::StringMap<SmallVector<int64_t>> shards;
  llvm::StringMap<Value> values;
  /// Name of the symbolic dim that is the batch; "" when it has no name.
  std::optional<std::string> batchName;
  /// Whether it stands in front: then every input's open first dim is it.
  bool batchLeads = false;
  /// Whether --dim names it: then it stays where the model has it.
  bool isBatchGiven = false;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  Operation *lastRead = nullptr;
  Value counter;
  const onnx::NodeProto *failedNode = nullptr;
  unsigned flowDepth = 0;
};

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IMPORT_ONNXMODEL_H
