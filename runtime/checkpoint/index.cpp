//===- index.cpp - Which file has which part of a state -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/index.h"
#include "runtime/checkpoint/state.h"
#include "runtime/formats/file.h"
#include "runtime/formats/json.h"

namespace dist {

using nlohmann::json;

static constexpr const char *kIndex = "index.json";

static const char *nameOf(SavedPart::Kind kind) {
  switch (kind) {
  case SavedPart::Kind::Box:
    return "box";
  case SavedPart::Kind::Slice:
    return "slice";
  case SavedPart::Kind::Best:
    return "best";
  }
  return "";
}

std::string toText(const SavedFile &file) {
  json parts = json::array();
  for (const SavedPart &part : file.parts) {
    json item = {{"kind", nameOf(part.kind)}, {"tensor", part.tensor},
                 {"variable", part.variable}, {"whole", part.whole},
                 {"start", part.start},       {"crc32", part.crc}};
    if (part.kind == SavedPart::Kind::Slice) {
      item["rank"] = part.rank;
      item["partial"] = part.partial;
    }
    parts.push_back(std::move(item));
  }
  json entry = {{"file", file.name},
                {"bytes", file.bytes},
                {"header_crc32", file.headerCrc},
                {"parts", std::move(parts)}};
  return jsonText(entry);
}

static bool readPart(const json &item, SavedPart *out) {
  auto number = [&](const char *key, auto *to) {
    if (!item.contains(key) || !item[key].is_number_integer())
      return false;
    *to = item[key].get<std::remove_pointer_t<decltype(to)>>();
    return true;
  };
  auto text = [&](const char *key, std::string *to) {
    if (!item.contains(key) || !item[key].is_string())
      return false;
    *to = item[key].get<std::string>();
    return true;
  };
  auto dims = [&](const char *key, std::vector<int64_t> *to) {
    if (!item.contains(key) || !item[key].is_array())
      return false;
    for (const json &dim : item[key]) {
      if (!dim.is_number_integer() || dim.get<int64_t>() < 0)
        return false;
      to->push_back(dim.get<int64_t>());
    }
    return true;
  };
  std::string kind;
  if (!item.is_object() || !text("kind", &kind) ||
      !text("tensor", &out->tensor) || !text("variable", &out->variable) ||
      !dims("whole", &out->whole) || !dims("start", &out->start) ||
      !number("crc32", &out->crc) || out->start.size() != out->whole.size())
    return false;
  for (SavedPart::Kind known :
       {SavedPart::Kind::Box, SavedPart::Kind::Slice, SavedPart::Kind::Best})
    if (kind == nameOf(known)) {
      out->kind = known;
      return known != SavedPart::Kind::Slice ||
             (number("rank", &out->rank) && number("partial", &out->partial));
    }
  return false;
}

static bool readFile(const json &entry, SavedFile *out) {
  auto isNumber = [&](const char *key) {
    return entry.contains(key) && entry[key].is_number_integer();
  };
  if (!entry.is_object() || !entry.contains("file") ||
      !entry["file"].is_string() || !isNumber("bytes") ||
      !isNumber("header_crc32") || !entry.contains("parts") ||
      !entry["parts"].is_array())
    return false;
  out->name = entry["file"].get<std::string>();
  out->bytes = entry["bytes"].get<int64_t>();
  out->headerCrc = entry["header_crc32"].get<uint32_t>();
  // A name, not a way out of the folder.
  if (out->name.empty() || out->name.find('/') != std::string::npos)
    return false;
  for (const json &item : entry["parts"])
    if (!readPart(item, &out->parts.emplace_back()))
      return false;
  return true;
}

bool fromText(const std::string &text, SavedFile *out) {
  return readFile(parseJson(text), out);
}

Status writeIndex(const std::string &folder,
                  const std::vector<std::string> &files, uint32_t *crc) {
  std::string text = "{\"files\": [";
  for (const std::string &file : files)
    text += (&file == &files.front() ? "\n" : ",\n") + file;
  text += "\n]}\n";
  *crc = crc32Of(text);
  return writeFile(folder + "/" + kIndex, text, true);
}

Status readIndex(const std::string &folder, uint32_t crc,
                 std::vector<SavedFile> *out, bool *damaged) {
  auto wrong = [&](const char *why) {
    *damaged = true;
    return damagedState(folder, why);
  };
  out->clear();
  std::shared_ptr<const FileBytes> bytes;
  DIST_RETURN_IF_ERROR(openStateFile(folder, kIndex, &bytes, damaged));
  std::string_view text = bytes->bytes();
  if (crc32Of(text) != crc)
    return wrong("the checksum of index.json is wrong");
  json root = parseJson(text);
  if (!root.is_object() || !root.contains("files") || !root["files"].is_array())
    return wrong("index.json is malformed");
  for (const json &entry : root["files"])
    if (!readFile(entry, &out->emplace_back()))
      return wrong("index.json is malformed");
  return Status();
}

} // namespace dist
