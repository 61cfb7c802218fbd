//===- OnnxSource.h - What a file tells of its source -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch's exporter (dynamo=True) writes down what the source's tensors are
// (parameters, buffers, constants), which of them each node reads, and from
// what it computed an initializer. Where that is in the file, nothing of it
// need be guessed. Files of examples/export have the source's parameters and
// moving statistics for initializers, and nothing else, which their graph
// notes. Other files, and those from which a tool dropped it, tell nothing.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IMPORT_ONNXSOURCE_H
#define DIALECTS_GRAPH_IMPORT_ONNXSOURCE_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <optional>
#include <string>

namespace dist::onnx {
class GraphProto;
class NodeProto;
} // namespace dist::onnx

namespace mlir::dist::graph {

/// Whether a node is told, by the notes of what wrote the file, to let no
/// gradient through, for which ONNX has no word.
bool stopsGradient(const ::dist::onnx::NodeProto &node);

class OnnxSource {
public:
  OnnxSource() = default;
  explicit OnnxSource(const ::dist::onnx::GraphProto &graph);

  bool isTold() const { return !kinds.empty() || onlyWeights; }
  /// Whether every initializer is a parameter or a moving statistic.
  bool hasOnlyWeights() const { return onlyWeights; }
  /// `Fixed`: a buffer or a constant, which nothing trains.
  enum class Kind { Unknown, Parameter, Fixed };
  Kind kindOf(StringRef tensor) const { return kinds.lookup(tensor); }

  /// What the exporter computed an initializer from.
  struct Origin {
    /// The source's parameters among it.
    SmallVector<std::string, 2> parameters;
    /// Whether only the form changed, and numbers were put together.
    bool isForm = true;
  };
  /// Null: it was not computed, or nothing is told.
  const Origin *findOrigin(StringRef initializer) const {
    auto it = origins.find(initializer);
    return it == origins.end() ? nullptr : &it->second;
  }

  /// The source's parameter that all of it is, maybe in another form; else
  /// empty.
  StringRef findParameter(StringRef initializer) const {
    if (const Origin *origin = findOrigin(initializer))
      return origin->isForm && origin->parameters.size() == 1
                 ? StringRef(origin->parameters.front())
                 : StringRef();
    return onlyWeights || kindOf(initializer) == Kind::Parameter ? initializer
                                                                 : StringRef();
  }
  /// What the source has where a node reads an initializer.
  struct Read {
    /// `Same`: what the initializer has been made of. `Merged`: `parameter`,
    /// which the exporter made one with it, since they were equal. `Number`:
    /// none of its parameters, but a number of the source or the exporter,
    /// which was made one with it, too. `Unclear`: what the exporter computed
    /// and is no longer in the file.
    enum Kind { Same, Merged, Number, Unclear } kind = Same;
    std::string parameter;
  };
  Read findRead(const ::dist::onnx::NodeProto &node, StringRef initializer,
                llvm::function_ref<bool(StringRef)> isInFile) const;
  /// The row of a table that lookups do not train in the source (padding_idx).
  static std::optional<int64_t>
  findPadding(const ::dist::onnx::NodeProto &node);

private:
  bool onlyWeights = false;
  llvm::StringMap<Kind> kinds;
  llvm::StringMap<Origin> origins;
  /// What the nodes' notes call a parameter -> its name.
  llvm::StringMap<std::string> parameters;
  /// What the notes call values of the file that depend on its inputs, and the
  /// source's buffers.
  llvm::StringSet<> values;
};

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IMPORT_ONNXSOURCE_H
