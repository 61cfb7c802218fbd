//===- session_portions_test.cpp - Ranks of unequal portions --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/package.h"
#include "test/runtime/session_fixture.h"
#include <numeric>

namespace dist::test {
namespace {

/// Two devices, with 6 and 2 of 8 examples.
class SharesTest : public SessionTest {
protected:
  void describeShares() {
    m.set_abi_version(DIST_RT_ABI_VERSION);
    m.set_threads_per_device(1);
    m.set_ranks(2);
    auto *axis = m.mutable_mesh()->add_axes();
    axis->set_name("data");
    axis->set_size(2);
    axis->add_weights(3);
    axis->add_weights(1);
    for (int64_t size : {6, 2}) {
      m.add_program_of_rank(m.programs_size());
      manifest::Program *program = m.add_programs();
      program->set_device("cpu");
      manifest::Entry *entry = program->add_entries();
      entry->set_name("predict");
      entry->set_symbol("share_of_" + std::to_string(size));
      bind(entry->mutable_arguments(), Binding::INPUT, "x", {8}, {size});
      bind(entry->mutable_results(), Binding::OUTPUT, "y", {8}, {size});
      Binding *count =
          bind(entry->mutable_results(), Binding::METRIC, "count", {}, {});
      count->mutable_sharding()->add_unreduced("data");
      count->set_position(1);
    }
  }
  Binding *input(int program) {
    return m.mutable_programs(program)->mutable_entries(0)->mutable_arguments(
        0);
  }
  Status parse() {
    manifest::Manifest parsed;
    return parseManifest(m.SerializeAsString(), "test", &parsed);
  }
};

TEST_F(SharesTest, EachPlaceTakesItsShare) {
  describeShares();
  Status status = open();
  ASSERT_TRUE(status.ok()) << status.message();
  std::vector<float> x(8);
  std::iota(x.begin(), x.end(), 1.f);
  status = run("predict", {{manifest::F32, {8}, x.data()}});
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(outputs.size(), 2u);
  ASSERT_EQ(outputs[0].shape, (Shape{8}));
  const float *y = reinterpret_cast<const float *>(outputs[0].data.data());
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(y[i], 2 * x[i]) << i;
  EXPECT_EQ(*reinterpret_cast<const float *>(outputs[1].data.data()), 8);
}

TEST_F(SharesTest, RefusesSharesThatDoNotFit) {
  describeShares();
  EXPECT_TRUE(parse().ok()) << parse().message();
  // Another's share.
  input(1)->mutable_local_type()->set_shape(0, 6);
  EXPECT_NE(parse().message().find("another rank's share"), std::string::npos)
      << parse().message();
  input(1)->mutable_local_type()->set_shape(0, 3);
  EXPECT_NE(parse().message().find("[3] is no share of [8]"), std::string::npos)
      << parse().message();
  input(1)->mutable_local_type()->set_shape(0, 2);
  auto *weights = m.mutable_mesh()->mutable_axes(0)->mutable_weights();
  weights->Add(1);
  EXPECT_NE(parse().message().find("one weight a place"), std::string::npos);
  weights->RemoveLast();
  for (int64_t bad : {int64_t(0), int64_t(-1), INT64_MAX}) {
    weights->Set(1, bad);
    EXPECT_NE(parse().message().find("one weight a place"), std::string::npos);
  }
  // As a reader finds it that does not know of weights.
  weights->Clear();
  EXPECT_NE(parse().message().find("[6] is not its part of [8]"),
            std::string::npos)
      << parse().message();
}

} // namespace
} // namespace dist::test
