//===- session_refusals_test.cpp - What sessions refuse -------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/variants.h"
#include "runtime/device/cpu/features.h"
#include "runtime/device/cpu/library_memory.h"
#include "test/runtime/apart.h"
#include "test/runtime/session_fixture.h"
#include <functional>
#include <map>

namespace dist::test {
namespace {

/// Code for further CPUs, each of which names what it needs.
class VariantsTest : public SessionTest {
protected:
  void SetUp() override {
    SessionTest::SetUp();
    describe(1);
    std::vector<std::string> all = cpu::hostFeatures();
    ASSERT_GE(all.size(), 2u);
    m.set_target_cpu("small");
    m.add_cpu_features(all[0]);
    std::string digest;
    ASSERT_TRUE(digestPackage(folder, "", &digest).ok());
    m.set_digest(digest);
    all.push_back("of-no-cpu");
    for (auto [name, count] :
         {std::pair("foreign", all.size()), std::pair("large", all.size() - 1),
          std::pair("middle", size_t(1))}) {
      manifest::Manifest other = m;
      other.clear_variants();
      other.set_target_cpu(name);
      other.clear_cpu_features();
      for (size_t i = 0; i < count; ++i)
        other.add_cpu_features(all[i]);
      // Kernels and memory are each variant's own.
      other.set_state_bytes(m.state_bytes() + 64);
      others[name] = other;
      m.add_variants(name);
      fs::copy_file(SESSION_PROGRAM, programPath(folder, name));
    }
    write();
  }
  void write() {
    for (const auto &[name, other] : others)
      std::ofstream(manifestPath(folder, name), std::ios::binary)
          << other.SerializeAsString();
  }
  std::string chosen(const std::string &wanted = "") {
    SessionOptions options;
    options.cpuVariant = wanted;
    Status status = open(options);
    return status.ok() ? session->manifest().target_cpu() : status.message();
  }
  std::map<std::string, manifest::Manifest> others;
};

TEST_F(VariantsTest, TheBestThatFitsRuns) {
  EXPECT_EQ(chosen(), "large");
  EXPECT_TRUE(step().ok());
  EXPECT_EQ(chosen("small"), "small");
  EXPECT_TRUE(step().ok());
  EXPECT_EQ(chosen("middle"), "middle");
  EXPECT_NE(chosen("foreign").find("lacks: of-no-cpu"), std::string::npos);
  EXPECT_NE(chosen("none").find("it has small, foreign, large, middle"),
            std::string::npos);
  // Of as many features, the earlier.
  others["large"].add_cpu_features("of-no-cpu");
  write();
  EXPECT_EQ(chosen(), "small");
  others["middle"].add_cpu_features("of-none-either");
  m.add_cpu_features("of-no-cpu");
  write();
  std::string why = chosen();
  for (const char *part : {"the package is for another CPU",
                           "(small) uses features that this one "
                           "lacks: of-no-cpu",
                           "(middle) uses features that this one lacks: "
                           "of-none-either"})
    EXPECT_NE(why.find(part), std::string::npos) << why;
}

// Of parameter servers each variant has its own program.
TEST_F(VariantsTest, HaveTheSameServers) {
  for (manifest::Manifest *one : {&m, &others["foreign"], &others["large"]})
    one->add_servers()->set_digest(one->target_cpu());
  others["middle"].add_servers();
  write();
  EXPECT_EQ(chosen(), "large");
  others["foreign"].mutable_servers(0)->add_parts()->set_name_there("w");
  others["foreign"].mutable_servers(0)->mutable_parts(0)->set_size(2);
  write();
  EXPECT_NE(chosen().find("is not of the program that the others are"),
            std::string::npos);
}

TEST_F(VariantsTest, AreOfOneProgram) {
  others["foreign"].mutable_variables(0)->set_name("v");
  write();
  EXPECT_NE(chosen("small").find("is not of the program that the others are"),
            std::string::npos);
  fs::remove(manifestPath(folder, "foreign"));
  EXPECT_NE(chosen().find("cannot open the package"), std::string::npos);
  for (const char *name : {"", "../large", "a/b", ".", "a\nb"}) {
    m.clear_variants();
    m.add_variants(name);
    EXPECT_NE(chosen().find("a variant has no name that a file may have"),
              std::string::npos)
        << name;
  }
}

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
  cpu::LibraryMemory library;
  ASSERT_TRUE(cpu::LibraryMemory::create(m, &library).ok());
  EXPECT_EQ(session->deviceBytes(),
            m.state_bytes() + 64 + library.block(0).bytes());
}

TEST_F(SessionTest, RefusesOtherHosts) {
  describe(1);
  m.set_abi_version(99);
  expectRefusal("interface has version 99");
  m.set_abi_version(DIST_RT_ABI_VERSION);
  // What this CPU has, and what no CPU has.
  m.set_target_cpu("vax");
  for (const std::string &feature : cpu::hostFeatures())
    m.add_cpu_features(feature);
  EXPECT_TRUE(open().ok());
  m.add_cpu_features("made-up");
  m.add_cpu_features("more-of-it");
  expectRefusal("its code (vax) uses features that this one lacks: made-up, "
                "more-of-it");
  m.clear_cpu_features();
  // Of another version of the library, and of a CPU that it chose otherwise
  // for.
  m.set_library_version("1.0.0");
  m.set_isa("library=elsewhere");
  EXPECT_TRUE(open().ok());
  // A kernel that the library has nowhere.
  for (auto &memory : *m.mutable_kernels(0)->mutable_memories())
    memory.set_type(manifest::F64);
  expectRefusal("library cannot run a kernel of it");
}

// Programs that read each other's memory run where there is one.
TEST_F(SessionTest, RefusesDevicesThatShareNothing) {
  Apart apart;
  describe(2);
  EXPECT_TRUE(checkCommunicator(m, apart).ok());
  m.set_shares_memory(true);
  Status status = checkCommunicator(m, apart);
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_NE(status.message().find("for devices of one process"),
            std::string::npos)
      << status.message();
  status = open();
  EXPECT_TRUE(status.ok()) << status.message();
}

// When it is opened, not when they run.
TEST_F(SessionTest, RefusesWrongCollectives) {
  describe(2);
  describeEndless(2, "torn");
  expectRefusal("torn_collectives): its list of collectives cannot be read");
  manifest::Program &program = *m.mutable_programs(0);
  manifest::Entry *entry = program.mutable_entries(program.entries_size() - 1);
  entry->set_name("astray");
  entry->set_symbol("astray");
  Status status = open();
  EXPECT_EQ(status.code(), StatusCode::Internal);
  EXPECT_NE(status.message().find("all_reduce got axes that the mesh has not "
                                  "(astray: op 3)"),
            std::string::npos)
      << status.message();
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
  damage([](auto &m) { m.add_process_of_rank(0); }, "one process a rank");
  for (int last : {-1, 2})
    damage(
        [last](auto &m) {
          m.add_process_of_rank(0);
          m.add_process_of_rank(last);
        },
        "one process a rank");
  damage(
      [](auto &m) {
        m.add_process_of_rank(1);
        m.add_process_of_rank(1);
      },
      "not all as many ranks");
  damage([](auto &m) { m.mutable_mesh()->mutable_axes(0)->set_size(-1); },
         "mesh has no size");
  damage([](auto &m) { m.set_threads_per_device(0); }, "number of threads");
  damage([](auto &m) { m.mutable_programs(0)->set_threads(64); },
         "for other threads");
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
  damage([&](auto &m) { entry(m)->set_host_arena_bytes(-1); }, "arena");
  damage([&](auto &m) { m.mutable_programs(0)->set_device("cuda"); },
         "it is for a device of kind 'cuda', and is to run on the CPU");
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
} // namespace dist::test
