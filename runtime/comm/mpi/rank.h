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
#include <mutex>

namespace dist::mpi {

struct MpiPlan final : DescribedPlan {
  MpiPlan(const Collective &call, uint32_t generation)
      : DescribedPlan(call, generation), description(this->call) {}
  const Description &described() const override { return description; }
  Description description;
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
    int32_t kind, op, betweenPrograms;
    int64_t count;
    uint64_t digest, history;
  };
  /// Tells the others that a generation has ended.
  struct Notice {
    uint32_t generation = 0;
    char reason[508] = "";
  };
  struct Group {
    dist_comm_group *handle = nullptr;
    uint64_t history = 0;
  };
  /// A message that goes on without its call.
  struct Kept {
    std::vector<char> bytes;
    Request *request = nullptr;
  };
  /// One call, as it is taken apart.
  struct Frame {
    const Description &d;
    void *const *from;
    void *const *to;
    dist_comm_group *group;
    std::vector<int> memberAt; // by position
  };

  Status move(DescribedPlan &plan, void *const *from, void *const *to) override;
  Status runInside(Description &d, void *const *from, void *const *to,
                   const Team &worker);
  Status compare(const Description &d, Group &group);
  Status allReduce(const Frame &f);
  Status reduceScatter(const Frame &f);
  Status exchange(const Frame &f);
  Status broadcast(const Frame &f, const Team &worker);
  Status permute(const Frame &f, const Team &worker);
  Status sendMessage(const Frame &f);
  Status receiveMessage(const Frame &f);
  Status checkTag(const Frame &f);
  Status checkCount(const Frame &f, int64_t count);
  /// Of addends in one run of memory, `bytes` of results.
  Status reduceRun(const Frame &f, DataType type, const char *from, char *to,
                   int64_t bytes, bool scatters);

  /// Pieces of one type, which follow each other.
  struct Run {
    int64_t first = 0, last = 0;
  };
  /// Calls use(run, type) for all of them.
  template <typename Use> Status forRuns(const Frame &f, Use use);
  Stream outTo(const Frame &f, int place, Run run);
  Stream inFrom(const Frame &f, int place, Run run);
  Stream wholeOf(const Frame &f, void *const *buffers, Run run);
  Stream wholeOf(const Frame &f, void *const *buffers);
  void copyOwn(const Frame &f, const Team &worker);

  Header headerOf(const Description &d, uint64_t history) const;
  /// Starts what `call` starts, and waits for it.
  template <typename Start> Status complete(const Description &d, Start call) {
    std::vector<Request *> requests(1);
    int code = 0;
    {
      std::lock_guard<std::mutex> lock(calls);
      code = call(&requests[0]);
    }
    return code == 0 ? wait(d, requests) : failed(d, code);
  }
  Status wait(const Description &d, std::vector<Request *> &requests);
  /// Ends the generation for all by an error of MPI's.
  Status failed(const Description &d, int code);
  Status fail(StatusCode code, const std::string &text);
  Status whyEnded() const;
  void giveUp();
  // Under `calls`:
  void lookAround();
  void listen();
  void tell(const std::string &reason);

  const dist_comm_vtable &mpi;

  std::mutex inside;         // a collective
  std::vector<Group> own;    // by mask of axes
  std::vector<char> out, in; // packed
  std::vector<float> wide;

  std::mutex calls; // of the table's functions
  dist_comm_group *notices = nullptr;
  Request *listening = nullptr;
  Notice heard;
  std::list<Kept> kept;
  std::atomic<bool> broken{false};

  mutable std::mutex ending;
  std::atomic<uint32_t> current{0};
  std::atomic<bool> hasEnded{false};
  Status reason;
};

} // namespace dist::mpi

#endif // RUNTIME_COMM_MPI_RANK_H
