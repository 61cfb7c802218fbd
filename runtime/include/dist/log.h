/*===- dist/log.h - Messages of the library -------------------------------===*\
|*
|* Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Nothing is printed: an app that wants to show what the library has to say
|* beside results and errors gives it a function.
|*
\*===----------------------------------------------------------------------===*/
#ifndef DIST_LOG_H
#define DIST_LOG_H

#include "dist/version.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum dist_log_level_t {
  DIST_LOG_INFO = 0,
  /* What users should know: a device that hangs, a state that was damaged. */
  DIST_LOG_WARNING = 1
} dist_log_level_t;

/* `message` is one line, and lives until the function returns. A session calls
   it from any thread, never from two at once. It must not use the session. */
typedef void (*dist_log_fn)(void *data, dist_log_level_t level,
                            const char *message);

#ifdef __cplusplus
}
#endif

#endif /* DIST_LOG_H */
