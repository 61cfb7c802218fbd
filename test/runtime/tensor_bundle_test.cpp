//===- tensor_bundle_test.cpp - TensorFlow's checkpoints -----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/tensor_bundle.h"
#include "runtime/formats/crc32c.h"
#include "runtime/formats/external_files.h"
#include "runtime/formats/sorted_table.h"
#include "runtime/formats/tensor_bundle.pb.h"
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace dist;

namespace {

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7)
    bytes += char(value | 128);
  return bytes + char(value);
}

template <typename T> std::string raw(T value) {
  return {reinterpret_cast<const char *>(&value), sizeof value};
}

/// Names are written with what they share with the one before, as LevelDB does.
struct Block {
  std::string bytes, last;
  void add(const std::string &name, const std::string &value) {
    size_t shared = 0;
    while (shared < std::min(last.size(), name.size()) &&
           last[shared] == name[shared])
      ++shared;
    bytes += varint(shared) + varint(name.size() - shared) +
             varint(value.size()) + name.substr(shared) + value;
    last = name;
  }
};

struct Table {
  std::string bytes;
  /// Appends a block; its handle.
  std::string append(const Block &block, char compression = 0) {
    std::string content = block.bytes + raw<uint32_t>(0) + raw<uint32_t>(1);
    std::string handle = varint(bytes.size()) + varint(content.size());
    content += compression;
    bytes += content + raw(maskedCrc32c(content.data(), content.size()));
    return handle;
  }
  /// Of these blocks of data.
  static std::string of(const std::vector<Block> &blocks,
                        char compression = 0) {
    Table table;
    Block index;
    for (const Block &block : blocks)
      index.add(block.last, table.append(block, compression));
    std::string footer = table.append({}) + table.append(index);
    footer.resize(40);
    return table.bytes + footer + raw<uint64_t>(0xdb4775248b80fb57);
  }
};

std::string header(int shards = 1,
                   bundle::Header::Endianness order = bundle::Header::LITTLE) {
  bundle::Header message;
  message.set_num_shards(shards);
  message.set_endianness(order);
  return message.SerializeAsString();
}

bundle::Entry entry(int type, std::vector<int64_t> shape, int64_t offset,
                    const std::string &data) {
  bundle::Entry message;
  message.set_dtype(type);
  for (int64_t dim : shape)
    message.mutable_shape()->add_dim()->set_size(dim);
  message.set_offset(offset);
  message.set_size(int64_t(data.size()));
  message.set_crc32c(maskedCrc32c(data.data(), data.size()));
  return message;
}

std::string why(const Status &status) {
  return status.ok() ? "" : status.message();
}
void expectHas(const Status &status, const std::string &part) {
  EXPECT_FALSE(status.ok());
  EXPECT_NE(why(status).find(part), std::string::npos) << why(status);
}

/// A checkpoint `vars/v` beside a model.
struct Saved {
  std::filesystem::path folder;
  Saved() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "dist-XXXXXX").string();
    folder = mkdtemp(pattern.data());
    std::filesystem::create_directory(folder / "vars");
  }
  ~Saved() { std::filesystem::remove_all(folder); }
  void write(const std::string &name, const std::string &bytes) {
    ASSERT_TRUE(writeFile(folder / "vars" / name, bytes).ok());
  }
  ExternalFiles files() { return ExternalFiles(folder / "model.pb"); }
};

const std::string kKernel = raw(1.5f) + raw(-2.f), kStep = raw<int64_t>(7);

Block content() {
  Block block;
  block.add("", header());
  block.add("dense/bias", entry(7, {2}, 0, "xy").SerializeAsString());
  block.add("dense/kernel", entry(1, {1, 2}, 3, kKernel).SerializeAsString());
  bundle::Entry parts = entry(1, {4}, 0, "");
  parts.add_slices();
  parts.add_slices();
  block.add("parts", parts.SerializeAsString());
  block.add("step", entry(9, {}, 11, kStep).SerializeAsString());
  return block;
}

TEST(TensorBundle, ReadsWhatTheIndexTells) {
  Saved saved;
  saved.write("v.index", Table::of({content()}));
  saved.write("v.data-00000-of-00001", "xxx" + kKernel + kStep);
  ExternalFiles files = saved.files();
  std::unique_ptr<TensorBundle> bundle;
  ASSERT_EQ(why(TensorBundle::open(files, "vars/v", &bundle)), "");
  EXPECT_EQ(bundle->tensors().size(), 4u);
  HostArray array;
  ASSERT_EQ(why(bundle->read(files, "dense/kernel", &array)), "");
  EXPECT_EQ(array.type, manifest::F32);
  EXPECT_EQ(array.shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(std::memcmp(array.data, kKernel.data(), kKernel.size()), 0);
  ASSERT_EQ(why(bundle->read(files, "step", &array)), "");
  EXPECT_EQ(array.type, manifest::I64);
  EXPECT_TRUE(array.shape.empty());
  EXPECT_EQ(std::memcmp(array.data, kStep.data(), kStep.size()), 0);
  expectHas(bundle->read(files, "dense/bias", &array), "is of string");
  expectHas(bundle->read(files, "parts", &array), "was saved in 2 parts");
  expectHas(bundle->read(files, "none", &array), "no tensor 'none'");
}

TEST(TensorBundle, DamagedElementsAreFound) {
  Saved saved;
  saved.write("v.index", Table::of({content()}));
  std::string data = "xxx" + kKernel + kStep;
  data[4] ^= 1;
  saved.write("v.data-00000-of-00001", data.substr(0, 15));
  ExternalFiles files = saved.files();
  std::unique_ptr<TensorBundle> bundle;
  ASSERT_EQ(why(TensorBundle::open(files, "vars/v", &bundle)), "");
  HostArray array;
  expectHas(bundle->read(files, "dense/kernel", &array),
            "the checksum of tensor 'dense/kernel' differs");
  expectHas(bundle->read(files, "step", &array), "lies outside the file");
}

TEST(TensorBundle, SeveralFilesAndBlocks) {
  Saved saved;
  Block first, second;
  first.add("", header(2));
  bundle::Entry a = entry(10, {1}, 0, "\1");
  a.set_shard_id(1);
  first.add("layer/a", a.SerializeAsString());
  second.add("layer/b", entry(4, {2}, 0, "pq").SerializeAsString());
  saved.write("v.index", Table::of({first, second}));
  saved.write("v.data-00000-of-00002", "pq");
  saved.write("v.data-00001-of-00002", "\1");
  ExternalFiles files = saved.files();
  std::unique_ptr<TensorBundle> bundle;
  ASSERT_EQ(why(TensorBundle::open(files, "vars/v", &bundle)), "");
  HostArray array;
  ASSERT_EQ(why(bundle->read(files, "layer/a", &array)), "");
  EXPECT_EQ(array.type, manifest::BOOL);
  ASSERT_EQ(why(bundle->read(files, "layer/b", &array)), "");
  EXPECT_EQ(std::string(array.data, 2), "pq");
}

/// The error of an index of one block with these.
std::string refusal(const std::string &name, const bundle::Entry &message,
                    const std::string &first = header()) {
  Block block;
  block.add("", first);
  block.add(name, message.SerializeAsString());
  std::unique_ptr<TensorBundle> bundle;
  return why(TensorBundle::parse(Table::of({block}), "v.index", &bundle));
}

TEST(TensorBundle, WrongEntriesAreRefused) {
  auto has = [](const std::string &text, const char *part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  EXPECT_EQ(refusal("a", entry(1, {1}, 0, "abcd")), "");
  has(refusal("a", entry(1, {-1}, 0, "abcd")), "'a' has no valid entry");
  has(refusal("a", entry(1, {1}, -4, "abcd")), "'a' has no valid entry");
  bundle::Entry other = entry(1, {1}, 0, "abcd");
  other.set_shard_id(3);
  has(refusal("a", other), "'a' lies in file 3 of 1");
  has(refusal("a", other, header(0)), "no header");
  has(refusal("a", other, header(1, bundle::Header::BIG)), "big-endian");
  // Sizes whose product is beyond 64 bits: told when it is read.
  Saved saved;
  Block block;
  block.add("", header());
  block.add("a", entry(1, {INT64_MAX, 8}, 0, "").SerializeAsString());
  saved.write("v.index", Table::of({block}));
  saved.write("v.data-00000-of-00001", "");
  ExternalFiles files = saved.files();
  std::unique_ptr<TensorBundle> bundle;
  ASSERT_EQ(why(TensorBundle::open(files, "vars/v", &bundle)), "");
  HostArray array;
  expectHas(bundle->read(files, "a", &array), "does not fit its shape");
}

TEST(SortedTable, DamageIsFound) {
  std::string good = Table::of({content()});
  SortedTable table;
  ASSERT_EQ(why(parseSortedTable(good, "v.index", &table)), "");
  EXPECT_EQ(table.size(), 5u);
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(
        parseSortedTable(std::string_view(good).substr(0, size), "v", &table)
            .ok());
  // A changed byte is found, but in the padding and the block that nothing
  // reads.
  for (size_t at : {size_t(0), size_t(20), good.size() - 1, good.size() - 45}) {
    std::string bad = good;
    bad[at] ^= 0x55;
    std::unique_ptr<TensorBundle> bundle;
    EXPECT_FALSE(TensorBundle::parse(bad, "v", &bundle).ok()) << at;
  }
  expectHas(parseSortedTable(Table::of({content()}, 1), "v", &table),
            "compressed");
}

TEST(SortedTable, AShortFileIsNoLongTable) {
  // Names of 4,000 characters, of which each has one of its own.
  Block block;
  for (int i = 0; i < 4000; ++i)
    block.add(std::string(4000, 'a') + std::string(i % 2, 'b'), "");
  SortedTable table;
  expectHas(parseSortedTable(Table::of({block}), "v", &table), "longer than");
  // An index that names one block again and again.
  Table again;
  Block data, index;
  data.add("a", std::string(1000, 'x'));
  std::string handle = again.append(data);
  for (int i = 0; i < 1000; ++i)
    index.add("a" + std::to_string(1000 + i), handle);
  std::string footer = again.append({}) + again.append(index);
  footer.resize(40);
  expectHas(
      parseSortedTable(again.bytes + footer + raw<uint64_t>(0xdb4775248b80fb57),
                       "v", &table),
      "more blocks than there are");
}

} // namespace
