//===- devices.h - The devices there are ------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DEVICE_DEVICES_H
#define RUNTIME_DEVICE_DEVICES_H

#include "runtime/device/device.h"

namespace dist {

/// This machine's CPUs.
std::shared_ptr<Device> hostDevice();

} // namespace dist

#endif // RUNTIME_DEVICE_DEVICES_H
