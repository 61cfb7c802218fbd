//===- machine.cpp - A member's simulated machine -------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/simulation/machine.h"
#include "runtime/cluster/etcd/client.h"

namespace dist::simulation {

using namespace cluster;

class Machine::Thread final : public Surroundings::Repeated {
public:
  Thread(Simulator &simulator, Duration interval, std::function<void()> what)
      : simulator(simulator) {
    number = simulator.startThread("repetition",
                                   [this, interval, what = std::move(what)] {
                                     while (sleeps(interval))
                                       what();
                                   });
  }
  ~Thread() override {
    isEnding = true;
    simulator.wake(number);
    simulator.join(number);
  }

private:
  /// False: it is over.
  bool sleeps(Duration interval) {
    for (Time end = simulator.now() + interval;
         !isEnding && !simulator.isGhost() && simulator.now() < end;)
      simulator.sleepUntil(end);
    return !isEnding && !simulator.isGhost();
  }

  Simulator &simulator;
  int number = -1;
  bool isEnding = false;
};

std::unique_ptr<Surroundings::Repeated>
Machine::repeat(milliseconds interval, std::function<void()> what) {
  return std::make_unique<Thread>(simulator, interval, std::move(what));
}

Status Machine::randomBytes(size_t count, std::string *out) {
  out->clear();
  for (size_t i = 0; i < count; ++i)
    *out += char(simulator.below(256));
  return Status();
}

Status Machine::serve(const EtcdServerOptions &options,
                      std::shared_ptr<void> *out) {
  const std::string address = options.address.text();
  if (simulator.isGhost() || stores.count(address))
    return Status::error(StatusCode::Unavailable, "the address is in use",
                         address, "");
  auto machine = std::make_shared<StoreMachine>(
      simulator, simulator.runningProcess(), nullptr);
  machine->start();
  stores[address] = machine;
  *out = std::shared_ptr<void>(machine.get(), [this, machine, address](void *) {
    machine->stop();
    if (auto held = stores.find(address);
        held != stores.end() && held->second == machine)
      stores.erase(held);
  });
  return Status();
}

std::unique_ptr<Store> Machine::connect(const EtcdClientOptions &options) {
  const std::string place = options.addresses.front();
  auto find = [this, place]() -> std::shared_ptr<StoreMachine> {
    auto found = stores.find(place);
    return found == stores.end() ? nullptr : found->second;
  };
  return connectTo(simulator, faults, find, milliseconds(options.timeout));
}

} // namespace dist::simulation
