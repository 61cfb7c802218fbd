//===- package.h - A program package, loaded and checked --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_PACKAGE_H
#define RUNTIME_CORE_PACKAGE_H

#include "runtime/core/planned_collectives.h"
#include "runtime/core/program_library.h"
#include "runtime/core/slices.h"
#include "runtime/core/status.h"
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace dist {

/// What this machine offers: all features that a package needs must be there.
struct Host {
  std::vector<std::string> cpuFeatures;
};

/// Reads and checks `folder`/manifest, the first variant's (variants.h): not
/// whether the machine fits, which tools that only look do not care about.
Status readManifest(const std::string &folder, manifest::Manifest *out);
/// The same of a file.
Status readManifestFile(const std::string &path, manifest::Manifest *out);
/// The same of a manifest's bytes; `where` names them in errors.
Status parseManifest(const std::string &bytes, const std::string &where,
                     manifest::Manifest *out);

/// Bytes of the state block of a program's devices.
int64_t stateBytes(const manifest::Manifest &manifest,
                   const manifest::Program &program);

/// Of both memories, of which a program mostly uses the one that it computes
/// in.
inline int64_t arenaBytes(const manifest::Entry &entry) {
  return entry.arena_bytes() + entry.host_arena_bytes();
}

/// Whether a program is that of the mesh's host, not of its devices.
inline bool isOfHost(const manifest::Manifest &manifest, int program) {
  return manifest.mesh().host() &&
         manifest.program_of_rank(manifest.ranks() - 1) == program;
}

/// Whether devices that talk through it can run the programs.
Status checkCommunicator(const manifest::Manifest &manifest,
                         const Communicator &communicator);

/// Whether its dim 0 has a row for each replica, of which the mean or the first
/// is read.
inline bool hasReplicaRows(const manifest::Variable &variable) {
  return variable.on_read() && (variable.aggregation() == "mean" ||
                                variable.aggregation() == "only_first_replica");
}

/// Whether such rows are separate values, of which a read gives one value and
/// which a write sets alike: one a replica, on one device, too. What callers
/// see then has the variable's dims but the first.
inline bool isReadAsOneRow(const manifest::Variable &variable) {
  return hasReplicaRows(variable) && variable.global_type().shape_size() > 0 &&
         (variable.aggregation() != "mean" ||
          variable.global_type().type() == manifest::F32 ||
          variable.global_type().type() == manifest::F64);
}

/// Makes of such rows the one that is read.
void readAsOneRow(const manifest::Variable &variable, Tensor *value);

/// The dims of its value as callers read and write it.
inline std::vector<int64_t> valueShape(const manifest::Variable &variable) {
  const auto &shape = variable.global_type().shape();
  return {shape.begin() + isReadAsOneRow(variable), shape.end()};
}

/// Whether a rank holds a variable.
inline bool holdsVariable(const manifest::Manifest &manifest,
                          const manifest::Variable &variable, int rank) {
  const auto &programs = variable.programs();
  return programs.empty() ||
         std::find(programs.begin(), programs.end(),
                   manifest.program_of_rank(rank)) != programs.end();
}

/// The distribution of a variable over the ranks that hold it; `where` names
/// the manifest in errors.
Status distribute(const manifest::Manifest &manifest,
                  const manifest::Variable &variable, const std::string &where,
                  Distribution *out);

/// A package's code and its manifest: of the variant that fits best, or of the
/// one for the CPU `wanted`.
class Package {
public:
  static Status load(const std::string &folder, const Host &host,
                     const std::string &wanted, const dist_rt_api &api,
                     std::unique_ptr<Package> *out);
  ~Package();

  manifest::Manifest manifest;
  std::string folder;
  std::string program;                 // the path of its code
  std::vector<Distribution> variables; // as in the manifest

  /// An entry's function; null name gives null.
  Status find(const std::string &symbol, dist_program_entry_fn *out) const;
  /// Its collectives, in memory that stays as long as the package.
  Status findCollectives(const std::string &symbol, CollectiveList *out) const;

private:
  std::unique_ptr<ProgramLibrary> library;
};

} // namespace dist

#endif // RUNTIME_CORE_PACKAGE_H
