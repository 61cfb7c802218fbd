//===- device_parity.cpp - A program on two devices -------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Trains with a package on the CPU and on the device of the tests that works
// later and whose memory the host cannot reach (queued_device.h). Each step's
// loss and all variables behind the last must have the same bits.
//
//   device_parity PACKAGE DATA STEPS [INPUT=SCALE]
//
//===----------------------------------------------------------------------===//
#include "parity_runner.h"
#include "test/runtime/cts/queued_device.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace dist;
using namespace dist::parity;

static Status compare(const std::string &package, const DataOptions &data,
                      int64_t steps) {
  Runner host, queued;
  SessionOptions options;
  DIST_RETURN_IF_ERROR(Runner::open(package, data, &host, options));
  options.device = test::queuedDevice();
  DIST_RETURN_IF_ERROR(Runner::open(package, data, &queued, options));
  host.rewind();
  queued.rewind();
  auto differs = [&](const std::string &what) {
    return Status::error(StatusCode::Internal, "two devices differ", package,
                         what);
  };
  double loss = 0;
  for (int64_t step = 0; step < steps; ++step) {
    double other = 0;
    DIST_RETURN_IF_ERROR(host.step(&loss));
    DIST_RETURN_IF_ERROR(queued.step(&other));
    if (std::memcmp(&loss, &other, sizeof loss) != 0)
      return differs("the loss of step " + std::to_string(step) + " is " +
                     std::to_string(loss) + " and " + std::to_string(other));
  }
  Snapshot first, second;
  DIST_RETURN_IF_ERROR(host.save(&first));
  DIST_RETURN_IF_ERROR(queued.save(&second));
  for (const auto &[name, value] : first)
    if (second.at(name).data != value.data)
      return differs("the values of " + name);
  // A state goes from one to the other, and they go on alike.
  DIST_RETURN_IF_ERROR(queued.restore(first));
  double other = 0;
  DIST_RETURN_IF_ERROR(host.step(&loss));
  DIST_RETURN_IF_ERROR(queued.step(&other));
  if (std::memcmp(&loss, &other, sizeof loss) != 0)
    return differs("the loss behind the restored state");
  std::printf("%lld steps and %zu variables have the same bits\n",
              static_cast<long long>(steps), first.size());
  return Status();
}

int main(int argc, char **argv) {
  if (argc < 4) {
    std::fprintf(stderr, "device_parity PACKAGE DATA STEPS [INPUT=SCALE]\n");
    return 2;
  }
  DataOptions data;
  data.spec = argv[2];
  if (argc > 4)
    if (char *end = std::strchr(argv[4], '='))
      data.scale[std::string(argv[4], end)] = end + 1;
  Status status = compare(argv[1], data, std::atoll(argv[3]));
  if (status.ok())
    return 0;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return 1;
}
