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
  const manifest::Manifest &manifest = session.manifest();
  std::unique_ptr<SafetensorsFile> file;
  DIST_RETURN_IF_ERROR(SafetensorsFile::open(path, &file));
  auto misfit = [&](const Variable &variable, const std::string &why) {
    return Status::error(StatusCode::InvalidInput,
                         "the file is of another model", path,
                         "variable '" + variable.name() + "' " + why,
                         "load what a session of this model has saved");
  };
  std::vector<const TensorView *> values;
  std::set<const TensorView *> used;
  for (const Variable &variable : manifest.variables()) {
    const TensorView *value = file->find(variable.name());
    if (!value && !variable.model_name().empty())
      value = file->find(variable.model_name());
    values.push_back(value);
    used.insert(value);
    if (!value && isOfModel(variable))
      return misfit(variable, "is missing");
    if (!value)
      continue;
    DataType type = variable.global_type().type();
    std::vector<int64_t> shape = valueShape(variable);
    if (value->type != type || value->shape != shape)
      return misfit(variable, std::string("is ") + name(value->type) +
                                  toString(value->shape) + " there, but " +
                                  name(type) + toString(shape) + " here");
  }
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i])
      DIST_RETURN_IF_ERROR(session.writeVariable(i, *values[i]));
  int64_t others = 0;
  std::string first;
  for (const auto &[name, view] : file->tensors())
    if (!used.count(&view) && others++ == 0)
      first = name;
  if (others > 0)
    notes->push_back(path + ": " + std::to_string(others) +
                     " tensors are no variables of this program (" + first +
                     (others > 1 ? " and others)" : ")"));
  return Status();
}

} // namespace dist
