/*===- abi.h - Between compiled programs and the runtime ------------------===*\
|*
|* Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
#ifndef RUNTIME_ABI_ABI_H
#define RUNTIME_ABI_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DIST_RT_ABI_VERSION 1

/* How elements combine; the `reduction` of collectives. */
enum { DIST_RT_SUM = 0, DIST_RT_MAX = 1, DIST_RT_MIN = 2, DIST_RT_PRODUCT = 3 };

/* Why generated code gives up; the `code` of dist_rt_fail. */
enum { DIST_RT_LABEL_OUT_OF_RANGE = 1, DIST_RT_INDEX_OUT_OF_RANGE = 2 };

/* One device's state while a step runs; opaque to programs. */
typedef struct dist_rt_context dist_rt_context;

/* A generated kernel: rows lo..hi-1 of its outermost loop. `chunk` numbers the
   range, for partial results of their own. */
typedef void (*dist_rt_kernel)(void **buffers, int64_t lo, int64_t hi,
                               int64_t chunk);

typedef struct dist_rt_api {
  uint32_t abi_version;
  uint32_t struct_size;
#define DIST_RT_FUNCTION(result, name, arguments, signature)                   \
  result(*name) arguments;
#include "runtime/abi/entrypoints.def"
#undef DIST_RT_FUNCTION
} dist_rt_api;

/* What program.so exports: `dist_program_init` takes the table (and gives
   non-zero when the version does not fit); then one function an entry. */
typedef int32_t (*dist_program_init_fn)(const dist_rt_api *api);
typedef int32_t (*dist_program_entry_fn)(dist_rt_context *context, char *arena,
                                         void **bindings);

#ifdef __cplusplus
}
#endif

#endif /* RUNTIME_ABI_ABI_H */
