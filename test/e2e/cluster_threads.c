/* A coordinator's cluster whose chief is several threads: cluster-threads
   PACKAGE STEPS, as examples/coordinator/start.py starts it. The metrics must
   count each step's examples once, whoever joins or asks meanwhile. */
#include <dist/cluster.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXAMPLES = 64, PIXELS = 64, BATCH = 32, FIRST = 50, ASKERS = 4 };

static float images[EXAMPLES * PIXELS];
static int32_t labels[EXAMPLES];
static const int64_t image_dims[] = {EXAMPLES, PIXELS},
                     label_dims[] = {EXAMPLES};
static const dist_tensor_t columns[] = {
    {DIST_DATA_TYPE_F32, 2, image_dims, images},
    {DIST_DATA_TYPE_I32, 1, label_dims, labels}};
static dist_cluster_t *cluster;
static atomic_int is_over;

static void check(dist_status_t *status) {
  if (!status)
    return;
  fprintf(stderr, "cluster-threads: error: %s\n", dist_status_message(status));
  exit(1);
}

static int make_dataset(void *data, int32_t worker, dist_worker_data_t *out) {
  (void)data;
  (void)worker;
  out->columns = columns;
  out->num_columns = 2;
  return 0;
}

static void run_steps(long count) {
  for (long i = 0; i < count; ++i) {
    dist_remote_value_t *value = NULL;
    dist_fetched_t fetched = DIST_FETCHED_INIT;
    check(dist_cluster_schedule_step(cluster, "zeros", &value));
    check(dist_remote_value_fetch(value, &fetched));
    dist_remote_value_free(value);
  }
}

static void *ask(void *unused) {
  while (!is_over) {
    int32_t is_done = 0;
    check(dist_cluster_done(cluster, &is_done));
    check(dist_cluster_join(cluster));
  }
  return unused;
}

static double read_count(void) {
  dist_session_t *session = dist_cluster_session(cluster);
  for (int32_t i = 0; i < dist_session_variable_count(session); ++i) {
    dist_variable_t variable = DIST_VARIABLE_INIT;
    double count = -1;
    float single = -1;
    check(dist_session_variable(session, i, &variable));
    if (strcmp(variable.name, "metric/accuracy/count") != 0)
      continue;
    if (variable.type == DIST_DATA_TYPE_F64) {
      check(dist_session_read_variable(session, i, &count, sizeof count));
      return count;
    }
    check(dist_session_read_variable(session, i, &single, sizeof single));
    return single;
  }
  return -1;
}

int main(int argc, char **argv) {
  dist_cluster_options_t options = DIST_CLUSTER_OPTIONS_INIT;
  pthread_t askers[ASKERS];
  long steps = argc == 3 ? atol(argv[2]) : 0;
  int32_t is_done = 0;
  if (steps == 0)
    return 2;
  options.tf_config = getenv("TF_CONFIG");
  check(dist_cluster_open(argv[1], &options, &cluster));
  check(dist_cluster_register_dataset(cluster, "zeros", make_dataset, NULL));
  if (dist_cluster_task(cluster) != DIST_TASK_CHIEF) {
    check(dist_cluster_serve(cluster));
    dist_cluster_close(cluster);
    return 0;
  }
  /* One that never joins, and asks at the end. */
  run_steps(FIRST);
  while (!is_done)
    check(dist_cluster_done(cluster, &is_done));
  printf("alone: %g of %d\n", read_count(), FIRST * BATCH);
  for (int i = 0; i < ASKERS; ++i)
    pthread_create(&askers[i], NULL, ask, NULL);
  run_steps(steps);
  is_over = 1;
  for (int i = 0; i < ASKERS; ++i)
    pthread_join(askers[i], NULL);
  check(dist_cluster_join(cluster));
  printf("several: %g of %ld\n", read_count(), (FIRST + steps) * BATCH);
  dist_cluster_close(cluster);
  return 0;
}
