//===- index.h - Which file has which part of a state -----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `index.json` of a state's folder. Each process that saved has a file of its
// own there; together their parts are the variables.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CHECKPOINT_INDEX_H
#define RUNTIME_CHECKPOINT_INDEX_H

#include "runtime/core/status.h"
#include <cstdint>
#include <string>
#include <vector>

namespace dist {

/// A tensor of a values file.
struct SavedPart {
  enum class Kind {
    Box,   // of the global value
    Slice, // what a rank has of a variable whose ranks hold different things
    Best   // the global value at the best epoch
  };
  Kind kind = Kind::Box;
  std::string tensor; // its name in the file
  std::string variable;
  /// Of the variable's global value its shape, and where the part begins: the
  /// tensor's shape is the part's, but for a slice's padding.
  std::vector<int64_t> whole, start;
  /// Of a slice: the first rank that has it, and its place among those whose
  /// sum is the value.
  int64_t rank = -1, partial = 0;
  uint32_t crc = 0; // CRC-32 of the bytes
};

struct SavedFile {
  std::string name; // in the state's folder
  int64_t bytes = 0;
  uint32_t headerCrc = 0; // of what stands in front of the data
  std::vector<SavedPart> parts;
};

/// A file's entry as JSON, as processes send it to the one that writes the
/// index.
std::string toText(const SavedFile &file);

/// Makes the index of such entries, through the disk's cache. `crc`: CRC-32 of
/// its bytes.
Status writeIndex(const std::string &folder,
                  const std::vector<std::string> &files, uint32_t *crc);

/// `damaged` as in `readHeader`.
Status readIndex(const std::string &folder, uint32_t crc,
                 std::vector<SavedFile> *out, bool *damaged);

/// An entry that a process sent; false where it is malformed.
bool fromText(const std::string &text, SavedFile *out);

} // namespace dist

#endif // RUNTIME_CHECKPOINT_INDEX_H
