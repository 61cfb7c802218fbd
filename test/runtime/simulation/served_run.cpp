//===- served_run.cpp - Parameter servers, simulated ----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shipped coordinator, workers, servers and their mail. The variables are
// lists of the closures that were applied to them, so that each value shows
// which gradients are in it.
//
//===----------------------------------------------------------------------===//
#include "test/runtime/simulation/run.h"
#include "runtime/parameter_server/coordinator.h"
#include "runtime/parameter_server/server.h"
#include "runtime/parameter_server/worker.h"
#include "test/runtime/simulation/wire.h"
#include <algorithm>
#include <set>

namespace dist::simulation {

using namespace dist::ps;

namespace {

constexpr size_t kLargest = 1 << 16;
/// Gradients, and variables: longer than what leaves its sender at once.
constexpr size_t kBytes = 200;
/// However the faults fall, the run is over by then.
constexpr std::chrono::minutes kLimit{30};

Buffer packNumber(int64_t number) {
  Buffer bytes(kBytes);
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}
int64_t unpackNumber(const Buffer &bytes) {
  int64_t number = -1;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

class ServedRun {
public:
  ServedRun(uint64_t seed, bool isTraced);
  ~ServedRun() { simulator.crashAll(); }
  std::string run();

private:
  class LoggedShard;
  class LoggedReplica;

  void startAll();
  void coordinate();
  Status train(Coordinator &coordinator);
  void finished(const Completion &done);
  void planFaults();
  void checkEnd();
  /// Whether all that is left to do is with workers that will not move again:
  /// they cannot be told from slow ones, and the coordinator waits.
  bool waitsForFrozen() const;
  /// Whether the end says nothing of this process: it is gone, or will not
  /// move again.
  bool isOut(int rank) const {
    return simulator.isGhost(rank) || simulator.isFrozenForever(rank);
  }
  std::string nameOf(int rank) const { return options.cast.names[rank]; }

  Simulator simulator;
  Wire wire;
  CoordinatorOptions options;
  int64_t closures = 0, first = 0, failing = -1;
  // By server: what was applied, in order.
  std::vector<std::vector<int64_t>> applied;
  std::vector<int64_t> told;
  // By rank.
  std::vector<std::unique_ptr<Transport>> ends;
  std::vector<Status> results;
  bool endedWell = false, hasFailed = false, hasNamedLate = false;
  /// Faults of which the run must not go on.
  bool mayFail = false;
};

class ServedRun::LoggedShard : public Shard {
public:
  LoggedShard(ServedRun &run, int server) : run(run), server(server) {}
  bool isPull(const Buffer &bytes) const override { return bytes.empty(); }
  bool isPush(const Buffer &bytes) const override {
    return bytes.size() == kBytes;
  }
  size_t stateBytes() const override { return kBytes; }
  Status readParameters(Buffer *out) override { return readState(out); }
  Status addRows(const Buffer &, Buffer *) override { return Status(); }
  Status apply(const Buffer &gradients, AppliedBody *) override {
    int64_t closure = unpackNumber(gradients);
    std::vector<int64_t> &log = run.applied[server];
    if (run.simulator.isGhost())
      return Status();
    run.simulator.trace("applies " + std::to_string(closure));
    if (std::count(log.begin(), log.end(), closure) > 0)
      run.simulator.fail("the gradients of closure " + std::to_string(closure) +
                         " are applied twice");
    log.push_back(closure);
    return Status();
  }
  Status readState(Buffer *out) override {
    *out = packNumber(int64_t(run.applied[server].size()));
    return Status();
  }
  Status writeState(const Buffer &) override { return Status(); }

private:
  ServedRun &run;
  const int server;
};

class ServedRun::LoggedReplica : public Replica {
public:
  explicit LoggedReplica(ServedRun &run) : run(run) {}
  Status begin(int64_t closure) override {
    current = closure;
    run.simulator.trace("begins " + std::to_string(closure));
    for (const std::vector<int64_t> &log : run.applied)
      for (int64_t other = run.first;
           run.options.staleness && other < closure - *run.options.staleness;
           ++other)
        if (std::count(log.begin(), log.end(), other) == 0)
          run.simulator.fail("closure " + std::to_string(closure) +
                             " begins before " + std::to_string(other) +
                             " is applied");
    return Status();
  }
  Buffer pullOf(int server) override {
    asked[server] = int64_t(run.applied[server].size());
    return {};
  }
  size_t parameterBytes(int) const override { return kBytes; }
  Status takeParameters(int server, const Buffer &bytes) override {
    if (unpackNumber(bytes) < asked[server])
      run.simulator.fail("a server gives values of before");
    return Status();
  }
  Status compute(ReportBody *report, Buffer *metrics, bool *isPushed) override {
    run.simulator.work(
        run.simulator.between(milliseconds(1), milliseconds(50)));
    if (current == run.failing)
      return Status::error(StatusCode::InvalidInput, "a label is out of range");
    report->loss = float(current);
    report->examples = 1;
    metrics->assign(8, char(current));
    *isPushed = true;
    return Status();
  }
  Status giveGradients(int, Buffer *out) override {
    *out = packNumber(current);
    return Status();
  }

private:
  ServedRun &run;
  int64_t current = 0;
  std::map<int, int64_t> asked;
};

ServedRun::ServedRun(uint64_t seed, bool isTraced)
    : simulator(seed, isTraced), wire(simulator, 1 + 4 + 3) {
  Cast &cast = options.cast;
  cast.workers = 1 + int(simulator.below(4));
  cast.servers = 1 + int(simulator.below(3));
  cast.names = {"chief 0"};
  for (int i = 0; i < cast.workers; ++i)
    cast.names.push_back("worker " + std::to_string(i));
  for (int i = 0; i < cast.servers; ++i)
    cast.names.push_back("ps " + std::to_string(i));
  if (simulator.chance(0.6))
    options.staleness = int64_t(simulator.below(4));
  options.patience = simulator.between(milliseconds(100), seconds(30));
  options.note = [this](const std::string &line) {
    simulator.trace(line);
    hasNamedLate |= line.find(" shows no result ") != std::string::npos;
  };
  closures = 1 + int64_t(simulator.below(24));
  first = simulator.chance(0.3) ? int64_t(simulator.below(100)) : 0;
  if (simulator.chance(0.05))
    failing = first + int64_t(simulator.below(uint64_t(closures)));
  applied.resize(cast.servers);
  results.resize(cast.ranks());
}

void ServedRun::startAll() {
  const Cast &cast = options.cast;
  // All have met before the first says anything.
  for (int rank = 0; rank < cast.ranks(); ++rank)
    ends.push_back(wire.makeEnd(rank));
  simulator.start(nameOf(0), [this] { coordinate(); });
  for (int rank = 1; rank < cast.ranks(); ++rank)
    simulator.start(nameOf(rank), [this, rank] {
      const Cast &cast = options.cast;
      Mail mail(std::move(ends[rank]), kLargest);
      Ending ending = Ending::Done;
      TaskOptions task{cast, nullptr, nullptr};
      if (int server = cast.serverOf(rank); server >= 0) {
        LoggedShard shard(*this, server);
        results[rank] = serve(mail, shard, task, &ending);
      } else {
        LoggedReplica replica(*this);
        results[rank] = work(mail, replica, task, &ending);
      }
      simulator.trace(results[rank].ok() ? "ends well"
                                         : results[rank].message());
    });
}

void ServedRun::coordinate() {
  Mail mail(std::move(ends[Cast::coordinator]), kLargest);
  Coordinator coordinator(mail, options);
  Status status = train(coordinator);
  simulator.trace(status.ok() ? "all closures are done" : status.message());
  coordinator.end(status);
  results[0] = status;
  if (simulator.isGhost())
    return;
  endedWell = status.ok();
  hasFailed = !status.ok();
}

Status ServedRun::train(Coordinator &coordinator) {
  coordinator.begin(first);
  for (int64_t i = 0; i < closures; ++i)
    coordinator.schedule(first + i);
  while (!coordinator.isDone()) {
    std::optional<Completion> done;
    DIST_RETURN_IF_ERROR(
        coordinator.next(simulator.now() + milliseconds(50), &done));
    if (done && !simulator.isGhost())
      finished(*done);
  }
  for (int server = 0; server < options.cast.servers; ++server) {
    Buffer state;
    DIST_RETURN_IF_ERROR(coordinator.readState(server, &state));
    if (unpackNumber(state) != closures)
      simulator.fail("a saved state has " +
                     std::to_string(unpackNumber(state)) + " updates of " +
                     std::to_string(closures));
  }
  return Status();
}

void ServedRun::finished(const Completion &done) {
  simulator.trace("told of " + std::to_string(done.closure));
  const std::string name = "closure " + std::to_string(done.closure);
  if (std::count(told.begin(), told.end(), done.closure) > 0)
    simulator.fail(name + " counts twice");
  told.push_back(done.closure);
  if (done.metrics != Buffer(8, char(done.closure)) ||
      done.report.loss != float(done.closure))
    simulator.fail(name + " has the result of another");
  for (const std::vector<int64_t> &log : applied)
    if (std::count(log.begin(), log.end(), done.closure) == 0)
      simulator.fail(name + " is done before all servers have it");
}

/// Up to four: crashes and freezes of processes at a point that they pass, and
/// connections that end at a time.
void ServedRun::planFaults() {
  const Cast &cast = options.cast;
  std::set<int> unusable; // workers
  for (int count = int(simulator.below(5)); count > 0; --count) {
    int victim = int(simulator.below(uint64_t(cast.ranks())));
    int points = int(simulator.below(uint64_t(40 + 20 * closures)));
    bool isWorker = cast.workerOf(victim) >= 0;
    switch (simulator.below(4)) {
    case 0:
      simulator.crashAfter(victim, points);
      break;
    case 1: {
      bool isForever = isWorker && simulator.chance(0.3);
      simulator.freezeAfter(
          victim, points,
          isForever ? Duration::max()
                    : simulator.between(milliseconds(1), seconds(60)));
      if (!isForever)
        continue;
      break;
    }
    case 2: {
      int other = int(simulator.below(uint64_t(cast.ranks())));
      if (other == victim)
        continue;
      if (!isWorker)
        std::swap(victim, other);
      isWorker = cast.workerOf(victim) >= 0;
      simulator.at(simulator.now() + simulator.between(Duration(), seconds(2)),
                   [this, victim, other] { wire.cut(victim, other); });
      break;
    }
    default:
      continue; // a calm one
    }
    if (isWorker)
      unusable.insert(victim);
    else
      mayFail = true;
  }
  mayFail |= int(unusable.size()) == cast.workers || failing >= 0;
}

std::string ServedRun::run() {
  startAll();
  planFaults();
  simulator.run(simulator.now() + kLimit);
  if (simulator.failure().empty())
    checkEnd();
  return simulator.failure();
}

bool ServedRun::waitsForFrozen() const {
  bool isOneFrozen = false;
  for (int index = 0; index < options.cast.workers; ++index) {
    int rank = options.cast.worker(index);
    if (simulator.isDone(rank) || simulator.isGhost(rank))
      continue;
    if (!simulator.isFrozenForever(rank))
      return false;
    isOneFrozen = true;
  }
  return isOneFrozen;
}

void ServedRun::checkEnd() {
  const Cast &cast = options.cast;
  if (waitsForFrozen() && !simulator.isDone(Cast::coordinator) &&
      !isOut(Cast::coordinator)) {
    if (!hasNamedLate)
      simulator.fail("the run waits for a worker and does not say so");
    return;
  }
  for (int rank = 0; rank < cast.ranks(); ++rank)
    if (!isOut(rank) && !simulator.isDone(rank))
      simulator.fail(nameOf(rank) + " never ends");
  if (isOut(Cast::coordinator))
    return;
  if (hasFailed && !mayFail)
    simulator.fail("the run could have gone on: " + results[0].message());
  if (!endedWell)
    return;
  if (failing >= 0)
    simulator.fail("the error of a closure is told to nobody");
  if (int64_t(told.size()) != closures)
    simulator.fail("not all closures are done");
  for (int rank = 1; rank < cast.ranks(); ++rank)
    if (!isOut(rank) && !results[rank].ok() && !mayFail &&
        cast.serverOf(rank) >= 0)
      simulator.fail(nameOf(rank) + " has an error of a run that went well: " +
                     results[rank].message());
}

} // namespace

std::string simulateRun(uint64_t seed, bool isTraced) {
  return ServedRun(seed, isTraced).run();
}

} // namespace dist::simulation
