//===- library_faults.cpp - What of the library computes wrongly ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/library_faults.h"
#include "runtime/core/text.h"
#include <algorithm>

namespace dist::cpu {

namespace {
using Spec = manifest::LibraryKernel;

/// The filter's gradient of a 1x1 convolution that skips pixels copies the
/// pixels that it reads to scratch memory, with the channels of a pixel side by
/// side. It steps there by its block of channels (16 with AVX-512, 8 without)
/// where the input has fewer, and so writes beyond what it asked for: into the
/// parts of its sums that other threads made, its threads' barrier, or whatever
/// lies behind the scratch memory. Sums are then wrong, differ from run to run,
/// or never end. (uxlfoundation/oneDNN issue 6035; 3.2 to 3.12 at least.)
bool overrunsPixels(const Spec &kernel, const std::string &implementation) {
  if (!startsWith(implementation, "jit_1x1:") &&
      !startsWith(implementation, "jit_bf16_1x1:"))
    return false;
  bool skips = std::any_of(kernel.strides().begin(), kernel.strides().end(),
                           [](int64_t stride) { return stride > 1; });
  bool wide = implementation.find("avx512") != std::string::npos;
  return skips && kernel.memories(0).dims(1) < (wide ? 16 : 8);
}

/// Whether the implementation is one of those that turn pixels for the filter's
/// gradient in bf16, with AMX or without.
bool turnsPixels(const std::string &implementation) {
  return startsWith(implementation, "jit_bf16:") ||
         startsWith(implementation, "jit:avx512_core_amx") ||
         startsWith(implementation, "brgconv_bwd_w:");
}

/// The size of a memory along the kernel's spatial dim `d`.
int64_t sizeOf(const Spec &kernel, int memory, int d) {
  const auto &dims = kernel.memories(memory).dims();
  int first = dims.size() - kernel.strides_size();
  return dims.Get(first + d);
}

/// They leave what was in memory before where a column of the filter meets no
/// pixel, but only pads: the corners of a 3x3 filter on an image of one pixel.
bool leavesColumns(const Spec &kernel) {
  int d = kernel.strides_size() - 1;
  for (int64_t column = 0; column < sizeOf(kernel, 2, d); ++column) {
    int64_t first = column * kernel.dilations(d) - kernel.pad_low(d);
    bool meets = false;
    for (int64_t place = 0; place < sizeOf(kernel, 1, d) && !meets; ++place) {
      int64_t pixel = place * kernel.strides(d) + first;
      meets = pixel >= 0 && pixel < sizeOf(kernel, 0, d);
    }
    if (!meets)
      return true;
  }
  return false;
}

/// They add up what lies beside the image where the filter is deeper than it,
/// so that it reaches into the pads before and behind at once.
bool readsBesideDepth(const Spec &kernel) {
  if (kernel.strides_size() < 3)
    return false;
  int64_t reach = (sizeOf(kernel, 2, 0) - 1) * kernel.dilations(0) + 1;
  return reach > sizeOf(kernel, 0, 0);
}
} // namespace

bool isFaulty(const manifest::LibraryKernel &kernel,
              const std::string &implementation) {
  if (kernel.kind() != Spec::CONV_FILTER_GRAD)
    return false;
  return overrunsPixels(kernel, implementation) ||
         (turnsPixels(implementation) &&
          (leavesColumns(kernel) || readsBesideDepth(kernel)));
}

} // namespace dist::cpu
