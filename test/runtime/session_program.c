/*===- session_program.c - A compiled program, written by hand ------------===*\
|*
|* Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* What the session's tests load: the functions of session_test.cpp's manifests.
|*
\*===----------------------------------------------------------------------===*/
#include "runtime/abi/abi.h"

#define EXPORT __attribute__((visibility("default")))
enum { F32 = 1 };

static dist_rt_api api;

EXPORT int32_t dist_program_init(const dist_rt_api *table) {
  if (table->abi_version != DIST_RT_ABI_VERSION)
    return 1;
  api = *table;
  return 0;
}

/* A collective of one tensor over the mesh's first axis. */
typedef struct {
  dist_rt_collective head;
  int64_t axis;
  dist_rt_piece piece;
} one_tensor;

#define ONE_TENSOR(kind, op, ends, peer, tag, count)                           \
  {{kind, op, ends, DIST_RT_SUM, 0, peer, tag, 1, 0, 1},                       \
   0,                                                                          \
   {F32, 1, 1, 4 * (count), 0, 0, 0, 0, 0, 0}}
#define ALL_REDUCE(op, count)                                                  \
  ONE_TENSOR(DIST_RT_ALL_REDUCE, op, DIST_RT_GIVES_AND_TAKES, 0, 0, count)

/* What a function has ranks do together: two at most. */
typedef struct {
  int64_t words;
  one_tensor all[2];
} one_tensor_list;
#define WORDS(number) (1 + (number) * sizeof(one_tensor) / sizeof(int64_t))
#define LIST(function, number, ...)                                            \
  EXPORT const one_tensor_list function##_collectives = {WORDS(number),        \
                                                         {__VA_ARGS__}};

/* The sum over the mesh's first axis, in place. */
static int32_t all_reduce(dist_rt_context *context, int32_t number,
                          float *data) {
  void *buffers[2] = {data, data};
  return api.collective(context, number, buffers);
}

/* y[i] = scale * (x[i] . w) */
static void rows(void **buffers, int64_t lo, int64_t hi, int64_t chunk) {
  const float *x = buffers[0], *scale = buffers[1], *w = buffers[2];
  float *y = buffers[3];
  (void)chunk;
  for (int64_t i = lo; i < hi; ++i)
    y[i] = *scale * (x[2 * i] * w[0] + x[2 * i + 1] * w[1]);
}

/* x, scale, w, seen -> y, loss (sum of y, all-reduced), part (own sum of y),
   w - 0.1 * sum of x (all-reduced), seen + own rows. x[0][0] may ask for
   trouble. */
static int32_t step(dist_rt_context *context, char *const *arenas,
                    void **bindings, int64_t count) {
  const float *x = bindings[0];
  float *w = bindings[2], *seen = bindings[3], *y = bindings[4],
        *loss = bindings[5], *part = bindings[6];
  float *gradient = (float *)arenas[DIST_RT_DEVICE_MEMORY];
  if (x[0] == 999)
    return api.fail(context, DIST_RT_LABEL_OUT_OF_RANGE, 4);
  if (x[0] == 777)
    return 7;
  void *buffers[4] = {bindings[0], bindings[1], bindings[2], bindings[4]};
  int32_t status = api.launch(context, rows, buffers, 4, count, 2);
  if (status)
    return status;
  gradient[0] = gradient[1] = *loss = 0;
  for (int64_t i = 0; i < count; ++i) {
    gradient[0] += x[2 * i];
    gradient[1] += x[2 * i + 1];
    *loss += y[i];
  }
  *part = *loss;
  status = all_reduce(context, 0, gradient);
  if (status)
    return status;
  status = all_reduce(context, 1, loss);
  if (status)
    return status;
  w[0] -= 0.1f * gradient[0];
  w[1] -= 0.1f * gradient[1];
  *seen += count;
  return 0;
}

LIST(step_of_4, 2, ALL_REDUCE(3, 2), ALL_REDUCE(4, 1))
EXPORT int32_t step_of_4(dist_rt_context *context, char *const *arenas,
                         void **bindings) {
  return step(context, arenas, bindings, 4);
}
LIST(step_of_2, 2, ALL_REDUCE(3, 2), ALL_REDUCE(4, 1))
EXPORT int32_t step_of_2(dist_rt_context *context, char *const *arenas,
                         void **bindings) {
  return step(context, arenas, bindings, 2);
}

/* w, prepared -> y: prepared counts its preparations and holds 2 * w[0]. */
EXPORT int32_t predict_prepare(dist_rt_context *context, char *const *arenas,
                               void **bindings) {
  const float *w = bindings[0];
  float *prepared = bindings[1];
  (void)context, (void)arenas;
  prepared[0] = 2 * w[0];
  prepared[1] += 1;
  return 0;
}
EXPORT int32_t predict(dist_rt_context *context, char *const *arenas,
                       void **bindings) {
  const float *prepared = bindings[1];
  float *y = bindings[2];
  (void)context, (void)arenas;
  y[0] = prepared[0];
  y[1] = prepared[1];
  return 0;
}

/* x -> y: the elements from the last to the first. */
EXPORT int32_t reversed(dist_rt_context *context, char *const *arenas,
                        void **bindings) {
  const float *x = bindings[0];
  float *y = bindings[1];
  (void)context, (void)arenas;
  for (int64_t i = 0; i < 4; ++i)
    y[i] = x[3 - i];
  return 0;
}

/* a, b -> c, by the library. */
EXPORT int32_t product(dist_rt_context *context, char *const *arenas,
                       void **bindings) {
  (void)arenas;
  void *buffers[3] = {bindings[0], bindings[1], bindings[2]};
  return api.library(context, 0, buffers);
}

/* Stage 0 of a pipeline: x, w, n -> w + 1, n + 1; sends x * w. */
LIST(front, 1, ONE_TENSOR(DIST_RT_SEND, 0, DIST_RT_GIVES, 1, 5, 2))
EXPORT int32_t front(dist_rt_context *context, char *const *arenas,
                     void **bindings) {
  const float *x = bindings[0];
  float *w = bindings[1], *n = bindings[2],
        *product = (float *)arenas[DIST_RT_DEVICE_MEMORY];
  for (int64_t i = 0; i < 2; ++i) {
    product[i] = x[i] * w[i];
    w[i] += 1;
  }
  *n += 1;
  void *buffers[1] = {product};
  return api.collective(context, 0, buffers);
}
/* Stage 1: y, b, n -> what it receives + y + b, b + 10, n + 1. */
LIST(back, 1, ONE_TENSOR(DIST_RT_RECV, 0, DIST_RT_TAKES, 0, 5, 2))
EXPORT int32_t back(dist_rt_context *context, char *const *arenas,
                    void **bindings) {
  const float *y = bindings[0];
  float *b = bindings[1], *n = bindings[2], *z = bindings[3];
  void *buffers[1] = {arenas[DIST_RT_DEVICE_MEMORY]};
  int32_t status = api.collective(context, 0, buffers);
  if (status)
    return status;
  for (int64_t i = 0; i < 2; ++i)
    z[i] = ((float *)arenas[DIST_RT_DEVICE_MEMORY])[i] + y[i] + b[0];
  b[0] += 10;
  *n += 1;
  return 0;
}

/* With the host behind the two devices of the mesh's first axis: this rank
   gives, or takes. */
#define WITH_HOST(kind, op, ends, count) ONE_TENSOR(kind, op, ends, 2, 0, count)

static int32_t host_transfer(dist_rt_context *context, int32_t number,
                             float *data) {
  void *buffers[1] = {data};
  return api.collective(context, number, buffers);
}

/* A device: x -> x * w[0] + w[1]; gives the host the sum of x, and how many. */
LIST(device, 2, WITH_HOST(DIST_RT_BROADCAST, 7, DIST_RT_TAKES, 2),
     WITH_HOST(DIST_RT_REDUCE, 8, DIST_RT_GIVES, 2))
EXPORT int32_t device(dist_rt_context *context, char *const *arenas,
                      void **bindings) {
  const float *x = bindings[0];
  float *y = bindings[1], *w = (float *)arenas[DIST_RT_DEVICE_MEMORY],
        *sums = (float *)arenas[DIST_RT_DEVICE_MEMORY] + 2;
  int32_t status = host_transfer(context, 0, w);
  if (status)
    return status;
  sums[0] = sums[1] = 0;
  for (int64_t i = 0; i < 2; ++i) {
    if (x[i] == 999)
      return api.fail(context, DIST_RT_LABEL_OUT_OF_RANGE, 4);
    y[i] = x[i] * w[0] + w[1];
    sums[0] += x[i];
    sums[1] += 1;
  }
  return host_transfer(context, 1, sums);
}
/* The host: w -> w + the sums, and the first of them. */
LIST(host, 2, WITH_HOST(DIST_RT_BROADCAST, 7, DIST_RT_GIVES, 2),
     WITH_HOST(DIST_RT_REDUCE, 8, DIST_RT_TAKES, 2))
EXPORT int32_t host(dist_rt_context *context, char *const *arenas,
                    void **bindings) {
  float *w = bindings[0], *loss = bindings[2],
        *sums = (float *)arenas[DIST_RT_HOST_MEMORY];
  int32_t status = host_transfer(context, 0, w);
  if (!status)
    status = host_transfer(context, 1, sums);
  if (status)
    return status;
  w[0] += sums[0];
  w[1] += sums[1];
  *loss = sums[0];
  return 0;
}

/* The host: w[1] tells whether a product of ones (511 x 784, transposed, by 784
   x 511) is right. */
EXPORT int32_t host_product(dist_rt_context *context, char *const *arenas,
                            void **bindings) {
  enum { rows = 511, depth = 784 };
  float *w = bindings[0];
  float *a = (float *)arenas[DIST_RT_HOST_MEMORY], *b = a + depth * rows,
        *c = b + depth * rows;
  void *buffers[3] = {a, b, c};
  for (int64_t i = 0; i < 2 * depth * rows; ++i)
    a[i] = 1;
  int32_t status = api.library(context, 0, buffers);
  w[1] = 1;
  for (int64_t i = 0; i < rows * rows; ++i)
    if (c[i] != depth)
      w[1] = 0;
  return status;
}
/* The same of a convolution (2 x 3 x 14 x 14 by 8 x 3 x 3 x 3). */
EXPORT int32_t host_convolution(dist_rt_context *context, char *const *arenas,
                                void **bindings) {
  enum {
    images = 2 * 3 * 14 * 14,
    filters = 8 * 27,
    results = 2 * 8 * 12 * 12
  };
  float *w = bindings[0];
  float *x = (float *)arenas[DIST_RT_HOST_MEMORY], *f = x + images,
        *y = f + filters;
  void *buffers[3] = {x, f, y};
  for (int64_t i = 0; i < images + filters; ++i)
    x[i] = 1;
  int32_t status = api.library(context, 0, buffers);
  w[1] = 1;
  for (int64_t i = 0; i < results; ++i)
    if (y[i] != 27)
      w[1] = 0;
  return status;
}
/* A device, meanwhile. */
EXPORT int32_t idle(dist_rt_context *context, char *const *arenas,
                    void **bindings) {
  (void)context, (void)arenas, (void)bindings;
  return 0;
}

/* x -> 2 x, and the number of examples: places with 6 and 2 of 8. */
static int32_t share(void **bindings, int64_t count) {
  const float *x = bindings[0];
  float *y = bindings[1];
  for (int64_t i = 0; i < count; ++i)
    y[i] = 2 * x[i];
  *(float *)bindings[2] = count;
  return 0;
}

EXPORT int32_t share_of_6(dist_rt_context *context, char *const *arenas,
                          void **bindings) {
  (void)context, (void)arenas;
  return share(bindings, 6);
}

EXPORT int32_t share_of_2(dist_rt_context *context, char *const *arenas,
                          void **bindings) {
  (void)context, (void)arenas;
  return share(bindings, 2);
}

/* x, w -> w[0] + w[1], 2 w, x: a loss and its gradients by w and by x. */
EXPORT int32_t gradients(dist_rt_context *context, char *const *arenas,
                         void **bindings) {
  const float *x = bindings[0], *w = bindings[1];
  float *byW = bindings[3], *byX = bindings[4];
  (void)context, (void)arenas;
  *(float *)bindings[2] = w[0] + w[1];
  for (int64_t i = 0; i < 2; ++i) {
    byW[i] = 2 * w[i];
    byX[i] = x[i];
  }
  return 0;
}
/* g, w -> w - g. */
EXPORT int32_t apply(dist_rt_context *context, char *const *arenas,
                     void **bindings) {
  const float *g = bindings[0];
  float *w = bindings[1];
  (void)context, (void)arenas;
  w[0] -= g[0];
  w[1] -= g[1];
  return 0;
}

/* Starts a sum that nothing waits for; where the rank's x begins with 999 it
   takes no part. */
LIST(careless, 1, ALL_REDUCE(3, 2))
EXPORT int32_t careless(dist_rt_context *context, char *const *arenas,
                        void **bindings) {
  const float *x = bindings[0];
  void *buffers[2] = {bindings[1], bindings[1]};
  (void)arenas;
  if (x[0] == 999)
    return 0;
  return api.collective_start(context, 0, buffers);
}

/* Waits for what it has not started; where x begins with 1 it takes part in
   what its list has not. */
LIST(hasty, 1, ALL_REDUCE(3, 2))
EXPORT int32_t hasty(dist_rt_context *context, char *const *arenas,
                     void **bindings) {
  const float *x = bindings[0];
  void *buffers[2] = {bindings[1], bindings[1]};
  (void)arenas;
  return x[0] == 1 ? api.collective(context, 1, buffers)
                   : api.collective_wait(context, 0);
}
/* Its list is cut off. */
EXPORT const int64_t torn_collectives[] = {3, DIST_RT_ALL_REDUCE, 3};
EXPORT int32_t torn(dist_rt_context *context, char *const *arenas,
                    void **bindings) {
  (void)context, (void)arenas, (void)bindings;
  return 0;
}
/* Its mesh has no second axis. */
EXPORT const one_tensor_list astray_collectives = {
    WORDS(1),
    {{{DIST_RT_ALL_REDUCE, 3, DIST_RT_GIVES_AND_TAKES, DIST_RT_SUM, 0, 0, 0, 1,
       0, 1},
      1,
      {F32, 1, 1, 8, 0, 0, 0, 0, 0, 0}}}};
EXPORT int32_t astray(dist_rt_context *context, char *const *arenas,
                      void **bindings) {
  (void)context, (void)arenas, (void)bindings;
  return 0;
}

static void nothing(void **buffers, int64_t lo, int64_t hi, int64_t chunk) {
  (void)buffers, (void)lo, (void)hi, (void)chunk;
}

/* x -> w + 1: where the rank's x begins with 999 only when it is told to end,
   elsewhere when all have come. 998 is refused at once. */
LIST(endless, 1, ALL_REDUCE(3, 1))
EXPORT int32_t endless(dist_rt_context *context, char *const *arenas,
                       void **bindings) {
  const float *x = bindings[0];
  float *w = bindings[1];
  (void)arenas;
  if (x[0] == 998)
    return api.fail(context, DIST_RT_LABEL_OUT_OF_RANGE, 4);
  w[0] += 1;
  while (x[0] == 999) {
    int32_t status = api.launch(context, nothing, bindings, 1, 1, 1);
    if (status)
      return status;
  }
  float sum = 1;
  return all_reduce(context, 0, &sum);
}
