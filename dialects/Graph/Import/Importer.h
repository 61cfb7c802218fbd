//===- Importer.h - Model files to the graph dialect -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model file becomes a module of `graph.variable`s and `func.func @predict`.
// Every op carries the name of the node it came from as its location.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IMPORT_IMPORTER_H
#define DIALECTS_GRAPH_IMPORT_IMPORTER_H

#include "dialects/Interfaces/HostTensor.h"
#include "runtime/formats/dependencies.h"
#include "runtime/formats/file.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mlir::dist::graph {

/// On an imported module: a list of texts that a user should read before the
/// model is trained.
inline constexpr llvm::StringLiteral kNotes = "graph.notes";
/// On an imported module: the initializers that the file lacks, each a list of
/// name, initializer that it copies, node and input (see OnnxCopy).
inline constexpr llvm::StringLiteral kUntied = "graph.untied";

struct ImportOptions {
  /// Value of the first symbolic dim (0: not given).
  int64_t batchSize = 0;
  /// Values of symbolic dims by name.
  std::map<std::string, int64_t> dims;
  /// Inputs whose value is compiled in as a constant.
  std::map<std::string, HostTensor> bindings;
  /// Initializers that are trained, or not, against the rule; empty: none.
  std::string trainRegex, freezeRegex;
  /// Initializers whose uses are trained apart; empty: where that is certain.
  std::string untieRegex;
  /// Of the model's file and those it points to; weights are not copied out of
  /// them.
  ::dist::FileAccess access = ::dist::FileAccess::Read;
  /// Gets every file that is opened, if not null.
  ::dist::Dependencies *dependencies = nullptr;
  /// Values that become the outputs; empty: the model's.
  std::vector<std::string> outputs;
  /// Of a SavedModel; empty: the one that is served.
  std::string signature;
  /// Of what the model draws; none: a model that draws is refused.
  std::optional<uint64_t> seed;
};

/// Imports a model file of any known form (told by content). Errors go to the
/// context's diagnostics, one per failure.
FailureOr<OwningOpRef<ModuleOp>>
importModel(MLIRContext *context, StringRef path, const ImportOptions &options);
/// The same of bytes, which `owner` keeps alive (null: they are copied);
/// `folder` is that of `path`, where external data lie (empty: refused).
FailureOr<OwningOpRef<ModuleOp>>
importModelBytes(MLIRContext *context, StringRef bytes, StringRef path,
                 StringRef folder, const ImportOptions &options,
                 std::shared_ptr<const void> owner = nullptr);

/// Whether a file's bytes look like a model that `importModel` reads, rather
/// than MLIR text or bytecode.
bool isModelBytes(StringRef bytes);

/// The tensor in a `.pb` (TensorProto), `.npy` or other array file, for
/// `bindings`.
FailureOr<HostTensor>
readTensorFile(MLIRContext *context, StringRef path,
               ::dist::Dependencies *dependencies = nullptr);

/// One node of a model file, for `--coverage`.
struct CoverageRow {
  std::string node, op;
  int64_t opset = 0;
  bool supported = false;
  /// Why not.
  std::string reason;
  /// `yes`, `no: OP`, or `-` where nothing is differentiated.
  std::string differentiable = "-";
  /// The dims of the result that devices can share, as `0,1`.
  std::string split = "-";
  /// `library`, `generated`, or `-` where nothing is computed.
  std::string kernel = "-";
};
/// Of the ops of `block` after `before` (null: all): what --coverage tells of a
/// node.
void describeOps(Block &block, Operation *before, CoverageRow &row);
struct Coverage {
  std::vector<CoverageRow> rows;
  /// As on an imported module.
  std::vector<std::string> notes;
  /// Whether the file as a whole cannot be imported; an error said why.
  bool refused = false;
};
/// Tries every node. Fails only when the file is no model.
FailureOr<Coverage> importCoverage(MLIRContext *context, StringRef path,
                                   const ImportOptions &options);

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IMPORT_IMPORTER_H
