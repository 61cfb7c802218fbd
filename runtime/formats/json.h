//===- json.h - JSON as text, compiled once -------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_JSON_H
#define RUNTIME_FORMATS_JSON_H

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace dist {

/// The value that `text` is; `is_discarded()` holds of it if it is no JSON.
nlohmann::json parseJson(std::string_view text);

/// `value` on one line, or with lines indented by so many spaces a level. Bytes
/// that are no UTF-8 are replaced.
std::string jsonText(const nlohmann::json &value, int indent = -1);

} // namespace dist

#endif // RUNTIME_FORMATS_JSON_H
