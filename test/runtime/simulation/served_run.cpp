//===- served_run.cpp - Parameter servers, simulated ----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/simulation/served_run.h"
#include "runtime/parameter_server/server.h"
#include "runtime/parameter_server/worker.h"
#include "test/runtime/simulation/run.h"
#include <algorithm>

namespace dist::simulation {

namespace {

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

} // namespace

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
  Status beginWork(int64_t closure, const Buffer &work) override {
    current = closure;
    run.simulator.trace("evaluates " + std::to_string(work[0]));
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
    *isPushed = current < kFirstUnpushed;
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
    : simulator(seed, isTraced), wire(simulator, 1 + 4 + 3 + kMostComers) {
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
  if (simulator.chance(0.3))
    options.returnTime = simulator.between(milliseconds(100), seconds(5));
  options.patience = simulator.between(milliseconds(100), seconds(30));
  options.note = [this](const std::string &line) {
    simulator.trace(line);
    hasNamedLate |= line.find(" shows no result ") != std::string::npos;
  };
  // As a store would tell it.
  options.returning = [this] {
    std::vector<Returning> come;
    for (Comer &comer : comers)
      if (isInStore(comer))
        come.push_back(comer.who);
    return come;
  };
  options.released = [this](const std::string &id) {
    for (Comer &comer : comers)
      comer.isReleased |= comer.who.id == id;
  };
  options.admitted = [this](const Returning &who, int rank) {
    admitted(who, rank);
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
    ends.push_back(wire.makeEnd(rank, cast.ranks(), rank));
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

Status ServedRun::finishAll(Coordinator &coordinator) {
  while (!coordinator.isDone()) {
    std::optional<Completion> done;
    DIST_RETURN_IF_ERROR(
        coordinator.next(simulator.now() + milliseconds(50), &done));
    if (done && !simulator.isGhost())
      finished(*done);
  }
  return Status();
}

Status ServedRun::evaluate(Coordinator &coordinator) {
  const size_t before = told.size(); // steps are under way in no evaluation
  const int64_t count = int64_t(simulator.below(6));
  coordinator.begin(part);
  for (int64_t i = 0; i < count; ++i)
    coordinator.schedule(part++, Buffer(1, char(i)));
  DIST_RETURN_IF_ERROR(finishAll(coordinator));
  if (!simulator.isGhost() && int64_t(told.size() - before) != count)
    simulator.fail("not all parts are evaluated");
  return Status();
}

Status ServedRun::train(Coordinator &coordinator) {
  DIST_RETURN_IF_ERROR(evaluate(coordinator));
  coordinator.begin(first);
  for (int64_t i = 0; i < closures; ++i)
    coordinator.schedule(first + i);
  DIST_RETURN_IF_ERROR(finishAll(coordinator));
  DIST_RETURN_IF_ERROR(evaluate(coordinator));
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
    if (std::count(log.begin(), log.end(), done.closure) == 0 &&
        done.closure < kFirstUnpushed)
      simulator.fail(name + " is done before all servers have it");
}

bool ServedRun::isInStore(Comer &comer) {
  if (!comer.hasCome || comer.isReleased)
    return false;
  if (!simulator.isGhost(comer.process))
    return true;
  if (!comer.leaseEnd)
    comer.leaseEnd = simulator.now() + kLease;
  return simulator.now() < *comer.leaseEnd;
}

bool ServedRun::isPlaceTaken(size_t number) {
  return std::any_of(comers.begin(), comers.end(), [&](Comer &other) {
    return &other != &comers[number] &&
           other.who.index == comers[number].who.index && isInStore(other);
  });
}

void ServedRun::comeBack(size_t number) {
  simulator.sleepUntil(simulator.now() +
                       simulator.between(Duration(), milliseconds(400)));
  auto isOver = [this] {
    return simulator.isGhost() || isOut(Cast::coordinator) ||
           simulator.isDone(Cast::coordinator);
  };
  while (!isOver() && isPlaceTaken(number))
    simulator.sleepUntil(simulator.now() + milliseconds(20));
  comers[number].hasCome = !simulator.isGhost();
  while (!isOver() && comers[number].rank < 0)
    simulator.sleepUntil(simulator.now() + milliseconds(20));
  const Comer &comer = comers[number];
  // Who is told late finds nobody there.
  if (isOver() || wire.knownTo(Cast::coordinator) <= comer.rank)
    return;
  Mail mail(wire.makeEnd(comer.rank, comer.rank + 1, comer.process), kLargest);
  TaskOptions task{options.cast, nullptr, nullptr};
  while (task.cast.ranks() <= comer.rank)
    task.cast.admit(comer.who.index);
  LoggedReplica replica(*this);
  Ending ending = Ending::Done;
  Status status = work(mail, replica, task, &ending);
  simulator.trace(status.ok() ? "ends well" : status.message());
}

std::string ServedRun::run() {
  startAll();
  planFaults();
  return simulator.judge(kLimit, [this] { checkEnd(); });
}

std::string simulateRun(uint64_t seed, bool isTraced) {
  return ServedRun(seed, isTraced).run();
}

} // namespace dist::simulation
