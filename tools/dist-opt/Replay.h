//===- Replay.h - A package's entries run by dist-run ---------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_OPT_REPLAY_H
#define TOOLS_DIST_OPT_REPLAY_H

#include "dialects/Interfaces/HostTensor.h"
#include "runtime/core/status.h"
#include "runtime/formats/safetensors.h"
#include <deque>

namespace mlir::dist {

/// Tensors by name and the entries that take them, as `dist-run --replay` reads
/// them: NAME/0, NAME/1, ... are an entry's inputs, NAME/slice/RANK/VARIABLE
/// what a rank holds of a variable before it runs.
class ReplayFile {
public:
  explicit ReplayFile(const std::string &path) : writer(path) {}
  void addEntry(const std::string &name) {
    entries += (entries.empty() ? "" : ",") + name;
  }
  void add(const std::string &name, const HostTensor &tensor);
  ::dist::Status finish();

private:
  ::dist::SafetensorsWriter writer;
  std::deque<std::vector<char>> bytes;
  std::string entries;
};

/// Runs the entries of `cases` by dist-run, on the package in `folder`; opens
/// what they gave, by the same names.
::dist::Status replay(const std::string &package, const std::string &cases,
                      const std::string &folder,
                      std::unique_ptr<::dist::SafetensorsFile> *results);

/// A result as a tensor of `type`.
::dist::Status readResult(const ::dist::SafetensorsFile &results,
                          const std::string &name, RankedTensorType type,
                          HostTensor *out);

} // namespace mlir::dist

#endif // TOOLS_DIST_OPT_REPLAY_H
