//===- dataset_files.cpp - Examples of files -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/data/column_checks.h"
#include "runtime/data/preprocessing.h"
#include "runtime/data/source.h"
#include <algorithm>

namespace dist {

/// Weights of 1.
static HostArray makeOnes(int64_t count) {
  auto ones = std::make_shared<std::vector<float>>(count, 1.0f);
  HostArray array;
  array.type = manifest::F32;
  array.shape = {count};
  array.data = reinterpret_cast<const char *>(ones->data());
  array.owner = ones;
  return array;
}

namespace {

/// An argument that data are for.
struct Argument {
  const manifest::Binding *binding = nullptr;
  bool label = false, weights = false;
  bool soleLabel = false;         // of the losses
  bool firstInput = false;        // of the model
  std::vector<std::string> names; // of its data, the best first
};

} // namespace

static std::vector<Argument> findArguments(const DataOptions &options,
                                           const manifest::Entry &entry) {
  std::vector<Argument> arguments;
  int64_t labels = 0, inputs = 0;
  for (const manifest::Binding &binding : entry.arguments()) {
    Argument argument;
    argument.binding = &binding;
    argument.label = binding.role() == manifest::Binding::LABEL;
    if (!argument.label && binding.role() != manifest::Binding::INPUT)
      continue;
    argument.weights =
        argument.label && binding.name() == options.sampleWeights;
    argument.firstInput = !argument.label && inputs++ == 0;
    labels += argument.label && !argument.weights;
    arguments.push_back(argument);
  }
  for (Argument &argument : arguments) {
    argument.soleLabel = argument.label && !argument.weights && labels == 1;
    argument.names = {argument.binding->name()};
    if (argument.soleLabel)
      argument.names.insert(argument.names.end(), {"label", "y"});
    else if (argument.firstInput)
      argument.names.push_back("x");
  }
  return arguments;
}

/// For each argument which of the named arrays it takes, or how many there are.
static std::vector<size_t> match(const std::vector<Argument> &arguments,
                                 const std::vector<std::string> &names) {
  std::vector<size_t> found;
  for (const Argument &argument : arguments) {
    size_t index = names.size();
    for (const std::string &word : argument.names)
      for (size_t i = 0; i < names.size() && index == names.size(); ++i)
        if (names[i] == word &&
            std::find(found.begin(), found.end(), i) == found.end())
          index = i;
    found.push_back(index);
  }
  return found;
}

/// What the arguments ask of files.
static DataDemand demandOf(const std::vector<Argument> &arguments,
                           const DataOptions &options) {
  DataDemand demand;
  demand.leavesRecords = true;
  demand.worker = options.worker;
  demand.workers = options.workers;
  demand.choose = [&arguments](const std::vector<std::string> &names) {
    std::vector<bool> chosen(names.size(), false);
    for (size_t index : match(arguments, names))
      if (index < names.size())
        chosen[index] = true;
    return chosen;
  };
  demand.check = [&](const std::string &name, DataType type,
                     const std::vector<int64_t> &shape) {
    std::vector<size_t> found = match(arguments, {name});
    size_t index = std::find(found.begin(), found.end(), 0) - found.begin();
    if (index == arguments.size() || shape.empty())
      return Status(); // refused with a better error when all are read
    Column column;
    column.soleLabel = arguments[index].soleLabel;
    column.array.type = type;
    column.array.shape = shape;
    return bindColumn(options, *arguments[index].binding,
                      arguments[index].firstInput, column);
  };
  return demand;
}

Status Dataset::open(const DataOptions &options, const manifest::Entry &entry,
                     std::unique_ptr<Dataset> *out) {
  DIST_RETURN_IF_ERROR(checkPreprocessingNames(options, entry));
  std::vector<Argument> arguments = findArguments(options, entry);
  std::vector<NamedArray> arrays;
  DIST_RETURN_IF_ERROR(readDataSpec(options.spec, options.validation, &arrays,
                                    options.access,
                                    demandOf(arguments, options)));
  std::vector<std::string> given;
  for (const NamedArray &item : arrays)
    given.push_back(item.name);
  std::vector<size_t> found = match(arguments, given);
  auto data = std::make_unique<Dataset>();
  std::vector<bool> used(arrays.size(), false);
  std::string names;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument &argument = arguments[i];
    const std::string &name = argument.binding->name();
    names += (names.empty() ? "" : ", ") + name;
    Column column;
    column.soleLabel = argument.soleLabel;
    bool missing = found[i] == arrays.size();
    bool alike = missing && argument.weights && options.validation;
    if (missing && !alike)
      return unfit(argument.weights
                       ? "no weights of the examples"
                       : "no data for the model's " +
                             std::string(argument.label ? "label" : "input"),
                   name, "--data does not name it",
                   "add " + (argument.soleLabel ? "label" : name) + "=FILE");
    if (alike) {
      data->alike = true;
      column.array = makeOnes(data->count);
    } else {
      used[found[i]] = true;
      column.array = std::move(arrays[found[i]].array);
      column.stored = arrays[found[i]].stored;
      column.firstStored = arrays[found[i]].firstStored;
    }
    DIST_RETURN_IF_ERROR(data->add(std::move(column), options,
                                   *argument.binding, argument.firstInput));
  }
  for (size_t i = 0; i < arrays.size(); ++i)
    // Archives may hold more than a model wants; a pair names what it wants.
    if (!used[i] &&
        options.spec.find(arrays[i].name + "=") != std::string::npos)
      return unfit("the model has no such input", arrays[i].name,
                   "it has " + names, "leave it out of --data");
  if (data->count == 0)
    return Status::error(StatusCode::InvalidInput, "no examples", options.spec,
                         "the data are empty", "give at least one example");
  if (options.cache)
    for (Column &column : data->table) {
      if (column.direct())
        continue;
      auto decoded = std::make_shared<std::string>(
          column.exampleBytes() * size_t(data->count), '\0');
      for (int64_t i = 0; i < data->count; ++i)
        column.gather(&i, 1, decoded->data() + column.exampleBytes() * i);
      Column ready;
      ready.name = column.name;
      ready.label = column.label;
      ready.soleLabel = column.soleLabel;
      ready.type = column.type;
      ready.exampleShape = column.exampleShape;
      ready.array.type = column.type;
      ready.array.shape = column.exampleShape;
      ready.array.shape.insert(ready.array.shape.begin(), data->count);
      ready.array.data = decoded->data();
      ready.array.owner = decoded;
      column = std::move(ready);
    }
  *out = std::move(data);
  return Status();
}

} // namespace dist
