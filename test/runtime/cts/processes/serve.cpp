//===- serve.cpp - A process that is one rank of a test's worlds ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/cts/processes/serve.h"
#include <map>
#include <mutex>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>

namespace dist::cts {

namespace {

/// What this process has given its connections and the kernel has sent. The
/// kernel counts what it sends again as sent once more: a receiver that gets
/// no CPU for a moment, on a loaded machine, would look like traffic.
int64_t countSentBytes() {
  constexpr int mostFiles = 1024;
  int64_t bytes = 0;
  for (int file = 3; file < mostFiles; ++file) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (getsockopt(file, IPPROTO_TCP, TCP_INFO, &info, &size) == 0)
      bytes += info.tcpi_bytes_sent - info.tcpi_bytes_retrans;
  }
  return bytes;
}

class Server {
public:
  Server(int asks, RankMaker &maker) : asks(asks), maker(maker) {}

  void serve() {
    Text ask;
    while (receiveText(asks, &ask)) {
      Text reply;
      auto what = static_cast<Ask>(ask.number());
      int64_t id = ask.number();
      if (what == Ask::Open) {
        if (!open(id, ask, &reply))
          return;
      } else if (what == Ask::IsUsable) {
        reply.add(int64_t(maker.isUsable()));
      } else {
        std::shared_ptr<Rank> rank = find(id);
        serve(what, id, *rank, ask, &reply);
      }
      if (!sendText(asks, reply))
        return;
    }
  }
  /// What runs in the background, while `serve` is at something else.
  void serveBeside(int socket) {
    Text ask;
    while (receiveText(socket, &ask)) {
      Text reply;
      ask.number();
      std::shared_ptr<Rank> rank = find(ask.number());
      run(*rank, ask, &reply);
      if (!sendText(socket, reply))
        return;
    }
  }
  void abort(Text &text) {
    text.number();
    std::shared_ptr<Rank> rank = find(text.number());
    uint32_t generation = text.number();
    if (rank)
      rank->communicator().abort(generation, text.text());
  }

private:
  struct Rank {
    int number = 0;
    std::shared_ptr<World> world;
    /// What was prepared, with the lists that it refers to.
    struct Prepared {
      std::string axes, sources, pieces;
      std::unique_ptr<CollectivePlan> plan;
    };
    std::mutex mutex;
    std::map<int64_t, Prepared> prepared;
    Prepared &of(int64_t plan) {
      std::lock_guard<std::mutex> lock(mutex);
      return prepared[plan];
    }
    Communicator &communicator() { return world->rank(number); }
  };

  std::shared_ptr<Rank> find(int64_t id) {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = ranks.find(id);
    return found == ranks.end() ? nullptr : found->second;
  }

  bool open(int64_t id, Text &ask, Text *reply) {
    auto rank = std::make_shared<Rank>();
    ProcessWorld::Setup setup;
    rank->number = ask.number();
    int count = ask.number();
    setup.sharedMemory = ask.number();
    setup.host = ask.number();
    setup.timeout = ask.number() / 1000.0;
    setup.spinMicroseconds = ask.number();
    setup.allReduce = static_cast<Algorithm>(ask.number());
    for (int64_t axes = ask.number(); axes > 0; --axes)
      setup.mesh.push_back(ask.number());
    bool connected = true;
    auto exchange = [&](const std::string &own, std::vector<std::string> *all) {
      Text answer;
      connected = sendText(asks, Text().add(own)) && receiveText(asks, &answer);
      for (int i = 0; connected && i < count; ++i)
        all->push_back(answer.text());
      return connected;
    };
    Status status =
        maker.open(setup, rank->number, count, exchange, &rank->world);
    std::lock_guard<std::mutex> lock(mutex);
    ranks[id] = rank;
    reply->add(status);
    return connected;
  }

  void serve(Ask what, int64_t id, Rank &rank, Text &ask, Text *reply) {
    switch (what) {
    case Ask::Prepare:
      prepare(rank, ask, reply);
      return;
    case Ask::BeginStep:
      rank.communicator().beginStep();
      return;
    case Ask::Run:
      run(rank, ask, reply);
      return;
    case Ask::Reset:
      rank.world->reset();
      return;
    case Ask::Close: {
      int count = rank.communicator().ranks();
      {
        std::lock_guard<std::mutex> lock(mutex);
        ranks.erase(id);
      }
      rank.world.reset();
      maker.closed(count);
      return;
    }
    case Ask::Group: {
      uint32_t axes = ask.number();
      reply->add(int64_t(rank.communicator().groupSize(axes)));
      reply->add(int64_t(rank.communicator().groupRank(axes)));
      return;
    }
    case Ask::Traffic: {
      Traffic traffic = maker.traffic(*rank.world, rank.number);
      reply->add(traffic.messages).add(traffic.bytes).add(countSentBytes());
      return;
    }
    default:
      return;
    }
  }

  static void prepare(Rank &rank, Text &ask, Text *reply) {
    Rank::Prepared &one = rank.of(ask.number());
    Collective call;
    call.kind = static_cast<CollectiveKind>(ask.number());
    call.op = ask.number();
    call.reduction = static_cast<Reduction>(ask.number());
    call.algorithm = static_cast<Algorithm>(ask.number());
    call.peer = ask.number();
    call.tag = ask.number();
    call.gives = ask.number();
    call.takes = ask.number();
    call.background = ask.number();
    one.axes = ask.text();
    one.sources = ask.text();
    one.pieces = ask.text();
    call.axes = {reinterpret_cast<const int64_t *>(one.axes.data()),
                 int64_t(one.axes.size() / sizeof(int64_t))};
    call.sources = {reinterpret_cast<const int64_t *>(one.sources.data()),
                    int64_t(one.sources.size() / sizeof(int64_t))};
    call.pieces = {reinterpret_cast<const Piece *>(one.pieces.data()),
                   int64_t(one.pieces.size() / sizeof(Piece))};
    Status status = rank.communicator().prepare(call, &one.plan);
    reply->add(status);
    if (status.ok())
      for (int64_t part : one.plan->channel)
        reply->add(part);
  }

  /// The buffers are stretches of memory that were the test's, which pieces lie
  /// in somewhere: `from` and `to` may share one.
  static void run(Rank &rank, Text &ask, Text *reply) {
    CollectivePlan &plan = *rank.of(ask.number()).plan;
    plan.number = ask.number();
    std::vector<std::string> stretches(ask.number());
    for (std::string &stretch : stretches)
      stretch = ask.text();
    auto addresses = [&] {
      std::vector<void *> result(ask.number());
      for (void *&address : result) {
        int64_t stretch = ask.number();
        address = &stretches[stretch][0] + ask.number();
      }
      return result;
    };
    std::vector<void *> from = addresses(), to = addresses();
    reply->add(rank.communicator().run(plan,
                                       from.empty() ? nullptr : from.data(),
                                       to.empty() ? nullptr : to.data()));
    for (const std::string &stretch : stretches)
      reply->add(stretch);
  }

  int asks;
  RankMaker &maker;
  std::mutex mutex;
  std::map<int64_t, std::shared_ptr<Rank>> ranks;
};

} // namespace

int serveRank(const Sockets &sockets, RankMaker &maker) {
  auto [asks, aborts, besides] = sockets;
  Server server(asks, maker);
  std::thread other([&server, aborts = aborts] {
    Text text;
    while (receiveText(aborts, &text))
      server.abort(text);
  });
  std::thread beside(
      [&server, besides = besides] { server.serveBeside(besides); });
  server.serve();
  for (int socket : {aborts, besides})
    shutdown(socket, SHUT_RDWR);
  other.join();
  beside.join();
  return 0;
}

} // namespace dist::cts
