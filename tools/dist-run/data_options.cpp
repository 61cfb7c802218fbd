//===- data_options.cpp - Data as options describe them -------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/data_options.h"
#include "runtime/formats/sha256.h"
#include "tools/dist-run/console.h"
#include <algorithm>
#include <numeric>

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

/// Of so many bytes of examples, which take some milliseconds.
static constexpr int64_t kDigested = 4 << 20;
/// Gathered at once.
static constexpr int64_t kPiece = 64;

std::string digestOf(const Dataset &data) {
  int64_t bytes = 0;
  for (const Column &column : data.columns())
    bytes += int64_t(column.exampleBytes());
  const int64_t all = data.examples();
  const int64_t count = std::min(
      all, std::max<int64_t>(kDigested / std::max<int64_t>(bytes, 1), 2));
  Sha256 hash;
  std::vector<int64_t> indices;
  std::string piece;
  for (int64_t done = 0; done < count; done += int64_t(indices.size())) {
    indices.resize(size_t(std::min(kPiece, count - done)));
    // From the first to the last one. Less than 2^22 of them.
    for (size_t i = 0; i < indices.size(); ++i)
      indices[i] = count == all ? done + int64_t(i)
                                : int64_t(double(done + int64_t(i)) *
                                          double(all - 1) / double(count - 1));
    for (const Column &column : data.columns()) {
      piece.resize(column.exampleBytes() * indices.size());
      column.gather(indices.data(), int64_t(indices.size()), piece.data());
      hash.add(piece);
    }
  }
  return hash.hex().substr(0, 12);
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
