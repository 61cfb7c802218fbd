//===- session.cpp - A loaded program on its devices ----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/session.h"
#include "runtime/comm/local/local.h"
#include "runtime/comm/common/reduce.h"
#include "runtime/core/agreement.h"
#include "runtime/core/entry_plan.h"
#include "runtime/core/guard.h"
#include "runtime/core/package.h"
#include "runtime/core/package_files.h"
#include "runtime/core/rank.h"
#include "runtime/core/rank_step.h"
#include "runtime/core/rank_threads.h"
#include "runtime/core/session_devices.h"
#include "runtime/core/session_figures.h"
#include "runtime/core/step_gate.h"
#include "runtime/core/variable_store.h"
#include <algorithm>
#include <mutex>

namespace dist {

namespace {

using TimePoint = std::chrono::steady_clock::time_point;

class PackageSession : public Session {
public:
  std::unique_ptr<Package> package;
  SessionDevices devices;
  bool ownsWorld = false;
  int processNumber = 0, processCount = 1;
  /// A failure ended it; only where the world is the caller's.
  bool generationEnded = false;
  /// Of the world, while a call is under way.
  uint32_t generation = 0;
  /// By rank of the mesh; null where another process has it.
  std::vector<std::unique_ptr<dist_rt_context>> ranks;
  /// Those of this process; their numbers here are those of `threads`.
  std::vector<int> local;
  std::unique_ptr<RankThreads> threads;
  std::unique_ptr<VariableStore> store;
  std::vector<std::unique_ptr<EntryPlan>> plans;
  /// Null where all ranks are of this process.
  std::unique_ptr<Agreement> agreement;

  std::mutex failureMutex;
  Status failure; // the first of a run

  LogFunction logFunction;
  std::mutex logMutex;
  /// Guards `running`, so that no call is ended but the one under way.
  std::mutex callMutex;
  bool running = false;
  std::atomic<bool> cancelled{false};
  /// Goes first: threads of its own name ops and warn.
  std::shared_ptr<World> world;

  Status start(const SessionOptions &options);

  const manifest::Manifest &manifest() const override {
    return package->manifest;
  }
  const manifest::Entry *findEntry(const std::string &name) const override {
    for (const auto &plan : plans)
      if (plan->entry().name() == name)
        return &plan->entry();
    return nullptr;
  }
  const std::vector<int> &localRanks() const override { return local; }
  Window inputWindow(const manifest::Entry &entry,
                     size_t input) const override {
    const EntryPlan *plan = findPlan(entry);
    return plan && input < plan->numInputs() ? plan->inputWindow(input)
                                             : Window();
  }
  Window outputWindow(const manifest::Entry &entry,
                      size_t output) const override {
    const EntryPlan *plan = findPlan(entry);
    return plan && output < plan->numOutputs() ? plan->outputWindow(output)
                                               : Window();
  }
  Status rebuild(std::shared_ptr<World> newWorld) override;
  Status run(const manifest::Entry &entry,
             const std::vector<TensorView> &inputs,
             std::vector<Tensor> *outputs) override;
  Status runSteps(const std::vector<StepCall> &calls,
                  const std::function<bool(size_t)> &goOn,
                  size_t *done) override;

  void cancel() override {
    std::lock_guard<std::mutex> lock(callMutex);
    if (!running)
      return;
    cancelled.store(true);
    // For those that wait in a collective.
    communicator().abort(generation, "cancelled");
  }
  void log(LogLevel level, const std::string &text) override {
    if (!logFunction)
      return;
    std::lock_guard<std::mutex> lock(logMutex);
    logFunction(level, text);
  }

  int process() const override { return processNumber; }
  int processes() const override { return processCount; }
  void setAtWork(bool begins) override {
    for (int rank : local)
      ranks[rank]->communicator->progress.setAtWork(begins);
  }
  Status agree(bool here, bool *everywhere) override;
  Status exchange(const std::string &mine,
                  std::vector<std::string> *all) override;
  Status prepareTelling(const std::vector<int> &from, int64_t mostBytes,
                        std::unique_ptr<Telling> *out) override;
  Status readVariable(int index, Tensor *out) override;
  Status writeVariable(int index, const TensorView &value) override {
    return store->write(index, value);
  }
  Status readSlice(int index, int rank, Tensor *out) override {
    return store->readSlice(index, rank, out);
  }
  Status writeSlice(int index, int rank, const TensorView &value) override {
    return store->writeSlice(index, rank, value);
  }
  Status resetVariables() override { return store->reset(); }

  int64_t deviceBytes() const override {
    return largestDevice(manifest(), ranks, local);
  }
  double exposedSeconds() const override {
    return dist::exposedSeconds(manifest(), ranks, local);
  }
  std::vector<TraceEvent> takeTrace() override {
    return takeEvents(ranks, local);
  }

private:
  // Of the launch; kept, so that a step allocates nothing.
  std::vector<StepCall> single;
  std::vector<Tensor> beside; // where an input lies in the outputs
  std::vector<RankStep> steps;
  std::vector<size_t> begun, completed; // by local rank

  bool isAlone() const { return local.size() == ranks.size(); }
  Communicator &communicator() { return *ranks[local.front()]->communicator; }
  EntryPlan *findPlan(const manifest::Entry &entry) const {
    for (const auto &plan : plans)
      if (&plan->entry() == &entry)
        return plan.get();
    return nullptr;
  }
  Status makeWorld(const SessionOptions &options);
  Status makeRank(int rank, const SessionOptions &options, TimePoint origin);
  /// Whether all processes go on; `here`: whether this one does.
  bool allGoOn(dist_rt_context &context, bool here);
  void beginCall();
  /// Whether the call was cancelled.
  bool endCall();
  /// Where not all ranks have done all steps: what is between two steps now.
  void tearVariables(size_t done);

  /// On the rank's thread; false: it failed.
  bool runStep(dist_rt_context &context, const RankStep &step,
               const StepCall &call);
  /// Of the local ranks, in the world's generation.
  Status prepareCollectives();

  Status checkGeneration() const;
  /// Of processes that meet: when it fails, their generation has ended.
  template <typename Job> Status meet(Job job) {
    DIST_RETURN_IF_ERROR(checkGeneration());
    Status status = job();
    if (!status.ok())
      endGeneration(status);
    return status;
  }
  void endGeneration(const Status &why);
  /// Keeps the first failure and frees the ranks that wait for this one.
  void fail(dist_rt_context &rank, const std::string &entry, int32_t code) {
    if (rank.status.ok())
      rank.status = withoutThrowing([&] {
        return Status::error(StatusCode::Internal, "a step failed", entry,
                             "code " + std::to_string(code));
      });
    Status told = withoutThrowing([&] {
      Status copy = rank.status;
      {
        std::lock_guard<std::mutex> lock(failureMutex);
        if (failure.ok())
          failure = copy;
      }
      rank.communicator->abort(generation, copy.message());
      return Status();
    });
    // Without memory for the text, the others must be freed all the same.
    if (!told.ok())
      rank.communicator->abort(generation, told.message());
  }
};

Status PackageSession::makeWorld(const SessionOptions &options) {
  const manifest::Manifest &m = package->manifest;
  if (options.world) {
    world = options.world;
    return Status();
  }
  WorldOptions settings;
  settings.setMesh(m.mesh());
  settings.timeout = options.collectiveTimeout;
  settings.spinMicroseconds = threads->spinMicroseconds();
  settings.spinForHostMicroseconds = threads->spinForAll();
  settings.parallelFor = RankThreads::parallelFor;
  settings.threadsPerRank = m.threads_per_device();
  if (logFunction)
    settings.warn = [this](const std::string &text) {
      log(LogLevel::Warning, text);
    };
  // Ranks of one program are in the same entry, also those elsewhere.
  settings.nameOp = [this, &m](int rank, int32_t op) {
    const manifest::Entry *entry = nullptr;
    for (int here : local)
      if (ranks[here] && ranks[here]->entry &&
          m.program_of_rank(here) == m.program_of_rank(rank))
        entry = ranks[here]->entry;
    return transferName(entry, op);
  };
  if (options.makeWorld)
    return options.makeWorld(settings, &world);
  ownsWorld = true;
  settings.giveCpu = [this](int rank, int to) {
    return threads->giveSeat(rank, to);
  };
  settings.sit = [this](int rank) { threads->sit(rank); };
  std::unique_ptr<LocalWorld> made;
  DIST_RETURN_IF_ERROR(LocalWorld::create(settings, &made));
  world = std::move(made);
  return Status();
}

Status PackageSession::makeRank(int rank, const SessionOptions &options,
                                TimePoint origin) {
  ranks[rank] = std::make_unique<dist_rt_context>();
  dist_rt_context &context = *ranks[rank];
  context.rank = rank;
  context.communicator = &world->rank(rank);
  if (options.collectiveTimeout > 0)
    context.patience = options.collectiveTimeout;
  context.cancelled = &cancelled;
  context.trace = options.trace;
  context.origin = origin;
  if (options.trace)
    context.started.observe([&context](int32_t op, auto begin, auto end) {
      std::lock_guard<std::mutex> lock(context.startedSpansMutex);
      context.startedSpans.push_back(
          {"started", nullptr, op, -1, context.entry, begin, end});
    });
  return devices.equip(context, plans);
}

Status PackageSession::start(const SessionOptions &options) {
  const manifest::Manifest &m = package->manifest;
  Placement placement =
      options.placement.value_or(Placement::inOneProcess(m.ranks()));
  DIST_RETURN_IF_ERROR(checkPlacement(m, placement));
  local = placement.ranksOf(options.process);
  processNumber = options.process;
  processCount = placement.processes();
  bool reachesAll = local.size() == static_cast<size_t>(m.ranks());
  bool isGiven = options.world || options.makeWorld;
  if (local.empty() || (!reachesAll && !isGiven) ||
      (options.world && options.world->ranks() != m.ranks()))
    return Status::error(
        StatusCode::InvalidArgument, "a session cannot start",
        "process " + std::to_string(options.process),
        local.empty() ? "no rank is placed in it"
                      : "its communicators do not reach all ranks",
        "give the process and the world that the placement is of");
  DIST_RETURN_IF_ERROR(devices.load(m, options.device));
  if (options.trace && !devices.device().isHost())
    return Status::error(
        StatusCode::InvalidArgument, "a session cannot trace", m.model_name(),
        std::string(devices.device().name()) +
            " runs kernels later than they are called, and does not time them",
        "leave the trace out");
  for (const manifest::Entry &entry :
       m.programs(m.program_of_rank(0)).entries()) {
    // The entries of its name in other programs run together with it.
    plans.emplace_back();
    DIST_RETURN_IF_ERROR(EntryPlan::create(*package, devices.modules(), local,
                                           entry.name(), plans.size() - 1,
                                           &plans.back()));
  }

  auto origin = std::chrono::steady_clock::now();
  std::vector<int> threadsOfRank;
  for (int rank : local) {
    int program = m.program_of_rank(rank);
    threadsOfRank.push_back(m.programs(program).threads() > 0
                                ? m.programs(program).threads()
                                : m.threads_per_device());
  }
  bool withHost = m.mesh().host() && local.back() == m.ranks() - 1;
  threads = std::make_unique<RankThreads>(threadsOfRank, withHost, options.team,
                                          devices.runOnOneTeam());
  DIST_RETURN_IF_ERROR(threads->status());
  logFunction = options.log;
  ranks.resize(m.ranks());
  DIST_RETURN_IF_ERROR(makeWorld(options));
  for (int rank : local)
    DIST_RETURN_IF_ERROR(makeRank(rank, options, origin));
  DIST_RETURN_IF_ERROR(checkCommunicator(m, communicator()));
  if (!isAlone())
    agreement = std::make_unique<Agreement>(m, placement, processNumber, ranks,
                                            *threads);
  DIST_RETURN_IF_ERROR(prepareCollectives());
  store = std::make_unique<VariableStore>(*package, ranks, local, *threads);
  DIST_RETURN_IF_ERROR(store->openWeights(options.mapWeights));
  log(LogLevel::Info, m.model_name() + ": " + std::to_string(m.ranks()) +
                          " x " + std::to_string(m.threads_per_device()) +
                          " threads, " + std::to_string(deviceBytes()) +
                          " bytes a device, strategy " +
                          (m.strategy().empty() ? "one-device" : m.strategy()) +
                          ", code for " + m.target_cpu());
  return resetVariables();
}

Status PackageSession::prepareCollectives() {
  for (int rank : local)
    for (const auto &plan : plans)
      DIST_RETURN_IF_ERROR(plan->prepareCollectives(*ranks[rank]));
  return agreement ? agreement->prepare() : Status();
}

Status PackageSession::rebuild(std::shared_ptr<World> newWorld) {
  if (ownsWorld || !newWorld || newWorld->ranks() != manifest().ranks())
    return Status::error(
        StatusCode::InvalidArgument, "a session cannot begin a new generation",
        manifest().model_name(),
        ownsWorld ? "it has a world of its own, which needs none"
                  : "the communicators do not reach all ranks",
        "give the world that the placement is of");
  world = std::move(newWorld);
  for (int rank : local)
    ranks[rank]->communicator = &world->rank(rank);
  DIST_RETURN_IF_ERROR(prepareCollectives());
  generationEnded = false;
  return Status();
}

Status PackageSession::checkGeneration() const {
  if (!generationEnded)
    return Status();
  return Status::error(
      StatusCode::Unavailable, "the generation of these processes has ended",
      manifest().model_name(), failure.message(), "rebuild the session");
}

/// Between two calls of processes one failed in the middle: some ranks may have
/// had what others wait for, so that the next exchange would not meet.
void PackageSession::endGeneration(const Status &why) {
  if (ownsWorld)
    return;
  failure = why;
  generationEnded = true;
}

Status PackageSession::agree(bool here, bool *everywhere) {
  *everywhere = here;
  if (isAlone())
    return Status();
  return meet([&] { return agreement->agree(here, everywhere); });
}

Status PackageSession::exchange(const std::string &mine,
                                std::vector<std::string> *all) {
  if (isAlone())
    return Session::exchange(mine, all);
  return meet([&] { return agreement->exchange(mine, all); });
}

Status PackageSession::prepareTelling(const std::vector<int> &from,
                                      int64_t mostBytes,
                                      std::unique_ptr<Telling> *out) {
  out->reset();
  if (isAlone())
    return Status();
  struct Told : Telling {
    explicit Told(PackageSession &session) : session(session) {}
    Status tell(void *data, int64_t bytes) override {
      return session.meet(
          [&] { return blocks.tell(*session.agreement, data, bytes); });
    }
    PackageSession &session;
    Agreement::Blocks blocks;
  };
  auto told = std::make_unique<Told>(*this);
  DIST_RETURN_IF_ERROR(told->blocks.prepare(*agreement, from, mostBytes));
  *out = std::move(told);
  return Status();
}

Status PackageSession::readVariable(int index, Tensor *out) {
  DIST_RETURN_IF_ERROR(checkGeneration());
  bool met = false;
  Status status = store->read(index, out, &met);
  if (!status.ok() && met)
    endGeneration(status);
  return status;
}

bool PackageSession::allGoOn(dist_rt_context &context, bool here) {
  int32_t goes = here;
  Status status = context.goOn->run(*context.communicator, &goes);
  if (!status.ok()) {
    context.status = std::move(status);
    fail(context, context.entry.load()->name(), 1);
    return false;
  }
  return goes != 0;
}

void PackageSession::beginCall() {
  std::lock_guard<std::mutex> lock(callMutex);
  cancelled.store(false);
  generation = communicator().generation();
  running = true;
}

bool PackageSession::endCall() {
  std::lock_guard<std::mutex> lock(callMutex);
  running = false;
  return cancelled.load();
}

void PackageSession::tearVariables(size_t done) {
  // Programs refuse labels and indices before they update anything: only what
  // some ranks have counted and others have not is lost then.
  bool everywhere = failure.code() != StatusCode::InvalidInput;
  for (size_t i = done; i < steps.size(); ++i)
    for (size_t first : begun)
      if (first > i)
        store->tear(steps[i].plan->changedVariables(),
                    "a call of '" + steps[i].plan->entry().name() +
                        (failure.code() == StatusCode::Cancelled
                             ? "' was cancelled"
                             : "' failed"),
                    everywhere);
}

Status PackageSession::run(const manifest::Entry &entry,
                           const std::vector<TensorView> &inputs,
                           std::vector<Tensor> *outputs) {
  size_t done = 0;
  // What an entry gave may be what it takes next: a loop that predicts on.
  bool apart = liesIn(inputs, *outputs);
  single.assign(1, {&entry, &inputs, apart ? &beside : outputs});
  DIST_RETURN_IF_ERROR(runSteps(single, nullptr, &done));
  if (apart)
    outputs->swap(beside);
  return Status();
}

Status PackageSession::runSteps(const std::vector<StepCall> &calls,
                                const std::function<bool(size_t)> &goOn,
                                size_t *done) {
  *done = 0;
  steps.clear();
  DIST_RETURN_IF_ERROR(checkGeneration());
  int64_t resultBytes = 0;
  for (const StepCall &call : calls) {
    RankStep &step = steps.emplace_back();
    step.plan = findPlan(*call.entry);
    if (!step.plan)
      return Status::error(StatusCode::InvalidArgument,
                           "the entry is not of this session",
                           call.entry->name());
    DIST_RETURN_IF_ERROR(store->checkWhole(step.plan->readVariables()));
    DIST_RETURN_IF_ERROR(step.plan->begin(*call.inputs, call.outputs));
    step.base = resultBytes;
    resultBytes += step.plan->resultBytes();
  }
  // Beforehand, as if all went well: which calls find variables changed by
  // those before them.
  for (RankStep &step : steps) {
    step.prepare = step.plan->needsPreparation(store->versions());
    store->touch(step.plan->changedVariables());
    if (step.prepare)
      step.plan->prepared(store->versions());
  }
  failure = Status();
  begun.assign(local.size(), 0);
  completed.assign(local.size(), 0);
  StepGate gate(local.size(), threads->spinForAll());
  size_t finished = 0; // calls whose outputs were put together at the gate
  // What this process decided, and what all did together.
  std::atomic<bool> here{true}, together{true};
  int64_t devices = deviceCount(manifest().mesh());
  auto runRank = [&](int rank) {
    dist_rt_context &context = *ranks[local[rank]];
    if (context.results.size() < static_cast<size_t>(resultBytes))
      context.results.resize(resultBytes);
    for (size_t i = 0; i < steps.size(); ++i) {
      begun[rank] = i + 1;
      if (!runStep(context, steps[i], calls[i])) {
        gate.close();
        return Status();
      }
      completed[rank] = i + 1;
      if (!goOn || i + 1 == steps.size())
        continue;
      bool open = gate.pass([&] {
        steps[i].plan->finish(ranks, calls[i].outputs, steps[i].base);
        finished = i + 1;
        here = goOn(i);
        return here || !isAlone();
      });
      // The mesh's host is in no group of the devices: it hears from one.
      if (open && !isAlone()) {
        if (local[rank] < devices && !allGoOn(context, here))
          together = false;
        open = gate.pass([&] { return together.load(); });
      }
      if (!open)
        return Status();
    }
    return Status();
  };
  beginCall();
  Status run = threads->run([&](int rank) {
    dist_rt_context &context = *ranks[local[rank]];
    context.communicator->progress.begin();
    Status status = withoutThrowing([&] { return runRank(rank); });
    if (!status.ok()) {
      context.status = std::move(status);
      fail(context, calls.front().entry->name(), 1);
      (void)context.finish();
      gate.close();
    }
    context.communicator->progress.end();
  });
  bool wasCancelled = endCall();
  if (failure.ok())
    failure = std::move(run);
  // Ranks that waited say that they were given up.
  if (!failure.ok() && wasCancelled)
    failure = Status::error(StatusCode::Cancelled, "cancelled",
                            calls.front().entry->name());
  *done = *std::min_element(completed.begin(), completed.end());
  for (size_t i = finished; i < *done; ++i)
    steps[i].plan->finish(ranks, calls[i].outputs, steps[i].base);
  if (*done < steps.size())
    for (auto &plan : plans)
      plan->forgetPrepared();
  if (!failure.ok())
    tearVariables(*done);
  if (failure.ok() && !wasCancelled)
    return failure;
  if (!ownsWorld) {
    generationEnded = true;
    return failure;
  }
  world->reset();
  Status prepared = prepareCollectives();
  return failure.ok() ? prepared : failure;
}

bool PackageSession::runStep(dist_rt_context &context, const RankStep &step,
                             const StepCall &call) {
  int32_t code = runOnRank(context, step, call);
  if (code == 0)
    return true;
  fail(context, step.plan->entry(context.rank).name(), code);
  // Nothing of a step that failed goes on behind it, nor is remembered.
  (void)context.finish();
  return false;
}

} // namespace

Status Session::open(const std::string &package, const SessionOptions &options,
                     std::unique_ptr<Session> *out) {
  return ofOnePackage(package, !options.world, [&]() -> Status {
    auto session = std::make_unique<PackageSession>();
    Host host{session->devices.hostFeatures()};
    DIST_RETURN_IF_ERROR(Package::load(package, host, options.cpuVariant,
                                       runtimeApi(), &session->package));
    DIST_RETURN_IF_ERROR(session->start(options));
    *out = std::move(session);
    return Status();
  });
}

} // namespace dist
