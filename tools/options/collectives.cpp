//===- collectives.cpp - The table of collectives' times, as a file -------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/options/collectives.h"
#include "runtime/formats/file.h"
#include <nlohmann/json.hpp>

namespace dist::tools {

const char *nameOf(Algorithm algorithm) {
  static const char *const names[] = {"auto",     "ring",   "reduce_to_one",
                                      "exchange", "gather", "parts"};
  return names[static_cast<int>(algorithm)];
}

const char *nameOf(LinkClass link) {
  static const char *const names[] = {"memory", "process", "network"};
  return names[static_cast<int>(link)];
}

Status writeCollectiveTimes(const std::string &path,
                            const CollectiveTimes &times) {
  std::string text = "{\"collectives\": [";
  const char *separator = "\n";
  for (const CollectiveTime &row : times) {
    nlohmann::ordered_json json = {
        {"collective", name(row.kind)}, {"algorithm", nameOf(row.algorithm)},
        {"link", nameOf(row.link)},     {"ranks", row.ranks},
        {"bytes", row.bytes},           {"seconds", row.seconds}};
    text += separator + json.dump();
    separator = ",\n";
  }
  return writeFile(path, text + "\n]}\n");
}

} // namespace dist::tools
