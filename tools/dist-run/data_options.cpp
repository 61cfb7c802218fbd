//===- data_options.cpp - Data as options describe them -------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/data_options.h"
#include "tools/dist-run/console.h"

namespace dist::tools {

DataOptions dataOptions(const Options &options,
                        const manifest::Manifest &manifest,
                        const std::string &spec, bool validation) {
  DataOptions data;
  data.spec = spec;
  data.scale = {options.scale.begin(), options.scale.end()};
  data.mean = {options.mean.begin(), options.mean.end()};
  data.std = {options.std.begin(), options.std.end()};
  data.layout = {options.layout.begin(), options.layout.end()};
  data.validation = validation;
  auto weights = manifest.options().find("sample-weights");
  if (weights != manifest.options().end())
    data.sampleWeights = weights->second;
  data.cache = options.cache;
  data.access = FileAccess::Map; // main guards against their truncation
  return data;
}

Status needs(const char *what, const char *option, const std::string &choices) {
  return Status::error(StatusCode::InvalidArgument, what, option, "",
                       std::string("add ") + option +
                           (choices.empty() ? "" : " NAME: " + choices));
}

static std::string describe(const NamedValues &values) {
  std::string all;
  for (auto &[name, value] : values)
    all += (all.empty() ? "" : " ") + name + "=" + value;
  return all.empty() ? "none" : all;
}

Settings describeData(const Options &options, const Dataset &data) {
  return {{"data", std::to_string(data.examples()) + " examples"},
          {"--scale", describe(options.scale)},
          {"--mean", describe(options.mean)},
          {"--std", describe(options.std)},
          {"--layout", describe(options.layout)}};
}

void noteWeights(const Session &session, const Dataset &data) {
  if (data.countsAlike())
    printNote("dist-run: note: what is evaluated has no '" +
              session.manifest().options().at("sample-weights") +
              "': its examples count alike");
}

} // namespace dist::tools
