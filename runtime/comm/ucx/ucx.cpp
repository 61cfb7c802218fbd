//===- ucx.cpp - Messages by UCX ------------------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/ucx/ucx.h"
#include "runtime/comm/common/waits.h"
#include "runtime/comm/ucx/end.h"
#include "runtime/core/process_space.h"
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <ucs/config/global_opts.h>
#include <ucs/debug/debug.h>
#include <unistd.h>

namespace dist {

namespace {

using namespace ucx;

Status refuse(const std::string &why) {
  return Status::error(StatusCode::Unavailable, "cannot open the network", "",
                       why);
}

std::atomic<bool> isPrepared{false};

Status openContext(const UcxOptions &options, std::shared_ptr<Context> *out) {
  if (!isPrepared)
    return Status::error(StatusCode::Internal, "cannot open the network", "",
                         "UCX was not prepared when the process began");
  // An app that is embedded in has a standard output of its own.
  ucs_global_opts_set_value("LOG_LEVEL", "fatal");

  ucp_config_t *config = nullptr;
  ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
  if (status != UCS_OK)
    return refuse(ucs_status_string(status));
  std::vector<std::pair<const char *, std::string>> settings;
  if (!options.sharedMemory)
    settings.push_back({"TLS", "self,tcp"});
  if (!options.networkDevices.empty())
    settings.push_back({"NET_DEVICES", options.networkDevices});
  for (auto &[name, value] : settings)
    if (status == UCS_OK) {
      status = ucp_config_modify(config, name, value.c_str());
      if (status != UCS_OK) {
        ucp_config_release(config);
        return refuse(std::string(name) + " cannot be " + value + ": " +
                      ucs_status_string(status));
      }
    }
  ucp_params_t parameters{};
  parameters.field_mask = UCP_PARAM_FIELD_FEATURES |
                          UCP_PARAM_FIELD_MT_WORKERS_SHARED |
                          UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
  parameters.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  parameters.mt_workers_shared = options.ranksHere.size() > 1;
  parameters.estimated_num_eps = options.ranks;
  ucp_context_h handle = nullptr;
  status = ucp_init(&parameters, config, &handle);
  ucp_config_release(config);
  if (status != UCS_OK)
    return refuse(ucs_status_string(status));
  *out = std::make_shared<Context>(handle, options.note);
  return Status();
}

Status describe(const End &end, std::string *out) {
  Address address;
  address.host = processSpace();
  address.process = getpid();
  DIST_RETURN_IF_ERROR(end.address(&address));
  *out = address.toText();
  return Status();
}

/// Others are at their starts: no reason to take a CPU from them.
void pauseShortly() {
  std::this_thread::sleep_for(std::chrono::microseconds(50));
}

std::string nameOf(const UcxOptions &options, int rank) {
  return options.nameRank ? options.nameRank(rank)
                          : "rank " + std::to_string(rank);
}

/// When the time is over; one that all have greeted has its own to send still.
Status refuseMissing(const UcxOptions &options, const End &end) {
  int missing = end.firstMissing();
  return missing == end.rank()
             ? Status()
             : refuse(nameOf(options, end.rank()) + " does not reach " +
                      nameOf(options, missing));
}

Status refuseLost(const UcxOptions &options, const End &end) {
  std::string why;
  int lost = end.firstLost(&why);
  return lost < 0 ? Status()
                  : refuse(nameOf(options, lost) + " is lost: " + why);
}

/// Until each has greeted all others.
Status awaitGreetings(const UcxOptions &options,
                      const std::vector<std::unique_ptr<End>> &ends) {
  using Clock = Transport::Clock;
  const Clock::time_point until = Clock::now() + toDuration(options.timeout);
  constexpr int64_t passesOfCheck = 100;
  for (int64_t pass = 0;; ++pass) {
    bool all = true;
    for (const std::unique_ptr<End> &end : ends)
      all &= end->isConnected();
    if (all)
      return Status();
    if (options.check && pass % passesOfCheck == 0)
      DIST_RETURN_IF_ERROR(options.check());
    for (const std::unique_ptr<End> &end : ends) {
      DIST_RETURN_IF_ERROR(refuseLost(options, *end));
      if (Clock::now() > until)
        DIST_RETURN_IF_ERROR(refuseMissing(options, *end));
    }
    pauseShortly();
  }
}

} // namespace

void prepareUcx() {
  // UCX warns of signals that it has given back already, and the process may
  // have threads by now.
  if (isPrepared)
    return;
  // Loading it has taken them; those that the process sets later are its own.
  for (int number : {SIGILL, SIGSEGV, SIGBUS, SIGFPE})
    ucs_debug_disable_signal(number);
  std::vector<std::pair<const char *, std::string>> settings = {
      // Else UCX leaves shared memory alone where it is to tell of failures.
      {"UCX_POSIX_ERROR_HANDLING", "y"},
      {"UCX_SYSV_ERROR_HANDLING", "y"},
      // Slices of large transfers are not buffered by who does not expect them
      // yet; where UCX knows no link's speed, it would.
      {"UCX_RNDV_THRESH", "128k"},
      // Of ends that neither a process nor a connection tells of.
      {"UCX_KEEPALIVE_INTERVAL", "1s"},
      // Fewer and larger fragments: 64 KiB do not fit their own length.
      {"UCX_POSIX_SEG_SIZE", "32k"},
      {"UCX_SYSV_SEG_SIZE", "32k"},
      {"UCX_TCP_TX_SEG_SIZE", "64k"},
      // What arrives is copied from there, as UCX writes straight to where it
      // belongs by none of its ways over TCP that tell of failures: it is to be
      // in the cache still. A slice of 128 KiB is one fragment.
      {"UCX_TCP_RX_SEG_SIZE", "129k"},
  };
  for (auto &[name, value] : settings)
    setenv(name, value.c_str(), 0);
  isPrepared = true;
}

Status makeUcxTransports(const UcxOptions &options,
                         std::vector<std::unique_ptr<Transport>> *out) {
  std::shared_ptr<Context> context;
  DIST_RETURN_IF_ERROR(openContext(options, &context));
  std::vector<std::unique_ptr<End>> ends(options.ranksHere.size());
  std::vector<std::string> own, all;
  for (size_t i = 0; i < ends.size(); ++i) {
    DIST_RETURN_IF_ERROR(
        End::create(context, options.ranksHere[i], options.ranks, &ends[i]));
    DIST_RETURN_IF_ERROR(describe(*ends[i], &own.emplace_back()));
  }
  DIST_RETURN_IF_ERROR(options.exchange(own, &all));
  std::vector<Address> addresses(options.ranks);
  for (int rank = 0; rank < options.ranks; ++rank)
    if (size_t(rank) >= all.size() ||
        !Address::fromText(all[rank], &addresses[rank]))
      return refuse(nameOf(options, rank) + " has no address");
  for (std::unique_ptr<End> &end : ends)
    end->connect(addresses);
  DIST_RETURN_IF_ERROR(awaitGreetings(options, ends));
  for (std::unique_ptr<End> &end : ends)
    out->push_back(std::move(end));
  return Status();
}

Status makeUcxReturn(const UcxOptions &options, const AskForRank &ask,
                     std::unique_ptr<Transport> *out) {
  std::shared_ptr<Context> context;
  DIST_RETURN_IF_ERROR(openContext(options, &context));
  std::unique_ptr<End> end;
  DIST_RETURN_IF_ERROR(End::create(context, 0, 1, &end));
  std::string own;
  DIST_RETURN_IF_ERROR(describe(*end, &own));
  int rank = 0;
  std::vector<std::string> all;
  DIST_RETURN_IF_ERROR(ask(own, &rank, &all));
  std::vector<Address> addresses(rank + 1);
  for (int other = 0; other < rank; ++other)
    if (size_t(other) < all.size() && !all[other].empty() &&
        !Address::fromText(all[other], &addresses[other]))
      return refuse(nameOf(options, other) + " has no address");
  (void)Address::fromText(own, &addresses[rank]);
  end->become(rank, rank + 1);
  end->connect(addresses);
  std::vector<std::unique_ptr<End>> ends;
  ends.push_back(std::move(end));
  DIST_RETURN_IF_ERROR(awaitGreetings(options, ends));
  *out = std::move(ends.front());
  return Status();
}

} // namespace dist
