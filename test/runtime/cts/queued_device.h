//===- queued_device.h - A device that works later --------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For tests: what a device that is no CPU asks of the core. Each stream has a
// thread of its own, which does the work after the call has returned; and the
// addresses of its memory are none of the process's, so that who reads or
// writes there without the stream faults. Underneath it is the CPU.
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_CTS_QUEUED_DEVICE_H
#define TEST_RUNTIME_CTS_QUEUED_DEVICE_H

#include "runtime/device/device.h"

namespace dist::test {

std::shared_ptr<Device> queuedDevice();

} // namespace dist::test

#endif // TEST_RUNTIME_CTS_QUEUED_DEVICE_H
