//===- cpu_device_test.cpp - The CPU as a device --------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/devices.h"
#include "test/runtime/cts/device_test.h"

namespace dist::cts {

std::shared_ptr<Device> createDevice() { return hostDevice(); }

// Nothing is queued: programs run as they did without streams.
TEST_F(DeviceTest, TheCpuWorksAtOnce) {
  auto stream = createStream();
  int calls = 0;
  void *buffers[1] = {&calls};
  auto count = [](void **buffers, int64_t, int64_t, int64_t) {
    ++*static_cast<int *>(buffers[0]);
  };
  ASSERT_TRUE(stream->launch(count, buffers, 1, 1, 1).ok());
  EXPECT_EQ(calls, 1);
}

} // namespace dist::cts
