//===- dist/tensor.hpp - Errors and views of tensors, in C++17 --*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What dist/session.hpp takes, gives and throws.
//
//===----------------------------------------------------------------------===//
#ifndef DIST_TENSOR_HPP
#define DIST_TENSOR_HPP

#include "dist/status.h"
#include "dist/tensor.h"
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace dist::api {

/// What went wrong, where, why and what to do, in one line.
class Error : public std::runtime_error {
public:
  Error(dist_status_code_t code, const std::string &message)
      : std::runtime_error(message), kind(code) {}
  dist_status_code_t code() const { return kind; }

private:
  dist_status_code_t kind;
};

/// Throws what the status says, and frees it.
inline void check(dist_status_t *status) {
  if (!status)
    return;
  Error error(dist_status_code(status), dist_status_message(status));
  dist_status_free(status);
  throw error;
}

/// The data type of a C++ type; others are no elements of tensors.
template <typename T> struct DataTypeOf;
template <> struct DataTypeOf<float> {
  static constexpr dist_data_type_t value = DIST_DATA_TYPE_F32;
};
template <> struct DataTypeOf<double> {
  static constexpr dist_data_type_t value = DIST_DATA_TYPE_F64;
};
template <> struct DataTypeOf<bool> {
  static constexpr dist_data_type_t value = DIST_DATA_TYPE_BOOL;
};
template <> struct DataTypeOf<int8_t> {
  static constexpr dist_data_type_t value = DIST_DATA_TYPE_I8;
};
template <> struct DataTypeOf<int16_t> {
  static constexpr dist_data_type_t value = DIST_DATA_TYPE_I16;
};
template <> struct DataTypeOf<int32_t> {
  static constexpr dist_data_type_t value = DIST_DATA_TYPE_I32;
};
template <> struct DataTypeOf<int64_t> {
  static constexpr dist_data_type_t value = DIST_DATA_TYPE_I64;
};
template <> struct DataTypeOf<uint8_t> {
  static constexpr dist_data_type_t value = DIST_DATA_TYPE_U8;
};
template <> struct DataTypeOf<uint16_t> {
  static constexpr dist_data_type_t value = DIST_DATA_TYPE_U16;
};
template <> struct DataTypeOf<uint32_t> {
  static constexpr dist_data_type_t value = DIST_DATA_TYPE_U32;
};
template <> struct DataTypeOf<uint64_t> {
  static constexpr dist_data_type_t value = DIST_DATA_TYPE_U64;
};

/// A view of a tensor with dims of its own; the data are somebody else's.
class TensorView {
public:
  TensorView(dist_data_type_t type, std::vector<int64_t> dims, const void *data)
      : kind(type), sizes(std::move(dims)), bytes(data) {}
  explicit TensorView(const dist_tensor_t &tensor)
      : kind(tensor.type), sizes(tensor.dims, tensor.dims + tensor.num_dims),
        bytes(tensor.data) {}

  dist_data_type_t type() const { return kind; }
  const std::vector<int64_t> &dims() const { return sizes; }
  const void *data() const { return bytes; }
  int64_t elements() const {
    int64_t count = 1;
    for (int64_t size : sizes)
      count *= size;
    return count;
  }
  /// The elements; throws where they are of another type.
  template <typename T> const T *as() const {
    if (kind != DataTypeOf<T>::value)
      throw Error(DIST_STATUS_INVALID_ARGUMENT,
                  std::string("the tensor's elements are ") +
                      dist_data_type_name(kind) + ", not " +
                      dist_data_type_name(DataTypeOf<T>::value));
    return static_cast<const T *>(bytes);
  }
  /// For the C API; lives as long as this view.
  dist_tensor_t raw() const {
    return {kind, int32_t(sizes.size()), sizes.data(), bytes};
  }

private:
  dist_data_type_t kind;
  std::vector<int64_t> sizes;
  const void *bytes;
};

/// For the C API; lives as long as the views.
inline std::vector<dist_tensor_t>
rawTensors(const std::vector<TensorView> &views) {
  std::vector<dist_tensor_t> tensors;
  for (const TensorView &one : views)
    tensors.push_back(one.raw());
  return tensors;
}

/// A view of elements in memory, dense and row-major. Such that start at a
/// multiple of 64 bytes are not copied.
template <typename T>
TensorView view(const T *data, std::vector<int64_t> dims) {
  return TensorView(DataTypeOf<T>::value, std::move(dims), data);
}

} // namespace dist::api

#endif // DIST_TENSOR_HPP
