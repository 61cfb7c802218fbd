/*===- dist/version.h - Version of the runtime ----------------------------===*\
|*
|* Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* The version, and what marks the functions that the library exports.
|*
\*===----------------------------------------------------------------------===*/
#ifndef DIST_VERSION_H
#define DIST_VERSION_H

#define DIST_VERSION_MAJOR 0
#define DIST_VERSION_MINOR 1
#define DIST_VERSION_PATCH 0

#if defined(__GNUC__)
#define DIST_API __attribute__((visibility("default")))
#else
#define DIST_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0": of the library, which may be newer than these headers. */
DIST_API const char *dist_version_string(void);

#ifdef __cplusplus
}
#endif

#endif /* DIST_VERSION_H */
