//===- json.cpp - JSON as text --------------------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/json.h"

namespace dist {

nlohmann::json parseJson(std::string_view text) {
  return nlohmann::json::parse(text.begin(), text.end(), nullptr,
                               /*allow_exceptions=*/false);
}

std::string jsonText(const nlohmann::json &value, int indent) {
  return value.dump(indent, ' ', false,
                    nlohmann::json::error_handler_t::replace);
}

} // namespace dist
