//===- TensorFlowModel.h - A TensorFlow model while imported ----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a signature needs is imported, from its outputs on: functions are
// written out where they are called. A variable is known by the node that makes
// its handle; its value is the checkpoint's under the key that the graph's
// restore assigns to that handle.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IMPORT_TENSORFLOWMODEL_H
#define DIALECTS_GRAPH_IMPORT_TENSORFLOWMODEL_H

#include "dialects/Graph/Import/Importer.h"
#include "dialects/Graph/Import/TensorFlowNode.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/formats/external_files.h"
#include "runtime/formats/tensor_bundle.h"

namespace mlir::dist::graph {

class TensorFlowModel : private BuilderStorage, private TensorFlowNode {
public:
  TensorFlowModel(MLIRContext *context, StringRef path, StringRef folder,
                  const ImportOptions &options);

  LogicalResult load(StringRef bytes);
  FailureOr<OwningOpRef<ModuleOp>> import();
  /// Of what the signature needs; ops without sizes are told by the table.
  std::vector<CoverageRow> coverage();
  void assumeSizes() {
    assumedSize = 2;
    seed = seed.value_or(0);
  }
  bool readsShapes() const { return hasShapes; }
  const std::vector<std::string> &getNotes() const { return notes; }

private:
  using Nodes = google::protobuf::RepeatedPtrField<tensorflow::NodeDef>;
  /// A list of nodes, and where each is.
  struct Graph {
    const Nodes *nodes = nullptr;
    const tensorflow::FunctionDef *function = nullptr; // null: the model's
    llvm::StringMap<int> places;
  };
  /// A graph while it is imported: once a call.
  struct Frame {
    explicit Frame(const Graph &graph) : graph(graph) {}
    const Graph &graph;
    llvm::StringMap<TensorFlowItem> arguments;
    llvm::DenseMap<int, TensorFlowItems> results;
  };
  /// An input as nodes write it: `name`, `name:1`, `name:result:1`, `^name`.
  struct Reference {
    StringRef name, result;
    unsigned index = 0;
    bool isControl = false;
  };
  struct Variable {
    std::string name;
    std::string key; // in the checkpoint; empty: unknown
    ::dist::HostArray initial;
    bool trainable = false;
    /// Whether the outputs may depend on it.
    bool isReached = false;
    std::string group = "parameter", why;
    Value value; // once read, or assigned
  };
  struct Port {
    std::string name, tensor;
    const tensorflow::TensorInfo *info = nullptr;
    tensorflow::TensorShapeProto shape;
    int32_t type = 0;
  };

  static Reference parseReference(StringRef text);
  LogicalResult error(const llvm::Twine &what, const llvm::Twine &why,
                      const llvm::Twine &todo = "");
  LogicalResult error(const ::dist::Status &status);

  // Before anything is imported.
  LogicalResult addGraph(Graph &graph, const Nodes &nodes);
  LogicalResult chooseSignature();
  void chooseFrozenPorts();
  LogicalResult selectOutputs();
  void dropUnreadInputs();
  LogicalResult loadVariables();
  void markReached();
  void findKeys(const Graph &graph, ArrayRef<std::string> arguments);
  void tellTrainable(llvm::StringMap<bool> &byKey,
                     llvm::StringMap<std::string> &names);
  LogicalResult addFrozenVariables();
  LogicalResult applyRegexes();

  // Nodes.
  const Graph *findFunction(StringRef name) const;
  FailureOr<TensorFlowItem> lookup(Frame &frame, StringRef input);
  FailureOr<unsigned> findResult(Frame &frame, const tensorflow::NodeDef &of,
                                 const Reference &reference, size_t count);
  /// Imports what these need.
  LogicalResult importTo(Frame &frame, ArrayRef<std::string> wanted);
  LogicalResult importNode(Frame &frame, int place);
  LogicalResult runNode(Frame &frame);
  void recordFailure(const Frame &frame);

  LogicalResult beginFunction();
  FailureOr<RankedTensorType> inputType(const Port &port, int64_t *batchDim);
  LogicalResult finishFunction();

  // For the nodes' functions.
  Value readVariable(int number) override;
  LogicalResult assignVariable(int number, Value value) override;
  int findVariable() override;
  FailureOr<TensorFlowItems> call(StringRef function,
                                  ArrayRef<TensorFlowItem> inputs) override;
  LogicalResult importConst() override;
  Value stepCounter() override;
  bool isBound(unsigned) const override { return false; }
  bool isOfKeras() const override { return true; }
  FailureOr<int64_t> findBatchDim(ShapeUse, Value, ArrayRef<int64_t>) override {
    return -1;
  }
  FailureOr<int64_t> findBatchDim(ArrayRef<Value>, int64_t) override {
    return -1;
  }
  ::dist::ExternalFiles *getExternalFiles() override { return nullptr; }
  FailureOr<HostTensor> readInitial(StringRef variable) override;

  const ImportOptions &options;
  std::string path, folder;
  Location fileLocation;
  tensorflow::MetaGraphDef model;
  bool isFrozen = false;
  Graph graph;
  llvm::StringMap<Graph> functions;
  std::vector<Port> inputPorts, outputPorts;
  std::vector<Variable> variables;
  llvm::StringMap<int> variableOf; // by node
  std::unique_ptr<::dist::ExternalFiles> files;
  std::unique_ptr<::dist::TensorBundle> bundle;
  std::vector<std::string> notes;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  Operation *lastRead = nullptr;
  Value counter;
  int64_t assumedSize = 0;
  bool hasShapes = false, hasBatch = false, isCoverage = false;
  unsigned depth = 0, imported = 0;
  /// What could not be imported: the innermost node.
  std::string failedWhat;
  std::vector<CoverageRow> rows;
};

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IMPORT_TENSORFLOWMODEL_H
