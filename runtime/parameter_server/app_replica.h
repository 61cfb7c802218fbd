//===- app_replica.h - A worker of an app -----------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the closures of a ClosureQueue do on a worker: a training step with the
// next batch of a dataset of the worker's own, or a function of the app. Both
// have names, which the app gives in all of its processes alike.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_PARAMETER_SERVER_APP_REPLICA_H
#define RUNTIME_PARAMETER_SERVER_APP_REPLICA_H

#include "runtime/parameter_server/session_replica.h"

namespace dist::ps {

/// Closures, for Coordinator::schedule.
Buffer packStep(const std::string &dataset);
Buffer packCall(const std::string &function, const void *argument,
                size_t bytes);

class AppReplica : public Replica {
public:
  /// Makes a worker's dataset, and says how it is read.
  using MakeData =
      std::function<Status(std::unique_ptr<Dataset> *, ReplicaOptions *)>;
  struct Call {
    int64_t closure = 0;
    const char *argument = nullptr;
    size_t bytes = 0;
  };
  using Function = std::function<Status(const Call &, Buffer *result)>;

  static Status create(Session &session, const Layout &layout,
                       std::unique_ptr<AppReplica> *out);
  void addDataset(const std::string &name, MakeData make) {
    datasets[name].make = std::move(make);
  }
  void addFunction(const std::string &name, Function function) {
    functions[name] = std::move(function);
  }

  Status begin(int64_t closure) override;
  Status beginWork(int64_t closure, const Buffer &work) override;
  Buffer pullOf(int server) override { return current->pullOf(server); }
  size_t parameterBytes(int server) const override {
    return current->parameterBytes(server);
  }
  Status takeParameters(int server, const Buffer &bytes) override {
    return current->takeParameters(server, bytes);
  }
  Status compute(ReportBody *report, Buffer *gained, bool *isPushed) override;
  Status giveGradients(int server, Buffer *out) override {
    return current->giveGradients(server, out);
  }

private:
  /// A dataset, once a closure has asked for it.
  struct Data {
    MakeData make;
    std::unique_ptr<Dataset> dataset;
    std::unique_ptr<SessionReplica> steps;
    int64_t next = 0; // batch
  };
  AppReplica(Session &session, const Layout &layout)
      : session(session), layout(layout), metrics(session) {}
  Status beginStep(const std::string &name);

  Session &session;
  const Layout &layout;
  Metrics metrics;
  std::map<std::string, Data> datasets;
  std::map<std::string, Function> functions;
  /// Takes variables for functions.
  std::unique_ptr<SessionReplica> reader;
  // Of the closure:
  SessionReplica *current = nullptr;
  const Function *function = nullptr; // none: a step
  int64_t closure = 0;
  std::string argument;
};

} // namespace dist::ps

#endif // RUNTIME_PARAMETER_SERVER_APP_REPLICA_H
