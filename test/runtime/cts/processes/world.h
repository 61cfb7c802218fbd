//===- world.h - A world whose ranks are processes --------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// To a test it looks as one world of threads: each rank's calls go to a process
// of its own, with all bytes of the buffers, and what it has made of them comes
// back. So the same tests run on real processes.
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_CTS_PROCESSES_WORLD_H
#define TEST_RUNTIME_CTS_PROCESSES_WORLD_H

#include "runtime/comm/message/message.h"
#include "test/runtime/cts/processes/process.h"
#include <sys/types.h>

namespace dist::cts {

class ProcessWorld : public World {
public:
  struct Setup {
    std::vector<int64_t> mesh;
    bool host = false;
    bool sharedMemory = true;
    double timeout = 20;
    int spinMicroseconds = 0;
    Algorithm allReduce = Algorithm::Auto;
  };
  static std::unique_ptr<ProcessWorld> create(const Setup &setup,
                                              Processes &from);

  virtual pid_t process(int rank) const = 0;
  /// What a rank has sent, and what the kernel has on its connections.
  virtual Traffic traffic(int rank, int64_t *onConnections) = 0;
};

} // namespace dist::cts

#endif // TEST_RUNTIME_CTS_PROCESSES_WORLD_H
