//===- features.h - What code needs of who runs it --------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DEVICE_FEATURES_H
#define RUNTIME_DEVICE_FEATURES_H

#include <algorithm>
#include <string>
#include <vector>

namespace dist {

/// Those of `needed` that `has` lacks, in `needed`'s order.
inline std::vector<std::string>
missingFeatures(const std::vector<std::string> &needed,
                const std::vector<std::string> &has) {
  std::vector<std::string> missing;
  for (const std::string &name : needed)
    if (std::find(has.begin(), has.end(), name) == has.end())
      missing.push_back(name);
  return missing;
}

} // namespace dist

#endif // RUNTIME_DEVICE_FEATURES_H
