//===- data_options.h - Data as options describe them -----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_DATA_OPTIONS_H
#define TOOLS_DIST_RUN_DATA_OPTIONS_H

#include "runtime/core/session.h"
#include "runtime/data/dataset.h"
#include "tools/options/options.h"

namespace dist::tools {

/// Keras' own default.
constexpr int64_t kDefaultBatch = 32;

/// How `spec` is read, for training or else for `validation`.
DataOptions dataOptions(const Options &options,
                        const manifest::Manifest &manifest,
                        const std::string &spec, bool validation);

/// The error of an option that is missing; `choices`: its values.
Status needs(const char *what, const char *option,
             const std::string &choices = "");

/// Options and their values, as processes compare them.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// Tells data from others of as many examples, by what enters the program: of
/// all examples or, if they are many, of some from the first to the last one.
std::string digestOf(const Dataset &data);
/// What a cluster's processes must read alike.
Settings describeData(const Options &options, const Dataset &data);

/// Says that the data to evaluate on lack the weights of training.
void noteWeights(const Session &session, const Dataset &data);

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_DATA_OPTIONS_H
