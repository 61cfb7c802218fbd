//===- GraphToKernels.cpp - Contractions become library kernels -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/ActivationGradients.h"
#include "passes/Lowering/Bindings.h"
#include "passes/Lowering/LibraryKernels.h"
#include "passes/Lowering/Passes.h"
#include "passes/Lowering/Winograd.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace mlir::dist {
#define GEN_PASS_DEF_GRAPHTOKERNELSPASS
#include "passes/Lowering/Passes.h.inc"
} // namespace mlir::dist

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

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
    ArrayRef<int64_t> shape = typeOf(value).getShape();
    SmallVector<int64_t> base = getRowMajorStrides(shape);
    for (int64_t d = 0; d < typeOf(tensor).getRank(); ++d) {
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

/// What stands behind a forward contraction and can be part of it.
struct Epilogue {
  Value bias; // one element a channel; null if none
  bool relu = false;
  Value result; // what the kernel replaces
};

class Converter {
public:
  Converter(func::FuncOp func, const ConvolutionTarget &target)
      : func(func), target(target), threads(target.threads),
        b(func.getContext()) {}
  LogicalResult run();

private:
  void convertDot(DotGeneralOp op);
  void convertConv(ConvOp op);
  void convertInputGrad(ConvInputGradOp op);
  void convertFilterGrad(ConvFilterGradOp op);
  Epilogue findEpilogue(Value contraction, int64_t channelDim);
  template <typename OpT> SmallVector<NamedAttribute> getConvAttributes(OpT op);
  DictionaryAttr makeKernel(StringRef kind, ArrayRef<Attribute> memories,
                            ArrayRef<NamedAttribute> extra);
  Value reorderTo(Value plain, DictionaryAttr plainMemory,
                  DictionaryAttr kernel, unsigned memory, int64_t bytes);

  func::FuncOp func;
  const ConvolutionTarget &target;
  int64_t threads;
  OpBuilder b;
};

} // namespace

Epilogue Converter::findEpilogue(Value contraction, int64_t channelDim) {
  Epilogue epilogue;
  epilogue.result = contraction;
  ArrayRef<int64_t> shape = typeOf(contraction).getShape();
  if (contraction.hasOneUse()) {
    auto add = dyn_cast<AddOp>(*contraction.user_begin());
    if (add) {
      Value other = add.getLhs() == contraction ? add.getRhs() : add.getLhs();
      auto broadcast = other.getDefiningOp<BroadcastOp>();
      if (broadcast && typeOf(broadcast.getOperand()).getRank() == 1 &&
          broadcast.getDims()[0] == channelDim &&
          typeOf(broadcast.getOperand()).getDimSize(0) == shape[channelDim]) {
        epilogue.bias = broadcast.getOperand();
        epilogue.result = add.getResult();
      }
    }
  }
  if (epilogue.result.hasOneUse())
    if (auto relu = dyn_cast<ReluOp>(*epilogue.result.user_begin())) {
      epilogue.relu = true;
      epilogue.result = relu.getResult();
    }
  return epilogue;
}

DictionaryAttr Converter::makeKernel(StringRef kind,
                                     ArrayRef<Attribute> memories,
                                     ArrayRef<NamedAttribute> extra) {
  NamedAttrList list(extra);
  list.set("kind", b.getStringAttr(kind));
  list.set("memories", b.getArrayAttr(memories));
  return list.getDictionary(b.getContext());
}

/// `plain` in the layout that the library chose for a memory of `kernel`.
Value Converter::reorderTo(Value plain, DictionaryAttr plainMemory,
                           DictionaryAttr kernel, unsigned memory,
                           int64_t bytes) {
  auto packed = kernel.getAs<ArrayAttr>("memories")[memory];
  DictionaryAttr reorder = makeKernel(
      "reorder", {plainMemory, packed},
      {b.getNamedAttr("packed_kernel", kernel),
       b.getNamedAttr("packed_memory", b.getI64IntegerAttr(memory))});
  auto type = RankedTensorType::get({bytes}, b.getI8Type());
  return rt::LibraryOp::create(b, plain.getLoc(), type, ValueRange{plain},
                               reorder);
}

/// Whether the library chose the layout that the tensor has anyway.
static bool isPlain(const ::dist::cpu::LibraryKernelInfo::Memory &memory,
                    DictionaryAttr plain) {
  return !memory.strides.empty() &&
         ArrayRef<int64_t>(memory.strides) ==
             plain.getAs<DenseI64ArrayAttr>("strides").asArrayRef();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Whether packing the value is paid once: see rt-hoist-preparation. A training
/// step's weights change, and products pack what they need of them themselves.
static bool isPreparable(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isUnchangedWeight(argument);
  return value.getDefiningOp<ConstantOp>() != nullptr;
}

void Converter::convertDot(DotGeneralOp op) {
  b.setInsertionPoint(op);
  Type element = typeOf(op.getResult()).getElementType();
  if (!isa<FloatType>(element) ||
      typeOf(op.getResult()).getNumElements() == 0 ||
      typeOf(op.getLhs()).getNumElements() == 0)
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
    SmallVector<int64_t> strides = getRowMajorStrides(typeOf(moved).getShape());
    // In terms of the original's dims.
    for (auto [to, from] : llvm::enumerate(permutation))
      dense.sizes[from] = typeOf(moved).getDimSize(to),
      dense.strides[from] = strides[to];
    view = dense;
  };
  canonical(lhs, op.getLhs(), op.getLhsBatch(), lhsFree, op.getLhsContract());
  canonical(rhs, op.getRhs(), op.getRhsBatch(), op.getRhsContract(), rhsFree);
  auto m = lhs.join(lhsFree), kl = lhs.join(op.getLhsContract());
  auto kr = rhs.join(op.getRhsContract()), n = rhs.join(rhsFree);
  if (!m || !kl || !kr || !n)
    return;
  SmallVector<int64_t> batch, lhsStrides, rhsStrides;
  auto lhsBatch = lhs.join(op.getLhsBatch());
  auto rhsBatch = rhs.join(op.getRhsBatch());
  if (lhsBatch && rhsBatch && !op.getLhsBatch().empty()) {
    batch.push_back(lhsBatch->first);
    lhsStrides.push_back(lhsBatch->second);
    rhsStrides.push_back(rhsBatch->second);
  } else {
    for (auto [l, r] : llvm::zip_equal(op.getLhsBatch(), op.getRhsBatch())) {
      batch.push_back(lhs.sizes[l]);
      lhsStrides.push_back(lhs.strides[l]);
      rhsStrides.push_back(rhs.strides[r]);
    }
  }
  // A dim of size 1 may have any stride; the library asks for one that could
  // be a matrix's.
  auto matrix = [&](ArrayRef<int64_t> batchStrides, int64_t rows,
                    int64_t rowStride, int64_t columns, int64_t columnStride) {
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
    return makeMemory(element, dims, ArrayRef<int64_t>(strides));
  };
  SmallVector<int64_t> outShape(batch);
  llvm::append_values(outShape, m->first, n->first);
  SmallVector<int64_t> outStrides = getRowMajorStrides(outShape);
  Epilogue epilogue =
      findEpilogue(op.getResult(), typeOf(op.getResult()).getRank() - 1);
  if (rhsFree.size() != 1) { // the channel is then several dims
    epilogue = Epilogue();
    epilogue.result = op.getResult();
  }
  SmallVector<Attribute> memories{
      matrix(lhsStrides, m->first, m->second, kl->first, kl->second),
      matrix(rhsStrides, kr->first, kr->second, n->first, n->second)};
  SmallVector<Value> inputs{lhs.value, rhs.value};
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
  memories.push_back(
      makeMemory(element, outShape, ArrayRef<int64_t>(outStrides)));
  DictionaryAttr kernel = makeKernel("matmul", memories, extra);
  if (!askLibrary(kernel, threads))
    return;
  b.setInsertionPointAfterValue(epilogue.result);
  if (batch.empty() && isPreparable(rhs.value)) {
    auto plain = cast<DictionaryAttr>(memories[1]);
    memories[1] =
        makeMemory(element, plain.getAs<DenseI64ArrayAttr>("dims").asArrayRef(),
                   std::nullopt);
    DictionaryAttr packing = makeKernel("matmul", memories, extra);
    auto info = askLibrary(packing, threads);
    if (info && !isPlain(info->memories[1], plain)) {
      inputs[1] =
          reorderTo(rhs.value, plain, packing, 1, info->memories[1].bytes);
      kernel = packing;
    }
  }
  Value result = rt::LibraryOp::create(
      b, op.getLoc(), epilogue.result.getType(), inputs, kernel);
  epilogue.result.replaceAllUsesWith(result);
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// The memory in the library's order of dims, N C spatial, from a layout
/// string.
static DictionaryAttr makeActivation(Value value, StringRef layout) {
  RankedTensorType type = typeOf(value);
  SmallVector<int64_t> strides = getRowMajorStrides(type.getShape());
  SmallVector<int64_t> dims, inOrder;
  auto push = [&](char letter) {
    size_t place = layout.find(letter);
    dims.push_back(type.getDimSize(place));
    inOrder.push_back(strides[place]);
  };
  push('N');
  push('C');
  for (size_t s = 0; s + 2 < layout.size(); ++s)
    push('0' + s);
  return makeMemory(type.getElementType(), dims, ArrayRef<int64_t>(inOrder));
}

/// [G,] O, I, spatial; without strides where the library is to choose.
static DictionaryAttr makeFilter(Value value, StringRef layout, int64_t groups,
                                 bool packed) {
  RankedTensorType type = typeOf(value);
  SmallVector<int64_t> strides = getRowMajorStrides(type.getShape());
  SmallVector<int64_t> dims, inOrder;
  size_t o = layout.find('O'), i = layout.find('I');
  if (groups > 1) {
    dims.push_back(groups);
    inOrder.push_back(strides[o] * (type.getDimSize(o) / groups));
  }
  llvm::append_values(dims, type.getDimSize(o) / groups, type.getDimSize(i));
  llvm::append_values(inOrder, strides[o], strides[i]);
  for (size_t s = 0; s + 2 < layout.size(); ++s) {
    size_t place = layout.find('0' + s);
    dims.push_back(type.getDimSize(place));
    inOrder.push_back(strides[place]);
  }
  if (packed)
    return makeMemory(type.getElementType(), dims, std::nullopt);
  return makeMemory(type.getElementType(), dims, ArrayRef<int64_t>(inOrder));
}

template <typename OpT>
SmallVector<NamedAttribute> Converter::getConvAttributes(OpT op) {
  return {b.getNamedAttr("strides", op.getStridesAttr()),
          b.getNamedAttr("pad_low", op.getPadLowAttr()),
          b.getNamedAttr("pad_high", op.getPadHighAttr()),
          b.getNamedAttr("dilations", op.getDilationsAttr()),
          b.getNamedAttr("groups", op.getGroupsAttr())};
}

/// The convolution, or its input's gradient, as one that createWinograd takes
/// but for its values; nothing if it is another kind.
template <typename OpT>
static std::optional<WinogradConvolution>
describeWinograd(OpT op, RankedTensorType filter, bool isGradient) {
  auto are = [](ArrayRef<int64_t> list, int64_t value) {
    return llvm::all_of(list, [&](int64_t entry) { return entry == value; });
  };
  StringRef layout = op.getFilterLayout();
  auto sizeOf = [&](char letter) {
    return filter.getDimSize(layout.find(letter));
  };
  if (op.getInputLayout() != "N01C" || op.getOutputLayout() != "N01C" ||
      !isa<Float32Type, BFloat16Type, Float16Type>(filter.getElementType()) ||
      sizeOf('0') != 3 || sizeOf('1') != 3 || op.getGroups() != 1 ||
      !are(op.getStrides(), 1) || !are(op.getDilations(), 1))
    return std::nullopt;
  // With a larger pad, whole rows of the result would be nothing but zeros.
  for (int64_t pad : op.getPadLow())
    if (pad < 0 || pad > 2)
      return std::nullopt;
  WinogradConvolution convolution;
  SmallVector<int64_t> strides = getRowMajorStrides(filter.getShape());
  for (char letter : StringRef(isGradient ? "IO01" : "OI01"))
    convolution.filterStrides.push_back(strides[layout.find(letter)]);
  convolution.rotate = isGradient;
  for (int64_t pad : op.getPadLow())
    convolution.padLow.push_back(isGradient ? 2 - pad : pad);
  return convolution;
}

void Converter::convertConv(ConvOp op) {
  b.setInsertionPoint(op);
  StringRef layout = op.getOutputLayout();
  Epilogue epilogue = findEpilogue(op.getResult(), layout.find('C'));
  if (auto winograd = describeWinograd(op, typeOf(op.getFilter()),
                                       /*isGradient=*/false)) {
    winograd->input = op.getInput();
    winograd->filter = op.getFilter();
    winograd->output = typeOf(op.getResult());
    winograd->isPrepared = isPreparable(op.getFilter());
    winograd->bias = epilogue.bias;
    winograd->relu = epilogue.relu;
    b.setInsertionPointAfterValue(epilogue.result);
    if (Value result = createWinograd(b, op.getLoc(), *winograd, target)) {
      epilogue.result.replaceAllUsesWith(result);
      return;
    }
    b.setInsertionPoint(op);
  }
  DictionaryAttr plain =
      makeFilter(op.getFilter(), op.getFilterLayout(), op.getGroups(), false);
  SmallVector<Attribute> memories{
      makeActivation(op.getInput(), op.getInputLayout()),
      makeFilter(op.getFilter(), op.getFilterLayout(), op.getGroups(), true)};
  SmallVector<NamedAttribute> extra = getConvAttributes(op);
  SmallVector<Value> inputs{op.getInput(), op.getFilter()};
  if (epilogue.bias) {
    RankedTensorType type = typeOf(epilogue.bias);
    memories.push_back(makeMemory(type.getElementType(), type.getShape(),
                                  ArrayRef<int64_t>{1}));
    inputs.push_back(epilogue.bias);
    extra.push_back(b.getNamedAttr("bias", b.getUnitAttr()));
  }
  if (epilogue.relu)
    extra.push_back(b.getNamedAttr("relu", b.getUnitAttr()));
  memories.push_back(makeActivation(op.getResult(), layout));
  DictionaryAttr kernel = makeKernel("conv", memories, extra);
  auto info = askLibrary(kernel, threads);
  if (!info)
    return;
  b.setInsertionPointAfterValue(epilogue.result);
  if (isPlain(info->memories[1], plain)) {
    memories[1] = plain;
    kernel = makeKernel("conv", memories, extra);
  } else {
    inputs[1] =
        reorderTo(op.getFilter(), plain, kernel, 1, info->memories[1].bytes);
  }
  Value result = rt::LibraryOp::create(
      b, op.getLoc(), epilogue.result.getType(), inputs, kernel);
  epilogue.result.replaceAllUsesWith(result);
}

void Converter::convertInputGrad(ConvInputGradOp op) {
  b.setInsertionPoint(op);
  if (auto winograd = describeWinograd(op, typeOf(op.getFilter()),
                                       /*isGradient=*/true)) {
    winograd->input = op.getGrad();
    winograd->filter = op.getFilter();
    winograd->output = typeOf(op.getResult());
    winograd->isPrepared = isPreparable(op.getFilter());
    if (Value result = createWinograd(b, op.getLoc(), *winograd, target)) {
      op.replaceAllUsesWith(result);
      return;
    }
  }
  DictionaryAttr plain =
      makeFilter(op.getFilter(), op.getFilterLayout(), op.getGroups(), false);
  SmallVector<Attribute> memories{
      makeActivation(op.getGrad(), op.getOutputLayout()),
      makeFilter(op.getFilter(), op.getFilterLayout(), op.getGroups(), true),
      makeActivation(op.getResult(), op.getInputLayout())};
  DictionaryAttr kernel =
      makeKernel("conv_input_grad", memories, getConvAttributes(op));
  auto info = askLibrary(kernel, threads);
  if (!info)
    return;
  Value filter = op.getFilter();
  if (isPlain(info->memories[1], plain)) {
    memories[1] = plain;
    kernel = makeKernel("conv_input_grad", memories, getConvAttributes(op));
  } else {
    filter = reorderTo(filter, plain, kernel, 1, info->memories[1].bytes);
  }
  Value result =
      rt::LibraryOp::create(b, op.getLoc(), op.getResult().getType(),
                            ValueRange{op.getGrad(), filter}, kernel);
  op.replaceAllUsesWith(result);
}

void Converter::convertFilterGrad(ConvFilterGradOp op) {
  b.setInsertionPoint(op);
  if (auto winograd = describeWinograd(op, typeOf(op.getResult()),
                                       /*isGradient=*/false)) {
    winograd->input = op.getInput();
    if (Value result =
            createWinogradFilterGrad(b, op.getLoc(), *winograd, op.getGrad(),
                                     typeOf(op.getResult()), target)) {
      op.replaceAllUsesWith(result);
      return;
    }
  }
  DictionaryAttr plain =
      makeFilter(op.getResult(), op.getFilterLayout(), op.getGroups(), false);
  SmallVector<Attribute> memories{
      makeActivation(op.getInput(), op.getInputLayout()),
      makeActivation(op.getGrad(), op.getOutputLayout()),
      makeFilter(op.getResult(), op.getFilterLayout(), op.getGroups(), true)};
  DictionaryAttr kernel =
      makeKernel("conv_filter_grad", memories, getConvAttributes(op));
  auto info = askLibrary(kernel, threads);
  if (!info)
    return;
  Type type = op.getResult().getType();
  Value result;
  if (isPlain(info->memories[2], plain)) {
    memories[2] = plain;
    result = rt::LibraryOp::create(
        b, op.getLoc(), type, SmallVector<Value>{op.getInput(), op.getGrad()},
        makeKernel("conv_filter_grad", memories, getConvAttributes(op)));
  } else {
    auto packed =
        RankedTensorType::get({info->memories[2].bytes}, b.getI8Type());
    Value grad = rt::LibraryOp::create(
        b, op.getLoc(), packed, SmallVector<Value>{op.getInput(), op.getGrad()},
        kernel);
    DictionaryAttr reorder =
        makeKernel("reorder", {memories[2], plain},
                   {b.getNamedAttr("packed_kernel", kernel),
                    b.getNamedAttr("packed_memory", b.getI64IntegerAttr(2))});
    result = rt::LibraryOp::create(b, op.getLoc(), type,
                                   SmallVector<Value>{grad}, reorder);
  }
  op.replaceAllUsesWith(result);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

LogicalResult Converter::run() {
  // Composites that an earlier pass left are simpler ops from here on.
  SmallVector<Operation *> composites;
  func.walk([&](DecomposableOpInterface op) { composites.push_back(op); });
  while (!composites.empty()) {
    Operation *op = composites.pop_back_val();
    b.setInsertionPoint(op);
    SmallVector<Value> replacements;
    if (failed(cast<DecomposableOpInterface>(op).decompose(b, replacements)))
      return op->emitOpError("cannot be decomposed for code generation");
    op->replaceAllUsesWith(replacements);
    op->erase();
    if (composites.empty())
      func.walk([&](DecomposableOpInterface op) { composites.push_back(op); });
  }
  simplifyActivationGradients(func);
  SmallVector<Operation *> ops;
  func.walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops) {
    if (auto dot = dyn_cast<DotGeneralOp>(op))
      convertDot(dot);
    else if (auto conv = dyn_cast<ConvOp>(op))
      convertConv(conv);
    else if (auto grad = dyn_cast<ConvInputGradOp>(op))
      convertInputGrad(grad);
    else if (auto grad = dyn_cast<ConvFilterGradOp>(op))
      convertFilterGrad(grad);
  }
  // What the kernels took over has no use any more.
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
  return success();
}

namespace {
struct GraphToKernelsPass
    : mlir::dist::impl::GraphToKernelsPassBase<GraphToKernelsPass> {
  using Base::Base;
  void runOnOperation() override {
    ConvolutionTarget target;
    std::optional<ConvolutionKernel> kernel =
        parseConvolutionKernel(convolution);
    if (!kernel) {
      getOperation().emitError("expected convolution to be auto, direct or "
                               "winograd, but got ")
          << convolution;
      return signalPassFailure();
    }
    target.kernel = *kernel;
    target.threads = threads;
    target.vectorBits = vectorBits ? vectorBits : getHostVectorBits();
    target.narrowSpeed = narrowSpeed;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration()) {
        // The host has all devices' threads.
        target.threads = getThreads(func, threads);
        if (failed(Converter(func, target).run()))
          return signalPassFailure();
      }
  }
};
} // namespace
