//===- output.h - The trained model as a file -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_OUTPUT_H
#define TOOLS_DIST_RUN_OUTPUT_H

#include "runtime/core/session.h"
#include "tools/dist-run/held_package.h"

namespace dist::tools {

/// Writes the variables of a session by the target's ending: `.onnx` (the
/// imported model with new weights), `.safetensors`, else a package folder. All
/// processes of the session call it; process 0 writes.
Status writeModel(HeldPackage &package, Session &session,
                  const std::string &target);

/// What can be told before a long run, so that it is not lost at its end. An
/// empty path is fine but for a model.
///
/// Whether a file can be written there.
Status checkWritable(const std::string &path);
/// The same of an option's file that has one form only.
Status checkForm(const char *option, const std::string &path,
                 const std::string &extension);
enum class ResultKind { File, Folder, Package };
/// A result of a run and the option that says where it is written.
struct ResultPlace {
  std::string option, path;
  ResultKind kind = ResultKind::File;
};
/// The model's.
ResultPlace modelPlace(const std::string &path);
/// Whether none is written over another, or into a package, in whose place a
/// new folder is put.
Status checkPlaces(const std::vector<ResultPlace> &results);
/// Whether `writeModel` knows the form that the name asks for, and nothing of
/// the user's is in the way.
Status checkModelName(const std::string &path);
/// Whether the compiled model can be written in that form.
Status checkModelForm(const std::string &package,
                      const manifest::Manifest &manifest,
                      const std::string &path);

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_OUTPUT_H
