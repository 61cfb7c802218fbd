//===- beats.cpp - A process's machine, as heartbeats see it --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/simulation/beats.h"
#include <algorithm>

namespace dist::simulation {

using namespace cluster;

static constexpr milliseconds kNap{50};

//===----------------------------------------------------------------------===//
// Connections
//===----------------------------------------------------------------------===//

class BeatNetwork::End final : public Link {
public:
  End(BeatNetwork &network, std::shared_ptr<Pipe> out, std::shared_ptr<Pipe> in)
      : network(network), out(std::move(out)), in(std::move(in)) {}
  ~End() override {
    in->isAbandoned = true;
    if (!network.simulator.isGhost())
      network.close(out);
  }
  int64_t send(const char *bytes, size_t count) override {
    network.simulator.pass();
    if (network.simulator.isGhost() || out->isClosed || in->isAtEnd)
      return -1;
    const size_t held = out->underWay.size() + out->arrived.size();
    count = std::min(count, network.room - std::min(network.room, held));
    // The system may take a part.
    if (count > 1 && network.simulator.chance(0.05))
      count = 1 + network.simulator.below(count);
    out->underWay.append(bytes, count);
    network.carry(out);
    return int64_t(count);
  }
  int64_t receive(char *bytes, size_t count) override {
    if (network.simulator.isGhost() || (in->arrived.empty() && in->isAtEnd))
      return -1;
    count = std::min(count, in->arrived.size());
    std::copy_n(in->arrived.begin(), count, bytes);
    in->arrived.erase(0, count);
    return int64_t(count);
  }
  bool isReady(bool sends) const {
    const size_t held = out->underWay.size() + out->arrived.size();
    return !in->arrived.empty() || in->isAtEnd ||
           (sends && held < network.room);
  }

private:
  BeatNetwork &network;
  const std::shared_ptr<Pipe> out, in;
};

class BeatNetwork::Gate final : public Door {
public:
  Gate(BeatNetwork &network, int process, int port)
      : process(process), network(network), port(port) {
    network.gates[port] = this;
  }
  ~Gate() override { network.gates.erase(port); }
  std::unique_ptr<Link> accept() override {
    if (queue.empty() || network.simulator.isGhost())
      return nullptr;
    std::unique_ptr<Link> first = std::move(queue.front());
    queue.pop_front();
    return first;
  }
  const int process;
  std::deque<std::unique_ptr<Link>> queue;

private:
  BeatNetwork &network;
  const int port;
};

BeatNetwork::BeatNetwork(Simulator &simulator)
    : simulator(simulator), room(8192 + simulator.below(1 << 16)) {}
BeatNetwork::~BeatNetwork() = default;

void BeatNetwork::carry(const std::shared_ptr<Pipe> &pipe) {
  pipe->last = std::max(pipe->last, simulator.now()) +
               simulator.between(microseconds(20), latest) / 2;
  simulator.at(pipe->last, [this, pipe] { arrive(pipe); });
}

void BeatNetwork::arrive(const std::shared_ptr<Pipe> &pipe) {
  if (isCut(*pipe))
    return;
  size_t count = pipe->underWay.size();
  if (count > 1 && simulator.chance(0.05)) {
    count = 1 + simulator.below(count);
    carry(pipe);
  }
  pipe->arrived.append(pipe->underWay, 0, count);
  pipe->underWay.erase(0, count);
  pipe->isAtEnd |= pipe->isClosed && pipe->underWay.empty();
  wakeAll(pipe->to);
}

void BeatNetwork::close(const std::shared_ptr<Pipe> &pipe) {
  if (pipe->isClosed)
    return;
  pipe->isClosed = true;
  carry(pipe);
}

void BeatNetwork::join(int one, int other) {
  cuts.erase(std::minmax(one, other));
  for (const std::weak_ptr<Pipe> &held : pipes)
    if (std::shared_ptr<Pipe> pipe = held.lock(); pipe && !isCut(*pipe))
      carry(pipe);
}

void BeatNetwork::crash(int process) {
  // The clock of who crashes stands no more.
  simulator.at(Time(), [this, process] {
    for (const std::weak_ptr<Pipe> &held : pipes)
      if (std::shared_ptr<Pipe> pipe = held.lock();
          pipe && pipe->from == process)
        close(pipe);
  });
  for (auto gate = gates.begin(); gate != gates.end();)
    gate = gate->second->process == process ? gates.erase(gate) : ++gate;
}

void BeatNetwork::wakeAll(int process) {
  for (Waiting *one : waiting)
    if (simulator.ownerOf(one->thread) == process)
      simulator.wake(one->thread);
}

class BeatNetwork::Patience final : public Waiter {
public:
  Patience(BeatNetwork &network, BeatMachine &machine)
      : network(network), machine(machine) {}

  bool wait(const std::vector<Awaited> &links, const Door *door,
            Detector::TimePoint until) override {
    Simulator &simulator = network.simulator;
    own.thread = simulator.running();
    network.waiting.insert(&own);
    const Time end = machine.timeOf(until);
    // One that is frozen as it begins to sleep hears nothing of what comes.
    do
      simulator.sleepUntil(own.isOver || isReady(links, door)
                               ? simulator.now()
                               : std::min(end, simulator.now() + kNap));
    while (!simulator.isGhost() && !own.isOver && !isReady(links, door) &&
           simulator.now() < end);
    network.waiting.erase(&own);
    machine.waitForCpu();
    return !own.isOver && !simulator.isGhost();
  }
  void end() override {
    own.isOver = true;
    if (own.thread >= 0)
      network.simulator.wake(own.thread);
  }

private:
  static bool isReady(const std::vector<Awaited> &links, const Door *door) {
    return (door && !static_cast<const Gate *>(door)->queue.empty()) ||
           std::any_of(links.begin(), links.end(), [](const Awaited &one) {
             return static_cast<const End *>(one.link)->isReady(one.sends);
           });
  }

  BeatNetwork &network;
  BeatMachine &machine;
  Waiting own{-1, false};
};

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

class BeatMachine::Running final : public BeatSurroundings::Thread {
public:
  Running(Simulator &simulator, std::function<void()> body)
      : simulator(simulator),
        number(simulator.startThread("heartbeat", std::move(body))) {}
  ~Running() override { simulator.join(number); }

  Simulator &simulator;
  const int number;
};

BeatMachine::Clock::time_point BeatMachine::now() {
  const Duration since = simulator.now() - begin;
  return begin + Duration(int64_t(double(since.count()) * rate));
}

Time BeatMachine::timeOf(Clock::time_point own) const {
  return begin + Duration(int64_t(double((own - begin).count()) / rate));
}

void BeatMachine::sleep(std::chrono::milliseconds time) {
  simulator.sleepUntil(timeOf(now() + time));
}

std::unique_ptr<BeatMachine::Thread>
BeatMachine::start(std::function<void()> body) {
  auto thread = std::make_unique<Running>(simulator, std::move(body));
  beating = thread->number;
  return thread;
}

void BeatMachine::waitForCpu() {
  if (lateness <= Duration() || simulator.isGhost())
    return;
  runnable.insert(simulator.running());
  simulator.work(simulator.between({}, lateness));
  runnable.erase(simulator.running());
}

bool BeatMachine::wait(std::unique_lock<std::mutex> &lock,
                       std::condition_variable &, Clock::time_point until) {
  // All have one thread in truth: who waits lets go of the lock.
  lock.unlock();
  const Time end = timeOf(until);
  simulator.sleepUntil(std::min(end, simulator.now() + milliseconds(5)));
  lock.lock();
  return !simulator.isGhost();
}

std::unique_ptr<Waiter> BeatMachine::makeWaiter() {
  return std::make_unique<BeatNetwork::Patience>(network, *this);
}

Status BeatMachine::listen(const std::string &, PortRange,
                           std::unique_ptr<Door> *out, int *port) {
  *port = ++network.ports;
  *out = std::make_unique<BeatNetwork::Gate>(network, number, *port);
  return Status();
}

Status BeatMachine::connect(const Address &address, int time,
                            std::unique_ptr<Link> *out) {
  auto to = std::make_shared<BeatNetwork::Pipe>();
  auto back = std::make_shared<BeatNetwork::Pipe>();
  auto gate = network.gates.find(address.port);
  const int other = gate == network.gates.end() ? -1 : gate->second->process;
  to->from = back->to = number;
  to->to = back->from = other;
  const Time end = simulator.now() + std::chrono::milliseconds(time);
  do
    simulator.sleepUntil(simulator.now() + network.latest);
  while (!simulator.isGhost() && network.isCut(*to) && simulator.now() < end);
  gate = network.gates.find(address.port);
  if (simulator.isGhost() || gate == network.gates.end() || network.isCut(*to))
    return Status::error(StatusCode::Unavailable, "cannot connect",
                         address.text(), "nobody is there");
  network.pipes.insert(network.pipes.end(), {to, back});
  *out = std::make_unique<BeatNetwork::End>(network, to, back);
  gate->second->queue.push_back(
      std::make_unique<BeatNetwork::End>(network, back, to));
  network.wakeAll(other);
  return Status();
}

ThreadState BeatMachine::stateOf(int64_t process, int64_t thread) {
  BeatMachine *other = find(process);
  if (!other || simulator.isGhost(int(process)))
    return ThreadState::Unknown;
  if (simulator.frozenUntil(int(process)) > simulator.now())
    return ThreadState::Stopped;
  return other->runnable.count(int(thread)) ? ThreadState::Runnable
                                            : ThreadState::Sleeps;
}

} // namespace dist::simulation
