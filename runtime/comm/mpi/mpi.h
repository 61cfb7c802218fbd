//===- mpi.h - Collectives by a site's MPI ----------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A site's own, tuned collectives in place of ours: see vtable.h for how they
// are reached. One rank a process, which mpirun has started. Sums are in MPI's
// order: equal to other communicators' within rounding, not in bits.
//
// Ranks compare their calls before data moves, by a small all-gather, since MPI
// does not: who disagrees gets an error and no wrong numbers. A rank whose wait
// lasts tells the others where it waits, so that those that are missing are
// named when it ends. A message is received when it has come, never before: one
// that does not fit is refused, and a recv that waits can be taken back.
//
// What it does not do. A deadline counts from where the rank begins to wait,
// whether or not others compute meanwhile. A collective of MPI's cannot be
// taken back: one that fails while it is under way ends the use of MPI in this
// process, and no `reset` brings it back. Messages move while a rank is in a
// call here, not while it computes.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_MPI_MPI_H
#define RUNTIME_COMM_MPI_MPI_H

#include "runtime/comm/common/options.h"
#include "runtime/comm/mpi/vtable.h"
#include "runtime/core/world.h"
#include <memory>

namespace dist {

/// The file that has a site's MPI in it.
constexpr const char *kMpiLibrary = "libdist_mpi.so";

/// Loads the library, which stays. `paths` are tried in turn. Errors: there is
/// none, or it is another version's.
Status loadMpi(const std::vector<std::string> &paths,
               const dist_comm_vtable **out);

/// All processes together. `rank` of the mesh is this process's, whatever MPI
/// numbers it. Errors: a mesh with a host, another number of MPI's processes
/// than ranks, what MPI says.
Status makeMpiWorld(const dist_comm_vtable &mpi, const WorldOptions &options,
                    int rank, std::shared_ptr<World> *out);

} // namespace dist

#endif // RUNTIME_COMM_MPI_MPI_H
