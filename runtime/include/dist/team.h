/*===- dist/team.h - Threads that sessions share --------------------------===*\
|*
|* Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* A session has threads for its devices, one for each but the first, which
|* runs where the app calls. Sessions that get one team between them share
|* these, and take turns: there are as many as the largest session wants, not
|* as many as all together, and none keeps a CPU awake while another one
|* computes. Call such sessions from one thread, and they share its helpers,
|* too.
|*
\*===----------------------------------------------------------------------===*/
#ifndef DIST_TEAM_H
#define DIST_TEAM_H

#include "dist/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dist_team_t dist_team_t;

/* For dist_session_options_t. Threads come with the sessions that want them. */
DIST_API dist_status_t *dist_team_create(dist_team_t **out_team);
/* Sessions that run on it keep it as long as they are open. NULL is fine. */
DIST_API void dist_team_free(dist_team_t *team);

#ifdef __cplusplus
}
#endif

#endif /* DIST_TEAM_H */
