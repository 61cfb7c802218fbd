//===- library_memory.h - What the library lays out -------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How the library packs weights, and the room that its kernels compute in, is
// its own choice by the CPU and its version. So this memory is no part of what
// a program plans: the loader of a package asks the library, and gives each
// device one block for it. The compiler asks the same to tell what it will be
// here.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DEVICE_CPU_LIBRARY_MEMORY_H
#define RUNTIME_DEVICE_CPU_LIBRARY_MEMORY_H

#include "runtime/device/cpu/library_kernel.h"
#include <map>

namespace dist::cpu {

/// The block of a program's devices. Offsets are from its start.
struct LibraryBlock {
  std::map<std::string, int64_t> prepared; // by the binding's name
  std::vector<int64_t> slots;              // of all entries
  int64_t scratchpad = 0;

  int64_t preparedBytes = 0, slotBytes = 0, scratchpadBytes = 0;
  int64_t bytes() const { return preparedBytes + slotBytes + scratchpadBytes; }
};

class LibraryMemory {
public:
  /// Asks about the manifest's kernels, for its threads of a device. Fails
  /// where the library has none of a description, or the manifest is damaged.
  static Status create(const manifest::Manifest &manifest, LibraryMemory *out);

  const LibraryKernelInfo &kernel(int index) const { return infos[index]; }
  const LibraryBlock &block(int program) const { return blocks[program]; }

private:
  Status layOut(const manifest::Manifest &manifest,
                const manifest::Program &program, LibraryBlock *out) const;
  Status find(const manifest::Packed &packed, const std::string &where,
              const LibraryKernelInfo::Memory **out) const;

  std::vector<LibraryKernelInfo> infos; // as the manifest's kernels
  std::vector<LibraryBlock> blocks;     // as the manifest's programs
};

} // namespace dist::cpu

#endif // RUNTIME_DEVICE_CPU_LIBRARY_MEMORY_H
