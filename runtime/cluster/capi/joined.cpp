//===- joined.cpp - An app's process in a cluster -------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/capi/joined.h"
#include "runtime/cluster/detect.h"
#include "runtime/cluster/membership/world.h"
#include "runtime/cluster/network.h"
#include "runtime/device/cpu/cpus.h"

namespace dist::cluster {

Status Joined::readSpec(const JoinOptions &options) {
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
  SystemNetwork network;
  for (const Status &fault : checkNetwork(spec, network))
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

Status Joined::meet(const JoinOptions &options) {
  MemberFacts facts;
  DIST_RETURN_IF_ERROR(describeProgram(options.package, "", &facts));
  MembershipOptions joining;
  joining.spec = spec;
  joining.secret = options.secret;
  joining.timeout = options.startTimeout;
  joining.cpus = int(cpu::usableCpus().size());
  joining.note = options.note;
  DIST_RETURN_IF_ERROR(Membership::join(joining, &membership));
  DIST_RETURN_IF_ERROR(membership->shareFacts(facts));
  DIST_RETURN_IF_ERROR(chooseCpuVariant(*membership, &cpuVariant));
  DIST_RETURN_IF_ERROR(ps::Layout::read(options.package, cpuVariant, &layout));
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

Status Joined::connect(const JoinOptions &options) {
  HeartbeatOptions watching;
  watching.outlivesMembers = true;
  watching.patience = options.heartbeatTimeout;
  DIST_RETURN_IF_ERROR(
      watchMembers(*membership, spec, std::move(watching), &heartbeat));
  std::unique_ptr<Transport> end;
  DIST_RETURN_IF_ERROR(
      makeClusterTransport(*membership, ownInterface(spec), &end));
  cast.workers = int(spec.of(Job::Worker).size());
  cast.servers = int(spec.of(Job::Ps).size());
  for (const Member &member : membership->members())
    cast.names.push_back(member.task.text());
  mail = std::make_unique<ps::Mail>(
      std::move(end), std::max(options.largestLetter, layout.largestLetter()));
  mail->setWatch([this] {
    std::vector<std::pair<int, std::string>> lost;
    for (LostMember &one : heartbeat->findLost(/*waits=*/false))
      // Who is given up hears nothing more, of the coordinator neither.
      lost.emplace_back(one.member == membership->self() ? ps::Cast::coordinator
                                                         : one.member,
                        std::move(one.why));
    return lost;
  });
  return Status();
}

Status Joined::join(const JoinOptions &options, std::unique_ptr<Joined> *out) {
  auto joined = std::make_unique<Joined>();
  DIST_RETURN_IF_ERROR(joined->readSpec(options));
  DIST_RETURN_IF_ERROR(joined->meet(options));
  DIST_RETURN_IF_ERROR(joined->connect(options));
  *out = std::move(joined);
  return Status();
}

Status Joined::endStart() {
  std::vector<std::vector<std::string>> all;
  DIST_RETURN_IF_ERROR(membership->exchange("opened", {"yes"}, &all));
  membership->endStart();
  return Status();
}

ps::TaskOptions Joined::taskOptions() {
  return {cast, {}, [this](int64_t closure) { heartbeat->begin(closure + 1); }};
}

} // namespace dist::cluster
