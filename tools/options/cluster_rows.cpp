//===- cluster_rows.cpp - Options of runs in several processes ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/options/cluster.h"
#include "tools/options/table.h"

namespace dist::tools {

void addClusterOptions(Table &table, Options &o) {
  table.group("Strategy", false);
  // Of a cluster's options all commands take those that say where it is and how
  // it is reached: jobs share one line of them.
  table.usedBy("fit evaluate predict bench info status");
  table.text("--cluster",
             "TF_CONFIG|torchrun|mpi|slurm|kubernetes|FILE.json|{...}",
             "where the cluster is described that multi-worker-mirrored runs "
             "on (default: what is found, in this order); a file, or the text "
             "itself, in TF_CONFIG's form",
             &o.cluster);
  table.usedBy("fit evaluate predict bench status coordinator");
  table.text("--job-secret-file", "FILE",
             "what the processes of a cluster know each other by, the same "
             "text for all of them, in a file that its owner alone may read "
             "(default: the text in DIST_JOB_SECRET); off this machine one is "
             "needed",
             &o.jobSecretFile);
  table.flag("--insecure-network",
             "goes without a secret: whoever reaches the cluster's ports could "
             "take part in it",
             &o.insecureNetwork);
  table.usedBy("fit evaluate predict bench status");
  table.value("--coordination",
              "embedded|coordinator://HOST:PORT|etcd[s]://HOST:PORT,...",
              "where the cluster's processes meet: a store that the chief "
              "serves (default), that dist-run coordinator serves, or an etcd, "
              "of which each address will do, by TLS with etcds; training goes "
              "on while it is away",
              [&](const std::string &given) {
                return parseCoordination(given, &o.store);
              });
  table.text("--etcd-ca", "FILE",
             "the authorities that the certificates of an etcds:// are signed "
             "by, in PEM",
             &o.etcdCa);
  table.text("--etcd-cert", "FILE",
             "this process's certificate, in PEM, for an etcd that asks for "
             "one (--client-cert-auth), with --etcd-key",
             &o.etcdCert);
  table.text("--etcd-key", "FILE", "the key of --etcd-cert, in PEM",
             &o.etcdKey);
  table.usedBy("coordinator");
  table.text("--journal", "FILE",
             "keeps what the store holds in this file, so that a coordinator "
             "that is started again goes on with it (default: in memory)",
             &o.journal);
  table.usedBy("fit evaluate predict bench info status");
  table.text("--task", "TYPE:INDEX",
             "which of its tasks this process is, if the cluster does not "
             "say, as worker:0",
             &o.task);
  table.usedBy("fit evaluate predict bench");
  table.number("--start-timeout",
               "seconds that the workers wait for each other at the start; 0: "
               "however long it takes (default 300)",
               false, [&](double x) { o.startTimeout = x; });
  table.value(
      "--communicator", "ucx|mpi",
      "what collectives go through: ours over UCX (default), or the "
      "site's own MPI, under mpirun: one device a process, sums equal "
      "within rounding alone, no --elastic; --collective-timeout then "
      "counts the time, too, in which others compute or wait for a disk",
      [&](const std::string &given) {
        return parseCommunicator(given, &o.usesMpi);
      });
  table.usedBy("fit evaluate");
  table.value("--metrics-port", "[HOST:]PORT",
              "the chief of a cluster answers http://HOST:PORT/metrics in "
              "Prometheus' text format; HOST: this machine's address to listen "
              "at (default 127.0.0.1), 0.0.0.0 or [::]: all of them, PORT 0: a "
              "free one, which is told",
              [&](const std::string &given) {
                return parseMetricsPort(given, &o.metricsHost, &o.metricsPort);
              });
  table.usedBy("fit");
  table.flag("--elastic",
             "goes on when workers are lost: those that are left take their "
             "part of the batch, from a state that each has in memory; the "
             "chief (worker 0) must be among them, unless they meet in a store "
             "of its own (--coordination). One that is started again is taken "
             "in",
             &o.elastic);
  table.integer("--min-workers",
                "fewest workers that --elastic goes on with (default 1)", 1,
                &o.minWorkers);
  table.needs("--elastic", "", "a run ends with the first that is lost");
  table.integer("--max-restarts",
                "times that what --workers has started is started again after "
                "a failure of a process or machine: with --elastic, or with "
                "parameter servers, a lost worker, which the others take in; "
                "else all, from the last state in --checkpoint (default 0)",
                0, &o.maxRestarts);
  table.usedBy("fit evaluate predict bench");
  table.value("--port-range", "A:B",
              "ports that the cluster's processes listen at, beside those that "
              "the cluster names: one a device, and one more for the chief "
              "(default: any)",
              [&](const std::string &given) {
                return parsePortRange(given, &o.firstPort, &o.lastPort);
              });
  table.number("--heartbeat-timeout",
               "seconds without a sign of life after which a process of the "
               "cluster is lost, and the run ends; being slow is none of it; "
               "0: never (default 0.9)",
               false, [&](double x) { o.heartbeatTimeout = x; });
  table.number("--collective-timeout",
               "seconds a rank waits for others that show no progress; "
               "computing is progress, and so is work on states and results, "
               "however long a disk takes (default 30)",
               true, [&](double x) { o.collectiveTimeout = x; });
}

} // namespace dist::tools
