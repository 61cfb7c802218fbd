//===- training.h - What the C interface's loops share ----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CAPI_TRAINING_H
#define RUNTIME_CAPI_TRAINING_H

#include "runtime/capi/capi.h"
#include "runtime/train/nonfinite.h"

namespace dist {

/// Columns of the caller's, which are not copied.
Status toDataset(const manifest::Entry &entry, const dist_tensor_t *columns,
                 int32_t numColumns, std::unique_ptr<Dataset> *out);

} // namespace dist

#endif // RUNTIME_CAPI_TRAINING_H
