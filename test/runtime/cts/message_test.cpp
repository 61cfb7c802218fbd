//===- message_test.cpp - The message communicator's conformance ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/local.h"
#include "runtime/comm/message/message.h"
#include "runtime/comm/message/memory/memory.h"
#include "runtime/device/cpu/team.h"
#include "test/runtime/cts/communicator_test.h"
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <thread>

namespace dist::cts {
namespace {

std::unique_ptr<World> createMessages(const std::vector<int64_t> &mesh,
                                      double timeout, int spin, int threads,
                                      Algorithm algorithm, bool host) {
  MessageOptions options;
  fill(&options, mesh, timeout, spin, threads, algorithm, host);
  int ranks = host + std::accumulate(mesh.begin(), mesh.end(), 1,
                                     std::multiplies<int>());
  std::unique_ptr<MessageWorld> world;
  Status status =
      MessageWorld::create(options, makeMemoryTransports(ranks), &world);
  EXPECT_TRUE(status.ok()) << status.message();
  return world;
}

Backend messages(std::string name, int spin, int threads,
                 Algorithm algorithm = Algorithm::Auto) {
  auto create = [=](bool host) {
    return [=](std::vector<int64_t> mesh, double timeout) {
      return createMessages(mesh, timeout, spin, threads, algorithm, host);
    };
  };
  Backend backend{name, create(false), create(true),
                  algorithm == Algorithm::Ring};
  backend.giversWait = false;
  // In a ring each waits for its neighbour, and so in a round.
  backend.namesAllMissing =
      algorithm != Algorithm::Ring && algorithm != Algorithm::Gather;
  return backend;
}

using Kind = CollectiveKind;

/// Worlds of one rank each, as processes have them.
struct Apart {
  MessageOptions options;
  std::vector<Algorithm> ways; // by rank, where they differ
  std::vector<std::unique_ptr<MessageWorld>> worlds;

  explicit Apart(int ranks, double timeout = 20) {
    options.mesh = {ranks};
    options.timeout = timeout;
    options.spinMicroseconds = 0;
    options.nameRank = [](int rank) {
      return "rank " + std::to_string(rank) + " of worker w" +
             std::to_string(rank);
    };
  }
  void open() {
    for (auto &end : makeMemoryTransports(options.mesh[0])) {
      if (!ways.empty())
        options.allReduce = ways[worlds.size()];
      worlds.emplace_back();
      std::vector<std::unique_ptr<Transport>> own;
      own.push_back(std::move(end));
      Status status =
          MessageWorld::create(options, std::move(own), &worlds.back());
      EXPECT_TRUE(status.ok()) << status.message();
    }
  }
  Communicator &rank(int rank) { return worlds[rank]->rank(rank); }
  template <typename Body> std::vector<Status> onAll(Body body) {
    std::vector<Status> status(worlds.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < worlds.size(); ++i)
      threads.emplace_back([&, i] { status[i] = body(rank(i)); });
    for (std::thread &thread : threads)
      thread.join();
    return status;
  }
};

Status sumOne(Communicator &rank, int32_t op = 5) {
  float value = 1;
  return rank.allReduce(op, &value, 1, manifest::F32, Reduction::Sum, 1);
}

/// A bucket of all-reduced pieces, or one piece that is cut in rows.
struct Sums {
  Kind kind;
  Algorithm algorithm;
  std::vector<int64_t> counts;
};

/// What all ranks have after it, in a world.
std::vector<std::vector<float>>
sum(const Sums &sums, int ranks, const std::function<Communicator &(int)> &at) {
  constexpr int64_t rows = 7;
  bool cut = sums.kind == Kind::ReduceScatter;
  std::vector<std::vector<float>> results(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      std::mt19937 random(rank);
      std::vector<std::vector<float>> from, to;
      std::vector<void *> sources, targets;
      std::vector<Piece> pieces;
      for (int64_t count : sums.counts) {
        Piece piece{};
        piece.type = manifest::F32;
        piece.outer = 1;
        piece.rows = cut ? rows : 1;
        piece.bytes = 4 * count;
        if (cut) {
          piece.from_place = piece.to_row = 4 * count;
          piece.from_row = ranks * 4 * count;
        }
        from.emplace_back(count * piece.rows * (cut ? ranks : 1));
        for (float &value : from.back())
          value = std::ldexp(float(random() % 1000) - 500, random() % 30);
        to.emplace_back(count * piece.rows);
        pieces.push_back(piece);
      }
      for (size_t i = 0; i < pieces.size(); ++i) {
        sources.push_back(from[i].data());
        // Every other one in place.
        targets.push_back(cut || i % 2 ? to[i].data() : from[i].data());
      }
      int64_t axis = 0;
      Collective call;
      call.kind = sums.kind;
      call.algorithm = sums.algorithm;
      call.axes = {&axis, 1};
      call.pieces = {pieces.data(), int64_t(pieces.size())};
      Status status = at(rank).runOnce(call, sources.data(), targets.data());
      EXPECT_TRUE(status.ok()) << status.message();
      for (size_t i = 0; i < pieces.size(); ++i) {
        auto *result = static_cast<const float *>(targets[i]);
        results[rank].insert(results[rank].end(), result,
                             result + to[i].size());
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  return results;
}

// Of many slices, in place and not: each way sums in the order of ranks.
TEST(MessageWorld, SumsHaveTheBitsOfMemory) {
  for (int ranks : {2, 3, 4, 5, 8}) {
    WorldOptions local;
    local.mesh = {ranks};
    local.spinMicroseconds = 0;
    std::unique_ptr<LocalWorld> memory;
    ASSERT_TRUE(LocalWorld::create(local, &memory).ok());
    std::map<Algorithm, Apart> apart;
    using Way = Algorithm;
    for (Way way : {Way::Auto, Way::Exchange, Way::Gather, Way::Parts,
                    Way::ReduceToOne}) {
      Apart &messages = apart.try_emplace(way, ranks).first->second;
      messages.options.allReduce = way;
      messages.open();
    }
    for (const Sums &sums :
         {Sums{Kind::AllReduce, Algorithm::Auto, {3, 1, 200}},
          Sums{Kind::AllReduce, Algorithm::Auto, {70001, 7, 1}},
          Sums{Kind::AllReduce, Algorithm::Auto, {1500000, 7, 300001, 1, 1}},
          Sums{Kind::AllReduce, Algorithm::Ring, {700000, 7, 1, 100001}},
          Sums{Kind::AllReduce, Algorithm::ReduceToOne, {700000, 7, 1}},
          Sums{Kind::ReduceScatter, Algorithm::Auto, {70001, 1, 5}}}) {
      auto expected = sum(sums, ranks, [&](int r) -> Communicator & {
        return memory->rank(r);
      });
      for (auto &[way, messages] : apart) {
        if (way != Way::Auto && sums.counts[0] > 100000)
          continue; // would take its time
        auto got =
            sum(sums, ranks, [&, &at = messages](int r) -> Communicator & {
              return at.rank(r);
            });
        for (int rank = 0; rank < ranks; ++rank) {
          ASSERT_EQ(got[rank].size(), expected[rank].size());
          EXPECT_FALSE(std::memcmp(got[rank].data(), expected[rank].data(),
                                   got[rank].size() * 4))
              << name(sums.kind) << " of " << ranks << ", way " << int(way);
        }
      }
    }
  }
}

TEST(MessageWorld, RefusesWaysThatDiffer) {
  Apart two(2);
  two.ways = {Algorithm::Auto, Algorithm::Gather};
  two.open();
  for (const Status &status :
       two.onAll([](Communicator &rank) { return sumOne(rank); }))
    EXPECT_NE(status.message().find("different"), std::string::npos);
}

// In ceil(log2(ranks)) messages of a rank, not in ranks - 1.
TEST(MessageWorld, ManyRanksGatherInRounds) {
  Apart eight(8);
  eight.open();
  eight.onAll([](Communicator &rank) { return sumOne(rank); });
  EXPECT_EQ(eight.worlds[3]->traffic(3).messages, 3);
  EXPECT_EQ(eight.worlds[3]->traffic(3).bytes, 7 * 8);
}

// What the cost model counts.
TEST(MessageWorld, CountsWhatItSends) {
  Apart two(2);
  two.open();
  std::vector<float> data[2];
  auto sent = [&](int64_t count) {
    Traffic before = two.worlds[0]->traffic(0);
    for (const Status &status : two.onAll([&](Communicator &rank) {
           std::vector<float> &own = data[rank.rank()];
           own.assign(count, 1);
           return rank.allReduce(0, own.data(), count, manifest::F32,
                                 Reduction::Sum, 1);
         }))
      EXPECT_TRUE(status.ok()) << status.message();
    Traffic after = two.worlds[0]->traffic(0);
    return Traffic{after.messages - before.messages,
                   after.bytes - before.bytes};
  };
  EXPECT_EQ(sent(2).messages, 1);
  EXPECT_EQ(sent(2).bytes, 8);
  // Half of it goes as an addend, the other half as a sum.
  EXPECT_EQ(sent(1 << 20).bytes, 4 << 20);
  EXPECT_EQ(sent(1 << 20).messages, 8);
}

TEST(MessageWorld, NamesWhoIsLost) {
  Apart three(3);
  three.open();
  std::vector<Status> status = three.onAll([&](Communicator &rank) {
    if (rank.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      three.worlds[1].reset();
      return Status();
    }
    return sumOne(rank);
  });
  for (int rank : {0, 2}) {
    EXPECT_EQ(status[rank].code(), StatusCode::Unavailable);
    EXPECT_NE(status[rank].message().find(
                  "all_reduce failed (op 5): rank 1 of worker w1 was lost: its "
                  "end was closed"),
              std::string::npos)
        << status[rank].message();
  }
}

// Two that only give meet nobody then, but at their next collective.
TEST(MessageWorld, RememberWhatWasDifferent) {
  Apart two(2);
  two.open();
  std::vector<Status> status = two.onAll([&](Communicator &rank) {
    float value = 0;
    Status first = rank.broadcast(3, &value, 4, rank.rank(), 1);
    return first.ok() ? sumOne(rank) : first;
  });
  for (const Status &one : status) {
    EXPECT_FALSE(one.ok());
    EXPECT_NE(one.message().find("different collectives"), std::string::npos)
        << one.message();
  }
}

// A rank that computes says why at its next call, and who has blamed it.
TEST(MessageWorld, AbortReachesWhoIsElsewhere) {
  for (std::string why : {"rank 0 met a wrong label", "worker w1 is silent"}) {
    Apart two(2);
    two.open();
    two.rank(0).abort(0, why);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    Status status = sumOne(two.rank(1));
    EXPECT_EQ(status.code(), StatusCode::Unavailable);
    if (why[0] == 'w')
      why = "rank 0 of worker w0 says of this process: " + why;
    EXPECT_NE(status.message().find(": " + why), std::string::npos) << why;
  }
}

// One begins anew before the other has: its messages wait.
TEST(MessageWorld, GenerationsDoNotMeet) {
  Apart two(2);
  two.open();
  int64_t axis = 0;
  int32_t value = 1;
  void *data = &value;
  Piece piece{};
  piece.type = manifest::I32;
  piece.outer = piece.rows = 1;
  piece.bytes = 4;
  Collective call;
  call.axes = {&axis, 1};
  call.pieces = {&piece, 1};
  call.kind = Kind::Send;
  call.peer = 1;
  EXPECT_TRUE(two.rank(0).runOnce(call, &data, &data).ok());
  two.worlds[0]->reset();
  value = 2;
  EXPECT_TRUE(two.rank(0).runOnce(call, &data, &data).ok());
  two.worlds[1]->reset();
  call.kind = Kind::Recv;
  call.peer = 0;
  value = 0;
  Status status = two.rank(1).runOnce(call, &data, &data);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(value, 2);
}

/// One sum of a step, of a number there.
Status sumNumbered(Communicator &rank, int32_t number) {
  int64_t axis = 0;
  Piece piece{};
  piece.type = manifest::F32;
  piece.outer = piece.rows = 1;
  piece.bytes = 4;
  Collective call;
  call.kind = Kind::AllReduce;
  call.op = 5;
  call.axes = {&axis, 1};
  call.pieces = {&piece, 1};
  std::unique_ptr<CollectivePlan> plan;
  DIST_RETURN_IF_ERROR(rank.prepare(call, &plan));
  plan->number = number;
  float value = 1;
  void *buffer = &value;
  return rank.run(*plan, &buffer, &buffer);
}

// One left a step out: the others do not take its sums for theirs.
TEST(MessageWorld, StepsDoNotMeet) {
  Apart two(2);
  two.open();
  std::vector<Status> status = two.onAll([&](Communicator &rank) {
    rank.beginStep();
    if (rank.rank() == 1)
      rank.beginStep();
    return sumNumbered(rank, 0);
  });
  std::string both = status[0].message() + status[1].message();
  EXPECT_FALSE(status[0].ok());
  EXPECT_FALSE(status[1].ok());
  EXPECT_NE(both.find("different collectives"), std::string::npos) << both;
  EXPECT_NE(both.find("in steps 2 and 1"), std::string::npos) << both;
}

TEST(MessageWorld, NumbersComeInOrder) {
  Apart two(2);
  two.open();
  for (const Status &status : two.onAll([&](Communicator &rank) {
         rank.beginStep();
         return sumNumbered(rank, 1);
       }))
    EXPECT_TRUE(status.ok()) << status.message();
  Status status = sumNumbered(two.rank(0), 0);
  EXPECT_EQ(status.code(), StatusCode::Internal);
  EXPECT_NE(status.message().find("it is number 0 of those with these ranks"),
            std::string::npos)
      << status.message();
}

TEST(MessageWorld, RefusesEndsOfOthers) {
  MessageOptions options;
  options.mesh = {3};
  std::unique_ptr<MessageWorld> world;
  EXPECT_EQ(
      MessageWorld::create(options, makeMemoryTransports(2), &world).code(),
      StatusCode::InvalidArgument);
}

} // namespace

std::vector<Backend> backends() {
  return {messages("Sleeping", 0, 1),
          messages("Spinning", 200, 1),
          messages("WithTeams", 0, 2),
          messages("Ring", 0, 1, Algorithm::Ring),
          messages("ReduceToOne", 0, 1, Algorithm::ReduceToOne),
          messages("Exchange", 0, 1, Algorithm::Exchange),
          messages("Gather", 0, 1, Algorithm::Gather),
          messages("Parts", 0, 1, Algorithm::Parts)};
}

} // namespace dist::cts
