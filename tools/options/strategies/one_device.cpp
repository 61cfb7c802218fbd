//===- one_device.cpp - Everything on one device --------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/options/strategies/row.h"

namespace dist::tools {

const StrategyRow &oneDeviceStrategy() {
  static const StrategyRow row = {
      "one-device",
      "everything on one device",
      "the model fits and one device's cores are all there is",
      "no transfers",
      "one device",
      "tf.distribute OneDeviceStrategy; PyTorch and JAX: no wrapper",
      "",
      {},
      false,
      {{"one-device with another strategy",
        [](const Options &o) {
          return uses(o, "one-device") && o.strategies.size() > 1;
        },
        "one-device splits nothing", "leave it out"},
       {"one-device with several --devices",
        [](const Options &o) {
          return uses(o, "one-device") && o.devices.size() > 1;
        },
        "one-device runs on one device", "add --strategy mirrored"}},
      nullptr};
  return row;
}

} // namespace dist::tools
