//===- ConvertProducts.cpp - Products become library kernels --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Program/Bindings.h"
#include "passes/Lowering/Library/KernelConverter.h"

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

  ResultView(DotGeneralOp op, bool mayTranspose) : View(op.getResult()) {
    int64_t numBatch = op.getLhsBatch().size();
    int64_t numRows = op.getLhsFree().size();
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

/// A side or the result of a product: sizes and strides of its dims.
struct Matrix {
  Value value;
  SmallVector<int64_t> batchStrides;
  std::pair<int64_t, int64_t> rows, columns;
};

} // namespace

/// Products of matrices, one for each place of the batch.
struct mlir::dist::Product {
  SmallVector<int64_t> batch; // sizes
  Matrix left, right, result;
};

/// The operand where its dims line up as the batch's, `first` and `second`;
/// else it is put in order before.
static View lineUp(OpBuilder &b, Location loc, Value operand,
                   ArrayRef<int64_t> batch, ArrayRef<int64_t> first,
                   ArrayRef<int64_t> second) {
  View view(operand);
  if (view.join(first) && view.join(second))
    return view;
  SmallVector<int64_t> permutation =
      llvm::to_vector(llvm::concat<const int64_t>(batch, first, second));
  View dense(operand);
  dense.value =
      TransposeOp::create(b, loc, operand, b.getDenseI64ArrayAttr(permutation));
  SmallVector<int64_t> strides =
      getRowMajorStrides(getTensorType(dense.value).getShape());
  // In terms of the operand's dims.
  for (auto [to, from] : llvm::enumerate(permutation))
    dense.strides[from] = strides[to];
  return dense;
}

/// (l r)' as r' l'.
static void turn(Product &product) {
  std::swap(product.left, product.right);
  for (Matrix *matrix : {&product.left, &product.right, &product.result})
    std::swap(matrix->rows, matrix->columns);
}

static Product makeProduct(DotGeneralOp op, const View &lhs, const View &rhs,
                           const ResultView &out) {
  Product product{{},
                  {lhs.value,
                   {},
                   *lhs.join(op.getLhsFree()),
                   *lhs.join(op.getLhsContract())},
                  {rhs.value,
                   {},
                   *rhs.join(op.getRhsContract()),
                   *rhs.join(op.getRhsFree())},
                  {out.value, {}, *out.join(out.rows), *out.join(out.columns)}};
  auto addBatch = [&](int64_t size, int64_t l, int64_t r, int64_t o) {
    product.batch.push_back(size);
    product.left.batchStrides.push_back(l);
    product.right.batchStrides.push_back(r);
    product.result.batchStrides.push_back(o);
  };
  auto lhsBatch = lhs.join(op.getLhsBatch());
  auto rhsBatch = rhs.join(op.getRhsBatch());
  auto outBatch = out.join(out.batch);
  if (lhsBatch && rhsBatch && outBatch && !op.getLhsBatch().empty())
    addBatch(lhsBatch->first, lhsBatch->second, rhsBatch->second,
             outBatch->second);
  else
    for (auto [l, r, o] :
         llvm::zip_equal(op.getLhsBatch(), op.getRhsBatch(), out.batch))
      addBatch(lhs.sizes[l], lhs.strides[l], rhs.strides[r], out.strides[o]);
  if (out.isTurned())
    turn(product);
  return product;
}

/// A dim of size 1 may have any stride; the library asks for one that could be
/// a matrix's.
static DictionaryAttr describe(Type type, ArrayRef<int64_t> batch,
                               const Matrix &matrix) {
  auto [rows, rowStride] = matrix.rows;
  auto [columns, columnStride] = matrix.columns;
  if (columns == 1 && rowStride != 1)
    columnStride = 1;
  if (rows == 1)
    rowStride = columnStride == 1 ? columns : 1;
  if (columns == 1 && rowStride == 1 && rows > 1)
    columnStride = rows;
  SmallVector<int64_t> dims(batch), strides(matrix.batchStrides);
  llvm::append_values(dims, rows, columns);
  llvm::append_values(strides, rowStride, columnStride);
  for (auto [dim, stride] : llvm::zip(batch, strides))
    if (dim == 1)
      stride = rows * columns;
  return makeMemory(type, dims, ArrayRef<int64_t>(strides));
}

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
  return func.getArgAttr(argument.getArgNumber(), kVariableAttr) ? argument
                                                                 : Value();
}

void KernelConverter::convertDot(DotGeneralOp op) {
  b.setInsertionPoint(op);
  RankedTensorType type = getTensorType(op.getResult());
  if (!isa<FloatType>(type.getElementType()) || type.getNumElements() == 0 ||
      getTensorType(op.getLhs()).getNumElements() == 0)
    return;
  View lhs = lineUp(b, op.getLoc(), op.getLhs(), op.getLhsBatch(),
                    op.getLhsFree(), op.getLhsContract());
  View rhs = lineUp(b, op.getLoc(), op.getRhs(), op.getRhsBatch(),
                    op.getRhsContract(), op.getRhsFree());
  // The transpose behind it may be nothing but where it writes. Not by the
  // library's plain loops: they are for what nothing else of it can do.
  ResultView behind(op, /*mayTranspose=*/true);
  if (behind.isTransposed()) {
    Epilogue none;
    none.result = behind.value;
    if (convertProduct(op, makeProduct(op, lhs, rhs, behind), none,
                       /*byLoops=*/false))
      return;
  }
  ResultView plain(op, /*mayTranspose=*/false);
  Epilogue epilogue = findEpilogue(plain.value, type.getRank() - 1);
  if (plain.columns.size() != 1) { // the channel is then several dims
    epilogue = Epilogue();
    epilogue.result = plain.value;
  }
  Product product = makeProduct(op, lhs, rhs, plain);
  if (convertProduct(op, product, epilogue, /*byLoops=*/false))
    return;
  // Of many matrices with a vector each: it has kernels where the vector is the
  // left one alone.
  Product turned = product;
  turn(turned);
  Epilogue none;
  none.result = plain.value;
  if (convertProduct(op, turned, none, /*byLoops=*/false))
    return;
  if (widenIfNarrow(op))
    return convertDot(op);
  convertProduct(op, product, epilogue, /*byLoops=*/true);
}

bool KernelConverter::convertProduct(DotGeneralOp op, const Product &product,
                                     const Epilogue &epilogue, bool byLoops) {
  Type element = getElementTypeOrSelf(op.getResult());
  const auto &[batch, left, right, out] = product;
  SmallVector<Attribute> memories{describe(element, batch, left),
                                  describe(element, batch, right)};
  SmallVector<Value> inputs{left.value, right.value};
  SmallVector<NamedAttribute> extra;
  if (epilogue.bias) {
    int64_t channels = right.columns.first;
    SmallVector<int64_t> dims(batch.size() + 1, 1);
    dims.push_back(channels);
    SmallVector<int64_t> strides(batch.size() + 1, channels);
    strides.push_back(1);
    memories.push_back(makeMemory(element, dims, ArrayRef<int64_t>(strides)));
    inputs.push_back(epilogue.bias);
    extra.push_back(b.getNamedAttr("bias", b.getUnitAttr()));
  }
  if (epilogue.relu)
    extra.push_back(b.getNamedAttr("relu", b.getUnitAttr()));
  memories.push_back(describe(element, batch, out));
  DictionaryAttr kernel = makeKernel(rt::LibraryKind::Matmul, memories, extra);
  auto answer = answers.ask(kernel, threads);
  if (!answer || (!byLoops && answer->isReference()))
    return false;
  if (answer->isReference())
    kernel = markReference(kernel);
  if (Value variable = getUnrounded(right.value)) {
    memories[1] = describe(b.getF32Type(), batch, right);
    DictionaryAttr rounding =
        makeKernel(rt::LibraryKind::Matmul, memories, extra);
    if (answers.ask(rounding, threads)) {
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
    DictionaryAttr packing =
        makeKernel(rt::LibraryKind::Matmul, memories, extra);
    auto info = answers.ask(packing, threads);
    if (info && !isPlain(info->memories[1], plain)) {
      inputs[1] =
          reorderTo(right.value, plain, packing, 1, info->memories[1].bytes);
      kernel = packing;
    }
  }
  Value result = rt::LibraryOp::create(
      b, op.getLoc(), epilogue.result.getType(), inputs, kernel);
  Value(epilogue.result).replaceAllUsesWith(result);
  return true;
}
