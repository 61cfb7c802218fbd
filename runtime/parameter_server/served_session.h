//===- served_session.h - A session whose variables servers hold *- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The coordinator's session: it computes with a worker's package, and its
// variables are the servers', with what their optimizers know. So it saves,
// resumes and evaluates as any other session does.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_PARAMETER_SERVER_SERVED_SESSION_H
#define RUNTIME_PARAMETER_SERVER_SERVED_SESSION_H

#include "runtime/core/session.h"
#include "runtime/parameter_server/coordinator.h"
#include "runtime/parameter_server/layout.h"

namespace dist::ps {

/// Not while closures are under way, but for `manifest` and `log`.
class ServedSession final : public Session {
public:
  static Status create(std::unique_ptr<Session> worker, const Layout &layout,
                       ServerStates &servers,
                       std::unique_ptr<ServedSession> *out);

  const manifest::Manifest &manifest() const override { return merged; }
  const manifest::Entry *findEntry(const std::string &name) const override {
    return worker->findEntry(name);
  }
  const std::vector<int> &localRanks() const override {
    return worker->localRanks();
  }
  Window inputWindow(const manifest::Entry &entry,
                     size_t input) const override {
    return worker->inputWindow(entry, input);
  }
  Window outputWindow(const manifest::Entry &entry,
                      size_t output) const override {
    return worker->outputWindow(entry, output);
  }
  Status run(const manifest::Entry &entry,
             const std::vector<TensorView> &inputs,
             std::vector<Tensor> *outputs) override;
  void cancel() override { worker->cancel(); }
  void log(LogLevel level, const std::string &text) override {
    worker->log(level, text);
  }
  Status readVariable(int index, Tensor *out) override;
  Status writeVariable(int index, const TensorView &value) override;
  Status readSlice(int index, int rank, Tensor *out) override;
  Status writeSlice(int index, int rank, const TensorView &value) override;
  Status resetVariables() override;
  Status rebuild(std::shared_ptr<World> world) override;
  int64_t deviceBytes() const override { return worker->deviceBytes(); }
  std::vector<TraceEvent> takeTrace() override { return worker->takeTrace(); }

  /// Before closures run: the servers get what was written here.
  Status beginClosures();
  /// The steps that have drawn random numbers since the package was made; 0
  /// where none do.
  Status countSteps(int64_t *out);
  /// Adds what a closure has gained to the metrics, and the closure to the
  /// steps that have drawn random numbers.
  Status addMetrics(const Buffer &gained);
  /// The metrics alone; bytes of what a closure, or a batch, gains.
  Status addGains(const Buffer &gained);
  size_t gainBytes() const;

private:
  /// Rows of a variable in a server's state.
  struct Piece {
    int server = 0;
    size_t offset = 0;        // there
    size_t offsetInWhole = 0; // in the variable
    size_t bytes = 0;
  };
  /// Where a variable is held; empty: here.
  struct Place {
    std::vector<Piece> pieces;
    /// Each server has all of it, as a count of steps: the first one's counts.
    bool isCommon = false;
  };
  struct State {
    Buffer bytes; // empty: not fetched
    bool isChanged = false;
  };

  ServedSession(std::unique_ptr<Session> worker, const Layout &layout,
                ServerStates &servers)
      : worker(std::move(worker)), layout(layout), servers(servers) {}
  Status place();
  Status placeState(int server, int variable);
  int findMerged(const std::string &name) const;
  Status fetch(int server);
  /// What closures have added to a variable is to be added to the worker's
  /// session's.
  bool isGained(int index) const {
    return index == stepCounter || merged.variables(index).group() == "metric";
  }
  Status settleGains();
  Status settleSteps();
  Status readSteps(int64_t *out);
  /// Brings the servers' values into the worker's session.
  Status load();

  std::unique_ptr<Session> worker;
  const Layout &layout;
  ServerStates &servers;
  manifest::Manifest merged; // the worker's, then what only servers have
  int own = 0;               // variables that the worker's session has
  std::vector<Place> places; // by merged variable
  std::vector<State> states; // by server
  bool isLoaded = false;     // the worker's session has the servers' values
  /// What closures have added to metrics and the worker's session does not
  /// have, by metric variable.
  std::vector<std::pair<int, Tensor>> gains;
  bool hasGains = false;
  int stepCounter = -1;  // the variable; none: nothing is drawn
  int64_t newSteps = 0;  // closures that it does not count yet
  int64_t firstStep = 0; // the package's
};

} // namespace dist::ps

#endif // RUNTIME_PARAMETER_SERVER_SERVED_SESSION_H
