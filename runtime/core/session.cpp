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
#include "runtime/core/package.h"
#include "runtime/core/rank.h"
#include "runtime/core/rank_threads.h"
#include "runtime/core/variable_store.h"
#include "runtime/device/cpu/team.h"
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
  std::vector<std::unique_ptr<EntryPlan>> plans;

  std::mutex failureMutex;
  Status failure; // the first of a run

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
  Status resetVariables() override { return store->reset(package->folder); }

  int64_t deviceBytes() const override {
    int64_t largest = 0;
    for (auto &rank : ranks)
      largest =
          std::max<int64_t>(largest, rank->state.size() + rank->arena.size());
    return largest;
  }
  std::vector<TraceEvent> takeTrace() override {
    std::vector<TraceEvent> events;
    for (auto &rank : ranks)
      takeSpans(*rank, &events);
    return events;
  }

private:
  /// Keeps the first failure and frees the ranks that wait for this one.
  void fail(dist_rt_context &rank, const std::string &entry, int32_t code) {
    if (rank.status.ok())
      rank.status = Status::error(StatusCode::Internal, "a step failed", entry,
                                  "code " + std::to_string(code));
    {
      std::lock_guard<std::mutex> lock(failureMutex);
      if (failure.ok())
        failure = rank.status;
    }
    rank.communicator->abort(rank.status.message());
  }
};

Status LocalSession::start(const SessionOptions &options) {
  const manifest::Manifest &m = package->manifest;
  for (const manifest::Entry &entry :
       m.programs(m.program_of_rank(0)).entries()) {
    // The entries of its name in other programs run together with it.
    plans.emplace_back();
    DIST_RETURN_IF_ERROR(
        EntryPlan::create(*package, entry.name(), &plans.back()));
  }

  auto origin = std::chrono::steady_clock::now();
  threads = std::make_unique<RankThreads>(m.ranks(), m.threads_per_device());
  LocalOptions local;
  for (const manifest::Axis &axis : m.mesh().axes())
    local.mesh.push_back(axis.size());
  local.timeout = options.collectiveTimeout;
  local.spinMicroseconds = threads->spinMicroseconds();
  local.parallelFor = cpu::parallelFor;
  local.threadsPerRank = m.threads_per_device();
  local.nameOp = [this](int32_t op) {
    return transferName(ranks[0]->entry, op);
  };
  DIST_RETURN_IF_ERROR(LocalWorld::create(local, &world));
  for (int rank = 0; rank < m.ranks(); ++rank) {
    ranks.push_back(std::make_unique<dist_rt_context>());
    dist_rt_context &context = *ranks.back();
    context.rank = rank;
    context.threads = m.threads_per_device();
    const manifest::Program &program = m.programs(m.program_of_rank(rank));
    int64_t arenaBytes = 0;
    for (const manifest::Entry &entry : program.entries())
      arenaBytes = std::max(arenaBytes, entry.arena_bytes());
    DIST_RETURN_IF_ERROR(
        context.state.allocate(stateBytes(m, program), "variables"));
    DIST_RETURN_IF_ERROR(context.arena.allocate(arenaBytes, "activations"));
    context.table = &m.kernels();
    context.kernels.resize(m.kernels_size());
    context.communicator = &world->rank(rank);
    context.trace = options.trace;
    context.origin = origin;
    if (options.trace)
      context.started.observe([&context](int32_t op, auto begin, auto end) {
        context.startedSpans.push_back({"started", nullptr, op, begin, end});
      });
  }
  store = std::make_unique<VariableStore>(*package, ranks, *threads);
  return resetVariables();
}

Status LocalSession::run(const manifest::Entry &entry,
                         const std::vector<TensorView> &inputs,
                         std::vector<Tensor> *outputs) {
  EntryPlan *plan = nullptr;
  for (auto &candidate : plans)
    if (&candidate->entry() == &entry)
      plan = candidate.get();
  if (!plan)
    return Status::error(StatusCode::InvalidArgument,
                         "the entry is not of this session", entry.name());
  DIST_RETURN_IF_ERROR(plan->begin(inputs, outputs));
  bool prepare = plan->needsPreparation(store->versions());
  failure = Status();
  threads->run([&](int rank) {
    dist_rt_context &context = *ranks[rank];
    context.status = Status();
    context.entry = &plan->entry(rank);
    plan->bind(context, inputs, outputs);
    int32_t code = 0;
    if (prepare && plan->prepare(rank))
      code = plan->prepare(rank)(&context, context.arena.data(),
                                 context.bindings.data());
    if (code == 0)
      code = plan->step(rank)(&context, context.arena.data(),
                              context.bindings.data());
    if (code != 0)
      fail(context, context.entry->name(), code);
    // Nothing of a step that failed goes on behind it, nor is remembered.
    (void)context.started.waitForAll();
  });
  store->touch(plan->changedVariables());
  if (!failure.ok()) {
    world->reset();
    return failure;
  }
  if (prepare)
    plan->prepared(store->versions());
  plan->finish(ranks, outputs);
  return Status();
}

} // namespace

Status Session::open(const std::string &package, const SessionOptions &options,
                     std::unique_ptr<Session> *out) {
  auto session = std::make_unique<LocalSession>();
  Host host{cpu::hostIsa(), cpu::libraryVersion()};
  DIST_RETURN_IF_ERROR(
      Package::load(package, host, runtimeApi(), &session->package));
  DIST_RETURN_IF_ERROR(session->start(options));
  *out = std::move(session);
  return Status();
}

} // namespace dist
