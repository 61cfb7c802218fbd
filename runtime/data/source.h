//===- source.h - Which file feeds which argument -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DATA_SOURCE_H
#define RUNTIME_DATA_SOURCE_H

#include "runtime/formats/arrays.h"

namespace dist {

/// Reads `spec` as named arrays: pairs keep their names, a folder or a CSV or
/// CIFAR-10 file gives "x" and "y", an archive its members' names. Each array
/// has a dim 0; ranges FILE[a:b] are cut. `testPart`: of folders with two.
Status readDataSpec(const std::string &spec, bool testPart,
                    std::vector<NamedArray> *out,
                    FileAccess access = FileAccess::Read);

/// A number or a fraction, `0.5` or `1/255`.
bool parseFraction(const std::string &text, double *top, double *bottom);

} // namespace dist

#endif // RUNTIME_DATA_SOURCE_H
