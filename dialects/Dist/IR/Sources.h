//===- Sources.h - Where shardings came from -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For explanations only, and only where asked for: dist-propagate-sharding
// keeps a row for each axis that a value came to be split over, with the row
// that it followed from. The rows are one compact attribute of the mesh; what
// has a sharding names its rows (`dist.sources`), what moves data names those
// that caused it (`dist.causes`). From a row, the chain goes back to the user's
// decision.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_DIST_IR_SOURCES_H
#define DIALECTS_DIST_IR_SOURCES_H

#include "dialects/Dist/IR/Mesh.h"

namespace mlir::dist {

/// Rows of the values an op, argument, variable or function result has.
inline constexpr llvm::StringLiteral kSourcesAttr = "dist.sources";
/// Rows that a reshard or collective follows from.
inline constexpr llvm::StringLiteral kCausesAttr = "dist.causes";
/// On a variable: the decision that split it, by axis.
inline constexpr llvm::StringLiteral kWhyAttr = "dist.why";

/// One axis of one value.
struct Source {
  /// The mesh axis.
  StringAttr axis;
  /// The value as a user knows it.
  StringAttr value;
  /// Which dim it splits, and of which result of its op. Dim -1: the row says
  /// on which stage or host the value is, not how it is split.
  int32_t dim = 0, result = 0;
  /// The op along which it came: its kind, and its name in the model file. Of a
  /// decision: empty, and the decision's text.
  StringAttr op, place;
  /// The row it followed from; -1: it was decided so.
  int32_t from = -1;
};

/// The rows as they stand in the mesh.
class SourceTable {
public:
  SourceTable() = default;
  explicit SourceTable(MeshOp mesh);

  /// Whether sources are kept at all.
  bool isKept() const { return rows != nullptr; }
  int32_t size() const;
  Source get(int32_t row) const;
  StringAttr getAxis(int32_t row) const;

  /// The value's row for the axis; -1 if it has none.
  int32_t find(Value value, StringAttr axis) const;
  /// Of an op's attribute, an argument's, a result's or a variable's.
  int32_t find(Attribute list, int32_t result, StringAttr axis) const;

private:
  ArrayAttr names;
  DenseI32ArrayAttr rows;
};

/// Collects rows, and puts them into the mesh.
class SourceBuilder {
public:
  /// Goes on with the rows that are there.
  explicit SourceBuilder(MeshOp mesh);
  int32_t add(const Source &source);
  StringAttr getAxis(int32_t row) const;
  void write(MeshOp mesh) const;
  bool isKept() const { return kept; }

private:
  int32_t getNumber(StringAttr name);
  SmallVector<Attribute> names;
  DenseMap<StringAttr, int32_t> numbers;
  std::vector<int32_t> rows;
  bool kept;
};

/// The rows that are named by `dist.sources` or `dist.causes`; none if null.
ArrayRef<int32_t> getRows(Attribute list);

/// What there is of a value: `dist.sources` of its op or argument.
Attribute findSources(Value value);

/// The transfer moves `value`, which `decision` put elsewhere along `axis`, to
/// the op that reads it, if there is one. Adds nothing where no rows are kept.
void addProgramCause(Operation *transfer, SourceBuilder &rows, StringRef axis,
                     StringRef decision, Value value, Operation *reader);

/// Adds to the op's causes.
void addCauses(Operation *op, ArrayRef<int32_t> rows);
/// The new op has the causes of the one it stands for; gives it back.
template <typename OpTy> OpTy copyCauses(Operation *from, OpTy to) {
  addCauses(to, getRows(from->getAttr(kCausesAttr)));
  return to;
}

/// The collective `op` stands for `other`, too: it takes on its causes, and its
/// reasons and places, each once.
void addExplanation(Operation *op, Operation *other);

/// A value as a user knows it: the variable's or input's name, else the op's.
std::string getValueName(Value value);
/// The same, quoted, with what it is.
std::string describeValue(Value value);

} // namespace mlir::dist

#endif // DIALECTS_DIST_IR_SOURCES_H
