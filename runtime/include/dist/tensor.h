/*===- dist/tensor.h - Views of tensors -----------------------------------===*\
|*
|* Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* A tensor is handed over as a view: dense, row-major, in the process's
|* memory, owned by the caller.
|*
\*===----------------------------------------------------------------------===*/
#ifndef DIST_TENSOR_H
#define DIST_TENSOR_H

#include "dist/version.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum dist_data_type_t {
  DIST_DATA_TYPE_F32 = 1,
  DIST_DATA_TYPE_F64 = 2,
  DIST_DATA_TYPE_F16 = 3,
  DIST_DATA_TYPE_BF16 = 4,
  DIST_DATA_TYPE_BOOL = 5, /* a byte, 0 or 1 */
  DIST_DATA_TYPE_I8 = 6,
  DIST_DATA_TYPE_I16 = 7,
  DIST_DATA_TYPE_I32 = 8,
  DIST_DATA_TYPE_I64 = 9,
  DIST_DATA_TYPE_U8 = 10,
  DIST_DATA_TYPE_U16 = 11,
  DIST_DATA_TYPE_U32 = 12,
  DIST_DATA_TYPE_U64 = 13
} dist_data_type_t;

typedef struct dist_tensor_t {
  dist_data_type_t type;
  int32_t num_dims;
  const int64_t *dims;
  /* Never written through. Inputs that start at a multiple of 64 bytes are not
     copied. */
  const void *data;
} dist_tensor_t;

/* Bytes of one element; 0 for no type. */
DIST_API size_t dist_data_type_size(dist_data_type_t type);
/* "f32", "i64", ... */
DIST_API const char *dist_data_type_name(dist_data_type_t type);
/* Bytes of all elements; 0 where no memory has such dims. */
DIST_API size_t dist_tensor_bytes(const dist_tensor_t *tensor);

#ifdef __cplusplus
}
#endif

#endif /* DIST_TENSOR_H */
