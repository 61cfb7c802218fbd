//===- Timeline.cpp - When a program does what -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/Timeline.h"
#include "dialects/Dist/IR/Portion.h"
#include "dialects/Dist/IR/Processes.h"
#include "dialects/Dist/IR/Stage.h"
#include "dialects/Interfaces/Cost.h"
#include "passes/Analysis/KnownValues.h"
#include "passes/Analysis/TransferTimes.h"
#include <deque>
#include <map>

using namespace mlir;
using namespace mlir::dist;

double mlir::dist::predictSeconds(Operation *op, const MachineModel &machine,
                                  int64_t ranks) {
  auto costed = dyn_cast<CostOpInterface>(op);
  if (!costed || isKnown(op))
    return 0;
  OpCost cost = costed.getCost();
  double speedup = machine.getSpeedup(ranks);
  // Element-wise chains are fused: what counts for them is one write.
  bool contraction = cost.flops > 8 * (cost.bytesRead + cost.bytesWritten) / 4;
  double bytes =
      contraction ? cost.bytesRead + cost.bytesWritten : cost.bytesWritten;
  return std::max(cost.flops / (machine.flopsPerSecond * speedup),
                  bytes / (machine.memoryBytesPerSecond * speedup));
}

namespace {
/// A tensor under way between two stages.
struct Message {
  double sent, arrives;
};

/// Sender, receiver, tag. What goes between devices and their host is told by
/// its kind and order: the n-th belongs to the n-th.
using Channel = std::tuple<int64_t, int64_t, int64_t>;
using Messages = std::map<Channel, std::deque<Message>>;

/// Unequal positions have programs of their own, which come to the same
/// collectives over their axis in one order: the n-th begins when all have come
/// to it.
struct Meetings {
  struct Meeting {
    size_t arrived = 0;
    double start = 0;
  };
  StringAttr axis; // null: one program is all positions'
  size_t positions = 0;
  std::deque<Meeting> list;
};

/// One program under way.
class Runner {
public:
  Runner(func::FuncOp function, MeshOp mesh, const MachineModel &machine,
         Messages &messages, Meetings &meetings, bool details,
         PredictFunction predict)
      : mesh(mesh), machine(machine), messages(messages), meetings(meetings),
        details(details), predict(predict),
        ranks(mesh ? llvm::divideCeil(mesh.getNumRanks(), machine.hosts) : 1) {
    if (auto number = function->getAttrOfType<IntegerAttr>(kStageAttr))
      stage = number.getInt();
    if (isOnHost(function)) {
      // With the threads of all devices, which wait.
      onHost = true;
      this->machine.threads *= ranks;
      ranks = 1;
    }
    next = &function.front().front();
    if (mesh && mesh.getHost())
      wakeUp(next);
  }

  /// Goes on until something has to be received that was not sent yet.
  /// Whether it went on at all.
  bool run() {
    Operation *first = next;
    while (next && step(next, /*mayWait=*/true))
      next = next->getNextNode();
    return next != first;
  }
  /// Receives what no program sends as if it had arrived.
  void skip() {
    step(next, /*mayWait=*/false);
    next = next->getNextNode();
  }
  bool isDone() const { return !next; }

  ProgramTimeline timeline;

private:
  bool step(Operation *op, bool mayWait);
  bool receive(Operation *op, Channel channel, bool mayWait);
  bool meet(CollectiveOpInterface op, bool isStarted, bool mayWait);
  void send(CollectiveOpInterface op, Channel channel) {
    double sent = now;
    messages[channel].push_back({sent, transfer(op)});
  }
  /// When the transfer that begins now is done.
  double transfer(CollectiveOpInterface op);
  /// Where there is a host, threads that wait between steps sleep, and so does
  /// the host while devices compute: its core is one of theirs.
  void wakeUp(Operation *op) {
    double awake = now + machine.wakeSeconds;
    add(Activity::Kind::Idle, op, now, awake, timeline.idle);
    now = awake;
  }
  void add(Activity::Kind kind, Operation *op, double start, double end,
           double &sum) {
    if (end <= start)
      return;
    sum += end - start;
    if (details)
      timeline.activities.push_back({kind, op, start, end});
  }
  void waitFor(Operation *op, double time) {
    add(Activity::Kind::Exposed, op, now, time, timeline.exposed);
    now = std::max(now, time);
  }

  MeshOp mesh;
  MachineModel machine;
  Messages &messages;
  Meetings &meetings;
  /// Those behind, and whether it has come to the next.
  size_t met = 0;
  bool hasArrived = false;
  bool details;
  PredictFunction predict;
  int64_t ranks, stage = 0;
  bool onHost = false;
  Operation *next;
  /// Of what is computed, and of the link.
  double now = 0, linkFree = 0;
  /// When what was started is done.
  DenseMap<Value, double> started;
};
} // namespace

double Runner::transfer(CollectiveOpInterface op) {
  double start = std::max(now, linkFree);
  SmallVector<StringAttr> axes = op.getGroupAxes();
  int64_t ranks = mesh.getGroupSize(axes);
  const Link &link =
      crossesProcesses(mesh, axes) ? machine.processLink : machine.link;
  double seconds = link.getSeconds(op.getBytesSent(ranks), op.getSteps(ranks));
  if (machine.transfers)
    seconds = machine.transfers->getSeconds(op, mesh).value_or(seconds);
  // The host has to come to its end, too.
  if (op.involvesHost())
    seconds = std::max(seconds, machine.wakeSeconds);
  linkFree = start + seconds;
  add(Activity::Kind::Transfer, op, start, linkFree, timeline.transfer);
  return linkFree;
}

bool Runner::receive(Operation *op, Channel channel, bool mayWait) {
  auto found = messages.find(channel);
  bool sent = found != messages.end() && !found->second.empty();
  if (!sent)
    return !mayWait;
  Message message = found->second.front();
  found->second.pop_front();
  add(Activity::Kind::Idle, op, now, message.sent, timeline.idle);
  now = std::max(now, message.sent);
  waitFor(op, message.arrives);
  if (onHost)
    wakeUp(op);
  return true;
}

/// Whether the others are there, too.
bool Runner::meet(CollectiveOpInterface op, bool isStarted, bool mayWait) {
  if (!llvm::is_contained(op.getGroupAxes(), meetings.axis))
    return true;
  if (meetings.list.size() == met)
    meetings.list.emplace_back();
  Meetings::Meeting &meeting = meetings.list[met];
  double ready = std::max(now, linkFree);
  if (!hasArrived) {
    hasArrived = true;
    ++meeting.arrived;
    meeting.start = std::max(meeting.start, ready);
  }
  if (meeting.arrived < meetings.positions && mayWait)
    return false;
  hasArrived = false;
  ++met;
  linkFree = meeting.start;
  if (!isStarted) {
    waitFor(op, ready);
    add(Activity::Kind::Idle, op, now, meeting.start, timeline.idle);
    now = meeting.start;
  }
  return true;
}

bool Runner::step(Operation *op, bool mayWait) {
  if (auto wait = dyn_cast<WaitOp>(op)) {
    waitFor(op, started.lookup(wait.getToken()));
  } else if (auto recv = dyn_cast<RecvOp>(op)) {
    Channel channel(int64_t(recv.getPeer()), stage, int64_t(recv.getTag()));
    if (!receive(recv, channel, mayWait))
      return false;
  } else if (auto sending = dyn_cast<SendOp>(op)) {
    if (mesh)
      send(sending, Channel(stage, int64_t(sending.getPeer()),
                            int64_t(sending.getTag())));
  } else if (auto hostEnd = dyn_cast<CollectiveOpInterface>(op);
             hostEnd && hostEnd.involvesHost()) {
    Channel channel(
        -1, hostEnd.getCollectiveKind() == CollectiveKind::HostReduce, 0);
    if (op->getNumOperands())
      send(hostEnd, channel);
    else if (!receive(op, channel, mayWait))
      return false;
  } else if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
    if (mesh && !collective.isLocal()) {
      if (!meet(collective, isStart(op), mayWait))
        return false;
      double done = transfer(collective);
      if (isStart(op))
        started[op->getResult(0)] = done;
      else
        waitFor(op, done);
    }
  } else {
    double seconds = predict ? predict(op, machine, ranks) : 0;
    if (!predict)
      op->walk([&](Operation *one) {
        seconds += predictSeconds(one, machine, ranks);
      });
    add(Activity::Kind::Compute, op, now, now + seconds, timeline.compute);
    now += seconds;
  }
  timeline.end = std::max(now, linkFree);
  return true;
}

Timeline mlir::dist::simulate(ArrayRef<func::FuncOp> programs, MeshOp mesh,
                              const MachineModel &machine, bool details,
                              PredictFunction predict) {
  Messages messages;
  Meetings meetings;
  for (func::FuncOp function : programs)
    if (std::optional<Portion> portion = findPortion(function)) {
      meetings.axis = portion->axis;
      ++meetings.positions;
    }
  std::vector<Runner> runners;
  for (func::FuncOp function : programs)
    runners.emplace_back(function, mesh, machine, messages, meetings, details,
                         predict);
  while (!llvm::all_of(runners,
                       [](const Runner &runner) { return runner.isDone(); })) {
    bool moved = false;
    for (Runner &runner : runners)
      moved |= runner.run();
    if (moved)
      continue;
    // All wait for what no program sends.
    llvm::find_if(runners, [](const Runner &runner) {
      return !runner.isDone();
    })->skip();
  }
  Timeline timeline;
  for (Runner &runner : runners) {
    timeline.length = std::max(timeline.length, runner.timeline.end);
    timeline.programs.push_back(std::move(runner.timeline));
  }
  // Who called the step sleeps until the host is done with it.
  if (mesh && mesh.getHost())
    timeline.length += machine.wakeSeconds;
  return timeline;
}
