//===- predict.h - Arrays through the predict entry -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_TRAIN_PREDICT_H
#define RUNTIME_TRAIN_PREDICT_H

#include "runtime/core/session.h"
#include "runtime/formats/file.h"

namespace dist {

/// A `.npy` file or a `.pb` TensorProto, told by content. `name`, when asked
/// for, is the one a TensorProto carries.
Status readInputFile(const std::string &path, HostArray *out,
                     std::string *name = nullptr,
                     FileAccess access = FileAccess::Read);

/// Runs `@predict`, or what the package has for other batches (core/predict.h).
/// Inputs must have the model's exact types and shapes, but any number of
/// examples where the input has a batch dim. `outputs` are in the model's
/// order.
Status predict(Session &session,
               const std::vector<std::pair<std::string, HostArray>> &inputs,
               std::vector<std::pair<std::string, Tensor>> *outputs);

} // namespace dist

#endif // RUNTIME_TRAIN_PREDICT_H
