/*===- peer_mpi.c - Times a site's MPI ------------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints "BYTES SECONDS" for each size of an all-reduce of f32, the median of
// the times of rank 0, as process_collectives does:
//
//   mpirun -n 2 peer_mpi 8,1048576
//
//===----------------------------------------------------------------------===*/
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void fail(const char *why) {
  fprintf(stderr, "peer_mpi: error: %s\n", why);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int count, char **arguments) {
  int rank;
  char *size;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (count != 2)
    fail("expected the sizes, between commas");
  for (size = strtok(arguments[1], ","); size; size = strtok(NULL, ",")) {
    long bytes = atol(size), elements = bytes / (long)sizeof(float), i;
    /* As many as process_collectives.cpp takes. */
    long times = (long)(0.2 / (20e-6 + bytes / 2e9));
    float *data = calloc(elements, sizeof(float));
    double *seconds;
    times = times < 5 ? 5 : times > 5000 ? 5000 : times;
    seconds = malloc(times * sizeof(double));
    if (!data || !seconds)
      fail("no memory");
    for (i = -2; i < times; ++i) {
      double begin = MPI_Wtime();
      MPI_Allreduce(MPI_IN_PLACE, data, (int)elements, MPI_FLOAT, MPI_SUM,
                    MPI_COMM_WORLD);
      if (i >= 0)
        seconds[i] = MPI_Wtime() - begin;
    }
    qsort(seconds, times, sizeof(double), compare);
    if (rank == 0)
      printf("%ld %.9f\n", bytes, seconds[times / 2]);
    free(data);
    free(seconds);
  }
  MPI_Finalize();
  return 0;
}
