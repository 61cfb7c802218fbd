//===- watches.cpp - Watches of the embedded server -------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/etcd/watches.h"
#include <algorithm>
#include <chrono>
#include <deque>

using namespace etcdserverpb;

namespace dist::cluster {

/// Of one message; a single revision may have more.
static constexpr size_t kMostBytes = 1 << 20;
/// A clock that is not the system's may go on without waking the thread.
static constexpr int64_t kLongestWait = 100;

/// A stream of watches. Its fields are of core.lock; gRPC's calls are made by
/// the service's thread without it, but for reading on, and the thread deletes
/// it.
class WatchStream final
    : public grpc::ServerBidiReactor<WatchRequest, WatchResponse> {
public:
  explicit WatchStream(ServerCore &core) : core(core) {}

  void begin() { StartRead(&incoming); }

  void OnReadDone(bool ok) override {
    bool goesOn = core.with([&](EtcdState &state) {
      isEnding |= !ok;
      if (ok)
        take(state);
      return !isEnding;
    });
    if (goesOn)
      StartRead(&incoming);
  }
  void OnWriteDone(bool ok) override {
    core.with([&](EtcdState &) {
      isWriting = false;
      isBroken |= !ok;
      return true;
    });
  }
  // Reading ends then, too.
  void OnCancel() override {}
  void OnDone() override {
    core.with([&](EtcdState &) { return isDone = true; });
  }

  /// The next message is in `outgoing`; by core.lock.
  bool prepare(const EtcdState &state) {
    if (isWriting || isBroken || isEnding)
      return false;
    if (!answers.empty()) {
      outgoing = std::move(answers.front());
      answers.pop_front();
      return isWriting = true;
    }
    // In turns, so that a watch with much to tell does not keep others waiting.
    for (size_t i = 0; i < watches.size(); ++i) {
      One watch = watches.front();
      watches.pop_front();
      bool hasEvents = collect(state, &watch);
      watches.push_back(std::move(watch));
      if (hasEvents)
        return isWriting = true;
    }
    return false;
  }
  void send() { StartWrite(&outgoing); }
  /// Once, when nothing more is written; by core.lock.
  bool shouldFinish() {
    bool isNow = isEnding && !isWriting && !isFinished;
    isFinished |= isNow;
    return isNow;
  }
  void finish() { Finish(grpc::Status::OK); }
  bool isOver() const { return isDone; }

private:
  struct One {
    int64_t id = 0, next = 0;
    KeyRange range;
    bool withPrevious = false, noPuts = false, noDeletes = false;
  };

  void take(const EtcdState &state) {
    if (incoming.has_create_request())
      create(state, incoming.create_request());
    else if (incoming.has_cancel_request())
      cancel(state, incoming.cancel_request().watch_id());
  }

  bool isKnown(int64_t id) const {
    return std::any_of(watches.begin(), watches.end(),
                       [&](const One &watch) { return watch.id == id; });
  }

  void create(const EtcdState &state, const WatchCreateRequest &request) {
    WatchResponse answer;
    state.fillHeader(answer.mutable_header());
    answer.set_created(true);
    if (request.watch_id() != 0 && isKnown(request.watch_id())) {
      answer.set_watch_id(-1);
      answer.set_canceled(true);
      answer.set_cancel_reason("mvcc: duplicate watch ID provided on the "
                               "WatchStream");
      answers.push_back(std::move(answer));
      return;
    }
    One watch;
    watch.id = request.watch_id();
    while (watch.id == 0 ? isKnown(nextId) : false)
      ++nextId;
    if (watch.id == 0)
      watch.id = nextId++;
    watch.next = request.start_revision() > 0 ? request.start_revision()
                                              : state.revision() + 1;
    // No key is the smallest one.
    watch.range = {request.key().empty() ? std::string(1, 0) : request.key(),
                   request.range_end()};
    watch.withPrevious = request.prev_kv();
    for (int filter : request.filters()) {
      watch.noPuts |= filter == WatchCreateRequest::NOPUT;
      watch.noDeletes |= filter == WatchCreateRequest::NODELETE;
    }
    answer.set_watch_id(watch.id);
    answers.push_back(std::move(answer));
    watches.push_back(std::move(watch));
  }

  void cancel(const EtcdState &state, int64_t id) {
    auto known = std::find_if(watches.begin(), watches.end(),
                              [&](const One &watch) { return watch.id == id; });
    if (known == watches.end())
      return;
    watches.erase(known);
    WatchResponse answer;
    state.fillHeader(answer.mutable_header());
    answer.set_watch_id(id);
    answer.set_canceled(true);
    answers.push_back(std::move(answer));
  }

  bool collect(const EtcdState &state, One *watch) {
    if (watch->next > state.revision())
      return false;
    std::vector<mvccpb::Event> events =
        state.eventsFrom(watch->next, watch->range, watch->withPrevious,
                         kMostBytes, &watch->next);
    outgoing.Clear();
    for (mvccpb::Event &event : events)
      if (!(event.type() == mvccpb::Event::PUT ? watch->noPuts
                                               : watch->noDeletes))
        *outgoing.add_events() = std::move(event);
    if (outgoing.events().empty())
      return false;
    outgoing.set_watch_id(watch->id);
    state.fillHeader(outgoing.mutable_header());
    return true;
  }

  ServerCore &core;
  WatchRequest incoming;
  WatchResponse outgoing;
  std::deque<WatchResponse> answers;
  std::deque<One> watches;
  int64_t nextId = 0;
  bool isWriting = false, isBroken = false;
  bool isEnding = false, isFinished = false, isDone = false;
};

WatchService::WatchService(ServerCore &core)
    : core(core), thread([this] { run(); }) {}

WatchService::~WatchService() { stop(); }

void WatchService::stop() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard<std::mutex> guard(core.lock);
    core.stops = true;
  }
  core.wake.notify_all();
  thread.join();
}

grpc::ServerBidiReactor<WatchRequest, WatchResponse> *
WatchService::Watch(grpc::CallbackServerContext *) {
  auto owned = std::make_unique<WatchStream>(core);
  WatchStream *stream = owned.get();
  {
    std::lock_guard<std::mutex> guard(core.lock);
    streams.push_back(std::move(owned));
  }
  // It is not deleted before its call is over, which it is not while it reads.
  stream->begin();
  return stream;
}

void WatchService::run() {
  std::unique_lock<std::mutex> guard(core.lock);
  for (;;) {
    core.changes = false;
    // A full disk is told to who writes next; the lease stays until then.
    (void)core.state.expire(core.clock());
    streams.remove_if([](auto &stream) { return stream->isOver(); });
    std::vector<WatchStream *> sending, finishing;
    for (auto &stream : streams) {
      if (stream->prepare(core.state))
        sending.push_back(stream.get());
      else if (stream->shouldFinish())
        finishing.push_back(stream.get());
    }
    if (!sending.empty() || !finishing.empty()) {
      guard.unlock();
      for (WatchStream *stream : sending)
        stream->send();
      for (WatchStream *stream : finishing)
        stream->finish();
      guard.lock();
      continue;
    }
    if (core.stops && streams.empty())
      return;
    int64_t wait = kLongestWait;
    if (auto next = core.state.nextExpiry())
      wait = std::clamp<int64_t>(*next - core.clock(), 1, kLongestWait);
    core.wake.wait_for(guard, std::chrono::milliseconds(wait),
                       [&] { return core.changes || core.stops; });
    // While it stops it waits for streams to end, not in vain.
    if (core.stops && !core.changes)
      core.wake.wait_for(guard, std::chrono::milliseconds(1));
  }
}

} // namespace dist::cluster
