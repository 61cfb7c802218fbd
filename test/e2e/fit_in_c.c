/*===- fit_in_c.c - The usual training loop through the C API -------------===*\
|*
|* Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* fit-in-c PACKAGE IMAGES LABELS FOLDER STEPS: trains in file order on IDX
files
|* of 8x8 images, each step a line as `dist-run fit --history` writes it, and
|* asks to end after so many steps. FOLDER keeps states; "-": none.
|*
\*===----------------------------------------------------------------------===*/
#include <dist/fit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct app_t {
  dist_session_t *session;
  long steps;
} app_t;

static void check(dist_status_t *status) {
  if (!status)
    return;
  fprintf(stderr, "fit-in-c: error: %s\n", dist_status_message(status));
  exit(1);
}

static int on_step(void *data, const dist_step_t *step) {
  app_t *app = data;
  printf("{\"kind\":\"step\",\"epoch\":%lld,\"step\":%lld,\"examples\":%lld,"
         "\"loss\":%.9g,\"lr\":%.9g}\n",
         (long long)step->epoch, (long long)step->step,
         (long long)step->examples, step->loss, step->learning_rate);
  /* The session is the app's between steps. */
  int64_t updates = 0;
  int32_t index =
      dist_session_find_variable(app->session, "optimizer/iteration");
  check(dist_session_read_variable(app->session, index, &updates,
                                   sizeof updates));
  if (updates != step->step) {
    fprintf(stderr, "fit-in-c: error: %lld updates after step %lld\n",
            (long long)updates, (long long)step->step);
    exit(1);
  }
  return step->step >= app->steps;
}

static int on_epoch(void *data, const dist_epoch_t *epoch) {
  (void)data;
  printf("{\"kind\":\"epoch\",\"epoch\":%lld", (long long)epoch->epoch);
  for (int32_t i = 0; i < epoch->num_values; ++i)
    printf(",\"%s\":%.9g", epoch->names[i], epoch->values[i]);
  printf("}\n");
  return 0;
}

static void print_message(void *data, dist_log_level_t level,
                          const char *message) {
  (void)data;
  if (level == DIST_LOG_WARNING)
    fprintf(stderr, "note: %s\n", message);
}

/* The bytes behind the header, as numbers of another type. */
static void *read_idx(const char *path, size_t header, int as_pixels,
                      size_t *count) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0)
    exit(2);
  *count = (size_t)ftell(file) - header;
  float *pixels = malloc(*count * sizeof(float));
  int32_t *labels = malloc(*count * sizeof(int32_t));
  if (fseek(file, (long)header, SEEK_SET) != 0)
    exit(2);
  for (size_t i = 0; i < *count; ++i) {
    int byte = fgetc(file);
    pixels[i] = (float)byte / 16;
    labels[i] = byte;
  }
  fclose(file);
  free(as_pixels ? (void *)labels : (void *)pixels);
  return as_pixels ? (void *)pixels : (void *)labels;
}

int main(int argc, char **argv) {
  if (argc != 6)
    return 2;
  app_t app = {NULL, atol(argv[5])};
  dist_session_options_t options = DIST_SESSION_OPTIONS_INIT;
  options.log = print_message;
  check(dist_session_open(argv[1], &options, &app.session));
  size_t pixels, count;
  float *images = read_idx(argv[2], 16, 1, &pixels);
  int32_t *labels = read_idx(argv[3], 8, 0, &count);
  int64_t image_dims[2] = {(int64_t)count, 64}, label_dims[1];
  label_dims[0] = (int64_t)count;
  dist_tensor_t columns[2] = {{DIST_DATA_TYPE_F32, 2, image_dims, images},
                              {DIST_DATA_TYPE_I32, 1, label_dims, labels}};
  dist_fit_options_t fit = DIST_FIT_OPTIONS_INIT;
  fit.epochs = 2;
  fit.keep_order = 1;
  if (strcmp(argv[4], "-") != 0) {
    fit.checkpoint = argv[4];
    fit.use = DIST_CHECKPOINT_RESUME;
    fit.async_save = 1;
  }
  fit.on_step = on_step;
  fit.on_epoch = on_epoch;
  fit.data = &app;
  int64_t step = 0;
  check(dist_session_fit(app.session, columns, 2, columns, &fit, &step));
  fprintf(stderr, "%lld steps are done\n", (long long)step);
  dist_session_close(app.session);
  free(images);
  free(labels);
  return 0;
}
