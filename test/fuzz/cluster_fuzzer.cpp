//===- cluster_fuzzer.cpp - libFuzzer target of cluster texts ---*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/detect.h"
#include "runtime/cluster/host_list.h"
#include <cstdint>
#include <cstdlib>
#include <string>

/// The text is TF_CONFIG, Slurm's list of hosts and counts, mpirun's address
/// and a pod's name at once. What is said is one line a fault, without control
/// characters.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace dist::cluster;
  std::string text(reinterpret_cast<const char *>(data), size);
  const Variables environments[] = {
      {{"TF_CONFIG", text}},
      {{"SLURM_JOB_ID", "7"},
       {"SLURM_STEP_NODELIST", text},
       {"SLURM_STEP_NUM_TASKS", "2"},
       {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
       {"SLURM_PROCID", "1"}},
      {{"SLURM_JOB_ID", text},
       {"SLURM_STEP_NODELIST", "a"},
       {"SLURM_STEP_NUM_TASKS", text},
       {"SLURM_STEP_TASKS_PER_NODE", text},
       {"SLURM_PROCID", "0"}},
      {{"OMPI_COMM_WORLD_SIZE", "3"},
       {"OMPI_COMM_WORLD_RANK", "0"},
       {"OMPI_MCA_orte_hnp_uri", text}},
      {{"OMPI_COMM_WORLD_SIZE", "3"},
       {"OMPI_COMM_WORLD_RANK", "0"},
       {"PMIX_NAMESPACE", text}},
      {{"JOB_COMPLETION_INDEX", "0"},
       {"DIST_WORKERS", "2"},
       {"HOSTNAME", text},
       {"DIST_SERVICE", text}},
  };
  for (const Variables &variables : environments) {
    Detection detection;
    for (const dist::Status &fault : detectCluster({}, variables, &detection))
      for (char c : fault.message())
        if (c < 0x20 || c == 0x7f)
          abort();
  }
  return 0;
}
