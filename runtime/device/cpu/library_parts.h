//===- library_parts.h - Library kernels cut for a team ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library gives each thread of a team its portion of a kernel beforehand,
// so that a thread whose CPU another program has holds up all others. A kernel
// that is made of more and smaller ones, over some rows (images, lines of a
// product) and for one thread each, is done by any thread that is free.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DEVICE_CPU_LIBRARY_PARTS_H
#define RUNTIME_DEVICE_CPU_LIBRARY_PARTS_H

#include "runtime/device/cpu/library_kernel.h"
#include <optional>

namespace dist::cpu {

/// How a description falls into parts of equal numbers of rows, or of columns
/// of a product whose parts would read too much in common. It follows from the
/// description and the threads that the program was compiled for, never from
/// those that are free: which numbers are added first depends on it.
class LibraryParts {
public:
  /// None where neither rows nor columns divide among the threads, where what
  /// all parts read or write is so much that cutting would cost more than a
  /// little, and of a table that needs the library's own threads as well.
  static std::optional<LibraryParts> choose(const KernelTable &table,
                                            const manifest::LibraryKernel &spec,
                                            int threads);

  int count() const { return parts; }
  /// The description of one part.
  manifest::LibraryKernel part() const;
  /// The dim of the memory of which each part has a piece of its own; -1: all
  /// parts have the memory in common.
  int cutDim(int memory) const;
  bool isCut(int memory) const { return cutDim(memory) >= 0; }
  /// From one part's piece to the next one's.
  int64_t stepBytes(int memory) const;
  /// Whether all parts write the memory, so that they must be added.
  bool isSummed(int memory) const;

  /// What lies in the scratchpad: one for each part, then for each part but the
  /// first, whose are the kernel's results, the sums that it writes.
  struct Layout {
    int64_t partBytes = 0, sumBytes = 0, totalBytes = 0;
    std::vector<int64_t> sumAt; // by memory: where a part's sums begin
  };
  /// `memoryBytes`: of each memory of a part.
  Layout layOut(int64_t partScratchpad,
                const std::vector<int64_t> &memoryBytes) const;

  /// The kernel made of `kernels`, one for each part.
  std::unique_ptr<LibraryKernel>
  join(std::vector<std::unique_ptr<LibraryKernel>> kernels,
       const std::vector<int64_t> &memoryBytes) const;

  /// What the parts are of the whole: rows of results, or columns.
  enum class Cut { Rows, Columns };

private:
  LibraryParts(const manifest::LibraryKernel &spec, Cut cut, int parts)
      : spec(spec), cut(cut), parts(parts) {}

  manifest::LibraryKernel spec;
  Cut cut;
  int parts;
};

/// Whether each kernel of the table is cut, or so small that one thread does it
/// before a second would have come: then the team that runs a program's loops
/// runs all of it, and the library's own threads have nothing to do. Where they
/// have, the loops run on them, too, and no kernel is cut: two teams would be
/// in each other's way.
bool runsOnOneTeam(const KernelTable &table, int threads);

/// How many threads a kernel of the table that is not cut is for.
int threadsOfWhole(const KernelTable &table,
                   const manifest::LibraryKernel &spec, int threads);

} // namespace dist::cpu

#endif // RUNTIME_DEVICE_CPU_LIBRARY_PARTS_H
