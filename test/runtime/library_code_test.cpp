//===- library_code_test.cpp - What the library's code takes --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/library_code.h"
#include "test/runtime/library_kernel_fixture.h"
#include <dlfcn.h>
#include <dnnl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>

namespace dist::cpu {
namespace {

/// KiB of the mapping with `address` that are in this process's memory.
int64_t residentKiB(const void *address) {
  std::ifstream file("/proc/self/smaps");
  bool isThere = false;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    uint64_t begin = 0, end = 0;
    char dash = 0;
    if (words >> std::hex >> begin >> dash >> end && dash == '-')
      isThere = reinterpret_cast<uint64_t>(address) >= begin &&
                reinterpret_cast<uint64_t>(address) < end;
    else if (isThere && line.rfind("Rss:", 0) == 0)
      return std::stoll(line.substr(4));
  }
  ADD_FAILURE() << "no mapping has " << address;
  return 0;
}

/// A product of ones by a new kernel.
float multiplyOnes(int64_t inner) {
  KernelTable table;
  test::Spec &spec = *table.Add();
  spec.set_kind(test::Spec::MATMUL);
  for (const test::Dims &dims : {test::Dims{8, inner}, {inner, 8}, {8, 8}})
    *spec.add_memories() = test::memory(dims, test::rowMajor(dims));
  std::unique_ptr<LibraryKernel> kernel;
  Status status = LibraryKernel::create(table, 0, 1, &kernel);
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<float> ones(8 * inner, 1), result(64);
  std::vector<char> scratchpad(kernel->scratchpadBytes() + 1);
  void *buffers[] = {ones.data(), ones.data(), result.data(),
                     scratchpad.data()};
  status = kernel->run(buffers);
  EXPECT_TRUE(status.ok()) << status.message();
  return result[63];
}

TEST(LibraryCode, ReturnsWhenItIsCalledAgain) {
  const void *code = reinterpret_cast<const void *>(&dnnl_version);
  EXPECT_EQ(multiplyOnes(40), 40);
  int64_t before = residentKiB(code);
  releaseLibraryCode();
  EXPECT_LT(residentKiB(code), before / 2) << before;
  EXPECT_EQ(multiplyOnes(41), 41);
  EXPECT_GT(residentKiB(code), 0);
}

/// No data of the program's, for which the thread sanitizer has shadows.
__attribute__((no_sanitize("thread"))) static void
writeAgain(volatile char *code) {
  *code = *code;
}

/// As a debugger writes a breakpoint: the page is this process's own then.
TEST(LibraryCode, StaysWhereItWasWrittenInto) {
  const uintptr_t size = sysconf(_SC_PAGESIZE);
  Dl_info library;
  ASSERT_NE(dladdr(reinterpret_cast<const void *>(&dnnl_version), &library), 0);
  auto *base = static_cast<char *>(library.dli_fbase);
  auto begin = reinterpret_cast<uintptr_t>(base);
  auto at = reinterpret_cast<uintptr_t>(&dnnl_version);
  char *page = base + (at / size * size - begin);
  volatile char *code = base + (at - begin);
  if (mprotect(page, size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
    GTEST_SKIP() << "the system lets nobody write code";
  writeAgain(code);
  ASSERT_EQ(mprotect(page, size, PROT_READ | PROT_EXEC), 0);
  EXPECT_EQ(multiplyOnes(42), 42);
  const void *address = page;
  int64_t before = residentKiB(address);
  releaseLibraryCode();
  EXPECT_EQ(residentKiB(address), before);
  // For the other test: the file's page again.
  EXPECT_EQ(madvise(page, size, MADV_DONTNEED), 0);
}

} // namespace
} // namespace dist::cpu
