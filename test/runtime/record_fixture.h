//===- record_fixture.h - TFRecord files for tests ----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_RECORD_FIXTURE_H
#define TEST_RUNTIME_RECORD_FIXTURE_H

#include "runtime/formats/crc32c.h"
#include "runtime/formats/example.pb.h"
#include <string>
#include <utility>
#include <vector>

namespace dist::test {

inline examples::Feature floats(const std::vector<float> &values) {
  examples::Feature feature;
  for (float value : values)
    feature.mutable_float_list()->add_value(value);
  return feature;
}

inline examples::Feature integers(const std::vector<int64_t> &values) {
  examples::Feature feature;
  for (int64_t value : values)
    feature.mutable_int64_list()->add_value(value);
  return feature;
}

inline examples::Feature strings(const std::vector<std::string> &values) {
  examples::Feature feature;
  for (const std::string &value : values)
    feature.mutable_bytes_list()->add_value(value);
  return feature;
}

/// A message as it stands in a TFRecord file.
inline std::string frame(const std::string &message) {
  auto number = [](auto value) {
    return std::string(reinterpret_cast<const char *>(&value), sizeof value);
  };
  std::string length = number(uint64_t(message.size()));
  return length + number(maskedCrc32c(length.data(), length.size())) + message +
         number(maskedCrc32c(message.data(), message.size()));
}

inline std::string
record(const std::vector<std::pair<std::string, examples::Feature>> &features) {
  examples::Example example;
  for (const auto &[name, feature] : features)
    (*example.mutable_features()->mutable_feature())[name] = feature;
  return frame(example.SerializeAsString());
}

} // namespace dist::test

#endif // TEST_RUNTIME_RECORD_FIXTURE_H
