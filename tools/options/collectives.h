//===- collectives.h - What collectives take --------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `dist-run bench --collectives` writes it.
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_OPTIONS_COLLECTIVES_H
#define TOOLS_OPTIONS_COLLECTIVES_H

#include "runtime/comm/schedule/times.h"
#include <string>

namespace dist::tools {

/// exchange, ring, ...
const char *nameOf(Algorithm algorithm);
/// memory, process, network
const char *nameOf(LinkClass link);

Status writeCollectiveTimes(const std::string &path,
                            const CollectiveTimes &times);

} // namespace dist::tools

#endif // TOOLS_OPTIONS_COLLECTIVES_H
