//===- library_kernel.h - oneDNN behind a table of descriptions -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only place that speaks to oneDNN. The compiler asks `describe` what the
// library would do with a description (manifest.proto, LibraryKernel); the
// runtime creates the kernels of a package, once for each device, and runs them
// without allocating.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DEVICE_CPU_LIBRARY_KERNEL_H
#define RUNTIME_DEVICE_CPU_LIBRARY_KERNEL_H

#include "runtime/core/manifest.pb.h"
#include "runtime/core/status.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dist::cpu {

using KernelTable = google::protobuf::RepeatedPtrField<manifest::LibraryKernel>;

/// What the library answers to a description.
struct LibraryKernelInfo {
  struct Memory {
    /// Bytes the memory spans, the library's padding included.
    int64_t bytes = 0;
    /// Strides in elements when the layout is a plain one (also when it was the
    /// library's choice); empty for blocked layouts, which a REORDER must fill.
    std::vector<int64_t> strides;
    /// The same text for the same layout; empty where the library does not
    /// tell.
    std::string layout;
  };
  std::vector<Memory> memories; // as in the description
  int64_t scratchpadBytes = 0;
  /// The library's name of the implementation ("brgconv:avx512_core", ...).
  std::string implementation;
  /// Whether it is the library's plain loops, hundreds of times as slow as the
  /// others.
  bool isReference() const {
    return implementation.find("ref") != std::string::npos;
  }
};

/// What kernel `index` of `table` would be on a device of `threads` threads.
/// InvalidArgument when the library has no such kernel (f64, f16 without the
/// instructions, ...): the caller generates code instead. A REORDER with a
/// packed side looks at `packed_kernel` in the table.
Status describe(const KernelTable &table, int index, int threads,
                LibraryKernelInfo *info);
/// The same for a kernel that refers to no other.
Status describe(const manifest::LibraryKernel &kernel, int threads,
                LibraryKernelInfo *info);

/// The library's version, "3.2.0".
std::string libraryVersion();

/// What generated code and the library may use here, such as "avx2 fma
/// avx512f ... library=avx512_core_amx", for people and tests.
std::string hostIsa();
/// Whether products of bf16 run on tiles of registers: the CPU has them, the
/// system lets this process use them, and the library was not told otherwise
/// (ONEDNN_MAX_CPU_ISA).
bool hasTiles();
/// How fast the library multiplies the type (a float) here, beside f32: 8 with
/// tiles of registers, 2 with instructions for pairs of products, below 1 where
/// its inner loops take each number apart. Orders of magnitude, by the CPU's
/// instructions.
double getMultiplySpeed(manifest::DataType type);

/// A kernel of a package on one device. Not thread-safe: each device has its
/// own. Create it on the thread that runs it, which decides the team.
class LibraryKernel {
public:
  static Status create(const KernelTable &table, int index, int threads,
                       std::unique_ptr<LibraryKernel> *out);
  virtual ~LibraryKernel() = default;

  /// Runs with buffers in the order of the description's memories; the
  /// scratchpad comes last when its size is not 0.
  virtual Status run(void *const *buffers) = 0;
  virtual const char *implementation() const = 0;
  /// What the last buffer must have.
  virtual int64_t scratchpadBytes() const = 0;
};

} // namespace dist::cpu

#endif // RUNTIME_DEVICE_CPU_LIBRARY_KERNEL_H
