/* Trains a compiled model on IDX images and labels, inside an app, then counts
   how many it gets right: embed PACKAGE IMAGES LABELS STEPS */
#include <dist/api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends with the status's message, when there is one. */
static void check(dist_status_t *status) {
  if (!status)
    return;
  fprintf(stderr, "embed: error: %s\n", dist_status_message(status));
  int code = dist_status_code(status) == DIST_STATUS_INVALID_INPUT ? 1 : 3;
  dist_status_free(status);
  exit(code);
}

/* The bytes of an IDX file after its header of `header` bytes. */
static unsigned char *read_idx(const char *path, size_t header, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  unsigned char *data = NULL;
  if (file && fseek(file, 0, SEEK_END) == 0 && ftell(file) > (long)header) {
    *bytes = (size_t)ftell(file) - header;
    data = malloc(*bytes);
    if (fseek(file, (long)header, SEEK_SET) != 0 ||
        fread(data, 1, *bytes, file) != *bytes) {
      free(data);
      data = NULL;
    }
  }
  if (file)
    fclose(file);
  if (data)
    return data;
  fprintf(stderr, "embed: error: cannot read %s\n", path);
  exit(1);
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: embed PACKAGE IMAGES LABELS STEPS\n");
    return 2;
  }
  dist_session_t *session;
  check(dist_session_open(argv[1], NULL, &session));

  /* What the compiled entries take: a batch of images and of labels. */
  dist_binding_t image = DIST_BINDING_INIT, label = DIST_BINDING_INIT,
                 output = DIST_BINDING_INIT;
  check(dist_session_input(session, "train_step", 0, &image));
  check(dist_session_input(session, "train_step", 1, &label));
  check(dist_session_output(session, "predict", 0, &output));
  dist_tensor_t batch[2] = {{image.type, image.num_dims, image.dims, NULL},
                            {label.type, label.num_dims, label.dims, NULL}};
  size_t size = (size_t)image.dims[0];
  size_t pixels = dist_tensor_bytes(&batch[0]) / sizeof(float) / size;
  size_t classes = (size_t)output.dims[output.num_dims - 1];

  size_t image_bytes, count;
  unsigned char *images = read_idx(argv[2], 16, &image_bytes);
  unsigned char *labels = read_idx(argv[3], 8, &count);
  if (image.type != DIST_DATA_TYPE_F32 || label.type != DIST_DATA_TYPE_I32 ||
      image_bytes != count * pixels || count < size || image.num_dims > 8) {
    fprintf(stderr, "embed: error: the data do not fit the model\n");
    return 1;
  }
  float *x = aligned_alloc(64, (size * pixels * sizeof(float) + 63) / 64 * 64);
  int32_t *y = aligned_alloc(64, (size * sizeof(int32_t) + 63) / 64 * 64);
  batch[0].data = x;
  batch[1].data = y;

  size_t steps = (size_t)atol(argv[4]), first = 0, right = 0, seen = 0;
  double loss = 0;
  for (size_t step = 0; step < steps; ++step) {
    for (size_t i = 0; i < size; ++i) {
      size_t example = (first + i) % count;
      for (size_t p = 0; p < pixels; ++p)
        x[i * pixels + p] = images[example * pixels + p] / 16.0f;
      y[i] = labels[example];
    }
    first = (first + size) % count;
    check(dist_session_train_step(session, batch, 2, &loss));
    if ((step + 1) % 100 == 0)
      printf("step %zu: loss %.4f\n", step + 1, loss);
  }

  /* Of any number of examples: the last are fewer. */
  int64_t dims[8];
  memcpy(dims, image.dims, (size_t)image.num_dims * sizeof *dims);
  batch[0].dims = dims;
  for (first = 0; first < count; first += size) {
    size_t examples = count - first < size ? count - first : size;
    dims[0] = (int64_t)examples;
    for (size_t i = 0; i < examples * pixels; ++i)
      x[i] = images[first * pixels + i] / 16.0f;
    dist_tensor_t scores;
    check(dist_session_predict(session, batch, 1, &scores, 1));
    for (size_t i = 0; i < examples; ++i, ++seen) {
      const float *row = (const float *)scores.data + i * classes;
      size_t best = 0;
      for (size_t c = 1; c < classes; ++c)
        best = row[c] > row[best] ? c : best;
      right += best == labels[first + i];
    }
  }
  printf("right: %zu of %zu (%.1f %%)\n", right, seen, 100.0 * right / seen);
  dist_session_close(session);
  free(images);
  free(labels);
  free(x);
  free(y);
  return 0;
}
