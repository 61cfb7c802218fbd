//===- session_fixture.h - A package of functions written by hand ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_SESSION_FIXTURE_H
#define TEST_RUNTIME_SESSION_FIXTURE_H

#include "runtime/abi/abi.h"
#include "runtime/core/digest.h"
#include "runtime/core/session.h"
#include "runtime/device/cpu/library_kernel.h"
#include "runtime/formats/safetensors.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace dist::test {

using manifest::Binding;
namespace fs = std::filesystem;
using Shape = std::vector<int64_t>;

inline manifest::TensorType type(const Shape &shape,
                                 DataType type = manifest::F32) {
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
    m.set_abi_version(DIST_RT_ABI_VERSION);
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
    if (ranks > 1) { // one device has no shardings
      moving->mutable_sharding()->add_dims()->add_axes("data");
      moving->mutable_sharding()->add_dims();
    }

    manifest::Program *program = m.add_programs();
    program->set_device("cpu");
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
    entry = program->add_entries();
    entry->set_name("product");
    entry->set_symbol("product");
    entry->add_calls("/fc/Gemm");
    for (const char *name : {"a", "b"})
      bind(entry->mutable_arguments(), Binding::INPUT, name, {2, 2}, {2, 2});
    bind(entry->mutable_results(), Binding::OUTPUT, "c", {2, 2}, {2, 2});
  }

  /// Another entry: see session_program.c.
  void describeEndless(int ranks, const char *name = "endless") {
    manifest::Entry *entry = m.mutable_programs(0)->add_entries();
    entry->set_name(name);
    entry->set_symbol(name);
    bind(entry->mutable_arguments(), Binding::INPUT, "x", {4, 2},
         {4 / ranks, 2});
    for (auto *list : {entry->mutable_arguments(), entry->mutable_results()})
      bind(list, Binding::VARIABLE, "w", {2}, {2})->set_variable(0);
  }

  /// The two halves of a step.
  void describeHalves() {
    manifest::Entry *half = m.mutable_programs(0)->add_entries();
    half->set_name("gradients");
    half->set_symbol("gradients");
    bind(half->mutable_arguments(), Binding::INPUT, "x", {2}, {2});
    bind(half->mutable_arguments(), Binding::VARIABLE, "w", {2}, {2})
        ->set_variable(0);
    auto *given = half->mutable_results();
    bind(given, Binding::LOSS, "loss", {}, {});
    bind(given, Binding::GRADIENT, "w", {2}, {2});
    bind(given, Binding::GRADIENT, "x", {2}, {2});
    half = m.mutable_programs(0)->add_entries();
    half->set_name("apply");
    half->set_symbol("apply");
    bind(half->mutable_arguments(), Binding::GRADIENT, "w", {2}, {2});
    for (auto *list : {half->mutable_arguments(), half->mutable_results()})
      bind(list, Binding::VARIABLE, "w", {2}, {2})->set_variable(0);
  }

  Status open(const SessionOptions &options = {}) {
    std::string digest;
    EXPECT_TRUE(digestPackage(folder, "", &digest).ok());
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

} // namespace dist::test

#endif // TEST_RUNTIME_SESSION_FIXTURE_H
