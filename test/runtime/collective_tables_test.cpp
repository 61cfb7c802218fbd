//===- collective_tables_test.cpp - Times between those of a table --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/schedule/links.h"
#include "runtime/comm/schedule/times.h"
#include "runtime/formats/file.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <unistd.h>

namespace dist {
namespace {

using Kind = CollectiveKind;

constexpr LinkClass process = LinkClass::Process;

TimedCall ask(int64_t ranks, int64_t bytes,
              Algorithm algorithm = Algorithm::Parts) {
  return {Kind::AllReduce, algorithm, process, ranks, bytes};
}

CollectiveTable makeTable() {
  CollectiveTable table;
  table.add({Kind::AllReduce, Algorithm::Parts, process, 2, 100, 1});
  table.add({Kind::AllReduce, Algorithm::Parts, process, 2, 200, 3});
  table.add({Kind::AllReduce, Algorithm::Parts, process, 4, 100, 5});
  table.add({Kind::AllReduce, Algorithm::Exchange, process, 2, 100, 0.5});
  table.add({Kind::AllReduce, Algorithm::Ring, process, 2, 100, 0.1});
  table.add({Kind::AllReduce, Algorithm::Ring, process, 2, 200, 0.1});
  table.add(
      {Kind::AllReduce, Algorithm::HalvingDoubling, process, 2, 200, 0.1});
  return table;
}

TEST(CollectiveTable, FindsBetweenRows) {
  CollectiveTable table = makeTable();
  EXPECT_EQ(table.find(ask(2, 100)), 1);
  EXPECT_EQ(table.find(ask(2, 150)), 2);
  // What is smaller waits as long; what is larger moves as fast.
  EXPECT_EQ(table.find(ask(2, 8)), 1);
  EXPECT_EQ(table.find(ask(2, 400)), 6);
  EXPECT_EQ(table.find(ask(3, 100)), 3);
  EXPECT_EQ(table.find(ask(4, 200)), 10);
}

TEST(CollectiveTable, FindsNothingBeyondThem) {
  CollectiveTable table = makeTable();
  EXPECT_FALSE(table.find(ask(5, 100)));
  EXPECT_FALSE(table.find(ask(3, 100, Algorithm::Exchange)));
  TimedCall network = ask(2, 100);
  network.link = LinkClass::Network;
  EXPECT_FALSE(table.find(network));
  EXPECT_EQ(table.describeMissing(ask(5, 100)),
            "all_reduce by parts of 5 ranks over process; of that collective "
            "and link it has those of 2, 4 ranks");
}

TEST(CollectiveTable, ChoosesByTimeAndOrderOfSums) {
  CollectiveTable table = makeTable();
  EXPECT_EQ(table.chooseAllReduce(ask(2, 100)), Algorithm::Exchange);
  // Larger than an exchange was measured for; what is faster has other bits.
  EXPECT_EQ(table.chooseAllReduce(ask(2, 101)), Algorithm::Parts);
  EXPECT_EQ(table.chooseAllReduce(ask(9, 100)), Algorithm::Auto);
}

/// A file that is gone with the object.
struct File {
  explicit File(const std::string &text) {
    int descriptor = mkstemp(path);
    EXPECT_GE(descriptor, 0);
    close(descriptor);
    Status status = writeFile(path, text);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  ~File() { unlink(path); }
  char path[32] = "/tmp/collective_tables_XXXXXX";
};

TEST(CollectiveTable, ReadsWhatIsWritten) {
  File file("");
  CollectiveTimes times = {
      {Kind::AllReduce, Algorithm::Parts, process, 2, 8, 1e-6},
      {Kind::Permute, Algorithm::Auto, LinkClass::Network, 8, 16, 2e-6}};
  Status status = writeCollectiveTimes(file.path, times);
  ASSERT_TRUE(status.ok()) << status.message();
  CollectiveTable table;
  status = CollectiveTable::read(file.path, &table);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(table.find(ask(2, 8)), 1e-6);
  EXPECT_EQ(
      table.find({Kind::Permute, Algorithm::Auto, LinkClass::Network, 8, 16}),
      2e-6);
}

TEST(CollectiveTable, HasNoFieldsBeyondThoseOfATime) {
  File file(R"({"version": 1, "collectives": [
    {"collective": "permute", "algorithm": "auto", "link": "network",
     "ranks": 8, "bytes": 16, "second": 2e-6}]})");
  CollectiveTable table;
  const std::string message =
      CollectiveTable::read(file.path, &table).message();
  EXPECT_NE(message.find("line 3): there is no 'second'; did you mean "
                         "'seconds'?"),
            std::string::npos)
      << message;
}

} // namespace
} // namespace dist
