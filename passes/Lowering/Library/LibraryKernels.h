//===- LibraryKernels.h - Descriptions of library kernels -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between the dictionaries that rt ops carry and the manifest's messages; and
// the questions the compiler asks the library.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_LIBRARY_LIBRARYKERNELS_H
#define PASSES_LOWERING_LIBRARY_LIBRARYKERNELS_H

#include "dialects/Interfaces/HostLoops.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Support/LLVM.h"
#include "runtime/device/cpu/library_kernel.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::dist {

/// The manifest's type of a tensor's elements; DATA_TYPE_UNKNOWN if none.
::dist::manifest::DataType getDataType(Type element);

/// The kernels of a package: equal descriptions are one entry.
class LibraryTable {
public:
  /// Adds the description (and the one it packs for) unless it is there.
  int getIndex(DictionaryAttr kernel);
  ::dist::cpu::KernelTable &getTable() { return table; }
  ArrayRef<DictionaryAttr> getKernels() const { return kernels; }

private:
  ::dist::cpu::KernelTable table;
  SmallVector<DictionaryAttr> kernels;
  llvm::DenseMap<DictionaryAttr, int> indices;
};

/// What the library says of a kernel; nothing if it has none.
std::optional<::dist::cpu::LibraryKernelInfo> askLibrary(DictionaryAttr kernel,
                                                         int64_t threads);

/// The library's answers so far. It makes a kernel to answer; a model of equal
/// layers, or a step of many microbatches, asks the same again and again.
class LibraryAnswers {
public:
  std::optional<::dist::cpu::LibraryKernelInfo> ask(DictionaryAttr kernel,
                                                    int64_t threads) {
    auto [it, isNew] = answers.try_emplace({kernel, threads});
    if (isNew)
      it->second = askLibrary(kernel, threads);
    return it->second;
  }

private:
  llvm::DenseMap<std::pair<DictionaryAttr, int64_t>,
                 std::optional<::dist::cpu::LibraryKernelInfo>>
      answers;
};

/// Where the result of a library op lies in a layout of the library's:
/// `{kernel, memory}`, the kernel that it is chosen for and the number of its
/// memory. Null where it lies as its description says.
DictionaryAttr getPackedResult(DictionaryAttr kernel);

/// `{type = "f32", dims = ..., strides = ...}`; no strides: the library's
/// choice.
DictionaryAttr makeMemory(Type element, ArrayRef<int64_t> dims,
                          std::optional<ArrayRef<int64_t>> strides);

} // namespace mlir::dist

#endif // PASSES_LOWERING_LIBRARY_LIBRARYKERNELS_H
