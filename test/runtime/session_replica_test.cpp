//===- session_replica_test.cpp - What a closure draws by -----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/parameter_server/app_replica.h"
#include "test/runtime/train_fixture.h"

namespace dist::ps {
namespace {

using Steps = std::vector<int64_t>;

/// A worker's session of a model that draws random numbers, and its closures.
struct SessionReplicaTest : TrainTest {
  struct Worker {
    FakeSession session{4, 4, /*accumulate=*/2};
    Layout layout;
    std::unique_ptr<Dataset> dataset;
    std::unique_ptr<SessionReplica> replica;
  };
  void open(Worker &worker) {
    worker.session.countDraws();
    worker.layout.manifest = worker.session.manifest();
    worker.dataset = data(worker.session, 16);
    Status status =
        SessionReplica::create(worker.session, worker.layout,
                               worker.dataset.get(), {}, &worker.replica);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  static void compute(Replica &replica) {
    ReportBody report;
    Buffer gained;
    bool isPushed = false;
    Status status = replica.compute(&report, &gained, &isPushed);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(isPushed);
  }
  static void run(Worker &worker, const Steps &closures) {
    for (int64_t closure : closures) {
      EXPECT_TRUE(worker.replica->begin(closure).ok());
      compute(*worker.replica);
    }
  }
  static int find(const Session &session, const std::string &name) {
    for (int i = 0; i < session.manifest().variables_size(); ++i)
      if (session.manifest().variables(i).name() == name)
        return i;
    ADD_FAILURE() << "no variable " << name;
    return 0;
  }
};

TEST_F(SessionReplicaTest, AClosureDrawsByItsNumber) {
  Worker one, other;
  open(one);
  open(other);
  // Two share the steps as they come; one that was lost is run again.
  run(one, {0, 2, 3});
  run(other, {1, 4, 3});
  EXPECT_EQ(one.session.draws, (Steps{0, 2, 3}));
  EXPECT_EQ(other.session.draws, (Steps{1, 4, 3}));
}

TEST_F(SessionReplicaTest, ClosuresCountFromWhatThePackageHas) {
  Worker worker;
  open(worker);
  const int64_t trained = 30;
  const int counter = find(worker.session, kStepCounter);
  ASSERT_TRUE(
      worker.session.writeVariable(counter, {manifest::I64, {}, &trained})
          .ok());
  run(worker, {0, 1, 5});
  EXPECT_EQ(worker.session.draws, (Steps{30, 31, 35}));
  Tensor value;
  ASSERT_TRUE(worker.session.readVariable(counter, &value).ok());
  EXPECT_EQ(reinterpret_cast<const int64_t *>(value.data.data())[0], 30);
}

/// Data without a full batch have none where remainders are dropped.
TEST_F(SessionReplicaTest, NoFullBatchIsAnError) {
  FakeSession session{4, 4, /*accumulate=*/2};
  Layout layout;
  layout.manifest = session.manifest();
  std::unique_ptr<Dataset> few = data(session, 3);
  ReplicaOptions options;
  std::unique_ptr<SessionReplica> replica;
  EXPECT_TRUE(
      SessionReplica::create(session, layout, few.get(), options, &replica)
          .ok());
  options.dropRemainder = true;
  EXPECT_EQ(
      SessionReplica::create(session, layout, few.get(), options, &replica)
          .message(),
      "no full batch (a worker's dataset): it has 3 examples, a batch 4; "
      "give it more, or let it keep what does not fill a batch");
}

/// A worker's dataset is its own, and the numbers of its batches are the same
/// on all workers: they are not what it draws by.
TEST_F(SessionReplicaTest, AnAppsStepDrawsByItsClosureToo) {
  FakeSession session(4, 4, /*accumulate=*/2);
  session.countDraws();
  Layout layout;
  layout.manifest = session.manifest();
  std::unique_ptr<AppReplica> replica;
  ASSERT_TRUE(AppReplica::create(session, layout, &replica).ok());
  for (const char *name : {"first", "second"})
    replica->addDataset(name,
                        [&](std::unique_ptr<Dataset> *out, ReplicaOptions *) {
                          *out = data(session, 16);
                          return Status();
                        });
  for (auto [closure, name] :
       {std::pair(3, "first"), std::pair(7, "second"), std::pair(8, "first")}) {
    ASSERT_TRUE(replica->beginWork(closure, packStep(name)).ok());
    compute(*replica);
  }
  EXPECT_EQ(session.draws, (Steps{3, 7, 8}));
}

} // namespace
} // namespace dist::ps
