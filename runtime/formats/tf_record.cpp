//===- tf_record.cpp - Examples of TFRecord files -----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/tf_record.h"
#include "runtime/core/text.h"
#include "runtime/formats/crc32c.h"
#include "runtime/formats/example.pb.h"
#include <algorithm>
#include <cstring>
#include <google/protobuf/arena.h>

namespace dist {

static constexpr size_t kHeader = 12, kFooter = 4;

static Status damaged(const std::string &where, int64_t record,
                      const std::string &why) {
  return Status::error(StatusCode::InvalidInput, "damaged TFRecord file",
                       where + ", example " + std::to_string(record), why,
                       "write it again");
}

template <typename T> static T load(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// Takes the next record's message off the front.
static Status takeRecord(std::string_view *bytes, const std::string &where,
                         int64_t number, std::string_view *message) {
  if (bytes->size() < kHeader)
    return damaged(where, number, "it is cut short");
  if (!isTfRecord(*bytes))
    return damaged(where, number, "its length has a wrong checksum");
  uint64_t size = load<uint64_t>(*bytes, 0);
  if (size > bytes->size() - kHeader ||
      bytes->size() - kHeader - size < kFooter)
    return damaged(where, number, "it is cut short");
  *message = bytes->substr(kHeader, size);
  if (maskedCrc32c(message->data(), size) !=
      load<uint32_t>(*bytes, kHeader + size))
    return damaged(where, number, "it has a wrong checksum");
  bytes->remove_prefix(kHeader + size + kFooter);
  return Status();
}

namespace {
/// What one example has of a feature.
struct Values {
  DataType type = manifest::DATA_TYPE_UNKNOWN;
  const void *data = nullptr;
  int64_t count = 0;
};

/// A feature's values of all examples so far.
struct Feature {
  std::string name;
  DataType type = manifest::DATA_TYPE_UNKNOWN;
  int64_t count = 0; // an example
  std::shared_ptr<std::string> bytes = std::make_shared<std::string>();
};
} // namespace

static bool isEncodedImage(std::string_view bytes) {
  return startsWith(bytes, "\xff\xd8\xff") || startsWith(bytes, "\x89PNG") ||
         startsWith(bytes, "GIF8");
}

/// The values; `why` says what is wrong with them, if anything is.
static Values valuesOf(const examples::Feature &feature, std::string *why) {
  switch (feature.kind_case()) {
  case examples::Feature::kFloatList: {
    const auto &list = feature.float_list().value();
    return {manifest::F32, list.data(), list.size()};
  }
  case examples::Feature::kInt64List: {
    const auto &list = feature.int64_list().value();
    return {manifest::I64, list.data(), list.size()};
  }
  case examples::Feature::kBytesList: {
    const auto &list = feature.bytes_list().value();
    if (list.size() != 1) {
      *why = "it has " + std::to_string(list.size()) + " strings, not one";
      return {};
    }
    if (isEncodedImage(list[0]))
      *why = "it is an encoded image (JPEG, PNG, GIF), and these are not "
             "decoded";
    return {manifest::U8, list[0].data(), int64_t(list[0].size())};
  }
  case examples::Feature::KIND_NOT_SET:
    break;
  }
  return {};
}

static Status add(const examples::Example &example, const std::string &where,
                  int64_t number, Feature *feature) {
  auto unlike = [&](const std::string &why) {
    return Status::error(StatusCode::InvalidInput,
                         "cannot read the feature '" + feature->name + "'",
                         where + ", example " + std::to_string(number), why,
                         "write numbers or raw bytes, as many in each example");
  };
  auto found = example.features().feature().find(feature->name);
  if (found == example.features().feature().end())
    return unlike("the example has no such feature");
  std::string why;
  Values values = valuesOf(found->second, &why);
  if (!why.empty())
    return unlike(why);
  if (values.count == 0)
    return unlike("it has no values");
  if (number == 0) {
    feature->type = values.type;
    feature->count = values.count;
  }
  if (values.type != feature->type)
    return unlike(std::string("it is of type ") + name(values.type) +
                  ", in the examples before of " + name(feature->type));
  if (values.count != feature->count)
    return unlike("it has " + std::to_string(values.count) +
                  " values, in the examples before " +
                  std::to_string(feature->count));
  feature->bytes->append(static_cast<const char *>(values.data),
                         size_t(values.count) * byteSize(values.type));
  return Status();
}

static std::vector<int64_t> shapeOf(const Feature &feature, int64_t examples) {
  if (feature.count == 1)
    return {examples};
  return {examples, feature.count};
}

/// Those that the first example has and `demand` chooses, in the order of
/// their names.
static std::vector<Feature> choose(const examples::Example &first,
                                   const ArrayDemand &demand) {
  std::vector<std::string> names;
  for (const auto &[name, feature] : first.features().feature())
    names.push_back(name);
  std::sort(names.begin(), names.end());
  std::vector<bool> wanted = demand.choose(names);
  std::vector<Feature> chosen;
  for (size_t i = 0; i < names.size(); ++i)
    if (wanted[i]) {
      chosen.emplace_back();
      chosen.back().name = names[i];
    }
  return chosen;
}

Status parseTfRecord(std::string_view bytes, const std::string &where,
                     const ArrayDemand &demand, std::vector<NamedArray> *out) {
  out->clear();
  std::vector<Feature> features;
  int64_t count = 0;
  size_t whole = bytes.size();
  google::protobuf::Arena arena;
  for (; !bytes.empty(); ++count) {
    std::string_view message;
    DIST_RETURN_IF_ERROR(takeRecord(&bytes, where, count, &message));
    arena.Reset();
    auto *example =
        google::protobuf::Arena::CreateMessage<examples::Example>(&arena);
    if (message.size() > INT32_MAX ||
        !example->ParseFromArray(message.data(), int(message.size())))
      return damaged(where, count, "it is no tf.train.Example");
    if (count == 0)
      features = choose(*example, demand);
    for (Feature &feature : features)
      DIST_RETURN_IF_ERROR(add(*example, where, count, &feature));
    if (count > 0)
      continue;
    // What does not fit is refused before the others are read, for which the
    // first one says how much memory there should be.
    size_t records = whole / (kHeader + message.size() + kFooter);
    for (Feature &feature : features) {
      DIST_RETURN_IF_ERROR(
          demand.check(feature.name, feature.type, shapeOf(feature, 1)));
      size_t size = feature.bytes->size();
      feature.bytes->reserve(std::min(size * records, whole));
    }
  }
  for (Feature &feature : features)
    out->push_back({feature.name,
                    {feature.type, shapeOf(feature, count),
                     feature.bytes->data(), feature.bytes}});
  return Status();
}

} // namespace dist
