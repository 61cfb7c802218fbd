//===- package.cpp - A program package, loaded and checked ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/package.h"
#include "runtime/core/digest.h"
#include "runtime/core/limits.h"
#include "runtime/core/servers.h"
#include "runtime/core/variants.h"
#include "runtime/formats/file.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <google/protobuf/stubs/logging.h>
#include <sys/stat.h>

namespace dist {

int64_t stateBytes(const manifest::Manifest &manifest,
                   const manifest::Program &program) {
  return program.state_bytes() > 0 ? program.state_bytes()
                                   : manifest.state_bytes();
}

Status checkCommunicator(const manifest::Manifest &manifest,
                         const Communicator &communicator) {
  if (!manifest.shares_memory() || communicator.sharesMemory())
    return Status();
  return Status::error(StatusCode::InvalidArgument,
                       "the package is for devices of one process",
                       manifest.model_name(),
                       "its programs read each other's memory, and these "
                       "devices share none",
                       "compile it for these devices");
}

namespace {

Status damaged(const std::string &where, const std::string &why) {
  return Status::error(StatusCode::InvalidInput, "the package is damaged",
                       where, why, "compile it again");
}

Status otherVersion(const std::string &where, const std::string &why) {
  return Status::error(StatusCode::InvalidInput,
                       "the package is for another machine or version", where,
                       why, "recompile it here");
}

Status checkBinding(const manifest::Manifest &manifest, int program,
                    const manifest::Binding &binding,
                    const std::string &where) {
  using manifest::Binding;
  Distribution distribution;
  switch (binding.role()) {
  case Binding::VARIABLE: {
    if (binding.variable() < 0 ||
        binding.variable() >= manifest.variables_size())
      return damaged(where, "an entry has a variable that is not there");
    const auto &holders = manifest.variables(binding.variable()).programs();
    if (!holders.empty() &&
        std::find(holders.begin(), holders.end(), program) == holders.end())
      return damaged(where, "a program has a variable that it does not hold");
    return Status();
  }
  case Binding::PREPARED: {
    if (binding.has_packed())
      return Status(); // the library lays it out
    int64_t bytes = stateBytes(manifest, manifest.programs(program));
    if (binding.state_offset() < 0 || binding.bytes() < 0 ||
        binding.state_offset() % bufferAlignment != 0 ||
        binding.state_offset() > bytes ||
        binding.bytes() > bytes - binding.state_offset())
      return damaged(where, "a prepared buffer lies outside the state");
    return Status();
  }
  default:
    DIST_RETURN_IF_ERROR(Distribution::create(
        manifest.mesh(), binding.global_type(), binding.local_type(),
        binding.sharding(), where + ": " + binding.name(), &distribution,
        Content::Examples));
    for (int rank = 0; rank < manifest.program_of_rank_size(); ++rank)
      if (manifest.program_of_rank(rank) == program &&
          distribution.partShape(rank) != distribution.localShape)
        return damaged(where + ": " + binding.name(),
                       "a program has another rank's share");
    return Status();
  }
}

/// All ranks of one process, or each of one of as many ranks as all others.
Status checkProcesses(const manifest::Manifest &manifest,
                      const std::string &where) {
  const auto &processes = manifest.process_of_rank();
  if (processes.empty())
    return Status();
  std::vector<int> ranksOf(processes.size());
  if (processes.size() != manifest.ranks() ||
      std::any_of(processes.begin(), processes.end(), [&](int32_t process) {
        return process < 0 || process >= processes.size();
      }))
    return damaged(where, "it has not one process a rank");
  for (int32_t process : processes)
    ++ranksOf[process];
  while (ranksOf.back() == 0)
    ranksOf.pop_back();
  if (std::any_of(ranksOf.begin(), ranksOf.end(),
                  [&](int ranks) { return ranks != ranksOf.front(); }))
    return damaged(where, "its processes have not all as many ranks");
  return Status();
}

Status check(const manifest::Manifest &manifest, const std::string &where) {
  if (manifest.abi_version() != DIST_RT_ABI_VERSION)
    return otherVersion(where, "its interface has version " +
                                   std::to_string(manifest.abi_version()) +
                                   ", this runtime's " +
                                   std::to_string(DIST_RT_ABI_VERSION));
  int64_t ranks = 1;
  for (const manifest::Axis &axis : manifest.mesh().axes())
    if (axis.size() < 1 || axis.size() > INT32_MAX)
      return damaged(where, "its mesh has no size");
    else if ((ranks *= axis.size()) > kMostRanks)
      return Status::error(
          StatusCode::InvalidInput, "the package has too many devices", where,
          "it has " + std::to_string(ranks) + " or more, and " +
              std::to_string(kMostRanks) + " can be run",
          "compile it for fewer --devices or --workers");
  for (const manifest::Axis &axis : manifest.mesh().axes()) {
    const auto &weights = axis.weights();
    if ((!weights.empty() && weights.size() != axis.size()) ||
        std::any_of(weights.begin(), weights.end(), [](int64_t weight) {
          return weight < 1 || weight > 1 << 20;
        }))
      return damaged(where, "its mesh has not one weight a place");
  }
  ranks = rankCount(manifest.mesh());
  if (manifest.ranks() != ranks || manifest.program_of_rank_size() != ranks)
    return damaged(where, "it has not one program a rank");
  DIST_RETURN_IF_ERROR(checkProcesses(manifest, where));
  for (int32_t program : manifest.program_of_rank())
    if (program < 0 || program >= manifest.programs_size())
      return damaged(where, "a rank's program is not there");
  if (manifest.threads_per_device() < 1 || manifest.threads_per_device() > 4096)
    return damaged(where, "it has no number of threads");
  for (const manifest::Variable &variable : manifest.variables()) {
    Distribution distribution;
    std::string place = where + ": variable " + variable.name();
    DIST_RETURN_IF_ERROR(distribute(manifest, variable, place, &distribution));
    // Every part needs a rank that holds it: their copies are the whole.
    int64_t held = 0;
    for (const Slice &slice : distribution.slices)
      held += slice.firstCopy && slice.partial == 0;
    if (held != distribution.parts)
      return damaged(place, "the ranks that hold it have not all of it");
    int64_t bytes = manifest.state_bytes();
    for (int32_t program : variable.programs()) {
      if (program < 0 || program >= manifest.programs_size())
        return damaged(place, "a program that holds it is not there");
      bytes = std::min(bytes, stateBytes(manifest, manifest.programs(program)));
    }
    if (variable.state_offset() < 0 ||
        variable.state_offset() % bufferAlignment != 0 ||
        variable.bytes() != distribution.localBytes ||
        variable.state_offset() > bytes ||
        variable.bytes() > bytes - variable.state_offset())
      return damaged(place, "it does not lie in the state");
  }
  for (int number = 0; number < manifest.programs_size(); ++number) {
    const manifest::Program &program = manifest.programs(number);
    if (program.state_bytes() < 0 ||
        program.state_bytes() > manifest.state_bytes())
      return damaged(where, "a program's state has no size");
    if (program.threads() < 0 || program.threads() > 1 << 16)
      return damaged(where, "a program has no number of threads");
    // A device's loops and kernels are cut for the threads of all devices.
    if (program.threads() > 0 && !isOfHost(manifest, number) &&
        program.threads() != manifest.threads_per_device())
      return damaged(where, "a device's program is for other threads");
    for (const manifest::Entry &entry : program.entries()) {
      std::string place = where + ": entry " + entry.name();
      if (entry.arena_bytes() < 0 || entry.host_arena_bytes() < 0)
        return damaged(place, "its arena has no size");
      for (const auto *bindings : {&entry.arguments(), &entry.results()})
        for (const manifest::Binding &binding : *bindings)
          DIST_RETURN_IF_ERROR(checkBinding(manifest, number, binding, place));
    }
  }
  return checkServers(manifest, where);
}

template <typename T>
void meanRows(const char *rows, int64_t numRows, int64_t columns, char *out) {
  const T *from = reinterpret_cast<const T *>(rows);
  T *to = reinterpret_cast<T *>(out);
  for (int64_t column = 0; column < columns; ++column) {
    double sum = 0;
    for (int64_t row = 0; row < numRows; ++row)
      sum += from[row * columns + column];
    to[column] = static_cast<T>(sum / numRows);
  }
}

} // namespace

Status distribute(const manifest::Manifest &manifest,
                  const manifest::Variable &variable, const std::string &where,
                  Distribution *out) {
  DIST_RETURN_IF_ERROR(Distribution::create(
      manifest.mesh(), variable.global_type(), variable.local_type(),
      variable.sharding(), where, out));
  if (!variable.programs().empty())
    out->keepRanks(
        [&](int rank) { return holdsVariable(manifest, variable, rank); });
  return Status();
}

void readAsOneRow(const manifest::Variable &variable, Tensor *value) {
  int64_t rows = value->shape[0];
  int64_t columns = rows ? elementCount(value->shape) / rows : 0;
  Buffer one(columns * byteSize(value->type));
  if (variable.aggregation() != "mean")
    std::copy_n(value->data.begin(), rows ? one.size() : 0, one.begin());
  else if (value->type == manifest::F32)
    meanRows<float>(value->data.data(), rows, columns, one.data());
  else
    meanRows<double>(value->data.data(), rows, columns, one.data());
  value->data = std::move(one);
  value->shape.erase(value->shape.begin());
}

Status readManifest(const std::string &folder, manifest::Manifest *out) {
  return readManifestFile(manifestPath(folder, ""), out);
}

Status readManifestFile(const std::string &path, manifest::Manifest *out) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0)
    return Status::error(StatusCode::InvalidInput, "cannot open the package",
                         path, std::strerror(errno));
  std::shared_ptr<const FileBytes> file;
  DIST_RETURN_IF_ERROR(FileBytes::open(path, &file));
  return parseManifest(std::string(file->bytes()), path, out);
}

Status parseManifest(const std::string &bytes, const std::string &where,
                     manifest::Manifest *out) {
  out->Clear();
  // The library would print what is wrong with the bytes.
  google::protobuf::LogSilencer silencer;
  if (!out->ParseFromString(bytes))
    return damaged(where, "it is no manifest");
  return check(*out, where);
}

Status Package::load(const std::string &folder, const Host &host,
                     const std::string &wanted, const dist_rt_api &api,
                     std::unique_ptr<Package> *out) {
  auto package = std::make_unique<Package>();
  package->folder = folder;
  Variant variant;
  DIST_RETURN_IF_ERROR(chooseVariant(folder, host, wanted, &variant));
  package->manifest = std::move(variant.manifest);
  const manifest::Manifest &manifest = package->manifest;
  std::string digest;
  DIST_RETURN_IF_ERROR(digestPackage(folder, variant.name, &digest));
  if (digest != manifest.digest())
    return damaged(folder, "its files are not those of its manifest");

  std::string &program = package->program;
  program = programPath(folder, variant.name);
  DIST_RETURN_IF_ERROR(ProgramLibrary::load(program, &package->library));
  auto init = reinterpret_cast<dist_program_init_fn>(
      package->library->find("dist_program_init"));
  if (!init)
    return damaged(program, "it has no dist_program_init");
  if (init(&api) != 0)
    return otherVersion(program, "it does not take this runtime's interface");
  for (const manifest::Variable &variable : manifest.variables()) {
    package->variables.emplace_back();
    DIST_RETURN_IF_ERROR(distribute(manifest, variable, variable.name(),
                                    &package->variables.back()));
  }
  *out = std::move(package);
  return Status();
}

Package::~Package() = default;

Status Package::find(const std::string &symbol,
                     dist_program_entry_fn *out) const {
  *out = nullptr;
  if (symbol.empty())
    return Status();
  *out = reinterpret_cast<dist_program_entry_fn>(library->find(symbol));
  if (!*out)
    return damaged(program, "it has no function " + symbol);
  return Status();
}

Status Package::findCollectives(const std::string &symbol,
                                CollectiveList *out) const {
  out->clear();
  if (symbol.empty())
    return Status();
  std::string list = symbol + DIST_RT_COLLECTIVES_SUFFIX;
  auto *words = static_cast<const int64_t *>(library->find(list));
  return words ? readCollectives(words, program + ": " + list, out) : Status();
}

} // namespace dist
