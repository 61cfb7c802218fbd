//===- types.h - Element types and tensor views -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_TYPES_H
#define RUNTIME_CORE_TYPES_H

#include "runtime/core/manifest.pb.h"
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace dist {

using manifest::DataType;

/// Bytes of one element (bool: 1).
size_t byteSize(DataType type);
/// Whether it is one of the integers without a sign.
bool isUnsigned(DataType type);
/// Calls use(a value of the type) where it is an integer, else does nothing.
template <typename Use> void withIntegerType(DataType type, Use use) {
  switch (type) {
  case manifest::I8:
    return use(int8_t());
  case manifest::I16:
    return use(int16_t());
  case manifest::I32:
    return use(int32_t());
  case manifest::I64:
    return use(int64_t());
  case manifest::U8:
    return use(uint8_t());
  case manifest::U16:
    return use(uint16_t());
  case manifest::U32:
    return use(uint32_t());
  case manifest::U64:
    return use(uint64_t());
  default:
    return;
  }
}
/// "f32", "i64", "bool", ...
const char *name(DataType type);
/// Product of the dims (1 for a scalar).
int64_t elementCount(const std::vector<int64_t> &shape);
std::string toString(const std::vector<int64_t> &shape);

/// Of a tensor as a manifest describes it; `byteSize` is for those that were
/// checked when they were read: it does not look for overflow.
std::vector<int64_t> shapeOf(const manifest::TensorType &type);
size_t byteSize(const manifest::TensorType &type);
/// Whether two have the same elements and the same shape.
bool isSameType(const manifest::TensorType &a, const manifest::TensorType &b);

/// A dense row-major tensor in memory of the caller's.
struct TensorView {
  DataType type = manifest::DATA_TYPE_UNKNOWN;
  std::vector<int64_t> shape;
  const void *data = nullptr;
  size_t bytes() const { return byteSize(type) * elementCount(shape); }
};

/// Every buffer that compiled programs see starts at a multiple of this.
constexpr size_t bufferAlignment = 64;

/// Memory that compiled programs can use as it is; new elements of a resized
/// vector are left as they are, since they are about to be written.
template <typename T> struct BufferAllocator {
  using value_type = T;
  BufferAllocator() = default;
  template <typename U> BufferAllocator(const BufferAllocator<U> &) {}
  T *allocate(size_t count) {
    return static_cast<T *>(
        ::operator new(count * sizeof(T), std::align_val_t(bufferAlignment)));
  }
  void deallocate(T *pointer, size_t) {
    ::operator delete(pointer, std::align_val_t(bufferAlignment));
  }
  template <typename U> void construct(U *pointer) { ::new (pointer) U; }
  template <typename U, typename... Args>
  void construct(U *pointer, Args &&...args) {
    ::new (pointer) U(std::forward<Args>(args)...);
  }
  bool operator==(const BufferAllocator &) const { return true; }
  bool operator!=(const BufferAllocator &) const { return false; }
};
using Buffer = std::vector<char, BufferAllocator<char>>;

/// A dense row-major tensor with its own memory.
struct Tensor {
  DataType type = manifest::DATA_TYPE_UNKNOWN;
  std::vector<int64_t> shape;
  Buffer data;
  TensorView view() const { return {type, shape, data.data()}; }
};
Tensor makeZeros(const manifest::TensorType &type);

} // namespace dist

#endif // RUNTIME_CORE_TYPES_H
