//===- cluster_spec.h - Who is in a cluster ---------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What one process knows of its cluster before it has spoken to anyone: the
// tasks with their addresses, which of them it is, and where each of these
// facts came from, so that an error or a table can name the place to look at.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_CLUSTER_SPEC_H
#define RUNTIME_CLUSTER_CLUSTER_SPEC_H

#include "runtime/core/status.h"
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace dist::cluster {

/// Kinds of tasks, in the order of their ranks. Parameter servers and
/// evaluators have no rank; evaluators are no part of the cluster.
enum class Job { Chief, Worker, Ps, Evaluator };

/// As TF_CONFIG writes it.
const char *nameOf(Job job);
std::optional<Job> findJob(const std::string &name);
/// Of all jobs, for messages.
const std::vector<std::string> &jobNames();

struct Address {
  /// A name, IPv4 or IPv6 literal without brackets; empty: the task tells it
  /// when it joins.
  std::string host;
  /// 0: chosen when the task starts.
  int port = 0;

  /// `host:port`, IPv6 literals in brackets.
  std::string text() const;
};

/// Ports that a job's processes may listen at beside those of their addresses.
struct PortRange {
  int first = 0, last = 0; // 0: any

  std::string text() const { // 23000:23999
    return std::to_string(first) + ":" + std::to_string(last);
  }
};

/// A store in which the processes of jobs meet, and that none of them serves.
struct SharedStore {
  /// Each will do; none: the chief serves a store of its own.
  std::vector<Address> addresses;
  /// A dist-run coordinator serves it, not an etcd.
  bool isCoordinator = false;
  /// An etcd by TLS: the authorities whose certificates it may show, and what
  /// is shown to it, which may be nothing; in PEM.
  bool isEncrypted = false;
  std::string authority, certificate, key;

  explicit operator bool() const { return !addresses.empty(); }
  const char *scheme() const;
  std::string text() const; // etcd://10.0.0.1:2379,10.0.0.2:2379
};
inline constexpr char kEtcdScheme[] = "etcd://";
inline constexpr char kEtcdTlsScheme[] = "etcds://";
inline constexpr char kCoordinatorScheme[] = "coordinator://";

/// Parses `host:port`. `why` and `todo` of a failure; empty on success.
struct AddressFault {
  std::string why, todo;
};
std::optional<AddressFault> parseAddress(const std::string &text,
                                         Address *address);

/// Parses one of these forms; where it is none of them, there is no `todo`.
inline constexpr char kStoreForms[] =
    "coordinator://HOST:PORT of a dist-run coordinator, or etcd://HOST:PORT, "
    "more of them by commas; etcds:// is reached by TLS";
std::optional<AddressFault> parseStore(const std::string &text,
                                       SharedStore *store);

/// The same host in one form: small letters, IPv6 as inet_ntop writes it.
std::string canonicalHost(const std::string &host);
bool isLoopback(const std::string &host);

struct Task {
  Job job = Job::Worker;
  int index = 0;

  std::string text() const { // worker 1
    return std::string(nameOf(job)) + " " + std::to_string(index);
  }
  bool operator==(const Task &other) const {
    return job == other.job && index == other.index;
  }
};

struct ClusterSpec {
  /// Addresses by index, for each job but the evaluator.
  std::array<std::vector<Address>, 3> addresses;
  /// Who this process is; none when a file does not say.
  std::optional<Task> self;
  /// Devices of each worker, all alike; 0: not said.
  int devices = 0;

  /// Where the addresses, the task and the devices are from: TF_CONFIG, a file,
  /// names of variables.
  std::string addressSource, selfSource, devicesSource;
  /// What the user should know and that is no fault.
  std::vector<std::string> notes;

  std::vector<Address> &of(Job job) { return addresses[size_t(job)]; }
  const std::vector<Address> &of(Job job) const {
    return addresses[size_t(job)];
  }
  /// Tasks in the order of jobs and indices.
  std::vector<Task> tasks() const;
  const Address *find(const Task &task) const;
  /// Chief and workers: those that train in step, in the order of their ranks.
  std::vector<Task> trainers() const;
  /// Who saves and writes summaries: the chief, else worker 0.
  Task chief() const;
};

/// The place of `spec.self` among the tasks; an error if it is none of them.
Status findMember(const ClusterSpec &spec, int *place);

/// What is wrong with the cluster as a whole: its jobs and their counts, tasks
/// without a place, addresses that two tasks have. Says all of it, each with
/// the place it is from. Asks no network.
std::vector<Status> validate(const ClusterSpec &spec);

/// Text of users and files in a message: in quotes, without control characters,
/// shortened.
std::string inQuotes(const std::string &text);

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_CLUSTER_SPEC_H
