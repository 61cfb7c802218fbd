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
  /// The library's contractions on one thread: f32 products of matrices, the
  /// same in bf16, 3x3 convolutions in f32 and the gradients of their inputs
  /// and filters.
  double flopsPerSecond = 0;
  double bf16FlopsPerSecond = 0;
  double convFlopsPerSecond = 0;
  double inputGradFlopsPerSecond = 0;
  double filterGradFlopsPerSecond = 0;
  /// Read and written by an element-wise loop on one thread: over more than the
  /// caches hold, and over what they do, which is up to `cacheBytes`.
  double memoryBytesPerSecond = 0;
  double cacheBytesPerSecond = 0, cacheBytes = 0;
  /// What each further thread of a team adds, as a share of the first, to
  /// contractions and to memory. 1 where there is one core.
  double threadEfficiency = 1, memoryThreadEfficiency = 1;
  /// What a rank sends a second in a large all-reduce between two devices, and
  /// how long, in seconds, a small one takes.
  double transferBytesPerSecond = 0, transferLatency = 0;
  /// How long, in seconds, until a thread that sleeps goes on: what a small
  /// all-reduce takes of two ranks that sleep while they wait.
  double wakeSeconds = 3e-5;
  /// The same as of devices, of processes on one machine, which send each other
  /// messages through its shared memory; and of machines, by default over a
  /// network of 10 Gbit/s. Calibrating measures neither.
  double processBytesPerSecond = 6e9, processLatency = 1e-6;
  double networkBytesPerSecond = 1.1e9, networkLatency = 2e-5;
};

} // namespace dist

#endif // RUNTIME_CORE_MACHINE_FIGURES_H
