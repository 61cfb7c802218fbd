//===- foreign.h - Model files of other tools -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tells what a model is that no importer reads, so that the error names it and
// the way to ONNX, rather than what its bytes fail to be.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_FOREIGN_H
#define RUNTIME_FORMATS_FOREIGN_H

#include "runtime/core/status.h"
#include <string>
#include <string_view>

namespace dist {

/// An error that names the form, when `bytes` or the folder at `where` are a
/// model of a known form that is not imported; else success.
Status checkForeignFile(std::string_view bytes, const std::string &where);
/// Whether TensorFlow's SavedModel, or one or a GraphDef, starts here.
bool isSavedModel(std::string_view bytes);
bool isTensorFlowModel(std::string_view bytes);
/// The file to read of a model that may be a folder: its saved_model.pb.
std::string modelFileOf(const std::string &where);
/// Whether MLIR text has StableHLO's ops in the generic form.
bool isGenericStableHlo(std::string_view text);
Status checkForeignFolder(const std::string &where);

} // namespace dist

#endif // RUNTIME_FORMATS_FOREIGN_H
