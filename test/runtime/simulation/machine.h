//===- machine.h - A member's simulated machine -----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_SIMULATION_MACHINE_H
#define TEST_RUNTIME_SIMULATION_MACHINE_H

#include "runtime/cluster/membership/surroundings.h"
#include "test/runtime/simulation/store.h"

namespace dist::simulation {

/// The stores that are served, by address.
using Stores = std::map<std::string, std::shared_ptr<StoreMachine>>;

/// What one process has of the simulated world.
class Machine final : public cluster::Surroundings {
public:
  Machine(Simulator &simulator, const NetworkFaults &faults, Stores &stores,
          int number)
      : simulator(simulator), faults(faults), stores(stores), number(number) {}

  Clock::time_point now() override { return simulator.now(); }
  void sleep(milliseconds time) override {
    simulator.sleepUntil(simulator.now() + time);
  }
  std::unique_ptr<Repeated> repeat(milliseconds interval,
                                   std::function<void()> what) override;
  int64_t process() override { return number; }
  Status randomBytes(size_t count, std::string *out) override;
  Status serve(const cluster::EtcdServerOptions &options,
               std::shared_ptr<void> *out) override;
  std::unique_ptr<cluster::Store>
  connect(const cluster::EtcdClientOptions &options) override;

private:
  class Thread;

  Simulator &simulator;
  const NetworkFaults &faults;
  Stores &stores;
  const int number;
};

} // namespace dist::simulation

#endif // TEST_RUNTIME_SIMULATION_MACHINE_H
