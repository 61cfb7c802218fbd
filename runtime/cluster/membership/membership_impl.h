//===- membership_impl.h - A member's view of the store ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_MEMBERSHIP_MEMBERSHIP_IMPL_H
#define RUNTIME_CLUSTER_MEMBERSHIP_MEMBERSHIP_IMPL_H

#include "runtime/cluster/etcd/client.h"
#include "runtime/cluster/membership/changes.h"
#include "runtime/cluster/membership/membership.h"
#include "runtime/cluster/membership/surroundings.h"
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <set>

namespace dist::cluster {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Of what processes say to each other, here and in a run's messages: raised
/// with each change by which those of before and after would not understand
/// each other. It is compared as a part of the program.
inline constexpr int kProtocol = 1;
/// How long a process that has stopped stays registered, and how often one that
/// has not says so.
inline constexpr int64_t kLeaseSeconds = 10;
inline constexpr milliseconds kRenewal{3000};
/// How often the thread that does so has something to do.
inline constexpr milliseconds kRound{1000};
/// A call of a store that does not answer is made again until the timeout.
/// Where another address will do, too, that is soon asked.
inline constexpr int64_t kCallMilliseconds = 5000, kNextMilliseconds = 1000;
/// Renewing and giving up a lease may fail: who leaves does not wait long for a
/// store whose process is frozen.
inline constexpr int64_t kLeaseMilliseconds = 1000;
inline constexpr milliseconds kShortestPause{5}, kLongestPause{100};
/// Who waits is told for whom at first, and then each time.
/// A store that tells of changes is asked all the same: it may hang.
inline constexpr milliseconds kLongestTrust{1000};
inline constexpr std::chrono::seconds kFirstNote{2}, kNextNotes{30};

/// Who is there, for as long as its lease; and what the first that saw all of
/// them found, which is what all go by.
inline constexpr char kPresent[] = "present", kRoll[] = "roll";
/// Of an epoch: who needs nothing of a chief's store any more, and how many
/// exchanges it has read since it has begun.
inline constexpr char kBegun[] = "begun";
/// All that a chief's store has. In a shared store a run's keys are in a folder
/// below it. The names that follow are in that folder, or in this one.
inline constexpr char kRoot[] = "/dist/";
/// Which epoch the cluster is at, from its first roll on, and which it is about
/// to begin; nothing: the first.
inline constexpr char kEpoch[] = "epoch", kNext[] = "next";
/// Who waits to be taken in, by number, for as long as its lease.
inline constexpr char kNewcomers[] = "newcomers/";
/// By number: who has come to take a lost one's place, for as long as its
/// lease, or until it is lost.
inline constexpr char kBack[] = "back/";
/// In a shared store: which process is the run's chief.
inline constexpr char kChief[] = "chief";
/// Of an epoch's exchange, with a value by each member under its number.
std::string folderOf(const std::string &root, int epoch,
                     const std::string &what);
/// In a shared store: where the run of this chief is.
std::string chiefKey(const Address &chief);
std::optional<TlsCertificates>
certificatesOf(const std::optional<JobSecret> &secret);
/// How long a shared store may be away while processes meet.
inline constexpr double kStoreSeconds = 10;
/// How a shared store is reached. Errors: no host of its addresses is known
/// after so many seconds.
Status findStore(const SharedStore &store,
                 const std::optional<JobSecret> &secret, double seconds,
                 EtcdClientOptions *out);
/// The connection of who serves the store does not show the secret that this
/// process has.
Status refuseSecret(const std::string &who, const std::string &where,
                    bool hasSecret);

/// Keys, or names of keys, with values.
using Texts = std::vector<std::pair<std::string, std::string>>;

/// Whether a store did not answer.
bool isAway(const StoreResult &result);

/// All keys that begin so.
etcdserverpb::RangeRequest rangeOf(const std::string &folder);
void compareMissing(const std::string &key, etcdserverpb::TxnRequest *request);
void compareValue(const std::string &key, const std::string &value,
                  etcdserverpb::TxnRequest *request);
/// `lease` 0: none.
void addPut(const std::string &key, const std::string &value, int64_t lease,
            etcdserverpb::TxnRequest *request);
void addDelete(const std::string &key, etcdserverpb::TxnRequest *request);

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
  /// The same in a shared store, whose earlier runs may have left something.
  /// `isLate`: a run is at work that this process may be taken into; `isOver`:
  /// it has ended before that.
  Status enterRun();
  Status beginRun(bool *isLate);
  Status meetFirst(bool *isLate);
  Status waitUntilTakenIn(bool *isOver);
  std::string newcomersKey() const {
    return root + kNewcomers + std::to_string(numbers[self]);
  }
  /// What this process has put, and is to be there no more. Another's value
  /// stays.
  void takeBack(const std::string &key, const std::string &value);
  Status seekEntry(int *entered, bool *isOver, std::optional<std::string> *roll,
                   std::map<int, std::string> *others);
  StoreResult readRun(std::string *now);
  std::string runKey() const;
  void beRunOf(const std::string &name);
  StoreResult runIsOver() const;
  bool isDeposed(const StoreResult &result);
  bool isIn(const std::string &roll) const;
  /// Only while the run is this one still, and this process its chief, if it
  /// has been that.
  void fence(etcdserverpb::TxnRequest *request) const;
  void fenceByPresence(etcdserverpb::TxnRequest *request) const;
  StoreResult isGivenUp() const;
  StoreResult isUnknown();
  static std::string wasEvictedIn(int epoch);
  /// Of a process that is not known there any more: in which epoch the others
  /// go on without it; empty: in none, as far as the store says.
  std::string findEviction();
  /// Whether a call that failed was one that this process has slept through.
  bool sleptThrough(Clock::time_point begin) const;
  /// For how many seconds this process was stopped until a moment ago; 0: it
  /// was not.
  double findNap();
  void noteNap(Clock::duration late);
  /// While this process waits for the others: what they have come to. `found`:
  /// those that it does not wait for any more.
  Status checkOthers(const std::map<int, std::string> &present,
                     const std::map<int, std::string> &found);
  StoreResult checkPresence();
  /// In a shared store: who is the chief.
  std::string describeChief() const;
  /// What a chief has in the store beside its epochs, under its lease.
  Texts chiefsKeys(const std::string &root) const;
  StoreResult readChief(std::optional<std::string> *text, int *number);
  /// Whose turn it is takes the place of a chief that is one of `lost`.
  StoreResult elect(const RegroupOptions &regrouping,
                    const std::vector<int> &lost);
  /// `before`: what names the chief now; nothing: its lease has ended.
  StoreResult takeOver(const std::optional<std::string> &before);
  /// Of a chief that leaves: its run is over.
  void endRun();
  Status grantLease(std::atomic<int64_t> *id);
  /// Calls a shared store again that is away for a moment, as an etcd is while
  /// it elects.
  StoreResult call(const std::function<StoreResult()> &once);
  std::string describeSelf() const;
  /// That a process, which this text describes, has this one's task.
  Status isTaken(const std::string &by) const;
  StoreResult readText(const std::string &key,
                       std::optional<std::string> *text);
  /// 0: there is none.
  StoreResult readNumber(const char *name, int *number);
  StoreResult writeNumber(const char *name, int number);
  Status callRoll();
  Status callAgain(const RegroupOptions &regrouping);
  StoreResult readRoll(std::optional<std::string> *roll);
  /// Makes them the members, unless another roll was closed before: `roll`.
  StoreResult closeRoll(const std::map<int, std::string> &present,
                        std::string *roll);
  /// Those that the epoch's roll is to have; whether all have come.
  StoreResult findComers(const std::vector<int> &lost,
                         std::map<int, std::string> *present, bool *areThere);
  Status readMembers(const std::string &roll, bool isMember = true);
  /// `explain` says in what the program of one member differs from another's;
  /// all ask it together.
  Status checkPrograms(const std::function<std::string(int, int)> &explain);
  Status refuse(const std::vector<int> &others, const std::string &what,
                const std::string &own, const std::string &chiefs);

  /// The values under a folder of the store, by the tasks' numbers, or by
  /// member.
  void takeNumbers(const etcdserverpb::RangeResponse &response,
                   const std::string &folder,
                   std::map<int, std::string> *values) const;
  StoreResult listNumbers(const std::string &folder, bool valuesToo,
                          std::map<int, std::string> *values);
  StoreResult list(const std::string &folder, bool valuesToo,
                   std::map<int, std::string> *values);
  /// Puts `value` where no one has put anything, and `more` with it; `kept`:
  /// what someone has.
  StoreResult putFirst(const std::string &key, const std::string &value,
                       bool leased, std::optional<std::string> *kept,
                       const Texts &more = {});
  StoreResult putOwn(const std::string &what, const std::string &value,
                     std::optional<std::string> *kept);
  /// Until `folder` has a value of each member; fails when one that has none
  /// has left.
  Status waitForAll(const std::string &folder,
                    std::map<int, std::string> *values);
  /// Tells of who is waited for; an error when it is too late. `folder`: where
  /// they are to put something, which is news when all have; empty: all that
  /// anyone puts is.
  Status wait(const std::vector<int> &missing, const std::string &folder);
  /// Returns when others may have put what is `awaited`, `isDue`, or now and
  /// then; `pause`: how long after which a store is asked that does not tell.
  void pauseUntilChange(milliseconds pause, const Awaited &awaited = {},
                        const std::function<bool()> &isDue = nullptr);
  void linger();
  void noteBegun();

  // Of a process that comes when the roll is closed (returns.cpp):
  bool mayTakePlace() const;
  Status beBack(const std::string &roll);
  Status readOf(int member, const std::string &what, bool *isThere,
                std::vector<std::string> *texts);
  Status readOfChief(const std::string &what, std::vector<std::string> *texts);
  Status compareProgram(const MemberFacts &facts);
  Status putReturn(const std::string &value);
  Status takePlace(const std::string &text, std::string *answer);

  // What a thread of its own does, now and then:
  void beginRenewal();
  void serveLeases();
  void renewLeases();
  void keepRun();
  bool isRenewed(int64_t id);
  void registerAnew(bool isOwnOver, bool isKeptOver);
  void compareAnew(bool isOwnOver, bool isKeptOver,
                   etcdserverpb::TxnRequest *request) const;
  void putAnew(bool isOwn, int64_t lease,
               etcdserverpb::TxnRequest *request) const;
  void lookForNewcomers();
  void serveReturns();
  /// Of this process's main thread, before it needs leases that may have ended.
  Status mendLeases();
  /// That thread keeps away from what the main thread is changing.
  void beginMeeting();
  void endMeeting();

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
  Status chiefIsGone(const StoreResult &result);

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
  StoreChanges changes;
  /// Of what says that this process is there, given up as it leaves; and, in an
  /// etcd, of what the others may still want to read then.
  std::atomic<int64_t> lease{0}, keptLease{0};
  std::string root = kRoot;
  std::string nonce; // of this process alone
  std::string run;   // in a shared store: the first chief's name for it
  /// It is the chief, as far as it knows. Otherwise the first member is.
  bool leads = false;
  bool isStarted = false;
  /// Exchanges behind the start that this process has read; all have the same.
  int exchangesSince = 0;
  /// The members keep what tells of the run, whoever is their chief.
  std::atomic<bool> keepsRun{false};
  bool isBack = false; // as takes a lost one's place
  std::vector<Member> members;
  /// By number, what members have said of themselves in the newest roll.
  std::map<int, std::string> rollTexts;
  std::string closedRoll; // that, as it is in the store
  int closedEpoch = 0;
  /// Of a meeting: who was the chief when it was looked for last, and since
  /// when it is. Nothing: there is none.
  std::optional<std::string> seenChief;
  Clock::time_point chiefSince;
  std::function<Status()> check; // null: nothing else is known
  /// What the last wait for members has found.
  std::set<int> gone;
  bool isOvertaken = false;

  std::unique_ptr<Surroundings::Repeated> renewal;
  std::atomic<bool> sawNewcomers{false};
  /// Of what follows. Nobody waits for a store who has it.
  std::mutex duty;
  /// The main thread changes who is in which epoch; that other thread looks at
  /// nothing of it then.
  bool isMeeting = true;
  /// What this process has put in the present epoch, and whether it is to go
  /// with it: in case a store forgets it.
  std::map<std::string, std::pair<std::string, bool>> told;

  /// Who has come to take places, and what they are to be told, by key.
  std::vector<Comer> comers;
  std::map<std::string, std::string> answers;
  /// Of those that are lost again: what they have put, by key.
  std::map<std::string, std::string> released;

  // That thread's own:
  std::atomic<int> rounds{0}; // others may read how many
  Clock::time_point roundEnd;
  Clock::time_point lastRenewal; // or the try
  bool wasAsleep = false;        // for longer than its lease

  /// Of the newest, which this thread notices, or that one.
  std::atomic<double> napSeconds{0};
  std::atomic<Clock::time_point> napEnd{Clock::time_point()};

  /// Of the wait under way.
  Clock::time_point begin, nextNote;
  milliseconds pause{0};
  Clock::time_point lastCall; // the end of the wait's newest
  void beginWait() {
    changes.tryAgain();
    changes.forget();
    begin = lastCall = around.now();
    nextNote = begin + kFirstNote;
    pause = kShortestPause;
  }
  /// kStoreSeconds, or as long as the start may take.
  double getStoreSeconds() const {
    return options.timeout > 0 ? std::min(kStoreSeconds, options.timeout)
                               : kStoreSeconds;
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
