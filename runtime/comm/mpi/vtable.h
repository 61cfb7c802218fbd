//===- vtable.h - What a site's MPI does for us -----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MPI has no ABI: what calls it is built on the site that has it. So it is a
// shared library of its own, libdist_mpi.so, which gives this table and is
// loaded when it is asked for; nothing else of ours links MPI. Plain C, so that
// the library may come from another compiler.
//
// Calls start something and return; `test` says when it is over. One thread at
// a time calls: MPI_THREAD_SERIALIZED. Results: 0, or a code of MPI's that
// `explain` puts into words.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_MPI_VTABLE_H
#define RUNTIME_COMM_MPI_VTABLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Another one whenever a member changes. */
#define DIST_COMM_VTABLE_VERSION 2
#define DIST_COMM_VTABLE_SYMBOL "dist_comm_get_vtable"

/* Of the elements that are reduced. */
enum dist_comm_type {
  DIST_COMM_F32,
  DIST_COMM_F64,
  DIST_COMM_I8,
  DIST_COMM_I16,
  DIST_COMM_I32,
  DIST_COMM_I64,
  DIST_COMM_U8,
  DIST_COMM_U16,
  DIST_COMM_U32,
  DIST_COMM_U64
};
enum dist_comm_reduction {
  DIST_COMM_SUM,
  DIST_COMM_MAX,
  DIST_COMM_MIN,
  DIST_COMM_PRODUCT
};

/* Some of the ranks, and something under way; the library's. */
typedef struct dist_comm_group dist_comm_group;
typedef struct dist_comm_request dist_comm_request;

enum { DIST_COMM_ANY_RANK = -1 };

typedef struct dist_comm_vtable {
  uint32_t version;
  /* Begins MPI, once a process; later calls give the same. `all`: those that
     mpirun has started. A code of -1: it has no MPI_THREAD_SERIALIZED. */
  int (*init)(dist_comm_group **all, int *rank, int *ranks);
  void (*explain)(int code, char *text, size_t size);
  /* Who cannot go on: MPI is left alone at the process's end, where it would
     wait for all. */
  void (*give_up)(void);
  /* Largest tag of send and recv; at least 32767. */
  int (*max_tag)(void);

  /* All ranks of `of` together: one group for each color, in order of keys. */
  int (*split)(dist_comm_group *of, int color, int key, dist_comm_group **out);
  void (*free_group)(dist_comm_group *group);

  /* `count` elements, at most 2^31 - 1 of them; `from` may be `to`. */
  int (*all_reduce)(dist_comm_group *group, const void *from, void *to,
                    int64_t count, int type, int reduction,
                    dist_comm_request **out);
  /* `count` elements stay with each. */
  int (*reduce_scatter)(dist_comm_group *group, const void *from, void *to,
                        int64_t count, int type, int reduction,
                        dist_comm_request **out);
  /* `bytes` of each rank, and for each: at most 2^31 - 1. */
  int (*all_gather)(dist_comm_group *group, const void *from, void *to,
                    int64_t bytes, dist_comm_request **out);
  int (*all_to_all)(dist_comm_group *group, const void *from, void *to,
                    int64_t bytes, dist_comm_request **out);
  int (*broadcast)(dist_comm_group *group, void *data, int64_t bytes, int root,
                   dist_comm_request **out);
  int (*send)(dist_comm_group *group, const void *data, int64_t bytes, int to,
              int tag, dist_comm_request **out);
  /* Whether a message of the tag has come from a rank, and its bytes: what a
     `recv` that follows takes. */
  int (*probe)(dist_comm_group *group, int from, int tag, int *found,
               int64_t *bytes);
  /* Up to `bytes`; `from` may be DIST_COMM_ANY_RANK. */
  int (*recv)(dist_comm_group *group, void *data, int64_t bytes, int from,
              int tag, dist_comm_request **out);

  /* Whether it is over, of which the request is freed then, and with an error,
     too. Moves all that is under way. */
  int (*test)(dist_comm_request *request, int *done);
  /* Of a recv that nothing has come for. */
  void (*cancel)(dist_comm_request *request);
} dist_comm_vtable;

/* The library's one symbol, DIST_COMM_VTABLE_SYMBOL. */
typedef const dist_comm_vtable *(*dist_comm_get_vtable_fn)(void);

#ifdef __cplusplus
}
#endif

#endif // RUNTIME_COMM_MPI_VTABLE_H
