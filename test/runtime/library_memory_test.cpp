//===- library_memory_test.cpp - What the library lays out ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/library_memory.h"
#include <gtest/gtest.h>

namespace dist::cpu {
namespace {

class LibraryMemoryTest : public ::testing::Test {
protected:
  manifest::Manifest m;
  manifest::Program *program = m.add_programs();

  LibraryMemoryTest() { m.set_threads_per_device(1); }

  /// A 3x3 convolution whose filter the library packs; gives its number.
  int addConvolution(int64_t batch, int64_t inputs, int64_t outputs) {
    manifest::LibraryKernel *kernel = m.add_kernels();
    kernel->set_kind(manifest::LibraryKernel::CONV);
    kernel->set_groups(1);
    auto add = [&](std::vector<int64_t> dims, bool isPacked) {
      auto *memory = kernel->add_memories();
      memory->set_type(manifest::F32);
      for (int64_t dim : dims)
        memory->add_dims(dim);
      // The channels last.
      if (!isPacked)
        for (int64_t stride : {dims[1] * dims[2] * dims[3], int64_t(1),
                               dims[1] * dims[3], dims[1]})
          memory->add_strides(stride);
    };
    add({batch, inputs, 14, 14}, false);
    add({outputs, inputs, 3, 3}, true);
    add({batch, outputs, 14, 14}, false);
    for (int i = 0; i < 2; ++i) {
      kernel->add_strides(1);
      kernel->add_pad_low(1);
      kernel->add_pad_high(1);
      kernel->add_dilations(1);
    }
    return m.kernels_size() - 1;
  }
  void setPacked(manifest::Packed *packed, int kernel, int source = 0) {
    packed->set_kernel(kernel);
    packed->set_memory(1);
    packed->set_source(source);
  }
  void addPrepared(manifest::Entry *entry, const std::string &name, int kernel,
                   int source) {
    manifest::Binding *binding = entry->add_arguments();
    binding->set_role(manifest::Binding::PREPARED);
    binding->set_name(name);
    setPacked(binding->mutable_packed(), kernel, source);
  }
};

TEST_F(LibraryMemoryTest, WeightsThatArePackedAlikeAreOneBuffer) {
  int large = addConvolution(16, 32, 64), small = addConvolution(2, 32, 64);
  manifest::Entry *first = program->add_entries();
  addPrepared(first, "a", large, 0);
  addPrepared(first, "other", large, 1);
  addPrepared(program->add_entries(), "b", small, 0);
  LibraryMemory memory;
  ASSERT_TRUE(LibraryMemory::create(m, &memory).ok());
  const LibraryBlock &block = memory.block(0);
  ASSERT_EQ(block.prepared.size(), 3u);
  EXPECT_NE(block.prepared.at("a"), block.prepared.at("other"));
  const auto &a = memory.kernel(large).memories[1],
             &b = memory.kernel(small).memories[1];
  EXPECT_FALSE(a.layout.empty());
  EXPECT_EQ(block.prepared.at("a") == block.prepared.at("b"),
            a.layout == b.layout);
  EXPECT_GE(block.preparedBytes, 2 * a.bytes);
  // The plain size, and no less.
  EXPECT_GE(a.bytes, 4 * 64 * 32 * 9);
}

TEST_F(LibraryMemoryTest, SlotsAndScratchpadsAreAsLargeAsTheLargestNeeds) {
  int one = addConvolution(1, 16, 16), two = addConvolution(1, 32, 64);
  manifest::Entry *entry = program->add_entries();
  manifest::PackedSlot *slot = entry->add_slots();
  setPacked(slot->add_holds(), one);
  setPacked(slot->add_holds(), two);
  setPacked(program->add_entries()->add_slots()->add_holds(), one);
  setPacked(program->mutable_entries(1)->add_slots()->add_holds(), one);
  LibraryMemory memory;
  ASSERT_TRUE(LibraryMemory::create(m, &memory).ok());
  const LibraryBlock &block = memory.block(0);
  ASSERT_EQ(block.slots.size(), 2u);
  EXPECT_EQ(block.slots[0], 0);
  EXPECT_GE(block.slots[1], memory.kernel(two).memories[1].bytes);
  EXPECT_EQ(block.slots[1] % 64, 0);
  EXPECT_GE(block.slotBytes, memory.kernel(two).memories[1].bytes +
                                 memory.kernel(one).memories[1].bytes);
  EXPECT_EQ(block.scratchpad, block.slotBytes);
  for (int kernel : {one, two})
    EXPECT_GE(block.scratchpadBytes, memory.kernel(kernel).scratchpadBytes);
  EXPECT_EQ(block.bytes(), block.slotBytes + block.scratchpadBytes);
}

TEST_F(LibraryMemoryTest, RefusesWhatIsNotThere) {
  int one = addConvolution(1, 16, 16);
  manifest::Entry *entry = program->add_entries();
  addPrepared(entry, "a", one, 0);
  manifest::Packed *packed = entry->mutable_arguments(0)->mutable_packed();
  LibraryMemory memory;
  auto message = [&] { return LibraryMemory::create(m, &memory).message(); };
  EXPECT_EQ(message(), "");
  packed->set_kernel(7);
  EXPECT_NE(message().find("is of no kernel"), std::string::npos);
  packed->set_kernel(one);
  packed->set_memory(-1);
  EXPECT_NE(message().find("is of no kernel"), std::string::npos);
  m.mutable_kernels(one)->mutable_memories(0)->set_type(manifest::F64);
  EXPECT_NE(message().find("this machine's library cannot run a kernel of it"),
            std::string::npos)
      << message();
}

} // namespace
} // namespace dist::cpu
