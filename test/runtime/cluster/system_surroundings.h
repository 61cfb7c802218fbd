//===- system_surroundings.h - The system's, but for one thing --*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_CLUSTER_SYSTEM_SURROUNDINGS_H
#define TEST_RUNTIME_CLUSTER_SYSTEM_SURROUNDINGS_H

#include "runtime/cluster/membership/surroundings.h"

namespace dist::cluster {

/// What the system does, for tests that change a part of it.
class SystemSurroundings : public Surroundings {
public:
  Clock::time_point now() override { return system.now(); }
  void sleep(milliseconds time) override { system.sleep(time); }
  std::unique_ptr<Repeated> repeat(milliseconds interval,
                                   std::function<void()> what) override {
    return system.repeat(interval, std::move(what));
  }
  int64_t process() override { return system.process(); }
  Status randomBytes(size_t count, std::string *out) override {
    return system.randomBytes(count, out);
  }
  Status serve(const EtcdServerOptions &options,
               std::shared_ptr<void> *out) override {
    return system.serve(options, out);
  }
  std::unique_ptr<Store> connect(const EtcdClientOptions &options) override {
    return system.connect(options);
  }

protected:
  Surroundings &system = systemSurroundings();
};

} // namespace dist::cluster

#endif // TEST_RUNTIME_CLUSTER_SYSTEM_SURROUNDINGS_H
