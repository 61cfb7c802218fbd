//===- dist/session.hpp - The C API with owners, in C++17 -------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thin layer over dist/api.h, all of it in this header: a session closes
// itself, tensors know their dims, and a status that is not OK becomes an
// exception (`dist::api::Error`). Nothing of the library throws; an app without
// exceptions uses the C API.
//
//   using namespace dist::api;
//   Session session("digits.package");
//   double loss =
//       session.trainStep({view(images, {32, 64}), view(labels, {32})});
//
//===----------------------------------------------------------------------===//
#ifndef DIST_SESSION_HPP
#define DIST_SESSION_HPP

#include "dist/api.h"
#include <algorithm>
#include <memory>
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

/// A view of elements in memory, dense and row-major. Such that start at a
/// multiple of 64 bytes are not copied.
template <typename T>
TensorView view(const T *data, std::vector<int64_t> dims) {
  return TensorView(DataTypeOf<T>::value, std::move(dims), data);
}

/// A loaded package. Loading it runs its code: load what you trust. One thread
/// at a time may use a session.
class Session {
public:
  explicit Session(const std::string &package, double collectiveTimeout = 0) {
    dist_session_options_t options = {};
    options.struct_size = sizeof options;
    options.collective_timeout = collectiveTimeout;
    dist_session_t *opened = nullptr;
    check(dist_session_open(package.c_str(), &options, &opened));
    handle.reset(opened);
  }
  /// For calls that this header has no word for.
  dist_session_t *get() const { return handle.get(); }

  std::vector<std::string> entries() const {
    std::vector<std::string> names;
    while (const char *name =
               dist_session_entry_name(get(), int32_t(names.size())))
      names.push_back(name);
    return names;
  }
  std::vector<dist_binding_t> inputs(const std::string &entry) const {
    return bindings(entry, dist_session_input_count, dist_session_input);
  }
  std::vector<dist_binding_t> outputs(const std::string &entry) const {
    return bindings(entry, dist_session_output_count, dist_session_output);
  }

  /// What the entry gives; valid until the next run of this session.
  std::vector<TensorView> run(const std::string &entry,
                              const std::vector<TensorView> &inputs) {
    std::vector<dist_tensor_t> in = raw(inputs);
    std::vector<dist_tensor_t> out(
        size_t(std::max(0, dist_session_output_count(get(), entry.c_str()))));
    check(dist_session_run(get(), entry.c_str(), in.data(), int32_t(in.size()),
                           out.data(), int32_t(out.size())));
    return {out.begin(), out.end()};
  }
  std::vector<TensorView> predict(const std::vector<TensorView> &inputs) {
    return run("predict", inputs);
  }
  /// The loss of a step on a full batch: inputs, then labels.
  double trainStep(const std::vector<TensorView> &inputs) {
    std::vector<dist_tensor_t> in = raw(inputs);
    double loss = 0;
    check(dist_session_train_step(get(), in.data(), int32_t(in.size()), &loss));
    return loss;
  }

  std::vector<dist_variable_t> variables() const {
    std::vector<dist_variable_t> all(
        size_t(dist_session_variable_count(get())));
    for (size_t i = 0; i < all.size(); ++i)
      check(dist_session_variable(get(), int32_t(i), &all[i]));
    return all;
  }
  /// A copy of the variable's elements.
  template <typename T> std::vector<T> read(const std::string &name) {
    int32_t index = find(name);
    dist_variable_t variable = {};
    check(dist_session_variable(get(), index, &variable));
    TensorView shape(variable.type,
                     {variable.dims, variable.dims + variable.num_dims},
                     nullptr);
    shape.as<T>(); // of that type
    std::vector<T> values(size_t(shape.elements()));
    check(dist_session_read_variable(get(), index, values.data(),
                                     values.size() * sizeof(T)));
    return values;
  }
  void write(const std::string &name, const TensorView &value) {
    dist_tensor_t tensor = value.raw();
    check(dist_session_write_variable(get(), find(name), &tensor));
  }
  void reset() { check(dist_session_reset(get())); }
  void save(const std::string &path) {
    check(dist_session_save(get(), path.c_str()));
  }

private:
  struct Close {
    void operator()(dist_session_t *session) const {
      dist_session_close(session);
    }
  };
  static std::vector<dist_tensor_t> raw(const std::vector<TensorView> &views) {
    std::vector<dist_tensor_t> tensors;
    for (const TensorView &one : views)
      tensors.push_back(one.raw());
    return tensors;
  }
  template <typename Count, typename Get>
  std::vector<dist_binding_t> bindings(const std::string &entry, Count count,
                                       Get getOne) const {
    int32_t size = count(get(), entry.c_str());
    if (size < 0)
      throw Error(DIST_STATUS_INVALID_ARGUMENT,
                  "the package has no entry '" + entry + "'");
    std::vector<dist_binding_t> all(static_cast<size_t>(size));
    for (int32_t i = 0; i < size; ++i)
      check(getOne(get(), entry.c_str(), i, &all[size_t(i)]));
    return all;
  }
  int32_t find(const std::string &name) const {
    int32_t index = dist_session_find_variable(get(), name.c_str());
    if (index < 0)
      throw Error(DIST_STATUS_INVALID_ARGUMENT,
                  "the package has no variable '" + name + "'");
    return index;
  }

  std::unique_ptr<dist_session_t, Close> handle;
};

} // namespace dist::api

#endif // DIST_SESSION_HPP
