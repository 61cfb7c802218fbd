//===- kernel_memories.h - Memories of library kernels --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DEVICE_CPU_KERNEL_MEMORIES_H
#define RUNTIME_DEVICE_CPU_KERNEL_MEMORIES_H

#include "runtime/core/manifest.pb.h"

namespace dist::cpu {

/// Whether its elements, from the first to the last, can be in memory.
bool fitsMemory(const manifest::LibraryKernel::Memory &memory);

/// Whether two elements may lie at one place: a dim steps no further than those
/// with smaller strides reach.
bool overlaps(const manifest::LibraryKernel::Memory &memory);

} // namespace dist::cpu

#endif // RUNTIME_DEVICE_CPU_KERNEL_MEMORIES_H
