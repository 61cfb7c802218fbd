//===- shim.cpp - libdist_mpi.so: the table, by an MPI --------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/mpi/vtable.h"
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <mpi.h>

struct dist_comm_group {
  MPI_Comm comm;
};
struct dist_comm_request {
  MPI_Request request = MPI_REQUEST_NULL;
  dist_comm_request *next = nullptr; // of those that are free
};

namespace {

constexpr int notThreaded = -1;

dist_comm_group world{MPI_COMM_NULL};
bool isGivenUp = false;

/// Those that are over, for calls to come: a step takes no memory.
dist_comm_request *freeRequests = nullptr;

dist_comm_request *takeRequest() {
  dist_comm_request *one = freeRequests;
  if (!one)
    return new dist_comm_request;
  freeRequests = one->next;
  one->request = MPI_REQUEST_NULL;
  return one;
}

void giveBack(dist_comm_request *request) {
  request->next = freeRequests;
  freeRequests = request;
}

void finish() {
  int finalized = 0;
  if (!isGivenUp && MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized)
    MPI_Finalize();
}

int init(dist_comm_group **all, int *rank, int *ranks) {
  int begun = 0, level = MPI_THREAD_SINGLE;
  MPI_Initialized(&begun);
  int code =
      begun ? MPI_Query_thread(&level)
            : MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level);
  if (code != MPI_SUCCESS)
    return code;
  // Not by who embeds us and has begun it: it is theirs to end.
  if (!begun)
    std::atexit(finish);
  if (level < MPI_THREAD_SERIALIZED)
    return notThreaded;
  world.comm = MPI_COMM_WORLD;
  // Else a lost peer ends this process before it has said why.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  *all = &world;
  code = MPI_Comm_rank(world.comm, rank);
  return code ? code : MPI_Comm_size(world.comm, ranks);
}

void explain(int code, char *text, size_t size) {
  char words[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (code == notThreaded)
    std::snprintf(words, sizeof words, "it has no MPI_THREAD_SERIALIZED");
  else if (MPI_Error_string(code, words, &length) != MPI_SUCCESS)
    std::snprintf(words, sizeof words, "error %d", code);
  std::snprintf(text, size, "%s", words);
}

void giveUp() { isGivenUp = true; }

int maxTag() {
  int *value = nullptr, found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &found);
  return found ? *value : 32767;
}

int split(dist_comm_group *of, int color, int key, dist_comm_group **out) {
  MPI_Comm comm = MPI_COMM_NULL;
  int code = MPI_Comm_split(of->comm, color, key, &comm);
  if (code != MPI_SUCCESS)
    return code;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  *out = new dist_comm_group{comm};
  return MPI_SUCCESS;
}

void freeGroup(dist_comm_group *group) {
  int finalized = 0;
  // All ranks of it would have to come.
  if (!isGivenUp && MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized)
    MPI_Comm_free(&group->comm);
  delete group;
}

MPI_Datatype typeOf(int type) {
  switch (type) {
  case DIST_COMM_F32:
    return MPI_FLOAT;
  case DIST_COMM_F64:
    return MPI_DOUBLE;
  case DIST_COMM_I8:
    return MPI_INT8_T;
  case DIST_COMM_I16:
    return MPI_INT16_T;
  case DIST_COMM_I32:
    return MPI_INT32_T;
  case DIST_COMM_I64:
    return MPI_INT64_T;
  case DIST_COMM_U8:
    return MPI_UINT8_T;
  case DIST_COMM_U16:
    return MPI_UINT16_T;
  case DIST_COMM_U32:
    return MPI_UINT32_T;
  case DIST_COMM_U64:
    return MPI_UINT64_T;
  default:
    return MPI_DATATYPE_NULL;
  }
}

MPI_Op opOf(int reduction) {
  switch (reduction) {
  case DIST_COMM_SUM:
    return MPI_SUM;
  case DIST_COMM_MAX:
    return MPI_MAX;
  case DIST_COMM_MIN:
    return MPI_MIN;
  case DIST_COMM_PRODUCT:
    return MPI_PROD;
  default:
    return MPI_OP_NULL;
  }
}

/// Starts what `call` starts.
template <typename Call>
int start(int64_t count, dist_comm_request **out, Call call) {
  if (count < 0 || count > INT_MAX)
    return MPI_ERR_COUNT;
  dist_comm_request *made = takeRequest();
  int code = call(int(count), &made->request);
  if (code == MPI_SUCCESS)
    *out = made;
  else
    giveBack(made);
  return code;
}

int allReduce(dist_comm_group *group, const void *from, void *to, int64_t count,
              int type, int reduction, dist_comm_request **out) {
  return start(count, out, [&](int n, MPI_Request *request) {
    return MPI_Iallreduce(from == to ? MPI_IN_PLACE : from, to, n, typeOf(type),
                          opOf(reduction), group->comm, request);
  });
}

int reduceScatter(dist_comm_group *group, const void *from, void *to,
                  int64_t count, int type, int reduction,
                  dist_comm_request **out) {
  return start(count, out, [&](int n, MPI_Request *request) {
    return MPI_Ireduce_scatter_block(from, to, n, typeOf(type), opOf(reduction),
                                     group->comm, request);
  });
}

int allGather(dist_comm_group *group, const void *from, void *to, int64_t bytes,
              dist_comm_request **out) {
  return start(bytes, out, [&](int n, MPI_Request *request) {
    return MPI_Iallgather(from, n, MPI_BYTE, to, n, MPI_BYTE, group->comm,
                          request);
  });
}

int allToAll(dist_comm_group *group, const void *from, void *to, int64_t bytes,
             dist_comm_request **out) {
  return start(bytes, out, [&](int n, MPI_Request *request) {
    return MPI_Ialltoall(from, n, MPI_BYTE, to, n, MPI_BYTE, group->comm,
                         request);
  });
}

int broadcast(dist_comm_group *group, void *data, int64_t bytes, int root,
              dist_comm_request **out) {
  return start(bytes, out, [&](int n, MPI_Request *request) {
    return MPI_Ibcast(data, n, MPI_BYTE, root, group->comm, request);
  });
}

int send(dist_comm_group *group, const void *data, int64_t bytes, int to,
         int tag, dist_comm_request **out) {
  return start(bytes, out, [&](int n, MPI_Request *request) {
    return MPI_Isend(data, n, MPI_BYTE, to, tag, group->comm, request);
  });
}

int probe(dist_comm_group *group, int from, int tag, int *found,
          int64_t *bytes) {
  MPI_Status status;
  int count = 0;
  int code = MPI_Iprobe(from, tag, group->comm, found, &status);
  if (code == MPI_SUCCESS && *found)
    code = MPI_Get_count(&status, MPI_BYTE, &count);
  *bytes = count;
  return code;
}

int recv(dist_comm_group *group, void *data, int64_t bytes, int from, int tag,
         dist_comm_request **out) {
  return start(bytes, out, [&](int n, MPI_Request *request) {
    return MPI_Irecv(data, n, MPI_BYTE,
                     from == DIST_COMM_ANY_RANK ? MPI_ANY_SOURCE : from, tag,
                     group->comm, request);
  });
}

int test(dist_comm_request *request, int *done) {
  *done = 0;
  // The status has the error only where several are asked for at once.
  int code = MPI_Test(&request->request, done, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS || *done)
    giveBack(request);
  return code;
}

void cancel(dist_comm_request *request) {
  int finalized = 0;
  if (!isGivenUp && MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized &&
      MPI_Cancel(&request->request) == MPI_SUCCESS)
    MPI_Wait(&request->request, MPI_STATUS_IGNORE);
  giveBack(request);
}

const dist_comm_vtable table = {
    DIST_COMM_VTABLE_VERSION,
    init,
    explain,
    giveUp,
    maxTag,
    split,
    freeGroup,
    allReduce,
    reduceScatter,
    allGather,
    allToAll,
    broadcast,
    send,
    probe,
    recv,
    test,
    cancel,
};

} // namespace

extern "C" __attribute__((visibility("default"))) const dist_comm_vtable *
dist_comm_get_vtable(void) {
  return &table;
}
