//===- disk.cpp - A simulated disk ----------------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/simulation/disk.h"
#include <algorithm>
#include <cerrno>

namespace dist::simulation {

/// Less than a record, so that each can be torn.
static constexpr size_t kSector = 16;

class Disk::File final : public cluster::JournalFile {
public:
  explicit File(Disk &disk) : disk(disk) {}

  Status read(std::string *bytes) override {
    *bytes = disk.cached;
    return Status();
  }
  bool write(const std::string &bytes, uint64_t at) override {
    // The one that power is lost in leaves a part in the cache, as a full disk
    // does.
    if (disk.isDead) {
      errno = EIO;
      return false;
    }
    const bool isWhole = disk.begins() && !disk.isFull;
    const size_t count =
        isWhole ? bytes.size() : size_t(disk.simulator.below(bytes.size()));
    disk.isFull = false;
    if (disk.cached.size() < at + count)
      disk.cached.resize(at + count);
    disk.cached.replace(at, count, bytes, 0, count);
    errno = ENOSPC;
    return isWhole;
  }
  bool truncate(uint64_t size) override {
    if (!disk.begins())
      return false;
    disk.cached.resize(size);
    return true;
  }
  bool sync() override {
    // It may be in the midst of it, and have done all.
    const bool wasOn = !disk.isDead, isDone = disk.begins();
    if (isDone || (wasOn && disk.simulator.chance(0.5)))
      disk.durable = disk.cached;
    errno = EIO;
    return isDone;
  }
  bool syncName() override { return true; }

private:
  Disk &disk;
};

std::unique_ptr<cluster::JournalFile> Disk::open() {
  return std::make_unique<File>(*this);
}

bool Disk::begins() {
  if (isDead)
    return false;
  if (crashesIn < 0)
    return true;
  --crashesIn;
  if (crashesIn >= 0)
    return true;
  simulator.trace("the store's power is lost");
  isDead = true;
  return false;
}

void Disk::lose() {
  // The size goes by itself, too.
  std::string kept = simulator.chance(0.5) ? cached : durable;
  for (size_t at = 0; at < kept.size(); at += kSector) {
    const std::string &from = simulator.chance(0.5) ? cached : durable;
    for (size_t i = at; i < std::min(at + kSector, kept.size()); ++i)
      kept[i] = i < from.size() ? from[i] : 0;
  }
  cached = durable = std::move(kept);
  isDead = false;
  crashesIn = -1;
}

} // namespace dist::simulation
