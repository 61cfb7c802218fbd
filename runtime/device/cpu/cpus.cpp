//===- cpus.cpp - A process's CPUs, and who computes where ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/cpus.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sched.h>
#include <string>
#include <utility>

namespace dist::cpu {

static std::vector<int> readAffinity() {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set))
        cpus.push_back(cpu);
  if (cpus.empty())
    cpus.push_back(0);
  return cpus;
}

std::vector<int> usableCpus() {
  std::vector<int> cpus = readAffinity();
  // A container's quota: "max 100000", or microseconds of each period.
  if (std::FILE *file = std::fopen("/sys/fs/cgroup/cpu.max", "re")) {
    long long quota = 0, period = 0;
    if (std::fscanf(file, "%lld %lld", &quota, &period) == 2 && quota > 0 &&
        period > 0) {
      size_t count = std::max<long long>(1, (quota + period - 1) / period);
      if (count < cpus.size())
        cpus.resize(count);
    }
    std::fclose(file);
  }
  return cpus;
}

/// A number of a CPU's topology; 0 where the system does not tell.
static int readTopology(int cpu, const char *what) {
  std::string path =
      "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/" + what;
  int number = 0;
  if (std::FILE *file = std::fopen(path.c_str(), "re")) {
    if (std::fscanf(file, "%d", &number) != 1)
      number = 0;
    std::fclose(file);
  }
  return number;
}

bool keepToCpus(int count) {
  if (count >= static_cast<int>(usableCpus().size()))
    return true;
  std::vector<int> cpus = readAffinity();
  // Others that do the same are elsewhere.
  auto here = std::find(cpus.begin(), cpus.end(), sched_getcpu());
  if (here != cpus.end())
    std::rotate(cpus.begin(), here, cpus.end());
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int i = 0; i < count; ++i)
    CPU_SET(cpus[i], &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

std::vector<int> chooseSeats(int threads) {
  std::vector<int> cpus = readAffinity();
  if (threads < 2 || cpus.size() != size_t(threads) ||
      usableCpus().size() != cpus.size())
    return {};
  auto place = [](int cpu) {
    return std::pair(readTopology(cpu, "physical_package_id"),
                     readTopology(cpu, "core_id"));
  };
  std::vector<std::pair<std::pair<int, int>, int>> placed;
  for (int cpu : cpus)
    placed.emplace_back(place(cpu), cpu);
  std::sort(placed.begin(), placed.end());
  std::transform(placed.begin(), placed.end(), cpus.begin(),
                 [](auto &one) { return one.second; });
  return cpus;
}

bool bindTo(int cpu, int thread) {
  if (cpu < 0 || cpu >= CPU_SETSIZE)
    return false;
  cpu_set_t seat;
  CPU_ZERO(&seat);
  CPU_SET(cpu, &seat);
  return sched_setaffinity(thread, sizeof seat, &seat) == 0;
}

cpu_set_t ownCpus() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  sched_getaffinity(0, sizeof cpus, &cpus);
  return cpus;
}

bool moveTo(int cpu, int thread, const cpu_set_t &allowed) {
  if (cpu < 0 || cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &allowed) ||
      !bindTo(cpu, thread))
    return false;
  sched_setaffinity(thread, sizeof allowed, &allowed);
  return true;
}

bool waitsForCpu(int thread) {
  std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
  char text[256] = "";
  if (std::FILE *file = std::fopen(path.c_str(), "re")) {
    text[std::fread(text, 1, sizeof text - 1, file)] = 0;
    std::fclose(file);
  }
  // Its name, in brackets, may have brackets itself.
  const char *behind = std::strrchr(text, ')');
  return behind && std::strncmp(behind, ") R", 3) == 0;
}

bool sitOn(int cpu) {
  return sched_getcpu() == cpu || moveTo(cpu, 0, ownCpus());
}

} // namespace dist::cpu
