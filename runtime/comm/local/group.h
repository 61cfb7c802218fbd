//===- group.h - Ranks of one process that meet -----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_LOCAL_GROUP_H
#define RUNTIME_COMM_LOCAL_GROUP_H

#include "runtime/comm/common/description.h"
#include "runtime/comm/common/waits.h"
#include "runtime/comm/local/local.h"
#include "runtime/core/progress.h"
#include "runtime/core/wait.h"
#include <mutex>

namespace dist::local {

/// Data up to this size travel in the publication itself.
constexpr int64_t inlineBytes = 4096;

struct Publication {
  Call call;
  void *const *from;
  void *const *to;
  alignas(64) char small[inlineBytes];
};

/// What one rank shows the others of a group. It writes publication `phase % 2`
/// before it arrives at the phase; it can overwrite it only two phases on, and
/// so after all others have arrived at the next one, done with reading this
/// one.
struct alignas(64) Slot {
  std::atomic<uint64_t> arrived{0};
  Publication publications[2];
};

struct Group {
  std::vector<int> members; // world ranks, ascending
  std::unique_ptr<Slot[]> slots;
  WaitPoint wait;
};

/// Addresses of a rank's buffers.
struct Lists {
  std::vector<void *> from, to;
};

/// A rank's view of one group.
struct Membership {
  Group *group = nullptr;
  int index = 0; // among the members
  uint64_t phase = 0;
  int spinMicroseconds = 0; // in this call
  /// The host, which waits while devices compute: its time begins to count when
  /// the first of them comes.
  bool patient = false;
  bool background = false; // this call
  /// What others may read of this call, and of one that was given up.
  std::shared_ptr<Lists> lists;
  int rank() const { return group->members[index]; }
  int size() const { return group->members.size(); }
  const Publication &published(int member) const {
    return group->slots[member].publications[phase % 2];
  }
};

struct Mailbox;

/// A rank that has waited for more than a moment, and for whom.
struct Waiting {
  int rank = 0;
  /// On the thread of started collectives: the rank's own may compute.
  bool background = false;
  Call call{};
  /// Those of the group that have not come to the phase...
  const Group *group = nullptr;
  uint64_t phase = 0;
  /// ...or, without a group, who sends, or takes what was sent.
  int sender = 0;
  int64_t tag = 0;
  Wait report() const;
};

/// What all ranks share.
struct Shared {
  WorldOptions options;
  std::vector<std::unique_ptr<Group>> groups;
  std::vector<std::unique_ptr<Mailbox>> mailboxes; // by receiver
  MeshGroups mesh;
  std::atomic<uint32_t> generation{0};
  std::atomic<bool> aborted{false};
  std::mutex reasonMutex;
  std::string reason;
  /// By rank.
  std::vector<const Progress *> progress;
  std::mutex waitingMutex;
  std::vector<const Waiting *> waiting;

  Shared();
  ~Shared();

  void abort(uint32_t generation, const std::string &why);
  /// An error that makes every rank give up.
  Status fail(StatusCode code, int rank, const Call &call,
              const std::string &why, const std::string &todo);
  Status abortedStatus(int rank, const Call &call);

  /// Publishes, then waits until all of the group have. `pack` fills the
  /// publication's own memory, if it has anything to put there.
  template <typename Pack>
  Status meet(Membership &membership, const Call &call, void *const *from,
              void *const *to, Pack pack) {
    ++membership.phase;
    Slot &mine = membership.group->slots[membership.index];
    Publication &publication = mine.publications[membership.phase % 2];
    publication.call = call;
    publication.from = from;
    publication.to = to;
    pack(publication.small);
    return arrive(membership, call);
  }

private:
  Status arrive(Membership &membership, const Call &call);
  /// An error if the others do not come in time.
  Status waitForOthers(const Membership &membership, const Call &call);
  Status mismatch(const Membership &membership, const Call &call, int member);
};

} // namespace dist::local

#endif // RUNTIME_COMM_LOCAL_GROUP_H
