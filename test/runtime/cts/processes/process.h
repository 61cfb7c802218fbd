//===- process.h - Processes that are ranks of a test -----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_CTS_PROCESSES_PROCESS_H
#define TEST_RUNTIME_CTS_PROCESSES_PROCESS_H

#include "test/runtime/cts/processes/channel.h"
#include <memory>
#include <mutex>
#include <sys/types.h>

namespace dist::cts {

/// The test's ends of a process's sockets. Without them the process ends.
struct Process {
  pid_t id = -1;
  Sockets sockets;
  std::mutex mutex, abortMutex, besideMutex;

  Process() = default;
  Process(const Process &) = delete;
  virtual ~Process() { hangUp(); }
  void hangUp() {
    for (int *socket : {&sockets.asks, &sockets.aborts, &sockets.besides}) {
      if (*socket >= 0)
        close(*socket);
      *socket = -1;
    }
  }
  bool ask(const Text &text, Text *reply) {
    std::lock_guard<std::mutex> lock(mutex);
    return sendText(sockets.asks, text) && receiveText(sockets.asks, reply);
  }
  /// To run something, whatever it was asked else.
  bool askBeside(const Text &text, Text *reply) {
    std::lock_guard<std::mutex> lock(besideMutex);
    return sendText(sockets.besides, text) &&
           receiveText(sockets.besides, reply);
  }
  bool isUsable() {
    Text reply;
    return ask(Text().add(int64_t(Ask::IsUsable)).add(int64_t(0)), &reply) &&
           reply.number() != 0;
  }
};

/// Where a world's processes come from. They stay for the next world.
class Processes {
public:
  virtual ~Processes() = default;
  /// One for each rank, by rank. A world has them while it refers to them.
  virtual std::vector<std::shared_ptr<Process>> take(int64_t ranks) = 0;
};

/// Those of this very program, which is started again as
/// `rank --serve-rank ASKS ABORTS BESIDES`, the numbers of its sockets.
Processes &forkedProcesses();

} // namespace dist::cts

#endif // TEST_RUNTIME_CTS_PROCESSES_PROCESS_H
