//===- values.cpp - C interface: version, status, tensors -----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/capi.h"
#include "runtime/core/one_line.h"
#include <new>

using namespace dist;

#define DIST_TEXT2(x) #x
#define DIST_TEXT(x) DIST_TEXT2(x)

const char *dist_version_string(void) {
  return DIST_TEXT(DIST_VERSION_MAJOR) "." DIST_TEXT(
      DIST_VERSION_MINOR) "." DIST_TEXT(DIST_VERSION_PATCH);
}

// Handed out when there is no memory left for a status; never freed.
static dist_status_t &outOfMemory() {
  static dist_status_t status{Status::outOfMemory().code(),
                              Status::outOfMemory().message()};
  return status;
}

dist_status_t *dist::toC(Status status) noexcept {
  if (status.ok())
    return nullptr;
  try {
    return new dist_status_t{status.code(), onOneLine(status.message())};
  } catch (const std::bad_alloc &) {
    return &outOfMemory();
  }
}

dist_status_code_t dist_status_code(const dist_status_t *status) {
  return status ? static_cast<dist_status_code_t>(status->code)
                : DIST_STATUS_OK;
}

const char *dist_status_message(const dist_status_t *status) {
  return status ? status->message.c_str() : "";
}

void dist_status_free(dist_status_t *status) {
  if (status != &outOfMemory())
    delete status;
}

static DataType typeOf(const dist_data_type_t &given) {
  return static_cast<DataType>(numberOf(given));
}

size_t dist_data_type_size(dist_data_type_t type) {
  return byteSize(typeOf(type));
}

const char *dist_data_type_name(dist_data_type_t type) {
  return name(typeOf(type));
}

/// False: no memory has such dims.
static bool countBytes(const dist_tensor_t &tensor, size_t *out) {
  if (tensor.num_dims < 0 || (tensor.num_dims > 0 && !tensor.dims))
    return false;
  const std::vector<int64_t> dims(tensor.dims, tensor.dims + tensor.num_dims);
  return checkedBytes(dims, byteSize(typeOf(tensor.type)), out);
}

size_t dist_tensor_bytes(const dist_tensor_t *tensor) {
  size_t bytes = 0;
  return tensor && countBytes(*tensor, &bytes) ? bytes : 0;
}

Status dist::toView(const dist_tensor_t *tensor, TensorView *out) {
  if (!tensor || tensor->num_dims < 0 ||
      (tensor->num_dims > 0 && !tensor->dims) ||
      byteSize(typeOf(tensor->type)) == 0)
    return badArgument("a tensor needs a type, dims and data");
  size_t bytes = 0;
  if (!countBytes(*tensor, &bytes))
    return badArgument("a tensor has a dim below 0, or more elements than "
                       "memory has room for");
  out->type = typeOf(tensor->type);
  out->shape.assign(tensor->dims, tensor->dims + tensor->num_dims);
  out->data = tensor->data;
  return Status();
}
