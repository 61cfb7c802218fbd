/* Asynchronous training on a cluster whose every process runs this program:
   coordinator PACKAGE IMAGES LABELS STEPS. TF_CONFIG says which one it is: the
   chief schedules steps, then counts what the model gets right, a part of the
   examples a closure; workers run them; servers hold the variables. */
#include <dist/cluster.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 8 };

/* Ends with the status's message, when there is one. */
static void check(dist_status_t *status) {
  if (!status)
    return;
  fprintf(stderr, "coordinator: error: %s\n", dist_status_message(status));
  int code = dist_status_code(status) == DIST_STATUS_INVALID_INPUT ? 1 : 3;
  dist_status_free(status);
  exit(code);
}

static void print_log(void *data, dist_log_level_t level, const char *message) {
  (void)data;
  (void)level;
  fprintf(stderr, "coordinator: note: %s\n", message);
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
  fprintf(stderr, "coordinator: error: cannot read %s\n", path);
  exit(1);
}

/* The digits, in memory. */
typedef struct digits_t {
  float *images;
  int32_t *labels;
  int64_t image_dims[2], label_dims[1];
  dist_tensor_t columns[2];
} digits_t;

static void read_digits(const char *images, const char *labels,
                        digits_t *digits) {
  size_t pixels, count;
  unsigned char *x = read_idx(images, 16, &pixels);
  unsigned char *y = read_idx(labels, 8, &count);
  digits->images = malloc(pixels * sizeof *digits->images);
  digits->labels = malloc(count * sizeof *digits->labels);
  for (size_t i = 0; i < pixels; ++i)
    digits->images[i] = x[i] / 16.0f;
  for (size_t i = 0; i < count; ++i)
    digits->labels[i] = y[i];
  free(x);
  free(y);
  digits->image_dims[0] = digits->label_dims[0] = (int64_t)count;
  digits->image_dims[1] = (int64_t)(pixels / count);
  dist_tensor_t columns[2] = {
      {DIST_DATA_TYPE_F32, 2, digits->image_dims, digits->images},
      {DIST_DATA_TYPE_I32, 1, digits->label_dims, digits->labels}};
  memcpy(digits->columns, columns, sizeof columns);
}

/* A worker's dataset: all digits, in an order of its own. */
static int make_digits(void *data, int32_t worker, dist_worker_data_t *out) {
  digits_t *digits = data;
  (void)worker;
  out->columns = digits->columns;
  out->num_columns = 2;
  out->seed = 1;
  return 0;
}

/* On a worker: how many of one part of the digits the model gets right, with
   the variables as the servers have them now. The argument is the part. */
static dist_status_t *count_right(void *data, const dist_call_t *call,
                                  dist_result_t *result) {
  digits_t *digits = data;
  int32_t part;
  if (call->argument_bytes != sizeof part)
    return dist_status_make(DIST_STATUS_INVALID_INPUT, "no part was given");
  memcpy(&part, call->argument, sizeof part);
  if (part < 0 || part >= PARTS)
    return dist_status_make(DIST_STATUS_INVALID_INPUT, "there is no such part");
  int64_t first = digits->image_dims[0] * part / PARTS,
          end = digits->image_dims[0] * (part + 1) / PARTS, right = 0;
  int64_t dims[2] = {end - first, digits->image_dims[1]};
  dist_tensor_t images = {DIST_DATA_TYPE_F32, 2, dims,
                          digits->images + first * dims[1]};
  dist_tensor_t scores;
  dist_status_t *status =
      dist_session_predict(call->session, &images, 1, &scores, 1);
  if (status)
    return status;
  int64_t classes = scores.dims[1];
  for (int64_t i = 0; i < dims[0]; ++i) {
    const float *row = (const float *)scores.data + i * classes;
    int32_t best = 0;
    for (int32_t c = 1; c < classes; ++c)
      best = row[c] > row[best] ? c : best;
    right += best == digits->labels[first + i];
  }
  return dist_result_set(result, &right, sizeof right);
}

/* Worker 0 does not survive it. */
static dist_status_t *break_worker_0(void *data, const dist_call_t *call,
                                     dist_result_t *result) {
  (void)data;
  if (call->worker == 0)
    _Exit(9);
  return dist_result_set(result, &call->worker, sizeof call->worker);
}

/* Of all parts, each on whichever worker is free. */
static int64_t evaluate(dist_cluster_t *cluster) {
  dist_remote_value_t *values[PARTS];
  for (int32_t part = 0; part < PARTS; ++part)
    check(dist_cluster_schedule(cluster, "count_right", &part, sizeof part,
                                &values[part]));
  int64_t sum = 0;
  for (int32_t part = 0; part < PARTS; ++part) {
    dist_fetched_t fetched = DIST_FETCHED_INIT;
    int64_t right;
    check(dist_remote_value_fetch(values[part], &fetched));
    memcpy(&right, fetched.data, sizeof right);
    sum += right;
    dist_remote_value_free(values[part]);
  }
  return sum;
}

static void train(dist_cluster_t *cluster, long steps) {
  dist_remote_value_t *value = NULL;
  for (long step = 1; step <= steps; ++step) {
    dist_remote_value_free(value);
    check(dist_cluster_schedule_step(cluster, "digits", &value));
  }
  check(dist_cluster_join(cluster));
  dist_fetched_t last = DIST_FETCHED_INIT;
  check(dist_remote_value_fetch(value, &last));
  printf("after %ld steps: loss %.4f of %" PRId64 " examples\n", steps,
         last.loss, last.examples);
  dist_remote_value_free(value);
}

/* A closure that fails is told of once, and the cluster goes on. */
static void show_errors(dist_cluster_t *cluster) {
  int32_t none = PARTS;
  check(
      dist_cluster_schedule(cluster, "count_right", &none, sizeof none, NULL));
  dist_status_t *status = dist_cluster_join(cluster);
  printf("join: %s\n", dist_status_message(status));
  dist_status_free(status);
  check(dist_cluster_join(cluster));
}

/* What a lost worker had to do another one does. */
static void lose_worker(dist_cluster_t *cluster) {
  dist_remote_value_t *first, *second;
  check(dist_cluster_schedule(cluster, "break_worker_0", NULL, 0, &first));
  check(dist_cluster_schedule(cluster, "break_worker_0", NULL, 0, &second));
  dist_fetched_t one = DIST_FETCHED_INIT, other = DIST_FETCHED_INIT;
  check(dist_remote_value_fetch(first, &one));
  check(dist_remote_value_fetch(second, &other));
  printf("without worker 0: done by workers %d and %d\n", one.worker,
         other.worker);
  dist_remote_value_free(first);
  dist_remote_value_free(second);
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: coordinator PACKAGE IMAGES LABELS STEPS\n");
    return 2;
  }
  dist_cluster_options_t options = DIST_CLUSTER_OPTIONS_INIT;
  options.tf_config = getenv("TF_CONFIG");
  options.log = print_log;
  dist_cluster_t *cluster;
  check(dist_cluster_open(argv[1], &options, &cluster));
  digits_t digits;
  read_digits(argv[2], argv[3], &digits);
  check(dist_cluster_register_dataset(cluster, "digits", make_digits, &digits));
  check(dist_cluster_register_function(cluster, "count_right", count_right,
                                       &digits));
  check(dist_cluster_register_function(cluster, "break_worker_0",
                                       break_worker_0, NULL));
  if (dist_cluster_task(cluster) != DIST_TASK_CHIEF) {
    check(dist_cluster_serve(cluster));
  } else {
    train(cluster, atol(argv[4]));
    printf("right: %" PRId64 " of %" PRId64 "\n", evaluate(cluster),
           digits.image_dims[0]);
    show_errors(cluster);
    lose_worker(cluster);
    train(cluster, 10);
    check(dist_session_save(dist_cluster_session(cluster),
                            "trained.safetensors"));
  }
  dist_cluster_close(cluster);
  free(digits.images);
  free(digits.labels);
  return 0;
}
