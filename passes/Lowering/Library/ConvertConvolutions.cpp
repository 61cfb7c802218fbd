//===- ConvertConvolutions.cpp - Convolutions become library kernels ------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Library/KernelConverter.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// Whether a convolution is of one dim and has a filter a channel: told to the
/// library as one of two, of which the last is of size 1 (`widened`), it may
/// have a kernel made for such, several times as fast as its others.
template <typename OpT> static bool mayWiden(OpT op, RankedTensorType filter) {
  StringRef layout = op.getFilterLayout();
  return layout.size() == 3 && int64_t(op.getGroups()) > 1 &&
         filter.getDimSize(layout.find('O')) == int64_t(op.getGroups()) &&
         filter.getDimSize(layout.find('I')) == 1;
}

/// The memory in the library's order of dims, N C spatial, from a layout
/// string.
static DictionaryAttr makeActivation(Value value, StringRef layout,
                                     bool widened) {
  RankedTensorType type = getTensorType(value);
  SmallVector<int64_t> strides = getRowMajorStrides(type.getShape());
  SmallVector<int64_t> dims, inOrder;
  auto push = [&](char letter) {
    size_t index = layout.find(letter);
    dims.push_back(type.getDimSize(index));
    inOrder.push_back(strides[index]);
  };
  push('N');
  push('C');
  for (size_t s = 0; s + 2 < layout.size(); ++s)
    push('0' + s);
  if (widened) {
    dims.push_back(1);
    inOrder.push_back(inOrder.back());
  }
  return makeMemory(type.getElementType(), dims, ArrayRef<int64_t>(inOrder));
}

/// [G,] O, I, spatial.
static DictionaryAttr makeFilter(Value value, StringRef layout, int64_t groups,
                                 bool widened) {
  RankedTensorType type = getTensorType(value);
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
    size_t index = layout.find('0' + s);
    dims.push_back(type.getDimSize(index));
    inOrder.push_back(strides[index]);
  }
  if (widened) {
    dims.push_back(1);
    inOrder.push_back(inOrder.back());
  }
  return makeMemory(type.getElementType(), dims, ArrayRef<int64_t>(inOrder));
}

template <typename OpT>
SmallVector<NamedAttribute> KernelConverter::getConvAttributes(OpT op,
                                                               bool widened) {
  auto list = [&](StringRef name, ArrayRef<int64_t> sizes, int64_t last) {
    SmallVector<int64_t> all(sizes);
    if (widened)
      all.push_back(last);
    return b.getNamedAttr(name, b.getDenseI64ArrayAttr(all));
  };
  return {list("strides", op.getStrides(), 1),
          list("pad_low", op.getPadLow(), 0),
          list("pad_high", op.getPadHigh(), 0),
          list("dilations", op.getDilations(), 1),
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

/// `memories` has the filter as it lies. None where the library has no such
/// kernel.
std::optional<KernelConverter::FilterKernel> KernelConverter::makeFilterKernel(
    rt::LibraryKind kind, SmallVector<Attribute> memories, unsigned filter,
    ArrayRef<NamedAttribute> extra) {
  FilterKernel result;
  result.plain = cast<DictionaryAttr>(memories[filter]);
  // Without strides, which the library chooses.
  NamedAttrList packed(result.plain);
  packed.erase("strides");
  memories[filter] = result.packed = packed.getDictionary(b.getContext());
  result.kernel = makeKernel(kind, memories, extra);
  auto info = answers.ask(result.kernel, threads);
  if (!info)
    return std::nullopt;
  if (isPlain(info->memories[filter], result.plain)) {
    memories[filter] = result.plain;
    result.kernel = makeKernel(kind, memories, extra);
  } else {
    result.packedBytes = info->memories[filter].bytes;
  }
  result.isReference = info->isReference();
  result.isDepthwise = info->implementation.find("_dw") != std::string::npos;
  if (result.isReference)
    result.kernel = markReference(result.kernel);
  return result;
}

/// The kernel that `make` gives for the filter as it lies: widened where that
/// is one made for a filter a channel.
template <typename OpT, typename Make>
static auto chooseFilterKernel(OpT op, Value filter, Make make) {
  auto attempt = [&](bool widened) {
    return make(
        makeFilter(filter, op.getFilterLayout(), op.getGroups(), widened),
        widened);
  };
  if (mayWiden(op, getTensorType(filter)))
    if (auto choice = attempt(/*widened=*/true); choice && choice->isDepthwise)
      return choice;
  return attempt(/*widened=*/false);
}

void KernelConverter::convertConv(ConvOp op) {
  b.setInsertionPoint(op);
  StringRef layout = op.getOutputLayout();
  Epilogue epilogue = findEpilogue(op.getResult(), layout.find('C'));
  if (auto winograd = describeWinograd(op, getTensorType(op.getFilter()),
                                       /*isGradient=*/false)) {
    winograd->input = op.getInput();
    winograd->filter = op.getFilter();
    winograd->output = getTensorType(op.getResult());
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
  SmallVector<Value> inputs{op.getInput(), op.getFilter()};
  if (epilogue.bias)
    inputs.push_back(epilogue.bias);
  auto make = [&](DictionaryAttr filter, bool widened) {
    SmallVector<Attribute> memories{
        makeActivation(op.getInput(), op.getInputLayout(), widened), filter};
    SmallVector<NamedAttribute> extra = getConvAttributes(op, widened);
    if (epilogue.bias) {
      RankedTensorType type = getTensorType(epilogue.bias);
      memories.push_back(makeMemory(type.getElementType(), type.getShape(),
                                    ArrayRef<int64_t>{1}));
      extra.push_back(b.getNamedAttr("bias", b.getUnitAttr()));
    }
    if (epilogue.relu)
      extra.push_back(b.getNamedAttr("relu", b.getUnitAttr()));
    memories.push_back(makeActivation(op.getResult(), layout, widened));
    return makeFilterKernel(rt::LibraryKind::Conv, memories, 1, extra);
  };
  auto choice = chooseFilterKernel(op, op.getFilter(), make);
  if ((!choice || choice->isReference) && widenIfNarrow(op))
    return convertConv(op);
  if (!choice)
    return;
  b.setInsertionPointAfterValue(epilogue.result);
  if (choice->packedBytes)
    inputs[1] = reorderTo(op.getFilter(), choice->plain, choice->kernel, 1,
                          *choice->packedBytes);
  Value result = rt::LibraryOp::create(
      b, op.getLoc(), epilogue.result.getType(), inputs, choice->kernel);
  epilogue.result.replaceAllUsesWith(result);
}

void KernelConverter::convertInputGrad(ConvInputGradOp op) {
  b.setInsertionPoint(op);
  if (auto winograd = describeWinograd(op, getTensorType(op.getFilter()),
                                       /*isGradient=*/true)) {
    winograd->input = op.getGrad();
    winograd->filter = op.getFilter();
    winograd->output = getTensorType(op.getResult());
    winograd->isPrepared = isPreparable(op.getFilter());
    if (Value result = createWinograd(b, op.getLoc(), *winograd, target)) {
      op.replaceAllUsesWith(result);
      return;
    }
  }
  auto make = [&](DictionaryAttr filter, bool widened) {
    return makeFilterKernel(
        rt::LibraryKind::ConvInputGrad,
        {makeActivation(op.getGrad(), op.getOutputLayout(), widened), filter,
         makeActivation(op.getResult(), op.getInputLayout(), widened)},
        1, getConvAttributes(op, widened));
  };
  auto choice = chooseFilterKernel(op, op.getFilter(), make);
  if ((!choice || choice->isReference) && widenIfNarrow(op))
    return convertInputGrad(op);
  if (!choice)
    return;
  Value filter = op.getFilter();
  if (choice->packedBytes)
    filter = reorderTo(filter, choice->plain, choice->kernel, 1,
                       *choice->packedBytes);
  Value result =
      rt::LibraryOp::create(b, op.getLoc(), op.getResult().getType(),
                            ValueRange{op.getGrad(), filter}, choice->kernel);
  op.replaceAllUsesWith(result);
}

void KernelConverter::convertFilterGrad(ConvFilterGradOp op) {
  b.setInsertionPoint(op);
  if (auto winograd = describeWinograd(op, getTensorType(op.getResult()),
                                       /*isGradient=*/false)) {
    winograd->input = op.getInput();
    if (Value result =
            createWinogradFilterGrad(b, op.getLoc(), *winograd, op.getGrad(),
                                     getTensorType(op.getResult()), target)) {
      op.replaceAllUsesWith(result);
      return;
    }
  }
  auto make = [&](DictionaryAttr filter, bool widened) {
    return makeFilterKernel(
        rt::LibraryKind::ConvFilterGrad,
        {makeActivation(op.getInput(), op.getInputLayout(), widened),
         makeActivation(op.getGrad(), op.getOutputLayout(), widened), filter},
        2, getConvAttributes(op, widened));
  };
  auto choice = chooseFilterKernel(op, op.getResult(), make);
  if ((!choice || choice->isReference) && widenIfNarrow(op))
    return convertFilterGrad(op);
  if (!choice)
    return;
  Type type = op.getResult().getType();
  Value inputs[] = {op.getInput(), op.getGrad()};
  Value result;
  if (!choice->packedBytes) {
    result =
        rt::LibraryOp::create(b, op.getLoc(), type, inputs, choice->kernel);
  } else {
    Value grad = rt::LibraryOp::create(
        b, op.getLoc(),
        RankedTensorType::get({*choice->packedBytes}, b.getI8Type()), inputs,
        choice->kernel);
    DictionaryAttr reorder =
        makeKernel(rt::LibraryKind::Reorder, {choice->packed, choice->plain},
                   {b.getNamedAttr("packed_kernel", choice->kernel),
                    b.getNamedAttr("packed_memory", b.getI64IntegerAttr(2))});
    result = rt::LibraryOp::create(b, op.getLoc(), type, grad, reorder);
  }
  op.replaceAllUsesWith(result);
}
