//===- device.h - What programs run on --------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The core knows of devices what stands here, and includes none of them. All
// work goes to a stream, which does it in the order in which it came: the calls
// return at once, `finish` alone waits and tells what failed. The CPU's stream
// does each call before it returns, so that nothing is queued or copied there.
//
// The host may be unable to reach a device's memory. An address then is a
// number for streams, for kernels and for sums of it with offsets.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DEVICE_DEVICE_H
#define RUNTIME_DEVICE_DEVICE_H

#include "runtime/abi/abi.h"
#include "runtime/core/manifest.pb.h"
#include "runtime/core/status.h"
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dist {

class Progress;

/// Where memory is.
enum class MemorySpace {
  /// The device's own: what kernels read and write.
  Device = DIST_RT_DEVICE_MEMORY,
  /// The host's, of which streams copy to and from the device.
  Host = DIST_RT_HOST_MEMORY
};

/// An allocation, zero at first.
class Memory {
public:
  virtual ~Memory() = default;
  /// For streams and kernels; a multiple of bufferAlignment, also when empty.
  virtual char *address() const = 0;
  /// For the host; null where it cannot reach it.
  virtual char *map() const = 0;
  virtual int64_t size() const = 0;
};

/// A point in a stream's work.
class Event {
public:
  virtual ~Event() = default;
};

/// The kernels of a package's that are no code of its own but the device's
/// library's, as they are on this machine.
class Module {
public:
  /// What the library lays out for each device of a program, in one block:
  /// where prepared buffers begin, by the name of their binding, and the slots
  /// of entries. The room that its kernels compute in is part of it.
  struct Layout {
    std::map<std::string, int64_t> prepared;
    std::vector<int64_t> slots;
    int64_t bytes = 0;
  };

  virtual ~Module() = default;
  virtual const Layout &layout(int program) const = 0;
  /// Whether the threads that run a rank's loops are all that it needs: the
  /// library wants none of its own.
  virtual bool runsOnOneTeam() const = 0;
};

struct StreamOptions {
  /// Whose kernels it runs, and for which program's devices.
  std::shared_ptr<const Module> module;
  int program = 0;
  /// The address of the library's block, of the layout's size.
  char *library = nullptr;
  /// Of the rank that the stream works for: a stream with a thread of its own
  /// shows here that it moves. Null: nobody asks.
  Progress *progress = nullptr;
};

/// Work in order. One thread at a time enqueues. After a failure it leaves out
/// what comes behind it, until `finish` tells of it.
class Stream {
public:
  virtual ~Stream() = default;

  /// kernel(buffers, lo, hi, chunk) over [0, n) in `chunks` ranges: see
  /// entrypoints.def.
  virtual Status launch(dist_rt_kernel kernel, void *const *buffers, int count,
                        int64_t n, int32_t chunks) = 0;
  /// Makes kernel `index` of the manifest, which its first run would do else.
  virtual Status prepareLibrary(int index) = 0;
  /// Runs it on the addresses of its memories.
  virtual Status library(int index, void *const *buffers) = 0;
  /// The library's name of a kernel that is made; for traces.
  virtual std::string libraryName(int index) const = 0;
  /// Between any two of device and host memory; of the latter, any that stays
  /// there until it is done.
  virtual Status copy(void *to, const void *from, int64_t bytes) = 0;
  /// Calls a function on the host.
  virtual Status call(std::function<Status()> function) = 0;
  /// The event stands for what was enqueued before, until it is recorded again;
  /// what comes behind a wait is done after that. If it failed, who waits fails
  /// of the same. Both streams and the event are of one device.
  virtual Status record(Event &event) = 0;
  virtual Status wait(Event &event) = 0;
  /// Returns when all is done: the first failure since the last call. An error,
  /// too, when no kernel or copy ended for `patience` seconds; functions of the
  /// host end by themselves. Then it can only be destroyed.
  virtual Status finish(double patience) = 0;
};

class Device {
public:
  virtual ~Device() = default;
  /// For which programs are compiled: "cpu".
  virtual const char *kind() const = 0;
  /// In messages: "the CPU".
  virtual const char *name() const = 0;
  /// Whether the host reaches all of its memory and its streams do each call
  /// before it returns: then nothing has to be copied, or waited for.
  virtual bool isHost() const = 0;
  /// What code may use here, by LLVM's names.
  virtual std::vector<std::string> features() const = 0;

  /// `what` it is for, in the error if there is none to be had.
  virtual Status allocate(MemorySpace space, int64_t bytes, const char *what,
                          std::unique_ptr<Memory> *out) = 0;
  /// An error where the library has no such kernel. The manifest stays as long
  /// as the module.
  virtual Status load(const manifest::Manifest &manifest,
                      std::shared_ptr<const Module> *out) = 0;
  virtual Status createStream(const StreamOptions &options,
                              std::unique_ptr<Stream> *out) = 0;
  virtual Status createEvent(std::unique_ptr<Event> *out) = 0;
};

} // namespace dist

#endif // RUNTIME_DEVICE_DEVICE_H
