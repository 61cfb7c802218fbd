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

/// The tensors of a file that stays where it is: one at a time is in memory.
class SafetensorsReader {
public:
  static Status open(const std::string &path,
                     std::unique_ptr<SafetensorsReader> *out);
  ~SafetensorsReader();
  SafetensorsReader(const SafetensorsReader &) = delete;
  SafetensorsReader &operator=(const SafetensorsReader &) = delete;

  /// Their types and shapes, without data.
  const std::map<std::string, TensorView> &tensors() const { return table; }
  int64_t bytes() const { return fileBytes; }
  /// CRC-32 of what stands in front of the data.
  uint32_t headerCrc() const { return crc; }
  Status read(const std::string &name, Tensor *out) const;
  /// CRC-32 of a tensor's bytes, and of the whole file.
  Status readCrc(const std::string &name, uint32_t *out) const;
  Status readCrc(uint32_t *out) const;

private:
  SafetensorsReader() = default;
  Status readBytes(int64_t offset, size_t size, void *out) const;
  Status crcOf(int64_t offset, int64_t size, uint32_t *out) const;

  std::string path;
  int descriptor = -1;
  int64_t fileBytes = 0;
  uint32_t crc = 0;
  std::map<std::string, TensorView> table;
  std::map<std::string, int64_t> offsets; // in the file
};

/// What a written file may be compared with later: its size, and the CRC-32 of
/// what stands in front of the data and of each tensor.
struct SafetensorsSums {
  int64_t bytes = 0;
  uint32_t header = 0;
  std::map<std::string, uint32_t> tensors;
};

/// Collects tensors, then writes them in one stream. The data pointers must
/// stay valid until `finish`.
class SafetensorsWriter {
public:
  explicit SafetensorsWriter(std::string path) : path(std::move(path)) {}
  void add(const std::string &name, DataType type,
           const std::vector<int64_t> &shape, const void *data);
  /// Of a tensor that is made when its turn comes, and gone behind it.
  void add(const std::string &name, DataType type,
           const std::vector<int64_t> &shape,
           std::function<Status(Tensor *out)> make);
  void setMetadata(const std::string &key, const std::string &value) {
    notes[key] = value;
  }
  /// Called when so many bytes were written since, for who lets go of mapped
  /// files then.
  void afterBytes(size_t count, std::function<void()> call) {
    every = count;
    afterEvery = std::move(call);
  }
  /// Writes beside the target and renames.
  Status finish(bool durable = false, SafetensorsSums *sums = nullptr);

private:
  struct Item {
    std::string name;
    TensorView view;
    std::function<Status(Tensor *out)> make; // null: the view has the data
  };
  /// `crc`, unless null: goes on with the item's bytes.
  Status writeData(const Item &item, FileSink &sink, uint32_t *crc);

  std::string path;
  std::vector<Item> items;
  std::map<std::string, std::string> notes;
  Tensor made; // one memory for all, which the allocator does not scatter
  size_t every = 0, written = 0; // written: since the last call
  std::function<void()> afterEvery;
};

} // namespace dist

#endif // RUNTIME_FORMATS_SAFETENSORS_H
