//===- surroundings.h - What a member needs of its machine ------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clock, threads, store: all by which a membership touches the world, so that a
// simulation can be that.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_MEMBERSHIP_SURROUNDINGS_H
#define RUNTIME_CLUSTER_MEMBERSHIP_SURROUNDINGS_H

#include "runtime/cluster/etcd/server.h"
#include "runtime/cluster/etcd/store.h"
#include <chrono>
#include <functional>
#include <memory>

namespace dist::cluster {

struct EtcdClientOptions; // etcd/client.h

class Surroundings {
public:
  using Clock = std::chrono::steady_clock;
  using milliseconds = std::chrono::milliseconds;
  /// Of a thread; its end waits for a call that is under way.
  class Repeated {
  public:
    virtual ~Repeated() = default;
  };

  virtual ~Surroundings() = default;
  virtual Clock::time_point now() = 0;
  virtual void sleep(milliseconds time) = 0;
  /// Calls it each so often, from a thread of its own.
  virtual std::unique_ptr<Repeated> repeat(milliseconds interval,
                                           std::function<void()> what) = 0;
  /// The system's number of this process.
  virtual int64_t process() = 0;
  virtual Status randomBytes(size_t count, std::string *out) = 0;
  /// Serves a store for as long as `out` is held.
  virtual Status serve(const EtcdServerOptions &options,
                       std::shared_ptr<void> *out) = 0;
  /// As EtcdClient.
  virtual std::unique_ptr<Store> connect(const EtcdClientOptions &options) = 0;
};

Surroundings &systemSurroundings();

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_MEMBERSHIP_SURROUNDINGS_H
