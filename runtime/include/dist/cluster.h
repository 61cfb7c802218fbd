/*===- dist/cluster.h - A coordinator's closures on a cluster -------------===*\
|*
|* Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Asynchronous training with parameter servers, as
|* tf.distribute.coordinator.ClusterCoordinator has it. Every process of the
|* cluster runs the same program and opens the same package, compiled with
|* --strategy parameter-server --servers M --workers N (any number of workers
|* may run it). Each registers the same datasets and functions. Workers and
|* servers then call dist_cluster_serve, which returns when the run is over; the
|* chief schedules closures, which any worker runs.
|*
|* Errors of closures: the first one that fails takes with it those that no
|* worker has begun; when those under way have ended, the next call of schedule,
|* join or done tells the error, once, and the cluster can be used again. A
|* closure of a lost worker is run by another one. A step counts once, a
|* function may run twice. A worker's process that is started again, with the
|* same index, takes the lost one's place; so does one by itself that wakes up
|* and finds itself given up. What ends the run (a server is lost, the last
|* worker is) every call tells: close the cluster, start all again, and load a
|* state.
|*
|* In libdist_cluster, which has all of libdist_runtime in it and UCX and gRPC
|* besides: link one of the two, in CMake dist::cluster instead of
|* dist::runtime (find_package(DistRuntime COMPONENTS cluster)).
|*
\*===----------------------------------------------------------------------===*/
#ifndef DIST_CLUSTER_H
#define DIST_CLUSTER_H

#include "dist/session.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dist_cluster_t dist_cluster_t;
/* What a closure will have given. */
typedef struct dist_remote_value_t dist_remote_value_t;

typedef enum dist_task_t {
  DIST_TASK_CHIEF = 0,
  DIST_TASK_WORKER = 1,
  DIST_TASK_SERVER = 2
} dist_task_t;

typedef struct dist_cluster_options_t {
  size_t struct_size;
  /* TF_CONFIG's text: who is in the cluster ("chief", "worker", "ps") and which
     of them this process is. Needed. */
  const char *tf_config;
  /* What the processes know each other by: text of 16 characters or more, the
     same in all. Needed where the addresses are not this machine's alone. */
  const char *job_secret;
  /* Seconds until all processes must be there; 0: 300. */
  double start_timeout;
  /* Seconds of silence after which a process is lost; 0: 0.9. */
  double heartbeat_timeout;
  /* Seconds after which a worker that has shown no result is late: another one
     that has nothing else to do runs its closure, too; 0: 30. */
  double patience;
  /* Closures that are not done: with so many, schedule waits; 0: 262144. */
  int64_t queue_limit;
  /* A step begins when all are done that are more than so many before it; less
     than 0: at once. */
  int64_t staleness;
  /* Gets what the library has to say; NULL: it is dropped. */
  dist_log_fn log;
  void *log_data;
  /* Where the processes meet, in place of the chief: "coordinator://HOST:PORT"
     of a dist-run coordinator, "etcd://HOST:PORT,..." or, by TLS,
     "etcds://...". NULL: at the chief. An etcd in clear text is to be this
     machine's. */
  const char *store;
  /* Of an etcd by TLS, in PEM: the authorities whose certificates it may show,
     which are needed, and what is shown to it. */
  const char *store_authority;
  const char *store_certificate;
  const char *store_key;
  /* The ports that this process may listen at beside that of tf_config, from
     one to another: one a device, and one more for the chief; 0: any. */
  int32_t first_port;
  int32_t last_port;
  /* The network interface that others reach this process by, as "eth0", or
     several, as "eth0,eth1"; one that is not there is an error. NULL: that of
     its address in tf_config. */
  const char *network_interface;
  /* The chief's: seconds that it waits for a worker to come back when none is
     left; 0: the run is over then. */
  double return_timeout;
} dist_cluster_options_t;
#define DIST_CLUSTER_OPTIONS_INIT                                              \
  {sizeof(dist_cluster_options_t),                                             \
   NULL,                                                                       \
   NULL,                                                                       \
   0,                                                                          \
   0,                                                                          \
   0,                                                                          \
   0,                                                                          \
   -1,                                                                         \
   NULL,                                                                       \
   NULL,                                                                       \
   NULL,                                                                       \
   NULL,                                                                       \
   NULL,                                                                       \
   NULL,                                                                       \
   0,                                                                          \
   0,                                                                          \
   NULL,                                                                       \
   0}

/* Waits for the other processes and loads the package. To be called before the
   process has a second thread: UCX takes its settings from the environment, in
   which this sets what is not there. */
DIST_API dist_status_t *dist_cluster_open(const char *package,
                                          const dist_cluster_options_t *options,
                                          dist_cluster_t **out_cluster);
/* The chief's: the run is over, for all; closures that are not done are
   cancelled, so join before. Values stay. NULL is fine. */
DIST_API void dist_cluster_close(dist_cluster_t *cluster);

DIST_API dist_task_t dist_cluster_task(const dist_cluster_t *cluster);
/* This process among those of its task; from 0 on. */
DIST_API int32_t dist_cluster_task_index(const dist_cluster_t *cluster);
DIST_API int32_t dist_cluster_worker_count(const dist_cluster_t *cluster);

/* A worker's dataset: columns in memory, one for each input and label of the
   training step, all examples along dim 0. It is read again and again, in an
   order that follows from `seed` plus the worker's index, or in its own. */
typedef struct dist_worker_data_t {
  size_t struct_size;
  const dist_tensor_t *columns;
  int32_t num_columns;
  int32_t keep_order;
  uint64_t seed;
  int32_t drop_remainder;
  /* Why there is none, for the closure's error; NULL: nothing is said. */
  const char *why;
} dist_worker_data_t;
#define DIST_WORKER_DATA_INIT                                                  \
  {sizeof(dist_worker_data_t), NULL, 0, 0, 0, 0, NULL}

/* Makes the dataset of a worker, which calls it when a closure asks for it
   first. What `out` points to stays as it is until dist_cluster_close. Not 0:
   it cannot, and the closure fails: `out->why` may say why. */
typedef int (*dist_dataset_fn)(void *data, int32_t worker,
                               dist_worker_data_t *out);
/* One dataset a worker, each its own iterator
   (create_per_worker_dataset). In all processes, before they serve or
   schedule. */
DIST_API dist_status_t *dist_cluster_register_dataset(dist_cluster_t *cluster,
                                                      const char *name,
                                                      dist_dataset_fn make,
                                                      void *data);

/* A closure on its worker. */
typedef struct dist_call_t {
  size_t struct_size;
  int32_t worker;
  const void *argument;
  size_t argument_bytes;
  /* The worker's session, with the servers' variables as they were when the
     closure began: to be read, predicted and evaluated with. What is written
     there reaches no server. NULL where servers hold tables of which only rows
     travel. */
  dist_session_t *session;
} dist_call_t;
/* What a function gives. */
typedef struct dist_result_t dist_result_t;
/* The function's value; copied. At most DIST_CLUSTER_MAX_BYTES. */
DIST_API dist_status_t *dist_result_set(dist_result_t *result, const void *data,
                                        size_t bytes);
#define DIST_CLUSTER_MAX_BYTES ((size_t)64 << 20)
/* NULL for success; what it gives fails the closure, and is freed. */
typedef dist_status_t *(*dist_function_fn)(void *data, const dist_call_t *call,
                                           dist_result_t *result);
/* For errors of functions. NULL where there is no memory. */
DIST_API dist_status_t *dist_status_make(dist_status_code_t code,
                                         const char *message);
DIST_API dist_status_t *dist_cluster_register_function(dist_cluster_t *cluster,
                                                       const char *name,
                                                       dist_function_fn call,
                                                       void *data);

/* A worker's and a server's part: returns when the run is over. */
DIST_API dist_status_t *dist_cluster_serve(dist_cluster_t *cluster);

/* What follows is the chief's. Any thread may call it. */

/* A training step on the next batch of the dataset of the worker that runs it.
   Returns at once, but where the queue is full, or a closure has failed whose
   error it is to tell: it waits then for those under way. `out_value` may be
   NULL. */
DIST_API dist_status_t *
dist_cluster_schedule_step(dist_cluster_t *cluster, const char *dataset,
                           dist_remote_value_t **out_value);
/* A function, with a copy of the argument: at most DIST_CLUSTER_MAX_BYTES. */
DIST_API dist_status_t *dist_cluster_schedule(dist_cluster_t *cluster,
                                              const char *function,
                                              const void *argument,
                                              size_t argument_bytes,
                                              dist_remote_value_t **out_value);
/* Waits until all that was scheduled is done. */
DIST_API dist_status_t *dist_cluster_join(dist_cluster_t *cluster);
/* Whether it is; does not wait. */
DIST_API dist_status_t *dist_cluster_done(dist_cluster_t *cluster,
                                          int32_t *out_done);

/* What a closure gave. */
typedef struct dist_fetched_t {
  size_t struct_size;
  int32_t worker;
  /* Of a step. */
  double loss;
  int64_t examples;
  double learning_rate; /* NaN where the step does not tell */
  int32_t finite;       /* loss and gradients; else there was no update */
  /* Of a function; live as long as the value. */
  const void *data;
  size_t bytes;
} dist_fetched_t;
#define DIST_FETCHED_INIT {sizeof(dist_fetched_t), 0, 0, 0, 0, 0, NULL, 0}

/* Waits for a closure. Errors: its own; DIST_STATUS_CANCELLED where an earlier
   one failed or the cluster was closed; what ended the run. Any thread, as
   often as wanted. */
DIST_API dist_status_t *dist_remote_value_fetch(dist_remote_value_t *value,
                                                dist_fetched_t *out_fetched);
/* The closure runs all the same. NULL is fine. */
DIST_API void dist_remote_value_free(dist_remote_value_t *value);

/* The chief's session, as long as the cluster: its variables are the servers',
   with what their optimizers know, so that it saves, loads, evaluates and
   predicts as any session does. One thread at a time, and not while closures
   are under way: join before. NULL for others than the chief. */
DIST_API dist_session_t *dist_cluster_session(dist_cluster_t *cluster);

#ifdef __cplusplus
}
#endif

#endif /* DIST_CLUSTER_H */
