//===- queued_device.cpp - A device that works later ----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/cts/queued_device.h"
#include "runtime/core/guard.h"
#include "runtime/core/progress.h"
#include "runtime/device/cpu/team.h"
#include "runtime/device/devices.h"
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace dist::test {
namespace {

using Clock = std::chrono::steady_clock;

/// No address of a process has this bit, on x86-64 or AArch64.
constexpr uintptr_t strange = uintptr_t(1) << 54;

char *disguise(char *address) { return address + strange; }
void *reach(const void *address) {
  auto *bytes = static_cast<char *>(const_cast<void *>(address));
  bool isStrange = (reinterpret_cast<uintptr_t>(bytes) & strange) != 0;
  return isStrange ? bytes - strange : bytes;
}

class QueuedMemory : public Memory {
public:
  char *address() const override {
    return space == MemorySpace::Host ? inner->address()
                                      : disguise(inner->address());
  }
  char *map() const override {
    return space == MemorySpace::Host ? inner->map() : nullptr;
  }
  int64_t size() const override { return inner->size(); }

  MemorySpace space = MemorySpace::Device;
  std::unique_ptr<Memory> inner;
};

class QueuedModule : public Module {
public:
  const Layout &layout(int program) const override {
    return inner->layout(program);
  }
  // Kernels run on the streams' threads.
  bool runsOnOneTeam() const override { return true; }

  const manifest::Manifest *manifest = nullptr;
  std::shared_ptr<const Module> inner;
};

class QueuedEvent : public Event {
public:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    uint64_t recorded = 0, reached = 0;
    Status failure; // of the stream that reached it
  };
  std::shared_ptr<State> state = std::make_shared<State>();
};

class QueuedStream : public Stream {
public:
  QueuedStream(const StreamOptions &options, std::unique_ptr<Stream> inner)
      : module(std::static_pointer_cast<const QueuedModule>(options.module)),
        progress(options.progress), inner(std::move(inner)),
        thread([this] { loop(); }) {}
  ~QueuedStream() override {
    {
      std::lock_guard<std::mutex> lock(mutex);
      stopping = true;
    }
    changed.notify_all();
    thread.join();
  }

  Status launch(dist_rt_kernel kernel, void *const *buffers, int count,
                int64_t n, int32_t chunks) override {
    return push([this, kernel, list = reachAll(buffers, count), n, chunks] {
      return inner->launch(kernel, list.data(), list.size(), n, chunks);
    });
  }
  Status prepareLibrary(int index) override {
    return push([this, index] { return inner->prepareLibrary(index); });
  }
  Status library(int index, void *const *buffers) override {
    int count = module->manifest->kernels(index).memories_size();
    return push([this, index, list = reachAll(buffers, count)] {
      return inner->library(index, list.data());
    });
  }
  std::string libraryName(int index) const override {
    return inner->libraryName(index);
  }
  Status copy(void *to, const void *from, int64_t bytes) override {
    return push([this, to, from, bytes] {
      return inner->copy(reach(to), reach(from), bytes);
    });
  }
  Status call(std::function<Status()> function) override {
    return push(std::move(function), Kind::Call);
  }
  Status record(Event &event) override {
    auto state = static_cast<QueuedEvent &>(event).state;
    uint64_t number = ++state->recorded;
    return push(
        [this, state, number] {
          Status reason;
          {
            std::lock_guard<std::mutex> lock(mutex);
            reason = failure;
          }
          {
            std::lock_guard<std::mutex> lock(state->mutex);
            state->reached = number;
            state->failure = reason;
          }
          state->changed.notify_all();
          return Status();
        },
        Kind::Record);
  }
  Status wait(Event &event) override {
    auto state = static_cast<QueuedEvent &>(event).state;
    return push(
        [this, state, number = state->recorded] {
          std::unique_lock<std::mutex> lock(state->mutex);
          while (state->reached < number && !isStopping())
            state->changed.wait_for(lock, std::chrono::milliseconds(20));
          return state->failure;
        },
        Kind::Call);
  }
  Status finish(double patience) override;

private:
  enum class Kind {
    Work,
    Call,  // ends by itself
    Record // happens after a failure, too
  };
  struct Task {
    std::function<Status()> run;
    Kind kind;
  };

  std::vector<void *> reachAll(void *const *buffers, int count) {
    std::vector<void *> list;
    for (int i = 0; i < count; ++i)
      list.push_back(reach(buffers[i]));
    return list;
  }
  bool isStopping() {
    std::lock_guard<std::mutex> lock(mutex);
    return stopping;
  }
  Status push(std::function<Status()> run, Kind kind = Kind::Work) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      tasks.push_back({std::move(run), kind});
    }
    changed.notify_all();
    return Status();
  }
  void loop();

  std::shared_ptr<const QueuedModule> module;
  Progress *progress;
  std::unique_ptr<Stream> inner;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> tasks; // the first is under way, or next
  Clock::time_point began = Clock::now();
  bool stopping = false;
  Status failure;
  std::thread thread;
};

void QueuedStream::loop() {
  cpu::TeamScope team(module ? module->manifest->threads_per_device() : 1);
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return stopping || !tasks.empty(); });
    if (stopping)
      return;
    Task &task = tasks.front();
    began = Clock::now();
    Status status;
    if (failure.ok() || task.kind == Kind::Record) {
      lock.unlock();
      status = withoutThrowing(task.run);
      if (progress)
        progress->advance();
      lock.lock();
    }
    if (failure.ok())
      failure = std::move(status);
    tasks.pop_front();
    changed.notify_all();
  }
}

Status QueuedStream::finish(double patience) {
  std::unique_lock<std::mutex> lock(mutex);
  while (!tasks.empty()) {
    changed.wait_for(lock, std::chrono::milliseconds(10));
    if (!tasks.empty() && tasks.front().kind == Kind::Work &&
        Clock::now() - began > std::chrono::duration<double>(patience))
      return Status::error(StatusCode::Unavailable, "the device hangs",
                           "the device of a test",
                           "a kernel or copy has not ended for " +
                               std::to_string(patience) + " s");
  }
  return std::exchange(failure, Status());
}

class QueuedDevice : public Device {
public:
  const char *kind() const override { return "cpu"; } // their code runs here
  const char *name() const override { return "the device of a test"; }
  bool isHost() const override { return false; }
  std::vector<std::string> features() const override {
    return inner->features();
  }
  Status allocate(MemorySpace space, int64_t bytes, const char *what,
                  std::unique_ptr<Memory> *out) override {
    auto memory = std::make_unique<QueuedMemory>();
    memory->space = space;
    DIST_RETURN_IF_ERROR(inner->allocate(space, bytes, what, &memory->inner));
    *out = std::move(memory);
    return Status();
  }
  Status load(const manifest::Manifest &manifest,
              std::shared_ptr<const Module> *out) override {
    auto module = std::make_shared<QueuedModule>();
    module->manifest = &manifest;
    DIST_RETURN_IF_ERROR(inner->load(manifest, &module->inner));
    *out = std::move(module);
    return Status();
  }
  Status createStream(const StreamOptions &options,
                      std::unique_ptr<Stream> *out) override {
    StreamOptions below = options;
    if (options.module)
      below.module = static_cast<const QueuedModule &>(*options.module).inner;
    below.library = static_cast<char *>(reach(options.library));
    std::unique_ptr<Stream> stream;
    DIST_RETURN_IF_ERROR(inner->createStream(below, &stream));
    *out = std::make_unique<QueuedStream>(options, std::move(stream));
    return Status();
  }
  Status createEvent(std::unique_ptr<Event> *out) override {
    *out = std::make_unique<QueuedEvent>();
    return Status();
  }

private:
  std::shared_ptr<Device> inner = hostDevice();
};

} // namespace

std::shared_ptr<Device> queuedDevice() {
  return std::make_shared<QueuedDevice>();
}

} // namespace dist::test
