//===- served_session_test.cpp - Variables that servers hold --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/message/memory/memory.h"
#include "runtime/parameter_server/served_session.h"
#include "test/runtime/values_session.h"
#include "runtime/parameter_server/server.h"
#include <gtest/gtest.h>
#include <thread>

namespace dist::ps {
namespace {

void addVariable(manifest::Manifest *manifest, const std::string &name,
                 std::vector<int64_t> shape, const std::string &group,
                 const std::string &slotOf = "") {
  manifest::Variable *variable = manifest->add_variables();
  variable->set_name(name);
  variable->set_group(group);
  variable->set_slot_of(slotOf);
  variable->mutable_global_type()->set_type(manifest::F32);
  for (int64_t dim : shape)
    variable->mutable_global_type()->add_shape(dim);
  *variable->mutable_local_type() = variable->global_type();
}

/// A server's state as bytes.
class StateShard : public Shard {
public:
  bool isPull(const Buffer &) const override { return false; }
  bool isPush(const Buffer &) const override { return false; }
  size_t stateBytes() const override { return state.size(); }
  Status readParameters(Buffer *) override { return Status(); }
  Status addRows(const Buffer &, Buffer *) override { return Status(); }
  Status apply(const Buffer &, AppliedBody *) override { return Status(); }
  Status readState(Buffer *out) override {
    ++reads;
    *out = state;
    return Status();
  }
  Status writeState(const Buffer &written) override {
    state = written;
    return Status();
  }
  float *at(size_t offset) {
    return reinterpret_cast<float *>(state.data() + offset);
  }
  Buffer state;
  int reads = 0;
};

/// w [5, 2] is cut in rows of 3 and 2, b is on server 1; each server counts its
/// updates.
struct ServedSessionTest : testing::Test {
  Layout layout;
  StateShard shards[2];
  std::vector<std::unique_ptr<Mail>> mails;
  std::unique_ptr<Coordinator> coordinator;
  std::unique_ptr<ServedSession> session;
  ValuesSession *worker = nullptr;
  std::vector<std::thread> threads;
  Cast cast;

  void SetUp() override {
    addVariable(&layout.manifest, "w", {5, 2}, "parameter");
    addVariable(&layout.manifest, "b", {}, "parameter");
    addVariable(&layout.manifest, "metric/loss/total", {}, "metric");
    layout.servers.resize(2);
    addPart(0, 0, "w/part_0", {3, 2}, 0);
    addPart(1, 0, "w/part_1", {2, 2}, 3);
    addPart(1, 1, "b", {}, 0);
    for (ServerLayout &server : layout.servers)
      addVariable(&server.manifest, "optimizer/iteration", {}, "counter");
    addVariable(&layout.servers[0].manifest, "optimizer/w/m/part_0", {3, 2},
                "slot", "w/part_0");
    addVariable(&layout.servers[1].manifest, "optimizer/w/m/part_1", {2, 2},
                "slot", "w/part_1");
    for (int server : {0, 1}) {
      ServerLayout &of = layout.servers[server];
      for (int i = 0; i < of.manifest.variables_size(); ++i)
        of.stateOffsets.push_back(64 * size_t(i));
      of.stateBytes = 64 * size_t(of.manifest.variables_size());
      shards[server].state.assign(of.stateBytes, 0);
    }
    cast.workers = 1;
    cast.servers = 2;
    cast.names = {"chief 0", "worker 0", "ps 0", "ps 1"};
    for (auto &end : makeMemoryTransports(cast.ranks()))
      mails.push_back(std::make_unique<Mail>(std::move(end), 1 << 16));
    CoordinatorOptions options;
    options.cast = cast;
    coordinator = std::make_unique<Coordinator>(*mails[0], options);
  }
  void addStepCounter(DataType type) {
    addVariable(&layout.manifest, kStepCounter, {}, "counter");
    manifest::Variable &counter =
        *layout.manifest.mutable_variables()->rbegin();
    counter.mutable_global_type()->set_type(type);
    counter.mutable_local_type()->set_type(type);
  }
  void addPart(int server, int variable, const std::string &name,
               std::vector<int64_t> shape, int64_t begin) {
    ServerLayout &of = layout.servers[server];
    PlacedPart part;
    part.variable = variable;
    part.there = of.manifest.variables_size();
    part.begin = begin;
    part.shape = shape;
    part.type = manifest::F32;
    part.bytes = sizeof(float) * size_t(elementCount(shape));
    part.offset = of.partBytes;
    part.offsetInWhole = sizeof(float) * 2 * size_t(begin);
    of.partBytes += 64;
    of.parts.push_back(part);
    addVariable(&of.manifest, name, shape, "parameter");
  }
  Status open() {
    for (int server : {0, 1})
      threads.emplace_back([this, server] {
        Ending ending;
        Status status = serve(*mails[cast.server(server)], shards[server],
                              {cast, nullptr, nullptr}, &ending);
        EXPECT_TRUE(status.ok()) << status.message();
      });
    auto made = std::make_unique<ValuesSession>(layout.manifest);
    worker = made.get();
    return ServedSession::create(std::move(made), layout, *coordinator,
                                 &session);
  }
  void TearDown() override {
    coordinator->end(Status());
    for (std::thread &thread : threads)
      thread.join();
  }
  int find(const std::string &name) {
    for (int i = 0; i < session->manifest().variables_size(); ++i)
      if (session->manifest().variables(i).name() == name)
        return i;
    ADD_FAILURE() << "no variable " << name;
    return 0;
  }
  void setMetricType(manifest::DataType type) {
    manifest::Variable *metric = layout.manifest.mutable_variables(2);
    metric->mutable_global_type()->set_type(type);
    metric->mutable_local_type()->set_type(type);
  }
  std::vector<float> read(const std::string &name) {
    Tensor value;
    Status status = session->readVariable(find(name), &value);
    EXPECT_TRUE(status.ok()) << status.message();
    const float *numbers = reinterpret_cast<const float *>(value.data.data());
    return {numbers, numbers + elementCount(value.shape)};
  }
  void write(const std::string &name, std::vector<float> numbers) {
    const auto &type = session->manifest().variables(find(name)).global_type();
    TensorView view{
        manifest::F32, {type.shape().begin(), type.shape().end()}, nullptr};
    view.data = numbers.data();
    Status status = session->writeVariable(find(name), view);
    EXPECT_TRUE(status.ok()) << status.message();
  }
};

TEST_F(ServedSessionTest, HasTheVariablesOfOneDevice) {
  ASSERT_TRUE(open().ok());
  std::vector<std::string> names;
  for (const manifest::Variable &variable : session->manifest().variables())
    names.push_back(variable.name());
  EXPECT_EQ(names,
            (std::vector<std::string>{"w", "b", "metric/loss/total",
                                      "optimizer/iteration", "optimizer/w/m"}));
  const manifest::Variable &slot = session->manifest().variables(4);
  EXPECT_EQ(slot.slot_of(), "w");
  ASSERT_EQ(slot.global_type().shape_size(), 2);
  EXPECT_EQ(slot.global_type().shape(0), 5);
  EXPECT_EQ(slot.local_type().shape(0), 5);
}

TEST_F(ServedSessionTest, ReadsPartsTogetherAndWritesThemApart) {
  for (int i = 0; i < 6; ++i) {
    shards[0].at(0)[i] = float(i);       // w/part_0
    shards[0].at(2 * 64)[i] = float(-i); // its slot
  }
  for (int i = 0; i < 4; ++i)
    shards[1].at(0)[i] = float(6 + i);
  shards[1].at(64)[0] = 0.5; // b
  for (int server : {0, 1})
    shards[server].at(server == 0 ? 64 : 2 * 64)[0] = 7; // iteration
  ASSERT_TRUE(open().ok());
  EXPECT_EQ(read("w"), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(read("b"), (std::vector<float>{0.5}));
  EXPECT_EQ(read("optimizer/iteration"), (std::vector<float>{7}));
  EXPECT_EQ(read("optimizer/w/m"),
            (std::vector<float>{0, -1, -2, -3, -4, -5, 0, 0, 0, 0}));
  // Each server was asked once.
  EXPECT_EQ(shards[0].reads, 1);

  write("w", {9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
  write("optimizer/iteration", {11});
  EXPECT_EQ(read("w"), (std::vector<float>{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(shards[0].at(0)[0], 0); // not before closures run
  ASSERT_TRUE(session->beginClosures().ok());
  EXPECT_EQ(shards[0].at(0)[0], 9);
  EXPECT_EQ(shards[1].at(0)[0], 3);
  EXPECT_EQ(shards[1].at(64)[0], 0.5);
  EXPECT_EQ(shards[0].at(64)[0], 11);
  EXPECT_EQ(shards[1].at(2 * 64)[0], 11);
  EXPECT_EQ(shards[0].at(2 * 64)[5], -5);
}

TEST_F(ServedSessionTest, ComputesWithWhatServersHave) {
  ASSERT_TRUE(open().ok());
  std::vector<Tensor> outputs;
  auto loaded = [&] {
    EXPECT_TRUE(session->run(manifest::Entry(), {}, &outputs).ok());
    return reinterpret_cast<const float *>(worker->values[0].data.data())[9];
  };
  shards[1].at(0)[3] = 4;
  EXPECT_EQ(loaded(), 4);
  shards[1].at(0)[3] = 5; // as closures do
  EXPECT_EQ(loaded(), 4);
  ASSERT_TRUE(session->beginClosures().ok());
  EXPECT_EQ(loaded(), 5);
  write("w", {0, 0, 0, 0, 0, 0, 0, 0, 0, 6});
  EXPECT_EQ(loaded(), 6);
}

TEST_F(ServedSessionTest, MetricsAreWhatClosuresGained) {
  ASSERT_TRUE(open().ok());
  auto add = [&](float gained) {
    Buffer bytes(sizeof gained);
    std::memcpy(bytes.data(), &gained, sizeof gained);
    EXPECT_TRUE(session->addMetrics(bytes).ok());
  };
  add(1.5);
  add(2);
  EXPECT_EQ(read("metric/loss/total"), (std::vector<float>{3.5}));
  add(1);
  EXPECT_EQ(read("metric/loss/total"), (std::vector<float>{4.5}));
  add(8);
  write("metric/loss/total", {0}); // a new epoch
  EXPECT_EQ(read("metric/loss/total"), (std::vector<float>{0}));
  EXPECT_FALSE(session->addMetrics(Buffer(2)).ok());
}

/// Examples count one by one where an f32 would stand still.
TEST_F(ServedSessionTest, MetricsOfF64GainSingleExamples) {
  setMetricType(manifest::F64);
  ASSERT_TRUE(open().ok());
  const int metric = find("metric/loss/total");
  for (const double gained : {16777216.0, 1.0, 1.0}) {
    Buffer bytes(sizeof gained);
    std::memcpy(bytes.data(), &gained, sizeof gained);
    EXPECT_TRUE(session->addMetrics(bytes).ok());
    Tensor value;
    EXPECT_TRUE(session->readVariable(metric, &value).ok());
  }
  Tensor value;
  ASSERT_TRUE(session->readVariable(metric, &value).ok());
  double count = 0;
  ASSERT_EQ(value.data.size(), sizeof count);
  std::memcpy(&count, value.data.data(), sizeof count);
  EXPECT_EQ(count, 16777218);
}

TEST_F(ServedSessionTest, MetricsOfIntegersAreRefused) {
  setMetricType(manifest::I32);
  const Status status = open();
  EXPECT_NE(status.message().find("metrics cannot be added up"),
            std::string::npos)
      << status.message();
}

/// What draws random numbers goes on elsewhere from the closures that are over.
TEST_F(ServedSessionTest, ClosuresAreStepsThatHaveDrawn) {
  addStepCounter(manifest::I64);
  ASSERT_TRUE(open().ok());
  const int counter = find(kStepCounter);
  auto steps = [&] {
    Tensor value;
    EXPECT_TRUE(session->readVariable(counter, &value).ok());
    return reinterpret_cast<const int64_t *>(value.data.data())[0];
  };
  EXPECT_EQ(steps(), 0);
  const Buffer gained(sizeof(float));
  EXPECT_TRUE(session->addMetrics(gained).ok());
  EXPECT_TRUE(session->addMetrics(gained).ok());
  EXPECT_EQ(steps(), 2);
  EXPECT_EQ(steps(), 2); // each counts once
  EXPECT_TRUE(session->addMetrics(gained).ok());
  Tensor slice;
  ASSERT_TRUE(session->readSlice(counter, 0, &slice).ok());
  EXPECT_EQ(reinterpret_cast<const int64_t *>(slice.data.data())[0], 3);
  EXPECT_TRUE(session->addMetrics(gained).ok());
  const int64_t resumed = 40; // of a saved state
  EXPECT_TRUE(
      session->writeVariable(counter, {manifest::I64, {}, &resumed}).ok());
  EXPECT_EQ(steps(), 40);
  EXPECT_TRUE(session->addMetrics(gained).ok());
  int64_t counted = 0;
  EXPECT_TRUE(session->countSteps(&counted).ok());
  EXPECT_EQ(counted, 41);
  EXPECT_EQ(steps(), 41);
}

TEST_F(ServedSessionTest, AStepCounterThatCountsNothingIsRefused) {
  addStepCounter(manifest::F32);
  Status status = open();
  EXPECT_EQ(status.code(), StatusCode::InvalidInput);
  EXPECT_NE(status.message().find(kStepCounter), std::string::npos);
}

TEST_F(ServedSessionTest, ServersThatDoNotAgreeAreRefused) {
  addVariable(&layout.servers[0].manifest, "optimizer/scale", {}, "counter");
  addVariable(&layout.servers[1].manifest, "optimizer/scale", {2}, "counter");
  for (ServerLayout &server : layout.servers)
    server.stateOffsets.push_back(0);
  Status status = open();
  EXPECT_EQ(status.code(), StatusCode::InvalidInput);
  EXPECT_NE(status.message().find("optimizer/scale"), std::string::npos);
}

TEST_F(ServedSessionTest, ASlotWithoutRowsCannotBeCut) {
  addVariable(&layout.servers[0].manifest, "optimizer/w/norm/part_0", {},
              "slot", "w/part_0");
  layout.servers[0].stateOffsets.push_back(0);
  Status status = open();
  EXPECT_EQ(status.code(), StatusCode::InvalidInput);
  EXPECT_NE(status.message().find("optimizer/w/norm/part_0"),
            std::string::npos);
}

} // namespace
} // namespace dist::ps
