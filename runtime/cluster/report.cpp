//===- report.cpp - A cluster as a table ------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/report.h"
#include <algorithm>

namespace dist::cluster {

namespace {
struct Row {
  std::string mark, task, address, ranks, duty;
};
} // namespace

static std::string counted(size_t count, const std::string &name) {
  return std::to_string(count) + " " + name + (count == 1 ? "" : "s");
}

static std::string dutyOf(const ClusterSpec &spec, const Task &task) {
  bool hasServers = !spec.of(Job::Ps).empty();
  if (task.job == Job::Ps)
    return "holds variables";
  if (task.job == Job::Chief && hasServers)
    return "coordinates, saves and writes summaries";
  if (task == spec.chief())
    return "trains, saves and writes summaries";
  return "trains";
}

static std::vector<Row> makeRows(const ClusterSpec &spec, int devices) {
  std::vector<Row> rows = {{" ", "task", "address", "ranks", "what it does"}};
  std::vector<Task> trainers = spec.trainers();
  for (const Task &task : spec.tasks()) {
    const Address &address = *spec.find(task);
    auto place = std::find(trainers.begin(), trainers.end(), task);
    std::string ranks;
    if (place != trainers.end()) {
      int first = int(place - trainers.begin()) * devices;
      ranks = std::to_string(first);
      if (devices > 1)
        ranks += "-" + std::to_string(first + devices - 1);
    }
    rows.push_back({spec.self && *spec.self == task ? "*" : " ", task.text(),
                    address.host.empty() ? "told when it joins"
                    : address.port == 0  ? address.host + ", a free port"
                                         : address.text(),
                    ranks, dutyOf(spec, task)});
  }
  return rows;
}

std::string formatCluster(const ClusterSpec &spec, int devices,
                          const std::string &devicesSource) {
  std::string text;
  std::vector<Row> rows = makeRows(spec, devices);
  size_t task = 0, address = 0, ranks = 0;
  for (const Row &row : rows) {
    task = std::max(task, row.task.size());
    address = std::max(address, row.address.size());
    ranks = std::max(ranks, row.ranks.size());
  }
  auto pad = [](std::string cell, size_t width) {
    cell.resize(std::max(width, cell.size()), ' ');
    return cell + "  ";
  };
  for (const Row &row : rows)
    text += row.mark + " " + pad(row.task, task) + pad(row.address, address) +
            pad(row.ranks, ranks) + row.duty + "\n";
  text += "addresses: from " + spec.addressSource + "\n";
  if (spec.self) {
    text += "this process: " + spec.self->text() + ", from " + spec.selfSource;
    if (spec.self->job == Job::Evaluator)
      text += "; outside of the cluster, it evaluates the saved states";
    text += "\n";
  }
  size_t workers = spec.trainers().size();
  std::string times = counted(workers, "worker") + " x " +
                      counted(size_t(devices), "device") + " (" +
                      devicesSource + ")";
  if (spec.of(Job::Ps).empty())
    text += "replicas in sync: " + times + " = " +
            std::to_string(workers * size_t(devices)) +
            "; chief: " + spec.chief().text() + "\n";
  else
    text += "replicas in sync: " + std::to_string(devices) +
            " a worker, workers do not wait for each other; " + times +
            "; variables on " + counted(spec.of(Job::Ps).size(), "server") +
            "\n";
  return text;
}

} // namespace dist::cluster
