/*===- abi.h - Between compiled programs and the runtime ------------------===*\
|*
|* Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
#ifndef RUNTIME_ABI_ABI_H
#define RUNTIME_ABI_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DIST_RT_ABI_VERSION 9

/* How elements combine; the `reduction` of collectives. */
enum { DIST_RT_SUM = 0, DIST_RT_MAX = 1, DIST_RT_MIN = 2, DIST_RT_PRODUCT = 3 };

/* How they go about an all_reduce: as the communicator finds best; in turns
   along a ring, a part each (16-bit floats are then rounded by each rank, else
   once); at place 0, from which all copy. Of messages: each sends its addends
   to each, which sums all; the same, but addends go on by others, in log2 of
   the ranks rounds; each sums a part, and sends it to all. In pairs, which sum
   half of what they have each, and then give each other the sums (16-bit floats
   are rounded in each round). */
enum {
  DIST_RT_ALGORITHM_AUTO = 0,
  DIST_RT_ALGORITHM_RING = 1,
  DIST_RT_ALGORITHM_REDUCE_TO_ONE = 2,
  DIST_RT_ALGORITHM_EXCHANGE = 3,
  DIST_RT_ALGORITHM_GATHER = 4,
  DIST_RT_ALGORITHM_PARTS = 5,
  DIST_RT_ALGORITHM_HALVING_DOUBLING = 6
};

/* What ranks do together; the `kind` of a collective. */
enum {
  DIST_RT_ALL_REDUCE = 0,
  DIST_RT_ALL_GATHER = 1,
  DIST_RT_ALL_SLICE = 2, /* of a rank's own buffer: no transfer */
  DIST_RT_REDUCE_SCATTER = 3,
  DIST_RT_ALL_TO_ALL = 4,
  DIST_RT_PERMUTE = 5,
  DIST_RT_BROADCAST = 6,
  DIST_RT_SEND = 7,
  DIST_RT_RECV = 8,
  DIST_RT_REDUCE = 9,  /* to the host; see dist_rt_collective */
  DIST_RT_BARRIER = 10 /* no pieces */
};

/* A collective's `ends`. */
enum { DIST_RT_GIVES_AND_TAKES = 0, DIST_RT_GIVES = 1, DIST_RT_TAKES = 2 };

/* One tensor of a collective. To a rank at place r of its group, blocks of
   `bytes` bytes, numbered (o, i) with o < outer and i < rows, go from
     from[p] + r * from_place + o * from_outer + i * from_row
   of the rank at place p, to its own
     to + p * to_place + o * to_outer + i * to_row
   (reductions combine what comes from all p). All in bytes. Everything that a
   split or a concatenation along any dim needs is in the strides, so that no
   pass packs or unpacks. */
typedef struct dist_rt_piece {
  int64_t type; /* a DataType of the manifest */
  int64_t outer, rows, bytes;
  int64_t from_outer, from_row, from_place;
  int64_t to_outer, to_row, to_place;
} dist_rt_piece;

/* A collective. Behind it lie, without gaps: `num_axes` numbers of mesh axes,
   major to minor (the group is the ranks that differ along them only, and a
   place in it counts in this order); `num_sources` places, by receiver, of a
   permute (-1: zeros); `num_pieces` pieces.
   The host of a mesh that has one is the place behind the axes' (which are all
   of the mesh's). Of a broadcast whose root it is, and of a reduce, it and the
   others run different programs: who gives has only `from`, who takes only
   `to`, as a send and a recv. */
typedef struct dist_rt_collective {
  int64_t kind;
  int64_t op;        /* the transfer's id in the manifest */
  int64_t ends;      /* which buffers there are */
  int64_t reduction; /* of all_reduce, reduce_scatter, reduce */
  int64_t algorithm; /* of all_reduce */
  int64_t peer;      /* place: broadcast's root, send's receiver, recv's sender,
                        reduce's host */
  int64_t tag;       /* send and recv of one tag belong together, in order */
  int64_t num_axes, num_sources, num_pieces;
} dist_rt_collective;

/* What a function of a program has ranks do together it lists, in the order in
   which its calls come, as constant words: of function f the exported symbol is
   f_collectives. The first word is the number of all, itself too; behind it lie
   dist_rt_collectives with their lists, without gaps. Calls give a place in the
   list, from 0. None: it has no such calls. The runtime reads it at load. */
#define DIST_RT_COLLECTIVES_SUFFIX "_collectives"

/* Why generated code gives up; the `code` of dist_rt_fail. */
enum { DIST_RT_LABEL_OUT_OF_RANGE = 1, DIST_RT_INDEX_OUT_OF_RANGE = 2 };

/* One device's state while a step runs; opaque to programs. */
typedef struct dist_rt_context dist_rt_context;

/* A generated kernel: rows lo..hi-1 of its outermost loop. `chunk` numbers the
   range, for partial results of their own. */
typedef void (*dist_rt_kernel)(void **buffers, int64_t lo, int64_t hi,
                               int64_t chunk);

typedef struct dist_rt_api {
  uint32_t abi_version;
  uint32_t struct_size;
#define DIST_RT_FUNCTION(result, name, arguments, signature)                   \
  result(*name) arguments;
#include "runtime/abi/entrypoints.def"
#undef DIST_RT_FUNCTION
} dist_rt_api;

/* Where memory is: the device's own, or the host's, in which programs of the
   mesh's host compute. */
enum {
  DIST_RT_DEVICE_MEMORY = 0,
  DIST_RT_HOST_MEMORY = 1,
  DIST_RT_MEMORIES /* how many there are */
};

/* What program.so exports: `dist_program_init` takes the table (and gives
   non-zero when the version does not fit); then one function an entry, which
   has an arena in each memory. */
typedef int32_t (*dist_program_init_fn)(const dist_rt_api *api);
typedef int32_t (*dist_program_entry_fn)(dist_rt_context *context,
                                         char *const *arenas, void **bindings);

#ifdef __cplusplus
}
#endif

#endif /* RUNTIME_ABI_ABI_H */
