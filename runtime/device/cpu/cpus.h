//===- cpus.h - A process's CPUs, and who computes where -------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads that wait for each other within microseconds wait awake. Where other
// programs want the CPUs, too, the system may put two of them on one, where
// the one that waits takes the time of the one it waits for, at every kernel,
// and leave them there for long. So each has a seat: a CPU that it goes to when
// it finds itself elsewhere. It is not bound to it, so that the system can move
// it.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DEVICE_CPU_CPUS_H
#define RUNTIME_DEVICE_CPU_CPUS_H

#include <sched.h>
#include <vector>

namespace dist::cpu {

/// Numbers of the CPUs this process may use: its affinity, cut down to its
/// cgroup's quota.
std::vector<int> usableCpus();

/// Keeps the calling thread, and those that it starts from now on, to the first
/// `count` of them: threads that are more share them. False: the system
/// refuses.
bool keepToCpus(int count);

/// A CPU for each of `threads` threads, those of one package and core next to
/// each other. None where they are not as many as the process's CPUs: beside
/// fewer there may be another program's, that would choose the same; under a
/// quota no CPU is the process's own.
std::vector<int> chooseSeats(int threads);

/// Moves the calling thread to a CPU, if it is on another. False: it may not
/// run there.
bool sitOn(int cpu);

/// The CPUs that the calling thread may run on.
cpu_set_t ownCpus();

/// Moves a thread of the process (its id; 0: the calling one) to a CPU, which
/// it may leave again for any of `allowed`: the CPUs it may run on. What the
/// system tells of another thread may be one CPU only: that of a move which
/// ends when the thread next runs. False: it may not run there, or is no more.
bool moveTo(int cpu, int thread, const cpu_set_t &allowed);

/// Whether a thread of the process would run if it had a CPU.
bool waitsForCpu(int thread);

/// Lets a thread of the process (its id; 0: the calling one) run on one CPU
/// only. False: the system refuses.
bool bindTo(int cpu, int thread = 0);

} // namespace dist::cpu

#endif // RUNTIME_DEVICE_CPU_CPUS_H
