//===- server.h - The embedded key-value server -----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Serves a subset of etcd's v3 API (KV, Watch, Lease) from one process: no
// replicas, no elections, and no compaction. What it holds outlives it in a
// journal, if it has one.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_ETCD_SERVER_H
#define RUNTIME_CLUSTER_ETCD_SERVER_H

#include "runtime/cluster/cluster_spec.h"
#include "runtime/cluster/etcd/journal.h"
#include "runtime/cluster/security/certificates.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace dist::cluster {

struct EtcdServerOptions {
  /// A literal; port 0: a free one.
  Address address = {"127.0.0.1", 0};
  /// A file; empty: what it holds ends with it.
  std::string journal;
  JournalSync sync = JournalSync::EachRecord;
  /// What both ends of a connection show each other; none: whoever can reach
  /// the port is served, in clear text.
  std::optional<TlsCertificates> tls;
  /// Milliseconds of a clock that never goes back; empty: the system's.
  std::function<int64_t()> clock;
};

class EtcdServer {
public:
  static Status start(const EtcdServerOptions &options,
                      std::unique_ptr<EtcdServer> *server);
  /// Ends all calls.
  ~EtcdServer();

  int port() const;
  /// How often this journal's server was started.
  int64_t epoch() const;
  /// What of an unfinished record was cut off the journal.
  uint64_t cutBytes() const;

private:
  struct Impl;
  explicit EtcdServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_ETCD_SERVER_H
