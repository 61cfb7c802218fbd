//===- coordinator.cpp - dist-run coordinator -----------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The store that a chief serves for its own job, as a process of its own, for
// any number of jobs: none of them depends on where its chief is.
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/etcd/server.h"
#include "runtime/cluster/network.h"
#include "runtime/cluster/open_files.h"
#include "tools/dist-run/commands.h"
#include "tools/dist-run/console.h"
#include "tools/dist-run/secret.h"
#include "tools/options/cluster.h"
#include "tools/options/interrupt.h"
#include <unistd.h>

namespace dist::tools {

static Status serve(const Options &options,
                    std::unique_ptr<cluster::EtcdServer> *server) {
  cluster::Address address;
  DIST_RETURN_IF_ERROR(takeListenAddress(options, &address));
  DIST_RETURN_IF_ERROR(cluster::checkOpenFilesOfStore());
  std::optional<cluster::JobSecret> secret;
  DIST_RETURN_IF_ERROR(readJobSecret(options, {address}, &secret));
  cluster::EtcdServerOptions serving;
  serving.address = {cluster::listenLiteral(address.host), address.port};
  serving.journal = options.journal;
  if (secret)
    serving.tls = cluster::makeCertificates(*secret);
  DIST_RETURN_IF_ERROR(cluster::EtcdServer::start(serving, server));
  if (uint64_t bytes = (*server)->cutBytes())
    printNote("dist-run: note: " + std::to_string(bytes) +
              " bytes of an unfinished record are cut off " + options.journal);
  address.port = (*server)->port();
  return printResult("the store is at " +
                     describeListening("coordinator://", address, "") +
                     (secret ? ", for who has the job's secret\n"
                             : ", for whoever reaches it\n"));
}

int runCoordinator(const Options &options) {
  setActivity("serving the store");
  std::unique_ptr<cluster::EtcdServer> server;
  if (Status status = serve(options, &server); !status.ok())
    return report(status);
  // What serves are threads of gRPC's; a signal ends the process.
  for (;;)
    pause();
}

} // namespace dist::tools
