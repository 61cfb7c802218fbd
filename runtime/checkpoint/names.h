//===- names.h - Names in a folder of states -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CHECKPOINT_NAMES_H
#define RUNTIME_CHECKPOINT_NAMES_H

#include <cstdint>
#include <string>
#include <vector>

namespace dist {

/// Not yet or no longer states: what a kill leaves of them is removed when the
/// folder is locked the next time.
constexpr const char *kSaving = ".saving-", *kRemoving = ".removing-";
/// A state whose replacement was about to take its name.
constexpr const char *kReplaced = ".replaced-";
/// Where there are no locks: an epoch that a run has claimed.
constexpr const char *kClaimed = ".claimed-";
constexpr const char *kAside = "aside-";
/// Behind the name of a state that another process hands over.
constexpr const char *kHalf = ".half";

std::string stateName(int64_t step);
std::vector<std::string> listNames(const std::string &folder);
/// Steps of the folders `step-N`, newest first.
std::vector<int64_t> listStates(const std::string &folder);
/// Whether there is anything of the name.
bool exists(const std::string &path);

} // namespace dist

#endif // RUNTIME_CHECKPOINT_NAMES_H
