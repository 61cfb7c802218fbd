//===- StableHloImporter.h - A StableHLO function while imported *- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One method an op, in a file a family. A method gives the op's results, or
// none after an error has been emitted; that they have the types which the file
// states is checked for all of them.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IMPORT_STABLEHLOIMPORTER_H
#define DIALECTS_GRAPH_IMPORT_STABLEHLOIMPORTER_H

#include "dialects/Graph/Import/Emitter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::dist::graph {

class StableHloImporter : private BuilderStorage, private Emitter {
public:
  explicit StableHloImporter(ModuleOp source);
  FailureOr<OwningOpRef<ModuleOp>> import();

private:
  using Results = SmallVector<Value>;
  using Method = Results (StableHloImporter::*)(Operation *);
  /// An op that is imported, and how many operands and results each of its
  /// kind has at the least: the parser knows nothing of them.
  struct Row {
    StringRef name;
    Method method;
    unsigned operands = 1, results = 1;
  };
  using Table = llvm::StringMap<Row>;
  static void addRows(Table &table, ArrayRef<Row> rows);

  /// The index dims of a gather or scatter, in StableHLO's words.
  struct IndexDims {
    SmallVector<int64_t> window, collapsed, operandBatch, indexBatch, map;
    int64_t vector = 0;
  };
  /// Where the elements that a gather reads, or a scatter writes, lie.
  struct Places {
    /// What `gather_nd` takes: a coordinate of each of `dims` in the last dim.
    Value indices;
    /// Operand dims: the batch's, those that indices tell of, the others.
    SmallVector<int64_t> order;
    int64_t batchDims = 0;
    /// From the dims of `gather_nd`'s result to those of the op.
    SmallVector<int64_t> toResult;
    /// Whether all of a window is within the operand, in the shape of
    /// `indices` but its last dim.
    Value within;
  };
  /// How a region combines two elements.
  enum class Combiner {
    None,
    Add,
    Multiply,
    Maximum,
    Minimum,
    And,
    Or,
    Second
  };

  // Errors: 'cannot import OP: WHY; TODO' at the op's place.
  void fail(const llvm::Twine &why, const llvm::Twine &todo = "");
  Results refuse(const llvm::Twine &why, const llvm::Twine &todo = "") {
    fail(why, todo);
    return {};
  }
  /// One result, if there is one.
  static Results one(Value value) { return value ? Results{value} : Results(); }

  // The module.
  LogicalResult checkTypes(Operation *op);
  LogicalResult importArguments(func::FuncOp entry);
  LogicalResult addVariable(func::FuncOp entry, unsigned argument);
  void finishEntry(func::FuncOp entry, ValueRange results);
  void noteConstants();
  FailureOr<HostTensor> readInitial(StringRef variable) override;
  /// Imports a block's ops with these values for its arguments, and gives what
  /// its terminator has.
  FailureOr<Results> importBlock(Block &block, ValueRange arguments);
  LogicalResult importOp(Operation *op);

  // Attributes.
  std::optional<SmallVector<int64_t>> ints(StringRef name,
                                           ArrayRef<int64_t> otherwise = {});
  std::optional<int64_t> integer(StringRef name,
                                 std::optional<int64_t> otherwise = {});
  /// Of `#stablehlo<KIND WORD>`: the word; "" if there is none.
  StringRef word(StringRef name);
  /// Of `#stablehlo.KIND<NAME = [1, 2], ...>`: a list; empty if there is none.
  /// Null: it cannot be read.
  std::optional<SmallVector<int64_t>> listOf(StringRef attribute,
                                             StringRef name);
  std::optional<IndexDims> indexDims(StringRef attribute, bool scatters);
  Value operand(unsigned i) { return values.lookup(current->getOperand(i)); }
  SmallVector<Value> operands();
  RankedTensorType resultType(unsigned i = 0);

  // Regions.
  Combiner findCombiner(Region &region);
  /// The region's results for these numbers; fails where they depend on more.
  FailureOr<SmallVector<HostTensor>> callWithNumbers(Region &region,
                                                     ArrayRef<double> numbers);
  std::optional<double> findSplat(Value value);
  bool isNeutral(Combiner combiner, Value value);
  Value combine(Combiner combiner, Value x, Value y);

  static void addMath(Table &table);
  static void addShapes(Table &table);
  static void addReductions(Table &table);
  static void addContractions(Table &table);
  static void addIndexing(Table &table);
  static void addControl(Table &table);

  // Math.
  template <typename OpTy> Results importUnary(Operation *op);
  template <typename OpTy> Results importBinary(Operation *op);
  /// Of bits where the type is i1.
  template <typename OpTy, typename BitsTy>
  Results importLogical(Operation *op);
  Results importMaximum(Operation *op);
  Results importConstant(Operation *op);
  Results importIota(Operation *op);
  Results importConvert(Operation *op);
  Results importReducePrecision(Operation *op);
  Results importCompare(Operation *op);
  Results importSelect(Operation *op);
  Results importClamp(Operation *op);
  Results importIsFinite(Operation *op);
  Results importSquare(Operation *op);
  Results importRoundAway(Operation *op);
  Results importCbrt(Operation *op);
  Results importShiftRight(Operation *op);
  Results importErfc(Operation *op);
  Results importSame(Operation *op);

  // Shapes.
  Results importBroadcast(Operation *op);
  Results importReshape(Operation *op);
  Results importTranspose(Operation *op);
  Results importSlice(Operation *op);
  Results importPad(Operation *op);
  Results importConcatenate(Operation *op);
  Results importReverse(Operation *op);
  Results importDynamicSlice(Operation *op);
  Results importDynamicUpdateSlice(Operation *op);
  /// 0, 1, 2, ... along a dim: numbers where they are few, so that what is
  /// computed of them folds.
  Value countUp(ArrayRef<int64_t> shape, int64_t dim);
  /// A scalar start, within what the window leaves.
  Value clampStart(Value start, int64_t most);
  std::optional<int64_t> findNumber(Value value);
  /// The operand with `update` from `start` on in one dim, of which all other
  /// dims are whole.
  Value replacePart(Value x, Value update, int64_t dim, int64_t start);

  // Reductions.
  Results importReduce(Operation *op);
  Results importArgReduce(Operation *op);
  Results importReduceWindow(Operation *op);
  Results importSort(Operation *op);
  Results importTopK(Operation *op);

  // Contractions.
  Results importDot(Operation *op);
  Results importConvolution(Operation *op);

  // Indices.
  std::optional<Places> findPlaces(const IndexDims &dims, Value indices,
                                   RankedTensorType operand,
                                   ArrayRef<int64_t> sizes, bool clamps);
  Results importGather(Operation *op);
  Results importScatter(Operation *op);

  // Control.
  Results importCall(Operation *op);
  Results importComposite(Operation *op);
  Results importCallee(StringRef name);
  Results importWhile(Operation *op);
  Results importCase(Operation *op);
  Results importCustomCall(Operation *op);

  ModuleOp source;
  SymbolTable symbols;
  const Table table;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  Operation *current = nullptr;
  llvm::DenseMap<Value, Value> values;
  llvm::StringMap<ElementsAttr> initials;
  /// What a value was put together of, along a dim: a loop that writes a row a
  /// round makes one concatenation of it.
  struct Parts {
    int64_t dim = 0;
    SmallVector<Value> parts;
  };
  llvm::DenseMap<Value, Parts> partsOf;
  /// Constants of many floats, of which a weight may be one.
  unsigned largeConstants = 0;
  int64_t constantElements = 0;
  unsigned depth = 0, rounds = 0, ops = 0;
};

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IMPORT_STABLEHLOIMPORTER_H
