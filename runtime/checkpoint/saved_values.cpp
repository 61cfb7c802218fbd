//===- saved_values.cpp - The files of a saved state -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/values.h"
#include "runtime/core/text.h"
#include "runtime/formats/file_system.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sys/stat.h>

namespace dist {

Status SavedValues::wrong(const std::string &why) const {
  return damagedState(folder, why);
}

/// A file that cannot be read now may be sound all the same.
Status SavedValues::openReader(const std::string &name,
                               std::unique_ptr<SafetensorsReader> *out,
                               bool *damaged) const {
  std::string path = folder + "/" + name;
  struct stat info;
  *damaged = true;
  if (fileSystem().status(path, &info) != 0 && errno == ENOENT)
    return wrong(name + " is missing");
  Status status = SafetensorsReader::open(path, out);
  *damaged = !status.ok() && status.code() != StatusCode::Unavailable;
  return *damaged ? wrong(status.message()) : status;
}

Status SavedValues::openFile(const SavedFile &file, bool *damaged) {
  std::unique_ptr<SafetensorsReader> reader;
  DIST_RETURN_IF_ERROR(openReader(file.name, &reader, damaged));
  *damaged = true;
  if (reader->bytes() != file.bytes)
    return wrong(file.name + " has " + std::to_string(reader->bytes()) +
                 " bytes instead of " + std::to_string(file.bytes));
  if (reader->headerCrc() != file.headerCrc)
    return wrong("the checksum of the header of " + file.name + " is wrong");
  for (const SavedPart &part : file.parts) {
    auto found = reader->tensors().find(part.tensor);
    if (found == reader->tensors().end() ||
        found->second.shape.size() != part.start.size())
      return wrong(file.name + " has no part " + part.tensor);
    parts[part.variable].push_back(&part);
    readerOf[&part] = reader.get();
  }
  readers.push_back(std::move(reader));
  *damaged = false;
  return Status();
}

/// The index of a state from before there was one, by its tensors' names: a
/// variable's global value, reduced where it is reduced when read, and besides
/// `NAME@rankN` then.
Status SavedValues::indexOldFile(uint32_t crc, bool *damaged) {
  SavedFile &file = files.emplace_back();
  file.name = "variables.safetensors";
  std::unique_ptr<SafetensorsReader> reader;
  DIST_RETURN_IF_ERROR(openReader(file.name, &reader, damaged));
  uint32_t whole = 0;
  DIST_RETURN_IF_ERROR(reader->readCrc(&whole));
  *damaged = whole != crc;
  if (*damaged)
    return wrong("the checksum of " + file.name + " is wrong");
  checkedWhole = true;
  file.bytes = reader->bytes();
  file.headerCrc = reader->headerCrc();
  for (auto &[name, view] : reader->tensors()) {
    SavedPart &part = file.parts.emplace_back();
    part.tensor = part.variable = name;
    part.whole = view.shape;
    part.start.assign(view.shape.size(), 0);
    size_t at = name.rfind("@rank");
    if (startsWith(name, "best@")) {
      part.kind = SavedPart::Kind::Best;
      part.variable = name.substr(5);
    } else if (at != std::string::npos) {
      part.kind = SavedPart::Kind::Slice;
      part.variable = name.substr(0, at);
      part.rank = std::atoll(name.c_str() + at + 5);
    }
  }
  return openFile(file, damaged);
}

Status SavedValues::open(const std::string &folder, const StateHeader &header,
                         std::unique_ptr<SavedValues> *out, bool *damaged) {
  auto values = std::make_unique<SavedValues>();
  values->folder = folder;
  *damaged = false;
  if (header.hasIndex) {
    DIST_RETURN_IF_ERROR(
        readIndex(folder, header.crc, &values->files, damaged));
    for (const SavedFile &file : values->files)
      DIST_RETURN_IF_ERROR(values->openFile(file, damaged));
  } else {
    DIST_RETURN_IF_ERROR(values->indexOldFile(header.crc, damaged));
  }
  *out = std::move(values);
  return Status();
}

std::vector<std::string> SavedValues::variables() const {
  std::vector<std::string> names;
  for (auto &[name, all] : parts)
    if (std::any_of(all.begin(), all.end(), [](const SavedPart *part) {
          return part->kind != SavedPart::Kind::Best;
        }))
      names.push_back(name);
  return names;
}

std::vector<const SavedPart *> SavedValues::find(const std::string &variable,
                                                 SavedPart::Kind kind) const {
  std::vector<const SavedPart *> found;
  auto all = parts.find(variable);
  if (all != parts.end())
    for (const SavedPart *part : all->second)
      if (part->kind == kind)
        found.push_back(part);
  return found;
}

bool SavedValues::hasBest() const {
  for (auto &[variable, all] : parts)
    for (const SavedPart *part : all)
      if (part->kind == SavedPart::Kind::Best)
        return true;
  return false;
}

const TensorView &SavedValues::viewOf(const SavedPart &part) const {
  return readerOf.at(&part)->tensors().at(part.tensor);
}

Status SavedValues::check(const SavedPart &part, bool *damaged) const {
  *damaged = false;
  if (checkedWhole)
    return Status();
  const SafetensorsReader &reader = *readerOf.at(&part);
  uint32_t crc = 0;
  DIST_RETURN_IF_ERROR(reader.readCrc(part.tensor, &crc));
  *damaged = crc != part.crc;
  if (!*damaged)
    return Status();
  std::string name;
  for (size_t i = 0; i < readers.size(); ++i)
    if (readers[i].get() == &reader)
      name = files[i].name;
  return wrong("the checksum of " + part.tensor + " in " + name + " is wrong");
}

Status SavedValues::read(const SavedPart &part, Tensor *out) const {
  return readerOf.at(&part)->read(part.tensor, out);
}

} // namespace dist
