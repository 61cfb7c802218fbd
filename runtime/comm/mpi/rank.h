//===- rank.h - One rank that calls a site's MPI ----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_MPI_RANK_H
#define RUNTIME_COMM_MPI_RANK_H

#include "runtime/comm/common/mesh_communicator.h"
#include "runtime/comm/schedule/stream.h"
#include "runtime/comm/mpi/mpi.h"
#include <atomic>
#include <list>
#include <map>
#include <mutex>

namespace dist::mpi {

/// A message that goes on without its call. Its plan's; and the communicator's,
/// until MPI has sent it.
struct Kept {
  const std::shared_ptr<PlanMemory> memory = std::make_shared<PlanMemory>();
  dist_comm_request *request = nullptr;
};

struct MpiPlan final : DescribedPlan {
  MpiPlan(const Collective &call, uint32_t generation)
      : DescribedPlan(call, generation), description(this->call) {}
  const Description &described() const override { return description; }
  Description description;
  std::vector<int> memberAt; // by position
  /// In its memory: what goes, what comes, and both as MPI sums them.
  int64_t outBytes = 0, inBytes = 0, wideBytes = 0;
  // A step takes no memory: these have all that a run puts into them.
  std::vector<dist_comm_request *> requests; // under way
  message::Stream gives, takes;              // one at a time of each
  std::shared_ptr<Kept> kept;                // of a send
};

/// It may outlive its world, which MPI still has buffers of.
struct OwnMesh {
  const WorldOptions ownOptions;
  const MeshGroups ownGroups;
};

class MpiCommunicator final : private OwnMesh, public MeshCommunicator {
public:
  MpiCommunicator(const dist_comm_vtable &mpi, const WorldOptions &options,
                  MeshGroups groups, int rank)
      : OwnMesh{options, std::move(groups)},
        MeshCommunicator(ownOptions, ownGroups, rank), mpi(mpi) {}
  ~MpiCommunicator() override;
  /// Splits MPI's processes, which all do together.
  Status open(dist_comm_group *all);

  Status prepare(const Collective &call,
                 std::unique_ptr<CollectivePlan> *out) override;
  uint32_t generation() const override { return current; }
  void abort(uint32_t generation, const std::string &reason) override;
  void reset();
  /// Something cannot be taken back: MPI is called no more, and has buffers
  /// of this object's.
  bool isBroken() const { return broken; }

private:
  using Request = dist_comm_request;
  using Stream = message::Stream;
  /// What ranks compare, of a group's call or of a message.
  struct Header {
    uint32_t generation;
    int32_t kind, op, algorithm, betweenPrograms;
    int64_t count;
    uint64_t digest, history;
  };
  /// Tells the others that a generation has ended, or where a rank waits.
  struct Notice {
    uint32_t generation = 0;
    int32_t ends = 1; // it; else:
    int32_t rank = 0, group = 0;
    uint64_t history = 0; // of its group, before the call that it waits at
    char reason[480] = "";
  };
  /// What a wait is for.
  enum class For {
    Ranks,   // that come to a collective
    Mpi,     // with all of them there
    Message, // that is to be received
    Taking   // of what was sent before
  };
  struct Group {
    dist_comm_group *handle = nullptr;
    uint64_t history = 0;
  };
  /// A notice, on its way.
  struct Told {
    Notice notice;
    Request *request = nullptr;
  };
  /// One call, as it is taken apart.
  struct Frame {
    MpiPlan &plan;
    const Description &d;
    void *const *from;
    void *const *to;
    dist_comm_group *group;
    const std::vector<int> &memberAt; // by position
    char *out, *in;                   // packed
    float *wide;
  };

  Status move(DescribedPlan &plan, void *const *from, void *const *to) override;
  Status layOut(MpiPlan *plan);
  Status compare(const Frame &f, Group &group);
  Status allReduce(const Frame &f);
  Status reduceScatter(const Frame &f);
  Status exchange(const Frame &f);
  Status broadcast(const Frame &f, const Team &worker);
  Status permute(const Frame &f, const Team &worker);
  Status sendMessage(const Frame &f);
  Status receiveMessage(const Frame &f);
  Status checkTag(const Frame &f);
  Status checkCount(const Description &d, int64_t count, const char *units);
  /// Of addends in one run of memory, `bytes` of results.
  Status reduceRun(const Frame &f, DataType type, char *from, char *to,
                   int64_t bytes, bool scatters);

  /// Pieces of one type, which follow each other.
  struct Run {
    int64_t first = 0, last = 0;
  };
  /// Calls use(run, type) for all of them.
  template <typename Use> Status forRuns(const Frame &f, Use use);
  // Until the next one that goes, or comes.
  const Stream &outTo(const Frame &f, int place, Run run);
  const Stream &inFrom(const Frame &f, int place, Run run);
  const Stream &wholeOut(const Frame &f, Run run);
  const Stream &wholeIn(const Frame &f, Run run);
  Run allOf(const Frame &f) const { return {0, f.d.what.pieces.size}; }
  void copyOwn(const Frame &f, const Team &worker);

  Header headerOf(const Description &d, uint64_t history) const;
  /// Starts what `call` starts, and waits for it.
  template <typename Start>
  Status complete(const Frame &f, Start call, For what = For::Mpi) {
    f.plan.requests.assign(1, nullptr);
    int code = 0;
    {
      std::lock_guard<std::mutex> lock(calls);
      code = call(&f.plan.requests[0]);
    }
    return code == 0 ? wait(f.d, f.plan.requests, what) : failed(f.d, code);
  }
  Status wait(const Description &d, std::vector<Request *> &requests, For what);
  /// Calls `test` under `calls`: an error of MPI's, and whether the wait is
  /// over.
  struct Tested {
    int code = 0;
    bool isOver = false;
  };
  template <typename Test>
  Status waitUntil(const Description &d, For what, Test test);
  /// Receives the next message of the peer, into `other` where it has more than
  /// `room`.
  Status waitForMessage(const Frame &f, int64_t room, std::vector<char> *other,
                        int64_t *bytes);
  /// Until what the plan sent before has left.
  Status waitForKept(const Frame &f);
  void tellWhereItWaits(const Description &d);
  bool doOthersWait(const Description &d);
  /// They have all come.
  void forgetWaits(const Description &d);
  /// Why a wait has ended.
  Status tooLate(const Description &d, For what);
  /// Ends the generation for all by an error of MPI's.
  Status failed(const Description &d, int code);
  Status fail(const Status &status);
  Status whyEnded() const;
  void giveUp();
  // Under `calls`:
  void lookAround();
  void listen();
  /// False: nothing has come.
  bool hear();
  void tell(const Notice &notice, const std::vector<int> &to);
  /// Whether it is known that a member waits at this very call.
  bool waitsAt(const Description &d, int member) const;

  const dist_comm_vtable &mpi;

  std::vector<Group> own; // by mask of axes

  std::mutex calls; // of the table's functions
  dist_comm_group *notices = nullptr;
  Request *listening = nullptr;
  Notice heard;
  std::vector<std::shared_ptr<Kept>> kept;
  std::list<Told> told;
  /// By rank and group, the history before the call at which that waits.
  std::map<std::pair<int, size_t>, uint64_t> waiting;
  /// How often that was told to this rank; 0: none is known of.
  std::atomic<uint64_t> waitsHeard{0};
  std::atomic<bool> broken{false};

  mutable std::mutex ending;
  std::atomic<uint32_t> current{0};
  std::atomic<bool> hasEnded{false};
  Status reason;
};

} // namespace dist::mpi

#endif // RUNTIME_COMM_MPI_RANK_H
