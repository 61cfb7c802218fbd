//===- heartbeat_impl.h - The thread of the beats ---------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_HEARTBEAT_HEARTBEAT_IMPL_H
#define RUNTIME_CLUSTER_HEARTBEAT_HEARTBEAT_IMPL_H

#include "runtime/cluster/heartbeat/connection.h"
#include "runtime/cluster/heartbeat/detector.h"
#include "runtime/cluster/heartbeat/heartbeat.h"
#include "runtime/cluster/heartbeat/surroundings.h"
#include <condition_variable>
#include <mutex>
#include <optional>
#include <random>

namespace dist::cluster {

class Heartbeat::Impl {
public:
  using Clock = Detector::Clock;

  /// `key`: of who takes part in this epoch.
  Impl(const HeartbeatOptions &options, std::string key);
  ~Impl();
  /// As the chief, or connected to it.
  void start(std::unique_ptr<Door> door);
  void start(std::unique_ptr<Connection> toChief);

  // Any thread:
  void attach(std::vector<Communicator *> ranks, OpName nameOp);
  void detach();
  void done(const StepDone &step);
  void begin(int64_t step);
  void admit(const MemberName &name);
  Status check();
  Status explain(const Status &failed);
  std::vector<LostMember> findLost(bool waits);
  std::vector<std::string> takeNotes();
  proto::ClusterStatus status();

private:
  /// Another process: of a member that is not the chief, the chief alone has a
  /// connection.
  struct Peer {
    std::unique_ptr<Connection> connection;
    /// It has said where it runs, and hears what others do.
    bool isGreeted = false;
    /// Its thread of the beats, where this machine has it.
    int64_t process = 0, thread = 0;
    bool isNear = false;
  };
  /// A connection that has not said yet what it is.
  struct Stranger {
    std::unique_ptr<Connection> connection;
    Clock::time_point since;
    std::string nonce;         // that it was sent
    std::optional<int> member; // kAsker, or none; it has shown the key
    bool isAnswered = false;
  };
  bool isChief() const { return options.self == 0; }

  // The thread's own:
  void run();
  /// False: it is to end.
  bool wait(Clock::time_point until);
  void acceptAdmitted();
  void acceptStrangers(Clock::time_point now);
  void hearStrangers(Clock::time_point now);
  /// False: the connection is to be closed. `entered`: it is a member's now,
  /// whose end or silence is a loss from here on.
  bool meet(Stranger &stranger, const proto::Control &message,
            Clock::time_point now, bool *entered);
  void hearPeers(Clock::time_point now);
  /// The members whose connections have ended.
  std::vector<int> hearAll(Clock::time_point now);
  void hear(int member, const proto::Control &message, Clock::time_point now);
  void look(Clock::time_point now, Clock::time_point planned);
  void sendBeat(Clock::time_point now);
  void sendHello(Connection &to) const;
  void tellLosses(Connection &to);
  void tellAll(const proto::Control &message);
  ThreadState ask(int member) const;
  /// `how`: "has ended".
  void lose(int member, const std::string &how);
  /// Under the lock, after a failure.
  void abortRanks();
  void judgeComplaints();
  void hearOfLoss(const proto::Loss &loss);
  void setState(int member, Monitor::State state);

  /// A member is lost, or this process is to the others: ends the work here,
  /// where it cannot go on without.
  void fail(int member, const std::string &why);
  /// Waits until what came while the process slept is heard.
  void catchUp(std::unique_lock<std::mutex> &lock);

  const HeartbeatOptions options;
  std::vector<MemberName> names; // by member, the thread's own
  BeatSurroundings &around;
  const std::string key, space;
  std::unique_ptr<Door> door; // the chief's
  std::unique_ptr<Waiter> waiter;
  Detector detector;
  std::vector<Peer> peers; // by member
  std::vector<Stranger> strangers;
  /// Members that say they have lost the chief, this process, and have not been
  /// judged.
  std::vector<std::pair<int, proto::Loss>> complaints;
  std::minstd_rand choices; // who of them goes
  Clock::time_point nextBeat;

  std::mutex mutex; // of what follows
  std::condition_variable looked;
  Monitor monitor;
  std::vector<MemberName> admitted; // and not known to the thread yet
  std::vector<Communicator *> ranks;
  /// Of each, what was under way when it was attached.
  std::vector<uint32_t> generations;
  OpName nameOp;
  /// The newest step's end, and what the ranks had waited by then.
  proto::Beat place;
  std::vector<int64_t> waited;
  std::string failure;
  std::vector<LostMember> lost;
  bool isGivenUp = false; // by the others
  /// When the newest look began to hear what had come by then; before the first
  /// one, when nothing had.
  Clock::time_point lastHearing;

  std::unique_ptr<BeatSurroundings::Thread> thread;
};

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_HEARTBEAT_HEARTBEAT_IMPL_H
