//===- session.h - A loaded program on its devices -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A session maps a program package, owns the device threads, their arenas and
// variables, and runs entries on all of its process's ranks at once. The
// trainer (runtime/train) and the C API are built on it. Not thread-safe, but
// for `cancel`: one caller at a time.
//
// Where a mesh's ranks are in several processes, each has a session, which are
// called alike: same entries, same order, also of reads of variables. A failure
// of one rank then ends the generation: all sessions fail, and none runs again
// before its `rebuild`.
//
// A call that fails or is cancelled in the middle leaves the variables that its
// entry changes between two steps, some ranks or elements before and some
// behind it. Nothing reads them then until they are written anew.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_SESSION_H
#define RUNTIME_CORE_SESSION_H

#include "runtime/core/log.h"
#include "runtime/core/placement.h"
#include "runtime/core/slices.h"
#include "runtime/core/status.h"
#include "runtime/core/types.h"
#include <functional>
#include <memory>
#include <optional>

namespace dist {

class Device;
class ThreadTeam;
class World;
struct WorldOptions;

struct SessionOptions {
  /// Seconds a collective waits for its peers before the step fails.
  double collectiveTimeout = 30;
  /// Records kernel and collective times of each step (see `takeTrace`).
  bool trace = false;
  /// Maps the package's weights instead of reading them (see FileAccess).
  bool mapWeights = false;
  /// What is no result and no error; one line at a time. It uses no session.
  LogFunction log;
  /// What the ranks run on; null: this machine's CPUs, on which a mesh's host
  /// is in any case.
  std::shared_ptr<Device> device;
  /// Threads that other sessions run on, too, in turns; null: its own.
  std::shared_ptr<ThreadTeam> team;
  /// The CPU whose code of a package's is run, by its name there; empty: of
  /// those that this machine can run the one that uses most of it.
  std::string cpuVariant;
  /// Where the ranks run, and which process this is; none: all of them here.
  std::optional<Placement> placement;
  int process = 0;
  /// Who they talk through; null: memory, where all of them are here.
  std::shared_ptr<World> world;
  /// Or makes it, once the session knows how its ranks wait and name ops.
  std::function<Status(const WorldOptions &, std::shared_ptr<World> *)>
      makeWorld;
};

/// One timed span on one device, microseconds since the session was opened.
struct TraceEvent {
  int rank;
  std::string name;
  /// "step": a run of an entry, which the others are part of; "kernel",
  /// "library", "collective", "wait" for one that was started or for
  /// others to read what is shared, "started": a collective beside the others,
  /// and "slice": a rank's own part, which moves nothing between ranks.
  std::string category;
  double begin, end;
};

/// One call of an entry among several (see `Session::run`).
struct StepCall {
  const manifest::Entry *entry = nullptr;
  const std::vector<TensorView> *inputs = nullptr;
  std::vector<Tensor> *outputs = nullptr; // each call's own
};

/// What some processes of a session tell all of them in each step. Prepared
/// once, of one generation: a step that tells as much as ever takes no memory.
class Telling {
public:
  virtual ~Telling() = default;
  /// `blocks` has for each process that tells `bytes`, one behind the other:
  /// the caller's own are there, and those of the others when it returns. All
  /// call it together. An error: one of them tells of another number of bytes.
  virtual Status tell(void *blocks, int64_t bytes) = 0;
};

class Session {
public:
  /// Maps the package folder. Errors: a missing or damaged file, another ABI, a
  /// CPU that lacks features of which the code is, a kernel that this machine's
  /// oneDNN has not ("recompile"). Its version may be another.
  static Status open(const std::string &package, const SessionOptions &options,
                     std::unique_ptr<Session> *out);
  virtual ~Session() = default;

  virtual const manifest::Manifest &manifest() const = 0;
  /// Entry by name; null when the package has none of that name.
  virtual const manifest::Entry *findEntry(const std::string &name) const = 0;

  /// The ranks of this process, ascending.
  virtual const std::vector<int> &localRanks() const = 0;
  /// What `run` takes of an entry's input, and gives of its output, by their
  /// numbers there: all of the tensor where all ranks are in this process, else
  /// the box that this process's ranks have. Absent where none has a part.
  virtual Window inputWindow(const manifest::Entry &entry,
                             size_t input) const = 0;
  virtual Window outputWindow(const manifest::Entry &entry,
                              size_t output) const = 0;

  /// Runs an entry on all ranks. `inputs` has one tensor for each argument that
  /// is no variable and not prepared, in manifest order: its window, of the
  /// binding's type. What is sharded on dim 0 alone is
  /// cut by address: nothing is copied where that gives `bufferAlignment`.
  /// `outputs` receives one window for each result that is no variable
  /// (buffers are reused; an absent one has no data); unreduced ones are summed
  /// over all ranks.
  virtual Status run(const manifest::Entry &entry,
                     const std::vector<TensorView> &inputs,
                     std::vector<Tensor> *outputs) = 0;

  /// Runs calls one after another; the devices go from one to the next on their
  /// own. With `goOn`, call i + 1 begins only if goOn(i) says so: it may read
  /// what call i gave, and is called on a device's thread; of several processes
  /// all must say so. `done` receives the
  /// number of calls that all devices completed: their outputs are there, also
  /// when a later one fails.
  virtual Status runSteps(const std::vector<StepCall> &calls,
                          const std::function<bool(size_t)> &goOn,
                          size_t *done) {
    for (*done = 0; *done < calls.size(); ++*done) {
      if (*done > 0 && goOn && !goOn(*done - 1))
        return Status();
      const StepCall &call = calls[*done];
      DIST_RETURN_IF_ERROR(run(*call.entry, *call.inputs, call.outputs));
    }
    return Status();
  }

  /// Which of how many processes this is; process 0 is the chief.
  virtual int process() const { return 0; }
  virtual int processes() const { return 1; }
  /// Gives each process's text to all, by process; they call it together.
  virtual Status exchange(const std::string &mine,
                          std::vector<std::string> *all) {
    *all = {mine};
    return Status();
  }
  /// Whether `here` is true in all processes, which ask together: what they
  /// decide by what only one of them sees.
  virtual Status agree(bool here, bool *everywhere) {
    *everywhere = here;
    return Status();
  }
  /// For what the processes `from` tell, at most `mostBytes` each. It goes
  /// before the session does; a single process has nobody to tell: null.
  virtual Status prepareTelling(const std::vector<int> &from, int64_t mostBytes,
                                std::unique_ptr<Telling> *out) {
    out->reset();
    return Status();
  }
  /// Ends the call of `run` or `runSteps` that is under way, which fails with
  /// StatusCode::Cancelled unless it is done by then; without one, does
  /// nothing. Any thread may call it.
  virtual void cancel() {}
  /// Seconds that the ranks of this process have spent in collectives by now,
  /// on average: what their computing did not hide. Only of devices whose
  /// streams run at once: others hide it from the host as well.
  virtual double exposedSeconds() const { return 0; }
  /// Between two calls the process begins or ends work that others may wait
  /// for, as on files: see OwnWork.
  virtual void setAtWork(bool begins) {}
  /// Passes a line to the log of the session's options.
  virtual void log(LogLevel level, const std::string &text) {}

  /// A variable's value as a global tensor. ON_READ variables are reduced by
  /// their aggregation. In several processes each of them reads it, together.
  virtual Status readVariable(int index, Tensor *out) = 0;
  /// Writes all copies or shards of this process; the others do the same with
  /// the same value. An ON_READ sum goes to the first rank.
  virtual Status writeVariable(int index, const TensorView &value) = 0;
  /// A local rank's own slice, for checkpoints that resume bit by bit.
  virtual Status readSlice(int index, int rank, Tensor *out) = 0;
  virtual Status writeSlice(int index, int rank, const TensorView &value) = 0;
  /// Initial values from weights.safetensors.
  virtual Status resetVariables() = 0;

  /// Begins the next generation after a failure, where the world is the
  /// caller's: through `world` from now on, the package as it is. Variables
  /// that the failed call had begun to change are still to be written.
  virtual Status rebuild(std::shared_ptr<World> world) = 0;

  /// Bytes allocated on each device (state, arena, the library's, what its
  /// collectives have beside their buffers), for `peak_device_mb`.
  virtual int64_t deviceBytes() const = 0;
  virtual std::vector<TraceEvent> takeTrace() = 0;
};

/// For as long as this lives its process is at work of its own, as on files,
/// which may take any time: the others wait for it for as long as it answers.
/// Not so in calls of the session within, whose deadlines are as ever.
class OwnWork {
public:
  explicit OwnWork(Session &session) : session(session) {
    session.setAtWork(true);
  }
  ~OwnWork() { session.setAtWork(false); }
  OwnWork(const OwnWork &) = delete;
  OwnWork &operator=(const OwnWork &) = delete;

private:
  Session &session;
};

} // namespace dist

#endif // RUNTIME_CORE_SESSION_H
