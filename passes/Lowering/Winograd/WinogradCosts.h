//===- WinogradCosts.h - What the parts of Winograd cost --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For the plan, which compares them with a direct convolution, and for the
// prediction of a step's time. As FLOPs of large products, which take as long:
// so they hold for faster cores, too. Measured on a core at 2.8 GHz with
// AVX-512, which does 160e9 of them a second, and direct convolutions at 125e9;
// what plans gain on each other, at 64 to 512 channels and 1 to 64 images, on
// another that multiplies twice as fast.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_WINOGRAD_WINOGRADCOSTS_H
#define PASSES_LOWERING_WINOGRAD_WINOGRADCOSTS_H

namespace mlir::dist::winograd {

/// Products of the 36 matrices of a tile are smaller than large products, and
/// so are those of a direct convolution: each of their FLOPs takes as long as
/// so many.
inline constexpr double smallProduct = 1.28;

/// Of the products of so many tiles.
inline double getProductFlops(double tiles, double inputs, double outputs) {
  return smallProduct * 2 * 36 * tiles * inputs * outputs;
}

/// To transform a tile's 36 elements of a channel.
inline constexpr double tileFlops = 1920;

/// Of an element of a filter's 36 matrices, or of the sums of its gradient:
/// made and read in the cache; turned from or into a filter in memory.
inline constexpr double makeFlops = 19.2, turnFlops = 96;

/// Of a byte that is read from memory by a block of tiles; in long rows, one
/// after another, it comes sooner.
inline constexpr double readFlops = 16, streamFlops = 8;

/// Of a byte of weights that a direct convolution reads for each image.
inline constexpr double directReadFlops = 4.8;

} // namespace mlir::dist::winograd

#endif // PASSES_LOWERING_WINOGRAD_WINOGRADCOSTS_H
