//===- mpi.cpp - Collectives by a site's MPI ------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/mpi/mpi.h"
#include "runtime/comm/mpi/rank.h"
#include <dlfcn.h>

namespace dist {

Status loadMpi(const std::vector<std::string> &paths,
               const dist_comm_vtable **out) {
  std::string why;
  void *library = nullptr;
  for (const std::string &path : paths) {
    // Global: MPI loads parts of its own, which look for its symbols.
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library)
      break;
    const char *text = dlerror();
    why += (why.empty() ? "" : "; ") + std::string(text ? text : path);
  }
  if (!library)
    return Status::error(
        StatusCode::Unavailable, "cannot load the site's MPI", kMpiLibrary, why,
        "build on a machine with an MPI (Debian: libopenmpi-dev), where CMake "
        "makes it, or leave --communicator mpi out");
  auto get = reinterpret_cast<dist_comm_get_vtable_fn>(
      dlsym(library, DIST_COMM_VTABLE_SYMBOL));
  const dist_comm_vtable *table = get ? get() : nullptr;
  if (!table || table->version != DIST_COMM_VTABLE_VERSION)
    return Status::error(
        StatusCode::Unavailable, "cannot use the site's MPI", kMpiLibrary,
        table ? "it is of version " + std::to_string(table->version) +
                    ", and version " +
                    std::to_string(DIST_COMM_VTABLE_VERSION) + " is needed"
              : "it has no " DIST_COMM_VTABLE_SYMBOL,
        "build it from the same source as this program");
  *out = table;
  return Status();
}

namespace {

class MpiWorld final : public World {
public:
  std::unique_ptr<mpi::MpiCommunicator> here;

  ~MpiWorld() override {
    // MPI still has its buffers.
    if (here && here->isBroken())
      (void)here.release();
  }
  int ranks() const override { return here->ranks(); }
  Communicator &rank(int) override { return *here; }
  void reset() override { here->reset(); }
};

} // namespace

Status makeMpiWorld(const dist_comm_vtable &mpi, const WorldOptions &options,
                    int rank, std::shared_ptr<World> *out) {
  auto refuse = [](const std::string &why, const std::string &todo) {
    return Status::error(StatusCode::InvalidArgument,
                         "MPI cannot connect the ranks", "", why, todo);
  };
  if (options.host)
    return refuse("a device of the host's takes part, which is no process",
                  "use another strategy, or leave --communicator mpi out");
  MeshGroups groups;
  DIST_RETURN_IF_ERROR(MeshGroups::create(options.mesh, false, &groups));
  dist_comm_group *all = nullptr;
  int itsRank = 0, itsRanks = 0;
  if (int code = mpi.init(&all, &itsRank, &itsRanks)) {
    char text[512];
    mpi.explain(code, text, sizeof text);
    return refuse(text, "");
  }
  if (itsRanks != groups.ranks())
    return refuse("it has " + std::to_string(itsRanks) +
                      (itsRanks == 1 ? " process" : " processes") +
                      ", and the mesh has " + std::to_string(groups.ranks()) +
                      " ranks",
                  "start with mpirun -n " + std::to_string(groups.ranks()) +
                      ", one device in each process");
  auto world = std::make_shared<MpiWorld>();
  world->here = std::make_unique<mpi::MpiCommunicator>(mpi, options,
                                                       std::move(groups), rank);
  DIST_RETURN_IF_ERROR(world->here->open(all));
  *out = std::move(world);
  return Status();
}

} // namespace dist
