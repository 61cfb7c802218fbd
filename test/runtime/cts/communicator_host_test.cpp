//===- communicator_host_test.cpp - Transfers with a host -===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/cts/communicator_test.h"
#include <numeric>
#include <thread>

namespace dist::cts {

namespace {

using Kind = CollectiveKind;

/// A mesh of devices with one rank more, the last.
class HostTest : public CommunicatorTest {
protected:
  void SetUp() override {
    if (!GetParam().createWithHost)
      GTEST_SKIP() << "its meshes have no host";
  }

  std::unique_ptr<World> world;

  void create(std::vector<int64_t> mesh, double timeout = 20) {
    devices = std::accumulate(mesh.begin(), mesh.end(), int64_t(1),
                              std::multiplies<int64_t>());
    axes.resize(mesh.size());
    std::iota(axes.begin(), axes.end(), 0);
    world = GetParam().createWithHost(mesh, timeout);
  }
  /// One end, in pieces of `counts` floats one after another.
  Status call(int rank, Kind kind, std::vector<float> &data,
              std::vector<int64_t> counts, int64_t peer = -1,
              std::vector<int64_t> over = {}) {
    bool gives = (rank == devices) == (kind == Kind::Broadcast);
    std::vector<Piece> pieces(counts.size());
    std::vector<void *> addresses;
    int64_t offset = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      pieces[i].type = manifest::F32;
      pieces[i].outer = pieces[i].rows = 1;
      pieces[i].bytes = 4 * counts[i];
      addresses.push_back(data.data() + offset);
      offset += counts[i];
    }
    if (over.empty())
      over = axes;
    Collective what;
    what.kind = kind;
    what.op = 20;
    what.gives = gives;
    what.takes = !gives;
    what.peer = peer < 0 ? devices : peer;
    what.axes = {over.data(), int64_t(over.size())};
    what.pieces = {pieces.data(), int64_t(pieces.size())};
    return world->rank(rank).runOnce(what, gives ? addresses.data() : nullptr,
                                     gives ? nullptr : addresses.data());
  }
  /// On all ranks, the host's too.
  template <typename Body> void onAll(Body body) {
    onRanks(int(devices) + 1, body);
  }
  void expectOk(const Status &status) {
    EXPECT_TRUE(status.ok()) << status.message();
  }

  int64_t devices = 0;
  std::vector<int64_t> axes;
};

// Small and large, one piece and several, again and again.
TEST_P(HostTest, BroadcastsAndReduces) {
  for (const std::vector<int64_t> &mesh :
       {std::vector<int64_t>{1}, {2}, {3}, {2, 2}}) {
    create(mesh);
    for (std::vector<int64_t> counts :
         {std::vector<int64_t>{1}, {3, 5}, {70000}, {1, 40000, 7}}) {
      int64_t n = std::accumulate(counts.begin(), counts.end(), int64_t(0));
      onAll([&](int rank) {
        for (int round = 0; round < 3; ++round) {
          std::vector<float> data(n, -1);
          if (rank == devices)
            for (int64_t i = 0; i < n; ++i)
              data[i] = round + i;
          expectOk(call(rank, Kind::Broadcast, data, counts));
          for (int64_t i = 0; i < n; ++i)
            ASSERT_EQ(data[i], round + i);
          for (int64_t i = 0; i < n; ++i)
            data[i] = rank == devices ? -1 : rank + i % 100;
          expectOk(call(rank, Kind::Reduce, data, counts));
          for (int64_t i = 0; i < n; ++i)
            ASSERT_EQ(data[i], rank == devices ? devices * (devices - 1) / 2 +
                                                     devices * (i % 100)
                                               : rank + i % 100);
        }
      });
    }
  }
}

// In the order of the devices' places, whoever comes first: the same bits as
// adding them one after another.
TEST_P(HostTest, ReducesInOrder) {
  create({3});
  for (int64_t n : {5, 30000}) {
    std::vector<float> expected(n), got(n);
    auto part = [](int rank, int64_t i) {
      return (rank == 1 ? 1e8f : rank == 2 ? -1e8f : 1.25f) + float(i % 7);
    };
    for (int64_t i = 0; i < n; ++i)
      expected[i] = part(0, i) + part(1, i) + part(2, i);
    for (int late = 0; late < 3; ++late) {
      onAll([&](int rank) {
        std::vector<float> data(n);
        for (int64_t i = 0; i < n; ++i)
          data[i] = part(rank, i);
        if (rank == late)
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
        expectOk(call(rank, Kind::Reduce, data, {n}));
        if (rank == devices)
          got = data;
      });
      EXPECT_EQ(got, expected);
    }
  }
}

// Devices have collectives of their own, of which the host knows nothing.
TEST_P(HostTest, DevicesMeetWithoutIt) {
  create({2});
  std::thread host([&] {
    std::vector<float> sum(1);
    expectOk(call(2, Kind::Reduce, sum, {1}));
    EXPECT_EQ(sum[0], 6);
  });
  std::thread other([&] {
    std::vector<float> value{2};
    expectOk(world->rank(1).allReduce(1, value.data(), 1, manifest::F32,
                                      Reduction::Sum, 1));
    expectOk(call(1, Kind::Reduce, value, {1}));
  });
  std::vector<float> value{1};
  expectOk(world->rank(0).allReduce(1, value.data(), 1, manifest::F32,
                                    Reduction::Sum, 1));
  EXPECT_EQ(value[0], 3);
  expectOk(call(0, Kind::Reduce, value, {1}));
  other.join();
  host.join();
}

TEST_P(HostTest, WhoStaysAwayIsNamed) {
  create({2}, 1);
  auto giveAndTake = [&](int rank) {
    std::vector<float> value{1};
    Status given = call(rank, Kind::Reduce, value, {1});
    EXPECT_TRUE(!given.ok() || !GetParam().giversWait);
    return given.ok() ? call(rank, Kind::Broadcast, value, {1}) : given;
  };
  std::thread other(
      [&] { EXPECT_EQ(giveAndTake(1).code(), StatusCode::Unavailable); });
  Status status = giveAndTake(0);
  other.join();
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_NE(status.message().find("rank 2 did not arrive"), std::string::npos)
      << status.message();
  world->reset();
  onAll([&](int rank) {
    std::vector<float> value{1};
    expectOk(call(rank, Kind::Reduce, value, {1}));
  });
}

// The host waits as long as devices compute.
TEST_P(HostTest, TheHostIsPatient) {
  create({2}, 0.5);
  onAll([&](int rank) {
    std::vector<float> value{1};
    if (rank < devices)
      std::this_thread::sleep_for(std::chrono::milliseconds(800));
    expectOk(call(rank, Kind::Reduce, value, {1}));
  });
}

TEST_P(HostTest, WrongDescriptionsAreErrors) {
  create({2, 2});
  std::vector<float> value{1};
  // Not all devices; a place that there is not; a call of the devices' own.
  EXPECT_EQ(call(4, Kind::Reduce, value, {1}, 2, {0}).code(),
            StatusCode::Internal);
  for (int64_t peer : {1, 7})
    EXPECT_EQ(call(0, Kind::Reduce, value, {1}, peer).code(),
              StatusCode::Internal);
  EXPECT_EQ(world->rank(4)
                .allReduce(0, value.data(), 1, manifest::F32, Reduction::Sum, 1)
                .code(),
            StatusCode::Internal);
  // Without a host there is no such place.
  world = GetParam().create({2, 2}, 1);
  EXPECT_FALSE(call(0, Kind::Reduce, value, {1}).ok());
  EXPECT_FALSE(call(0, Kind::Broadcast, value, {1}).ok());
}

INSTANTIATE_TEST_SUITE_P(Backends, HostTest, testing::ValuesIn(backends()),
                         [](const testing::TestParamInfo<Backend> &info) {
                           return info.param.name;
                         });

} // namespace
} // namespace dist::cts
