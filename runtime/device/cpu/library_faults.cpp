//===- library_faults.cpp - What of the library computes wrongly ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/library_faults.h"
#include <algorithm>

namespace dist::cpu {

namespace {
using Spec = manifest::LibraryKernel;

bool has(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}

/// The filter's gradient of a 1x1 convolution that skips pixels copies the
/// pixels that it reads to scratch memory, with the channels of a pixel side by
/// side. It steps there by its block of channels (16 with AVX-512, 8 without)
/// where the input has fewer, and so writes beyond what it asked for: into the
/// parts of its sums that other threads made, its threads' barrier, or whatever
/// lies behind the scratch memory. Sums are then wrong, differ from run to run,
/// or never end. (uxlfoundation/oneDNN issue 6035; 3.2 to 3.12 at least.)
bool overrunsPixels(const Spec &kernel, const std::string &implementation) {
  if (kernel.kind() != Spec::CONV_FILTER_GRAD ||
      implementation.compare(0, 8, "jit_1x1:") != 0 ||
      kernel.memories_size() < 3)
    return false;
  bool skips = std::any_of(kernel.strides().begin(), kernel.strides().end(),
                           [](int64_t stride) { return stride > 1; });
  int64_t block = has(implementation, "avx512") ? 16 : 8;
  return skips && kernel.memories(0).dims(1) < block;
}
} // namespace

bool isFaulty(const manifest::LibraryKernel &kernel,
              const std::string &implementation) {
  return overrunsPixels(kernel, implementation);
}

} // namespace dist::cpu
