//===- membership_impl.h - A member's view of the store ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_MEMBERSHIP_MEMBERSHIP_IMPL_H
#define RUNTIME_CLUSTER_MEMBERSHIP_MEMBERSHIP_IMPL_H

#include "runtime/cluster/membership/membership.h"
#include "runtime/cluster/membership/surroundings.h"
#include <chrono>
#include <map>
#include <optional>

namespace dist::cluster {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// How long a process that has stopped stays registered, and how often one that
/// has not says so.
inline constexpr int64_t kLeaseSeconds = 10;
inline constexpr milliseconds kRenewal{3000};
/// A call of a store that does not answer is made again until the timeout.
inline constexpr int64_t kCallMilliseconds = 5000;
/// Renewing and giving up a lease may fail: who leaves does not wait long for a
/// store whose process is frozen.
inline constexpr int64_t kLeaseMilliseconds = 1000;
inline constexpr milliseconds kShortestPause{5}, kLongestPause{100};
/// Who waits is told for whom at first, and then each time.
inline constexpr std::chrono::seconds kFirstNote{2}, kNextNotes{30};

/// Who is there, for as long as its lease; and what the first that saw all of
/// them found, which is what all go by.
inline constexpr char kPresent[] = "present", kRoll[] = "roll";
/// Which epoch the cluster is at, and which it is about to begin; nothing: the
/// first.
inline constexpr char kEpoch[] = "/dist/epoch", kNext[] = "/dist/next";
/// Who waits to be taken in, by number, for as long as its lease.
inline constexpr char kNewcomers[] = "/dist/newcomers/";
/// All that a chief's store has. Of an etcd, those of one run.
inline constexpr char kRoot[] = "/dist/";
/// Of an epoch's exchange, with a value by each member under its number.
std::string folderOf(const std::string &root, int epoch,
                     const std::string &what);
/// In a store that is not the chief's: where the run of this chief is.
std::string chiefKey(const Address &chief);
/// What gRPC calls servers of which each will do: it goes to the next when one
/// is gone.
Status findStore(const SharedStore &store, std::string *target);
/// The connection of who serves the store does not show the secret that this
/// process has.
Status refuseSecret(const std::string &who, const std::string &where,
                    bool hasSecret);

struct Membership::Impl {
  explicit Impl(const MembershipOptions &options)
      : options(options), around(options.surroundings ? *options.surroundings
                                                      : systemSurroundings()),
        all(options.spec.tasks()) {
    for (int number = 0; number < int(all.size()); ++number)
      numbers.push_back(number);
  }
  ~Impl();

  Status open();
  Status registerSelf();
  Status enter();
  Status enterLate();
  /// The same in an etcd, whose earlier runs may have left something.
  Status enterRun();
  Status beginRun();
  Status tellWhere();
  StoreResult readRun(std::string *now);
  std::string runKey() const;
  Status grantLease(int64_t *id);
  void beRunOf(const std::string &name);
  StoreResult runIsOver() const;
  /// Only while the run is this one still.
  void fence(etcdserverpb::TxnRequest *request) const;
  void fenceByPresence(etcdserverpb::TxnRequest *request) const;
  StoreResult isGivenUp() const;
  StoreResult checkPresence();
  /// Calls an etcd again that is away for a moment, as it is while it elects.
  StoreResult call(const std::function<StoreResult()> &once);
  std::string describeSelf() const;
  /// That a process, which this text describes, has this one's task.
  Status isTaken(const std::string &by) const;
  StoreResult readNumber(const char *key, int *number);
  StoreResult writeNumber(const char *key, int number);
  Status callRoll();
  Status callAgain(const RegroupOptions &regrouping);
  StoreResult readRoll(std::optional<std::string> *roll);
  Status closeRoll(const std::map<int, std::string> &present);
  Status readMembers(const std::string &roll);
  Status checkPrograms() const;

  /// The values under a folder of the store, by the tasks' numbers, or by
  /// member.
  StoreResult listNumbers(const std::string &folder, bool valuesToo,
                          std::map<int, std::string> *values);
  StoreResult list(const std::string &folder, bool valuesToo,
                   std::map<int, std::string> *values);
  /// Puts `value` where no one has put anything; `kept`: what someone has.
  StoreResult putFirst(const std::string &key, const std::string &value,
                       bool leased, std::optional<std::string> *kept);
  /// Until `folder` has a value of each member; fails when one that has none
  /// has left.
  Status waitForAll(const std::string &folder,
                    std::map<int, std::string> *values);
  /// Tells of who is waited for; an error when it is too late.
  Status wait(const std::vector<int> &missing);
  void renew();
  void linger();

  const Task &taskOf(int member) const { return all[numbers[member]]; }
  std::string folder(const std::string &what) const {
    return folderOf(root, epoch, what);
  }
  std::string keyOf(const std::string &what, int member) const {
    return folder(what) + std::to_string(numbers[member]);
  }
  std::string where(int member) const {
    const Address *address = options.spec.find(taskOf(member));
    return taskOf(member).text() +
           (address && !address->host.empty() ? " at " + address->text() : "");
  }
  Status storeFails(const StoreResult &result) const;
  Status chiefIsGone(const StoreResult &result) const {
    if (options.store)
      return storeFails(result);
    if (result.code == StoreCode::FailedPrecondition)
      return Status::error(StatusCode::Unavailable,
                           "this process is none of the cluster any more",
                           where(self), result.message,
                           "look at the chief, whether its run goes on");
    return Status::error(StatusCode::Unavailable, "the cluster has no chief",
                         where(chief), result.message,
                         "look there why it ended");
  }

  Status foundForeign(const std::string &key) const {
    return Status::error(StatusCode::Unavailable,
                         "the store holds what no member wrote", where(chief),
                         key, "start the cluster anew, of one version");
  }

  const MembershipOptions options;
  Surroundings &around;
  /// The tasks of the cluster as it began, and which of them are members.
  const std::vector<Task> all;
  std::vector<int> numbers;
  int epoch = 0;
  /// The chief is the first of the tasks, and of the members.
  static constexpr int chief = 0;
  int self = 0;
  std::shared_ptr<void> server; // null: another process serves the store
  std::unique_ptr<Store> client, leases;
  /// Of what says that this process is there, given up as it leaves; and, in an
  /// etcd, of what the others may still want to read then.
  int64_t lease = 0, keptLease = 0;
  std::string root = kRoot;
  std::string nonce; // of this process alone
  std::string run;   // of an etcd: the chief's name for it
  bool isStarted = false;
  std::vector<Member> members;

  std::unique_ptr<Surroundings::Repeated> renewal;

  /// Of the wait under way.
  Clock::time_point begin, nextNote;
  milliseconds pause{0};
  void beginWait() {
    begin = around.now();
    nextNote = begin + kFirstNote;
    pause = kShortestPause;
  }
  /// Whether it has lasted so many seconds, or as long as the start may.
  bool isPast(double seconds) const {
    if (options.timeout > 0)
      seconds = std::min(seconds, options.timeout);
    return around.now() - begin > std::chrono::duration<double>(seconds);
  }
};

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_MEMBERSHIP_MEMBERSHIP_IMPL_H
