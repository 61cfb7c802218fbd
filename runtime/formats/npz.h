//===- npz.h - NumPy's archives ---------------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_NPZ_H
#define RUNTIME_FORMATS_NPZ_H

#include "runtime/formats/arrays.h"

namespace dist {

bool isZip(std::string_view bytes);
/// The `.npy` members of an archive that are wanted, named without the ending.
/// Those that are stored as they are point into `bytes`, which `owner` keeps.
Status parseNpz(std::string_view bytes, std::shared_ptr<const void> owner,
                const std::string &where, const ArrayDemand &demand,
                std::vector<NamedArray> *out);

} // namespace dist

#endif // RUNTIME_FORMATS_NPZ_H
