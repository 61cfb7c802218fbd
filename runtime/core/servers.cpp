//===- servers.cpp - Which variables parameter servers hold ---------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/servers.h"
#include "runtime/core/types.h"
#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace dist {

namespace {

Status damaged(const std::string &where, const std::string &why) {
  return Status::error(StatusCode::InvalidInput, "the package is damaged",
                       where, why, "compile it again");
}

/// Rows that a variable has along dim 0.
int64_t countRows(const manifest::Variable &variable) {
  const auto &shape = variable.global_type().shape();
  return shape.empty() ? 1 : shape[0];
}

/// The type of a part as a variable.
manifest::TensorType partType(const manifest::Variable &variable,
                              const manifest::ServerPart &part) {
  manifest::TensorType type = variable.global_type();
  if (type.shape_size() > 0)
    type.set_shape(0, part.size());
  return type;
}

/// Whether its two variables are a table's rows and their places.
Status checkPulledRows(const manifest::Manifest &manifest,
                       const manifest::PulledRows &pulled,
                       const std::string &where) {
  for (int variable : {pulled.table(), pulled.rows(), pulled.places()})
    if (variable < 0 || variable >= manifest.variables_size())
      return damaged(where, "it pulls rows of a variable that is not there");
  const manifest::Variable &table = manifest.variables(pulled.table());
  const manifest::TensorType &all = table.global_type();
  const manifest::TensorType &rows =
      manifest.variables(pulled.rows()).global_type();
  manifest::TensorType expected = rows, places;
  if (all.shape_size() > 0 && rows.shape_size() > 0)
    expected.set_shape(0, all.shape(0));
  places.set_type(manifest::I32);
  places.add_shape(all.shape_size() > 0 ? all.shape(0) : 0);
  if (!isSameType(expected, all) || rows.shape_size() == 0 ||
      rows.shape(0) < 1 || pulled.inputs().empty() ||
      !isSameType(places, manifest.variables(pulled.places()).global_type()))
    return damaged(where + ": variable " + table.name(),
                   "what is pulled are not rows of it");
  return Status();
}

} // namespace

Status checkServers(const manifest::Manifest &manifest,
                    const std::string &where) {
  std::map<int, std::vector<std::pair<int64_t, int64_t>>> rowsOf;
  for (int number = 0; number < manifest.servers_size(); ++number) {
    std::string place = where + ": server " + std::to_string(number);
    std::set<std::string> names;
    for (const manifest::ServerPart &part : manifest.servers(number).parts()) {
      if (part.variable() < 0 || part.variable() >= manifest.variables_size())
        return damaged(place, "it has a variable that is not there");
      const manifest::Variable &variable = manifest.variables(part.variable());
      int64_t rows = countRows(variable);
      if (part.begin() < 0 || part.size() < 0 || part.begin() > rows ||
          part.size() > rows - part.begin())
        return damaged(place + ": variable " + variable.name(),
                       "a part of it lies outside the variable");
      if (part.name_there().empty() || !names.insert(part.name_there()).second)
        return damaged(place + ": variable " + variable.name(),
                       "a part of it has no name of its own");
      rowsOf[part.variable()].emplace_back(part.begin(), part.size());
    }
  }
  for (auto &[number, rows] : rowsOf) {
    const manifest::Variable &variable = manifest.variables(number);
    std::sort(rows.begin(), rows.end());
    int64_t end = 0;
    bool isWhole = true;
    for (auto [begin, size] : rows) {
      isWhole &= begin == end;
      end = begin + size;
    }
    if (!isWhole || end != countRows(variable))
      return damaged(where + ": variable " + variable.name(),
                     "the servers' parts are not all of it, once");
  }
  for (const manifest::PulledRows &pulled : manifest.pulled_rows()) {
    DIST_RETURN_IF_ERROR(checkPulledRows(manifest, pulled, where));
    if (!rowsOf.count(pulled.table()))
      return damaged(where, "it pulls rows of a variable that no server has");
  }
  return Status();
}

Status checkServer(const manifest::Manifest &worker, int number,
                   const manifest::Manifest &server, const std::string &where) {
  if (number < 0 || number >= worker.servers_size())
    return Status::error(
        StatusCode::InvalidArgument, "there is no such server", where,
        "the package has " + std::to_string(worker.servers_size()) +
            ", from 0 on",
        "compile it with as many --servers");
  const manifest::Server &expected = worker.servers(number);
  if (server.digest() != expected.digest())
    return damaged(where, "it is not of its workers' compilation");
  if (server.ranks() != 1 || server.programs_size() != 1)
    return damaged(where, "a server's is no program of one device");
  const auto &entries = server.programs(0).entries();
  auto apply =
      std::find_if(entries.begin(), entries.end(),
                   [](const auto &entry) { return entry.name() == "apply"; });
  if (apply == entries.end())
    return damaged(where, "a server has no entry 'apply'");
  std::vector<const manifest::Binding *> gradients;
  for (const manifest::Binding &binding : apply->arguments())
    if (binding.role() == manifest::Binding::GRADIENT)
      gradients.push_back(&binding);
  if (gradients.size() != static_cast<size_t>(expected.parts_size()))
    return damaged(where, "its 'apply' takes not one gradient a part");
  for (int i = 0; i < expected.parts_size(); ++i) {
    const manifest::ServerPart &part = expected.parts(i);
    manifest::TensorType type =
        partType(worker.variables(part.variable()), part);
    auto found = std::find_if(
        server.variables().begin(), server.variables().end(),
        [&](const auto &one) { return one.name() == part.name_there(); });
    if (found == server.variables().end() ||
        !isSameType(found->global_type(), type))
      return damaged(where + ": variable " + part.name_there(),
                     "it is not the part that workers take it for");
    if (gradients[i]->name() != part.name_there() ||
        !isSameType(gradients[i]->global_type(), type))
      return damaged(where + ": variable " + part.name_there(),
                     "'apply' takes another gradient in its place");
  }
  return Status();
}

} // namespace dist
