//===- tensor_bundle_fuzzer.cpp - libFuzzer target of TF's index *- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block whose bytes are changed has the wrong checksum, and nothing behind
// that would be reached: the bytes are taken for a whole table, and for a block
// that is put into one.
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/crc32c.h"
#include "runtime/formats/tensor_bundle.h"

static void append(std::string *table, std::string block) {
  block += '\0';
  uint32_t crc = dist::maskedCrc32c(block.data(), block.size());
  *table += block;
  table->append(reinterpret_cast<const char *>(&crc), sizeof crc);
}

static std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7)
    bytes += char(value | 128);
  return bytes + char(value);
}

/// A table of one block, whose index follows it.
static std::string tableOf(const std::string &block) {
  std::string table, handle = varint(0) + varint(block.size());
  append(&table, block);
  std::string index = std::string("\0\1", 2) + varint(handle.size()) + "z" +
                      handle + std::string("\0\0\0\0\1\0\0\0", 8);
  std::string end =
      std::string(2, '\0') + varint(table.size()) + varint(index.size());
  append(&table, index);
  end.resize(40);
  return table + end + "\x57\xfb\x80\x8b\x24\x75\x47\xdb";
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(data), size);
  std::unique_ptr<dist::TensorBundle> bundle;
  (void)dist::TensorBundle::parse(bytes, "fuzz", &bundle);
  (void)dist::TensorBundle::parse(tableOf(bytes), "fuzz", &bundle);
  return 0;
}
