//===- safetensors.h - The safetensors file format -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Named tensors in a file: an 8-byte length, a JSON header, then the bytes.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_SAFETENSORS_H
#define RUNTIME_FORMATS_SAFETENSORS_H

#include "runtime/formats/file.h"
#include <functional>
#include <map>

namespace dist {

/// A safetensors file. Views live as long as the object.
class SafetensorsFile {
public:
  static Status open(const std::string &path,
                     std::unique_ptr<SafetensorsFile> *out,
                     FileAccess access = FileAccess::Read);
  /// Of bytes the caller keeps; `where` names them in errors.
  static Status parse(std::string_view bytes, const std::string &where,
                      std::unique_ptr<SafetensorsFile> *out);
  /// Null when there is no tensor of that name.
  const TensorView *find(const std::string &name) const;
  const std::map<std::string, TensorView> &tensors() const { return table; }
  const std::map<std::string, std::string> &metadata() const { return notes; }
  /// What keeps the views alive.
  std::shared_ptr<const FileBytes> file() const { return bytes; }

private:
  std::shared_ptr<const FileBytes> bytes;
  std::map<std::string, TensorView> table;
  std::map<std::string, std::string> notes;
};

/// Collects tensors, then writes them in one stream. The data pointers must
/// stay valid until `finish`.
class SafetensorsWriter {
public:
  explicit SafetensorsWriter(std::string path) : path(std::move(path)) {}
  void add(const std::string &name, DataType type,
           const std::vector<int64_t> &shape, const void *data);
  void setMetadata(const std::string &key, const std::string &value) {
    notes[key] = value;
  }
  /// Called when so many bytes were written since, for who lets go of mapped
  /// files then.
  void afterBytes(size_t count, std::function<void()> call) {
    every = count;
    afterEvery = std::move(call);
  }
  /// Writes beside the target and renames. `outCrc`: of all bytes written.
  Status finish(bool durable = false, uint32_t *outCrc = nullptr);

private:
  struct Item {
    std::string name;
    TensorView view;
  };
  std::string path;
  std::vector<Item> items;
  std::map<std::string, std::string> notes;
  size_t every = 0;
  std::function<void()> afterEvery;
};

} // namespace dist

#endif // RUNTIME_FORMATS_SAFETENSORS_H
