//===- membership.h - How the processes of a cluster meet -------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The chief serves the store at its address, or a process that is none of the
// job's does, dist-run coordinator or an etcd. Every process
// registers there with what the others must know of it, under a lease: who
// ends, or is frozen for longer than the lease, is registered no more. Once all
// are there the roll is closed, and the end of any of them is an error of the
// others.
//
// The store is for the start alone: what a step needs does not pass it, and
// processes that have met go on without it.
//
// With a job's secret the store's connections are encrypted, and nobody without
// it is served; what heartbeats and ranks need to know each other by is told
// through the store. Without one whoever reaches the chief's port can take a
// part in the job.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_MEMBERSHIP_MEMBERSHIP_H
#define RUNTIME_CLUSTER_MEMBERSHIP_MEMBERSHIP_H

#include "runtime/cluster/cluster_spec.h"
#include "runtime/cluster/security/job_secret.h"
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace dist::cluster {

class Surroundings;

/// What a process tells the others of itself.
struct MemberFacts {
  /// The same for all processes that train the same by the same code.
  std::string program;
  /// Names of the package's CPUs that this machine can run.
  std::vector<std::string> cpuVariants;
  /// What the program was made with, one option each: told where they differ.
  std::vector<std::string> arguments;
};

struct Member : MemberFacts {
  Task task;
  /// Processes of one machine have the same number; from 0 on, in the order of
  /// the members.
  int host = 0;
  /// The machine's name.
  std::string hostName;
  int64_t process = 0;
  /// CPUs that the process may use.
  int cpus = 0;
};

struct MembershipOptions {
  /// With `self`, one of the tasks.
  ClusterSpec spec;
  int cpus = 1;
  /// What the job's processes know each other by; none: nothing.
  std::optional<JobSecret> secret;
  bool isElastic = false;
  /// A worker that comes when the others have met may take a lost one's place,
  /// see `takePlace`.
  bool takesWorkersBack = false;
  /// Instead of the chief's. It outlives the run, and may have others' keys:
  /// all of a run are in a folder of its own, under leases. An etcd is reached
  /// in clear text; a coordinator shows the job's secret, as a chief would.
  SharedStore store;
  /// Seconds until all must be there; 0: however long it takes.
  double timeout = 300;
  /// Hears, now and then, who is waited for; one line at a time.
  std::function<void(const std::string &)> note;
  /// Clock, threads and store; null: the system's.
  Surroundings *surroundings = nullptr;
};

/// How processes meet again.
struct RegroupOptions {
  /// Members that are not waited for, as is known by now.
  std::function<std::vector<int>()> lost;
  /// Members that are enough.
  int fewest = 1;
  /// Seconds that the chief gives those that it does not know to be lost.
  double timeout = 5;
  /// In a shared store, when the chief is lost: seconds that each member gives
  /// each one before it to take its place.
  double turn = 3;
};

/// A process that has come to take a lost one's place.
struct Comer {
  Task task;
  std::string id; // of this try alone
  std::string text;
  std::string hostName;
  int64_t process = 0;
  std::string told; // as it is in the store
};

/// What the chief gives in an exchange of this name: how its heartbeat
/// (heartbeat.h) is reached.
inline constexpr char kControlEndpoint[] = "control";

class Membership {
public:
  /// Returns when all are there; where they have met before this process came,
  /// when they meet again and take it in, as they do under `isElastic`. Errors:
  /// who is missing, and where it should be; a task that another process has
  /// already.
  static Status join(const MembershipOptions &options,
                     std::unique_ptr<Membership> *out);
  /// Leaves. A chief waits a moment first for those that have not begun, or not
  /// read the last exchange: where the start has failed they find out why, and
  /// else they have what they need.
  ~Membership();
  /// This process needs nothing of the store any more before the next
  /// `exchange` or `regroup`.
  void endStart();
  /// Whether tasks that are no members are there, and wait for the next
  /// meeting, as was seen within the last second or two. For the chief, under
  /// `isElastic`.
  bool hasNewcomers() const;
  /// What is known of the others beside the store, until the next `regroup`: an
  /// exchange that waits for them ends with its error.
  void watch(std::function<Status()> check);
  /// Behind an exchange that has failed: members that had left the store by
  /// then, as those do that end.
  std::vector<int> findGone() const;
  /// The same: others have given this epoch up, and meet for the next.
  bool othersMeetAgain() const;
  /// Meets anew, which all do after the epoch has failed, or has ended since
  /// someone has come: then `members` are those that are there, with their old
  /// tasks, in the next epoch. In a shared store another member takes a lost
  /// chief's place. An epoch may fail before it has done anything: those that
  /// an exchange found gone are lost. Errors: the chief is gone, or the run's
  /// store is; this process was evicted, the epoch that goes on without it is
  /// named; fewer are left than are enough.
  Status regroup(const RegroupOptions &options);
  /// How often they have met before.
  int epoch() const;

  /// Whether the others have met without this process, which may take a place
  /// under `takesWorkersBack`. Then `members` are theirs, and behind them this
  /// process; it has no part in exchanges, and compares what it is told with
  /// what the chief has said.
  bool isBack() const;
  /// What a member has given in an exchange before; nothing: it is not there.
  Status readOf(int member, const std::string &what,
                std::vector<std::string> *texts);
  /// The chief's, which is to be there.
  Status readOfChief(const std::string &what, std::vector<std::string> *texts);
  /// Of a member that the others have given up: it is back from now on.
  Status beBack();
  /// Of a process that is back: tells the chief of it, and waits for its
  /// answer. Errors: the run is over; nobody answers by the timeout.
  Status takePlace(const std::string &text, std::string *answer);
  /// The chief's: who has come by now, also those that were answered.
  std::vector<Comer> comers() const;
  void answer(const Comer &comer, const std::string &text);
  /// The chief's: one that was answered is lost. Who comes next in its place
  /// does not wait until the store has forgotten it; and what it does itself
  /// when it was only frozen takes nothing from that one.
  void release(const Comer &comer);

  /// Tells the others what this process is about to run, and hears what they
  /// are; all call it once an epoch. Errors: programs that differ. Behind a
  /// `regroup` who has another one than the chief is refused, and `findGone` of
  /// the others tells of it: they meet again, without it.
  Status shareFacts(const MemberFacts &facts);

  /// The chief first, the others in the order of the cluster's tasks; and this
  /// process's place there.
  const std::vector<Member> &members() const;
  int self() const;
  /// For MembershipOptions::note.
  void note(const std::string &line) const;
  /// "worker 1"
  std::string nameOf(int member) const { return members()[member].task.text(); }

  /// Brings each member's texts to all; `all` has them by member. All call it
  /// alike, with another `what` each time. Errors: a member that has ended, or
  /// gives nothing in time.
  Status exchange(const std::string &what, const std::vector<std::string> &own,
                  std::vector<std::vector<std::string>> *all);
  /// Whether what all must have alike is alike, each with its name, "--epochs":
  /// "3". All call it, once, with the same names, or none where a process has
  /// no part in it; the error says who has what else.
  /// Behind a `regroup` as `shareFacts`.
  Status
  agreeOn(const std::vector<std::pair<std::string, std::string>> &settings);

private:
  struct Impl;
  explicit Membership(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

/// What the chief of a cluster has given in an exchange, read by who is no
/// member of it; in `store`, or in the chief's own. `chief`: its address; in a
/// `store` the one before's will do, too, and becomes the present one's.
/// Errors: no store is there; it has another secret; it has none of that chief.
Status readFromChief(Address *chief, const std::optional<JobSecret> &secret,
                     const std::string &what, std::string *out,
                     const SharedStore &store = {});

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_MEMBERSHIP_MEMBERSHIP_H
