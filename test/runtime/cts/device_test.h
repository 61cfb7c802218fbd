//===- device_test.h - Conformance of devices -------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every device must do, written once. A backend defines `createDevice` and
// links these tests.
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_CTS_DEVICE_TEST_H
#define TEST_RUNTIME_CTS_DEVICE_TEST_H

#include "runtime/device/device.h"
#include <gtest/gtest.h>

namespace dist::cts {

/// What the program that links these tests has; a backend defines it.
std::shared_ptr<Device> createDevice();

/// Long enough for a machine that is busy with other things.
constexpr double patience = 120;

class DeviceTest : public testing::Test {
protected:
  std::shared_ptr<Device> device = createDevice();

  std::unique_ptr<Memory> allocate(int64_t bytes,
                                   MemorySpace space = MemorySpace::Device) {
    std::unique_ptr<Memory> memory;
    Status status = device->allocate(space, bytes, "numbers", &memory);
    EXPECT_TRUE(status.ok()) << status.message();
    return memory;
  }
  std::unique_ptr<Stream> createStream(const StreamOptions &options = {}) {
    std::unique_ptr<Stream> stream;
    Status status = device->createStream(options, &stream);
    EXPECT_TRUE(status.ok()) << status.message();
    return stream;
  }
  std::unique_ptr<Event> createEvent() {
    std::unique_ptr<Event> event;
    EXPECT_TRUE(device->createEvent(&event).ok());
    return event;
  }
  void write(Stream &stream, Memory &memory, std::vector<float> values) {
    EXPECT_TRUE(
        stream.copy(memory.address(), values.data(), 4 * values.size()).ok());
    EXPECT_TRUE(stream.finish(patience).ok());
  }
  std::vector<float> read(Stream &stream, Memory &memory, size_t count) {
    std::vector<float> values(count, -1);
    EXPECT_TRUE(stream.copy(values.data(), memory.address(), 4 * count).ok());
    Status status = stream.finish(patience);
    EXPECT_TRUE(status.ok()) << status.message();
    return values;
  }
};

} // namespace dist::cts

#endif // TEST_RUNTIME_CTS_DEVICE_TEST_H
