//===- queued_device_test.cpp - A device that works later -----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/cts/queued_device.h"
#include "runtime/core/progress.h"
#include "test/runtime/cts/device_test.h"
#include <atomic>
#include <thread>

namespace dist::cts {

std::shared_ptr<Device> createDevice() { return test::queuedDevice(); }

namespace {

std::atomic<bool> released;

void hold(void **, int64_t, int64_t, int64_t) {
  while (!released.load())
    std::this_thread::yield();
}

TEST_F(DeviceTest, CallsReturnBeforeTheWorkIsDone) {
  released.store(false);
  auto stream = createStream();
  ASSERT_TRUE(stream->launch(hold, nullptr, 0, 1, 1).ok());
  released.store(true);
  EXPECT_TRUE(stream->finish(patience).ok());
}

TEST_F(DeviceTest, AKernelThatHangsIsToldOf) {
  released.store(false);
  auto stream = createStream();
  ASSERT_TRUE(stream->launch(hold, nullptr, 0, 1, 1).ok());
  Status status = stream->finish(0.05);
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_NE(status.message().find("hangs"), std::string::npos);
  released.store(true);
}

// Those of the host end by themselves, as collectives at their deadline.
TEST_F(DeviceTest, PatienceIsNotForTheHostsFunctions) {
  auto stream = createStream();
  ASSERT_TRUE(stream
                  ->call([] {
                    std::this_thread::sleep_for(std::chrono::milliseconds(100));
                    return Status();
                  })
                  .ok());
  EXPECT_TRUE(stream->finish(0.001).ok());
}

TEST_F(DeviceTest, ShowsThatItMoves) {
  Progress progress;
  StreamOptions options;
  options.progress = &progress;
  auto stream = createStream(options);
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(stream->call([] { return Status(); }).ok());
  ASSERT_TRUE(stream->finish(patience).ok());
  EXPECT_GE(progress.steps(), 3u);
}

} // namespace
} // namespace dist::cts
