//===- ucx.h - Messages by UCX ----------------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Within a host through shared memory, between hosts through TCP or, where the
// machine has it, RDMA (which no test of ours has seen): UCX chooses. What
// travels is not encrypted: who can read or change packets of the network is
// to be trusted.
//
// A peer's end is seen by its process's end on the same host, at once, and by
// its connections' elsewhere.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_UCX_UCX_H
#define RUNTIME_COMM_UCX_UCX_H

#include "runtime/comm/message/transport.h"
#include "runtime/core/status.h"
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace dist {

struct UcxOptions {
  /// Of the mesh, and those of this process.
  int ranks = 1;
  std::vector<int> ranksHere;
  /// Brings the addresses of this process's ranks, in the order of `ranksHere`,
  /// to all others, and theirs here: `all` gets one for each rank.
  std::function<Status(const std::vector<std::string> &own,
                       std::vector<std::string> *all)>
      exchange;
  /// Off: hosts' processes, too, reach each other by the network.
  bool sharedMemory = true;
  /// Interfaces, as "eth0,lo"; empty: all.
  std::string networkDevices;
  /// Seconds until all must have been reached.
  double timeout = 30;
  /// What is known of the others beside the network: an error ends the wait for
  /// them; null: nothing.
  std::function<Status()> check;
  /// What errors call a rank; null: "rank" and its number.
  std::function<std::string(int rank)> nameRank;
  /// Hears what is waited for beside the others, once that lasts; null: nobody.
  std::function<void(const std::string &)> note;
};

/// Sets what UCX 1.13 takes from the environment alone, once, before the
/// process has a second thread and before any of the ends; what stands there
/// already is the user's choice. Gives back the signals that UCX takes when it
/// is loaded: before the process sets handlers of its own. Again it does
/// nothing.
void prepareUcx();
/// Behind `prepareUcx`, in as early a place: the first and the last port to
/// listen at, whatever the environment says of UCX's ports.
void limitUcxPorts(int first, int last);

/// What `hold` gives lives while an end takes memory that processes of this
/// machine share. Until UCX has taken the memory's name away, which it does at
/// once, a process that is ended leaves it behind: who ends itself by a signal
/// puts that off so long. In as early a place.
void holdWhileSharing(std::function<std::shared_ptr<void>()> hold);

/// One end for each of `ranksHere`. Errors: no `prepareUcx` before, a network
/// that does not open, what `exchange` and `check` met; a rank that is lost, at
/// once, or not reached in time.
Status makeUcxTransports(const UcxOptions &options,
                         std::vector<std::unique_ptr<Transport>> *out);

/// Tells the others where this process is, and hears which rank it is, and
/// where those are that it is to reach, by rank; others have no address.
using AskForRank = std::function<Status(const std::string &own, int *rank,
                                        std::vector<std::string> *all)>;

/// The end of a process that comes when the others have met, and have admitted
/// it (Transport::admit). Of the options the ranks and their exchange are
/// nothing to it.
Status makeUcxReturn(const UcxOptions &options, const AskForRank &ask,
                     std::unique_ptr<Transport> *out);

} // namespace dist

#endif // RUNTIME_COMM_UCX_UCX_H
