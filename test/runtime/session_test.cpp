//===- session_test.cpp - Sessions over a program written by hand ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/digest.h"
#include "runtime/core/session.h"
#include "runtime/device/cpu/library_kernel.h"
#include "runtime/formats/safetensors.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace dist;
using manifest::Binding;
namespace fs = std::filesystem;

namespace {

using Shape = std::vector<int64_t>;

manifest::TensorType type(const Shape &shape, DataType type = manifest::F32) {
  manifest::TensorType result;
  result.set_type(type);
  for (int64_t dim : shape)
    result.add_shape(dim);
  return result;
}

/// A package in a folder of its own, of the functions in session_program.c.
class SessionTest : public testing::Test {
protected:
  fs::path folder;
  manifest::Manifest m;
  std::unique_ptr<Session> session;

  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "session.XXXXXX");
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    fs::copy_file(SESSION_PROGRAM, folder / "program.so");
    static const float w[] = {1, 2};
    SafetensorsWriter weights(folder / "weights.safetensors");
    weights.add("w.initial", manifest::F32, {2}, w);
    ASSERT_TRUE(weights.finish().ok());
  }
  void TearDown() override {
    session.reset();
    fs::remove_all(folder);
  }

  Binding *bind(google::protobuf::RepeatedPtrField<Binding> *list,
                Binding::Role role, const std::string &name,
                const Shape &global, const Shape &local) {
    Binding *binding = list->Add();
    binding->set_role(role);
    binding->set_name(name);
    *binding->mutable_global_type() = type(global);
    *binding->mutable_local_type() = type(local);
    if (global != local)
      for (size_t dim = 0; dim < global.size(); ++dim) {
        auto *sharding = binding->mutable_sharding()->add_dims();
        if (global[dim] != local[dim])
          sharding->add_axes("data");
      }
    return binding;
  }
  manifest::Variable *variable(const std::string &name, const Shape &shape) {
    manifest::Variable *result = m.add_variables();
    result->set_name(name);
    *result->mutable_global_type() = type(shape);
    *result->mutable_local_type() = type(shape);
    result->set_bytes(4 * elementCount(shape));
    result->set_state_offset(m.state_bytes());
    m.set_state_bytes(m.state_bytes() + 64);
    return result;
  }

  void describe(int ranks) {
    m.set_abi_version(1);
    m.set_isa(cpu::hostIsa());
    m.set_library_version(cpu::libraryVersion());
    m.set_threads_per_device(1);
    m.set_ranks(ranks);
    auto *axis = m.mutable_mesh()->add_axes();
    axis->set_name("data");
    axis->set_size(ranks);
    for (int rank = 0; rank < ranks; ++rank)
      m.add_program_of_rank(0);
    variable("w", {2})->set_weights_key("w.initial");
    manifest::Variable *seen = variable("seen", {});
    seen->mutable_sharding()->add_unreduced("data");
    seen->set_on_read(true);
    seen->set_aggregation("sum");
    manifest::Variable *moving = variable("moving", {ranks, 2});
    *moving->mutable_local_type() = type({1, 2});
    moving->set_bytes(8);
    moving->set_on_read(true);
    moving->set_aggregation("mean");
    moving->set_fill(0.5);
    moving->mutable_sharding()->add_dims()->add_axes("data");
    moving->mutable_sharding()->add_dims();

    manifest::Program *program = m.add_programs();
    manifest::Entry *entry = program->add_entries();
    entry->set_name("train_step");
    entry->set_symbol(ranks == 1 ? "step_of_4" : "step_of_2");
    entry->set_arena_bytes(64);
    auto *arguments = entry->mutable_arguments();
    bind(arguments, Binding::INPUT, "x", {4, 2}, {4 / ranks, 2});
    bind(arguments, Binding::INPUT, "scale", {}, {});
    bind(arguments, Binding::VARIABLE, "w", {2}, {2})->set_variable(0);
    bind(arguments, Binding::VARIABLE, "seen", {}, {})->set_variable(1);
    auto *results = entry->mutable_results();
    bind(results, Binding::OUTPUT, "y", {4}, {4 / ranks});
    bind(results, Binding::LOSS, "loss", {}, {});
    bind(results, Binding::METRIC, "part", {}, {})
        ->mutable_sharding()
        ->add_unreduced("data");
    bind(results, Binding::VARIABLE, "w", {2}, {2})->set_variable(0);
    bind(results, Binding::VARIABLE, "seen", {}, {})->set_variable(1);
    manifest::Transfer *transfer = entry->add_transfers();
    transfer->set_id(4);
    transfer->set_tensor("loss");
    transfer->set_origin("model.onnx: node 'Softmax_3'");

    entry = program->add_entries();
    entry->set_name("predict");
    entry->set_symbol("predict");
    entry->set_prepare_symbol("predict_prepare");
    bind(entry->mutable_arguments(), Binding::VARIABLE, "w", {2}, {2})
        ->set_variable(0);
    Binding *prepared =
        bind(entry->mutable_arguments(), Binding::PREPARED, "packed", {2}, {2});
    prepared->set_state_offset(m.state_bytes());
    prepared->set_bytes(8);
    m.set_state_bytes(m.state_bytes() + 64);
    bind(entry->mutable_results(), Binding::OUTPUT, "y", {2}, {2});

    manifest::LibraryKernel *kernel = m.add_kernels();
    kernel->set_kind(manifest::LibraryKernel::MATMUL);
    for (int i = 0; i < 3; ++i) {
      auto *memory = kernel->add_memories();
      memory->set_type(manifest::F32);
      for (int64_t dim : {2, 2})
        memory->add_dims(dim);
      for (int64_t stride : {2, 1})
        memory->add_strides(stride);
    }
    cpu::LibraryKernelInfo info;
    ASSERT_TRUE(cpu::describe(*kernel, 1, &info).ok());
    entry = program->add_entries();
    entry->set_name("product");
    entry->set_symbol("product");
    entry->set_arena_bytes(info.scratchpadBytes);
    for (const char *name : {"a", "b"})
      bind(entry->mutable_arguments(), Binding::INPUT, name, {2, 2}, {2, 2});
    bind(entry->mutable_results(), Binding::OUTPUT, "c", {2, 2}, {2, 2});
  }

  Status open(const SessionOptions &options = {}) {
    std::string digest;
    EXPECT_TRUE(digestPackage(folder, &digest).ok());
    if (m.digest().empty())
      m.set_digest(digest);
    std::ofstream(folder / "manifest", std::ios::binary)
        << m.SerializeAsString();
    return Session::open(folder, options, &session);
  }
  void openRanks(int ranks, const SessionOptions &options = {}) {
    describe(ranks);
    Status status = open(options);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  std::vector<Tensor> outputs;
  Status run(const char *entry, const std::vector<TensorView> &inputs) {
    const manifest::Entry *found = session->findEntry(entry);
    EXPECT_NE(found, nullptr);
    return session->run(*found, inputs, &outputs);
  }
  Status step(float first = 1) {
    // Off any alignment, as a user's memory may be.
    static float memory[64];
    float *x = memory + 1;
    for (int i = 0; i < 8; ++i)
      x[i] = i + 1;
    x[0] = first;
    static const float scale = 2;
    return run("train_step",
               {{manifest::F32, {4, 2}, x}, {manifest::F32, {}, &scale}});
  }
  std::vector<float> floats(const Tensor &tensor) {
    EXPECT_EQ(tensor.type, manifest::F32);
    const float *data = reinterpret_cast<const float *>(tensor.data.data());
    return {data, data + tensor.data.size() / 4};
  }
  std::vector<float> read(int variable) {
    Tensor tensor;
    Status status = session->readVariable(variable, &tensor);
    EXPECT_TRUE(status.ok()) << status.message();
    return floats(tensor);
  }
  void expectRefusal(const std::string &part) {
    Status status = open();
    EXPECT_EQ(status.code(), StatusCode::InvalidInput);
    EXPECT_NE(status.message().find(part), std::string::npos)
        << status.message();
  }
};

class SessionRanks : public SessionTest,
                     public testing::WithParamInterface<int> {};

TEST_P(SessionRanks, StepsAreThoseOfOneDevice) {
  openRanks(GetParam());
  EXPECT_EQ(read(0), (std::vector<float>{1, 2}));
  Status status = step();
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(outputs.size(), 3u);
  EXPECT_EQ(outputs[0].shape, (Shape{4}));
  EXPECT_EQ(floats(outputs[0]), (std::vector<float>{10, 22, 34, 46}));
  EXPECT_EQ(floats(outputs[1]), std::vector<float>{112});
  EXPECT_EQ(floats(outputs[2]), std::vector<float>{112});
  std::vector<float> w = read(0);
  EXPECT_FLOAT_EQ(w[0], 1 - 1.6f);
  EXPECT_FLOAT_EQ(w[1], 2 - 2.0f);
  EXPECT_EQ(read(1), std::vector<float>{4});
  ASSERT_TRUE(step().ok());
  EXPECT_EQ(read(1), std::vector<float>{8});
  ASSERT_TRUE(session->resetVariables().ok());
  EXPECT_EQ(read(0), (std::vector<float>{1, 2}));
  EXPECT_EQ(read(1), std::vector<float>{0});
}

TEST_P(SessionRanks, OnReadVariables) {
  int ranks = GetParam();
  openRanks(ranks);
  // A sum's parts add up; a value that is written is there once.
  float three = 3;
  ASSERT_TRUE(session->writeVariable(1, {manifest::F32, {}, &three}).ok());
  EXPECT_EQ(read(1), std::vector<float>{3});
  ASSERT_TRUE(
      session->writeSlice(1, ranks - 1, {manifest::F32, {}, &three}).ok());
  EXPECT_EQ(read(1), std::vector<float>{ranks == 1 ? 3.0f : 6.0f});
  Tensor slice;
  ASSERT_TRUE(session->readSlice(1, 0, &slice).ok());
  EXPECT_EQ(floats(slice), std::vector<float>{3});
  // A mean is that of the ranks' rows.
  EXPECT_EQ(read(2), (std::vector<float>{0.5, 0.5}));
  float row[] = {1.5, 4.5};
  ASSERT_TRUE(session->writeSlice(2, 0, {manifest::F32, {1, 2}, row}).ok());
  float mean = ranks == 1 ? 1 : 0.5;
  EXPECT_EQ(read(2), (std::vector<float>{0.5f + mean, 0.5f + 4 * mean}));
  ASSERT_TRUE(session->writeVariable(2, {manifest::F32, {2}, row}).ok());
  EXPECT_EQ(read(2), (std::vector<float>{1.5, 4.5}));
  ASSERT_TRUE(session->readSlice(2, ranks - 1, &slice).ok());
  EXPECT_EQ(slice.shape, (Shape{1, 2}));
  EXPECT_EQ(floats(slice), (std::vector<float>{1.5, 4.5}));
}

TEST_P(SessionRanks, PreparesOnlyAfterChanges) {
  openRanks(GetParam());
  ASSERT_TRUE(run("predict", {}).ok());
  EXPECT_EQ(floats(outputs[0]), (std::vector<float>{2, 1}));
  ASSERT_TRUE(run("predict", {}).ok());
  EXPECT_EQ(floats(outputs[0]), (std::vector<float>{2, 1}));
  float w[] = {5, 6};
  ASSERT_TRUE(session->writeVariable(0, {manifest::F32, {2}, w}).ok());
  ASSERT_TRUE(run("predict", {}).ok());
  EXPECT_EQ(floats(outputs[0]), (std::vector<float>{10, 2}));
  ASSERT_TRUE(step().ok());
  ASSERT_TRUE(run("predict", {}).ok());
  EXPECT_EQ(floats(outputs[0])[1], 3);
  // Of a variable that the entry does not read.
  float seen = 1;
  ASSERT_TRUE(session->writeVariable(1, {manifest::F32, {}, &seen}).ok());
  ASSERT_TRUE(run("predict", {}).ok());
  EXPECT_EQ(floats(outputs[0])[1], 3);
}

TEST_P(SessionRanks, FailuresNameTheirPlaceAndPass) {
  SessionOptions options;
  options.collectiveTimeout = 60;
  openRanks(GetParam(), options);
  Status status = step(999); // on the first rank; others wait in all_reduce
  EXPECT_EQ(status.code(), StatusCode::InvalidInput);
  EXPECT_NE(status.message().find("a label is out of range"),
            std::string::npos);
  EXPECT_NE(status.message().find("node 'Softmax_3'"), std::string::npos)
      << status.message();
  status = step(777);
  EXPECT_EQ(status.code(), StatusCode::Internal);
  EXPECT_NE(status.message().find("code 7"), std::string::npos);
  ASSERT_TRUE(session->resetVariables().ok());
  ASSERT_TRUE(step().ok());
  EXPECT_EQ(floats(outputs[1]), std::vector<float>{112});
}

TEST_P(SessionRanks, LibraryKernelsAndTrace) {
  SessionOptions options;
  options.trace = true;
  openRanks(GetParam(), options);
  alignas(64) float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
  std::vector<TensorView> inputs = {{manifest::F32, {2, 2}, a},
                                    {manifest::F32, {2, 2}, b}};
  ASSERT_TRUE(run("product", inputs).ok());
  EXPECT_EQ(floats(outputs[0]), (std::vector<float>{19, 22, 43, 50}));
  std::vector<TraceEvent> events = session->takeTrace();
  ASSERT_EQ(events.size(), size_t(GetParam()));
  EXPECT_EQ(events[0].category, "library");
  EXPECT_EQ(events[0].name.substr(0, 7), "MATMUL ");
  EXPECT_LE(events[0].begin, events[0].end);
  ASSERT_TRUE(step().ok());
  events = session->takeTrace();
  ASSERT_EQ(events.size(), 3 * size_t(GetParam()));
  EXPECT_EQ(events[2].category, "collective");
  EXPECT_NE(events[2].name.find("loss"), std::string::npos);
  EXPECT_TRUE(session->takeTrace().empty());
}

INSTANTIATE_TEST_SUITE_P(Devices, SessionRanks, testing::Values(1, 2));

TEST_F(SessionTest, ChecksInputs) {
  openRanks(1);
  float x[8] = {}, scale = 1;
  auto message = [&](const std::vector<TensorView> &inputs) {
    Status status = run("train_step", inputs);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    return status.message();
  };
  TensorView good = {manifest::F32, {4, 2}, x};
  TensorView scalar = {manifest::F32, {}, &scale};
  EXPECT_NE(message({good}).find("expected 2, but got 1"), std::string::npos);
  EXPECT_NE(message({{manifest::F32, {2, 4}, x}, scalar})
                .find("x): expected f32[4,2], but got f32[2,4]"),
            std::string::npos);
  EXPECT_NE(message({{manifest::I32, {4, 2}, x}, scalar}).find("i32"),
            std::string::npos);
  EXPECT_NE(message({{manifest::F32, {4, 2}, nullptr}, scalar}).find("no data"),
            std::string::npos);
  EXPECT_EQ(session->findEntry("none"), nullptr);
  Tensor tensor;
  EXPECT_FALSE(session->readVariable(9, &tensor).ok());
  EXPECT_FALSE(session->readSlice(0, 1, &tensor).ok());
  EXPECT_FALSE(session->writeVariable(0, good).ok());
  EXPECT_FALSE(session->writeSlice(0, 0, good).ok());
  EXPECT_EQ(session->deviceBytes(),
            m.state_bytes() +
                std::max<int64_t>(64, m.programs(0).entries(2).arena_bytes()));
}

TEST_F(SessionTest, RefusesOtherHosts) {
  describe(1);
  m.set_abi_version(99);
  expectRefusal("interface has version 99");
  m.set_abi_version(1);
  m.set_isa("vax");
  expectRefusal("compiled for [vax]");
  m.set_isa(cpu::hostIsa());
  m.set_library_version("1.0.0");
  expectRefusal("oneDNN 1.0.0");
}

TEST_F(SessionTest, RefusesDamage) {
  EXPECT_EQ(Session::open(folder, {}, &session).code(),
            StatusCode::InvalidInput); // no manifest
  std::ofstream(folder / "manifest", std::ios::binary) << "\xff\xff nonsense";
  EXPECT_EQ(Session::open(folder, {}, &session).code(),
            StatusCode::InvalidInput);
  describe(2);
  manifest::Manifest good = m;
  auto damage = [&](const std::function<void(manifest::Manifest &)> &change,
                    const std::string &part) {
    m = good;
    change(m);
    expectRefusal(part);
  };
  damage([](auto &m) { m.set_digest("12:00000000"); }, "not those of its");
  damage([](auto &m) { m.set_ranks(3); }, "one program a rank");
  damage([](auto &m) { m.set_program_of_rank(1, 4); }, "program is not there");
  damage([](auto &m) { m.mutable_mesh()->mutable_axes(0)->set_size(-1); },
         "mesh has no size");
  damage([](auto &m) { m.set_threads_per_device(0); }, "number of threads");
  damage([](auto &m) { m.mutable_variables(0)->set_bytes(1 << 20); },
         "lie in the state");
  damage([](auto &m) { m.mutable_variables(0)->set_state_offset(1 << 20); },
         "lie in the state");
  damage(
      [](auto &m) {
        m.mutable_variables(0)->mutable_global_type()->set_shape(0, INT64_MAX);
      },
      "variable w");
  damage(
      [](auto &m) {
        m.mutable_variables(2)->mutable_sharding()->mutable_dims(0)->set_axes(
            0, "model");
      },
      "axis model");
  damage([](auto &m) { m.mutable_variables(0)->set_weights_key("other"); },
         "no tensor other");
  auto entry = [](manifest::Manifest &m) {
    return m.mutable_programs(0)->mutable_entries(0);
  };
  damage([&](auto &m) { entry(m)->set_symbol("other"); }, "no function other");
  damage([&](auto &m) { entry(m)->set_symbol(""); }, "has no function");
  damage([&](auto &m) { entry(m)->set_arena_bytes(-1); }, "arena");
  damage([&](auto &m) { entry(m)->mutable_arguments(2)->set_variable(7); },
         "variable that is not there");
  damage(
      [&](auto &m) {
        entry(m)->mutable_arguments(0)->mutable_local_type()->set_shape(0, 3);
      },
      "[3,2] is not its part of [4,2]");
  damage(
      [](auto &m) {
        m.mutable_programs(0)
            ->mutable_entries(1)
            ->mutable_arguments(1)
            ->set_state_offset(1 << 20);
      },
      "outside the state");
  m = good;
  m.clear_digest();
  std::ofstream(folder / "program.so", std::ios::binary) << "no program";
  expectRefusal("program.so");
}

} // namespace
