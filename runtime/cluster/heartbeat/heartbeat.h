//===- heartbeat.h - Processes that watch each other ------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each process of a cluster has a connection to the chief for this alone, and a
// thread that sends beats by it and looks for those of the other end. The chief
// tells all of whom it has lost, and the others tell it if they have lost it.
// A process that ends without a word is lost at once, by its connection's end.
//
// What is lost ends the work: collectives of the ranks that are here fail, also
// those of the lost process itself when it was only frozen and wakes up. Where
// others take over what a member did, they alone hear of it that ask.
//
// Beats say nothing of whether a step goes on: that is for the collectives'
// deadlines (comm/common/waits.h).
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_HEARTBEAT_HEARTBEAT_H
#define RUNTIME_CLUSTER_HEARTBEAT_HEARTBEAT_H

#include "runtime/cluster/cluster_spec.h"
#include "runtime/cluster/heartbeat/monitor.h"
#include "runtime/core/communicator.h"
#include <memory>

namespace dist::cluster {

class BeatSurroundings; // surroundings.h

struct HeartbeatOptions {
  /// All processes, the chief first, and which of them this is.
  std::vector<MemberName> members;
  int self = 0;
  /// Seconds of silence after which a process is lost; 0: silence is none.
  double patience = 0.9;
  /// Where the chief listens.
  PortRange ports;
  /// A member's loss is no failure of the others.
  bool outlivesMembers = false;
  /// Clock, thread and connections; null: the system's.
  BeatSurroundings *surroundings = nullptr;
};

struct LostMember {
  int member = 0;
  std::string why;
};

/// A step that this process has done.
struct StepDone {
  int64_t epoch = 0, step = 0;
  int64_t examples = 0; // of all processes
  double seconds = 0, inputSeconds = 0;
};

class Heartbeat {
public:
  /// The chief's; listens at a literal address. `endpoint`: what the others
  /// need to reach it, beside its host.
  static Status serve(const HeartbeatOptions &options,
                      const std::string &literal,
                      std::unique_ptr<Heartbeat> *out, std::string *endpoint);
  /// Another one's.
  static Status join(const HeartbeatOptions &options,
                     const std::string &chiefHost, const std::string &endpoint,
                     std::unique_ptr<Heartbeat> *out);
  /// Leaves: the others hear that this is no failure.
  ~Heartbeat();

  /// Who works here: communicators by rank, which fail when a process is lost,
  /// until `detach`.
  void attach(std::vector<Communicator *> ranks, OpName nameOp);
  void detach();
  void done(const StepDone &step);
  /// Without communicators: the step that this process is in.
  void begin(int64_t step);
  /// Of the chief: one more member may come, behind the last, which it is the
  /// number of.
  void admit(const MemberName &name);

  /// Whether all are there, as far as is known, and take this process for one
  /// of them. To be asked before something is written that only one process may
  /// write: one that has slept hears first what has become of it.
  Status check();
  /// What an error of this process comes from: where the others have given it
  /// up, that, however it heard of it first.
  Status explain(const Status &failed);
  /// The members that are lost, as far as this process knows; itself, where the
  /// others have given it up. `waits`, after a failure: as long as it takes to
  /// notice one.
  std::vector<LostMember> findLost(bool waits);
  /// Of the chief: lines about processes that are slow, or were silent; the
  /// thread of the beats must not wait for who reads them.
  std::vector<std::string> takeNotes();
  proto::ClusterStatus status();

private:
  class Impl;
  explicit Heartbeat(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

/// Asks a chief, whose endpoint was read in the store.
Status askForStatus(const std::string &chiefHost, const std::string &endpoint,
                    proto::ClusterStatus *out);

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_HEARTBEAT_HEARTBEAT_H
