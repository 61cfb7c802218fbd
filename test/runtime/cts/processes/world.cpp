//===- world.cpp - A world whose ranks are processes ----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/cts/processes/world.h"
#include <algorithm>
#include <atomic>
#include <csignal>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <numeric>

namespace dist::cts {

namespace {

/// Bytes [lo, hi) of the test's memory.
struct Stretch {
  char *lo, *hi;
};

int64_t extent(const Piece &p, bool isFrom, int64_t size) {
  auto end = [](int64_t count, int64_t stride) { return (count - 1) * stride; };
  if (p.outer * p.rows * p.bytes == 0)
    return 0;
  return isFrom ? end(p.outer, p.from_outer) + end(p.rows, p.from_row) +
                      end(size, p.from_place) + p.bytes
                : end(p.outer, p.to_outer) + end(p.rows, p.to_row) +
                      end(size, p.to_place) + p.bytes;
}

struct RemotePlan final : CollectivePlan {
  RemotePlan(const Collective &call, uint32_t generation, int64_t id)
      : CollectivePlan(call, generation), id(id) {}
  const int64_t id;
};

class RemoteRank final : public Communicator {
public:
  RemoteRank(std::shared_ptr<Process> at, int64_t world, int rank, int ranks)
      : owned(std::move(at)), process(*owned), world(world), number(rank),
        count(ranks) {}

  int rank() const override { return number; }
  int ranks() const override { return count; }
  int groupSize(uint32_t axes) const override { return group(axes).first; }
  int groupRank(uint32_t axes) const override { return group(axes).second; }
  uint32_t generation() const override { return resets.load(); }
  void abort(uint32_t generation, const std::string &reason) override {
    std::lock_guard<std::mutex> lock(process.abortMutex);
    sendText(process.sockets.aborts, Text()
                                         .add(int64_t(Ask::Abort))
                                         .add(world)
                                         .add(int64_t(generation))
                                         .add(reason));
  }
  Text request(Ask what) const { return Text().add(int64_t(what)).add(world); }

  Status prepare(const Collective &call,
                 std::unique_ptr<CollectivePlan> *out) override {
    auto plan = std::make_unique<RemotePlan>(call, generation(), numPlans++);
    Text text = request(Ask::Prepare).add(plan->id);
    text.add(int64_t(call.kind)).add(int64_t(call.op));
    text.add(int64_t(call.reduction)).add(int64_t(call.algorithm));
    text.add(call.peer).add(call.tag);
    text.add(int64_t(call.gives)).add(int64_t(call.takes));
    text.add(int64_t(call.background));
    text.add(call.axes.data, call.axes.size * sizeof(int64_t));
    text.add(call.sources.data, call.sources.size * sizeof(int64_t));
    text.add(call.pieces.data, call.pieces.size * sizeof(Piece));
    Text reply;
    if (!process.ask(text, &reply))
      return Status::error(StatusCode::Unavailable, "the process has ended");
    DIST_RETURN_IF_ERROR(reply.status());
    for (int64_t &part : plan->channel)
      part = reply.number();
    *out = std::move(plan);
    return Status();
  }

  void beginStep() override {
    Text reply;
    process.ask(request(Ask::BeginStep), &reply);
  }

  Status run(CollectivePlan &plan, void *const *from,
             void *const *to) override {
    const Collective &call = plan.call;
    Text text = request(Ask::Run);
    text.add(static_cast<RemotePlan &>(plan).id).add(int64_t(plan.number));
    uint32_t mask = 0;
    for (int64_t axis : call.axes)
      mask |= axis >= 0 && axis < 32 ? 1u << axis : 0;
    int64_t size = std::max(groupSize(mask), 1);
    // Stretches that meet are one: buffers may lie in each other.
    std::vector<Stretch> all;
    auto add = [&](void *const *buffers, bool isFrom) {
      for (int64_t i = 0; buffers && i < call.pieces.size; ++i)
        if (int64_t bytes = extent(call.pieces[i], isFrom, size)) {
          char *at = static_cast<char *>(buffers[i]);
          all.push_back({at, at + bytes});
        }
    };
    add(from, true);
    add(to, false);
    std::sort(all.begin(), all.end(),
              [](const Stretch &a, const Stretch &b) { return a.lo < b.lo; });
    std::vector<Stretch> merged;
    for (const Stretch &stretch : all)
      if (!merged.empty() && stretch.lo <= merged.back().hi)
        merged.back().hi = std::max(merged.back().hi, stretch.hi);
      else
        merged.push_back(stretch);
    text.add(int64_t(merged.size()));
    for (const Stretch &stretch : merged)
      text.add(stretch.lo, stretch.hi - stretch.lo);
    auto addAddresses = [&](void *const *buffers) {
      text.add(buffers ? call.pieces.size : 0);
      for (int64_t i = 0; buffers && i < call.pieces.size; ++i) {
        int64_t index = 0, offset = 0;
        for (size_t s = 0; s < merged.size(); ++s)
          if (buffers[i] >= merged[s].lo && buffers[i] < merged[s].hi) {
            index = s;
            offset = static_cast<char *>(buffers[i]) - merged[s].lo;
          }
        text.add(index).add(offset);
      }
    };
    if (merged.empty()) { // pieces without a byte
      text = Text(text.bytes.substr(0, text.bytes.size() - sizeof(int64_t)));
      text.add(int64_t(1)).add(std::string(1, 0));
    }
    addAddresses(from);
    addAddresses(to);
    Text reply;
    if (!(call.background ? process.askBeside(text, &reply)
                          : process.ask(text, &reply)))
      return Status::error(StatusCode::Unavailable, "the process has ended");
    Status status = reply.status();
    for (const Stretch &stretch : merged) {
      std::string bytes = reply.text();
      std::memcpy(stretch.lo, bytes.data(), bytes.size());
    }
    return status;
  }

  const std::shared_ptr<Process> owned;
  Process &process;
  const int64_t world;
  std::atomic<uint32_t> resets{0};

private:
  std::pair<int, int> group(uint32_t axes) const {
    std::lock_guard<std::mutex> lock(groupsMutex);
    auto known = groups.find(axes);
    if (known != groups.end())
      return known->second;
    Text reply;
    if (!process.ask(request(Ask::Group).add(int64_t(axes)), &reply))
      return {0, 0};
    int size = reply.number();
    return groups[axes] = {size, int(reply.number())};
  }

  const int number, count;
  std::atomic<int64_t> numPlans{0};
  mutable std::mutex groupsMutex;
  /// By axes: size and rank. They stay.
  mutable std::map<uint32_t, std::pair<int, int>> groups;
};

class Remote final : public ProcessWorld {
public:
  ~Remote() override { onAll(Ask::Close); }
  int ranks() const override { return members.size(); }
  Communicator &rank(int rank) override { return *members[rank]; }
  void reset() override {
    onAll(Ask::Reset);
    for (auto &member : members)
      member->resets.fetch_add(1);
  }
  pid_t process(int rank) const override { return members[rank]->process.id; }
  Traffic traffic(int rank, int64_t *onConnections) override {
    Text reply;
    members[rank]->process.ask(members[rank]->request(Ask::Traffic), &reply);
    Traffic traffic;
    traffic.messages = reply.number();
    traffic.bytes = reply.number();
    *onConnections = reply.number();
    return traffic;
  }
  void onAll(Ask what) {
    for (auto &member : members)
      sendText(member->process.sockets.asks, member->request(what));
    for (auto &member : members) {
      Text reply;
      receiveText(member->process.sockets.asks, &reply);
    }
  }

  std::vector<std::unique_ptr<RemoteRank>> members;
};

} // namespace

std::unique_ptr<ProcessWorld> ProcessWorld::create(const Setup &setup,
                                                   Processes &from) {
  static int64_t worlds = 0;
  ++worlds;
  std::signal(SIGPIPE, SIG_IGN);
  int64_t ranks = std::accumulate(setup.mesh.begin(), setup.mesh.end(),
                                  int64_t(1), std::multiplies<int64_t>()) +
                  setup.host;
  auto world = std::make_unique<Remote>();
  std::vector<std::shared_ptr<Process>> processes = from.take(ranks);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    world->members.push_back(
        std::make_unique<RemoteRank>(processes[rank], worlds, rank, ranks));
    Text open = world->members.back()->request(Ask::Open);
    open.add(rank).add(ranks).add(int64_t(setup.sharedMemory));
    open.add(int64_t(setup.host)).add(int64_t(setup.timeout * 1000));
    open.add(int64_t(setup.spinMicroseconds)).add(int64_t(setup.allReduce));
    open.add(int64_t(setup.mesh.size()));
    for (int64_t size : setup.mesh)
      open.add(size);
    sendText(world->members.back()->process.sockets.asks, open);
  }
  Text all;
  for (auto &member : world->members) {
    Text address;
    EXPECT_TRUE(receiveText(member->process.sockets.asks, &address));
    all.add(address.text());
  }
  for (auto &member : world->members)
    sendText(member->process.sockets.asks, all);
  for (auto &member : world->members) {
    Text reply;
    EXPECT_TRUE(receiveText(member->process.sockets.asks, &reply));
    Status status = reply.status();
    EXPECT_TRUE(status.ok()) << status.message();
  }
  return world;
}

} // namespace dist::cts
