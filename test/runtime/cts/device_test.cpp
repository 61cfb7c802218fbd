//===- device_test.cpp - Conformance of devices ---------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/cts/device_test.h"
#include "runtime/core/progress.h"
#include "runtime/core/types.h"
#include <chrono>
#include <thread>

namespace dist::cts {
namespace {

using Floats = std::vector<float>;

/// to[i] = from[i] + 1
void addOne(void **buffers, int64_t lo, int64_t hi, int64_t) {
  const float *from = static_cast<const float *>(buffers[0]);
  float *to = static_cast<float *>(buffers[1]);
  for (int64_t i = lo; i < hi; ++i)
    to[i] = from[i] + 1;
}

TEST_F(DeviceTest, MemoryIsZeroAtFirst) {
  auto stream = createStream();
  for (MemorySpace space : {MemorySpace::Device, MemorySpace::Host}) {
    auto memory = allocate(12, space);
    EXPECT_EQ(memory->size(), 12);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory->address()) % bufferAlignment,
              0u);
    EXPECT_EQ(read(*stream, *memory, 3), (Floats{0, 0, 0}));
  }
  EXPECT_NE(allocate(0)->address(), nullptr);
}

TEST_F(DeviceTest, HostsMemoryIsMapped) {
  auto stream = createStream();
  auto memory = allocate(8, MemorySpace::Host);
  ASSERT_NE(memory->map(), nullptr);
  write(*stream, *memory, {3, 4});
  const float *values = reinterpret_cast<const float *>(memory->map());
  EXPECT_EQ(values[0], 3);
  EXPECT_EQ(values[1], 4);
}

// It is mapped, or a mistake is found at once.
TEST_F(DeviceTest, NobodyReachesMemoryThatIsNotMapped) {
  auto memory = allocate(8);
  EXPECT_EQ(memory->map() != nullptr, device->isHost());
  if (!memory->map()) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(*reinterpret_cast<volatile float *>(memory->address()) = 1,
                 "");
  }
}

TEST_F(DeviceTest, RefusesWhatItHasNot) {
  std::unique_ptr<Memory> memory;
  Status status = device->allocate(MemorySpace::Device, -1, "numbers", &memory);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("numbers"), std::string::npos)
      << status.message();
}

TEST_F(DeviceTest, CopiesInOrder) {
  auto stream = createStream();
  auto a = allocate(8), b = allocate(8);
  Floats first{1, 2}, second{3, 4}, found(2);
  ASSERT_TRUE(stream->copy(a->address(), first.data(), 8).ok());
  ASSERT_TRUE(stream->copy(b->address(), a->address(), 8).ok());
  ASSERT_TRUE(stream->copy(a->address(), second.data(), 8).ok());
  // A part, at an offset of both.
  ASSERT_TRUE(stream->copy(b->address() + 4, a->address() + 4, 4).ok());
  ASSERT_TRUE(stream->copy(found.data(), b->address(), 8).ok());
  ASSERT_TRUE(stream->finish(patience).ok());
  EXPECT_EQ(found, (Floats{1, 4}));
}

TEST_F(DeviceTest, KernelsSeeWhatCameBefore) {
  auto stream = createStream();
  auto memory = allocate(16);
  write(*stream, *memory, {1, 2, 3, 4});
  for (int i = 0; i < 100; ++i) {
    void *buffers[2] = {memory->address(), memory->address()};
    ASSERT_TRUE(stream->launch(addOne, buffers, 2, 4, 1 + i % 3).ok());
    // The array is the caller's again.
    buffers[0] = buffers[1] = nullptr;
  }
  EXPECT_EQ(read(*stream, *memory, 4), (Floats{101, 102, 103, 104}));
}

TEST_F(DeviceTest, CallsOnTheHostInOrder) {
  auto stream = createStream();
  auto memory = allocate(4);
  float seen = 0, sent = 0;
  void *buffers[2] = {memory->address(), memory->address()};
  ASSERT_TRUE(stream->launch(addOne, buffers, 2, 1, 1).ok());
  ASSERT_TRUE(stream->copy(&seen, memory->address(), 4).ok());
  ASSERT_TRUE(stream
                  ->call([&] {
                    sent = 10 * seen;
                    return Status();
                  })
                  .ok());
  ASSERT_TRUE(stream->copy(memory->address(), &sent, 4).ok());
  EXPECT_EQ(read(*stream, *memory, 1), Floats{10});
}

// The first is slow, so that the second would be there before it.
TEST_F(DeviceTest, EventsOrderStreams) {
  auto first = createStream(), second = createStream();
  auto memory = allocate(4);
  auto ready = createEvent();
  void *buffers[2] = {memory->address(), memory->address()};
  for (int round = 1; round <= 3; ++round) {
    float seen = -1;
    ASSERT_TRUE(first
                    ->call([] {
                      std::this_thread::sleep_for(
                          std::chrono::milliseconds(20));
                      return Status();
                    })
                    .ok());
    ASSERT_TRUE(first->launch(addOne, buffers, 2, 1, 1).ok());
    ASSERT_TRUE(first->record(*ready).ok());
    ASSERT_TRUE(second->wait(*ready).ok());
    ASSERT_TRUE(second->copy(&seen, memory->address(), 4).ok());
    ASSERT_TRUE(second->finish(patience).ok());
    EXPECT_EQ(seen, round);
    ASSERT_TRUE(first->finish(patience).ok());
  }
}

TEST_F(DeviceTest, WaitsForNoEventThatWasNotRecorded) {
  auto stream = createStream();
  auto event = createEvent();
  ASSERT_TRUE(stream->wait(*event).ok());
  EXPECT_TRUE(stream->finish(patience).ok());
}

// By the call itself, or by `finish`; then all is well again.
TEST_F(DeviceTest, TellsOfAFailureOnce) {
  auto stream = createStream();
  auto memory = allocate(4);
  Status told = stream->call([] {
    return Status::error(StatusCode::InvalidInput, "the first failure");
  });
  if (told.ok()) {
    // What comes behind it is left out.
    void *buffers[2] = {memory->address(), memory->address()};
    ASSERT_TRUE(stream->launch(addOne, buffers, 2, 1, 1).ok());
    ASSERT_TRUE(stream
                    ->call([] {
                      return Status::error(StatusCode::Internal, "another");
                    })
                    .ok());
    told = stream->finish(patience);
  }
  EXPECT_EQ(told.code(), StatusCode::InvalidInput);
  EXPECT_NE(told.message().find("the first failure"), std::string::npos);
  EXPECT_TRUE(stream->finish(patience).ok());
  EXPECT_EQ(read(*stream, *memory, 1), Floats{0});
}

TEST_F(DeviceTest, AFailureReachesWhoWaitsForIt) {
  auto first = createStream(), second = createStream();
  auto ready = createEvent();
  Status told = first->call(
      [] { return Status::error(StatusCode::InvalidInput, "a failure"); });
  if (!told.ok())
    return; // Whoever enqueues knows it by now.
  bool called = false;
  ASSERT_TRUE(first->record(*ready).ok());
  ASSERT_TRUE(second->wait(*ready).ok());
  ASSERT_TRUE(second
                  ->call([&] {
                    called = true;
                    return Status();
                  })
                  .ok());
  EXPECT_EQ(second->finish(patience).code(), StatusCode::InvalidInput);
  EXPECT_EQ(first->finish(patience).code(), StatusCode::InvalidInput);
  EXPECT_FALSE(called);
  // Recorded anew, it is of what is well.
  ASSERT_TRUE(first->record(*ready).ok());
  ASSERT_TRUE(second->wait(*ready).ok());
  EXPECT_TRUE(second->finish(patience).ok());
}

TEST_F(DeviceTest, RunsTheLibrarysKernels) {
  manifest::Manifest manifest;
  manifest.set_threads_per_device(1);
  manifest.add_programs();
  manifest::LibraryKernel *kernel = manifest.add_kernels();
  kernel->set_kind(manifest::LibraryKernel::MATMUL);
  for (int i = 0; i < 3; ++i) {
    auto *memory = kernel->add_memories();
    memory->set_type(manifest::F32);
    for (int64_t dim : {2, 2})
      memory->add_dims(dim);
    for (int64_t stride : {2, 1})
      memory->add_strides(stride);
  }
  StreamOptions options;
  Status status = device->load(manifest, &options.module);
  ASSERT_TRUE(status.ok()) << status.message();
  auto block = allocate(options.module->layout(0).bytes);
  options.library = block->address();
  auto stream = createStream(options);
  auto a = allocate(16), b = allocate(16), c = allocate(16);
  write(*stream, *a, {1, 2, 3, 4});
  write(*stream, *b, {5, 6, 7, 8});
  ASSERT_TRUE(stream->prepareLibrary(0).ok());
  void *buffers[3] = {a->address(), b->address(), c->address()};
  ASSERT_TRUE(stream->library(0, buffers).ok());
  EXPECT_EQ(read(*stream, *c, 4), (Floats{19, 22, 43, 50}));
  EXPECT_NE(stream->libraryName(0), "");
}

TEST_F(DeviceTest, RefusesKernelsThatTheLibraryHasNot) {
  manifest::Manifest manifest;
  manifest.set_threads_per_device(1);
  manifest.add_kernels()->set_kind(manifest::LibraryKernel::MATMUL);
  std::shared_ptr<const Module> module;
  EXPECT_FALSE(device->load(manifest, &module).ok());
}

} // namespace
} // namespace dist::cts
