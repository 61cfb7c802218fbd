//===- device.cpp - This machine's CPUs as a device -----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stream is the thread that calls it, with its team (team.h).
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/memory.h"
#include "runtime/device/cpu/features.h"
#include "runtime/device/cpu/library_code.h"
#include "runtime/device/cpu/library_memory.h"
#include "runtime/device/cpu/library_parts.h"
#include "runtime/device/cpu/team.h"
#include "runtime/device/devices.h"
#include <algorithm>
#include <cstring>
#include <iterator>

namespace dist {
namespace cpu {
namespace {

class CpuMemory : public Memory {
public:
  char *address() const override { return block.data(); }
  char *map() const override { return block.data(); }
  int64_t size() const override { return block.size(); }

  Block block;
};

class CpuModule : public Module {
public:
  const Layout &layout(int program) const override { return layouts[program]; }
  bool runsOnOneTeam() const override {
    return cpu::runsOnOneTeam(manifest.kernels(),
                              manifest.threads_per_device());
  }

  explicit CpuModule(const manifest::Manifest &manifest) : manifest(manifest) {}
  const manifest::Manifest &manifest;
  LibraryMemory library;
  std::vector<Layout> layouts; // as the manifest's programs
};

/// All is done when a call returns: there is nothing to wait for.
class CpuEvent : public Event {};

class CpuStream : public Stream {
public:
  explicit CpuStream(const StreamOptions &options)
      : module(std::static_pointer_cast<const CpuModule>(options.module)) {
    if (!module)
      return;
    const LibraryBlock &block = module->library.block(options.program);
    scratchpad = options.library + block.scratchpad;
    scratchpadBytes = block.scratchpadBytes;
    kernels.resize(module->manifest.kernels_size());
  }

  Status launch(dist_rt_kernel kernel, void *const *buffers, int, int64_t n,
                int32_t chunks) override {
    parallelFor(kernel, const_cast<void **>(buffers), n, chunks);
    return Status();
  }
  Status prepareLibrary(int index) override {
    return kernels[index] ? Status() : create(index);
  }
  Status library(int index, void *const *buffers) override;
  std::string libraryName(int index) const override {
    return kernels[index]->implementation();
  }
  Status copy(void *to, const void *from, int64_t bytes) override {
    if (bytes > 0) // what is empty may be at no address
      std::memcpy(to, from, bytes);
    return Status();
  }
  Status call(std::function<Status()> function) override { return function(); }
  Status record(Event &) override { return Status(); }
  Status wait(Event &) override { return Status(); }
  Status finish(double) override {
    if (madeKernels)
      releaseLibraryCode();
    madeKernels = false;
    return Status();
  }

private:
  Status create(int index);

  std::shared_ptr<const CpuModule> module;
  char *scratchpad = nullptr;
  int64_t scratchpadBytes = 0;
  /// Made at first use, on the thread whose team runs them.
  std::vector<std::unique_ptr<LibraryKernel>> kernels;
  bool madeKernels = false; // since the last finish
};

class CpuDevice : public Device {
public:
  const char *kind() const override { return "cpu"; }
  const char *name() const override { return "the CPU"; }
  bool isHost() const override { return true; }
  std::vector<std::string> features() const override { return hostFeatures(); }

  Status allocate(MemorySpace, int64_t bytes, const char *what,
                  std::unique_ptr<Memory> *out) override {
    auto memory = std::make_unique<CpuMemory>();
    DIST_RETURN_IF_ERROR(memory->block.allocate(bytes, what));
    *out = std::move(memory);
    return Status();
  }
  Status load(const manifest::Manifest &manifest,
              std::shared_ptr<const Module> *out) override;
  Status createStream(const StreamOptions &options,
                      std::unique_ptr<Stream> *out) override {
    *out = std::make_unique<CpuStream>(options);
    return Status();
  }
  Status createEvent(std::unique_ptr<Event> *out) override {
    *out = std::make_unique<CpuEvent>();
    return Status();
  }
};

} // namespace

Status CpuStream::create(int index) {
  auto &instance = kernels[index];
  madeKernels = true;
  DIST_RETURN_IF_ERROR(
      LibraryKernel::create(module->manifest.kernels(), index,
                            module->manifest.threads_per_device(), &instance));
  if (instance->scratchpadBytes() <= scratchpadBytes)
    return Status();
  // The library says another thing than when the package was loaded.
  Status status =
      Status::error(StatusCode::Internal, "a library kernel has grown",
                    instance->implementation(),
                    "it needs " + std::to_string(instance->scratchpadBytes()) +
                        " bytes of scratchpad, and the device has " +
                        std::to_string(scratchpadBytes));
  instance.reset();
  return status;
}

Status CpuStream::library(int index, void *const *buffers) {
  DIST_RETURN_IF_ERROR(prepareLibrary(index));
  // The program's buffers, and the room that they all compute in.
  void *all[8];
  int count = module->manifest.kernels(index).memories_size();
  if (count >= static_cast<int>(std::size(all)))
    return Status::error(StatusCode::Internal,
                         "a library kernel of too many buffers");
  std::copy_n(buffers, count, all);
  all[count] = scratchpad;
  return kernels[index]->run(all);
}

Status CpuDevice::load(const manifest::Manifest &manifest,
                       std::shared_ptr<const Module> *out) {
  auto module = std::make_shared<CpuModule>(manifest);
  DIST_RETURN_IF_ERROR(LibraryMemory::create(manifest, &module->library));
  releaseLibraryCode();
  for (int program = 0; program < manifest.programs_size(); ++program) {
    const LibraryBlock &block = module->library.block(program);
    module->layouts.push_back({block.prepared, block.slots, block.bytes()});
  }
  *out = std::move(module);
  return Status();
}

} // namespace cpu

std::shared_ptr<Device> hostDevice() {
  return std::make_shared<cpu::CpuDevice>();
}

} // namespace dist
