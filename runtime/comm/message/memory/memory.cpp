//===- memory.cpp - Messages within one process ---------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/message/memory/memory.h"
#include "runtime/core/wait.h"
#include <cstring>
#include <deque>
#include <list>
#include <mutex>

namespace dist {

namespace {

/// Up to this size a message is copied when it is sent.
constexpr size_t copiedBytes = 1024;

struct Letter {
  int from = 0;
  MessageHeader header{};
  std::vector<char> copy;
  const char *data = nullptr; // the sender's, or the copy
  size_t bytes = 0;
  std::mutex mutex;
  bool cancelled = false;         // by the sender
  std::atomic<bool> taken{false}; // fetched or dropped
};

struct Box {
  std::mutex mutex;
  std::deque<std::shared_ptr<Letter>> letters;
  std::vector<int> closed; // ends that were since the last look
  bool isClosed = false;
  /// Counts what there is to see.
  std::atomic<uint64_t> events{0};
  WaitPoint wait;

  void tell() {
    events.fetch_add(1);
    wait.notify();
  }
};

struct Wire {
  std::vector<std::unique_ptr<Box>> boxes; // by receiver
};

class MemoryTransport final : public Transport {
public:
  MemoryTransport(std::shared_ptr<Wire> wire, int rank)
      : wire(std::move(wire)), me(rank) {}

  ~MemoryTransport() override {
    cancelAll();
    std::deque<std::shared_ptr<Letter>> unread;
    {
      std::lock_guard<std::mutex> lock(box(me).mutex);
      box(me).isClosed = true;
      unread.swap(box(me).letters);
    }
    for (int other = 0; other < ranks(); ++other) {
      if (other == me)
        continue;
      {
        std::lock_guard<std::mutex> lock(box(other).mutex);
        box(other).closed.push_back(me);
      }
      box(other).tell();
    }
  }

  int rank() const override { return me; }
  int ranks() const override { return wire->boxes.size(); }

  void send(int to, const MessageHeader &header, const void *data, size_t bytes,
            Request *request) override {
    auto letter = std::make_shared<Letter>();
    letter->from = me;
    letter->header = header;
    letter->bytes = bytes;
    letter->data = static_cast<const char *>(data);
    if (bytes <= copiedBytes) {
      letter->copy.assign(letter->data, letter->data + bytes);
      letter->data = letter->copy.data();
      request->state = Request::Done;
    } else {
      request->state = Request::Pending;
      pending.push_back({letter, to, request});
    }
    {
      std::lock_guard<std::mutex> lock(box(to).mutex);
      if (box(to).isClosed) {
        request->state = Request::Failed;
        if (bytes > copiedBytes)
          pending.pop_back();
        return;
      }
      box(to).letters.push_back(std::move(letter));
    }
    box(to).tell();
  }

  void fetch(const Arrival &arrival, void *to, Request *request) override {
    std::unique_ptr<std::shared_ptr<Letter>> owner(handleOf(arrival));
    Letter &letter = **owner;
    {
      std::lock_guard<std::mutex> lock(letter.mutex);
      if (!letter.cancelled && letter.bytes)
        std::memcpy(to, letter.data, letter.bytes);
      request->state = letter.cancelled ? Request::Failed : Request::Done;
    }
    take(letter);
  }

  void drop(const Arrival &arrival) override {
    std::unique_ptr<std::shared_ptr<Letter>> owner(handleOf(arrival));
    take(**owner);
  }

  bool progress(Receiver &receiver) override {
    seen = box(me).events.load();
    std::deque<std::shared_ptr<Letter>> letters;
    std::vector<int> closed;
    {
      std::lock_guard<std::mutex> lock(box(me).mutex);
      letters.swap(box(me).letters);
      closed.swap(box(me).closed);
    }
    bool moved = !letters.empty() || !closed.empty();
    for (std::shared_ptr<Letter> &letter : letters) {
      Arrival arrival{letter->from, letter->header, letter->bytes, nullptr};
      arrival.handle = new std::shared_ptr<Letter>(std::move(letter));
      receiver.arrived(arrival);
    }
    for (int other : closed) {
      for (Sent &sent : pending)
        if (sent.to == other && !sent.letter->taken.load())
          sent.request->state = Request::Failed;
      receiver.lost(other, "its end was closed");
    }
    for (auto it = pending.begin(); it != pending.end();) {
      if (it->request->state == Request::Pending && !it->letter->taken.load()) {
        ++it;
        continue;
      }
      if (it->request->state == Request::Pending)
        it->request->state = Request::Done;
      it = pending.erase(it);
      moved = true;
    }
    return moved;
  }

  void sleepUntil(Clock::time_point time) override {
    Box &mine = box(me);
    mine.wait.wait([&] { return mine.events.load() != seen; }, time, 0);
  }

  void cancelAll() override {
    for (Sent &sent : pending) {
      std::lock_guard<std::mutex> lock(sent.letter->mutex);
      sent.letter->cancelled = true;
      sent.request->state =
          sent.letter->taken.load() ? Request::Done : Request::Failed;
    }
    pending.clear();
  }

  void wake() override { box(me).tell(); }

private:
  struct Sent {
    std::shared_ptr<Letter> letter;
    int to;
    Request *request;
  };

  Box &box(int rank) { return *wire->boxes[rank]; }
  static std::shared_ptr<Letter> *handleOf(const Arrival &arrival) {
    return static_cast<std::shared_ptr<Letter> *>(arrival.handle);
  }
  void take(Letter &letter) {
    bool isKept = letter.copy.empty() && letter.bytes > 0;
    letter.taken.store(true);
    if (isKept)
      box(letter.from).tell();
  }

  std::shared_ptr<Wire> wire;
  int me;
  uint64_t seen = 0;
  std::list<Sent> pending;
};

} // namespace

std::vector<std::unique_ptr<Transport>> makeMemoryTransports(int ranks) {
  auto wire = std::make_shared<Wire>();
  for (int rank = 0; rank < ranks; ++rank)
    wire->boxes.push_back(std::make_unique<Box>());
  std::vector<std::unique_ptr<Transport>> ends;
  for (int rank = 0; rank < ranks; ++rank)
    ends.push_back(std::make_unique<MemoryTransport>(wire, rank));
  return ends;
}

} // namespace dist
