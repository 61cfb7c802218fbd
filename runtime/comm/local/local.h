//===- local.h - Communicator of one process's devices ----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks are threads that read each other's buffers. A large all-reduce: all
// ranks publish their buffer; each reduces one part over all buffers, in rank
// order, and writes it back to all; all meet again. A small one goes through
// buffers of the communicator and meets once. That is Auto: it reads each byte
// once and meets twice, where a ring of n ranks meets 2n - 1 times and one rank
// that reduces for all leaves the others idle.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_LOCAL_LOCAL_H
#define RUNTIME_COMM_LOCAL_LOCAL_H

#include "runtime/comm/common/options.h"
#include "runtime/core/world.h"
#include <memory>

namespace dist {

/// The communicators of all ranks of one process.
class LocalWorld : public World {
public:
  static Status create(const WorldOptions &options,
                       std::unique_ptr<LocalWorld> *out);
};

} // namespace dist

#endif // RUNTIME_COMM_LOCAL_LOCAL_H
