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
#include "test/runtime/cts/message_apart.h"
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
  return ofMessages(name, create(false), create(true), algorithm);
}

using Kind = CollectiveKind;

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

// Of many slices, in place and not: each way sums in the order of ranks, or in
// that which it has in memory, too.
TEST(MessageWorld, SumsHaveTheBitsOfMemory) {
  for (int ranks : {2, 3, 4, 5, 6, 8}) {
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
          Sums{Kind::AllReduce, Algorithm::HalvingDoubling, {3, 1, 200}},
          Sums{Kind::AllReduce,
               Algorithm::HalvingDoubling,
               {150001, 7, 1, 40001}},
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
  std::vector<Backend> all = {messages("Sleeping", 0, 1),
                              messages("Spinning", 200, 1),
                              messages("WithTeams", 0, 2)};
  for (const AlgorithmFacts &one : allAlgorithms)
    if (one.algorithm != Algorithm::Auto)
      all.push_back(messages(one.name, 0, 1, one.algorithm));
  return all;
}

} // namespace dist::cts
