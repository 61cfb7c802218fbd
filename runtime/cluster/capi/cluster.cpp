//===- cluster.cpp - C interface: a coordinator's closures ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dist/cluster.h"
#include "runtime/cluster/capi/served_app.h"
#include "runtime/cluster/security/given_certificates.h"
#include "runtime/comm/ucx/ucx.h"
#include "runtime/core/one_line.h"
#include <cmath>
#include <cstddef>
#include <net/if.h>

using namespace dist;

namespace {

Status checkChief(const dist_cluster_t *cluster) {
  if (!cluster)
    return badArgument("a cluster is needed");
  if (cluster->isChief())
    return Status();
  return Status::error(
      StatusCode::InvalidArgument, "the chief alone schedules closures",
      cluster->joined->task().text(), "", "call dist_cluster_serve there");
}

Status checkName(const dist_cluster_t *cluster, const void *function,
                 const char *name) {
  if (!cluster || !function || !name)
    return badArgument("a cluster, a name and a function are needed");
  if (cluster->isServed)
    return badArgument("the cluster is served already", name);
  return Status();
}

Status checkBytes(const void *data, size_t bytes, const char *what) {
  if (bytes > 0 && !data)
    return badArgument("data are needed", what);
  if (bytes <= DIST_CLUSTER_MAX_BYTES)
    return Status();
  return Status::error(
      StatusCode::InvalidArgument, "too many bytes for a closure", what,
      std::to_string(bytes) + ", and at most " +
          std::to_string(DIST_CLUSTER_MAX_BYTES) + " travel with one",
      "write them to a file that all reach");
}

/// The one of this machine that is reached in clear text, or by TLS.
Status toStore(const dist_cluster_options_t &given, cluster::SharedStore *out) {
  if (!given.store) {
    if (!given.store_authority && !given.store_certificate && !given.store_key)
      return Status();
    return badArgument("no etcd is reached by TLS", "dist_cluster_options_t");
  }
  if (auto fault = cluster::parseStore(given.store, out))
    return Status::error(
        StatusCode::InvalidArgument, "a store is needed", "store", fault->why,
        fault->todo.empty() ? std::string("give ") + cluster::kStoreForms
                            : fault->todo);
  auto take = [](const char *text) { return std::string(text ? text : ""); };
  out->authority = take(given.store_authority);
  out->certificate = take(given.store_certificate);
  out->key = take(given.store_key);
  if (out->isEncrypted == out->authority.empty() ||
      out->certificate.empty() != out->key.empty() ||
      (!out->isEncrypted && !out->certificate.empty()))
    return Status::error(
        StatusCode::InvalidArgument, "a store's certificates do not fit",
        "store_authority, store_certificate, store_key",
        "an etcd by TLS (etcds://) needs its authorities, and may need a "
        "certificate with its key; others have none",
        "give what fits");
  if (out->isEncrypted)
    DIST_RETURN_IF_ERROR(cluster::checkGiven(
        {out->authority, out->certificate, out->key, ""},
        {"store_authority", "store_certificate", "store_key", ""}));
  for (const cluster::Address &address : out->addresses)
    if (!out->isEncrypted && !out->isCoordinator &&
        !cluster::isLoopback(address.host))
      return Status::error(StatusCode::InvalidArgument,
                           "the store would be reached in clear text", "store",
                           address.text() +
                               " is not this machine's, and what the processes "
                               "know each other by is told there",
                           "reach it by TLS (etcds://)");
  return Status();
}

/// An interface that is not there reaches nobody, which is found out late. A
/// device that is none of the system's interfaces has its port behind a colon.
Status checkInterfaces(const std::string &names) {
  for (size_t at = 0, end = 0; end != std::string::npos; at = end + 1) {
    end = names.find(',', at);
    const std::string name = names.substr(at, end - at);
    if (name.find(':') != std::string::npos || if_nametoindex(name.c_str()) > 0)
      continue;
    std::string known;
    struct if_nameindex *all = if_nameindex();
    for (auto *one = all; one && one->if_index > 0; ++one)
      known += (known.empty() ? "" : ", ") + std::string(one->if_name);
    if (all)
      if_freenameindex(all);
    return Status::error(StatusCode::InvalidArgument,
                         "there is no such network interface",
                         "network_interface",
                         "'" + name + "' is none of this machine's: " + known,
                         "give one of them, or several with commas");
  }
  return Status();
}

Status toJoinOptions(const char *package, const dist_cluster_options_t &given,
                     cluster::JoinOptions *out) {
  if (!package || !given.tf_config)
    return badArgument("a package's path and tf_config are needed");
  if (!(given.start_timeout >= 0) || !(given.heartbeat_timeout >= 0) ||
      !(given.patience >= 0) || !(given.return_timeout >= 0) ||
      given.queue_limit < 0)
    return badArgument("a time or a limit is negative",
                       "dist_cluster_options_t");
  out->package = package;
  out->tfConfig = given.tf_config;
  if (given.job_secret)
    DIST_RETURN_IF_ERROR(cluster::JobSecret::fromText(
        given.job_secret, "job_secret", &out->secret.emplace()));
  if (given.start_timeout > 0)
    out->startTimeout = given.start_timeout;
  if (given.heartbeat_timeout > 0)
    out->heartbeatTimeout = given.heartbeat_timeout;
  const int first = given.first_port, last = given.last_port;
  if (first < 0 || last < first || last > 65535 || (first == 0 && last != 0))
    return badArgument("first_port and last_port are no range of ports",
                       "dist_cluster_options_t");
  out->ports = {first, last};
  if (given.network_interface) {
    DIST_RETURN_IF_ERROR(checkInterfaces(given.network_interface));
    out->interface = given.network_interface;
  }
  DIST_RETURN_IF_ERROR(toStore(given, &out->store));
  // Behind names and heads.
  out->largestLetter = DIST_CLUSTER_MAX_BYTES + (1 << 20);
  if (given.log)
    out->note = [log = given.log,
                 data = given.log_data](const std::string &line) {
      log(data, DIST_LOG_INFO, onOneLine(line).c_str());
    };
  return Status();
}

/// One call at a time, from whichever thread.
void serializeLog(dist_cluster_t *cluster, dist_cluster_options_t *options) {
  if (!options->log)
    return;
  cluster->log = options->log;
  cluster->logData = options->log_data;
  options->log = [](void *data, dist_log_level_t level, const char *message) {
    auto *self = static_cast<dist_cluster_t *>(data);
    std::lock_guard<std::mutex> lock(self->logging);
    self->log(self->logData, level, message);
  };
  options->log_data = cluster;
}

} // namespace

dist_status_t *dist_cluster_open(const char *package,
                                 const dist_cluster_options_t *options,
                                 dist_cluster_t **out_cluster) {
  return guarded([&]() -> Status {
    if (!out_cluster)
      return badArgument("room for a cluster is needed");
    *out_cluster = nullptr;
    dist_cluster_options_t given = DIST_CLUSTER_OPTIONS_INIT;
    DIST_RETURN_IF_ERROR(takeStruct(options,
                                    offsetof(dist_cluster_options_t, store),
                                    "dist_cluster_options_t", &given));
    auto made = std::make_unique<dist_cluster_t>();
    serializeLog(made.get(), &given);
    cluster::JoinOptions joining;
    DIST_RETURN_IF_ERROR(toJoinOptions(package, given, &joining));
    prepareUcx();
    if (joining.ports.first > 0)
      limitUcxPorts(joining.ports.first, joining.ports.last);
    DIST_RETURN_IF_ERROR(cluster::Joined::join(joining, &made->joined));
    DIST_RETURN_IF_ERROR(made->openSession(package, given));
    DIST_RETURN_IF_ERROR(made->joined->endStart());
    *out_cluster = made.release();
    return Status();
  });
}

void dist_cluster_close(dist_cluster_t *cluster) { delete cluster; }

dist_task_t dist_cluster_task(const dist_cluster_t *cluster) {
  switch (cluster->joined->task().job) {
  case cluster::Job::Worker:
    return DIST_TASK_WORKER;
  case cluster::Job::Ps:
    return DIST_TASK_SERVER;
  default:
    return DIST_TASK_CHIEF;
  }
}

int32_t dist_cluster_task_index(const dist_cluster_t *cluster) {
  return cluster->joined->task().index;
}

int32_t dist_cluster_worker_count(const dist_cluster_t *cluster) {
  return cluster->joined->cast.workers;
}

dist_status_t *dist_cluster_register_dataset(dist_cluster_t *cluster,
                                             const char *name,
                                             dist_dataset_fn make, void *data) {
  return guarded([&]() -> Status {
    DIST_RETURN_IF_ERROR(
        checkName(cluster, reinterpret_cast<const void *>(make), name));
    cluster->datasets[name] = {make, data};
    return Status();
  });
}

dist_status_t *dist_cluster_register_function(dist_cluster_t *cluster,
                                              const char *name,
                                              dist_function_fn call,
                                              void *data) {
  return guarded([&]() -> Status {
    DIST_RETURN_IF_ERROR(
        checkName(cluster, reinterpret_cast<const void *>(call), name));
    cluster->functions[name] = {call, data};
    return Status();
  });
}

dist_status_t *dist_result_set(dist_result_t *result, const void *data,
                               size_t bytes) {
  return guarded([&]() -> Status {
    if (!result)
      return badArgument("a result is needed");
    DIST_RETURN_IF_ERROR(checkBytes(data, bytes, "dist_result_set"));
    const char *from = static_cast<const char *>(data);
    result->bytes->assign(from, from + bytes);
    return Status();
  });
}

dist_status_t *dist_status_make(dist_status_code_t code, const char *message) {
  return guarded([&]() -> Status {
    const int number = numberOf(code);
    if (number < 1 || number > int(StatusCode::Cancelled) || !message)
      return badArgument("an error needs a code and a message");
    return Status::error(StatusCode(number), message);
  });
}

dist_status_t *dist_cluster_serve(dist_cluster_t *cluster) {
  return guarded([&]() -> Status {
    if (!cluster || cluster->isChief())
      return badArgument("a worker's or a server's cluster is needed",
                         "dist_cluster_serve");
    if (std::exchange(cluster->isServed, true))
      return badArgument("the cluster is served already", "dist_cluster_serve");
    Status status = cluster->joined->server() >= 0 ? cluster->serveVariables()
                                                   : cluster->work();
    return status.ok() ? status : cluster->joined->explain(status);
  });
}

dist_status_t *dist_cluster_schedule_step(dist_cluster_t *cluster,
                                          const char *dataset,
                                          dist_remote_value_t **out_value) {
  return guarded([&]() -> Status {
    if (out_value)
      *out_value = nullptr;
    DIST_RETURN_IF_ERROR(checkChief(cluster));
    if (!dataset || !cluster->datasets.count(dataset))
      return badArgument("no dataset of this name is registered",
                         dataset ? dataset : "");
    return cluster->joined->explain(
        cluster->schedule(ps::packStep(dataset), /*isStep=*/true, out_value));
  });
}

dist_status_t *dist_cluster_schedule(dist_cluster_t *cluster,
                                     const char *function, const void *argument,
                                     size_t argument_bytes,
                                     dist_remote_value_t **out_value) {
  return guarded([&]() -> Status {
    if (out_value)
      *out_value = nullptr;
    DIST_RETURN_IF_ERROR(checkChief(cluster));
    if (!function || !cluster->functions.count(function))
      return badArgument("no function of this name is registered",
                         function ? function : "");
    DIST_RETURN_IF_ERROR(checkBytes(argument, argument_bytes, function));
    return cluster->joined->explain(
        cluster->schedule(ps::packCall(function, argument, argument_bytes),
                          /*isStep=*/false, out_value));
  });
}

dist_status_t *dist_cluster_join(dist_cluster_t *cluster) {
  return guarded([&]() -> Status {
    DIST_RETURN_IF_ERROR(checkChief(cluster));
    Status status = cluster->queue->join();
    Status taken = cluster->takeMetrics();
    return cluster->joined->explain(status.ok() ? taken : status);
  });
}

dist_status_t *dist_cluster_done(dist_cluster_t *cluster, int32_t *out_done) {
  return guarded([&]() -> Status {
    DIST_RETURN_IF_ERROR(checkChief(cluster));
    if (!out_done)
      return badArgument("room for the answer is needed");
    bool isDone = false;
    Status status = cluster->queue->isDone(&isDone);
    *out_done = isDone;
    Status taken = cluster->takeMetrics();
    return cluster->joined->explain(status.ok() ? taken : status);
  });
}

dist_status_t *dist_remote_value_fetch(dist_remote_value_t *value,
                                       dist_fetched_t *out_fetched) {
  return guarded([&]() -> Status {
    if (!value)
      return badArgument("a value is needed");
    const ps::Completion *done = nullptr;
    DIST_RETURN_IF_ERROR(value->value->fetch(&done));
    dist_fetched_t fetched = DIST_FETCHED_INIT;
    fetched.worker = done->worker;
    fetched.loss = done->report.loss;
    fetched.examples = done->report.examples;
    fetched.learning_rate =
        done->report.hasLearningRate ? done->report.learningRate : NAN;
    fetched.finite = done->report.isFinite != 0;
    if (!value->value->isStep) {
      fetched.data = done->metrics.data();
      fetched.bytes = done->metrics.size();
    }
    return giveStruct(fetched, sizeof fetched, "dist_fetched_t", out_fetched);
  });
}

void dist_remote_value_free(dist_remote_value_t *value) { delete value; }

dist_session_t *dist_cluster_session(dist_cluster_t *cluster) {
  return cluster && cluster->isChief() ? &cluster->session : nullptr;
}
