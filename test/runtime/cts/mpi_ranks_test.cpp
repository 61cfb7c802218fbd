//===- mpi_ranks_test.cpp - What a rank of MPI's keeps and takes ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs under mpirun, each process one rank: of what is asked of a process
// itself, as what memory it takes. All else is in mpi_test.cpp.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/mpi/mpi.h"
#include "test/runtime/cts/all_kinds_step.h"

namespace dist::cts {
namespace {

using Kind = CollectiveKind;

const dist_comm_vtable *mpi = nullptr;
int self = 0, ranks = 1;

struct Mpi : testing::Test {
  std::shared_ptr<World> world;

  Status make(const std::vector<int64_t> &mesh, bool host = false) {
    WorldOptions options;
    options.mesh = mesh;
    options.host = host;
    options.timeout = 60;
    return makeMpiWorld(*mpi, options, self, &world);
  }
  void open() {
    Status status = make({ranks});
    ASSERT_TRUE(status.ok()) << status.message();
  }
};

// What a plan sent has its memory until MPI has taken it.
TEST_F(Mpi, ASendIsNotOverwritten) {
  open();
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
  open();
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
  open();
  int64_t fewest = -1, before = allocations.load();
  countFewestAllocations(world->rank(self), 4, 1, &fewest);
  EXPECT_EQ(fewest, 0);
  if (isCounted) {
    EXPECT_GT(allocations.load(), before) << "what is prepared is counted";
  }
}

TEST_F(Mpi, OtherMeshesAreRefused) {
  Status status = make({ranks}, /*host=*/true);
  EXPECT_NE(status.message().find("a device of the host's takes part, which is "
                                  "no process"),
            std::string::npos)
      << status.message();
  status = make({ranks, 2});
  EXPECT_NE(status.message().find("start with mpirun -n " +
                                  std::to_string(2 * ranks)),
            std::string::npos)
      << status.message();
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
