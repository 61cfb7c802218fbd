//===- learning_rate.cpp - The learning rate that a host sets ---*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/learning_rate.h"
#include <cmath>
#include <cstring>

namespace dist {

/// Index of the variable, or -1.
static int findVariable(const manifest::Manifest &manifest) {
  for (int i = 0; i < manifest.variables_size(); ++i)
    if (manifest.variables(i).name() == "optimizer/learning_rate")
      return i;
  return -1;
}

static Status requireVariable(const manifest::Manifest &manifest, int *index) {
  *index = findVariable(manifest);
  if (*index >= 0)
    return Status();
  return Status::error(StatusCode::InvalidInput,
                       "the learning rate cannot be set", manifest.model_name(),
                       "the program has it compiled in",
                       "compile the model with --settable-lr");
}

bool hasSettableLearningRate(const manifest::Manifest &manifest) {
  return findVariable(manifest) >= 0;
}

Status readLearningRate(Session &session, double *rate) {
  int index = -1;
  DIST_RETURN_IF_ERROR(requireVariable(session.manifest(), &index));
  Tensor value;
  DIST_RETURN_IF_ERROR(session.readVariable(index, &value));
  float narrow = 0;
  if (value.type != manifest::F32 || value.data.size() < sizeof narrow)
    return Status::error(StatusCode::InvalidInput, "damaged package",
                         session.manifest().model_name(),
                         "optimizer/learning_rate is no f32 scalar",
                         "compile the model again");
  std::memcpy(&narrow, value.data.data(), sizeof narrow);
  *rate = narrow;
  return Status();
}

Status setLearningRate(Session &session, double rate) {
  int index = -1;
  DIST_RETURN_IF_ERROR(requireVariable(session.manifest(), &index));
  float narrow = float(rate);
  if (!std::isfinite(narrow) || narrow < 0)
    return Status::error(StatusCode::InvalidArgument, "wrong learning rate",
                         std::to_string(rate),
                         "it is no finite number of at least 0 in f32",
                         "give another");
  TensorView value;
  value.type = manifest::F32;
  value.data = &narrow;
  return session.writeVariable(index, value);
}

} // namespace dist
