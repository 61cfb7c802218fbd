//===- machine_figures.h - What a machine can do -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_MACHINE_FIGURES_H
#define RUNTIME_CORE_MACHINE_FIGURES_H

namespace dist {

/// The figures of a roofline: what the compiler's predictions rest on.
struct MachineFigures {
  /// f32 contractions by the library, one thread.
  double flopsPerSecond = 0;
  /// Read and written by an element-wise loop over more than the caches hold,
  /// one thread.
  double memoryBytesPerSecond = 0;
  /// What each further thread of a team adds to both, as a share of the first:
  /// the smaller of the two. 1 where there is one core.
  double threadEfficiency = 1;
  /// What a rank sends a second in a large all-reduce between two devices, and
  /// how long, in seconds, a small one takes.
  double transferBytesPerSecond = 0, transferLatency = 0;
};

} // namespace dist

#endif // RUNTIME_CORE_MACHINE_FIGURES_H
