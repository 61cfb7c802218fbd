//===- library_code.cpp - What oneDNN's code takes of a process -----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/library_code.h"
#include <algorithm>
#include <cstdint>
#include <dlfcn.h>
#include <dnnl.h>
#include <fstream>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace dist::cpu {

namespace {

/// Whether all pages of [begin, end) that are in memory are a file's own: what
/// was written there (by a debugger, by the loader, by who has moved code to
/// larger pages) would be lost. By the bits of Linux'
/// Documentation/admin-guide/mm/pagemap.rst.
bool isAsInFile(uintptr_t begin, uintptr_t end, uintptr_t page) {
  constexpr uint64_t present = uint64_t(1) << 63, swapped = uint64_t(1) << 62,
                     ofFile = uint64_t(1) << 61;
  std::vector<uint64_t> pages((end - begin) / page);
  std::ifstream file("/proc/self/pagemap", std::ios::binary);
  file.seekg(begin / page * sizeof(uint64_t));
  file.read(reinterpret_cast<char *>(pages.data()),
            pages.size() * sizeof(uint64_t));
  return file && std::all_of(pages.begin(), pages.end(), [](uint64_t bits) {
           return !(bits & (present | swapped)) || (bits & ofFile);
         });
}

/// Of the object that begins at `base`.
int releaseCode(dl_phdr_info *object, size_t, void *base) {
  if (object->dlpi_addr != reinterpret_cast<uintptr_t>(base))
    return 0;
  const uintptr_t page = sysconf(_SC_PAGESIZE);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) ||
        (segment.p_flags & PF_W))
      continue;
    uintptr_t at = object->dlpi_addr + segment.p_vaddr;
    uintptr_t begin = (at + page - 1) / page * page;
    uintptr_t end = (at + segment.p_filesz) / page * page;
    if (begin < end && isAsInFile(begin, end, page))
      // Locked in memory it stays.
      (void)madvise(static_cast<char *>(base) + (begin - object->dlpi_addr),
                    end - begin, MADV_DONTNEED);
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
