//===- UnrollMicrobatches.cpp - One op a microbatch, in their order -------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What has to be done are steps: an op's work for one microbatch, or for all of
// them. They go into one order for all stages of an entry, by the schedule's
// times and not before what they read, and each stage's function has its part
// of it. A send stands right behind what it sends and never waits, a recv right
// before the first use: in one common order no stages can wait for each other
// in a circle. Without stages, copy follows copy, so that one copy's values are
// alive at a time.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Mesh.h"
#include "passes/Analysis/PipelineSchedule.h"
#include "passes/Analysis/StageAssignment.h"
#include "passes/Partition/MicrobatchCopies.h"
#include "passes/Partition/Passes.h"
#include "llvm/ADT/MapVector.h"
#include <queue>

namespace mlir::dist {
#define GEN_PASS_DEF_UNROLLMICROBATCHESPASS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
/// When an op's steps run.
struct Timing {
  /// It runs when it is asked for: it depends on nothing of a stage's own.
  bool lazy = false;
  /// It runs as soon as it can.
  bool atOnce = false;
  /// The schedule's item that it is a part of, if it is of one, for the first
  /// microbatch.
  std::optional<PipelineItem> item;
  /// Its first step's place among steps.
  size_t firstStep = 0;
  /// The ops that wait for it, once an operand; those that run at once first.
  SmallVector<unsigned, 4> readers;
  /// Of a send: the recv that takes it.
  std::optional<unsigned> recv;
};

/// A step that can run.
struct Ready {
  double time;
  /// Of all microbatches: their number. An update comes behind the last one's
  /// work, of which another stage waits for a part.
  int64_t copy;
  unsigned op;
  int64_t step;
  bool operator<(const Ready &other) const {
    return std::tie(other.time, other.copy, other.op, other.step) <
           std::tie(time, copy, op, step);
  }
};

/// Unrolls the functions of one entry.
class Unroller {
public:
  /// `shown`: of how many of the `count` microbatches there will be copies.
  Unroller(MutableArrayRef<func::FuncOp> functions, int64_t count,
           int64_t shown)
      : functions(functions), count(count), shown(shown),
        ops(functions, count, shown),
        isPipeline(functions.front()->hasAttr(kPipelineAttr)),
        itemStarts(functions.size(), -1) {}
  LogicalResult run();

private:
  void addOps(unsigned program);
  Timing makeTiming(Operation *op, unsigned program,
                    const DenseSet<Value> &own) const;
  LogicalResult computeStarts();
  void linkReaders();
  void linkReadersOf(unsigned number);

  template <typename Function>
  void forEachWaiting(unsigned from, int64_t copy, unsigned reader,
                      Function function) const;
  void finish(unsigned number, int64_t copy, double time);
  void arrive(unsigned number, int64_t step, double time);
  void makeReady(unsigned number, int64_t step);
  void runStep(unsigned number, int64_t step);
  void enterItem(unsigned program, const PipelineItem &item, int64_t step);

  MutableArrayRef<func::FuncOp> functions;
  int64_t count, shown;
  MicrobatchCopies ops;
  bool isPipeline;
  /// By op.
  std::vector<Timing> timings;
  /// By step: how many it still waits for, and when it runs.
  std::vector<int32_t> waiting;
  std::vector<double> times;
  /// When each of the schedule's items starts.
  std::vector<double> starts;
  /// When the last item began that a function has entered.
  std::vector<double> itemStarts;
  int64_t chunks = 1;
  std::priority_queue<Ready> ready;
  size_t done = 0, toDo = 0;
};

struct UnrollMicrobatchesPass
    : mlir::dist::impl::UnrollMicrobatchesPassBase<UnrollMicrobatchesPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

//===----------------------------------------------------------------------===//
// What there is to do
//===----------------------------------------------------------------------===//

/// Whether a copy of the op has to wait for other copies' operands.
static bool waitsForOthers(Operation *op) {
  return isOverMicrobatches(op) && !isa<AllSliceOp>(op) &&
         !isa<BlockArgument>(op->getOperand(0));
}

/// `own`: what is a stage's own, or made of that.
Timing Unroller::makeTiming(Operation *op, unsigned program,
                            const DenseSet<Value> &own) const {
  Timing timing;
  timing.atOnce = isa<SendOp>(op);
  if (!isPipeline) {
    timing.lazy = isa<AllSliceOp>(op) && isOverMicrobatches(op) &&
                  isa<BlockArgument>(op->getOperand(0));
    return timing;
  }
  timing.lazy = op->getNumResults() > 0 &&
                llvm::none_of(op->getOperands(), [&](Value operand) {
                  return own.contains(operand);
                });
  if (count == 1 || op->hasAttr(kMicrobatchAttr)) {
    auto chunk = op->getAttrOfType<IntegerAttr>(kStageAttr);
    if (!chunk)
      chunk = functions[program]->getAttrOfType<IntegerAttr>(kStageAttr);
    timing.item =
        PipelineItem{chunk ? chunk.getInt() : 0, 0, op->hasAttr(kBackwardAttr)};
  }
  return timing;
}

void Unroller::addOps(unsigned program) {
  func::FuncOp function = functions[program];
  DenseSet<Value> own;
  PortVariables ports(function);
  for (BlockArgument argument : function.getArguments())
    if (auto variable = ports.ofArgument(argument.getArgNumber()))
      if (getStage(variable) >= 0)
        own.insert(argument);
  // Of functions without a schedule: how many sums over the microbatches and
  // the like stand before an op.
  DenseMap<Operation *, int64_t> levels;
  for (Operation &op : function.front().without_terminator()) {
    const Rolled &rolled = ops[ops.add(&op, program)];
    Timing timing = makeTiming(&op, program, own);
    timing.firstStep = waiting.size();
    waiting.resize(waiting.size() + rolled.steps, 0);
    // A recv runs when it is asked for, too, but not before it was sent.
    if (!timing.lazy || isa<RecvOp>(op))
      own.insert(op.result_begin(), op.result_end());
    double time = -1;
    if (!isPipeline) {
      int64_t level = 0;
      for (Value operand : op.getOperands())
        if (Operation *definition = operand.getDefiningOp())
          level = std::max(level, levels.lookup(definition) +
                                      waitsForOthers(definition));
      time = levels[&op] = level;
    }
    times.resize(waiting.size(), time);
    timings.push_back(std::move(timing));
  }
}

LogicalResult Unroller::computeStarts() {
  auto pipeline = findStagePipeline(functions.front());
  PipelineShape shape = pipeline ? pipeline->shape : PipelineShape();
  chunks = shape.chunks;
  shape.training = false;
  bool fits = pipeline && shape.microbatches == count;
  for (const Timing &timing : timings)
    if (timing.item) {
      shape.training |= timing.item->backward;
      fits &= timing.item->chunk < chunks;
    }
  std::string error = "expected a schedule of " + std::to_string(count) +
                      " microbatches, as dist-split-stages notes it";
  if (!fits)
    return functions.front().emitOpError() << error;
  shape.microbatches = shown;
  auto plan = planPipeline(pipeline->schedule, shape, error);
  if (failed(plan))
    return functions.front().emitOpError() << error;
  starts.assign(chunks * shown * 2, -1);
  for (auto [items, itemStarts] : llvm::zip(plan->order, plan->timeline.start))
    for (auto [item, start] : llvm::zip(items, itemStarts))
      starts[(item.chunk * shown + item.microbatch) * 2 + item.backward] =
          start;
  return success();
}

//===----------------------------------------------------------------------===//
// When it can be done
//===----------------------------------------------------------------------===//

/// Calls `function` with the steps of `reader` that wait for a copy of `from`,
/// for each time they do.
template <typename Function>
void Unroller::forEachWaiting(unsigned from, int64_t copy, unsigned reader,
                              Function function) const {
  bool isForAll = ops[from].copies == 1;
  Operation *op = ops[reader].op;
  if (auto permute = dyn_cast<PermuteOp>(op); permute && isOverMicrobatches(op))
    for (int64_t step = 0; step < ops[reader].steps; ++step) {
      int64_t source = permute.getSources()[ops.getMicrobatch(step)];
      if (source == copy || (isForAll && source >= 0))
        function(step);
    }
  else if (auto broadcast = dyn_cast<BroadcastOp>(op);
           broadcast && isOverMicrobatches(op)) {
    if (isForAll || copy == int64_t(broadcast.getRoot()))
      function(0);
  } else if (isForAll ||
             (isOverMicrobatches(op) && isa<AllToAllOp, AllGatherOp>(op)))
    for (int64_t step = 0; step < ops[reader].steps; ++step)
      function(step);
  else
    function(ops[reader].steps == 1 ? 0 : copy);
}

void Unroller::linkReadersOf(unsigned number) {
  Timing &timing = timings[number];
  for (Operation *user : ops[number].op->getUsers())
    if (auto reader = ops.find(user); reader && !timings[*reader].lazy)
      timing.readers.push_back(*reader);
  llvm::sort(timing.readers, [&](unsigned a, unsigned b) {
    return std::make_pair(!timings[a].atOnce, a) <
           std::make_pair(!timings[b].atOnce, b);
  });
  for (unsigned reader : timing.readers)
    for (int64_t copy = 0; copy < ops[number].copies; ++copy)
      forEachWaiting(number, copy, reader, [&](int64_t step) {
        ++waiting[timings[reader].firstStep + step];
      });
}

void Unroller::linkReaders() {
  DenseMap<int64_t, unsigned> recvs;
  for (unsigned number = 0; number < ops.size(); ++number)
    if (auto recv = dyn_cast<RecvOp>(ops[number].op))
      recvs[recv.getTag()] = number;
  for (unsigned number = 0; number < ops.size(); ++number) {
    if (auto send = dyn_cast<SendOp>(ops[number].op))
      if (auto recv = recvs.find(send.getTag()); recv != recvs.end()) {
        timings[number].recv = recv->second;
        linkReadersOf(recv->second);
      }
    if (timings[number].lazy)
      continue;
    linkReadersOf(number);
    toDo += ops[number].steps;
    // A sum's steps follow each other.
    if (ops[number].isSum())
      for (int64_t step = 1; step < ops[number].steps; ++step)
        ++waiting[timings[number].firstStep + step];
  }
}

void Unroller::makeReady(unsigned number, int64_t step) {
  const Timing &timing = timings[number];
  if (timing.atOnce)
    return runStep(number, step);
  double &time = times[timing.firstStep + step];
  if (timing.item)
    time = std::max(time, starts[(timing.item->chunk * shown + step) * 2 +
                                 timing.item->backward]);
  ready.push({time, ops[number].steps > 1 ? step : count, number, step});
}

/// Something that the step waits for is there.
void Unroller::arrive(unsigned number, int64_t step, double time) {
  size_t place = timings[number].firstStep + step;
  times[place] = std::max(times[place], time);
  if (--waiting[place] == 0)
    makeReady(number, step);
}

/// A copy of an op's results is there, or will be when it is asked for.
void Unroller::finish(unsigned number, int64_t copy, double time) {
  const Timing &timing = timings[number];
  for (unsigned reader : timing.readers)
    forEachWaiting(number, copy, reader,
                   [&](int64_t step) { arrive(reader, step, time); });
  if (timing.recv)
    finish(*timing.recv, copy, time);
}

/// What is made from now on is of that item, unless it is one that has begun
/// earlier: some of its ops wait for what comes later.
void Unroller::enterItem(unsigned program, const PipelineItem &item,
                         int64_t step) {
  double start = starts[(item.chunk * shown + step) * 2 + item.backward];
  double &entered = itemStarts[program];
  if (start < entered)
    return;
  entered = start;
  ops.setPlace(program, {ops.getMicrobatch(step), item.chunk, item.backward});
}

void Unroller::runStep(unsigned number, int64_t step) {
  const Timing &timing = timings[number];
  if (shown < count && timing.item)
    enterItem(ops[number].program, *timing.item, step);
  ops.emit(number, step);
  ++done;
  double time = times[timing.firstStep + step];
  if (!ops[number].isSum())
    finish(number, step, time);
  else if (step + 1 < ops[number].steps)
    arrive(number, step + 1, time);
  else
    finish(number, 0, time);
}

LogicalResult Unroller::run() {
  for (unsigned program = 0; program < functions.size(); ++program)
    addOps(program);
  if (isPipeline && failed(computeStarts()))
    return failure();
  linkReaders();
  SmallVector<std::pair<unsigned, int64_t>> first;
  for (unsigned number = 0; number < ops.size(); ++number)
    if (!timings[number].lazy)
      for (int64_t step = 0; step < ops[number].steps; ++step)
        if (waiting[timings[number].firstStep + step] == 0)
          first.emplace_back(number, step);
  for (auto [number, step] : first)
    makeReady(number, step);
  while (!ready.empty()) {
    Ready next = ready.top();
    ready.pop();
    runStep(next.op, next.step);
  }
  if (done != toDo)
    return functions.front().emitOpError()
           << "has " << toDo - done << " steps that wait for each other";
  ops.finish();
  if (shown < count)
    for (func::FuncOp function : functions)
      function->setAttr(
          kShownMicrobatchesAttr,
          Builder(function.getContext()).getI64IntegerAttr(shown));
  return success();
}

/// Of how many microbatches there have to be copies, so that those of the
/// others are known by them; all, unless at least `wanted` do.
static int64_t countShown(ArrayRef<func::FuncOp> functions, int64_t count,
                          int64_t wanted) {
  auto pipeline = findStagePipeline(functions.front());
  if (wanted <= 0 || !pipeline)
    return count;
  // Several chunks a stage take turns, in rounds of as many as stages.
  if (pipeline->shape.chunks > pipeline->shape.stages)
    wanted = llvm::alignTo(wanted, pipeline->shape.stages);
  if (wanted >= count)
    return count;
  // Sums and pieces go on as they begin. What all copies put together, or give
  // each other, has to be written for all.
  for (func::FuncOp function : functions)
    for (Operation &op : function.front().without_terminator()) {
      if (!isOverMicrobatches(&op) || isa<AllReduceOp, AllSliceOp>(op))
        continue;
      auto permute = dyn_cast<PermuteOp>(op);
      if (!permute || llvm::any_of(permute.getSources().drop_front(),
                                   [](int64_t from) { return from >= 0; }))
        return count;
    }
  return wanted;
}

void UnrollMicrobatchesPass::runOnOperation() {
  ModuleOp module = getOperation();
  int64_t count = getNumMicrobatches(module);
  llvm::MapVector<Attribute, SmallVector<func::FuncOp>> entries;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    bool isStage = function->hasAttr(kPipelineAttr);
    if (count > 1 || isStage)
      entries[isStage ? function->getAttr(kEntryAttr)
                      : Attribute(function.getSymNameAttr())]
          .push_back(function);
  }
  if (entries.empty())
    return markAllAnalysesPreserved();
  for (auto &[name, functions] : entries)
    if (failed(Unroller(functions, count,
                        countShown(functions, count, microbatches))
                   .run()))
      return signalPassFailure();
}
