//===- layout.h - Where variables lie in letters ----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A package of a worker says which parts of its variables servers hold; each
// server has a package of its own. From both follows where a part lies in the
// bytes of a letter: all processes make this of the same packages.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_PARAMETER_SERVER_LAYOUT_H
#define RUNTIME_PARAMETER_SERVER_LAYOUT_H

#include "runtime/core/manifest.pb.h"
#include "runtime/core/status.h"
#include "runtime/core/types.h"
#include <string>
#include <vector>

namespace dist::ps {

/// The variable of a worker that counts the steps of what draws random numbers
/// (dialects/Graph/IR/RandomState.h).
inline constexpr char kStepCounter[] = "random/step";

/// Its number in the manifest, or -1: nothing is drawn. Errors: it is no count.
Status findStepCounter(const manifest::Manifest &manifest, int *out);

/// A table of which a step has the rows that it looks up.
struct PulledTable {
  int variable = 0; // of the worker
  /// Variables of the worker's: so many rows at most, and which of them each of
  /// the table's is.
  int rows = 0, places = 0;
  int64_t size = 0, most = 0; // rows of the table, and of those
  size_t rowBytes = 0;
  std::vector<std::string> inputs; // whose integers number rows
};

/// A server's part of a variable, as a value and as a gradient.
struct PlacedPart {
  int variable = 0; // of the worker
  int there = 0;    // the server's variable
  int64_t begin = 0;
  std::vector<int64_t> shape; // the part's
  DataType type = manifest::DATA_TYPE_UNKNOWN;
  size_t offset = 0, bytes = 0;
  /// Of Layout::tables: behind all other parts, rows and their numbers travel;
  /// -1: all of it, at `offset`.
  int table = -1;
  /// Before it in the whole variable.
  size_t offsetInWhole = 0;
  TensorView view(const Buffer &letter) const {
    return {type, shape, letter.data() + offset};
  }
};

struct ServerLayout {
  manifest::Manifest manifest;
  std::vector<PlacedPart> parts;
  size_t partBytes = 0; // of the parts that travel whole
  /// Of the others, with the rows' numbers, at most.
  size_t mostRowBytes = 0;
  /// Of each of the server's variables, in State.
  std::vector<size_t> stateOffsets;
  size_t stateBytes = 0;
};

struct Layout {
  manifest::Manifest manifest; // the worker's
  std::vector<PulledTable> tables;
  std::vector<ServerLayout> servers;

  /// Of the code for `cpu` (SessionOptions::cpuVariant). Errors: damaged
  /// packages; variables that the mesh splits.
  static Status read(const std::string &package, const std::string &cpu,
                     Layout *out);
  /// No letter has more bytes.
  size_t largestLetter() const;
};

} // namespace dist::ps

#endif // RUNTIME_PARAMETER_SERVER_LAYOUT_H
