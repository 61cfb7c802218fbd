//===- memory.cpp - Messages within one process ---------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/message/memory/memory.h"
#include "runtime/core/wait.h"
#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <vector>

namespace dist {

namespace {

/// Up to this size a message is copied when it is sent.
constexpr size_t copiedBytes = 1024;

/// Used again when nobody has it any more.
struct Letter {
  int from = 0;
  MessageHeader header{};
  const char *data = nullptr; // the sender's, or the copy
  size_t bytes = 0;
  std::mutex mutex;
  bool cancelled = false;         // by the sender
  std::atomic<bool> taken{false}; // fetched or dropped
  std::atomic<int> holders{0};
  char copy[copiedBytes];
};

struct Box {
  std::mutex mutex;
  std::vector<Letter *> letters;
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

  Letter *takeLetter(int holders) {
    std::lock_guard<std::mutex> lock(mutex);
    if (free.empty()) {
      letters.emplace_back();
      free.reserve(letters.size());
      free.push_back(&letters.back());
    }
    Letter *letter = free.back();
    free.pop_back();
    letter->cancelled = false;
    letter->taken = false;
    letter->holders = holders;
    return letter;
  }
  /// One holder less.
  void release(Letter *letter) {
    if (letter->holders.fetch_sub(1) > 1)
      return;
    std::lock_guard<std::mutex> lock(mutex);
    free.push_back(letter);
  }

private:
  std::mutex mutex;
  std::deque<Letter> letters;
  std::vector<Letter *> free;
};

class MemoryTransport final : public Transport {
public:
  MemoryTransport(std::shared_ptr<Wire> wire, int rank, int ranks)
      : wire(std::move(wire)), me(rank), known(ranks) {}

  ~MemoryTransport() override {
    cancelAll();
    std::vector<Letter *> unread;
    {
      std::lock_guard<std::mutex> lock(box(me).mutex);
      box(me).isClosed = true;
      unread.swap(box(me).letters);
    }
    for (Letter *letter : unread)
      wire->release(letter);
    for (int other = 0; other < int(wire->boxes.size()); ++other) {
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
  int ranks() const override { return known; }

  Status admit(const std::string &) override {
    if (known == int(wire->boxes.size()))
      return Status::error(StatusCode::Unavailable, "no such rank",
                           std::to_string(known));
    ++known;
    return Status();
  }

  void send(int to, const MessageHeader &header, const void *data, size_t bytes,
            Request *request) override {
    bool isCopied = bytes <= copiedBytes;
    Letter *letter = wire->takeLetter(isCopied ? 1 : 2);
    letter->from = me;
    letter->header = header;
    letter->bytes = bytes;
    letter->data = static_cast<const char *>(data);
    if (isCopied) {
      if (bytes)
        std::memcpy(letter->copy, data, bytes);
      letter->data = letter->copy;
      request->state = Request::Done;
    } else {
      request->state = Request::Pending;
      pending.push_back({letter, to, request});
    }
    {
      std::lock_guard<std::mutex> lock(box(to).mutex);
      if (box(to).isClosed) {
        request->state = Request::Failed;
        if (!isCopied) {
          pending.pop_back();
          wire->release(letter);
        }
        wire->release(letter);
        return;
      }
      box(to).letters.push_back(letter);
    }
    box(to).tell();
  }

  void fetch(const Arrival &arrival, void *to, Request *request) override {
    Letter &letter = *static_cast<Letter *>(arrival.handle);
    {
      std::lock_guard<std::mutex> lock(letter.mutex);
      if (!letter.cancelled && letter.bytes)
        std::memcpy(to, letter.data, letter.bytes);
      request->state = letter.cancelled ? Request::Failed : Request::Done;
    }
    take(&letter);
  }

  void drop(const Arrival &arrival) override {
    take(static_cast<Letter *>(arrival.handle));
  }

  bool progress(Receiver &receiver) override {
    seen = box(me).events.load();
    {
      std::lock_guard<std::mutex> lock(box(me).mutex);
      read.swap(box(me).letters);
      lost.swap(box(me).closed);
    }
    bool moved = !read.empty() || !lost.empty();
    for (Letter *letter : read) {
      if (letter->from < known)
        receiver.arrived({letter->from, letter->header, letter->bytes, letter});
      else
        take(letter);
    }
    for (int other : lost) {
      for (Sent &sent : pending)
        if (sent.to == other && !sent.letter->taken.load())
          sent.request->state = Request::Failed;
      if (other < known)
        receiver.lost(other, "its end was closed");
    }
    read.clear();
    lost.clear();
    auto isOver = [&](Sent &sent) {
      if (sent.request->state == Request::Pending) {
        if (!sent.letter->taken.load())
          return false;
        sent.request->state = Request::Done;
      }
      wire->release(sent.letter);
      moved = true;
      return true;
    };
    pending.erase(std::remove_if(pending.begin(), pending.end(), isOver),
                  pending.end());
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
    for (Sent &sent : pending)
      wire->release(sent.letter);
    pending.clear();
  }

  void wake() override { box(me).tell(); }

private:
  struct Sent {
    Letter *letter;
    int to;
    Request *request;
  };

  Box &box(int rank) { return *wire->boxes[rank]; }
  void take(Letter *letter) {
    bool isKept = letter->data != letter->copy;
    int from = letter->from;
    letter->taken.store(true);
    wire->release(letter);
    if (isKept)
      box(from).tell();
  }

  std::shared_ptr<Wire> wire;
  int me, known; // ranks
  uint64_t seen = 0;
  std::vector<Sent> pending;
  // While `progress` shows them:
  std::vector<Letter *> read;
  std::vector<int> lost;
};

} // namespace

std::vector<std::unique_ptr<Transport>> makeMemoryTransports(int ranks,
                                                             int later) {
  auto wire = std::make_shared<Wire>();
  for (int rank = 0; rank < ranks + later; ++rank)
    wire->boxes.push_back(std::make_unique<Box>());
  std::vector<std::unique_ptr<Transport>> ends;
  for (int rank = 0; rank < ranks + later; ++rank)
    ends.push_back(std::make_unique<MemoryTransport>(
        wire, rank, std::max(ranks, rank + 1)));
  return ends;
}

} // namespace dist
