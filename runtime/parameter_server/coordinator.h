//===- coordinator.h - Who hands out the steps ------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A queue of closures, which workers run: any that is free takes the next one.
// A closure is run at least once, and counts once: that of a lost worker goes
// back to the end of the queue, servers take each closure's gradients once, and
// the first report of a closure is the one that is told. So nothing speaks
// against a second worker for a closure whose first one shows no result.
//
// A lost worker may come back, as another rank: servers are told of it first,
// so that each knows who pushes, and then it, which connects and says that it
// is ready.
//
// One thread uses it; letters are read while it is in a call.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_PARAMETER_SERVER_COORDINATOR_H
#define RUNTIME_PARAMETER_SERVER_COORDINATOR_H

#include "runtime/parameter_server/protocol.h"
#include <map>
#include <optional>
#include <set>

namespace dist::ps {

/// A process that has come to take a lost worker's place.
struct Returning {
  int index = 0;  // of the worker
  std::string id; // of this return alone
  /// For Mail::admit.
  std::string address;
};

struct CoordinatorOptions {
  Cast cast;
  /// A closure begins when all are done that are more than so many before it;
  /// none: at once.
  std::optional<int64_t> staleness;
  /// A worker that has had a closure for so long is late: where another one has
  /// nothing else to do, it runs it, too.
  Mail::Clock::duration patience = std::chrono::seconds(30);
  /// How long the run waits for a worker to come back when none is left.
  Mail::Clock::duration returnTime{};
  /// Asked meanwhile: whether none can come back any more; none: who knows.
  std::function<bool()> noneReturns;
  /// Asked now and then who has come, the same ones each time; none: nobody
  /// comes back.
  std::function<std::vector<Returning>()> returning;
  /// Once for each: it may connect, as this rank.
  std::function<void(const Returning &, int rank)> admitted;
  /// One that was taken is lost, by its id, or cannot be reached: its place is
  /// for whoever comes next.
  std::function<void(const std::string &)> released;
  /// Hears of lost, late and returned workers; one line at a time.
  std::function<void(const std::string &)> note;
};

/// A closure that is done.
struct Completion {
  int64_t closure = 0;
  int worker = 0; // which of the workers of the beginning, or for which
  ReportBody report;
  Buffer metrics;
};

/// What servers hold, read and written between closures.
class ServerStates {
public:
  virtual ~ServerStates() = default;
  virtual Status readState(int server, Buffer *out) = 0;
  virtual Status writeState(int server, Buffer state) = 0;
};

class Coordinator : public ServerStates {
public:
  Coordinator(Mail &mail, const CoordinatorOptions &options);

  /// To the end of the queue. Each number once, ascending from `first` on
  /// without a gap: all below are taken for done. Numbers from kFirstUnpushed
  /// on are a sequence of their own.
  void begin(int64_t first);
  /// `work`: what the closure does, where workers do more than training steps.
  void schedule(int64_t closure, Buffer work = {});
  /// Those that no worker has begun are not run any more. The numbers that are
  /// done have no gap when the others are; for that, none that comes back is
  /// waited for: without a worker they are an error of `next`.
  void cancel();
  /// Nothing is in the queue, under way or untold; no error is, either.
  bool isDone() const;
  /// The next one that is done, in the order of their ends; none by `until`, or
  /// when nothing is left to do. After the error of a closure the others that
  /// are under way end first, and then the error comes, once: the queue is
  /// empty then. Errors besides: a server is lost, or the last worker, and none
  /// comes back in time.
  Status next(Mail::Clock::time_point until, std::optional<Completion> *out);
  /// The closure whose error the last call of `next` told; -1: it told none, or
  /// what failed is the run.
  int64_t failedClosure() const { return toldFailure; }
  /// The error that `next` tells when those under way have ended, and whose it
  /// is; success, and -1: it has heard of none.
  const Status &heardFailure() const { return failure; }
  int64_t failingClosure() const { return failing; }
  /// Whether a worker has it, or has done it.
  bool isBegun(int64_t closure) const;
  /// With nothing to do: takes note of what the others say, by `until`. Errors:
  /// those of `next` that are of no closure.
  Status listen(Mail::Clock::time_point until);
  /// Whether one of the others was told to stop.
  bool isToldToStop() const { return wasTold; }

  Status readState(int server, Buffer *out) override;
  Status writeState(int server, Buffer state) override;

  /// The run is over, for all; `why`: the error that ended it.
  void end(const Status &why, Ending ending = Ending::Done);

private:
  struct Worker {
    bool isLost = false;
    bool isReady = true;  // else it is on its way
    std::string id;       // of its return; empty: it was here from the start
    int64_t closure = -1; // that it has not reported; -1: none
    bool isLate = false;
    Mail::Clock::time_point began;
  };

  void handOut();
  void give(int place, int64_t closure);
  /// A late worker's closure that no other one has; -1: none.
  int64_t findLate();
  /// The place in the queue of what may begin.
  std::deque<int64_t>::iterator findReady();
  Status hear(Mail::Event event, Letter &letter);
  Status hearOne(Mail::Event event, Letter &letter);
  Status hearReport(Letter &letter);
  Status loseWorker(int place);
  /// Admits who has come, one at a time.
  Status look();
  Status admit(const Returning &who);
  void hearAdmitted(const Letter &letter);
  void hearReady(const Letter &letter);
  /// The newest place of one of the workers.
  int placeOf(int index) const;
  void settle(int64_t closure);
  /// A sequence of closures: done are all below `lowest`, and those above.
  struct Done {
    int64_t lowest = 0;
    std::set<int64_t> above;
  };
  Done &doneOf(int64_t closure) {
    return closure < kFirstUnpushed ? steps : others;
  }
  bool isSettled(int64_t closure) const {
    const Done &done = closure < kFirstUnpushed ? steps : others;
    return closure < done.lowest || done.above.count(closure) > 0;
  }
  bool isUnderWay() const;
  int countLeft() const;
  Status ask(int server, Kind kind, Buffer question, Letter *answer);

  Mail &mail;
  const CoordinatorOptions options;
  Cast cast;
  std::vector<Worker> workers; // by place
  /// Of which servers do not all know yet.
  struct Admission {
    Returning who;
    int rank = 0;
    int missing = 0; // answers
  };
  std::optional<Admission> admission;
  std::set<std::string> taken; // returns
  /// Since when no worker is left, and what is wrong with that.
  std::optional<Mail::Clock::time_point> emptySince;
  Status isEmpty(const std::string &more = "") const;
  int lastWorker = 0;       // its rank
  bool isCancelled = false; // what is queued
  Mail::Clock::time_point nextLook;
  std::deque<int64_t> queue;
  std::map<int64_t, Buffer> works; // of those that are not done
  Done steps, others{kFirstUnpushed, {}};
  std::deque<Completion> completions;     // untold
  Status ended;                           // why there is no run any more
  Status failure;                         // of the first closure that had one
  int64_t failing = -1, toldFailure = -1; // which that is, and was
  uint64_t questions = 0;
  std::optional<Letter> answer; // to the last question
  bool wasTold = false;
};

} // namespace dist::ps

#endif // RUNTIME_PARAMETER_SERVER_COORDINATOR_H
