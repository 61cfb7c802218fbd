//===- joined.h - An app's process in a cluster -----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How an app meets the other processes of its cluster of parameter servers, as
// `dist-run fit` does it.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_CAPI_JOINED_H
#define RUNTIME_CLUSTER_CAPI_JOINED_H

#include "runtime/cluster/membership/served.h"
#include "runtime/parameter_server/layout.h"
#include "runtime/parameter_server/protocol.h"

namespace dist::cluster {

struct JoinOptions {
  std::string package;
  std::string tfConfig;
  std::optional<JobSecret> secret;
  double startTimeout = 300;     // seconds
  double heartbeatTimeout = 0.9; // seconds
  /// In place of the chief's.
  SharedStore store;
  PortRange ports;
  /// Empty: that of the process's own address.
  std::string interface;
  /// No letter has more bytes, nor than the package's largest.
  size_t largestLetter = 0;
  std::function<void(const std::string &)> note;
};

/// A process that has met the others.
class Joined {
public:
  /// Waits for all. Errors: of the description, or the network; who is missing;
  /// packages that differ.
  static Status join(const JoinOptions &options, std::unique_ptr<Joined> *out);
  /// All have opened their sessions.
  Status endStart();
  /// What an error comes from, where the cluster knows it better.
  Status explain(const Status &failed) const {
    return heartbeat->explain(failed);
  }
  ps::TaskOptions taskOptions();
  /// Whether a worker whose run has failed, since the others have given it up,
  /// is back with them.
  bool isBack(const Status &failed);
  Task task() const { return *spec.self; }
  int server() const { return cast.serverOf(mail->rank()); }

  ClusterSpec spec;
  ps::Cast cast;
  ps::Layout layout;
  std::string cpuVariant;
  // The others hear that this one leaves when the last of these goes.
  std::unique_ptr<Membership> membership;
  std::unique_ptr<Heartbeat> heartbeat;
  std::unique_ptr<ps::Mail> mail;

private:
  Status readSpec();
  Status meet();
  Status checkLayout() const;
  Status connect();

  JoinOptions options;
};

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_CAPI_JOINED_H
