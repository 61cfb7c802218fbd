/* To be loaded before libc (LD_PRELOAD): a disk that stalls once, for
   SLOW_SECONDS, in the process of a cluster whose index is SLOW_INDEX, at the
   first file or folder whose path has SLOW_PATH in it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int is_slow(int file) {
  static int is_over;
  const char *config = getenv("TF_CONFIG"), *index = getenv("SLOW_INDEX"),
             *part = getenv("SLOW_PATH");
  char task[32], link[64], path[4096];
  ssize_t length;
  if (is_over || !config || !index || !part)
    return 0;
  snprintf(task, sizeof task, "\"index\": %s}", index);
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  length = readlink(link, path, sizeof path - 1);
  path[length > 0 ? length : 0] = 0;
  is_over = strstr(config, task) && strstr(path, part);
  return is_over;
}

int fsync(int file) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  const char *seconds = getenv("SLOW_SECONDS");
  if (seconds && is_slow(file)) {
    struct timespec time = {atoi(seconds), 0};
    fprintf(stderr, "the disk stalls\n");
    nanosleep(&time, NULL);
  }
  return real(file);
}
