//===- served_app.cpp - Behind dist/cluster.h's handles -------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/capi/served_app.h"
#include "runtime/capi/training.h"
#include "runtime/core/one_line.h"
#include "runtime/core/package_files.h"
#include "runtime/parameter_server/session_shard.h"

using namespace dist;

/// Longer than any run is long enough, and no more than a clock can count.
static constexpr double kLongest = 365 * 24 * 3600.0; // seconds

static ps::Mail::Clock::duration toTime(double seconds) {
  return std::chrono::duration_cast<ps::Mail::Clock::duration>(
      std::chrono::duration<double>(std::min(seconds, kLongest)));
}

dist_cluster_t::~dist_cluster_t() {
  if (!coordinator)
    return;
  Status why = queue ? queue->over() : Status();
  // Its thread uses the coordinator.
  queue.reset();
  (void)withoutThrowing([&] {
    coordinator->end(why);
    return Status();
  });
}

Status dist_cluster_t::openSession(const std::string &package,
                                   const dist_cluster_options_t &options) {
  SessionOptions settings;
  settings.cpuVariant = joined->cpuVariant;
  if (options.log)
    settings.log = [log = options.log, data = options.log_data](
                       LogLevel level, const std::string &text) {
      log(data, static_cast<dist_log_level_t>(level), text.c_str());
    };
  const int server = joined->server();
  DIST_RETURN_IF_ERROR(
      Session::open(server >= 0 ? serverPath(package, server) : package,
                    settings, &session.session));
  return isChief() ? coordinate(options) : Status();
}

Status dist_cluster_t::coordinate(const dist_cluster_options_t &options) {
  ps::CoordinatorOptions coordinating;
  coordinating.cast = joined->cast;
  if (options.staleness >= 0)
    coordinating.staleness = options.staleness;
  if (options.patience > 0)
    coordinating.patience = toTime(options.patience);
  if (options.log)
    coordinating.note = [log = options.log,
                         data = options.log_data](const std::string &line) {
      log(data, DIST_LOG_WARNING, line.c_str());
    };
  if (options.return_timeout > 0)
    coordinating.returnTime = toTime(options.return_timeout);
  cluster::takeWorkersBack(*joined->membership, joined->spec,
                           joined->cpuVariant, *joined->heartbeat,
                           &coordinating);
  coordinator = std::make_unique<ps::Coordinator>(*joined->mail, coordinating);
  ps::ClosureQueue::Options queueing;
  if (options.queue_limit > 0)
    queueing.limit = size_t(options.queue_limit);
  queueing.prepare = [this] {
    std::lock_guard<std::mutex> lock(serving);
    return served->beginClosures();
  };
  // Closures draw random numbers by their own: those of a loaded state are not
  // drawn again.
  queueing.first = [this](int64_t *out) {
    std::lock_guard<std::mutex> lock(serving);
    return served->countSteps(out);
  };
  queue = std::make_unique<ps::ClosureQueue>(*coordinator, queueing);
  std::unique_ptr<ps::ServedSession> made;
  DIST_RETURN_IF_ERROR(ps::ServedSession::create(
      std::move(session.session), joined->layout, *queue, &made));
  served = made.get();
  session.session = std::move(made);
  return Status();
}

Status dist_cluster_t::serveVariables() {
  std::unique_ptr<ps::SessionShard> shard;
  DIST_RETURN_IF_ERROR(ps::SessionShard::create(
      *session.session, joined->layout, joined->server(), &shard));
  ps::Ending ending;
  return ps::serve(*joined->mail, *shard, joined->taskOptions(), &ending);
}

Status dist_cluster_t::makeData(const Dataset &of,
                                std::unique_ptr<dist::Dataset> *out,
                                ps::ReplicaOptions *options) {
  const manifest::Entry *entry = trainingEntry(*session.session);
  if (!entry)
    return badArgument("the package trains nothing",
                       session.session->manifest().model_name());
  dist_worker_data_t made = DIST_WORKER_DATA_INIT;
  const int worker = joined->task().index;
  if (int code = of.make(of.data, worker, &made))
    return Status::error(StatusCode::InvalidInput, "a worker has no dataset",
                         joined->cast.names[joined->mail->rank()],
                         made.why
                             ? onOneLine(made.why)
                             : "its function gave " + std::to_string(code));
  if (made.num_columns < 0 || (made.num_columns > 0 && !made.columns))
    return badArgument("a dataset needs columns");
  if (!made.keep_order)
    options->shuffle = made.seed + uint64_t(worker);
  options->dropRemainder = made.drop_remainder;
  options->onNonfinite = onNonfiniteOf(session.session->manifest());
  return toDataset(*entry, made.columns, made.num_columns, out);
}

Status dist_cluster_t::call(const Function &function,
                            const ps::AppReplica::Call &call, Buffer *result) {
  dist_call_t given = {sizeof given, joined->task().index, call.argument,
                       call.bytes,
                       joined->layout.tables.empty() ? &session : nullptr};
  dist_result_t room{result};
  dist_status_t *failed = function.call(function.data, &given, &room);
  if (!failed)
    return Status();
  Status status = Status::error(failed->code, failed->message);
  dist_status_free(failed);
  return status;
}

Status dist_cluster_t::work() {
  std::unique_ptr<ps::AppReplica> replica;
  DIST_RETURN_IF_ERROR(
      ps::AppReplica::create(*session.session, joined->layout, &replica));
  for (auto &[name, dataset] : datasets)
    replica->addDataset(name, [this, of = dataset](auto *out, auto *options) {
      return makeData(of, out, options);
    });
  for (auto &[name, function] : functions)
    replica->addFunction(
        name, [this, of = function](const ps::AppReplica::Call &given,
                                    Buffer *result) {
          return call(of, given, result);
        });
  ps::Ending ending;
  Status status;
  do
    status = ps::work(*joined->mail, *replica, joined->taskOptions(), &ending);
  while (joined->isBack(status));
  return status;
}

Status dist_cluster_t::schedule(Buffer work, bool isStep,
                                dist_remote_value_t **out) {
  // A program may never join, and the steps that are done would pile up.
  DIST_RETURN_IF_ERROR(takeMetrics());
  auto value = std::make_unique<dist_remote_value_t>();
  DIST_RETURN_IF_ERROR(queue->schedule(std::move(work), isStep, &value->value));
  if (out)
    *out = value.release();
  return Status();
}

Status dist_cluster_t::takeMetrics() {
  std::lock_guard<std::mutex> lock(serving);
  for (const ps::Completion &step : queue->takeSteps())
    DIST_RETURN_IF_ERROR(served->addMetrics(step.metrics));
  return Status();
}
