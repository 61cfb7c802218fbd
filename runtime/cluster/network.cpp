//===- network.cpp - What the network says of a cluster ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/network.h"
#include "runtime/core/text.h"
#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ifaddrs.h>
#include <netdb.h>
#include <set>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace dist::cluster {

/// A name server that is away costs seconds a name.
static constexpr size_t kMostUnresolved = 3;
/// Seconds between two questions for a name that is waited for.
static constexpr double kShortestNameWait = 0.1, kLongestNameWait = 2;

static std::string literalOf(const sockaddr *address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_INET)
    inet_ntop(AF_INET,
              &reinterpret_cast<const sockaddr_in *>(address)->sin_addr, text,
              sizeof text);
  else if (address->sa_family == AF_INET6)
    inet_ntop(AF_INET6,
              &reinterpret_cast<const sockaddr_in6 *>(address)->sin6_addr, text,
              sizeof text);
  return text;
}

std::vector<std::string> SystemNetwork::resolve(const std::string &host,
                                                std::string *why) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo *found = nullptr;
  int code = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (code != 0) {
    *why = code == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(code);
    return {};
  }
  std::vector<std::string> literals;
  for (const addrinfo *one = found; one; one = one->ai_next)
    literals.push_back(literalOf(one->ai_addr));
  freeaddrinfo(found);
  return literals;
}

/// Calls `use(name, literal)` for each address of this machine's interfaces.
template <typename Use> static void forEachInterface(Use use) {
  ifaddrs *all = nullptr;
  if (getifaddrs(&all) != 0)
    return;
  for (const ifaddrs *one = all; one; one = one->ifa_next)
    if (one->ifa_addr)
      if (std::string literal = literalOf(one->ifa_addr); !literal.empty())
        use(one->ifa_name, literal);
  freeifaddrs(all);
}

std::vector<std::string> SystemNetwork::localAddresses() {
  std::vector<std::string> literals;
  forEachInterface([&](const char *, const std::string &literal) {
    literals.push_back(literal);
  });
  return literals;
}

std::string SystemNetwork::findInterface(const std::string &literal) {
  std::string found;
  forEachInterface([&](const char *name, const std::string &one) {
    // All of 127.0.0.0/8 is the loopback interface's.
    if (found.empty() &&
        (one == literal || (isLoopback(one) && isLoopback(literal))))
      found = name;
  });
  return found;
}

bool SystemNetwork::canListen(const std::string &literal, int port,
                              std::string *why) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo *found = nullptr;
  if (getaddrinfo(literal.c_str(), std::to_string(port).c_str(), &hints,
                  &found) != 0) {
    *why = "it is no address";
    return false;
  }
  int socket = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // As servers do it: connections of before that are not forgotten yet do no
  // harm, a server that listens does.
  int on = 1;
  if (socket >= 0)
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  bool isFree = socket >= 0 &&
                bind(socket, found->ai_addr, found->ai_addrlen) == 0 &&
                listen(socket, 1) == 0;
  if (!isFree)
    *why = std::strerror(errno);
  if (socket >= 0)
    close(socket);
  freeaddrinfo(found);
  return isFree;
}

std::string listenLiteral(const std::string &host, Network &network) {
  std::string why;
  const std::vector<std::string> literals = network.resolve(host, &why);
  const std::vector<std::string> local = network.localAddresses();
  // Another machine's may be among them, as that of a gateway.
  std::string foreign;
  bool hasV4 = literals.empty();
  for (const std::string &literal : literals) {
    const bool isLoop = isLoopback(literal);
    if (isLoop ? isLoopback(host)
               : std::find(local.begin(), local.end(), literal) != local.end())
      return literal;
    if (!isLoop && foreign.empty())
      foreign = literal;
    hasV4 |= isLoop && literal.find(':') == std::string::npos;
  }
  const bool hasLoop =
      std::any_of(literals.begin(), literals.end(), isLoopback);
  if (!hasLoop && !foreign.empty())
    return foreign;                // where nobody can listen, which is told
  return hasV4 ? "0.0.0.0" : "::"; // of both families
}

std::string listenLiteral(const std::string &host) {
  SystemNetwork network;
  return listenLiteral(host, network);
}

bool isWildcard(const std::string &host) {
  return host == "0.0.0.0" || host == "::";
}

std::optional<AddressFault> parseListenAddress(const std::string &text,
                                               Address *address) {
  // What nobody can connect to is read as what one can, and put back.
  std::string reached = text, all;
  for (auto [wildcard, own] :
       {std::pair("0.0.0.0:", "127.0.0.1:"), std::pair("[::]:", "[::1]:")})
    if (startsWith(text, wildcard)) {
      all = wildcard[0] == '[' ? "::" : "0.0.0.0";
      reached = own + text.substr(std::strlen(wildcard));
    }
  const size_t port = reached.rfind(':');
  const bool isFree = port != std::string::npos && reached.substr(port) == ":0";
  if (isFree)
    reached.back() = '1';
  if (auto fault = parseAddress(reached, address))
    return fault;
  if (!all.empty())
    address->host = all;
  if (isFree)
    address->port = 0;
  return std::nullopt;
}

static void checkOwnAddress(const ClusterSpec &spec, const Address &address,
                            const std::vector<std::string> &literals,
                            Network &network, std::vector<Status> &faults) {
  std::vector<std::string> local = network.localAddresses();
  auto isLocal = [&](const std::string &literal) {
    return isLoopback(literal) ||
           std::find(local.begin(), local.end(), literal) != local.end();
  };
  auto own = std::find_if(literals.begin(), literals.end(), isLocal);
  if (own == literals.end()) {
    faults.push_back(Status::error(
        StatusCode::InvalidInput,
        "this process's address is not this machine's", spec.selfSource,
        spec.self->text() + " is at " + address.text() +
            (literals[0] == address.host ? "" : ", which is " + literals[0]) +
            ", and no interface here has it",
        "correct the address or the task's index, or start it there"));
    return;
  }
  std::string why;
  if (address.port != 0 && !network.canListen(*own, address.port, &why))
    faults.push_back(
        Status::error(StatusCode::Unavailable, "the port cannot be used",
                      address.text() + ", " + spec.self->text(), why,
                      "end what uses it, or give the task another port"));
}

namespace {

/// A task whose host's name is not known, and why.
struct UnknownName {
  Task task;
  std::string why;
};

} // namespace

static std::vector<UnknownName> findUnknownNames(
    const ClusterSpec &spec, Network &network,
    const std::function<void(const Task &, const Address &,
                             const std::vector<std::string> &)> &useKnown) {
  std::vector<UnknownName> unknown;
  std::set<std::string> asked;
  for (const Task &task : spec.tasks()) {
    const Address &address = *spec.find(task);
    bool isSelf = spec.self && *spec.self == task;
    if (address.host.empty() ||
        (!asked.insert(canonicalHost(address.host)).second && !isSelf))
      continue;
    if (unknown.size() == kMostUnresolved)
      break;
    std::string why;
    std::vector<std::string> literals = network.resolve(address.host, &why);
    if (literals.empty())
      unknown.push_back({task, why});
    else
      useKnown(task, address, literals);
  }
  return unknown;
}

static Status describe(const UnknownName &name, const ClusterSpec &spec) {
  return Status::error(
      StatusCode::InvalidInput, "the host is not known", spec.addressSource,
      name.task.text() + " is at " + inQuotes(spec.find(name.task)->text()) +
          ", and: " + name.why,
      "correct the name, or write its address");
}

std::vector<Status> checkNetwork(const ClusterSpec &spec, Network &network) {
  std::vector<Status> faults;
  auto check = [&](const Task &task, const Address &address,
                   const std::vector<std::string> &literals) {
    if (spec.self && *spec.self == task)
      checkOwnAddress(spec, address, literals, network, faults);
  };
  for (const UnknownName &name : findUnknownNames(spec, network, check))
    faults.push_back(describe(name, spec));
  return faults;
}

/// Those of the spec that a process must know to meet the others.
static ClusterSpec onlyNeeded(const ClusterSpec &spec, bool needsChief) {
  ClusterSpec needed = spec;
  for (const Task &task : spec.tasks())
    if (!(spec.self && *spec.self == task) &&
        !(needsChief && task == spec.chief()))
      needed.of(task.job)[size_t(task.index)] = Address();
  return needed;
}

std::string awaitAnyHost(const std::vector<std::string> &hosts, double seconds,
                         Network &network) {
  const auto begin = std::chrono::steady_clock::now();
  const std::chrono::duration<double> time(seconds);
  for (double pause = kShortestNameWait;;
       pause = std::min(2 * pause, kLongestNameWait)) {
    std::string why;
    for (const std::string &host : hosts)
      if (!network.resolve(host, &why).empty())
        return "";
    if (std::chrono::steady_clock::now() - begin >= time)
      return why;
    std::this_thread::sleep_for(
        std::chrono::duration<double>(std::min(pause, seconds)));
  }
}

std::vector<Status> awaitNetwork(const ClusterSpec &spec, const NameWait &wait,
                                 Network &network) {
  const auto ignore = [](const Task &, const Address &,
                         const std::vector<std::string> &) {};
  const ClusterSpec needed = onlyNeeded(spec, wait.needsChief);
  for (const UnknownName &name : findUnknownNames(spec, network, ignore))
    if (wait.note)
      wait.note("the host of " + name.task.text() + ", " +
                inQuotes(spec.find(name.task)->host) +
                ", is not known yet: " + name.why);
  const auto begin = std::chrono::steady_clock::now();
  const std::chrono::duration<double> time(wait.seconds);
  for (double pause = kShortestNameWait;
       !findUnknownNames(needed, network, ignore).empty() &&
       (wait.seconds == 0 || std::chrono::steady_clock::now() - begin < time);
       pause = std::min(2 * pause, kLongestNameWait)) {
    if (wait.sleep)
      wait.sleep(pause);
    else
      std::this_thread::sleep_for(std::chrono::duration<double>(pause));
  }
  return checkNetwork(needed, network);
}

} // namespace dist::cluster
