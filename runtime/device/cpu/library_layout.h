//===- library_layout.h - oneDNN's descriptors of memory --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For library_kernel.cpp alone, which keeps the library to itself.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DEVICE_CPU_LIBRARY_LAYOUT_H
#define RUNTIME_DEVICE_CPU_LIBRARY_LAYOUT_H

#include "runtime/core/manifest.pb.h"
#include <dnnl.hpp>
#include <string>

namespace dist::cpu {

using Desc = dnnl::memory::desc;

/// `undef` where the library has no such type.
dnnl::memory::data_type libraryType(manifest::DataType type);

/// The memory's descriptor; without strides the library chooses. A memory of
/// one dim has but one layout.
Desc toDesc(const manifest::LibraryKernel::Memory &memory, size_t numDims = 0);

/// Whether strides say all of it.
bool isPlainLayout(const Desc &desc);

/// Whatever tells the layout of a memory from others.
std::string describeLayout(const Desc &desc);

} // namespace dist::cpu

#endif // RUNTIME_DEVICE_CPU_LIBRARY_LAYOUT_H
