//===- session.cpp - A loaded program on its devices ----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/session.h"
#include "runtime/comm/local/local.h"
#include "runtime/comm/local/reduce.h"
#include "runtime/core/entry_plan.h"
#include "runtime/core/guard.h"
#include "runtime/core/package.h"
#include "runtime/core/rank.h"
#include "runtime/core/rank_threads.h"
#include "runtime/core/step_gate.h"
#include "runtime/core/variable_store.h"
#include "runtime/device/cpu/features.h"
#include "runtime/device/cpu/library_memory.h"
#include "runtime/device/cpu/team.h"
#include <algorithm>
#include <mutex>

namespace dist {

namespace {

class LocalSession : public Session {
public:
  std::unique_ptr<Package> package;
  std::unique_ptr<LocalWorld> world;
  std::vector<std::unique_ptr<dist_rt_context>> ranks;
  std::unique_ptr<RankThreads> threads;
  std::unique_ptr<VariableStore> store;
  bool mapsWeights = false;
  std::vector<std::unique_ptr<EntryPlan>> plans;

  std::mutex failureMutex;
  Status failure; // the first of a run

  LogFunction logFunction;
  std::mutex logMutex;
  /// Guards `running`, so that no call is ended but the one under way.
  std::mutex callMutex;
  bool running = false;
  std::atomic<bool> cancelled{false};

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
    world->rank(0).abort("cancelled");
  }
  void log(LogLevel level, const std::string &text) override {
    if (!logFunction)
      return;
    std::lock_guard<std::mutex> lock(logMutex);
    logFunction(level, text);
  }

  Status readVariable(int index, Tensor *out) override {
    return store->read(index, out);
  }
  Status writeVariable(int index, const TensorView &value) override {
    return store->write(index, value);
  }
  Status readSlice(int index, int rank, Tensor *out) override {
    return store->readSlice(index, rank, out);
  }
  Status writeSlice(int index, int rank, const TensorView &value) override {
    return store->writeSlice(index, rank, value);
  }
  Status resetVariables() override {
    return store->reset(package->folder, mapsWeights);
  }

  int64_t deviceBytes() const override {
    int64_t largest = 0;
    for (auto &rank : ranks)
      if (!isOfHost(manifest(), manifest().program_of_rank(rank->rank)))
        largest =
            std::max<int64_t>(largest, rank->state.size() + rank->arena.size() +
                                           rank->library.size());
    return largest;
  }
  std::vector<TraceEvent> takeTrace() override {
    std::vector<TraceEvent> events;
    for (auto &rank : ranks)
      takeSpans(*rank, &events);
    return events;
  }

private:
  /// A call of a launch.
  struct Step {
    EntryPlan *plan = nullptr;
    bool prepare = false;
    int64_t base = 0; // of its results
  };
  // Of the launch; kept, so that a step allocates nothing.
  std::vector<StepCall> single;
  std::vector<Step> steps;
  std::vector<size_t> begun, completed; // by rank

  void beginCall();
  /// Whether the call was cancelled.
  bool endCall();
  /// Where not all ranks have done all steps: what is between two steps now.
  void tearVariables(size_t done);

  /// On the rank's thread; false: it failed.
  bool runStep(dist_rt_context &context, const Step &step,
               const StepCall &call);

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
      rank.communicator->abort(copy.message());
      return Status();
    });
    // Without memory for the text, the others must be freed all the same.
    if (!told.ok())
      rank.communicator->abort(told.message());
  }
};

Status LocalSession::start(const SessionOptions &options) {
  const manifest::Manifest &m = package->manifest;
  cpu::LibraryMemory library;
  DIST_RETURN_IF_ERROR(cpu::LibraryMemory::create(m, &library));
  for (const manifest::Entry &entry :
       m.programs(m.program_of_rank(0)).entries()) {
    // The entries of its name in other programs run together with it.
    plans.emplace_back();
    DIST_RETURN_IF_ERROR(
        EntryPlan::create(*package, library, entry.name(), &plans.back()));
  }

  auto origin = std::chrono::steady_clock::now();
  std::vector<int> threadsOfRank;
  for (int program : m.program_of_rank())
    threadsOfRank.push_back(m.programs(program).threads() > 0
                                ? m.programs(program).threads()
                                : m.threads_per_device());
  threads = std::make_unique<RankThreads>(threadsOfRank, m.mesh().host(),
                                          options.team);
  DIST_RETURN_IF_ERROR(threads->status());
  LocalOptions local;
  for (const manifest::Axis &axis : m.mesh().axes())
    local.mesh.push_back(axis.size());
  local.host = m.mesh().host();
  local.timeout = options.collectiveTimeout;
  local.spinMicroseconds = threads->spinMicroseconds();
  local.spinForHostMicroseconds = threads->spinForAll();
  local.parallelFor = cpu::parallelFor;
  local.threadsPerRank = m.threads_per_device();
  logFunction = options.log;
  if (logFunction)
    local.warn = [this](const std::string &text) {
      log(LogLevel::Warning, text);
    };
  local.nameOp = [this](int rank, int32_t op) {
    return transferName(ranks[rank]->entry, op);
  };
  DIST_RETURN_IF_ERROR(LocalWorld::create(local, &world));
  DIST_RETURN_IF_ERROR(checkCommunicator(m, world->rank(0)));
  for (int rank = 0; rank < m.ranks(); ++rank) {
    ranks.push_back(std::make_unique<dist_rt_context>());
    dist_rt_context &context = *ranks.back();
    context.rank = rank;
    // For the library: its kernels were described for a device's threads.
    context.threads = m.threads_per_device();
    const manifest::Program &program = m.programs(m.program_of_rank(rank));
    int64_t arenaBytes = 0;
    for (const manifest::Entry &entry : program.entries())
      arenaBytes = std::max(arenaBytes, entry.arena_bytes());
    DIST_RETURN_IF_ERROR(
        context.state.allocate(stateBytes(m, program), "variables"));
    DIST_RETURN_IF_ERROR(context.arena.allocate(arenaBytes, "activations"));
    const cpu::LibraryBlock &block = library.block(m.program_of_rank(rank));
    DIST_RETURN_IF_ERROR(
        context.library.allocate(block.bytes(), "the library's kernels"));
    context.scratchpad = context.library.data() + block.scratchpad;
    context.scratchpadBytes = block.scratchpadBytes;
    context.table = &m.kernels();
    context.kernels.resize(m.kernels_size());
    context.communicator = &world->rank(rank);
    context.cancelled = &cancelled;
    context.trace = options.trace;
    context.origin = origin;
    if (options.trace)
      context.started.observe([&context](int32_t op, auto begin, auto end) {
        context.startedSpans.push_back(
            {"started", nullptr, op, -1, context.entry, begin, end});
      });
  }
  store = std::make_unique<VariableStore>(*package, ranks, *threads);
  mapsWeights = options.mapWeights;
  log(LogLevel::Info, m.model_name() + ": " + std::to_string(m.ranks()) +
                          " x " + std::to_string(m.threads_per_device()) +
                          " threads, " + std::to_string(deviceBytes()) +
                          " bytes a device, strategy " +
                          (m.strategy().empty() ? "one-device" : m.strategy()));
  return resetVariables();
}

void LocalSession::beginCall() {
  std::lock_guard<std::mutex> lock(callMutex);
  cancelled.store(false);
  running = true;
}

bool LocalSession::endCall() {
  std::lock_guard<std::mutex> lock(callMutex);
  running = false;
  return cancelled.load();
}

void LocalSession::tearVariables(size_t done) {
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

Status LocalSession::run(const manifest::Entry &entry,
                         const std::vector<TensorView> &inputs,
                         std::vector<Tensor> *outputs) {
  size_t done = 0;
  single.assign(1, {&entry, &inputs, outputs});
  return runSteps(single, nullptr, &done);
}

Status LocalSession::runSteps(const std::vector<StepCall> &calls,
                              const std::function<bool(size_t)> &goOn,
                              size_t *done) {
  *done = 0;
  steps.clear();
  int64_t resultBytes = 0;
  for (const StepCall &call : calls) {
    Step &step = steps.emplace_back();
    for (auto &candidate : plans)
      if (&candidate->entry() == call.entry)
        step.plan = candidate.get();
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
  for (Step &step : steps) {
    step.prepare = step.plan->needsPreparation(store->versions());
    store->touch(step.plan->changedVariables());
    if (step.prepare)
      step.plan->prepared(store->versions());
  }
  failure = Status();
  begun.assign(ranks.size(), 0);
  completed.assign(ranks.size(), 0);
  StepGate gate(ranks.size(), threads->spinForAll());
  size_t finished = 0; // calls whose outputs were put together at the gate
  auto runRank = [&](int rank) {
    dist_rt_context &context = *ranks[rank];
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
        return goOn(i);
      });
      if (!open)
        return Status();
    }
    return Status();
  };
  beginCall();
  Status run = threads->run([&](int rank) {
    dist_rt_context &context = *ranks[rank];
    context.communicator->progress.begin();
    Status status = withoutThrowing([&] { return runRank(rank); });
    if (!status.ok()) {
      context.status = std::move(status);
      fail(context, calls.front().entry->name(), 1);
      (void)context.started.waitForAll();
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
  if (!failure.ok() || wasCancelled)
    world->reset();
  return failure;
}

bool LocalSession::runStep(dist_rt_context &context, const Step &step,
                           const StepCall &call) {
  int rank = context.rank;
  context.status = Status();
  context.entry = &step.plan->entry(rank);
  step.plan->bind(context, *call.inputs, call.outputs, step.base);
  int32_t code = 0;
  size_t mark = context.spans.size();
  if (context.trace) {
    auto now = std::chrono::steady_clock::now();
    context.spans.push_back({"step", nullptr, -1, -1, context.entry, now, {}});
  }
  if (cancelled.load()) {
    context.status = cancelledStatus(context);
    code = 1;
  }
  context.calls = -1;
  if (code == 0 && step.prepare && step.plan->prepare(rank))
    code = step.plan->prepare(rank)(&context, context.arena.data(),
                                    context.bindings.data());
  context.calls = 0;
  if (code == 0)
    code = step.plan->step(rank)(&context, context.arena.data(),
                                 context.bindings.data());
  if (code != 0)
    fail(context, step.plan->entry(rank).name(), code);
  // Nothing of a step that failed goes on behind it, nor is remembered.
  (void)context.started.waitForAll();
  if (context.trace)
    context.spans[mark].end = std::chrono::steady_clock::now();
  return code == 0;
}

} // namespace

Status Session::open(const std::string &package, const SessionOptions &options,
                     std::unique_ptr<Session> *out) {
  auto session = std::make_unique<LocalSession>();
  Host host{cpu::hostFeatures()};
  DIST_RETURN_IF_ERROR(
      Package::load(package, host, runtimeApi(), &session->package));
  DIST_RETURN_IF_ERROR(session->start(options));
  *out = std::move(session);
  return Status();
}

} // namespace dist
