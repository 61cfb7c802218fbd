//===- session_host_test.cpp - Variables on the host -===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/processes_fixture.h"

namespace dist::test {
namespace {

/// Two devices, and a host that has w.
class HostTest : public SessionTest {
protected:
  Binding *place(google::protobuf::RepeatedPtrField<Binding> *list,
                 Binding::Role role, const std::string &name,
                 const Shape &global, const Shape &local, int position) {
    Binding *binding = bind(list, role, name, global, local);
    binding->set_position(position);
    return binding;
  }
  void describeHost() {
    m.set_abi_version(DIST_RT_ABI_VERSION);
    m.set_threads_per_device(1);
    m.set_ranks(3);
    auto *axis = m.mutable_mesh()->add_axes();
    axis->set_name("data");
    axis->set_size(2);
    m.mutable_mesh()->set_host(true);
    for (int program : {0, 0, 1})
      m.add_program_of_rank(program);
    variable("w", {2})->set_weights_key("w.initial");
    m.mutable_variables(0)->add_programs(1);
    for (const char *symbol : {"device", "host"}) {
      manifest::Program *program = m.add_programs();
      program->set_device("cpu");
      manifest::Entry *entry = program->add_entries();
      entry->set_name("train_step");
      entry->set_symbol(symbol);
    }
    m.mutable_programs(0)->mutable_entries(0)->set_arena_bytes(64);
    m.mutable_programs(1)->mutable_entries(0)->set_host_arena_bytes(64);
    m.mutable_programs(1)->set_threads(2);
    manifest::Entry *device = m.mutable_programs(0)->mutable_entries(0);
    place(device->mutable_arguments(), Binding::INPUT, "x", {4}, {2}, 0);
    place(device->mutable_results(), Binding::OUTPUT, "y", {4}, {2}, 1);
    manifest::Entry *host = m.mutable_programs(1)->mutable_entries(0);
    place(host->mutable_arguments(), Binding::VARIABLE, "w", {2}, {2}, 1);
    place(host->mutable_results(), Binding::VARIABLE, "w", {2}, {2}, 0);
    place(host->mutable_results(), Binding::LOSS, "loss", {}, {}, 2);
  }
  float value(int element) {
    Tensor tensor;
    Status status = session->readVariable(0, &tensor);
    EXPECT_TRUE(status.ok()) << status.message();
    return reinterpret_cast<const float *>(tensor.data.data())[element];
  }
};

TEST_F(HostTest, HasTheOneCopy) {
  describeHost();
  m.mutable_programs(1)->mutable_entries(0)->set_host_arena_bytes(4096);
  Status status = open();
  ASSERT_TRUE(status.ok()) << status.message();
  const float x[] = {1, 2, 3, 4};
  for (int i = 0; i < 2; ++i) {
    status = run("train_step", {{manifest::F32, {4}, x}});
    ASSERT_TRUE(status.ok()) << status.message();
  }
  // w was {1, 2}, then {11, 6}.
  ASSERT_EQ(outputs.size(), 2u);
  const float *y = reinterpret_cast<const float *>(outputs[0].data.data());
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(y[i], 11 * x[i] + 6);
  EXPECT_EQ(reinterpret_cast<const float *>(outputs[1].data.data())[0], 10);
  EXPECT_EQ(value(0), 21);
  EXPECT_EQ(value(1), 10);
  // Devices have no part of it, nor of what the host computes with.
  EXPECT_EQ(session->deviceBytes(), m.state_bytes() + 64);
  Tensor slice;
  EXPECT_TRUE(session->readSlice(0, 2, &slice).ok());
  EXPECT_NE(session->readSlice(0, 0, &slice)
                .message()
                .find("rank 0 has no part of 'w'"),
            std::string::npos);
  const float other[] = {5, 6};
  ASSERT_TRUE(session->writeVariable(0, {manifest::F32, {2}, other}).ok());
  EXPECT_EQ(value(1), 6);
}

class HostProcesses : public HostTest,
                      public testing::WithParamInterface<Between> {};

INSTANTIATE_TEST_SUITE_P(Between, HostProcesses,
                         testing::Values(Between::Memory, Between::Messages),
                         nameOf);

// The host has a process together with a device.
TEST_P(HostProcesses, ReachesOtherProcesses) {
  describeHost();
  ASSERT_TRUE(open().ok());
  Processes processes(GetParam());
  Status opened = processes.open(folder, m, {0, 1, 1});
  ASSERT_TRUE(opened.ok()) << opened.message();
  const float x[] = {1, 2, 3, 4};
  std::vector<Tensor> results[2][3];
  size_t done[2] = {};
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(run("train_step", {{manifest::F32, {4}, x}}).ok());
  expectOk(processes.onAll([&](int process, Session &own) {
    std::vector<TensorView> inputs = {{manifest::F32, {2}, x + 2 * process}};
    std::vector<StepCall> calls;
    for (std::vector<Tensor> &result : results[process])
      calls.push_back({own.findEntry("train_step"), &inputs, &result});
    return own.runSteps(
        calls, [&](size_t i) { return process == 0 || i < 1; }, &done[process]);
  }));
  EXPECT_EQ(done[0], 2u);
  EXPECT_EQ(done[1], 2u);
  std::vector<float> y = floats(outputs[0]);
  for (int process : {0, 1})
    EXPECT_EQ(floats(results[process][1][0]),
              std::vector<float>(y.begin() + 2 * process,
                                 y.begin() + 2 * process + 2));
  EXPECT_TRUE(results[0][1][1].data.empty());
  EXPECT_EQ(floats(results[1][1][1]), floats(outputs[1]));
  expectOk(processes.onAll([&](int, Session &own) {
    Tensor value;
    DIST_RETURN_IF_ERROR(own.readVariable(0, &value));
    EXPECT_EQ(floats(value), read(0));
    return Status();
  }));
  // By itself it could not hear whether all go on.
  EXPECT_NE(Processes(GetParam())
                .open(folder, m, {0, 0, 1})
                .message()
                .find("the mesh's host has a process of its own"),
            std::string::npos);
}

// Its loops are cut for the threads of all devices, but kernels of the library
// were described for those of one. How much room they compute in the library
// says where they run, whatever the machine that compiled them had; it depends
// on the machine which of them need any.
TEST_F(HostTest, LibraryKernelsHaveTheirScratchpads) {
  int withScratchpad = 0;
  for (bool isProduct : {true, false}) {
    SCOPED_TRACE(isProduct);
    m.Clear();
    session.reset();
    describeHost();
    manifest::LibraryKernel *kernel = m.add_kernels();
    kernel->set_kind(isProduct ? manifest::LibraryKernel::MATMUL
                               : manifest::LibraryKernel::CONV);
    auto add = [&](const std::vector<int64_t> &dims,
                   const std::vector<int64_t> &strides) {
      auto *memory = kernel->add_memories();
      memory->set_type(manifest::F32);
      memory->mutable_dims()->Assign(dims.begin(), dims.end());
      memory->mutable_strides()->Assign(strides.begin(), strides.end());
    };
    if (isProduct) {
      add({511, 784}, {1, 511});
      add({784, 511}, {511, 1});
      add({511, 511}, {511, 1});
    } else {
      kernel->set_groups(1);
      add({2, 3, 14, 14}, {588, 196, 14, 1});
      add({8, 3, 3, 3}, {27, 9, 3, 1});
      add({2, 8, 12, 12}, {1152, 144, 12, 1});
      for (int i = 0; i < 2; ++i) {
        kernel->add_strides(1);
        kernel->add_pad_low(0);
        kernel->add_pad_high(0);
        kernel->add_dilations(1);
      }
    }
    cpu::LibraryKernelInfo info;
    ASSERT_TRUE(cpu::describe(*kernel, m.threads_per_device(), &info).ok());
    withScratchpad += info.scratchpadBytes > 0;
    kernel->set_scratchpad_bytes(1);
    for (int program : {0, 1}) {
      manifest::Entry *entry = m.mutable_programs(program)->mutable_entries(0);
      entry->set_symbol(!program    ? "idle"
                        : isProduct ? "host_product"
                                    : "host_convolution");
      entry->set_host_arena_bytes(8 << 20);
    }
    Status status = open();
    ASSERT_TRUE(status.ok()) << status.message();
    const float w[] = {0, 0}, x[] = {1, 2, 3, 4};
    ASSERT_TRUE(session->writeVariable(0, {manifest::F32, {2}, w}).ok());
    status = run("train_step", {{manifest::F32, {4}, x}});
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(value(1), 1);
    EXPECT_GE(session->deviceBytes(), info.scratchpadBytes);
  }
  EXPECT_GT(withScratchpad, 0);
}

// A device that fails frees the host and the others; the next step works.
TEST_F(HostTest, FailuresReachTheHost) {
  describeHost();
  ASSERT_TRUE(open().ok());
  const float bad[] = {1, 2, 999, 4}, good[] = {1, 2, 3, 4};
  Status status = run("train_step", {{manifest::F32, {4}, bad}});
  EXPECT_EQ(status.code(), StatusCode::InvalidInput) << status.message();
  EXPECT_EQ(value(0), 1);
  status = run("train_step", {{manifest::F32, {4}, good}});
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(value(0), 11);
}

TEST_F(HostTest, RefusesDamagedHosts) {
  describeHost();
  m.mutable_mesh()->set_host(false);
  Status status = open();
  EXPECT_NE(status.message().find("not one program a rank"), std::string::npos)
      << status.message();
  m.Clear();
  describeHost();
  m.mutable_programs(1)->set_threads(-1);
  status = open();
  EXPECT_NE(status.message().find("no number of threads"), std::string::npos)
      << status.message();
}

} // namespace
} // namespace dist::test
