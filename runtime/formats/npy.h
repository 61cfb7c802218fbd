//===- npy.h - NumPy's array files and archives -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `.npy` is one array, `.npz` a zip archive of them.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_NPY_H
#define RUNTIME_FORMATS_NPY_H

#include "runtime/formats/file.h"

namespace dist {

bool isNpy(std::string_view bytes);
/// Parses an array; its data point into `bytes`, which `owner` keeps, unless
/// byte or dim order had to change. Object and structured arrays are refused.
Status parseNpy(std::string_view bytes, std::shared_ptr<const void> owner,
                const std::string &where, HostArray *out);
/// Types that NumPy lacks are written as float32.
Status writeNpy(const std::string &path, const TensorView &tensor,
                bool durable = false);

bool isZip(std::string_view bytes);
/// All `.npy` members of an archive, named without the ending.
Status parseNpz(std::string_view bytes, std::shared_ptr<const void> owner,
                const std::string &where,
                std::vector<std::pair<std::string, HostArray>> *out);

} // namespace dist

#endif // RUNTIME_FORMATS_NPY_H
