//===- cluster_spec.cpp - Who is in a cluster -------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/cluster_spec.h"
#include "runtime/core/text.h"
#include <algorithm>
#include <arpa/inet.h>
#include <cctype>
#include <cstring>
#include <map>

namespace dist::cluster {

static constexpr size_t kLongestQuote = 80;

const std::vector<std::string> &jobNames() {
  static const std::vector<std::string> names = {"chief", "worker", "ps",
                                                 "evaluator"};
  return names;
}

const char *nameOf(Job job) { return jobNames()[size_t(job)].c_str(); }

std::optional<Job> findJob(const std::string &name) {
  for (size_t i = 0; i < jobNames().size(); ++i)
    if (jobNames()[i] == name)
      return Job(i);
  return std::nullopt;
}

std::string inQuotes(const std::string &text) {
  std::string shown = "'";
  for (char c : text.substr(0, kLongestQuote))
    shown += std::iscntrl(static_cast<unsigned char>(c)) ||
                     static_cast<unsigned char>(c) >= 0x80
                 ? '?'
                 : c;
  return shown + (text.size() > kLongestQuote ? "...'" : "'");
}

std::string Address::text() const {
  bool isV6 = host.find(':') != std::string::npos;
  return (isV6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

const char *SharedStore::scheme() const {
  return isCoordinator ? kCoordinatorScheme
         : isEncrypted ? kEtcdTlsScheme
                       : kEtcdScheme;
}

std::string SharedStore::text() const {
  std::string text;
  for (const Address &address : addresses)
    text += (text.empty() ? scheme() : ",") + address.text();
  return text;
}

std::optional<AddressFault> parseStore(const std::string &text,
                                       SharedStore *store) {
  *store = {};
  store->isCoordinator = startsWith(text, kCoordinatorScheme);
  store->isEncrypted = startsWith(text, kEtcdTlsScheme);
  if (!startsWith(text, store->scheme()))
    return AddressFault{text + " is none", ""};
  const size_t first = std::string(store->scheme()).size();
  for (size_t from = first, to = 0; to < text.size(); from = to + 1) {
    to = std::min(text.find(',', from), text.size());
    Address address;
    if (auto fault = parseAddress(text.substr(from, to - from), &address))
      return AddressFault{text + ": " + fault->why, fault->todo};
    store->addresses.push_back(address);
  }
  if (store->isCoordinator && store->addresses.size() > 1)
    return AddressFault{text + ": there is one coordinator",
                        "give one address; of an etcd there may be more"};
  return std::nullopt;
}

std::string canonicalHost(const std::string &host) {
  in6_addr v6;
  char text[INET6_ADDRSTRLEN];
  if (inet_pton(AF_INET6, host.c_str(), &v6) == 1 &&
      inet_ntop(AF_INET6, &v6, text, sizeof text))
    return text;
  std::string small = host;
  for (char &c : small)
    c = char(std::tolower(static_cast<unsigned char>(c)));
  if (!small.empty() && small.back() == '.')
    small.pop_back(); // the root of names
  return small;
}

bool isLoopback(const std::string &host) {
  std::string name = canonicalHost(host);
  in_addr v4;
  if (inet_pton(AF_INET, name.c_str(), &v4) == 1)
    return ntohl(v4.s_addr) >> 24 == 127;
  return name == "localhost" || name == "::1";
}

static bool isV4(const std::string &host) {
  in_addr v4;
  return inet_pton(AF_INET, host.c_str(), &v4) == 1;
}

/// A link-local address names its interface behind a %.
static bool isV6(const std::string &host) {
  // The system's functions read up to a zero, and no interface's name.
  for (char c : host)
    if (!std::isalnum(static_cast<unsigned char>(c)) &&
        !std::strchr(":.%-_", c))
      return false;
  in6_addr v6;
  return host.find('\0') == std::string::npos &&
         inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), &v6) == 1;
}

static std::optional<AddressFault> checkHost(const std::string &host,
                                             bool brackets) {
  if (host.empty())
    return AddressFault{"it has no host", "write HOST:PORT"};
  if (brackets) {
    if (!isV6(host))
      return AddressFault{inQuotes(host) + " is no IPv6 address",
                          "write [ADDRESS]:PORT"};
    if (canonicalHost(host) == "::")
      return AddressFault{"it is a wildcard, which no task can connect to",
                          "write the host's address"};
    return std::nullopt;
  }
  if (host.size() > 253)
    return AddressFault{"the host's name has more than 253 characters",
                        "write HOST:PORT"};
  for (char c : host)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.' &&
        c != '_')
      return AddressFault{"no host's name has " + inQuotes(std::string(1, c)),
                          "write HOST:PORT, without a scheme or a path"};
  bool isNumeric = host.find_first_not_of("0123456789.") == std::string::npos;
  if (isNumeric && !isV4(host))
    return AddressFault{inQuotes(host) + " is no IPv4 address",
                        "write A.B.C.D:PORT, each at most 255"};
  if (host == "0.0.0.0")
    return AddressFault{"it is a wildcard, which no task can connect to",
                        "write the host's address"};
  return std::nullopt;
}

std::optional<AddressFault> parseAddress(const std::string &text,
                                         Address *address) {
  if (text.find("://") != std::string::npos)
    return AddressFault{"it begins with a scheme", "write HOST:PORT"};
  std::string host, port;
  bool brackets = !text.empty() && text[0] == '[';
  if (brackets) {
    size_t end = text.find(']');
    if (end == std::string::npos)
      return AddressFault{"the [ is not closed", "write [ADDRESS]:PORT"};
    host = text.substr(1, end - 1);
    if (end + 1 >= text.size() || text[end + 1] != ':')
      return AddressFault{"it has no port", "write [ADDRESS]:PORT"};
    port = text.substr(end + 2);
  } else {
    size_t colon = text.rfind(':');
    if (colon == std::string::npos)
      return AddressFault{"it has no port", "write HOST:PORT"};
    host = text.substr(0, colon);
    if (host.find(':') != std::string::npos)
      return AddressFault{"an IPv6 address stands in brackets",
                          "write [ADDRESS]:PORT"};
    port = text.substr(colon + 1);
  }
  if (auto fault = checkHost(host, brackets))
    return fault;
  if (port.empty() || port.find_first_not_of("0123456789") != std::string::npos)
    return AddressFault{"the port " + inQuotes(port) + " is no number",
                        "give one of 1 to 65535"};
  if (port.size() > 5 || std::stoi(port) > 65535 || std::stoi(port) == 0)
    return AddressFault{"the port " + inQuotes(port) + " is out of range",
                        "give one of 1 to 65535"};
  address->host = host;
  address->port = std::stoi(port);
  return std::nullopt;
}

std::vector<Task> ClusterSpec::tasks() const {
  std::vector<Task> all;
  for (Job job : {Job::Chief, Job::Worker, Job::Ps})
    for (size_t i = 0; i < of(job).size(); ++i)
      all.push_back({job, int(i)});
  return all;
}

const Address *ClusterSpec::find(const Task &task) const {
  if (task.job == Job::Evaluator || task.index < 0 ||
      size_t(task.index) >= of(task.job).size())
    return nullptr;
  return &of(task.job)[size_t(task.index)];
}

std::vector<Task> ClusterSpec::trainers() const {
  std::vector<Task> all = tasks();
  // With parameter servers the chief only coordinates.
  bool coordinates = !of(Job::Ps).empty();
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](const Task &task) {
                             return task.job == Job::Ps ||
                                    (task.job == Job::Chief && coordinates);
                           }),
            all.end());
  return all;
}

Task ClusterSpec::chief() const {
  return of(Job::Chief).empty() ? Task{Job::Worker, 0} : Task{Job::Chief, 0};
}

static Status fault(const std::string &what, const std::string &where,
                    const std::string &why, const std::string &todo) {
  return Status::error(StatusCode::InvalidInput, what, where, why, todo);
}

/// Who must be there.
static void checkJobs(const ClusterSpec &spec, std::vector<Status> &faults) {
  const std::string &where = spec.addressSource;
  size_t chiefs = spec.of(Job::Chief).size();
  if (spec.tasks().empty()) {
    faults.push_back(fault("the cluster is empty", where, "it names no task",
                           "list the workers' addresses"));
    return;
  }
  if (chiefs > 1)
    faults.push_back(
        fault("the cluster has " + std::to_string(chiefs) + " chiefs", where,
              "one task saves and writes summaries",
              "make all but one of them workers"));
  if (!spec.of(Job::Ps).empty()) {
    if (chiefs == 0)
      faults.push_back(
          fault("the cluster has no chief", where,
                "parameter servers and their workers are told what to do by it",
                "add \"chief\": [\"HOST:PORT\"]"));
    if (spec.of(Job::Worker).empty())
      faults.push_back(fault("the cluster has no worker", where,
                             "a chief with parameter servers computes nothing",
                             "add \"worker\": [\"HOST:PORT\", ...]"));
  }
}

static void checkSelf(const ClusterSpec &spec, std::vector<Status> &faults) {
  // An evaluator reads checkpoints only: the cluster does not list it.
  if (!spec.self || spec.self->job == Job::Evaluator || spec.tasks().empty())
    return;
  const Task &self = *spec.self;
  if (spec.find(self))
    return;
  size_t count = spec.of(self.job).size();
  std::string name = nameOf(self.job);
  if (count == 0) {
    std::string jobs;
    for (Job job : {Job::Chief, Job::Worker, Job::Ps})
      if (!spec.of(job).empty())
        jobs += (jobs.empty() ? "" : ", ") + std::string(nameOf(job));
    faults.push_back(
        fault("this process is no task of the cluster", spec.selfSource,
              "it is a " + name + ", and there is none; it has " + jobs,
              "correct the type, or list its address"));
    return;
  }
  faults.push_back(fault(
      "the task's index is out of range", spec.selfSource,
      self.text() + " was asked for, and there " +
          (count == 1 ? "is 1 " + name
                      : "are " + std::to_string(count) + " " + name + "s"),
      "give 0" +
          (count == 1 ? std::string() : " to " + std::to_string(count - 1))));
}

/// Two tasks at one place, or places that cannot reach each other.
static void checkAddresses(const ClusterSpec &spec,
                           std::vector<Status> &faults) {
  std::map<std::string, Task> taken;
  std::optional<Task> local, remote;
  for (const Task &task : spec.tasks()) {
    const Address &address = *spec.find(task);
    if (address.host.empty())
      continue;
    (isLoopback(address.host) ? local : remote) = task;
    if (address.port == 0)
      continue;
    Address one{canonicalHost(address.host), address.port};
    auto [known, isNew] = taken.emplace(one.text(), task);
    if (!isNew)
      faults.push_back(fault("two tasks have one address", spec.addressSource,
                             known->second.text() + " and " + task.text() +
                                 " are both at " + address.text(),
                             "give each a port of its own"));
  }
  if (local && remote)
    faults.push_back(
        fault("a loopback address stands beside others", spec.addressSource,
              local->text() + " is at " + spec.find(*local)->text() +
                  ", which " + remote->text() + " at " +
                  spec.find(*remote)->text() + " cannot reach",
              "write the host's address in the network"));
}

Status findMember(const ClusterSpec &spec, int *place) {
  std::vector<Task> tasks = spec.tasks();
  auto found = spec.self ? std::find(tasks.begin(), tasks.end(), *spec.self)
                         : tasks.end();
  if (found == tasks.end())
    return Status::error(
        StatusCode::InvalidInput, "this process is none of those that train",
        spec.selfSource,
        spec.self ? "it is " + spec.self->text() : "nothing says which it is",
        "start it as one of the workers");
  *place = int(found - tasks.begin());
  return Status();
}

std::vector<Status> validate(const ClusterSpec &spec) {
  std::vector<Status> faults;
  checkJobs(spec, faults);
  checkSelf(spec, faults);
  checkAddresses(spec, faults);
  return faults;
}

} // namespace dist::cluster
