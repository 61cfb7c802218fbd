/*===- dist/session.h - A program package that trains and predicts --------===*\
|*
|* Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* A session is a loaded package, as `dist-opt --emit=package` writes it, on the
|* devices it was compiled for. One thread at a time may use it. All tensors are
|* global: the runtime cuts batches and puts results together. A device of
|* several threads computes on libgomp's, which wait awake for milliseconds at a
|* kernel's end: where other programs want the CPUs, start the app with
|* GOMP_SPINCOUNT=5000 in its environment, as dist-run does for itself. Devices
|* that want all of the process's CPUs compute on one of their own each; their
|* threads, the calling one included, go there when they find themselves
|* elsewhere, but are not bound to it.
|*
\*===----------------------------------------------------------------------===*/
#ifndef DIST_SESSION_H
#define DIST_SESSION_H

#include "dist/status.h"
#include "dist/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dist_session_t dist_session_t;

typedef struct dist_session_options_t {
  size_t struct_size; /* sizeof(dist_session_options_t) */
  /* Seconds that devices wait for one that shows no progress (computing is
     progress); 0: 30. */
  double collective_timeout;
} dist_session_options_t;

/* Loads a package with its initial weights. `options` may be NULL. Loading a
   package runs its code, with all the rights of the app: open those that you
   compiled, or trust as you trust a program, from folders that nobody else may
   write to. Its files are read, not mapped, and not needed any more when this
   returns, but for program.so, which must not be changed in place. */
DIST_API dist_status_t *dist_session_open(const char *package,
                                          const dist_session_options_t *options,
                                          dist_session_t **out_session);
/* NULL is fine. */
DIST_API void dist_session_close(dist_session_t *session);

/* One argument or result of an entry. Names live as long as the session. */
typedef enum dist_role_t {
  DIST_ROLE_INPUT = 0,
  DIST_ROLE_LABEL = 1,
  DIST_ROLE_MASK = 2,  /* partial batches: which rows are examples */
  DIST_ROLE_COUNT = 3, /* partial batches: how many there are */
  DIST_ROLE_OUTPUT = 5,
  DIST_ROLE_LOSS = 6,
  DIST_ROLE_LEARNING_RATE = 7,
  DIST_ROLE_OTHER = 15
} dist_role_t;

typedef struct dist_binding_t {
  const char *name;
  dist_role_t role;
  dist_data_type_t type;
  int32_t num_dims;
  const int64_t *dims;
} dist_binding_t;

/* Entries ("train_step", "predict", ...), by number; NULL past the last. */
DIST_API const char *dist_session_entry_name(const dist_session_t *session,
                                             int32_t index);
/* How many tensors an entry takes and gives; -1 when there is no such entry. */
DIST_API int32_t dist_session_input_count(const dist_session_t *session,
                                          const char *entry);
DIST_API int32_t dist_session_output_count(const dist_session_t *session,
                                           const char *entry);
DIST_API dist_status_t *dist_session_input(const dist_session_t *session,
                                           const char *entry, int32_t index,
                                           dist_binding_t *out_binding);
DIST_API dist_status_t *dist_session_output(const dist_session_t *session,
                                            const char *entry, int32_t index,
                                            dist_binding_t *out_binding);

/* Runs an entry. `out_outputs` has room for `num_outputs` views, at most as
   many as the entry gives; their data stay until the next run of this session.
 */
DIST_API dist_status_t *
dist_session_run(dist_session_t *session, const char *entry,
                 const dist_tensor_t *inputs, int32_t num_inputs,
                 dist_tensor_t *out_outputs, int32_t num_outputs);

/* Runs "train_step" on a full batch: inputs, then labels, as dist_session_input
   lists them. `out_loss` may be NULL. */
DIST_API dist_status_t *dist_session_train_step(dist_session_t *session,
                                                const dist_tensor_t *inputs,
                                                int32_t num_inputs,
                                                double *out_loss);
/* Runs "predict" on a full batch. */
DIST_API dist_status_t *dist_session_predict(dist_session_t *session,
                                             const dist_tensor_t *inputs,
                                             int32_t num_inputs,
                                             dist_tensor_t *out_outputs,
                                             int32_t num_outputs);

/* Variables, by number: weights, the optimizer's and the metrics' state. */
typedef struct dist_variable_t {
  const char *name;
  int32_t trainable;
  dist_data_type_t type;
  int32_t num_dims;
  const int64_t *dims;
} dist_variable_t;

DIST_API int32_t dist_session_variable_count(const dist_session_t *session);
DIST_API dist_status_t *dist_session_variable(const dist_session_t *session,
                                              int32_t index,
                                              dist_variable_t *out_variable);
/* Number of the variable of that name, or -1. */
DIST_API int32_t dist_session_find_variable(const dist_session_t *session,
                                            const char *name);
/* Copies a value out; `bytes` is the room at `out_data`. */
DIST_API dist_status_t *dist_session_read_variable(dist_session_t *session,
                                                   int32_t index,
                                                   void *out_data,
                                                   size_t bytes);
DIST_API dist_status_t *dist_session_write_variable(dist_session_t *session,
                                                    int32_t index,
                                                    const dist_tensor_t *value);
/* Back to the package's initial values. */
DIST_API dist_status_t *dist_session_reset(dist_session_t *session);
/* Writes all variables to a safetensors file; the file is whole or as before.
 */
DIST_API dist_status_t *dist_session_save(dist_session_t *session,
                                          const char *path);

#ifdef __cplusplus
}
#endif

#endif /* DIST_SESSION_H */
