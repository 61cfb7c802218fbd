/*===- cluster_ports.c - Where a cluster's processes listen ---------------===*\
|*
|* Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* cluster-ports PACKAGE FIRST LAST INTERFACE: opens the cluster of TF_CONFIG
|* with these ports and this interface ("-": as it comes), and prints each
|* address and port at which this process listens then, as the system says.
|*
\*===----------------------------------------------------------------------===*/
#include <arpa/inet.h>
#include <dist/cluster.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static void check(dist_status_t *status) {
  if (!status)
    return;
  fprintf(stderr, "cluster-ports: error: %s\n", dist_status_message(status));
  exit(1);
}

/* More files than these a process of this test does not have. */
enum { MOST_FILES = 1024 };

static void print_sockets(void) {
  for (int file = 0; file < MOST_FILES; ++file) {
    int listens = 0;
    socklen_t size = sizeof listens;
    struct sockaddr_storage bound;
    socklen_t bound_size = sizeof bound;
    char text[INET6_ADDRSTRLEN] = "";
    int port = 0;
    if (getsockopt(file, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 ||
        !listens ||
        getsockname(file, (struct sockaddr *)&bound, &bound_size) != 0)
      continue;
    if (bound.ss_family == AF_INET) {
      struct sockaddr_in *v4 = (struct sockaddr_in *)&bound;
      inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
      port = ntohs(v4->sin_port);
    } else if (bound.ss_family == AF_INET6) {
      struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&bound;
      inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
      port = ntohs(v6->sin6_port);
    } else {
      continue;
    }
    printf("listens at %s port %d\n", text, port);
  }
  fflush(stdout);
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: cluster-ports PACKAGE FIRST LAST INTERFACE\n");
    return 2;
  }
  dist_cluster_options_t options = DIST_CLUSTER_OPTIONS_INIT;
  options.tf_config = getenv("TF_CONFIG");
  options.first_port = atoi(argv[2]);
  options.last_port = atoi(argv[3]);
  if (strcmp(argv[4], "-") != 0)
    options.network_interface = argv[4];
  dist_cluster_t *cluster = NULL;
  check(dist_cluster_open(argv[1], &options, &cluster));
  print_sockets();
  if (dist_cluster_task(cluster) != DIST_TASK_CHIEF)
    check(dist_cluster_serve(cluster));
  dist_cluster_close(cluster);
  return 0;
}
