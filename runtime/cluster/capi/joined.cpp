//===- joined.cpp - An app's process in a cluster -------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/capi/joined.h"
#include "runtime/cluster/detect.h"
#include "runtime/cluster/membership/process.h"
#include "runtime/cluster/network.h"
#include "runtime/cluster/open_files.h"
#include "runtime/device/cpu/cpus.h"

namespace dist::cluster {

Status Joined::readSpec() {
  ClusterRequest request;
  request.source = "TF_CONFIG";
  Detection detection;
  for (const Status &fault :
       detectCluster(request, {{"TF_CONFIG", options.tfConfig}}, &detection))
    return fault;
  if (!detection.spec || !detection.spec->self)
    return Status::error(StatusCode::InvalidArgument,
                         "nothing says where the other processes are",
                         "tf_config", "it describes no cluster",
                         "give it a cluster and a task");
  spec = std::move(*detection.spec);
  DIST_RETURN_IF_ERROR(checkOpenFiles(spec, /*devices=*/1, !options.store));
  SystemNetwork network;
  NameWait wait;
  wait.seconds = options.startTimeout;
  wait.needsChief = !options.store;
  wait.note = options.note;
  for (const Status &fault : awaitNetwork(spec, wait, network))
    return fault;
  if (spec.of(Job::Ps).empty() || spec.of(Job::Chief).empty())
    return Status::error(
        StatusCode::InvalidArgument, "a coordinator's cluster lacks a task",
        "tf_config",
        spec.of(Job::Ps).empty() ? "nothing would hold the variables"
                                 : "nothing would schedule closures",
        spec.of(Job::Ps).empty() ? "add \"ps\"" : "add \"chief\"");
  for (const Task &task : spec.tasks())
    if (!options.secret && !isLoopback(spec.find(task)->host))
      return Status::error(
          StatusCode::InvalidArgument, "the job has no secret", "job_secret",
          "its processes meet at " + spec.find(task)->text() +
              ", where others may reach them and take part in it",
          "give all of them the same");
  int self = 0;
  return findMember(spec, &self);
}

Status Joined::meet() {
  MemberFacts facts;
  DIST_RETURN_IF_ERROR(describeProgram(options.package, "", &facts));
  MembershipOptions joining;
  joining.spec = spec;
  joining.secret = options.secret;
  joining.store = options.store;
  joining.timeout = options.startTimeout;
  joining.cpus = int(cpu::usableCpus().size());
  joining.note = options.note;
  joining.takesWorkersBack = true;
  DIST_RETURN_IF_ERROR(Membership::join(joining, &membership));
  return membership->shareFacts(facts);
}

Status Joined::checkLayout() const {
  if (layout.servers.size() == spec.of(Job::Ps).size())
    return Status();
  return Status::error(
      StatusCode::InvalidInput, "the package is for another cluster",
      options.package,
      "it is for " + std::to_string(layout.servers.size()) +
          " parameter servers, and tf_config has " +
          std::to_string(spec.of(Job::Ps).size()),
      "compile it with --strategy parameter-server --servers " +
          std::to_string(spec.of(Job::Ps).size()));
}

Status Joined::connect() {
  ServedOptions joining;
  joining.watching.patience = options.heartbeatTimeout;
  joining.watching.ports = options.ports;
  joining.networkDevices =
      options.interface.empty() ? ownInterface(spec) : options.interface;
  joining.timeout = options.startTimeout;
  ServedPart part;
  DIST_RETURN_IF_ERROR(joinServed(*membership, spec, joining, &part));
  cast = std::move(part.cast);
  heartbeat = std::move(part.heartbeat);
  if (cpuVariant.empty()) {
    cpuVariant = std::move(part.cpuVariant);
    DIST_RETURN_IF_ERROR(
        ps::Layout::read(options.package, cpuVariant, &layout));
    DIST_RETURN_IF_ERROR(checkLayout());
  }
  mail = std::make_unique<ps::Mail>(
      std::move(part.end),
      std::max(options.largestLetter, layout.largestLetter()));
  mail->setWatch(watchBy(*heartbeat, part.rank));
  return Status();
}

Status Joined::join(const JoinOptions &options, std::unique_ptr<Joined> *out) {
  auto joined = std::make_unique<Joined>();
  joined->options = options;
  DIST_RETURN_IF_ERROR(joined->readSpec());
  DIST_RETURN_IF_ERROR(joined->meet());
  DIST_RETURN_IF_ERROR(joined->connect());
  *out = std::move(joined);
  return Status();
}

bool Joined::isBack(const Status &failed) {
  // The others have not given it up.
  if (failed.ok() || explain(failed).message() == failed.message())
    return false;
  mail.reset();
  return membership->beBack().ok() && connect().ok();
}

Status Joined::endStart() {
  std::vector<std::vector<std::string>> all;
  if (!membership->isBack())
    DIST_RETURN_IF_ERROR(membership->exchange("opened", {"yes"}, &all));
  membership->endStart();
  return Status();
}

ps::TaskOptions Joined::taskOptions() {
  return {cast, {}, [this](int64_t closure) { heartbeat->begin(closure + 1); }};
}

} // namespace dist::cluster
