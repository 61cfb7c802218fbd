//===- values.h - The variables of a saved state -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `variables.safetensors` of a state's folder. The model's own variables must
// fit the program that goes on; what training keeps beside them (slots,
// metrics, sums, compression) begins anew where the program has other ones.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CHECKPOINT_VALUES_H
#define RUNTIME_CHECKPOINT_VALUES_H

#include "runtime/checkpoint/state.h"
#include "runtime/core/session.h"
#include "runtime/formats/safetensors.h"

namespace dist {

/// Whether a group of variables is the model's own; all else belongs to the way
/// it is trained.
bool isOfModel(const std::string &group);

/// Writes the session's variables and `header`'s best values to `folder`, and
/// into `header` what they are.
Status writeValues(const std::string &folder, Session &session,
                   StateHeader *header);

/// Maps the variables of a state, after comparing their checksum. `damaged` as
/// in `readHeader`.
Status readValues(const std::string &folder, const StateHeader &header,
                  std::unique_ptr<SafetensorsFile> *out, bool *damaged);

/// Gives the session the values. Nothing is written when the model's own
/// variables do not fit. `notes` tells what begins anew.
Status restoreValues(const std::string &folder, const StateHeader &header,
                     const SafetensorsFile &values, Session &session,
                     TrainingState *state, std::vector<std::string> *notes);

} // namespace dist

#endif // RUNTIME_CHECKPOINT_VALUES_H
