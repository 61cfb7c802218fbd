//===- library_memory.cpp - What the library lays out ---------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/library_memory.h"
#include "runtime/core/types.h"
#include <algorithm>

namespace dist::cpu {

static int64_t alignUp(int64_t bytes) {
  return (bytes + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
}

Status LibraryMemory::create(const manifest::Manifest &manifest,
                             LibraryMemory *out) {
  *out = LibraryMemory();
  out->infos.resize(manifest.kernels_size());
  for (int i = 0; i < manifest.kernels_size(); ++i) {
    Status status = describe(manifest.kernels(), i,
                             manifest.threads_per_device(), &out->infos[i]);
    if (!status.ok())
      return Status::error(
          StatusCode::InvalidInput, "the package is for another CPU",
          manifest.model_name(),
          "this machine's library cannot run a kernel of it: " +
              status.message(),
          "recompile it here");
  }
  for (const manifest::Program &program : manifest.programs()) {
    out->blocks.emplace_back();
    DIST_RETURN_IF_ERROR(out->layOut(manifest, program, &out->blocks.back()));
  }
  return Status();
}

Status LibraryMemory::find(const manifest::Packed &packed,
                           const std::string &where,
                           const LibraryKernelInfo::Memory **out) const {
  bool known = packed.kernel() >= 0 &&
               packed.kernel() < static_cast<int>(infos.size()) &&
               packed.memory() >= 0 &&
               packed.memory() <
                   static_cast<int>(infos[packed.kernel()].memories.size());
  if (!known)
    return Status::error(StatusCode::InvalidInput, "the package is damaged",
                         where, "a packed buffer is of no kernel",
                         "compile it again");
  *out = &infos[packed.kernel()].memories[packed.memory()];
  return Status();
}

Status LibraryMemory::layOut(const manifest::Manifest &manifest,
                             const manifest::Program &program,
                             LibraryBlock *out) const {
  // What is packed alike from the same numbers is one buffer.
  std::map<std::pair<int, std::string>, int64_t> known;
  std::vector<int64_t> slotBytes;
  const LibraryKernelInfo::Memory *memory = nullptr;
  for (const manifest::Entry &entry : program.entries()) {
    for (const auto *bindings : {&entry.arguments(), &entry.results()})
      for (const manifest::Binding &binding : *bindings) {
        if (binding.role() != manifest::Binding::PREPARED ||
            !binding.has_packed() || out->prepared.count(binding.name()))
          continue;
        DIST_RETURN_IF_ERROR(find(binding.packed(), entry.name(), &memory));
        auto [place, isNew] = known.try_emplace(
            {binding.packed().source(),
             memory->layout.empty() ? binding.name() : memory->layout},
            out->preparedBytes);
        out->prepared[binding.name()] = place->second;
        if (isNew)
          out->preparedBytes += alignUp(memory->bytes);
      }
    slotBytes.resize(std::max<size_t>(slotBytes.size(), entry.slots_size()), 0);
    for (int i = 0; i < entry.slots_size(); ++i)
      for (const manifest::Packed &packed : entry.slots(i).holds()) {
        DIST_RETURN_IF_ERROR(find(packed, entry.name(), &memory));
        slotBytes[i] = std::max(slotBytes[i], alignUp(memory->bytes));
      }
  }
  for (int64_t bytes : slotBytes) {
    out->slots.push_back(out->preparedBytes + out->slotBytes);
    out->slotBytes += bytes;
  }
  out->scratchpad = out->preparedBytes + out->slotBytes;
  for (const LibraryKernelInfo &info : infos)
    out->scratchpadBytes =
        std::max(out->scratchpadBytes, alignUp(info.scratchpadBytes));
  return Status();
}

} // namespace dist::cpu
