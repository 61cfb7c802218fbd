//===- wire.cpp - Messages between simulated processes --------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/simulation/wire.h"
#include <algorithm>

namespace dist::simulation {

/// Longer messages are fetched from their sender.
static constexpr size_t kLong = 64;

class Wire::End final : public Transport {
public:
  End(Wire &wire, int rank, int known) : wire(wire), me(rank), known(known) {
    wire.ends[rank] = this;
  }
  ~End() override {
    cancelAll();
    wire.ends[me] = nullptr;
    wire.close(me, /*isCrash=*/false);
  }

  int rank() const override { return me; }
  int ranks() const override { return known; }
  Clock::time_point now() const override { return wire.simulator.now(); }
  void wake() override { wire.simulator.wake(wire.processes[me]); }

  Status admit(const std::string &) override {
    wire.simulator.pass();
    ++known;
    return Status();
  }

  void send(int to, const MessageHeader &header, const void *data, size_t bytes,
            Request *request) override {
    wire.simulator.pass();
    Link &link = wire.links[me][to];
    request->state = Request::Failed;
    if (wire.simulator.isGhost() || link.isClosed)
      return;
    auto message = std::make_shared<Message>();
    message->from = me;
    message->to = to;
    message->header = header;
    const char *from = static_cast<const char *>(data);
    message->bytes.assign(from, from + bytes);
    message->isLong = bytes > kLong;
    request->state = Request::Done;
    if (message->isLong) {
      request->state = Request::Pending;
      message->sending = request;
      sent.push_back(message);
    }
    link.last = std::max(link.last, wire.simulator.now() + wire.delay());
    wire.simulator.at(link.last, [wire = &this->wire, me = me, to, message] {
      // Who does not know a rank does not hear it.
      if (wire->links[me][to].isCut || !wire->ends[to] ||
          me >= wire->ends[to]->known)
        return;
      wire->ends[to]->inbox.push_back({message, message->from, ""});
      wire->simulator.wake(wire->processes[to]);
    });
  }

  void fetch(const Arrival &arrival, void *to, Request *request) override {
    std::shared_ptr<Message> message = take(arrival);
    if (!message->isLong) {
      std::copy(message->bytes.begin(), message->bytes.end(),
                static_cast<char *>(to));
      request->state = Request::Done;
      return;
    }
    request->state = Request::Pending;
    auto fetching = std::make_shared<Fetching>();
    fetching->request = request;
    fetches.push_back(fetching);
    wire.simulator.at(
        wire.simulator.now() + wire.delay(),
        [wire = &this->wire, me = me, to, message, fetching] {
          if (!fetching->request)
            return;
          bool isHere =
              !message->isCancelled && !wire->links[message->from][me].isCut;
          if (isHere)
            std::copy(message->bytes.begin(), message->bytes.end(),
                      static_cast<char *>(to));
          fetching->request->state = isHere ? Request::Done : Request::Failed;
          fetching->request = nullptr;
          wire->simulator.wake(wire->processes[me]);
          finish(*wire, *message, isHere);
        });
  }

  void drop(const Arrival &arrival) override {
    std::shared_ptr<Message> message = take(arrival);
    finish(wire, *message, true);
  }

  bool progress(Receiver &receiver) override {
    if (wire.simulator.isGhost() && !isHaunted) {
      inbox.clear();
      // To a process that is no more all others are.
      isHaunted = true;
      for (int other = 0; other < ranks(); ++other)
        if (other != me)
          receiver.lost(other, "this process has crashed");
      return true;
    }
    bool moved = isMoved;
    isMoved = false;
    fetches.erase(
        std::remove_if(fetches.begin(), fetches.end(),
                       [](const auto &fetching) { return !fetching->request; }),
        fetches.end());
    while (!inbox.empty()) {
      Item item = std::move(inbox.front());
      inbox.pop_front();
      moved = true;
      if (!item.message) {
        receiver.lost(item.from, item.why);
        continue;
      }
      Arrival arrival{item.from, item.message->header,
                      item.message->bytes.size(), nullptr};
      arrival.handle = new std::shared_ptr<Message>(std::move(item.message));
      receiver.arrived(arrival);
    }
    return moved;
  }

  void sleepUntil(Clock::time_point time) override {
    if (inbox.empty() && !isMoved)
      wire.simulator.sleepUntil(time);
  }

  void cancelAll() override {
    for (const std::shared_ptr<Message> &message : sent) {
      if (!message->sending)
        continue;
      message->sending->state = Request::Failed;
      message->sending = nullptr;
      message->isCancelled = true;
    }
    for (const std::shared_ptr<Fetching> &fetching : fetches) {
      if (fetching->request)
        fetching->request->state = Request::Failed;
      fetching->request = nullptr;
    }
    sent.clear();
    fetches.clear();
  }

private:
  friend class Wire;
  struct Item {
    std::shared_ptr<Message> message; // null: the loss of `from`
    int from;
    std::string why;
  };
  struct Fetching {
    Request *request = nullptr; // null: over
  };

  static std::shared_ptr<Message> take(const Arrival &arrival) {
    auto *handle = static_cast<std::shared_ptr<Message> *>(arrival.handle);
    std::shared_ptr<Message> message = std::move(*handle);
    delete handle;
    return message;
  }
  /// Tells the sender that the other end has it, or never will.
  static void finish(Wire &wire, Message &message, bool isDone) {
    if (!message.sending)
      return;
    message.sending->state = isDone ? Request::Done : Request::Failed;
    message.sending = nullptr;
    if (End *end = wire.ends[message.from]) {
      end->isMoved = true;
      wire.simulator.wake(wire.processes[message.from]);
    }
  }

  Wire &wire;
  const int me;
  int known; // ranks
  std::deque<Item> inbox;
  std::vector<std::shared_ptr<Message>> sent; // long ones
  std::vector<std::shared_ptr<Fetching>> fetches;
  bool isMoved = false, isHaunted = false;
};

Wire::Wire(Simulator &simulator, int ranks)
    : simulator(simulator), processes(ranks, -1), ends(ranks),
      links(ranks, std::vector<Link>(ranks)) {
  if (simulator.chance(0.5)) {
    latePart = 0.05;
    latest = simulator.between(milliseconds(1), seconds(3));
  }
  simulator.onCrash = [this](int process) {
    for (int rank = 0; rank < int(processes.size()); ++rank)
      if (processes[rank] == process)
        close(rank, true);
  };
}

Wire::~Wire() = default;

std::unique_ptr<Transport> Wire::makeEnd(int rank, int known, int process) {
  processes[rank] = process;
  return std::make_unique<End>(*this, rank, known);
}

int Wire::knownTo(int rank) const { return ends[rank] ? ends[rank]->known : 0; }

Duration Wire::delay() {
  if (simulator.chance(latePart))
    return simulator.between(Duration(), latest);
  return simulator.between(microseconds(20), microseconds(500));
}

void Wire::tellLoss(int to, int from, const std::string &why) {
  Link &link = links[from][to];
  // Behind what has come of it.
  link.last = std::max(link.last, simulator.now()) +
              simulator.between(Duration(), milliseconds(800));
  simulator.at(link.last, [this, to, from, why] {
    if (links[to][from].isClosed || !ends[to] || from >= ends[to]->known)
      return;
    links[to][from].isClosed = true;
    for (const std::shared_ptr<Message> &message : ends[to]->sent)
      if (message->to == from)
        End::finish(*this, *message, false);
    ends[to]->inbox.push_back({nullptr, from, why});
    simulator.wake(processes[to]);
  });
}

void Wire::cut(int one, int other) {
  if (links[one][other].isCut)
    return;
  simulator.trace("ranks " + std::to_string(one) + " and " +
                  std::to_string(other) + " are cut off");
  links[one][other].isCut = links[other][one].isCut = true;
  tellLoss(one, other, "it cannot be reached");
  tellLoss(other, one, "it cannot be reached");
}

void Wire::close(int rank, bool isCrash) {
  for (int other = 0; other < int(ends.size()); ++other) {
    if (other == rank || links[rank][other].isClosed)
      continue;
    // With a machine, or a full queue, goes what is under way.
    if (isCrash && simulator.chance(0.5))
      links[rank][other].isCut = true;
    tellLoss(other, rank, "its end was closed");
  }
  if (isCrash && ends[rank])
    for (const std::shared_ptr<Message> &message : ends[rank]->sent)
      message->isCancelled = true;
}

} // namespace dist::simulation
