/*===- dist/status.h - Result of a call -----------------------------------===*\
|*
|* Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Every call that can fail returns a status: NULL when it succeeded, else an
|* object that says what, where, why and what to do, which the caller frees.
|* Nothing is printed, thrown or ended.
|*
\*===----------------------------------------------------------------------===*/
#ifndef DIST_STATUS_H
#define DIST_STATUS_H

#include "dist/version.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum dist_status_code_t {
  DIST_STATUS_OK = 0,
  /* A file, data or a model is at fault. */
  DIST_STATUS_INVALID_INPUT = 1,
  /* The call is wrong. */
  DIST_STATUS_INVALID_ARGUMENT = 2,
  /* A device, a peer or the system failed. */
  DIST_STATUS_UNAVAILABLE = 3,
  /* The runtime is at fault. */
  DIST_STATUS_INTERNAL = 4,
  /* The app asked for it (dist_session_cancel). */
  DIST_STATUS_CANCELLED = 5
} dist_status_code_t;

typedef struct dist_status_t dist_status_t;

/* OK for NULL. */
DIST_API dist_status_code_t dist_status_code(const dist_status_t *status);
/* One line; "" for NULL. Lives as long as the status. */
DIST_API const char *dist_status_message(const dist_status_t *status);
/* NULL is fine. */
DIST_API void dist_status_free(dist_status_t *status);

#ifdef __cplusplus
}
#endif

#endif /* DIST_STATUS_H */
