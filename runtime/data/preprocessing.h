//===- preprocessing.h - What examples go through ---------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DATA_PREPROCESSING_H
#define RUNTIME_DATA_PREPROCESSING_H

#include "runtime/data/dataset.h"

namespace dist {

/// A number or a fraction, `0.5` or `1/255`.
bool parseFraction(const std::string &text, double *top, double *bottom);

/// Makes a column an argument's: takes name, type, shape and preprocessing.
/// Its array must fit them, of which only type and shape are looked at.
/// `first`: x names it, too.
Status bindColumn(const DataOptions &options, const manifest::Binding &binding,
                  bool first, Column &column);

/// A name of `--scale` and its like that no argument has would do nothing, and
/// so would one of two that mean the same argument.
Status checkPreprocessingNames(const DataOptions &options,
                               const manifest::Entry &entry);

} // namespace dist

#endif // RUNTIME_DATA_PREPROCESSING_H
