//===- ConvertProducts.cpp - Products become library kernels --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Bindings.h"
#include "passes/Lowering/KernelConverter.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {

/// A tensor as the library sees it: the memory of `value`, its dims in an order
/// of their own.
struct View {
  Value value;
  SmallVector<int64_t> sizes, strides;

  explicit View(Value tensor) : value(tensor) {
    // Transposes become strides.
    SmallVector<int64_t> permutation;
    if (auto transpose = tensor.getDefiningOp<TransposeOp>()) {
      value = transpose.getOperand();
      permutation.assign(transpose.getPermutation().begin(),
                         transpose.getPermutation().end());
    }
    ArrayRef<int64_t> shape = getTensorType(value).getShape();
    SmallVector<int64_t> base = getRowMajorStrides(shape);
    for (int64_t d = 0; d < getTensorType(tensor).getRank(); ++d) {
      int64_t from = permutation.empty() ? d : permutation[d];
      sizes.push_back(shape[from]);
      strides.push_back(base[from]);
    }
  }

  /// Dims `dims` as one of size and stride; nothing if they do not line up.
  std::optional<std::pair<int64_t, int64_t>>
  join(ArrayRef<int64_t> dims) const {
    int64_t size = 1, stride = 1;
    for (int64_t dim : llvm::reverse(dims)) {
      if (sizes[dim] == 1)
        continue;
      if (size == 1)
        stride = strides[dim];
      else if (strides[dim] != stride * size)
        return std::nullopt;
      size *= sizes[dim];
    }
    return std::make_pair(size, stride);
  }
};

/// A product's result as it is written: its own dims where it lies, or where
/// the transpose that alone reads it wants them, if they line up there.
struct ResultView : View {
  SmallVector<int64_t> batch, rows, columns; // dims of the product's result

  ResultView(DotGeneralOp op, int64_t numBatch, int64_t numRows,
             bool mayTranspose)
      : View(op.getResult()) {
    value = op.getResult();
    for (int64_t d = 0, rank = sizes.size(); d < rank; ++d)
      (d < numBatch             ? batch
       : d < numBatch + numRows ? rows
                                : columns)
          .push_back(d);
    auto transpose = mayTranspose && value.hasOneUse()
                         ? dyn_cast<TransposeOp>(*value.user_begin())
                         : TransposeOp();
    if (!transpose)
      return;
    SmallVector<int64_t> plain = strides;
    SmallVector<int64_t> there =
        getRowMajorStrides(getTensorType(transpose.getResult()).getShape());
    for (auto [to, from] : llvm::enumerate(transpose.getPermutation()))
      strides[from] = there[to];
    auto row = join(rows), column = join(columns);
    if (row && column && (row->second == 1 || column->second == 1))
      value = transpose.getResult();
    else
      strides = plain;
  }
  bool isTransposed() const { return value.getDefiningOp<TransposeOp>(); }
  /// Whether it lies by columns.
  bool isTurned() const { return join(columns)->second != 1; }
};

/// One side of a product: sizes and strides of its dims.
struct Matrix {
  Value value;
  SmallVector<int64_t> batchStrides;
  std::pair<int64_t, int64_t> rows, columns;
};

} // namespace

/// The variable that the value is, rounded to bf16; null if it is none. Where
/// variables change, each step rounds them anew: a product that packs what it
/// reads does that on the way. Where they stay, they are rounded once.
static Value getUnrounded(Value value) {
  auto convert = value.getDefiningOp<ConvertOp>();
  if (!convert || !getElementTypeOrSelf(value).isBF16())
    return {};
  auto argument = dyn_cast<BlockArgument>(convert.getOperand());
  if (!argument || !getElementTypeOrSelf(argument).isF32() ||
      isUnchangedWeight(argument))
    return {};
  auto func = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return func.getArgAttr(argument.getArgNumber(), "graph.variable") ? argument
                                                                    : Value();
}

void KernelConverter::convertDot(DotGeneralOp op, bool mayTranspose) {
  b.setInsertionPoint(op);
  Type element = getTensorType(op.getResult()).getElementType();
  if (!isa<FloatType>(element) ||
      getTensorType(op.getResult()).getNumElements() == 0 ||
      getTensorType(op.getLhs()).getNumElements() == 0)
    return;
  auto freeDims = [](int64_t rank, ArrayRef<int64_t> batch,
                     ArrayRef<int64_t> contract) {
    SmallVector<int64_t> dims;
    for (int64_t d = 0; d < rank; ++d)
      if (!llvm::is_contained(batch, d) && !llvm::is_contained(contract, d))
        dims.push_back(d);
    return dims;
  };
  View lhs(op.getLhs()), rhs(op.getRhs());
  SmallVector<int64_t> lhsFree =
      freeDims(lhs.sizes.size(), op.getLhsBatch(), op.getLhsContract());
  SmallVector<int64_t> rhsFree =
      freeDims(rhs.sizes.size(), op.getRhsBatch(), op.getRhsContract());
  // Where dims do not line up, the operand is put in order first.
  auto canonical = [&](View &view, Value original, ArrayRef<int64_t> batch,
                       ArrayRef<int64_t> first, ArrayRef<int64_t> second) {
    if (view.join(first) && view.join(second))
      return;
    SmallVector<int64_t> permutation;
    llvm::append_range(permutation, batch);
    llvm::append_range(permutation, first);
    llvm::append_range(permutation, second);
    Value moved = TransposeOp::create(b, op.getLoc(), original,
                                      b.getDenseI64ArrayAttr(permutation));
    View dense(moved);
    dense.value = moved;
    SmallVector<int64_t> strides =
        getRowMajorStrides(getTensorType(moved).getShape());
    // In terms of the original's dims.
    for (auto [to, from] : llvm::enumerate(permutation))
      dense.sizes[from] = getTensorType(moved).getDimSize(to),
      dense.strides[from] = strides[to];
    view = dense;
  };
  canonical(lhs, op.getLhs(), op.getLhsBatch(), lhsFree, op.getLhsContract());
  canonical(rhs, op.getRhs(), op.getRhsBatch(), op.getRhsContract(), rhsFree);
  auto m = lhs.join(lhsFree), kl = lhs.join(op.getLhsContract());
  auto kr = rhs.join(op.getRhsContract()), n = rhs.join(rhsFree);
  if (!m || !kl || !kr || !n)
    return;
  // Dims of the result: of the batch, rows, columns.
  ResultView out(op, op.getLhsBatch().size(), lhsFree.size(), mayTranspose);
  Matrix left{lhs.value, {}, *m, *kl}, right{rhs.value, {}, *kr, *n};
  SmallVector<int64_t> batch, outStrides;
  auto lhsBatch = lhs.join(op.getLhsBatch());
  auto rhsBatch = rhs.join(op.getRhsBatch());
  auto outBatch = out.join(out.batch);
  if (lhsBatch && rhsBatch && outBatch && !op.getLhsBatch().empty()) {
    batch.push_back(lhsBatch->first);
    left.batchStrides.push_back(lhsBatch->second);
    right.batchStrides.push_back(rhsBatch->second);
    outStrides.push_back(outBatch->second);
  } else {
    for (auto [l, r, o] :
         llvm::zip_equal(op.getLhsBatch(), op.getRhsBatch(), out.batch)) {
      batch.push_back(lhs.sizes[l]);
      left.batchStrides.push_back(lhs.strides[l]);
      right.batchStrides.push_back(rhs.strides[r]);
      outStrides.push_back(out.strides[o]);
    }
  }
  auto outRows = *out.join(out.rows), outColumns = *out.join(out.columns);
  if (out.isTurned()) { // (l r)' is r' l'
    std::swap(left, right);
    std::swap(left.rows, left.columns);
    std::swap(right.rows, right.columns);
    std::swap(outRows, outColumns);
  }
  // A dim of size 1 may have any stride; the library asks for one that could
  // be a matrix's.
  auto describe = [&](Type type, ArrayRef<int64_t> batchStrides,
                      std::pair<int64_t, int64_t> rowDim,
                      std::pair<int64_t, int64_t> columnDim) {
    auto [rows, rowStride] = rowDim;
    auto [columns, columnStride] = columnDim;
    if (columns == 1 && rowStride != 1)
      columnStride = 1;
    if (rows == 1)
      rowStride = columnStride == 1 ? columns : 1;
    if (columns == 1 && rowStride == 1 && rows > 1)
      columnStride = rows;
    SmallVector<int64_t> dims(batch), strides(batchStrides);
    llvm::append_values(dims, rows, columns);
    llvm::append_values(strides, rowStride, columnStride);
    for (auto [dim, stride] : llvm::zip(batch, strides))
      if (dim == 1)
        stride = rows * columns;
    return makeMemory(type, dims, ArrayRef<int64_t>(strides));
  };
  auto describeSide = [&](Type type, const Matrix &side) {
    return describe(type, side.batchStrides, side.rows, side.columns);
  };
  Epilogue epilogue =
      findEpilogue(out.value, getTensorType(op.getResult()).getRank() - 1);
  if (rhsFree.size() != 1 || out.isTransposed()) {
    epilogue = Epilogue(); // the channel is then several dims, or not the last
    epilogue.result = out.value;
  }
  SmallVector<Attribute> memories{describeSide(element, left),
                                  describeSide(element, right)};
  SmallVector<Value> inputs{left.value, right.value};
  SmallVector<NamedAttribute> extra;
  if (epilogue.bias) {
    SmallVector<int64_t> dims(batch.size() + 1, 1);
    dims.push_back(n->first);
    SmallVector<int64_t> strides(batch.size() + 1, n->first);
    strides.push_back(1);
    memories.push_back(makeMemory(element, dims, ArrayRef<int64_t>(strides)));
    inputs.push_back(epilogue.bias);
    extra.push_back(b.getNamedAttr("bias", b.getUnitAttr()));
  }
  if (epilogue.relu)
    extra.push_back(b.getNamedAttr("relu", b.getUnitAttr()));
  memories.push_back(describe(element, outStrides, outRows, outColumns));
  DictionaryAttr kernel = makeKernel("matmul", memories, extra);
  auto answer = askLibrary(kernel, threads);
  // The library's plain loops are for what nothing else of it can do.
  if (out.isTransposed() &&
      (!answer || StringRef(answer->implementation).contains("ref")))
    return convertDot(op, /*mayTranspose=*/false);
  if (!answer)
    return;
  if (Value variable = getUnrounded(right.value)) {
    memories[1] = describeSide(b.getF32Type(), right);
    DictionaryAttr rounding = makeKernel("matmul", memories, extra);
    if (askLibrary(rounding, threads)) {
      inputs[1] = variable;
      kernel = rounding;
    }
  }
  b.setInsertionPointAfterValue(epilogue.result);
  if (batch.empty() && isPreparable(right.value)) {
    auto plain = cast<DictionaryAttr>(memories[1]);
    memories[1] =
        makeMemory(element, plain.getAs<DenseI64ArrayAttr>("dims").asArrayRef(),
                   std::nullopt);
    DictionaryAttr packing = makeKernel("matmul", memories, extra);
    auto info = askLibrary(packing, threads);
    if (info && !isPlain(info->memories[1], plain)) {
      inputs[1] =
          reorderTo(right.value, plain, packing, 1, info->memories[1].bytes);
      kernel = packing;
    }
  }
  Value result = rt::LibraryOp::create(
      b, op.getLoc(), epilogue.result.getType(), inputs, kernel);
  epilogue.result.replaceAllUsesWith(result);
}
