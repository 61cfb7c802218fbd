/*===- dist/fit.h - The usual training loop -------------------------------===*\
|*
|* Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* The loop of `dist-run fit` over data in memory: epochs, shuffling, short last
|* batches, validation, states to go on from. The app hears of each step and
|* each epoch, on the thread that called; it may use the session there (read
|* variables, set the learning rate, save), and end the run.
|*
\*===----------------------------------------------------------------------===*/
#ifndef DIST_FIT_H
#define DIST_FIT_H

#include "dist/checkpoint.h"
#include "dist/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A step that is done. Epochs and steps count from 1. */
typedef struct dist_step_t {
  size_t struct_size;
  int64_t epoch;
  int64_t step;     /* from the start of training */
  int64_t examples; /* of its batch */
  double loss;
  double learning_rate; /* NaN where the step does not tell */
  double seconds;
} dist_step_t;

/* An epoch that is done: "loss", the metrics, and with validation data
   "val_loss" and so on. The arrays live until the function returns. */
typedef struct dist_epoch_t {
  size_t struct_size;
  int64_t epoch;
  int32_t num_values;
  const char *const *names;
  const double *values;
  double seconds;
} dist_epoch_t;

typedef struct dist_fit_options_t {
  size_t struct_size;
  /* Where both are given, the run ends with whichever ends first. */
  int64_t epochs; /* 0: as many as the steps take; without any, 1 */
  int64_t steps;  /* 0: as many as the epochs have */
  /* File order instead of an order that follows from the seed. */
  int32_t keep_order;
  uint64_t seed;
  int32_t drop_remainder;
  /* A folder of states (dist/checkpoint.h); NULL: none. */
  const char *checkpoint;
  dist_checkpoint_use_t use;
  int64_t keep;       /* 0: 3 */
  int64_t save_every; /* steps; 0: each epoch */
  /* NULL: not called. What they return is not 0: the run ends there, its
     state saved where there is a folder. They get `data`. */
  int (*on_step)(void *data, const dist_step_t *step);
  int (*on_epoch)(void *data, const dist_epoch_t *epoch);
  void *data;
  /* States are written while training goes on, from a copy in memory. */
  int32_t async_save;
} dist_fit_options_t;
#define DIST_FIT_OPTIONS_INIT                                                  \
  {sizeof(dist_fit_options_t), 0, 0, 0,    0,    0,    NULL,                   \
   DIST_CHECKPOINT_NEW,        0, 0, NULL, NULL, NULL, 0}

/* Trains on `columns`, one for each input and label of the training step in
   their order, all examples along dim 0; what is of another type is converted
   as dist-run converts it. `validation` has as many, or is NULL. Data are not
   copied and stay as they are until this returns. `options` may be NULL.
   `out_step`, which may be NULL, gets the number of steps that are done, of
   earlier runs too. Where the last state cannot be saved, as on a full disk,
   that is the error, and the variables are those of the run's end. */
DIST_API dist_status_t *
dist_session_fit(dist_session_t *session, const dist_tensor_t *columns,
                 int32_t num_columns, const dist_tensor_t *validation,
                 const dist_fit_options_t *options, int64_t *out_step);

#ifdef __cplusplus
}
#endif

#endif /* DIST_FIT_H */
