//===- servers_test.cpp - Which variables parameter servers hold ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/servers.h"
#include "runtime/abi/abi.h"
#include "runtime/core/package.h"
#include <functional>
#include <gtest/gtest.h>

namespace dist::test {
namespace {

using manifest::Binding;
using manifest::Manifest;

/// Two servers: rows 0-2 of `w` and the scalar `s`, rows 3-4 of `w`.
class ServersTest : public testing::Test {
protected:
  void SetUp() override {
    describe(&worker);
    addVariable(&worker, "w", {5, 2});
    addVariable(&worker, "s", {});
    addVariable(&worker, "frozen", {3});
    for (const char *digest : {"first", "second"})
      worker.add_servers()->set_digest(digest);
    addPart(0, 0, "w/part_0", 0, 3);
    addPart(0, 1, "s", 0, 1);
    addPart(1, 0, "w/part_1", 3, 2);
    describe(&server);
    server.set_digest("first");
    manifest::Entry *apply = server.mutable_programs(0)->add_entries();
    apply->set_name("apply");
    for (const auto &[name, shape] :
         {std::pair<const char *, std::vector<int64_t>>("w/part_0", {3, 2}),
          {"s", {}}}) {
      addVariable(&server, name, shape);
      Binding *gradient = apply->add_arguments();
      gradient->set_role(Binding::GRADIENT);
      gradient->set_name(name);
      *gradient->mutable_global_type() =
          server.variables(server.variables_size() - 1).global_type();
      *gradient->mutable_local_type() = gradient->global_type();
    }
  }
  static void describe(Manifest *out) {
    out->set_abi_version(DIST_RT_ABI_VERSION);
    out->set_threads_per_device(1);
    out->set_ranks(1);
    out->add_program_of_rank(0);
    out->add_programs();
  }
  static void addVariable(Manifest *to, const std::string &name,
                          const std::vector<int64_t> &shape) {
    manifest::Variable *variable = to->add_variables();
    variable->set_name(name);
    int64_t bytes = 4;
    variable->mutable_global_type()->set_type(manifest::F32);
    for (int64_t dim : shape) {
      variable->mutable_global_type()->add_shape(dim);
      bytes *= dim;
    }
    *variable->mutable_local_type() = variable->global_type();
    variable->set_bytes(bytes);
    variable->set_state_offset(to->state_bytes());
    to->set_state_bytes(to->state_bytes() + 64);
  }
  void addPart(int server, int variable, const std::string &name, int64_t begin,
               int64_t size) {
    manifest::ServerPart *part = worker.mutable_servers(server)->add_parts();
    part->set_variable(variable);
    part->set_name_there(name);
    part->set_begin(begin);
    part->set_size(size);
  }
  std::string parse() {
    Manifest parsed;
    return parseManifest(worker.SerializeAsString(), "here", &parsed).message();
  }
  std::string compare(int number = 0) {
    return checkServer(worker, number, server, "there").message();
  }

  Manifest worker, server;
};

TEST_F(ServersTest, PartsAreTheWholeVariable) {
  EXPECT_EQ(parse(), "");
  Manifest good = worker;
  auto damage = [&](const std::function<void(manifest::ServerPart &)> &change,
                    const std::string &why) {
    worker = good;
    change(*worker.mutable_servers(1)->mutable_parts(0));
    std::string message = parse();
    EXPECT_NE(message.find("the package is damaged (here"), std::string::npos);
    EXPECT_NE(message.find(why), std::string::npos) << message;
  };
  for (int variable : {-1, 3})
    damage([&](auto &part) { part.set_variable(variable); },
           "server 1): it has a variable that is not there");
  for (int64_t begin : {int64_t(-1), int64_t(4), INT64_MAX, INT64_MIN})
    damage([&](auto &part) { part.set_begin(begin); },
           "a part of it lies outside the variable");
  for (int64_t size : {int64_t(-2), int64_t(3), INT64_MAX, INT64_MIN})
    damage([&](auto &part) { part.set_size(size); },
           "a part of it lies outside the variable");
  // Rows that two have, and rows that none has.
  damage([](auto &part) { part.set_begin(2); }, "all of it, once");
  damage(
      [](auto &part) {
        part.set_begin(2);
        part.set_size(3);
      },
      "variable w): the servers' parts are not all of it, once");
  damage([](auto &part) { part.set_size(1); }, "all of it, once");
  // Of a vector its owner has all.
  damage(
      [](auto &part) {
        part.set_variable(2);
        part.set_begin(0);
      },
      "all of it, once");
  damage([](auto &part) { part.set_name_there(""); }, "no name of its own");
  worker = good;
  worker.mutable_servers(0)->mutable_parts(1)->set_name_there("w/part_0");
  EXPECT_NE(parse().find("a part of it has no name of its own"),
            std::string::npos);
}

TEST_F(ServersTest, PulledRowsAreATables) {
  addVariable(&worker, "w/rows", {2, 2});
  addVariable(&worker, "w/places", {5});
  worker.mutable_variables(4)->mutable_global_type()->set_type(manifest::I32);
  worker.mutable_variables(4)->mutable_local_type()->set_type(manifest::I32);
  manifest::PulledRows *pulled = worker.add_pulled_rows();
  pulled->set_table(0);
  pulled->set_rows(3);
  pulled->set_places(4);
  pulled->add_inputs("ids");
  EXPECT_EQ(parse(), "");
  const Manifest good = worker;
  auto expect = [&](const std::string &why) {
    EXPECT_NE(parse().find(why), std::string::npos) << parse();
    worker = good;
    pulled = worker.mutable_pulled_rows(0);
  };
  pulled->set_rows(5);
  expect("it pulls rows of a variable that is not there");
  pulled->set_places(-1);
  expect("it pulls rows of a variable that is not there");
  for (const auto &change : std::vector<std::function<void()>>{
           [&] { pulled->set_rows(1); },
           [&] { pulled->set_rows(2); },
           [&] { pulled->set_places(2); },
           [&] { pulled->set_table(1); },
           [&] { pulled->clear_inputs(); },
       }) {
    change();
    expect("what is pulled are not rows of it");
  }
  pulled->set_table(3);
  pulled->set_places(2);
  worker.mutable_variables(2)->mutable_global_type()->set_type(manifest::I32);
  worker.mutable_variables(2)->mutable_local_type()->set_type(manifest::I32);
  worker.mutable_variables(2)->mutable_global_type()->set_shape(0, 2);
  worker.mutable_variables(2)->mutable_local_type()->set_shape(0, 2);
  worker.mutable_variables(2)->set_bytes(8);
  expect("it pulls rows of a variable that no server has");
}

TEST_F(ServersTest, PackageHoldsItsParts) {
  EXPECT_EQ(compare(), "");
  EXPECT_NE(compare(1).find("not of its workers' compilation"),
            std::string::npos);
  for (int number : {-1, 2})
    EXPECT_NE(compare(number).find("there is no such server"),
              std::string::npos);
  Manifest good = server;
  auto damage = [&](const std::function<void(Manifest &)> &change,
                    const std::string &why) {
    server = good;
    change(server);
    EXPECT_NE(compare().find(why), std::string::npos) << compare();
  };
  auto apply = [](Manifest &m) {
    return m.mutable_programs(0)->mutable_entries(0);
  };
  damage([](auto &m) { m.set_ranks(2); }, "no program of one device");
  damage([](auto &m) { m.clear_programs(); }, "no program of one device");
  damage([&](auto &m) { apply(m)->set_name("step"); }, "has no entry 'apply'");
  damage([&](auto &m) { apply(m)->mutable_arguments()->RemoveLast(); },
         "not one gradient a part");
  damage([&](auto &m) { apply(m)->mutable_arguments()->SwapElements(0, 1); },
         "takes another gradient in its place");
  damage(
      [&](auto &m) {
        apply(m)->mutable_arguments(0)->mutable_global_type()->set_shape(1, 3);
      },
      "takes another gradient in its place");
  damage([](auto &m) { m.mutable_variables(1)->set_name("t"); },
         "variable s): it is not the part that workers take it for");
  for (int64_t rows : {2, 5})
    damage(
        [&](auto &m) {
          m.mutable_variables(0)->mutable_global_type()->set_shape(0, rows);
        },
        "it is not the part that workers take it for");
  damage(
      [](auto &m) {
        m.mutable_variables(1)->mutable_global_type()->set_type(manifest::F64);
      },
      "it is not the part that workers take it for");
}

} // namespace
} // namespace dist::test
