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
#include <atomic>
#include <cstring>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

namespace dist {

static constexpr size_t kHeader = 12, kFooter = 4;
/// Of a mapped file, read since its pages were last let go of.
static constexpr uint64_t kHeldBytes = 64 << 20;
/// Around a page that a fault brings in, by default (fault_around_bytes).
static constexpr uint64_t kFaultBytes = 64 << 10;

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

/// A feature, and where each example so far has its message.
struct Feature {
  std::string name;
  DataType type = manifest::DATA_TYPE_UNKNOWN;
  int64_t count = 0; // values an example
  std::vector<uint64_t> starts;
  std::vector<uint32_t> sizes;
  size_t bytes() const { return size_t(count) * byteSize(type); }
};

/// What an example has: the messages of its features, by name.
using Messages = std::vector<std::pair<std::string_view, std::string_view>>;
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

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

/// Calls take(field, its bytes) on the fields of a message that have a length,
/// and skips others; false: it is no message.
template <typename Take>
static bool walkFields(std::string_view message, Take take) {
  CodedInputStream in(reinterpret_cast<const uint8_t *>(message.data()),
                      int(message.size()));
  while (uint32_t tag = in.ReadTag()) {
    if (WireFormatLite::GetTagWireType(tag) !=
        WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (!WireFormatLite::SkipField(&in, tag))
        return false;
      continue;
    }
    uint32_t size = 0;
    if (!in.ReadVarint32(&size) || size > INT32_MAX)
      return false;
    size_t start = size_t(in.CurrentPosition());
    if (!in.Skip(int(size)) || !take(WireFormatLite::GetTagFieldNumber(tag),
                                     message.substr(start, size)))
      return false;
  }
  // A tag of 0 stands for the end, and for what is no tag.
  return size_t(in.CurrentPosition()) == message.size();
}

/// Example { features = 1 { feature = 1 { key = 1, value = 2 } } }, without a
/// copy; of a key that is there twice the last one counts.
static bool findFeatures(std::string_view example, Messages *out) {
  out->clear();
  auto entry = [&](int number, std::string_view bytes) {
    if (number != 1)
      return true;
    std::pair<std::string_view, std::string_view> one;
    if (!walkFields(bytes, [&](int part, std::string_view value) {
          if (part == 1)
            one.first = value;
          else if (part == 2)
            one.second = value;
          return true;
        }))
      return false;
    for (auto &other : *out)
      if (other.first == one.first) {
        other = one;
        return true;
      }
    out->push_back(one);
    return true;
  };
  return walkFields(example, [&](int number, std::string_view bytes) {
    return number != 1 || walkFields(bytes, entry);
  });
}

static Status add(const Messages &example, const char *file,
                  const std::string &where, int64_t number, Feature *feature) {
  auto unlike = [&](const std::string &why) {
    return Status::error(StatusCode::InvalidInput,
                         "cannot read the feature '" + feature->name + "'",
                         where + ", example " + std::to_string(number), why,
                         "write numbers or raw bytes, as many in each example");
  };
  auto found =
      std::find_if(example.begin(), example.end(),
                   [&](const auto &one) { return one.first == feature->name; });
  if (found == example.end())
    return unlike("the example has no such feature");
  std::string_view message = found->second;
  examples::Feature parsed;
  if (!parsed.ParseFromArray(message.data(), int(message.size())))
    return damaged(where, number, "it is no tf.train.Example");
  std::string why;
  Values values = valuesOf(parsed, &why);
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
  feature->starts.push_back(message.empty() ? 0 : message.data() - file);
  feature->sizes.push_back(uint32_t(message.size()));
  return Status();
}

static std::vector<int64_t> shapeOf(const Feature &feature, int64_t examples) {
  if (feature.count == 1)
    return {examples};
  return {examples, feature.count};
}

/// Those that the first example has and `demand` chooses, in the order of
/// their names.
static std::vector<Feature> choose(const Messages &first,
                                   const ArrayDemand &demand) {
  std::vector<std::string> names;
  for (const auto &[name, message] : first)
    names.emplace_back(name);
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

/// Checks all records and finds their features. `release`: called now and then.
static Status findAll(std::string_view bytes, const std::string &where,
                      const ArrayDemand &demand,
                      const std::function<void()> &release,
                      std::vector<Feature> *out) {
  std::vector<Feature> features;
  const char *file = bytes.data();
  int64_t count = 0;
  size_t held = 0;
  Messages example;
  for (; !bytes.empty(); ++count) {
    std::string_view message;
    DIST_RETURN_IF_ERROR(takeRecord(&bytes, where, count, &message));
    if (message.size() > INT32_MAX || !findFeatures(message, &example))
      return damaged(where, count, "it is no tf.train.Example");
    if (count == 0)
      features = choose(example, demand);
    for (Feature &feature : features)
      DIST_RETURN_IF_ERROR(add(example, file, where, count, &feature));
    // What does not fit is refused before the others are read.
    for (Feature &feature : features)
      if (count == 0)
        DIST_RETURN_IF_ERROR(
            demand.check(feature.name, feature.type, shapeOf(feature, 1)));
    if ((held += message.size()) >= kHeldBytes) {
      release();
      held = 0;
    }
  }
  *out = std::move(features);
  return Status();
}

/// Decodes one example's values.
static void decode(std::string_view file, const Feature &feature, int64_t index,
                   char *out) {
  examples::Feature parsed;
  // It was whole when it was found. A mapped file that is written over while it
  // is in use has other numbers, here as in other forms.
  std::string why;
  Values values;
  std::string_view message =
      file.substr(feature.starts[index], feature.sizes[index]);
  if (parsed.ParseFromArray(message.data(), int(message.size())))
    values = valuesOf(parsed, &why);
  if (values.type == feature.type && values.count == feature.count)
    std::memcpy(out, values.data, feature.bytes());
  else
    std::memset(out, 0, feature.bytes());
}

namespace {
/// The values of a feature, in its file.
class RecordValues : public StoredExamples {
public:
  RecordValues(std::shared_ptr<const FileBytes> file, Feature feature)
      : file(std::move(file)), feature(std::move(feature)) {}
  void read(const int64_t *indices, int64_t count, char *out) const override {
    size_t bytes = feature.bytes();
    for (int64_t i = 0; i < count; ++i) {
      decode(file->bytes(), feature, indices[i], out + bytes * i);
      touch(feature.starts[indices[i]]);
    }
  }

private:
  /// Lets go of the file's pages once enough of them came in: for what lies
  /// apart from the last one, as many as a fault brings at most.
  void touch(uint64_t start) const {
    uint64_t before = last.exchange(start);
    uint64_t apart = std::max(start, before) - std::min(start, before);
    uint64_t came = std::min(apart, kFaultBytes);
    if (held.fetch_add(came) + came < kHeldBytes)
      return;
    held = 0;
    file->release();
  }

  const std::shared_ptr<const FileBytes> file;
  const Feature feature;
  mutable std::atomic<uint64_t> last{0}, held{0};
};
} // namespace

Status parseTfRecord(std::string_view bytes, const std::string &where,
                     const ArrayDemand &demand, std::vector<NamedArray> *out) {
  out->clear();
  std::vector<Feature> features;
  DIST_RETURN_IF_ERROR(findAll(bytes, where, demand, [] {}, &features));
  for (const Feature &feature : features) {
    int64_t count = int64_t(feature.starts.size());
    auto values =
        std::make_shared<std::string>(feature.bytes() * size_t(count), '\0');
    for (int64_t i = 0; i < count; ++i)
      decode(bytes, feature, i, values->data() + feature.bytes() * size_t(i));
    out->push_back(
        {feature.name,
         {feature.type, shapeOf(feature, count), values->data(), values}});
  }
  return Status();
}

Status indexTfRecord(std::shared_ptr<const FileBytes> file,
                     const std::string &where, const ArrayDemand &demand,
                     std::vector<NamedArray> *out) {
  out->clear();
  std::vector<Feature> features;
  DIST_RETURN_IF_ERROR(findAll(
      file->bytes(), where, demand, [&] { file->release(); }, &features));
  for (Feature &feature : features) {
    NamedArray &item = out->emplace_back();
    item.name = feature.name;
    item.array.type = feature.type;
    item.array.shape = shapeOf(feature, int64_t(feature.starts.size()));
    item.stored = std::make_shared<RecordValues>(file, std::move(feature));
  }
  return Status();
}

} // namespace dist
