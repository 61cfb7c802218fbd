//===- LibraryKernels.cpp - Descriptions of library kernels -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Library/LibraryKernels.h"
#include "dialects/Rt/IR/Rt.h"
#include "passes/Lowering/Lowering.h"
#include "runtime/device/cpu/cpus.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::dist;
namespace manifest = ::dist::manifest;

manifest::DataType mlir::dist::getDataType(Type element) {
  if (element.isF32())
    return manifest::F32;
  if (element.isF64())
    return manifest::F64;
  if (element.isF16())
    return manifest::F16;
  if (element.isBF16())
    return manifest::BF16;
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return manifest::DATA_TYPE_UNKNOWN;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return manifest::BOOL;
  case 8:
    return isUnsigned ? manifest::U8 : manifest::I8;
  case 16:
    return isUnsigned ? manifest::U16 : manifest::I16;
  case 32:
    return isUnsigned ? manifest::U32 : manifest::I32;
  case 64:
    return isUnsigned ? manifest::U64 : manifest::I64;
  default:
    return manifest::DATA_TYPE_UNKNOWN;
  }
}

/// Whatever is no float is packed, as bytes.
static rt::LibraryType getLibraryType(Type element) {
  if (element.isF32())
    return rt::LibraryType::F32;
  if (element.isBF16())
    return rt::LibraryType::BF16;
  if (element.isF16())
    return rt::LibraryType::F16;
  if (element.isF64())
    return rt::LibraryType::F64;
  return rt::LibraryType::I8;
}

static manifest::DataType getMemoryType(rt::LibraryType type) {
  switch (type) {
  case rt::LibraryType::F32:
    return manifest::F32;
  case rt::LibraryType::BF16:
    return manifest::BF16;
  case rt::LibraryType::F16:
    return manifest::F16;
  case rt::LibraryType::F64:
    return manifest::F64;
  case rt::LibraryType::I8:
    return manifest::I8;
  }
  llvm_unreachable("all types are listed");
}

static manifest::LibraryKernel::Kind getKind(rt::LibraryKind kind) {
  switch (kind) {
  case rt::LibraryKind::Conv:
    return manifest::LibraryKernel::CONV;
  case rt::LibraryKind::ConvInputGrad:
    return manifest::LibraryKernel::CONV_INPUT_GRAD;
  case rt::LibraryKind::ConvFilterGrad:
    return manifest::LibraryKernel::CONV_FILTER_GRAD;
  case rt::LibraryKind::Matmul:
    return manifest::LibraryKernel::MATMUL;
  case rt::LibraryKind::Reorder:
    return manifest::LibraryKernel::REORDER;
  }
  llvm_unreachable("all kinds are listed");
}

DictionaryAttr
mlir::dist::makeMemory(Type element, ArrayRef<int64_t> dims,
                       std::optional<ArrayRef<int64_t>> strides) {
  Builder b(element.getContext());
  SmallVector<NamedAttribute> entries{
      b.getNamedAttr("dims", b.getDenseI64ArrayAttr(dims)),
      b.getNamedAttr("type", b.getStringAttr(rt::stringifyLibraryType(
                                 getLibraryType(element))))};
  if (strides)
    entries.push_back(
        b.getNamedAttr("strides", b.getDenseI64ArrayAttr(*strides)));
  return b.getDictionaryAttr(entries);
}

template <typename Field>
static void fillList(DictionaryAttr kernel, StringRef name, Field *field) {
  if (auto list = kernel.getAs<DenseI64ArrayAttr>(name))
    for (int64_t value : list.asArrayRef())
      field->Add(value);
}

int LibraryTable::getIndex(DictionaryAttr kernel) {
  auto it = indices.find(kernel);
  if (it != indices.end())
    return it->second;
  manifest::LibraryKernel message;
  message.set_kind(getKind(rt::getLibraryKind(kernel)));
  for (auto memory :
       kernel.getAs<ArrayAttr>("memories").getAsRange<DictionaryAttr>()) {
    auto *out = message.add_memories();
    out->set_type(getMemoryType(*rt::symbolizeLibraryType(
        memory.getAs<StringAttr>("type").getValue())));
    fillList(memory, "dims", out->mutable_dims());
    fillList(memory, "strides", out->mutable_strides());
  }
  fillList(kernel, "strides", message.mutable_strides());
  fillList(kernel, "pad_low", message.mutable_pad_low());
  fillList(kernel, "pad_high", message.mutable_pad_high());
  fillList(kernel, "dilations", message.mutable_dilations());
  if (auto groups = kernel.getAs<IntegerAttr>("groups"))
    message.set_groups(groups.getInt());
  else
    message.set_groups(1);
  message.set_bias(kernel.contains("bias"));
  message.set_relu(kernel.contains("relu"));
  if (auto packed = kernel.getAs<DictionaryAttr>("packed_kernel")) {
    message.set_packed_kernel(getIndex(packed));
    message.set_packed_memory(
        kernel.getAs<IntegerAttr>("packed_memory").getInt());
  }
  int index = table.size();
  *table.Add() = std::move(message);
  kernels.push_back(kernel);
  indices[kernel] = index;
  return index;
}

DictionaryAttr mlir::dist::getPackedResult(DictionaryAttr kernel) {
  auto kind = kernel.getAs<StringAttr>("kind").getValue();
  auto memories = kernel.getAs<ArrayAttr>("memories");
  int64_t result =
      kind == "conv_filter_grad" ? 2 : int64_t(memories.size()) - 1;
  if (result < 0 || result >= int64_t(memories.size()))
    return nullptr;
  auto memory = cast<DictionaryAttr>(memories[result]);
  if (memory.contains("strides"))
    return nullptr;
  Builder b(kernel.getContext());
  Attribute owner = kernel, number = b.getI64IntegerAttr(result);
  if (kind == "reorder") {
    owner = kernel.get("packed_kernel");
    number = kernel.get("packed_memory");
  }
  return b.getDictionaryAttr(
      {b.getNamedAttr("kernel", owner), b.getNamedAttr("memory", number)});
}

std::optional<::dist::cpu::LibraryKernelInfo>
mlir::dist::askLibrary(DictionaryAttr kernel, int64_t threads) {
  LibraryTable table;
  int index = table.getIndex(kernel);
  ::dist::cpu::LibraryKernelInfo info;
  ::dist::Status status =
      ::dist::cpu::describe(table.getTable(), index, threads, &info);
  if (!status.ok())
    return std::nullopt;
  return info;
}

int64_t mlir::dist::countUsableThreads() {
  return ::dist::cpu::usableCpus().size();
}
