//===- cluster_fixture.h - What tests of clusters share ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_CLUSTER_CLUSTER_FIXTURE_H
#define TEST_RUNTIME_CLUSTER_CLUSTER_FIXTURE_H

#include "runtime/cluster/detect.h"
#include "runtime/cluster/json_config.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

namespace dist::cluster {

/// What each of `who` does, all at once; none may fail.
inline void atOnce(const std::vector<int> &who,
                   const std::function<Status(int)> &what) {
  std::vector<std::thread> threads;
  for (int i : who)
    threads.emplace_back([&, i] {
      Status status = what(i);
      EXPECT_TRUE(status.ok()) << i << ": " << status.message();
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// All messages, one a line.
inline std::string messagesOf(const std::vector<Status> &faults) {
  std::string text;
  for (const Status &fault : faults)
    text += fault.message() + "\n";
  return text;
}

/// A cluster as `worker 0 host:port` lines, its own task with a star.
inline std::string textOf(const ClusterSpec &spec) {
  std::string text;
  for (const Task &task : spec.tasks())
    text += (spec.self && *spec.self == task ? "*" : "") + task.text() + " " +
            spec.find(task)->text() + "\n";
  return text;
}

/// Parses and validates, as the tools do.
inline std::vector<Status> readJson(const std::string &text,
                                    ClusterSpec *spec) {
  ClusterRequest request;
  request.source = text;
  request.textName = "TF_CONFIG";
  Detection detection;
  std::vector<Status> faults = detectCluster(request, {}, &detection);
  *spec = *detection.spec;
  return faults;
}

inline std::string faultsOfJson(const std::string &text) {
  ClusterSpec spec;
  return messagesOf(readJson(text, &spec));
}

} // namespace dist::cluster

#endif // TEST_RUNTIME_CLUSTER_CLUSTER_FIXTURE_H
