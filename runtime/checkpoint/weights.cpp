//===- weights.cpp - Variables by name in one file -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/core/package.h"
#include "runtime/core/processes.h"
#include "runtime/formats/safetensors.h"
#include <set>

namespace dist {

using manifest::Variable;

static bool isOfModel(const Variable &variable) {
  return variable.group() == "parameter" || variable.group() == "buffer";
}

Status saveVariables(const std::string &path, Session &session,
                     VariableSet set) {
  const manifest::Manifest &manifest = session.manifest();
  bool all = set == VariableSet::All;
  return onChief(session, [&](const GlobalReader &read) {
    SafetensorsWriter writer(path);
    for (int i = 0; i < manifest.variables_size(); ++i) {
      const Variable &variable = manifest.variables(i);
      if (all || isOfModel(variable))
        writer.add(all || variable.model_name().empty() ? variable.name()
                                                        : variable.model_name(),
                   variable.global_type().type(), valueShape(variable),
                   [&read, i](Tensor *out) { return read(i, out); });
    }
    return writer.finish(/*durable=*/true);
  });
}

Status loadVariables(const std::string &path, Session &session,
                     std::vector<std::string> *notes) {
  OwnWork work(session);
  const manifest::Manifest &manifest = session.manifest();
  std::unique_ptr<SafetensorsReader> file;
  DIST_RETURN_IF_ERROR(SafetensorsReader::open(path, &file));
  auto misfit = [&](const Variable &variable, const std::string &why) {
    return Status::error(StatusCode::InvalidInput,
                         "the file is of another model", path,
                         "variable '" + variable.name() + "' " + why,
                         "load what a session of this model has saved");
  };
  std::vector<std::string> names; // by variable; empty: there is none
  std::set<std::string> used;
  for (const Variable &variable : manifest.variables()) {
    auto value = file->tensors().find(variable.name());
    if (value == file->tensors().end() && !variable.model_name().empty())
      value = file->tensors().find(variable.model_name());
    bool found = value != file->tensors().end();
    names.push_back(found ? value->first : "");
    if (!found && isOfModel(variable))
      return misfit(variable, "is missing");
    if (!found)
      continue;
    used.insert(value->first);
    const TensorView &there = value->second;
    DataType type = variable.global_type().type();
    std::vector<int64_t> shape = valueShape(variable);
    if (there.type != type || there.shape != shape)
      return misfit(variable, std::string("is ") + name(there.type) +
                                  toString(there.shape) + " there, but " +
                                  name(type) + toString(shape) + " here");
  }
  Tensor value;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty())
      continue;
    DIST_RETURN_IF_ERROR(file->read(names[i], &value));
    DIST_RETURN_IF_ERROR(session.writeVariable(i, value.view()));
  }
  int64_t others = 0;
  std::string first;
  for (const auto &[name, view] : file->tensors())
    if (!used.count(name) && others++ == 0)
      first = name;
  if (others > 0)
    notes->push_back(path + ": " + std::to_string(others) +
                     " tensors are no variables of this program (" + first +
                     (others > 1 ? " and others)" : ")"));
  return Status();
}

} // namespace dist
