//===- ports.cpp - Where UCX listens --------------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/ucx/ports.h"
#include "runtime/comm/ucx/ucx.h"
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <sys/statvfs.h>
#include <thread>

namespace dist {

namespace {

using Clock = std::chrono::steady_clock;

/// The name of UCX's setting, which it reads as it makes a worker.
constexpr char kVariable[] = "UCX_TCP_PORT_RANGE";
/// So long, and a little, the system keeps a port for who has left it: its
/// connections' ends are in TIME_WAIT, and UCX binds without SO_REUSEADDR.
constexpr std::chrono::seconds keptTime{65};
/// After so long who waits says so.
constexpr std::chrono::seconds quietTime{1};

/// Of `limitUcxPorts`; 0: any.
int firstPort = 0, lastPort = 0;

void allow(int first, int last) {
  setenv(kVariable,
         (std::to_string(first) + "-" + std::to_string(last)).c_str(), 1);
}

/// Ports of the range that sockets of the table listen at, by address and port
/// in hexadecimal and a state in the third column after the first one.
void addListened(const char *table, std::set<int> *out) {
  constexpr char listens[] = "0A";
  std::ifstream file(table);
  std::string line, number, local, remote, state;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    size_t colon;
    if (!(words >> number >> local >> remote >> state) || state != listens ||
        (colon = local.rfind(':')) == std::string::npos)
      continue;
    int port = int(std::strtol(local.c_str() + colon + 1, nullptr, 16));
    if (port >= firstPort && port <= lastPort)
      out->insert(port);
  }
}

/// Whether nobody has to leave the range for it to stay full.
bool isListenedAt() {
  std::set<int> ports;
  addListened("/proc/net/tcp", &ports);
  addListened("/proc/net/tcp6", &ports);
  return int(ports.size()) == lastPort - firstPort + 1;
}

std::string describeRange() {
  return "ports " + std::to_string(firstPort) + ":" + std::to_string(lastPort);
}

Status refuse(const std::string &why) {
  return Status::error(
      StatusCode::Unavailable, "cannot listen for the other processes",
      describeRange(), why,
      "give a range of more ports: one for each device of each process, and "
      "one more for the chief");
}

} // namespace

void limitUcxPorts(int first, int last) {
  firstPort = first;
  lastPort = last;
  // There before the process has threads: other threads may read the
  // environment while a name that it has gets another value, but not while it
  // gets another name.
  allow(first, last);
}

/// Outlives all threads.
static std::function<std::shared_ptr<void>()> &holdOfSharing() {
  static auto *hold = new std::function<std::shared_ptr<void>()>;
  return *hold;
}

void holdWhileSharing(std::function<std::shared_ptr<void>()> hold) {
  holdOfSharing() = std::move(hold);
}

/// UCX says no more than that there is none of what it wants. What it wants
/// most of is memory that processes share, of which a container has little.
static Status cannotOpen(ucs_status_t status) {
  constexpr char kSharedMemory[] = "/dev/shm";
  constexpr const char *kWhat = "cannot open the network";
  const std::string why = ucs_status_string(status);
  struct statvfs info;
  const bool isShort =
      status == UCS_ERR_NO_RESOURCE || status == UCS_ERR_NO_MEMORY ||
      status == UCS_ERR_SHMEM_SEGMENT || status == UCS_ERR_IO_ERROR;
  if (!isShort || statvfs(kSharedMemory, &info) != 0)
    return Status::error(StatusCode::Unavailable, kWhat, "", why);
  const uint64_t free = uint64_t(info.f_bavail) * info.f_frsize;
  return Status::error(
      StatusCode::Unavailable, kWhat, kSharedMemory,
      why + "; each rank takes some 17 MiB of shared memory, of which " +
          std::to_string(free >> 20) + " MiB are free",
      "make it larger (docker run --shm-size=1g), raise the limits of files "
      "and memory (ulimit -f, ulimit -v), or set UCX_TLS=self,tcp, which goes "
      "without it");
}

static ucs_status_t tryWorker(const ucx::Context &context,
                              const ucp_worker_params_t &parameters,
                              ucp_worker_h *out) {
  std::shared_ptr<void> held;
  if (holdOfSharing())
    held = holdOfSharing()();
  return ucp_worker_create(context.handle, &parameters, out);
}

Status ucx::makeWorker(const Context &context,
                       const ucp_worker_params_t &parameters,
                       ucp_worker_h *out) {
  const Clock::time_point begin = Clock::now();
  for (bool isNoted = !context.note;;) {
    for (int port = firstPort; port <= lastPort; ++port) {
      if (port > 0)
        allow(port, port);
      ucs_status_t status = tryWorker(context, parameters, out);
      if (status == UCS_OK)
        return Status();
      *out = nullptr;
      if (port == 0 || status != UCS_ERR_BUSY)
        return cannotOpen(status);
    }
    if (isListenedAt())
      return refuse("processes listen at all of them");
    const Clock::duration waited = Clock::now() - begin;
    if (waited > keptTime)
      return refuse("none of them is free");
    if (!isNoted && waited > quietTime) {
      isNoted = true;
      context.note("waiting until one of the " + describeRange() +
                   " is free: the system keeps a port for up to a minute after "
                   "the process that listened there has ended; a range with a "
                   "port to spare needs no wait");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

} // namespace dist
