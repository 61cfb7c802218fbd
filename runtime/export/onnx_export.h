//===- onnx_export.h - A trained model as an ONNX file -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A trained model is the imported one with new weights: a package keeps the
// model without them (the skeleton), and the export puts them back. All that is
// not understood here (names, metadata, functions) stays as it was.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_EXPORT_ONNX_EXPORT_H
#define RUNTIME_EXPORT_ONNX_EXPORT_H

#include "runtime/core/package_files.h"
#include "runtime/formats/file.h"
#include "runtime/formats/onnx_copies.h"
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace dist {

/// Writes the model without the elements of the initializers in `variables`,
/// those of branches among them (Constant nodes and sparse initializers of such
/// a name become initializers); names that are none are left out of account.
/// External data of the others are taken in. `copies` are made first, as the
/// import made them.
Status writeOnnxSkeleton(const std::string &model,
                         const std::vector<std::string> &variables,
                         const std::string &skeleton,
                         const std::vector<OnnxCopy> &copies = {},
                         FileAccess access = FileAccess::Read);

/// Gives the value of a variable by its name in the model.
using VariableReader = std::function<Status(const std::string &, Tensor *)>;

/// How the program that trained a model kept an initializer: written as the
/// model's multi-device configuration.
struct OnnxShards {
  /// Shards of each dim.
  std::vector<int64_t> counts;
  /// The devices that hold each shard, in row-major order of the shards.
  std::vector<std::vector<int64_t>> devices;
};

/// What the devices of a mesh (its axes with their sizes, major first) hold of
/// a value whose dims are split over these axes; only those that `holds` says
/// have a shard of it.
OnnxShards
arrangeShards(const std::vector<std::pair<std::string, int64_t>> &mesh,
              const std::vector<std::vector<std::string>> &axesOfDims,
              const std::function<bool(int64_t device)> &holds);

/// Writes `skeleton` with the elements that it lacks to `path`, atomically. A
/// value must have the type and size of its initializer. `shards`, by the
/// initializers' names, are those of `numDevices` devices; without any, the
/// model says nothing of devices that it did not say before. `durable`: through
/// the disk's cache. `trained`: variables that the model must have
Status writeOnnxModel(const std::string &skeleton, const VariableReader &read,
                      const std::string &path,
                      const std::map<std::string, OnnxShards> &shards = {},
                      int64_t numDevices = 1, bool durable = false,
                      const std::vector<std::string> &trained = {});

} // namespace dist

#endif // RUNTIME_EXPORT_ONNX_EXPORT_H
