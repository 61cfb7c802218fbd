//===- dist/cluster.hpp - A coordinator's closures, in C++17 ----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// dist/cluster.h with owners, and with functions that hold state and may throw;
// see dist/session.hpp.
//
//===----------------------------------------------------------------------===//
#ifndef DIST_CLUSTER_HPP
#define DIST_CLUSTER_HPP

#include "dist/cluster.h"
#include "dist/session.hpp"
#include <list>
#include <utility>

namespace dist::api {

/// What a closure will have given. It may outlive its cluster.
class RemoteValue {
public:
  explicit RemoteValue(dist_remote_value_t *value) : handle(value) {}
  /// Waits for the closure; throws its error, and DIST_STATUS_CANCELLED where
  /// an earlier one failed or the cluster was closed.
  dist_fetched_t fetch() const {
    dist_fetched_t fetched = DIST_FETCHED_INIT;
    check(dist_remote_value_fetch(handle.get(), &fetched));
    return fetched;
  }
  /// What a function gave.
  std::string bytes() const {
    dist_fetched_t fetched = fetch();
    return {static_cast<const char *>(fetched.data), fetched.bytes};
  }

private:
  struct Free {
    void operator()(dist_remote_value_t *value) const {
      dist_remote_value_free(value);
    }
  };
  std::unique_ptr<dist_remote_value_t, Free> handle;
};

struct ClusterOptions {
  /// As dist_cluster_options_t's.
  std::string tfConfig;
  std::string jobSecret;
  double startTimeout = 0, heartbeatTimeout = 0, patience = 0; // seconds
  int64_t queueLimit = 0;
  int64_t staleness = -1;
  std::string store; // empty: the chief's
  std::string storeAuthority, storeCertificate, storeKey;
  int firstPort = 0, lastPort = 0;
  std::string networkInterface;
  double returnTimeout = 0; // seconds
  /// From any thread, one call at a time; throws nothing, uses no cluster.
  std::function<void(dist_log_level_t, const char *)> log;
};

/// A worker's dataset; what the columns point to stays as it is.
struct WorkerData {
  std::vector<TensorView> columns;
  bool keepOrder = false;
  uint64_t seed = 0; // the worker's index is added
  bool dropRemainder = false;
};

/// A closure on its worker.
struct Call {
  int worker = 0;
  std::string argument;
  /// The worker's session, as dist_call_t's; null where that is.
  Session *session = nullptr;
};

class Cluster {
public:
  /// Waits for the others. Before the process has a second thread.
  Cluster(const std::string &package, ClusterOptions given)
      : log(std::make_unique<decltype(given.log)>(std::move(given.log))) {
    dist_cluster_options_t options = DIST_CLUSTER_OPTIONS_INIT;
    options.tf_config = given.tfConfig.c_str();
    options.job_secret = textOf(given.jobSecret);
    options.start_timeout = given.startTimeout;
    options.heartbeat_timeout = given.heartbeatTimeout;
    options.patience = given.patience;
    options.queue_limit = given.queueLimit;
    options.staleness = given.staleness;
    options.store = textOf(given.store);
    options.store_authority = textOf(given.storeAuthority);
    options.store_certificate = textOf(given.storeCertificate);
    options.store_key = textOf(given.storeKey);
    options.first_port = given.firstPort;
    options.last_port = given.lastPort;
    options.network_interface = textOf(given.networkInterface);
    options.return_timeout = given.returnTimeout;
    if (*log) {
      options.log = [](void *data, dist_log_level_t level,
                       const char *message) {
        (*static_cast<decltype(given.log) *>(data))(level, message);
      };
      options.log_data = log.get();
    }
    dist_cluster_t *opened = nullptr;
    check(dist_cluster_open(package.c_str(), &options, &opened));
    handle.reset(opened);
  }
  dist_cluster_t *get() const { return handle.get(); }

  dist_task_t task() const { return dist_cluster_task(get()); }
  int taskIndex() const { return dist_cluster_task_index(get()); }
  int workers() const { return dist_cluster_worker_count(get()); }

  /// In all processes, before they serve or schedule.
  void addDataset(const std::string &name,
                  std::function<WorkerData(int worker)> make) {
    Data &data = datasets.emplace_back();
    data.make = std::move(make);
    check(dist_cluster_register_dataset(get(), name.c_str(), makeData, &data));
  }
  void addFunction(const std::string &name,
                   std::function<std::string(const Call &)> call) {
    functions.push_back(std::move(call));
    check(dist_cluster_register_function(get(), name.c_str(), callFunction,
                                         &functions.back()));
  }
  /// A worker's and a server's part.
  void serve() { check(dist_cluster_serve(get())); }

  // The chief's; any thread.
  RemoteValue scheduleStep(const std::string &dataset) {
    dist_remote_value_t *value = nullptr;
    check(dist_cluster_schedule_step(get(), dataset.c_str(), &value));
    return RemoteValue(value);
  }
  RemoteValue schedule(const std::string &function,
                       const std::string &argument = "") {
    dist_remote_value_t *value = nullptr;
    check(dist_cluster_schedule(get(), function.c_str(), argument.data(),
                                argument.size(), &value));
    return RemoteValue(value);
  }
  void join() { check(dist_cluster_join(get())); }
  bool done() {
    int32_t isDone = 0;
    check(dist_cluster_done(get(), &isDone));
    return isDone != 0;
  }
  /// The chief's, as long as the cluster; not while closures are under way.
  Session session() { return Session(dist_cluster_session(get())); }

private:
  struct Data {
    std::function<WorkerData(int)> make;
    WorkerData made; // what the library reads
    std::vector<dist_tensor_t> columns;
    std::string why; // none were made
  };
  static int makeData(void *given, int32_t worker, dist_worker_data_t *out) {
    auto &data = *static_cast<Data *>(given);
    // No exception may pass through the library.
    try {
      data.made = data.make(worker);
      data.columns = rawTensors(data.made.columns);
    } catch (const std::exception &error) {
      data.why = error.what();
      // An older library's has no place for it.
      if (out->struct_size >= sizeof *out)
        out->why = data.why.c_str();
      return 1;
    } catch (...) {
      return 1;
    }
    out->columns = data.columns.data();
    out->num_columns = int32_t(data.columns.size());
    out->keep_order = data.made.keepOrder;
    out->seed = data.made.seed;
    out->drop_remainder = data.made.dropRemainder;
    return 0;
  }
  static dist_status_t *callFunction(void *given, const dist_call_t *call,
                                     dist_result_t *result) {
    try {
      std::unique_ptr<Session> session;
      if (call->session)
        session = std::make_unique<Session>(call->session);
      std::string value =
          (*static_cast<std::function<std::string(const Call &)> *>(given))(
              {call->worker,
               {static_cast<const char *>(call->argument),
                call->argument_bytes},
               session.get()});
      return dist_result_set(result, value.data(), value.size());
    } catch (const Error &error) {
      return dist_status_make(error.code(), error.what());
    } catch (const std::exception &error) {
      return dist_status_make(DIST_STATUS_INVALID_INPUT, error.what());
    } catch (...) {
      return dist_status_make(DIST_STATUS_INVALID_INPUT, "a function threw");
    }
  }
  static const char *textOf(const std::string &text) {
    return text.empty() ? nullptr : text.c_str();
  }
  struct Close {
    void operator()(dist_cluster_t *cluster) const {
      dist_cluster_close(cluster);
    }
  };
  // In places that do not move; they outlive the cluster, which calls them.
  std::unique_ptr<std::function<void(dist_log_level_t, const char *)>> log;
  std::list<Data> datasets;
  std::list<std::function<std::string(const Call &)>> functions;
  std::unique_ptr<dist_cluster_t, Close> handle;
};

} // namespace dist::api

#endif // DIST_CLUSTER_HPP
