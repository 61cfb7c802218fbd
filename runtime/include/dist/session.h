/*===- dist/session.h - A program package that trains and predicts --------===*\
|*
|* Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* A session is a loaded package, as `dist-opt --emit=package` writes it, on
|* the devices it was compiled for. One thread at a time may use it, but for
|* dist_session_cancel. All tensors are global: the runtime cuts batches and
|* puts results together. A device of several threads has helpers that sleep
|* soon and leave CPUs that other programs want to these, as long as the
|* library's kernels of its program can be cut into parts. Where one can not,
|* all of it computes on libgomp's threads, which wait awake for milliseconds at
|* a kernel's end: then start the app with GOMP_SPINCOUNT=5000 in its
|* environment, as dist-run does for itself. Devices that want all of the
|* process's CPUs compute on one of their own each; helpers stay there, and the
|* threads of devices, the calling one included, go there when they find
|* themselves elsewhere, but are not bound to it.
|*
|* A child process (fork) has none of these threads. It opens sessions of its
|* own: that of several devices, or on libgomp's threads, is refused there. What
|* is to run on libgomp's threads is opened by the child alone, or by another of
|* its threads.
|*
|* A call that fails or is cancelled while its entry runs leaves the variables
|* that the entry changes between two steps. Whatever reads them is refused
|* then, by name, until they have been written: by dist_session_reset, by
|* loading a state (dist/checkpoint.h), or by dist_session_write_variable.
|*
\*===----------------------------------------------------------------------===*/
#ifndef DIST_SESSION_H
#define DIST_SESSION_H

#include "dist/log.h"
#include "dist/status.h"
#include "dist/team.h"
#include "dist/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dist_session_t dist_session_t;

/* Structs with `struct_size` may get more members, always behind those that are
   there. Who hands one over sets the size that it was compiled with, as the
   initializers here do: the library reads and fills no more than that, so that
   an app works with a newer library, and refuses what an older one does not
   know. Structs without it (dist_tensor_t) stay as they are. */

typedef struct dist_session_options_t {
  size_t struct_size;
  /* Seconds that devices wait for one that shows no progress (computing is
     progress); 0: 30. */
  double collective_timeout;
  /* Gets the session's messages; NULL: they are dropped. */
  dist_log_fn log;
  void *log_data;
  /* Threads that other sessions run on, too; NULL: the session's own. */
  dist_team_t *team;
  /* Of a package for several CPUs, the code for the one of this name; NULL: of
     those that this machine can run the one that uses most of it. */
  const char *cpu_variant;
} dist_session_options_t;
#define DIST_SESSION_OPTIONS_INIT                                              \
  {sizeof(dist_session_options_t), 0, NULL, NULL, NULL, NULL}

/* Loads a package with its initial weights. `options` may be NULL. Loading a
   package runs its code, with all the rights of the app: open those that you
   compiled, or trust as you trust a program, from folders that no one else may
   write to. Its files are read, not mapped, and not needed any more when this
   returns, but for program.so, which must not be changed in place. */
DIST_API dist_status_t *dist_session_open(const char *package,
                                          const dist_session_options_t *options,
                                          dist_session_t **out_session);
/* NULL is fine. */
DIST_API void dist_session_close(dist_session_t *session);

/* Ends the call that runs entries in this session now: it returns
   DIST_STATUS_CANCELLED, unless it is done by then. Without such a call nothing
   happens. One that runs several (dist_session_fit, dist_session_predict) may
   end between two of them, too, which leaves the variables whole;
   dist_session_fit saves the state then, where it has a folder. Any thread may
   call it, while the session is open; a kernel that has begun is not
   interrupted. */
DIST_API void dist_session_cancel(dist_session_t *session);

/* One argument or result of an entry. Names live as long as the session. */
typedef enum dist_role_t {
  DIST_ROLE_INPUT = 0,
  DIST_ROLE_LABEL = 1,
  DIST_ROLE_MASK = 2,  /* partial batches: which rows are examples */
  DIST_ROLE_COUNT = 3, /* partial batches: how many there are */
  DIST_ROLE_OUTPUT = 5,
  DIST_ROLE_LOSS = 6,
  DIST_ROLE_LEARNING_RATE = 7,
  DIST_ROLE_FINITE = 9,    /* whether loss and gradients are: one i1; none with
                              --on-nonfinite continue */
  DIST_ROLE_GRADIENT = 11, /* of the variable or input of its name */
  DIST_ROLE_OTHER = 15
} dist_role_t;

typedef struct dist_binding_t {
  size_t struct_size;
  const char *name;
  dist_role_t role;
  dist_data_type_t type;
  int32_t num_dims;
  const int64_t *dims;
} dist_binding_t;
#define DIST_BINDING_INIT                                                      \
  {sizeof(dist_binding_t), NULL, DIST_ROLE_INPUT, DIST_DATA_TYPE_F32, 0, NULL}

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
   many as the entry gives; their data stay until the next run of this entry,
   which may take them as its inputs. */
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
/* Predicts any one number of examples (the first dim of the inputs that have
   examples, and of the outputs): through "predict", or where the package was
   compiled for several batches (--batch-sizes; "predict_batchN") through those
   that take the least time together; what the last of them lacks is filled up.
   Fails where an output depends on all examples of a batch. */
DIST_API dist_status_t *dist_session_predict(dist_session_t *session,
                                             const dist_tensor_t *inputs,
                                             int32_t num_inputs,
                                             dist_tensor_t *out_outputs,
                                             int32_t num_outputs);

/* The two halves of a step, for loops that do something in between; of packages
   that are compiled with --entries ...,gradients,apply.
   dist_session_gradients runs "gradients" on a full batch, inputs, then labels:
   the step up to its update. Of its gradients, which are summed over all
   devices, `out_gradients` gets the first `num_gradients`: those by the
   trainable variables, as "apply" takes them, then those by the inputs that
   --input-gradients named. Their data stay until the next run of "gradients".
   `out_loss` may be NULL. dist_session_apply updates the variables; it takes as
   many gradients as dist_session_input_count tells of "apply". */
DIST_API dist_status_t *
dist_session_gradients(dist_session_t *session, const dist_tensor_t *inputs,
                       int32_t num_inputs, double *out_loss,
                       dist_tensor_t *out_gradients, int32_t num_gradients);
DIST_API dist_status_t *dist_session_apply(dist_session_t *session,
                                           const dist_tensor_t *gradients,
                                           int32_t num_gradients);

typedef enum dist_reduction_t {
  DIST_REDUCTION_SUM = 0,
  DIST_REDUCTION_MEAN = 1, /* of floats */
  DIST_REDUCTION_MAX = 2,
  DIST_REDUCTION_MIN = 3
} dist_reduction_t;

/* Reduces a value of the app's over all processes of the session, each of which
   calls this with its own: element by element, and where `axis` is no less than
   0 first along that dim of each (a mean is that of all elements then, whatever
   each process has of them). A session of one process has its own value.
   `out_data` gets elements of the value's type, in its dims without the axis.
 */
DIST_API dist_status_t *dist_session_reduce(dist_session_t *session,
                                            dist_reduction_t reduction,
                                            int32_t axis,
                                            const dist_tensor_t *value,
                                            void *out_data, size_t bytes);

/* Variables, by number: weights, the optimizer's and the metrics' state. Type
   and dims are those of the value that is read and written: where each replica
   has a row of its own (moving means of batch norm under `mirrored`), one
   row's. */
typedef struct dist_variable_t {
  size_t struct_size;
  const char *name;
  int32_t trainable;
  dist_data_type_t type;
  int32_t num_dims;
  const int64_t *dims;
} dist_variable_t;
#define DIST_VARIABLE_INIT                                                     \
  {sizeof(dist_variable_t), NULL, 0, DIST_DATA_TYPE_F32, 0, NULL}

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
/* The optimizer's learning rate, of which the schedule makes each step's: with
   none, that of the next steps. Of packages that are compiled with
   --settable-lr; it is a variable, which states keep. */
DIST_API dist_status_t *dist_session_learning_rate(dist_session_t *session,
                                                   double *out_rate);
DIST_API dist_status_t *dist_session_set_learning_rate(dist_session_t *session,
                                                       double rate);
/* Back to the initial values of the package that was opened, whatever has its
   name by now. */
DIST_API dist_status_t *dist_session_reset(dist_session_t *session);
/* Writes all variables to a safetensors file; the file is whole or as before.
 */
DIST_API dist_status_t *dist_session_save(dist_session_t *session,
                                          const char *path);
/* Writes variables from a safetensors file: each tensor of the file is the
   value of the variable of its name, or of its name in the model file. All of
   the model's variables must be there and fit; of the others (the optimizer's
   and the metrics' state) those that are not there stay as they are. Nothing is
   written unless all tensors fit. States with the position in the data are
   checkpoints: dist/checkpoint.h. */
DIST_API dist_status_t *dist_session_load(dist_session_t *session,
                                          const char *path);

#ifdef __cplusplus
}
#endif

#endif /* DIST_SESSION_H */
