//===- library_kernel_fixture.h - Running library kernels on plain tensors ===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_LIBRARY_KERNEL_FIXTURE_H
#define TEST_RUNTIME_LIBRARY_KERNEL_FIXTURE_H

#include "runtime/core/types.h"
#include "runtime/device/cpu/library_kernel.h"
#include <cmath>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <random>

namespace dist::cpu::test {

using Spec = manifest::LibraryKernel;
using Dims = std::vector<int64_t>;

inline Dims rowMajor(const Dims &dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;)
    strides[i - 1] = strides[i] * dims[i];
  return strides;
}

/// Strides of logical N,C,spatial stored as N,spatial,C.
inline Dims channelsLast(const Dims &dims) {
  Dims strides(dims.size());
  int64_t step = dims[1];
  strides[1] = 1;
  for (size_t i = dims.size(); i-- > 2;) {
    strides[i] = step;
    step *= dims[i];
  }
  strides[0] = step;
  return strides;
}

inline Spec::Memory memory(const Dims &dims, const Dims &strides,
                           DataType type = manifest::F32) {
  Spec::Memory result;
  result.set_type(type);
  for (int64_t dim : dims)
    result.add_dims(dim);
  for (int64_t stride : strides)
    result.add_strides(stride);
  return result;
}

inline float fromBf16(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}
inline uint16_t toBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

/// A logical tensor of floats, kept row-major; loads and stores convert.
struct Logical {
  Dims dims;
  std::vector<float> values;
  explicit Logical(Dims d) : dims(d), values(elementCount(d)) {}
  void fill(unsigned seed) {
    std::mt19937 random(seed);
    for (float &value : values) // exact in bf16, too
      value = int(random() % 17) / 8.0f - 1.0f;
  }
  float &at(const Dims &index) {
    int64_t offset = 0;
    for (size_t i = 0; i < dims.size(); ++i)
      offset = offset * dims[i] + index[i];
    return values[offset];
  }
  void each(const std::function<void(const Dims &)> &visit) const {
    Dims index(dims.size(), 0);
    for (size_t n = 0; n < values.size(); ++n) {
      visit(index);
      for (size_t i = dims.size(); i-- > 0;) {
        if (++index[i] < dims[i])
          break;
        index[i] = 0;
      }
    }
  }
  std::vector<char> store(const Spec::Memory &memory) const {
    size_t last = 0;
    for (int i = 0; i < memory.dims_size(); ++i)
      last += (memory.dims(i) - 1) * memory.strides(i);
    std::vector<char> bytes((last + 1) * byteSize(memory.type()), 0x7f);
    size_t n = 0;
    each([&](const Dims &index) {
      size_t at = offset(memory, index);
      float value = values[n++];
      if (memory.type() == manifest::BF16)
        reinterpret_cast<uint16_t *>(bytes.data())[at] = toBf16(value);
      else
        reinterpret_cast<float *>(bytes.data())[at] = value;
    });
    return bytes;
  }
  void load(const Spec::Memory &memory, const std::vector<char> &bytes) {
    size_t n = 0;
    each([&](const Dims &index) {
      size_t at = offset(memory, index);
      values[n++] =
          memory.type() == manifest::BF16
              ? fromBf16(reinterpret_cast<const uint16_t *>(bytes.data())[at])
              : reinterpret_cast<const float *>(bytes.data())[at];
    });
  }
  static size_t offset(const Spec::Memory &memory, const Dims &index) {
    size_t at = 0;
    for (size_t i = 0; i < index.size(); ++i)
      at += index[i] * memory.strides(i);
    return at;
  }
};

inline void expectNear(const Logical &actual, const Logical &expected,
                       float tolerance) {
  ASSERT_EQ(actual.dims, expected.dims);
  float largest = 1;
  for (float value : expected.values)
    largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < actual.values.size(); ++i)
    ASSERT_NEAR(actual.values[i], expected.values[i], tolerance * largest)
        << "element " << i;
}

/// Runs kernel `index` of the table; every buffer starts where the caller says.
inline void runKernel(const KernelTable &table, int index, int threads,
                      std::vector<void *> buffers) {
  LibraryKernelInfo info;
  Status status = describe(table, index, threads, &info);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_NE(info.implementation, "");
  Buffer scratch(info.scratchpadBytes);
  std::fill(scratch.begin(), scratch.end(), 0x55);
  if (info.scratchpadBytes)
    buffers.push_back(scratch.data());
  std::unique_ptr<LibraryKernel> kernel;
  status = LibraryKernel::create(table, index, threads, &kernel);
  ASSERT_TRUE(status.ok()) << status.message();
  // Twice: the second run must not lean on state of the first.
  for (int i = 0; i < 2; ++i) {
    status = kernel->run(buffers.data());
    ASSERT_TRUE(status.ok()) << status.message();
  }
}

inline Dims with(Dims head, const Dims &tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

} // namespace dist::cpu::test

#endif // TEST_RUNTIME_LIBRARY_KERNEL_FIXTURE_H
