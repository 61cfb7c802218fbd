//===- cluster.cpp - This process's part in a cluster ---------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/cluster_impl.h"
#include "runtime/cluster/network.h"
#include "runtime/cluster/status/format.h"
#include "runtime/comm/mpi/mpi.h"
#include "runtime/comm/ucx/ucx.h"
#include "runtime/core/variants.h"
#include "runtime/device/cpu/cpus.h"
#include "runtime/device/cpu/features.h"
#include "runtime/formats/file.h"
#include "tools/dist-run/console.h"
#include "tools/dist-run/launch.h"
#include "tools/dist-run/prepare.h"
#include "tools/dist-run/program.h"
#include "tools/dist-run/present_chief.h"
#include "tools/dist-run/restart_end.h"
#include "tools/dist-run/secret.h"
#include "tools/options/cluster.h"
#include "tools/options/interrupt.h"
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace dist::tools {

ClusterRun::ClusterRun() = default;
ClusterRun::~ClusterRun() = default;

ServedRun *ClusterRun::served() const {
  return impl ? impl->served.get() : nullptr;
}

bool ClusterRun::isChief() const {
  // Who it is when one was lost is for those that are left.
  if (impl && impl->membership)
    return impl->membership->self() == 0;
  return !impl || *impl->spec.self == impl->spec.chief();
}

void prepareCluster() {
  prepareUcx();
  holdWhileSharing([]() -> std::shared_ptr<void> {
    return std::make_shared<Shield>("opening the network");
  });
}

Status ClusterRun::find(const Options &options) {
  int processes = 1, servers = 0;
  DIST_RETURN_IF_ERROR(countProcesses(options, &processes, &servers));
  if (processes < 2 && servers == 0)
    return Status();
  if (options.firstPort > 0)
    limitUcxPorts(options.firstPort, options.lastPort);
  auto found = std::make_unique<Impl>();
  const auto note = [](const std::string &line) {
    printNote("dist-run: note: " + line);
  };
  for (const Status &fault : findCluster(options, &found->spec, note))
    return fault;
  int others = int(found->spec.of(cluster::Job::Ps).size());
  if (others != servers)
    return Status::error(
        StatusCode::InvalidInput, "the package is for another cluster",
        options.model,
        "it is for " + std::to_string(servers) + " parameter servers, and " +
            found->spec.addressSource + " has " + std::to_string(others),
        others == 0    ? "add \"ps\": [\"HOST:PORT\", ...] to the cluster"
        : servers == 0 ? "leave \"ps\" out of the cluster"
                       : "compile it with --servers " + std::to_string(others));
  int trainers = int(found->spec.trainers().size());
  // Any number of workers runs the same steps of parameter servers.
  if (trainers != processes && servers == 0)
    return Status::error(
        StatusCode::InvalidInput, "the package is for another cluster",
        options.model,
        "it is for " + std::to_string(processes) + " workers, and " +
            found->spec.addressSource + " has " + std::to_string(trainers),
        "compile it with --workers " + std::to_string(trainers));
  int self = 0;
  DIST_RETURN_IF_ERROR(cluster::findMember(found->spec, &self));
  std::vector<cluster::Address> addresses;
  for (const cluster::Task &task : found->spec.tasks())
    addresses.push_back(*found->spec.find(task));
  if (options.store.isCoordinator)
    addresses.push_back(options.store.addresses.front());
  DIST_RETURN_IF_ERROR(readJobSecret(options, addresses, &found->secret));
  if (isUnbound()) {
    found->allCpus = cpu::usableCpus();
    found->takePart(found->spec.trainers());
  }
  found->canLoseChief = bool(options.store);
  impl = std::move(found);
  return Status();
}

/// Interfaces by which ranks reach each other, unless the user has chosen.
static std::string chooseInterface(const ClusterSpec &spec) {
  return std::getenv("UCX_NET_DEVICES") ? "" : cluster::ownInterface(spec);
}

Status ClusterRun::Impl::watchEachOther(const Options &options) {
  cluster::HeartbeatOptions watching;
  watching.patience = options.heartbeatTimeout;
  watching.ports = {options.firstPort, options.lastPort};
  return cluster::watchMembers(*membership, spec, std::move(watching),
                               &heartbeat);
}

/// What the chief says of who has met.
static void noteCluster(const ClusterSpec &spec, bool hasSecret,
                        const std::vector<int> &hosts, int trainers,
                        const std::string &more) {
  std::set<int> distinct(hosts.begin(), hosts.end());
  size_t servers = spec.of(cluster::Job::Ps).size();
  printNote("dist-run: note: " + std::to_string(trainers) +
            (trainers == 1 ? " worker" : " workers") +
            (servers == 0 ? ""
             : servers == 1
                 ? " and 1 parameter server"
                 : " and " + std::to_string(servers) + " parameter servers") +
            " on " + std::to_string(distinct.size()) +
            (distinct.size() == 1 ? " host" : " hosts") + more);
  for (const cluster::Task &task : spec.tasks())
    if (!cluster::isLoopback(spec.find(task)->host)) {
      printNote(
          hasSecret
              ? "dist-run: note: the processes know each other by the job's "
                "secret; the store's connections are encrypted, heartbeats and "
                "tensors travel in clear text: use a network where nobody "
                "else can read or change them"
              : "dist-run: note: the processes' connections are neither "
                "encrypted nor authenticated (--insecure-network)");
      break;
    }
}

Status ClusterRun::Impl::serveMetrics(const Options &options) {
  if (!options.metricsPort)
    return Status();
  DIST_RETURN_IF_ERROR(cluster::MetricsServer::start(
      options.metricsHost, *options.metricsPort,
      [this] { return cluster::formatMetrics(heartbeat->status()); },
      &metrics));
  printNote("dist-run: note: metrics at " +
            describeListening("http://", {options.metricsHost, metrics->port()},
                              "/metrics"));
  return Status();
}

Status ClusterRun::Impl::meetOthers(const Options &options) {
  setActivity("waiting for the other workers");
  cluster::MembershipOptions joining;
  joining.spec = spec;
  joining.secret = secret;
  joining.timeout = options.startTimeout;
  joining.cpus = int(cpu::usableCpus().size());
  joining.isElastic = options.elastic;
  joining.takesWorkersBack = !spec.of(cluster::Job::Ps).empty();
  DIST_RETURN_IF_ERROR(openStore(options, &joining.store));
  joining.note = [](const std::string &line) {
    printNote("dist-run: note: " + line);
  };
  const auto begin = std::chrono::steady_clock::now();
  Status status = Membership::join(joining, &membership);
  const std::chrono::duration<double> waited =
      std::chrono::steady_clock::now() - begin;
  isLeftAlone = status.code() == StatusCode::Unavailable &&
                options.startTimeout > 0 &&
                waited.count() >= options.startTimeout;
  return status;
}

/// The members' tasks, and how many machines they are on; but for one, -1: all.
static std::vector<cluster::Task>
listTasks(const std::vector<cluster::Member> &members, int without,
          int *hosts) {
  std::set<int> distinct;
  std::vector<cluster::Task> tasks;
  for (int member = 0; member < int(members.size()); ++member)
    if (member != without) {
      distinct.insert(members[member].host);
      tasks.push_back(members[member].task);
    }
  *hosts = int(distinct.size());
  return tasks;
}

/// The program, and the CPUs, are those of as many workers as there are now.
void ClusterRun::Impl::takeMembers(Options *options) {
  int hosts = 0;
  std::vector<cluster::Task> tasks =
      listTasks(membership->members(), /*without=*/-1, &hosts);
  takePart(tasks);
  setWorkers(options, int(tasks.size()), hosts);
  forgetLaunchedPackage();
  if (membership->self() == 0)
    tellPresentChief();
}

bool ClusterRun::isLeftAlone() const { return impl && impl->isLeftAlone; }

Status ClusterRun::meet(Options *options, bool *isLate) {
  DIST_RETURN_IF_ERROR(impl->meetOthers(*options));
  *isLate = impl->membership->epoch() > 0;
  if (*isLate)
    impl->takeMembers(options);
  return Status();
}

Status ClusterRun::join(const Options &options, const std::string &package,
                        SessionOptions *settings) {
  setActivity("waiting for the other workers");
  cluster::MemberFacts facts;
  DIST_RETURN_IF_ERROR(
      cluster::describeProgram(package, options.cpuVariant, &facts));
  if (!impl->membership)
    DIST_RETURN_IF_ERROR(impl->meetOthers(options));
  Membership &membership = *impl->membership;
  DIST_RETURN_IF_ERROR(membership.shareFacts(facts));
  impl->heartbeatBefore.reset();
  if (!impl->spec.of(cluster::Job::Ps).empty())
    return joinServed(options, package, settings);
  DIST_RETURN_IF_ERROR(
      cluster::chooseCpuVariant(membership, &settings->cpuVariant));
  Variant variant;
  DIST_RETURN_IF_ERROR(chooseVariant(package, {cpu::hostFeatures()},
                                     settings->cpuVariant, &variant));
  std::vector<int> hosts;
  for (const cluster::Member &member : membership.members())
    hosts.push_back(member.host);
  // The one that is left has all ranks, as a run without a cluster.
  if (membership.members().size() == 1)
    return Status();
  // Who trains in step ends with the first that is lost.
  if (!impl->heartbeat)
    DIST_RETURN_IF_ERROR(impl->watchEachOther(options));
  DIST_RETURN_IF_ERROR(
      Placement::ofPackage(variant.manifest, hosts, &impl->placement));
  settings->placement = impl->placement;
  settings->process = membership.self();
  settings->makeWorld = [this, usesMpi = options.usesMpi](
                            const WorldOptions &world,
                            std::shared_ptr<World> *out) {
    setActivity("connecting to the other workers");
    if (usesMpi)
      return impl->connectByMpi(world, out);
    std::shared_ptr<MessageWorld> made;
    DIST_RETURN_IF_ERROR(cluster::makeClusterWorld(
        *impl->membership, impl->placement, world, chooseInterface(impl->spec),
        [this] { return impl->checkOthers(); }, &made));
    impl->world = made;
    std::vector<Communicator *> ranks;
    for (int rank : impl->placement.ranksOf(impl->membership->self()))
      ranks.push_back(&made->rank(rank));
    impl->heartbeat->attach(std::move(ranks), world.nameOp);
    // What names ops, and the ranks, are the session's.
    World *shown = made.get();
    *out = std::shared_ptr<World>(
        shown, [made = std::move(made), this](World *) mutable {
          impl->heartbeat->detach();
          impl->addTraffic(*made, &impl->sent);
          made.reset();
        });
    return Status();
  };
  if (!isChief())
    return Status();
  noteCluster(impl->spec, impl->secret.has_value(), hosts, int(hosts.size()),
              ", " + std::to_string(impl->placement.ranks()) + " ranks");
  Status served = impl->serveMetrics(options);
  if (served.ok() || membership.epoch() == 0)
    return served;
  // The chief before, which may be frozen, has the port.
  printNote("dist-run: note: no metrics from now on: " + served.message());
  return Status();
}

Status ClusterRun::Impl::connectByMpi(const WorldOptions &options,
                                      std::shared_ptr<World> *out) {
  std::shared_ptr<World> made;
  DIST_RETURN_IF_ERROR(cluster::makeMpiClusterWorld(
      *membership, placement, options,
      {pathBeside(std::string("../lib/") + kMpiLibrary), kMpiLibrary}, &made));
  usesMpi = true;
  heartbeat->attach(
      {&made->rank(placement.ranksOf(membership->self()).front())},
      options.nameOp);
  World *shown = made.get();
  *out = std::shared_ptr<World>(
      shown, [made = std::move(made), this](World *) mutable {
        heartbeat->detach();
        made.reset();
      });
  return Status();
}

Status ClusterRun::connect(const Options &options, const WorldOptions &world,
                           int *rank, std::vector<int> *hosts,
                           std::shared_ptr<World> *out) {
  DIST_RETURN_IF_ERROR(impl->meetOthers(options));
  Membership &membership = *impl->membership;
  DIST_RETURN_IF_ERROR(impl->watchEachOther(options));
  std::vector<RankPlacement> ranks;
  for (const cluster::Member &member : membership.members()) {
    int number = int(ranks.size());
    ranks.push_back({number, member.host, 0, number});
    hosts->push_back(member.host);
  }
  DIST_RETURN_IF_ERROR(Placement::create(std::move(ranks), &impl->placement));
  setActivity("connecting to the other workers");
  *rank = membership.self();
  std::shared_ptr<MessageWorld> made;
  DIST_RETURN_IF_ERROR(cluster::makeClusterWorld(
      membership, impl->placement, world, chooseInterface(impl->spec),
      [this] { return impl->checkOthers(); }, &made));
  impl->heartbeat->attach({&made->rank(*rank)}, world.nameOp);
  World *shown = made.get();
  *out = std::shared_ptr<World>(
      shown, [made = std::move(made), this](World *) mutable {
        impl->heartbeat->detach();
        made.reset();
      });
  return Status();
}

Status ClusterRun::joinServed(const Options &options,
                              const std::string &package,
                              SessionOptions *settings) {
  setActivity("connecting to the other processes");
  Impl &own = *impl;
  DIST_RETURN_IF_ERROR(own.enterServed(options));
  settings->cpuVariant = own.cpuVariant;
  if (isChief()) {
    std::vector<int> hosts;
    for (const cluster::Member &member : own.membership->members())
      hosts.push_back(member.host);
    noteCluster(own.spec, own.secret.has_value(), hosts,
                int(own.spec.trainers().size()), "");
    DIST_RETURN_IF_ERROR(own.serveMetrics(options));
  }
  ServedRun::Beats beats;
  beats.lost = cluster::watchBy(*own.heartbeat, own.end->rank());
  beats.isIn = [&own](int64_t closure) { own.heartbeat->begin(closure + 1); };
  beats.explain = [this](const Status &failed) { return explain(failed); };
  beats.takeBack = [&own](ps::CoordinatorOptions *coordinating) {
    cluster::takeWorkersBack(*own.membership, own.spec, own.cpuVariant,
                             *own.heartbeat, coordinating);
    coordinating->noneReturns = takeRestartEnd();
  };
  beats.comeBack = [&own, options](ps::Cast *cast,
                                   std::unique_ptr<Transport> *end,
                                   ps::Mail::Watch *lost) {
    DIST_RETURN_IF_ERROR(own.membership->beBack());
    DIST_RETURN_IF_ERROR(own.enterServed(options));
    *cast = own.cast;
    *lost = cluster::watchBy(*own.heartbeat, own.end->rank());
    *end = std::move(own.end);
    return Status();
  };
  return ServedRun::create(package, own.cpuVariant, own.cast,
                           std::move(own.end), std::move(beats), &own.served);
}

Status ClusterRun::Impl::enterServed(const Options &options) {
  cluster::ServedOptions joining;
  joining.watching.patience = options.heartbeatTimeout;
  joining.watching.ports = {options.firstPort, options.lastPort};
  joining.networkDevices = chooseInterface(spec);
  joining.timeout = options.startTimeout;
  cluster::ServedPart part;
  DIST_RETURN_IF_ERROR(cluster::joinServed(*membership, spec, joining, &part));
  cast = std::move(part.cast);
  heartbeat = std::move(part.heartbeat);
  end = std::move(part.end);
  cpuVariant = std::move(part.cpuVariant);
  return Status();
}

Status ClusterRun::agreeOn(
    const std::vector<std::pair<std::string, std::string>> &what,
    const std::vector<std::string> &files) {
  if (!impl)
    return Status();
  Membership &membership = *impl->membership;
  DIST_RETURN_IF_ERROR(membership.agreeOn(what));
  // It writes nothing.
  if (membership.isBack())
    return Status();
  std::vector<std::string> paths;
  for (const std::string &file : files) {
    std::error_code error;
    paths.push_back(std::filesystem::weakly_canonical(
                        std::filesystem::absolute(file, error), error)
                        .string());
  }
  std::vector<std::vector<std::string>> all;
  DIST_RETURN_IF_ERROR(membership.exchange("files", paths, &all));
  for (size_t i = 0; i < files.size(); ++i) {
    bool isTaken = false;
    for (int before = 0; before < membership.self(); ++before)
      isTaken |=
          std::count(all[before].begin(), all[before].end(), paths[i]) > 0;
    if (!isTaken)
      mine.insert(files[i]);
  }
  return Status();
}

Status ClusterRun::askChief(const std::string &what, bool *mine) {
  if (!impl || impl->membership->isBack())
    return Status();
  std::vector<std::vector<std::string>> all;
  DIST_RETURN_IF_ERROR(
      impl->membership->exchange(what, {*mine ? "yes" : "no"}, &all));
  *mine = !all.front().empty() && all.front().front() == "yes";
  return Status();
}

void ClusterRun::endStart() {
  if (!impl)
    return;
  impl->membership->endStart();
  impl->isBegun = true;
}

void ClusterRun::done(const StepRow &row) {
  if (!impl || !impl->heartbeat)
    return;
  impl->heartbeat->done(
      {row.epoch, row.step, row.examples, row.seconds, row.inputSeconds});
  for (const std::string &line : impl->heartbeat->takeNotes())
    if (isChief())
      printNote("dist-run: note: " + line);
}

Status ClusterRun::check() const {
  return impl && impl->heartbeat ? impl->heartbeat->check() : Status();
}

Status ClusterRun::explain(const Status &failed) const {
  Status known =
      impl && impl->heartbeat ? impl->heartbeat->explain(failed) : failed;
  // Until all have an epoch's heartbeat the last one's may say it.
  return impl && impl->heartbeatBefore ? impl->heartbeatBefore->explain(known)
                                       : known;
}

void ClusterRun::prepare(const Options &options) {
  if (!impl || !impl->membership || !options.elastic)
    return;
  const std::vector<cluster::Member> &members = impl->membership->members();
  int self = impl->membership->self(), count = int(members.size());
  // The last one of another machine, or of this one, stands for the one that is
  // lost: which it is changes the program where machines have several alone.
  int lost = count - 1;
  if (lost == self)
    --lost;
  bool isFirst = true;
  for (int member = 0; member < self; ++member)
    isFirst &= members[member].host != members[self].host;
  if (count - 1 < std::max(options.minWorkers, 1) || !isFirst)
    return;
  int hosts = 0;
  std::vector<cluster::Task> tasks = listTasks(members, lost, &hosts);
  std::optional<cpu_set_t> cpus;
  if (!impl->allCpus.empty())
    cpus = choosePart(impl->spec, tasks, impl->allCpus);
  impl->preparation.begin(count - 1, hosts, cpus);
}

std::string ClusterRun::describeTraffic() const {
  if (impl->served)
    return impl->served->describeTraffic();
  if (impl->usesMpi)
    return impl->membership->nameOf(impl->membership->self()) +
           " sent its part through MPI, which does not say how much";
  Traffic sum = impl->sent;
  if (std::shared_ptr<MessageWorld> world = impl->world.lock())
    impl->addTraffic(*world, &sum);
  return tools::describeTraffic(
      impl->membership->nameOf(impl->membership->self()), sum);
}

} // namespace dist::tools
