//===- run_file.cpp - Whose a folder of states is -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/run_file.h"
#include "runtime/formats/file.h"
#include "runtime/formats/json.h"
#include <memory>
#include <string_view>

namespace dist {

using nlohmann::json;

RunFile readRunFile(const std::string &folder) {
  RunFile file;
  std::shared_ptr<const FileBytes> bytes;
  if (!FileBytes::open(folder + "/run.json", &bytes).ok())
    return file;
  json root = parseJson(bytes->bytes());
  auto word = [&](const char *key, std::string *out) {
    if (root.contains(key) && root[key].is_string())
      *out = root[key].get<std::string>();
  };
  auto number = [&](const char *key, int64_t *out) {
    if (root.contains(key) && root[key].is_number_integer())
      *out = root[key].get<int64_t>();
  };
  if (!root.is_object())
    return file;
  word("run", &file.run);
  word("model", &file.model);
  word("host", &file.host);
  number("epoch", &file.epoch);
  number("pid", &file.pid);
  file.ended = root.contains("ended") && root["ended"] == true;
  return file;
}

Status writeRunFile(const std::string &folder, const RunFile &file) {
  json root = {{"run", file.run},
               {"epoch", file.epoch},
               {"model", file.model},
               {"pid", file.pid},
               {"host", file.host}};
  if (file.ended)
    root["ended"] = true;
  DIST_RETURN_IF_ERROR(
      writeFile(folder + "/run.json", jsonText(root, 1) + "\n", true));
  return flushToDisk(folder);
}

} // namespace dist
