//===- message_apart.h - Worlds of one rank each --------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_CTS_MESSAGE_APART_H
#define TEST_RUNTIME_CTS_MESSAGE_APART_H

#include "runtime/comm/message/memory/memory.h"
#include "runtime/comm/message/message.h"
#include "gtest/gtest.h"
#include <thread>

namespace dist::cts {

/// Worlds of one rank each, as processes have them.
struct Apart {
  MessageOptions options;
  std::vector<Algorithm> ways; // by rank, where they differ
  std::vector<std::unique_ptr<MessageWorld>> worlds;

  explicit Apart(int ranks, double timeout = 20) {
    options.mesh = {ranks};
    options.timeout = timeout;
    options.spinMicroseconds = 0;
    options.nameProcess = [](int rank) {
      return "worker w" + std::to_string(rank);
    };
  }
  void open() {
    for (auto &end : makeMemoryTransports(options.mesh[0])) {
      if (!ways.empty())
        options.allReduce = ways[worlds.size()];
      worlds.emplace_back();
      std::vector<std::unique_ptr<Transport>> own;
      own.push_back(std::move(end));
      Status status =
          MessageWorld::create(options, std::move(own), &worlds.back());
      EXPECT_TRUE(status.ok()) << status.message();
    }
  }
  Communicator &rank(int rank) { return worlds[rank]->rank(rank); }
  template <typename Body> std::vector<Status> onAll(Body body) {
    std::vector<Status> status(worlds.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < worlds.size(); ++i)
      threads.emplace_back([&, i] { status[i] = body(rank(i)); });
    for (std::thread &thread : threads)
      thread.join();
    return status;
  }
};

inline Status sumOne(Communicator &rank, int32_t op = 5) {
  float value = 1;
  return rank.allReduce(op, &value, 1, manifest::F32, Reduction::Sum, 1);
}

} // namespace dist::cts

#endif // TEST_RUNTIME_CTS_MESSAGE_APART_H
