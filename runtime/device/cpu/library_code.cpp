//===- library_code.cpp - What oneDNN's code takes of a process -----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/library_code.h"
#include <cstdint>
#include <dlfcn.h>
#include <dnnl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

namespace dist::cpu {

namespace {

/// Whether the loader has written into the code: that is in no file.
bool hasRelocatedCode(const ElfW(Dyn) * dynamic) {
  for (; dynamic->d_tag != DT_NULL; ++dynamic)
    if (dynamic->d_tag == DT_TEXTREL ||
        (dynamic->d_tag == DT_FLAGS && (dynamic->d_un.d_val & DF_TEXTREL)))
      return true;
  return false;
}

/// Of the object that begins at `base`.
int releaseCode(dl_phdr_info *object, size_t, void *base) {
  if (object->dlpi_addr != reinterpret_cast<uintptr_t>(base))
    return 0;
  auto at = [&](const ElfW(Phdr) & segment) {
    return object->dlpi_addr + segment.p_vaddr;
  };
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = object->dlpi_phdr[i];
    if (segment.p_type == PT_DYNAMIC &&
        hasRelocatedCode(reinterpret_cast<const ElfW(Dyn) *>(at(segment))))
      return 1;
  }
  const uintptr_t page = sysconf(_SC_PAGESIZE);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) ||
        (segment.p_flags & PF_W))
      continue;
    uintptr_t begin = (at(segment) + page - 1) / page * page;
    uintptr_t end = (at(segment) + segment.p_filesz) / page * page;
    if (begin < end)
      // Locked in memory it stays.
      (void)madvise(reinterpret_cast<void *>(begin), end - begin,
                    MADV_DONTNEED);
  }
  return 1;
}

} // namespace

void releaseLibraryCode() {
  Dl_info library;
  if (dladdr(reinterpret_cast<const void *>(&dnnl_version), &library))
    dl_iterate_phdr(releaseCode, library.dli_fbase);
}

} // namespace dist::cpu
