//===- membership_run.cpp - How processes meet, simulated -----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shipped membership, in the processes of one job: under --elastic, with
// the chief's store or a coordinator's, in which they elect a new chief, or all
// together in a coordinator's, whose machine may crash. Processes crash,
// freeze, are cut off and started again, some of them while those before them
// still are, and some with another program.
//
//===----------------------------------------------------------------------===//
#include "test/runtime/simulation/membership_run.h"
#include "test/runtime/simulation/run.h"

namespace dist::simulation {

/// However the faults fall, the run is over by then.
static constexpr std::chrono::minutes kLimit{20};
static constexpr int kMostEpochs = 200;
static constexpr double kStartSeconds = 60;
static constexpr microseconds kLook{100000};

MembershipRun::MembershipRun(uint64_t seed, bool isTraced)
    : simulator(seed, isTraced), disk(simulator),
      isElastic(simulator.chance(0.67)),
      isShared(!isElastic || simulator.chance(0.5)) {
  tasks = 2 + int(simulator.below(3));
  work = upTo(seconds(30));
  restarts.assign(tasks, 2);
  faults.latest = simulator.between(microseconds(300), milliseconds(20));
  faults.reaches = [this](int process, int owner) {
    return cuts.count({process, owner}) == 0;
  };
  simulator.onCrash = [this](int number) {
    for (auto one = stores.begin(); one != stores.end();)
      if (one->second->owner == number) {
        one->second->stop();
        one = stores.erase(one);
      } else {
        ++one;
      }
    restartLater(processes.at(number).task);
  };
  if (!isShared)
    return;
  stores[kStoreAddress] = std::make_shared<StoreMachine>(simulator, -1, &disk);
  stores[kStoreAddress]->watch.mayBeLost = [this](int number) {
    return isStoreDoubtful || isGone(number) || doubtful.count(number) > 0;
  };
  (void)stores[kStoreAddress]->start();
}

MembershipRun::Process &MembershipRun::start(int task) {
  const std::string name = "worker " + std::to_string(task);
  auto number = std::make_shared<int>(-1);
  *number = simulator.start(name, [this, number] {
    Process &own = processes.at(*number);
    Status result = live(own);
    simulator.trace(result.ok() ? "ends well" : result.message());
    if (simulator.isGhost())
      return;
    own.result = result;
    if (!result.ok())
      restartLater(own.task);
  });
  Process &made = processes[*number];
  made.task = task;
  made.number = *number;
  const bool isLate = made.number >= tasks;
  made.program =
      isElastic && isLate && simulator.chance(0.15) ? "another" : "program";
  made.machine = std::make_unique<Machine>(simulator, faults, stores, *number);
  return made;
}

void MembershipRun::restartLater(int task) {
  if (restarts[task] == 0 || simulator.chance(0.3))
    return;
  --restarts[task];
  simulator.at(simulator.now() + upTo(seconds(15)),
               [this, task] { start(task); });
}

MembershipRun::List MembershipRun::listOf(const Membership &membership) const {
  List list;
  for (const Member &member : membership.members())
    list.push_back(int(member.process));
  return list;
}

/// Holds what a process takes for its epoch against what the others do.
void MembershipRun::accept(const Process &own, const Membership &membership) {
  const List list = listOf(membership);
  if (list[membership.self()] != own.number)
    simulator.fail(nameOf(own.number) + " is none of its epoch's members, " +
                   nameOf(list[membership.self()]) + " has its task");
  for (int number : list) {
    auto known = lists.find({number, membership.epoch()});
    if (known != lists.end() && known->second != list)
      simulator.fail(nameOf(number) + " is in two rolls of epoch " +
                     std::to_string(membership.epoch()));
    if (!simulator.isGhost())
      lists[{number, membership.epoch()}] = list;
  }
}

/// What all do when they have met.
Status MembershipRun::begin(Process &own, Membership &membership,
                            const std::string &what) {
  const std::string name =
      nameOf(own.number) + " in epoch " + std::to_string(membership.epoch());
  std::vector<std::vector<std::string>> all;
  DIST_RETURN_IF_ERROR(membership.exchange(
      what, {std::to_string(own.number), std::to_string(membership.epoch())},
      &all));
  const List list = listOf(membership);
  for (size_t member = 0; member < list.size(); ++member)
    if (member >= all.size() || all[member].size() != 2 ||
        all[member][0] != std::to_string(list[member]) ||
        all[member][1] != std::to_string(membership.epoch()))
      simulator.fail(name + " is given another's or an older value");
  return Status();
}

Status MembershipRun::live(Process &own) {
  MembershipOptions options;
  for (int task = 0; task < tasks; ++task)
    options.spec.of(Job::Worker).push_back({"127.0.0.1", 2000 + task});
  options.spec.self = Task{Job::Worker, own.task};
  options.isElastic = isElastic;
  if (isShared) {
    options.store.addresses = {{"127.0.0.1", 2379}};
    options.store.isCoordinator = true;
  }
  options.timeout = kStartSeconds;
  options.note = [this](const std::string &line) { simulator.trace(line); };
  options.surroundings = own.machine.get();
  std::unique_ptr<Membership> membership;
  DIST_RETURN_IF_ERROR(Membership::join(options, &membership));
  while (true) {
    accept(own, *membership);
    bool regroups = false;
    Status status = beginEpoch(own, *membership);
    if (status.ok() && !isElastic)
      return workAt(own, *membership);
    if (status.ok())
      status = workOn(own, *membership, &regroups);
    own.works = false;
    regroups |= !status.ok() && beginsAgain(own, *membership, status);
    if (!regroups)
      return status;
    DIST_RETURN_IF_ERROR(meetAgain(*membership));
  }
}

Status MembershipRun::beginEpoch(Process &own, Membership &membership) {
  DIST_RETURN_IF_ERROR(membership.shareFacts({own.program, {}, {}}));
  for (int number : listOf(membership))
    if (processes.at(number).program != own.program)
      simulator.fail("programs differ, and nobody minds");
  return begin(own, membership, "addresses");
}

/// As dist-run decides it, where an epoch fails before it has done anything.
bool MembershipRun::beginsAgain(const Process &own, Membership &membership,
                                const Status &failed) {
  if (!isElastic || membership.epoch() == 0 ||
      failed.code() != StatusCode::Unavailable || simulator.isGhost())
    return false;
  const List list = listOf(membership);
  Epoch &epoch = epochOf(membership);
  findLost(list, epoch);
  std::set<int> lost = epoch.lost;
  for (int member : membership.findGone())
    lost.insert(list[size_t(member)]);
  return (membership.othersMeetAgain() || !lost.empty()) &&
         lost.count(own.number) == 0 && (isShared || lost.count(list[0]) == 0);
}

Status MembershipRun::meetAgain(Membership &membership) {
  RegroupOptions regrouping;
  Epoch &epoch = epochOf(membership);
  regrouping.lost = [this, &epoch, list = listOf(membership)] {
    findLost(list, epoch);
    std::vector<int> lost;
    for (int member = 0; member < int(list.size()); ++member)
      if (epoch.lost.count(list[member]))
        lost.push_back(member);
    return lost;
  };
  if (membership.epoch() > kMostEpochs)
    simulator.fail("they meet again and again, and do nothing else");
  simulator.trace("meets again");
  return membership.regroup(regrouping);
}

/// As heartbeats do: who is gone, or is frozen for a second.
void MembershipRun::findLost(const List &members, Epoch &epoch) {
  for (int number : members)
    if (isGone(number) ||
        simulator.frozenUntil(number) > simulator.now() + seconds(1))
      epoch.lost.insert(number);
}

/// Between two steps: an error where it cannot go on without who is lost.
Status MembershipRun::look(int own, Membership &membership, Epoch &epoch) {
  const List list = listOf(membership);
  findLost(list, epoch);
  // One that has slept may hear of it late.
  const bool isGivenUp = epoch.lost.count(own) && simulator.chance(0.5);
  if (isGivenUp || (!isShared && epoch.lost.count(list[0])))
    return Status::error(StatusCode::Unavailable, "a process is lost", "", "");
  return Status();
}

/// Under --elastic, until the work is done or some are lost.
Status MembershipRun::workOn(Process &own, Membership &membership,
                             bool *regroups) {
  Epoch &epoch = epochOf(membership);
  const size_t count = membership.members().size();
  epoch.arrived.insert(own.number);
  const Time end = simulator.now() + work;
  bool isStarted = false;
  for (; !epoch.isDone; simulator.sleepUntil(simulator.now() + kLook)) {
    if (simulator.isGhost())
      return Status();
    // The first collective is done when all have come.
    if (!isStarted && epoch.arrived.size() == count) {
      isStarted = own.works = own.hasWorked = true;
      membership.endStart();
    }
    DIST_RETURN_IF_ERROR(look(own.number, membership, epoch));
    if (!epoch.lost.empty()) {
      *regroups = true;
      return Status();
    }
    if (!isStarted)
      continue;
    if (membership.self() == 0 && membership.hasNewcomers())
      epoch.grows = true;
    if (epoch.grows) {
      *regroups = true;
      return begin(own, membership, "stop");
    }
    epoch.isDone |= membership.self() == 0 && simulator.now() >= end;
  }
  return Status();
}

/// In a coordinator's store, which is asked for something once more at the end.
Status MembershipRun::workAt(Process &own, Membership &membership) {
  Epoch &epoch = epochOf(membership);
  epoch.arrived.insert(own.number);
  const Time end = simulator.now() + work;
  const size_t count = membership.members().size();
  while (epoch.arrived.size() < count || simulator.now() < end) {
    if (simulator.isGhost())
      return Status();
    findLost(listOf(membership), epoch);
    if (!epoch.lost.empty() && simulator.chance(0.7))
      return Status::error(StatusCode::Unavailable, "a process is lost", "",
                           "");
    simulator.sleepUntil(simulator.now() + kLook);
  }
  membership.endStart();
  return begin(own, membership, "late");
}

std::string MembershipRun::run() {
  for (int task = 0; task < tasks; ++task)
    start(task);
  planFaults();
  return simulator.judge(kLimit, [this] { checkEnd(); });
}

void MembershipRun::checkEnd() {
  for (auto &[number, process] : processes) {
    if (simulator.isGhost(number))
      continue;
    if (!simulator.isDone(number))
      simulator.fail(nameOf(number) + " never ends");
    if (isElastic && goesOn && process.hasWorked && !process.result.ok())
      simulator.fail(nameOf(number) +
                     " could have gone on: " + process.result.message());
    if (isCalm && !process.result.ok())
      simulator.fail("nothing was wrong, and " + nameOf(number) +
                     " has failed: " + process.result.message());
  }
}

std::string simulateRun(uint64_t seed, bool isTraced) {
  return MembershipRun(seed, isTraced).run();
}

} // namespace dist::simulation
