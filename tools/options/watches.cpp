//===- watches.cpp - METRIC:key=value,... of flags that watch one ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/options/values.h"
#include <functional>
#include <sstream>

namespace dist::tools {

namespace {
struct Key {
  std::string name;
  std::function<Status(const std::string &)> set;
};
} // namespace

/// METRIC may have keys of its own: those behind the last colon are the flag's.
static Status parseWatch(const std::string &option, const std::string &text,
                         const std::vector<Key> &keys, Watch *watch) {
  size_t colon = text.rfind(':');
  watch->metric = text.substr(0, colon);
  std::vector<std::string> known, given;
  std::string names;
  for (const Key &key : keys) {
    known.push_back(key.name);
    names += (names.empty() ? "" : ", ") + key.name;
  }
  if (watch->metric.empty())
    return wrongValue(option, "expected a metric, but got '" + text + "'",
                      "write for example " + option + " val_loss");
  if (colon == std::string::npos)
    return Status();
  std::istringstream pieces(text.substr(colon + 1));
  for (std::string piece; std::getline(pieces, piece, ',');) {
    NamedValues pair;
    DIST_RETURN_IF_ERROR(parseNamed(option, piece, &pair));
    auto &[name, value] = pair[0];
    auto key = keys.begin();
    while (key != keys.end() && key->name != name)
      ++key;
    if (key == keys.end()) {
      std::string near = nearestName(name, known);
      return wrongValue(option, "unknown key '" + name + "', it has " + names,
                        near.empty() ? "write METRIC:key=value,..."
                                     : "did you mean " + near + "?");
    }
    for (const std::string &other : given)
      if (other == name)
        return wrongValue(option, "'" + name + "' is given twice",
                          "leave one of them out");
    given.push_back(name);
    DIST_RETURN_IF_ERROR(key->set(value));
  }
  if (given.empty())
    return wrongValue(option, "nothing follows the ':' of '" + text + "'",
                      "write METRIC:key=value,...");
  return Status();
}

static Key integerKey(const std::string &option, const char *name,
                      int64_t *out) {
  return {name, [=](const std::string &value) {
            return parseInteger(option + " " + name, value, 0, out);
          }};
}

static Key numberKey(const std::string &option, const char *name, double *out) {
  return {name, [=](const std::string &value) {
            return parseNumber(option + " " + name, value, 0, false, out);
          }};
}

Status parseEarlyStopping(const std::string &option, const std::string &text,
                          EarlyStopping *out) {
  return parseWatch(option, text,
                    {integerKey(option, "patience", &out->patience),
                     numberKey(option, "min-delta", &out->minDelta),
                     {"restore-best",
                      [=](const std::string &value) {
                        out->restoreBest = value == "true";
                        return parseChoice(option + " restore-best", value,
                                           {"true", "false"});
                      }}},
                    out);
}

Status parseReduceOnPlateau(const std::string &option, const std::string &text,
                            ReduceOnPlateau *out) {
  DIST_RETURN_IF_ERROR(
      parseWatch(option, text,
                 {numberKey(option, "factor", &out->factor),
                  integerKey(option, "patience", &out->patience),
                  numberKey(option, "min-lr", &out->minRate),
                  integerKey(option, "cooldown", &out->cooldown),
                  numberKey(option, "min-delta", &out->minDelta)},
                 out));
  if (out->factor >= 1)
    return wrongValue(option + " factor", "it is not below 1",
                      "give for example factor=0.5");
  return Status();
}

} // namespace dist::tools
