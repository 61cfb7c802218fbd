//===- metrics_server.h - Metrics over HTTP ---------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_STATUS_METRICS_SERVER_H
#define RUNTIME_CLUSTER_STATUS_METRICS_SERVER_H

#include "runtime/core/status.h"
#include <functional>
#include <memory>
#include <string>

namespace dist::cluster {

/// Answers GET /metrics on a thread of its own, by libmicrohttpd. Whoever asks
/// for anything else, sends nonsense, or sends nothing, costs a connection of a
/// limited number for some seconds.
class MetricsServer {
public:
  /// `literal`: an address of this machine; port 0: a free one. `text` is
  /// called for each answer.
  static Status start(const std::string &literal, int port,
                      std::function<std::string()> text,
                      std::unique_ptr<MetricsServer> *out);
  ~MetricsServer();
  int port() const;

  struct Impl; // the library's callback knows it

private:
  explicit MetricsServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_STATUS_METRICS_SERVER_H
