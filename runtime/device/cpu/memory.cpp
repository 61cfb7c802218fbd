//===- memory.cpp - One allocation of a device ----------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/memory.h"
#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace dist {

Status Block::allocate(int64_t bytes, const char *what) {
  constexpr int64_t page = 4096, hugePage = 2 << 20;
  if (bytes < 0 || bytes > INT64_MAX - hugePage)
    return Status::error(StatusCode::InvalidInput, "the manifest is damaged",
                         what, "its size is " + std::to_string(bytes),
                         "recompile the package");
  // An empty block has an address, too, so that no offset is from null.
  size_t size = (bytes + page) / page * page;
  void *address = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    return Status::error(StatusCode::Unavailable,
                         "cannot allocate " + std::to_string(bytes) + " bytes",
                         what, std::strerror(errno),
                         "use a smaller batch or more devices");
  if (bytes >= 4 * hugePage)
    madvise(address, size, MADV_HUGEPAGE);
  start = static_cast<char *>(address);
  length = bytes;
  mapped = size;
  return Status();
}

Block::~Block() {
  if (start)
    munmap(start, mapped);
}

} // namespace dist
