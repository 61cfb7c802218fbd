//===- mpi_test.cpp - A site's MPI beside the local communicator ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs under mpirun: each process is one rank, and knows what all of them give,
// so that ranks of its own threads do the same by the local communicator. What
// comes out is equal within rounding.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/local.h"
#include "runtime/comm/mpi/mpi.h"
#include "test/runtime/cts/all_kinds_step.h"
#include <chrono>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

namespace dist::cts {
namespace {

using Kind = CollectiveKind;

const dist_comm_vtable *mpi = nullptr;
int self = 0, ranks = 1;

struct Case {
  Kind kind = Kind::AllReduce;
  DataType type = manifest::F32;
  Reduction reduction = Reduction::Sum;
  std::vector<int64_t> axes = {0}, sources;
  int64_t peer = 0;
};

struct Mpi : testing::Test {
  std::shared_ptr<World> world;
  std::vector<int64_t> mesh;

  void open(std::vector<int64_t> sizes, double timeout = 60) {
    mesh = std::move(sizes);
    WorldOptions options;
    options.mesh = mesh;
    options.timeout = timeout;
    Status status = makeMpiWorld(*mpi, options, self, &world);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  /// Three blocks a row of five, of which a rank's part is cut out of or put
  /// between those of the others.
  static Piece pieceOf(const Case &c, int64_t size) {
    int64_t width = byteSize(c.type), block = 6 * width;
    Piece piece{};
    piece.type = c.type;
    piece.outer = 5;
    piece.rows = 1;
    piece.bytes = block;
    piece.from_outer = piece.to_outer = block;
    bool cuts = c.kind == Kind::AllToAll || c.kind == Kind::ReduceScatter;
    bool joins = c.kind == Kind::AllToAll || c.kind == Kind::AllGather;
    if (cuts) {
      piece.from_outer = block * size;
      piece.from_place = block;
    }
    if (joins) {
      piece.to_outer = block * size;
      piece.to_place = block;
    }
    return piece;
  }
  static std::vector<char> valuesOf(DataType type, int64_t bytes, int rank) {
    std::vector<char> result(bytes);
    for (int64_t i = 0; i < bytes / int64_t(byteSize(type)); ++i) {
      int value = 1 + (i * 7 + rank * 3) % 3;
      if (type == manifest::F32) {
        float x = value + 0.25f;
        std::memcpy(&result[4 * i], &x, 4);
      } else if (type == manifest::BF16) {
        uint16_t x = value == 1 ? 0x3f80 : value == 2 ? 0x4000 : 0x4040;
        std::memcpy(&result[2 * i], &x, 2);
      } else if (type == manifest::BOOL) {
        result[i] = value == 1;
      } else {
        int64_t x = value;
        std::memcpy(&result[byteSize(type) * i], &x, byteSize(type));
      }
    }
    return result;
  }
  static Status runOf(Communicator &rank, const Case &c,
                      std::vector<char> *result) {
    uint32_t mask = 0;
    for (int64_t axis : c.axes)
      mask |= 1u << axis;
    int64_t size = rank.groupSize(mask);
    Piece pieces[2] = {pieceOf(c, size), pieceOf(c, size)};
    std::vector<char> from[2], to[2];
    void *fromAt[2], *toAt[2];
    for (int i = 0; i < 2; ++i) {
      from[i] = valuesOf(c.type, bytesFrom(pieces[i], size), rank.rank() + i);
      to[i].resize(bytesTo(pieces[i], size));
      fromAt[i] = from[i].data();
      toAt[i] = to[i].data();
    }
    Collective call;
    call.kind = c.kind;
    call.op = 7;
    call.reduction = c.reduction;
    call.peer = c.peer;
    call.axes = {c.axes.data(), int64_t(c.axes.size())};
    call.sources = {c.sources.data(), int64_t(c.sources.size())};
    call.pieces = {pieces, 2};
    Status status = rank.runOnce(call, fromAt, toAt);
    for (int i = 0; i < 2; ++i)
      result->insert(result->end(), to[i].begin(), to[i].end());
    return status;
  }
  void expectAsLocal(const Case &c) {
    SCOPED_TRACE(std::string(name(c.kind)) + " of " + name(c.type));
    std::vector<char> actual;
    Status status = runOf(world->rank(self), c, &actual);
    ASSERT_TRUE(status.ok()) << status.message();
    WorldOptions options;
    options.mesh = mesh;
    options.spinMicroseconds = 0;
    std::unique_ptr<LocalWorld> local;
    ASSERT_TRUE(LocalWorld::create(options, &local).ok());
    std::vector<std::vector<char>> expected(ranks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        EXPECT_TRUE(runOf(local->rank(rank), c, &expected[rank]).ok());
      });
    for (std::thread &thread : threads)
      thread.join();
    ASSERT_EQ(actual.size(), expected[self].size());
    if (c.type != manifest::F32) {
      EXPECT_EQ(actual, expected[self]); // these sums are exact
      return;
    }
    for (size_t i = 0; i < actual.size(); i += 4) {
      float a, b;
      std::memcpy(&a, &actual[i], 4);
      std::memcpy(&b, &expected[self][i], 4);
      ASSERT_NEAR(a, b, 1e-6 * std::abs(b)) << "element " << i / 4;
    }
  }
};

TEST_F(Mpi, EveryKind) {
  open({ranks});
  std::vector<int64_t> around(ranks);
  for (int i = 0; i < ranks; ++i)
    around[i] = i == 0 ? -1 : i - 1;
  for (Kind kind : {Kind::AllReduce, Kind::AllGather, Kind::ReduceScatter,
                    Kind::AllToAll, Kind::Broadcast, Kind::Permute})
    for (DataType type : {manifest::F32, manifest::BF16, manifest::I64}) {
      Case c;
      c.kind = kind;
      c.type = type;
      c.peer = kind == Kind::Broadcast ? ranks - 1 : 0;
      if (kind == Kind::Permute)
        c.sources = around;
      expectAsLocal(c);
    }
  EXPECT_TRUE(world->rank(self).barrier(8, 1).ok());
}

TEST_F(Mpi, ReductionsOfTypes) {
  open({ranks});
  for (DataType type :
       {manifest::F32, manifest::F64, manifest::BF16, manifest::BOOL,
        manifest::I8, manifest::U16, manifest::I32, manifest::U64})
    for (Reduction reduction :
         {Reduction::Sum, Reduction::Max, Reduction::Min, Reduction::Product})
      expectAsLocal({Kind::AllReduce, type, reduction, {0}, {}});
}

TEST_F(Mpi, GroupsAndOrdersOfAxes) {
  if (ranks % 2)
    GTEST_SKIP() << "no second axis";
  open({2, ranks / 2});
  for (const std::vector<int64_t> &axes :
       {std::vector<int64_t>{0}, {1}, {0, 1}, {1, 0}, {}})
    for (Kind kind : {Kind::AllReduce, Kind::AllGather, Kind::ReduceScatter,
                      Kind::AllToAll})
      expectAsLocal({kind, manifest::F32, Reduction::Sum, axes, {}});
}

TEST_F(Mpi, SendsDoNotWait) {
  open({ranks});
  DenseCollective message(Kind::Send, 0, 1, manifest::I32, 4 << 16);
  Collective &call = message.call;
  // Each sends to the next, and only then hears from the one before.
  std::vector<int32_t> own(1 << 16, self), others(1 << 16);
  void *from = own.data(), *to = others.data();
  for (int round = 0; round < 3; ++round) {
    call.tag = 5;
    call.peer = (self + 1) % ranks;
    EXPECT_TRUE(world->rank(self).runOnce(call, &from, nullptr).ok());
  }
  std::fill(own.begin(), own.end(), -1); // a copy is on its way
  for (int round = 0; round < 3; ++round) {
    call.kind = Kind::Recv;
    call.peer = (self + ranks - 1) % ranks;
    Status status = world->rank(self).runOnce(call, nullptr, &to);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(others, std::vector<int32_t>(1 << 16, call.peer));
  }
}

// The second group of each rank meets while its first waits for a rank that
// comes when that is over.
TEST_F(Mpi, AGroupDoesNotWaitForAnother) {
  if (ranks != 4)
    GTEST_SKIP() << "two axes of two ranks are needed";
  open({2, 2});
  Communicator &rank = world->rank(self);
  auto sum = [&](uint32_t axes, int expected) {
    std::vector<int32_t> data(30000, self);
    Status status =
        rank.allReduce(int32_t(axes), data.data(), int64_t(data.size()),
                       manifest::I32, Reduction::Sum, axes);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(data.front(), expected);
    EXPECT_EQ(data.back(), expected);
  };
  auto sumMany = [&](int expected) {
    for (int i = 0; i < 10; ++i)
      sum(2, expected);
  };
  if (self == 0) {
    std::thread beside([&] { sum(1, 2); });
    sumMany(1);
    // From here on the rank that is late may come.
    EXPECT_TRUE(rank.barrier(9, 2).ok());
    beside.join();
  } else if (self == 1) {
    sumMany(1);
    EXPECT_TRUE(rank.barrier(9, 2).ok());
    sum(1, 4);
  } else if (self == 3) {
    sum(1, 4);
    EXPECT_TRUE(rank.barrier(9, 2).ok());
  } else {
    EXPECT_TRUE(rank.barrier(9, 2).ok());
    sum(1, 2);
  }
  EXPECT_TRUE(rank.barrier(9, 3).ok());
}

// What a plan sent has its memory until MPI has taken it.
TEST_F(Mpi, ASendIsNotOverwritten) {
  open({ranks});
  DenseCollective message(self == 0 ? Kind::Send : Kind::Recv, 0, 1,
                          manifest::I32, 4 << 16);
  message.call.tag = 6;
  message.call.peer = self == 0 ? 1 : 0;
  std::unique_ptr<CollectivePlan> plan;
  if (self < 2)
    ASSERT_TRUE(world->rank(self).prepare(message.call, &plan).ok());
  for (int i = 0; self < 2 && i < 4; ++i) {
    std::vector<int32_t> data(1 << 16, self == 0 ? i : -1);
    void *buffer = data.data();
    Status status = world->rank(self).run(*plan, &buffer, &buffer);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(data, std::vector<int32_t>(1 << 16, i));
  }
}

// A sum has what goes alone, where what comes replaces it, and 16-bit floats as
// f32: however many ranks there are.
TEST_F(Mpi, SumsPackWhatIsTheirOwn) {
  open({ranks});
  constexpr int64_t bytes = 1 << 20;
  std::unique_ptr<CollectivePlan> plan;
  DenseCollective sum(Kind::AllReduce, 3, 1, manifest::F32, bytes);
  ASSERT_TRUE(world->rank(self).prepare(sum.call, &plan).ok());
  EXPECT_LT(plan->memory->bytes(), 2 * bytes);
  DenseCollective half(Kind::AllReduce, 4, 1, manifest::BF16, bytes);
  ASSERT_TRUE(world->rank(self).prepare(half.call, &plan).ok());
  EXPECT_LT(plan->memory->bytes(), 4 * bytes);
}

// Nor does the library that has MPI in it; what MPI takes itself is not
// counted.
TEST_F(Mpi, StepsTakeNone) {
  open({ranks});
  int64_t fewest = -1, before = allocations.load();
  countFewestAllocations(world->rank(self), 4, 1, &fewest);
  EXPECT_EQ(fewest, 0);
  if (isCounted) {
    EXPECT_GT(allocations.load(), before) << "what is prepared is counted";
  }
}

TEST_F(Mpi, DifferentCollectivesAreToldApart) {
  open({ranks});
  float data[4] = {};
  Status status = world->rank(self).allReduce(3, data, self == 0 ? 3 : 4,
                                              manifest::F32, Reduction::Sum, 1);
  EXPECT_NE(status.message().find("different collectives"), std::string::npos)
      << status.message();
  EXPECT_FALSE(world->rank(self).barrier(4, 1).ok());
}

// Of a program of its own: what is under way when a wait ends is not taken
// back.
TEST_F(Mpi, MissingRanksEndTheWait) {
  open({ranks}, self == 0 ? 1 : 60);
  Communicator &rank = world->rank(self);
  if (self == 0) {
    Status status = rank.barrier(9, 1);
    EXPECT_NE(status.message().find("barrier of op 9"), std::string::npos)
        << status.message();
    world->reset();
    EXPECT_FALSE(rank.barrier(9, 1).ok());
  } else {
    // Longer than the first is patient.
    std::this_thread::sleep_for(std::chrono::seconds(3));
  }
}

TEST(MpiLibrary, ThatIsMissingIsNamed) {
  const dist_comm_vtable *table = nullptr;
  Status status = loadMpi({"./no-such-file.so"}, &table);
  EXPECT_NE(status.message().find("no-such-file.so"), std::string::npos);
  EXPECT_NE(status.message().find("libopenmpi-dev"), std::string::npos);
}

} // namespace
} // namespace dist::cts

int main(int count, char **arguments) {
  testing::InitGoogleTest(&count, arguments);
  using namespace dist;
  Status status = loadMpi({arguments[1]}, &cts::mpi);
  dist_comm_group *all = nullptr;
  if (!status.ok() || cts::mpi->init(&all, &cts::self, &cts::ranks) != 0)
    return 1;
  return RUN_ALL_TESTS();
}
