//===- session_figures.h - What a session tells of its ranks -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_SESSION_FIGURES_H
#define RUNTIME_CORE_SESSION_FIGURES_H

#include "runtime/core/rank.h"
#include <memory>
#include <vector>

namespace dist {

using RankContexts = std::vector<std::unique_ptr<dist_rt_context>>;

/// Of the devices among the ranks `local`, the mesh's host left out: the memory
/// of the one that has most, in bytes, and what Session::exposedSeconds says.
int64_t largestDevice(const manifest::Manifest &manifest,
                      const RankContexts &ranks, const std::vector<int> &local);
double exposedSeconds(const manifest::Manifest &manifest,
                      const RankContexts &ranks, const std::vector<int> &local);
/// What these ranks have traced; they have it no more.
std::vector<TraceEvent> takeEvents(const RankContexts &ranks,
                                   const std::vector<int> &local);

} // namespace dist

#endif // RUNTIME_CORE_SESSION_FIGURES_H
