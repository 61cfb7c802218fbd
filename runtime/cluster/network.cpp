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
#include <cstring>
#include <ifaddrs.h>
#include <netdb.h>
#include <set>
#include <sys/socket.h>
#include <unistd.h>

namespace dist::cluster {

/// A name server that is away costs seconds a name.
static constexpr size_t kMostUnresolved = 3;

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

std::string listenLiteral(const std::string &host) {
  SystemNetwork network;
  std::string why;
  for (const std::string &literal : network.resolve(host, &why))
    if (!isLoopback(literal) || isLoopback(host))
      return literal;
  return "0.0.0.0";
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

std::vector<Status> checkNetwork(const ClusterSpec &spec, Network &network) {
  std::vector<Status> faults;
  std::set<std::string> asked;
  size_t unresolved = 0;
  for (const Task &task : spec.tasks()) {
    const Address &address = *spec.find(task);
    bool isSelf = spec.self && *spec.self == task;
    if (address.host.empty() ||
        (!asked.insert(canonicalHost(address.host)).second && !isSelf))
      continue;
    if (unresolved == kMostUnresolved)
      break;
    std::string why;
    std::vector<std::string> literals = network.resolve(address.host, &why);
    if (literals.empty()) {
      ++unresolved;
      faults.push_back(Status::error(
          StatusCode::InvalidInput, "the host is not known", spec.addressSource,
          task.text() + " is at " + inQuotes(address.text()) + ", and: " + why,
          "correct the name, or write its address"));
      continue;
    }
    if (isSelf)
      checkOwnAddress(spec, address, literals, network, faults);
  }
  return faults;
}

} // namespace dist::cluster
