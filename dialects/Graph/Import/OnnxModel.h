//===- OnnxModel.h - A whole ONNX model while it is imported -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IMPORT_ONNXMODEL_H
#define DIALECTS_GRAPH_IMPORT_ONNXMODEL_H

#include "dialects/Graph/IR/ExampleRows.h"
#include "dialects/Graph/Import/Importer.h"
#include "dialects/Graph/Import/OnnxNode.h"
#include "dialects/Graph/Import/OnnxSource.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/formats/external_files.h"
#include "runtime/formats/onnx_branches.h"
#include "runtime/formats/onnx_copies.h"
#include "runtime/formats/onnx_tensor.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

namespace mlir::dist::graph {

/// Where the nodes of a model that was exported at a batch of one size have
/// that batch in shapes that the file has as numbers. It is found by an import
/// at a batch of a size that is no other dim's, so that what grows with the
/// batch is told from what only has its size.
struct BatchPlan {
  /// The dims that it may be (-1: none), the most likely first.
  struct Place {
    SmallVector<int64_t, 2> dims;
    unsigned chosen = 0;
  };
  /// Of nodes by their first outputs, in the order of `names`.
  llvm::StringMap<Place> places;
  std::vector<std::string> names;
  /// What messages call the new batch.
  int64_t asked = 0;
  /// The first node that combines examples, as its source does.
  std::string combines;
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
  /// Of a model that was exported at a batch of another size, before it is
  /// imported: finds where the batch is. Where that cannot be told the import
  /// fails.
  void planBatch(StringRef bytes, std::shared_ptr<const void> owner);
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
  LogicalResult loadInitializer(onnx::TensorProto &tensor, int index);
  LogicalResult loadSparse(onnx::SparseTensorProto &sparse);
  LogicalResult addInitializer(const std::string &name,
                               const ::dist::HostArray &array);
  /// Float tensors of Constant nodes that would be trained as initializers.
  void findConstantWeights();
  LogicalResult selectOutputs();
  void dropUnreadOutputs();
  /// A sequence whose parts are only taken out becomes a Split.
  void takeSequencesApart();
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
  /// Initializers that are others, transposed.
  void findTransposes(llvm::function_ref<bool(StringRef)> isApart,
                      std::vector<::dist::OnnxCopy> &copies);
  /// By what the exporter tells of the source; returns which uses got copies.
  llvm::StringSet<> untieMerged(
      llvm::function_ref<std::string(const onnx::NodeProto &, StringRef)>
          nameCopy,
      llvm::function_ref<void(const std::string &, const std::string &,
                              const std::string &, int)>
          copyOf,
      llvm::StringSet<> &taken);
  /// Overrules `trainability` by what the exporter tells of the source.
  void applySource();
  /// For `notes` and the variables' reasons: who shares a parameter, what is
  /// not trained, what the exporter dropped.
  void describeSharing();
  void listFrozen();
  void adviseOnExport();
  void adviseOnRows();
  void adviseOnPadding();
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
  /// Of the function so far; null: there is none.
  Operation *getLastOp();
  LogicalResult finishFunction();
  Value lookup(const std::string &name);
  int64_t opsetOf(const onnx::NodeProto &node) const;
  Location locOf(StringRef name);
  FailureOr<HostTensor> readInitial(StringRef variable) override;
  Value stepCounter() override;
  FailureOr<int64_t> findBatchDim(ShapeUse use, Value x,
                                  ArrayRef<int64_t> shape) override;
  FailureOr<int64_t> findBatchDim(ArrayRef<Value> pieces,
                                  int64_t axis) override;
  /// The same while the plan is made.
  FailureOr<SmallVector<int64_t, 2>> listBatchDims(ShapeUse use, Value x,
                                                   ArrayRef<int64_t> shape);
  FailureOr<int64_t> enterPlace(SmallVector<int64_t, 2> dims);
  FailureOr<int64_t> lookUpPlace(int64_t rank);
  /// Which dims of the results of the ops after `before` are of examples; fails
  /// where examples meet that are apart in the source.
  LogicalResult followExamples(Operation *before);
  /// Takes the next of the dims that it may be, of the last node that led to
  /// the failure and has one left.
  bool takeNextPlace();
  ::dist::ExternalFiles *getExternalFiles() override { return files.get(); }
  bool isBound(unsigned i) const override {
    return int(i) < proto->input_size() &&
           options.bindings.count(proto->input(i));
  }
  bool isOfKeras() const override {
    StringRef producer = model.producer_name();
    return producer == "tf2onnx" || producer == "keras2onnx" ||
           producer == "keras_to_onnx";
  }

  const ImportOptions &options;
  int64_t assumedSize = 0;
  std::string path, folder;
  Location fileLocation;
  onnx::ModelProto model;
  ::dist::RawElements raw;
  ::dist::OnnxFunctionOfNode functionOf;
  std::map<std::string, int64_t> opsets;
  llvm::StringMap<::dist::HostArray> initializers;
  /// Initializers that cannot be read, and why: an error only when used.
  llvm::StringMap<std::string> badInitializers;
  llvm::StringMap<Trainability> trainability;
  OnnxSource source;
  /// Constant nodes that hold a parameter, in the file's order: its name, and
  /// of what.
  std::vector<std::pair<std::string, std::string>> constantWeights;
  /// Copies of initializers: what they are of, and how to make them again.
  llvm::StringMap<std::string> untiedFrom;
  /// Initializers that stand for numbers, by what the exporter tells.
  llvm::StringSet<> numbers;
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
  std::shared_ptr<BatchPlan> plan;
  std::string planError;
  /// Of the import that makes the plan; null: another import does.
  std::unique_ptr<RowTracker> tracker;
  /// The dim that holds the batch in what the node makes anew; -1: none.
  int64_t madeDim = -1;
  /// The places in the plan that a value depends on, by numbers.
  llvm::StringMap<std::set<unsigned>> placesOf;
  /// What could not be imported reads these.
  std::vector<std::string> failedReads;
  /// The files that tensors lie in; null: there may be none.
  std::unique_ptr<::dist::ExternalFiles> files;
  unsigned flowDepth = 0;
};

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IMPORT_ONNXMODEL_H
