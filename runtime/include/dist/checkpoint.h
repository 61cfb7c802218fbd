/*===- dist/checkpoint.h - States to go on from ---------------------------===*\
|*
|* Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* A checkpoint folder belongs to one run: the states of one session, the
|* newest of which a later process goes on from, and which no other run can
|* write to. A state is whole on the disk or not there at all; damaged ones are
|* passed over. Such folders are those of dist-run, too. Any strategy and
|* number of devices loads what any other has saved.
|*
\*===----------------------------------------------------------------------===*/
#ifndef DIST_CHECKPOINT_H
#define DIST_CHECKPOINT_H

#include "dist/session.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dist_checkpoint_t dist_checkpoint_t;

/* What is to happen to states that are in the folder. */
typedef enum dist_checkpoint_use_t {
  /* Refused: they are another run's. */
  DIST_CHECKPOINT_NEW = 0,
  /* The run goes on with them, or begins where there are none. */
  DIST_CHECKPOINT_RESUME = 1,
  /* Removed. */
  DIST_CHECKPOINT_OVERWRITE = 2
} dist_checkpoint_use_t;

typedef struct dist_checkpoint_options_t {
  size_t struct_size;
  dist_checkpoint_use_t use;
  /* So many of the newest states stay; 0: 3. */
  int64_t keep;
} dist_checkpoint_options_t;
#define DIST_CHECKPOINT_OPTIONS_INIT                                           \
  {sizeof(dist_checkpoint_options_t), DIST_CHECKPOINT_NEW, 0}

/* Makes the folder if it is missing, and holds it until it is closed; the
   session must be open as long. `options` may be NULL. With
   DIST_CHECKPOINT_RESUME the session gets the newest sound state, and
   `out_step`, which may be NULL, the step that it was saved at; -1 where there
   is none. Messages about damaged states, and about what begins anew because
   the program is not quite the one that saved, go to the session's log. Errors:
   another process holds the folder, it has states of another run or model. */
DIST_API dist_status_t *
dist_checkpoint_open(const char *folder, dist_session_t *session,
                     const dist_checkpoint_options_t *options,
                     dist_checkpoint_t **out_checkpoint, int64_t *out_step);
/* Saves the session's variables as the state of a step; one of that step is
   replaced. What the app needs to go on with besides it keeps itself, as a
   function of the step. */
DIST_API dist_status_t *dist_checkpoint_save(dist_checkpoint_t *checkpoint,
                                             int64_t step);
/* NULL is fine. */
DIST_API void dist_checkpoint_close(dist_checkpoint_t *checkpoint);

#ifdef __cplusplus
}
#endif

#endif /* DIST_CHECKPOINT_H */
