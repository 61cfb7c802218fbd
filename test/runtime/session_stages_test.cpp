//===- session_stages_test.cpp - Ranks that run different programs --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/processes_fixture.h"

namespace dist::test {
namespace {

/// A pipeline of two stages: w is of the first, b of the second, n of both.
class StagesTest : public SessionTest {
protected:
  manifest::Binding *place(google::protobuf::RepeatedPtrField<Binding> *list,
                           Binding::Role role, const std::string &name,
                           const Shape &shape, int position) {
    Binding *binding = bind(list, role, name, shape, shape);
    binding->set_position(position);
    if (role == Binding::VARIABLE)
      binding->set_variable(name == "w" ? 0 : name == "b" ? 1 : 2);
    return binding;
  }
  void describeStages() {
    m.set_abi_version(DIST_RT_ABI_VERSION);
    m.set_threads_per_device(1);
    m.set_ranks(2);
    auto *axis = m.mutable_mesh()->add_axes();
    axis->set_name("stage");
    axis->set_size(2);
    m.add_program_of_rank(0);
    m.add_program_of_rank(1);
    variable("w", {2})->set_weights_key("w.initial");
    variable("b", {})->set_fill(0.5);
    variable("n", {});
    m.mutable_variables(0)->add_programs(0);
    m.mutable_variables(1)->add_programs(1);
    for (int program : {0, 1})
      m.mutable_variables(2)->add_programs(program);
    // n lies first in both, w and b behind it.
    m.mutable_variables(2)->set_state_offset(0);
    m.mutable_variables(0)->set_state_offset(64);
    m.mutable_variables(1)->set_state_offset(64);
    m.set_state_bytes(192);
    for (const char *symbol : {"front", "back"}) {
      manifest::Program *program = m.add_programs();
      program->set_device("cpu");
      program->set_state_bytes(m.programs_size() == 1 ? 192 : 128);
      manifest::Entry *entry = program->add_entries();
      entry->set_name("train_step");
      entry->set_symbol(symbol);
      entry->set_arena_bytes(64);
    }
    manifest::Entry *front = m.mutable_programs(0)->mutable_entries(0);
    place(front->mutable_arguments(), Binding::INPUT, "x", {2}, 0);
    place(front->mutable_arguments(), Binding::VARIABLE, "w", {2}, 2);
    place(front->mutable_arguments(), Binding::VARIABLE, "n", {}, 4);
    place(front->mutable_results(), Binding::VARIABLE, "w", {2}, 1);
    place(front->mutable_results(), Binding::VARIABLE, "n", {}, 3);
    manifest::Entry *back = m.mutable_programs(1)->mutable_entries(0);
    place(back->mutable_arguments(), Binding::LABEL, "y", {2}, 1);
    place(back->mutable_arguments(), Binding::VARIABLE, "b", {}, 3);
    place(back->mutable_arguments(), Binding::VARIABLE, "n", {}, 4);
    place(back->mutable_results(), Binding::OUTPUT, "z", {2}, 0);
    place(back->mutable_results(), Binding::VARIABLE, "b", {}, 2);
    place(back->mutable_results(), Binding::VARIABLE, "n", {}, 3);
  }
  float value(int variable, int element = 0) {
    Tensor tensor;
    Status status = session->readVariable(variable, &tensor);
    EXPECT_TRUE(status.ok()) << status.message();
    return reinterpret_cast<const float *>(tensor.data.data())[element];
  }
};

TEST_F(StagesTest, RunsEachStagesProgram) {
  describeStages();
  Status status = open();
  ASSERT_TRUE(status.ok()) << status.message();
  const manifest::Entry *entry = session->findEntry("train_step");
  ASSERT_NE(entry, nullptr);
  // Callers see the whole entry, in its order.
  ASSERT_EQ(entry->arguments_size(), 5);
  EXPECT_EQ(entry->arguments(0).name(), "x");
  EXPECT_EQ(entry->arguments(1).name(), "y");
  EXPECT_EQ(entry->arguments(3).name(), "b");
  ASSERT_EQ(entry->results_size(), 4);
  EXPECT_EQ(entry->results(0).name(), "z");

  const float x[] = {3, 4}, y[] = {100, 200};
  for (int i = 0; i < 2; ++i) {
    status =
        run("train_step", {{manifest::F32, {2}, x}, {manifest::F32, {2}, y}});
    ASSERT_TRUE(status.ok()) << status.message();
  }
  // The second step: w was {2, 3}, b was 10.5.
  ASSERT_EQ(outputs.size(), 1u);
  const float *z = reinterpret_cast<const float *>(outputs[0].data.data());
  EXPECT_EQ(z[0], 3 * 2 + 100 + 10.5f);
  EXPECT_EQ(z[1], 4 * 3 + 200 + 10.5f);
  EXPECT_EQ(value(0, 0), 3);
  EXPECT_EQ(value(0, 1), 4);
  EXPECT_EQ(value(1), 20.5f);
  EXPECT_EQ(value(2), 2);
  // The state of the larger stage, its arena, and what it sends.
  EXPECT_EQ(session->deviceBytes(), 192 + 64 + 8);
}

class StagesProcesses : public StagesTest,
                        public testing::WithParamInterface<Between> {};

INSTANTIATE_TEST_SUITE_P(Between, StagesProcesses,
                         testing::Values(Between::Memory, Between::Messages),
                         nameOf);

// A process that has no part of a tensor neither takes nor gives it.
TEST_P(StagesProcesses, RunsEachInAProcess) {
  describeStages();
  ASSERT_TRUE(open().ok());
  Processes processes(GetParam());
  Status opened = processes.open(folder, m, {0, 1});
  ASSERT_TRUE(opened.ok()) << opened.message();
  const float x[] = {3, 4}, y[] = {100, 200};
  std::vector<Tensor> results[2];
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(
        run("train_step", {{manifest::F32, {2}, x}, {manifest::F32, {2}, y}})
            .ok());
    expectOk(processes.onAll([&](int process, Session &own) {
      const manifest::Entry &entry = *own.findEntry("train_step");
      EXPECT_EQ(own.inputWindow(entry, 0).present, process == 0);
      EXPECT_EQ(own.inputWindow(entry, 1).present, process == 1);
      EXPECT_EQ(own.outputWindow(entry, 0).present, process == 1);
      std::vector<TensorView> inputs(2);
      inputs[process] = {manifest::F32, {2}, process ? y : x};
      return own.run(entry, inputs, &results[process]);
    }));
  }
  EXPECT_TRUE(results[0][0].data.empty());
  EXPECT_EQ(floats(results[1][0]), floats(outputs[0]));
  // All hear of what one of them has.
  for (int variable : {0, 1, 2})
    expectOk(processes.onAll([&](int, Session &own) {
      Tensor value;
      DIST_RETURN_IF_ERROR(own.readVariable(variable, &value));
      EXPECT_EQ(floats(value), read(variable));
      return Status();
    }));
}

TEST_F(StagesTest, WritesWhoHasIt) {
  describeStages();
  ASSERT_TRUE(open().ok());
  const float seven = 7;
  for (int variable : {1, 2}) {
    ASSERT_TRUE(
        session->writeVariable(variable, {manifest::F32, {}, &seven}).ok());
    EXPECT_EQ(value(variable), 7);
  }
  // Writing b has not touched what the first stage has in its place.
  EXPECT_EQ(value(0, 0), 1);
  EXPECT_EQ(value(0, 1), 2);
  Tensor slice;
  EXPECT_TRUE(session->readSlice(0, 0, &slice).ok());
  EXPECT_NE(session->readSlice(0, 1, &slice)
                .message()
                .find("rank 1 has no part of 'w'"),
            std::string::npos);
  EXPECT_FALSE(session->writeSlice(1, 0, {manifest::F32, {}, &seven}).ok());
}

TEST_F(StagesTest, RefusesDamagedStages) {
  auto refuses = [&](const std::function<void()> &damage,
                     const std::string &why) {
    m.Clear();
    describeStages();
    damage();
    Status status = open();
    EXPECT_FALSE(status.ok()) << why;
    EXPECT_NE(status.message().find(why), std::string::npos)
        << status.message();
  };
  refuses([&] { m.mutable_variables(0)->set_programs(0, 9); },
          "have not all of it");
  refuses([&] { m.mutable_variables(0)->set_programs(0, 1); }, "does not hold");
  refuses([&] { m.mutable_programs(1)->set_state_bytes(64); },
          "does not lie in the state");
  refuses([&] { m.mutable_programs(1)->set_state_bytes(4096); },
          "a program's state has no size");
  refuses([&] { m.mutable_programs(1)->mutable_entries(0)->set_name("other"); },
          "not every program has entry train_step");
  refuses(
      [&] {
        m.mutable_programs(1)
            ->mutable_entries(0)
            ->mutable_arguments(0)
            ->set_position(0);
      },
      "programs differ in entry train_step");
}

} // namespace
} // namespace dist::test
