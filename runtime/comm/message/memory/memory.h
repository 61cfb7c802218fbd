//===- memory.h - Messages within one process -------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ends of a wire that is memory: what is small is copied at once, what is large
// stays with its sender until it is fetched, as networks do it.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_MESSAGE_MEMORY_MEMORY_H
#define RUNTIME_COMM_MESSAGE_MEMORY_MEMORY_H

#include "runtime/comm/message/transport.h"
#include <memory>
#include <vector>

namespace dist {

/// One end for each rank; each may go to another thread, and outlive the
/// others. Behind them are ends of ranks that none of these knows before it
/// has admitted them; an address is of no matter.
std::vector<std::unique_ptr<Transport>> makeMemoryTransports(int ranks,
                                                             int later = 0);

} // namespace dist

#endif // RUNTIME_COMM_MESSAGE_MEMORY_MEMORY_H
