/*===- c_headers_test.c - Each public header alone, in C11 ----------------===*\
|*
|* Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
#include "dist/checkpoint.h"

#include "dist/cluster.h"
#include "dist/fit.h"
#include "dist/log.h"
#include "dist/session.h"
#include "dist/status.h"
#include "dist/team.h"
#include "dist/tensor.h"
#include "dist/version.h"

#include "dist/api.h"

_Static_assert(DIST_STATUS_OK == 0, "NULL is OK");

/* Of capi_test.cpp: the calls from C. */
int countEntriesInC(const dist_session_t *session);

int countEntriesInC(const dist_session_t *session) {
  int count = 0;
  while (dist_session_entry_name(session, count))
    ++count;
  return count;
}
