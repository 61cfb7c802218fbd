//===- SplitStages.cpp - One program a stage of the pipeline -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which stage needs which value is found from the results backward; all stages'
// ops are then put into one order by the schedule, of which each stage's
// function has a part. A send stands right behind what it sends and never
// waits, a recv right before the first use: in one common order no stages can
// wait for each other in a circle.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Dist/IR/Sources.h"
#include "dialects/Dist/IR/Stage.h"
#include "passes/Analysis/PipelineSchedule.h"
#include "passes/Analysis/StageAssignment.h"
#include "passes/Partition/EntryPart.h"
#include "passes/Partition/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallSet.h"
#include <queue>

namespace mlir::dist {
#define GEN_PASS_DEF_SPLITSTAGESPASS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
/// The stages that want something, by number.
using StageSet = llvm::SmallSet<int64_t, 4>;

/// What every stage keeps of the variables that belong to none.
using Keepers = llvm::MapVector<Operation *, StageSet>;

/// Splits one entry.
class Splitter {
public:
  Splitter(func::FuncOp function, MeshOp mesh, int64_t stages, Keepers &keepers,
           SourceBuilder &sources)
      : function(function), mesh(mesh), stages(stages), keepers(keepers),
        sources(sources), assignment(assignStages(function)), ports(function),
        builder(function.getContext()) {}

  /// Finds what each stage needs; adds to `keepers`.
  void findDemands();
  LogicalResult split(StringRef schedule, int64_t chunks);

private:
  /// The stage that has or computes the value; -1: any.
  int64_t getPlace(Value value) const {
    int64_t home = assignment.getHome(value);
    return home < 0 ? -1 : home % stages;
  }
  void demand(Value value, int64_t stage) { demands[value].insert(stage); }
  /// The stages that want the value.
  const StageSet &getDemands(Value value) const {
    static const StageSet none;
    auto found = demands.find(value);
    return found == demands.end() ? none : found->second;
  }
  LogicalResult computeTimes(StringRef schedule, int64_t chunks);
  void emitAll();
  void emit(Operation *op, int64_t stage);
  Value get(Value value, int64_t stage);
  void sendResults(Operation *op, int64_t stage);
  void sendTo(Value value, int64_t from, int64_t to);
  void emitReturn();
  int64_t getTag(Value value, int64_t to);
  std::string getReason(Value value, int64_t from, int64_t to);
  void explain(Operation *transfer, Value value, int64_t from, int64_t to);
  void createFunctions();

  func::FuncOp function;
  MeshOp mesh;
  int64_t stages;
  Keepers &keepers;
  SourceBuilder &sources;
  StageAssignment assignment;
  PortVariables ports;
  OpBuilder builder;
  DenseMap<Value, StageSet> demands;
  DenseMap<Operation *, double> times;
  DenseMap<std::pair<Value, int64_t>, int64_t> tags;
  std::vector<EntryPart> programs;
};

struct SplitStagesPass
    : mlir::dist::impl::SplitStagesPassBase<SplitStagesPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

//===----------------------------------------------------------------------===//
// Who needs what
//===----------------------------------------------------------------------===//

void Splitter::findDemands() {
  demands.clear();
  Block &block = function.front();
  for (OpOperand &use : block.getTerminator()->getOpOperands()) {
    Value value = use.get();
    auto variable = ports.ofResult(use.getOperandNumber());
    if (variable && getStage(variable) >= 0) {
      demand(value, getStage(variable) % stages);
    } else if (variable) {
      for (int64_t stage : keepers[variable])
        demand(value, stage);
    } else {
      int64_t place = getPlace(value);
      demand(value, place < 0 ? stages - 1 : place);
    }
  }
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    StageSet places;
    for (Value result : op.getResults())
      for (int64_t stage : getDemands(result))
        places.insert(stage);
    if (places.empty())
      continue;
    if (int64_t home = assignment.home.lookup(&op); home >= 0) {
      places.clear();
      places.insert(home % stages);
    }
    for (Value operand : op.getOperands())
      for (int64_t stage : places)
        demand(operand, stage);
  }
  for (BlockArgument argument : block.getArguments())
    if (auto variable = ports.ofArgument(argument.getArgNumber()))
      if (getStage(variable) < 0)
        for (int64_t stage : getDemands(argument))
          keepers[variable].insert(stage);
}

//===----------------------------------------------------------------------===//
// When
//===----------------------------------------------------------------------===//

/// Copies of the batch, by the mesh they came from.
static int64_t getNumMicrobatches(func::FuncOp function) {
  auto whole = SymbolTable::lookupNearestSymbolFrom<MeshOp>(
      function, FlatSymbolRefAttr::get(function.getContext(), kMicrobatchMesh));
  return whole ? whole.getAxisSizes().back() : 1;
}

LogicalResult Splitter::computeTimes(StringRef schedule, int64_t chunks) {
  PipelineShape shape;
  shape.stages = stages;
  shape.chunks = chunks;
  shape.microbatches = getNumMicrobatches(function);
  // What a chunk has to do for one microbatch.
  auto getItem = [&](Operation *op) -> std::optional<PipelineItem> {
    auto number = op->getAttrOfType<IntegerAttr>(kMicrobatchAttr);
    if (!number && shape.microbatches > 1)
      return std::nullopt;
    return PipelineItem{assignment.home.lookup(op),
                        number ? number.getInt() : 0,
                        !assignment.forward.contains(op)};
  };
  shape.training = false;
  for (Operation &op : function.front().without_terminator())
    if (assignment.home.lookup(&op) >= 0)
      if (auto item = getItem(&op))
        shape.training |= item->backward;
  std::string error;
  auto order = makePipelineOrder(schedule, shape, error);
  if (failed(order))
    return function.emitError() << "dist-split-stages: " << error;
  // Backward work is twice the forward's; only the order counts here.
  SmallVector<double> forward(chunks, 1), backward(chunks, 2);
  auto timeline = simulatePipeline(*order, shape, forward, backward);
  if (failed(timeline))
    return function.emitError() << "dist-split-stages: schedule '" << schedule
                                << "' waits for itself";
  DenseMap<std::pair<int64_t, int64_t>, double> starts;
  auto getKey = [&](const PipelineItem &item) {
    return std::make_pair(item.chunk, item.microbatch * 2 + item.backward);
  };
  for (auto [items, times] : llvm::zip(*order, timeline->start))
    for (auto [item, time] : llvm::zip(items, times))
      starts[getKey(item)] = time;
  for (Operation &op : function.front().without_terminator()) {
    if (assignment.home.lookup(&op) < 0)
      continue;
    double time = -1;
    for (Value operand : op.getOperands())
      if (Operation *definition = operand.getDefiningOp())
        if (auto found = times.find(definition); found != times.end())
          time = std::max(time, found->second);
    if (auto item = getItem(&op))
      time = std::max(time, starts.lookup(getKey(*item)));
    times[&op] = time;
  }
  auto numbers = [&](auto &&list) {
    return builder.getDenseI64ArrayAttr(llvm::to_vector_of<int64_t>(list));
  };
  function->setAttr(
      "pipeline",
      builder.getDictionaryAttr(
          {builder.getNamedAttr("schedule", builder.getStringAttr(schedule)),
           builder.getNamedAttr("stages", builder.getI64IntegerAttr(stages)),
           builder.getNamedAttr("chunks", builder.getI64IntegerAttr(chunks)),
           builder.getNamedAttr("microbatches",
                                builder.getI64IntegerAttr(shape.microbatches)),
           builder.getNamedAttr("bubble",
                                builder.getF64FloatAttr(timeline->bubble)),
           builder.getNamedAttr("in_flight", numbers(timeline->inFlight))}));
  return success();
}

//===----------------------------------------------------------------------===//
// The programs
//===----------------------------------------------------------------------===//

void Splitter::createFunctions() {
  for (int64_t stage = 0; stage < stages; ++stage) {
    programs.push_back(createEntryPart(
        function, function.getSymName() + "_stage" + Twine(stage),
        [&](BlockArgument argument) {
          // A variable of another stage is received.
          int64_t place = getPlace(argument);
          if (place >= 0 && place != stage)
            return false;
          // An input that no op reads is still one of the model's: the first
          // stage takes it.
          if (getDemands(argument).empty())
            return stage == 0 && !ports.ofArgument(argument.getArgNumber());
          return getDemands(argument).contains(stage) || place == stage;
        }));
    programs.back().function->setAttr(kStageAttr,
                                      builder.getI64IntegerAttr(stage));
  }
}

int64_t Splitter::getTag(Value value, int64_t to) {
  return tags.try_emplace({value, to}, tags.size()).first->second;
}

std::string Splitter::getReason(Value value, int64_t from, int64_t to) {
  Operation *op = value.getDefiningOp();
  std::string what;
  if (op)
    what = op->getName().stripDialect().str() + " '" + getOriginName(op) + "'";
  else if (auto variable =
               ports.ofArgument(cast<BlockArgument>(value).getArgNumber()))
    what = "variable '" + variable.getSymName().str() + "'";
  return "stage " + std::to_string(to) + " of the pipeline reads " + what +
         " of stage " + std::to_string(from);
}

void Splitter::explain(Operation *transfer, Value value, int64_t from,
                       int64_t to) {
  auto users = value.getUsers();
  auto reader = llvm::find_if(users, [&](Operation *user) {
    return assignment.home.lookup(user) >= 0 &&
           assignment.home.lookup(user) % stages == to;
  });
  addProgramCause(transfer, sources, kStageAxis,
                  getProgramReason(function, kStageAxis) +
                      " puts it into stage " + std::to_string(from) +
                      ", and what reads it into stage " + std::to_string(to),
                  value, reader == users.end() ? nullptr : *reader);
}

void Splitter::sendTo(Value value, int64_t from, int64_t to) {
  builder.setInsertionPointToEnd(&programs[from].function.front());
  Location loc = value.getLoc();
  auto send = SendOp::create(builder, loc,
                             ValueRange{programs[from].values.lookup(value)},
                             to, getTag(value, to), mesh.getSymName(),
                             builder.getStrArrayAttr({kStageAxis}),
                             getReason(value, from, to), getValueName(value));
  explain(send, value, from, to);
}

void Splitter::sendResults(Operation *op, int64_t stage) {
  for (Value result : op->getResults())
    for (int64_t to : getDemands(result))
      if (to != stage)
        sendTo(result, stage, to);
}

/// The value in a stage's function, which computes or receives it if it has not
/// yet.
Value Splitter::get(Value value, int64_t stage) {
  IRMapping &values = programs[stage].values;
  if (Value known = values.lookupOrNull(value))
    return known;
  int64_t place = getPlace(value);
  if (place < 0) {
    emit(value.getDefiningOp(), stage);
    return values.lookup(value);
  }
  builder.setInsertionPointToEnd(&programs[stage].function.front());
  auto recv =
      RecvOp::create(builder, value.getLoc(), TypeRange{value.getType()}, place,
                     getTag(value, stage), mesh.getSymName(),
                     builder.getStrArrayAttr({kStageAxis}),
                     getReason(value, place, stage), getValueName(value));
  if (ShardingAttr sharding = findSharding(value))
    setSharding(recv->getResult(0), sharding);
  if (Operation *op = value.getDefiningOp())
    if (Attribute copy = op->getAttr(kMicrobatchAttr))
      recv->setAttr(kMicrobatchAttr, copy);
  values.map(value, recv->getResult(0));
  return recv->getResult(0);
}

void Splitter::emit(Operation *op, int64_t stage) {
  for (Value operand : op->getOperands())
    get(operand, stage);
  Block &block = programs[stage].function.front();
  IRMapping &values = programs[stage].values;
  int64_t home = assignment.home.lookup(op);
  Operation *made = op;
  if (home < 0 || op->getNumRegions() > 0) {
    builder.setInsertionPointToEnd(&block);
    made = builder.clone(*op, values);
  } else {
    // The one stage that wants it has it itself: a copy takes as long again.
    op->moveBefore(&block, block.end());
    for (OpOperand &operand : op->getOpOperands())
      operand.set(values.lookup(operand.get()));
    for (Value result : op->getResults())
      values.map(result, result);
  }
  // Of the others, the function's number says enough; attributes of an op's own
  // take as long to make as the op.
  if (home >= 0 && home != stage)
    made->setAttr(kStageAttr, builder.getI64IntegerAttr(home));
}

void Splitter::emitAll() {
  // Variables that another stage reads go first: nothing has to be waited for.
  for (BlockArgument argument : function.getArguments())
    if (int64_t place = getPlace(argument); place >= 0)
      for (int64_t to : getDemands(argument))
        if (to != place)
          sendTo(argument, place, to);

  // Ops of one stage each, as soon as their operands are there, by the
  // schedule's time; the others follow when they are asked for.
  struct Node {
    double time;
    int64_t number;
    Operation *op;
    bool operator<(const Node &other) const {
      return std::make_pair(-time, -number) <
             std::make_pair(-other.time, -other.number);
    }
  };
  std::priority_queue<Node> ready;
  DenseMap<Operation *, int64_t> waiting;
  DenseMap<Operation *, int64_t> numbers;
  auto isNode = [&](Operation *op) {
    return op && assignment.home.lookup(op) >= 0 &&
           llvm::any_of(op->getResults(), [&](Value result) {
             return !getDemands(result).empty();
           });
  };
  int64_t next = 0;
  for (Operation &op : function.front().without_terminator()) {
    numbers[&op] = next++;
    if (!isNode(&op))
      continue;
    llvm::SmallDenseSet<Operation *, 4> needs;
    for (Value operand : op.getOperands())
      if (isNode(operand.getDefiningOp()))
        needs.insert(operand.getDefiningOp());
    waiting[&op] = needs.size();
    if (needs.empty())
      ready.push({times[&op], numbers[&op], &op});
  }
  while (!ready.empty()) {
    Operation *op = ready.top().op;
    ready.pop();
    int64_t stage = assignment.home.lookup(op) % stages;
    emit(op, stage);
    sendResults(op, stage);
    llvm::SmallDenseSet<Operation *, 8> users(op->user_begin(), op->user_end());
    for (Operation *user : users)
      if (auto found = waiting.find(user);
          found != waiting.end() && --found->second == 0)
        ready.push({times[user], numbers[user], user});
  }
}

void Splitter::emitReturn() {
  Operation *terminator = function.front().getTerminator();
  for (int64_t stage = 0; stage < stages; ++stage) {
    SmallVector<Value> values;
    SmallVector<unsigned> numbers;
    for (OpOperand &use : terminator->getOpOperands()) {
      unsigned number = use.getOperandNumber();
      auto variable = ports.ofResult(number);
      bool here;
      if (variable && getStage(variable) >= 0) {
        here = getStage(variable) % stages == stage;
      } else if (variable) {
        here = keepers[variable].contains(stage);
      } else {
        int64_t place = getPlace(use.get());
        here = (place < 0 ? stages - 1 : place) == stage;
      }
      if (!here)
        continue;
      values.push_back(get(use.get(), stage));
      numbers.push_back(number);
    }
    finishEntryPart(programs[stage], function, numbers, values);
  }
}

LogicalResult Splitter::split(StringRef schedule, int64_t chunks) {
  if (failed(computeTimes(schedule, chunks)))
    return failure();
  createFunctions();
  emitAll();
  emitReturn();
  function.erase();
  return success();
}

void SplitStagesPass::runOnOperation() {
  ModuleOp module = getOperation();
  int64_t last = -1;
  for (auto variable : module.getOps<graph::VariableOp>())
    last = std::max(last, getStage(variable));
  if (last < 0) {
    module.emitError() << "dist-split-stages: expected variables with stages; "
                          "run dist-pipeline-stages first";
    return signalPassFailure();
  }
  int64_t chunks = last + 1;
  int64_t stages = this->stages > 0 ? int64_t(this->stages) : chunks;
  if (stages > chunks) {
    module.emitError() << "dist-split-stages: expected no more than the "
                       << chunks << " stages that variables have, but got "
                       << stages;
    return signalPassFailure();
  }
  OpBuilder builder(&getContext());
  MeshOp mesh = findMesh(module);
  if (!mesh) {
    builder.setInsertionPointToStart(module.getBody());
    mesh = MeshOp::create(builder, module.getLoc(), "mesh",
                          builder.getArrayAttr({}),
                          builder.getDenseI64ArrayAttr({}));
  }
  if (mesh.getAxisSize(kStageAxis) > 0) {
    mesh.emitOpError() << "expected no axis '" << kStageAxis
                       << "': the pipeline's stages make it";
    return signalPassFailure();
  }
  SmallVector<Attribute> names{builder.getStringAttr(kStageAxis)};
  names.append(mesh.getAxisNames().begin(), mesh.getAxisNames().end());
  SmallVector<int64_t> sizes{stages};
  llvm::append_range(sizes, mesh.getAxisSizes());
  mesh.setAxisNamesAttr(builder.getArrayAttr(names));
  mesh.setAxisSizes(sizes);

  std::vector<std::unique_ptr<Splitter>> splitters;
  Keepers keepers;
  SourceBuilder sources(mesh);
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal())
      splitters.push_back(
          std::make_unique<Splitter>(function, mesh, stages, keepers, sources));
  // A stage that keeps a variable needs its new value in every entry, which may
  // make it keep another.
  auto count = [&] {
    size_t all = 0;
    for (auto &[variable, places] : keepers)
      all += places.size();
    return all;
  };
  size_t before;
  do {
    before = count();
    for (auto &splitter : splitters)
      splitter->findDemands();
    // Only its update reads it.
    for (auto &[variable, places] : keepers)
      if (places.empty())
        places.insert(stages - 1);
  } while (count() != before);
  for (auto &splitter : splitters)
    if (failed(splitter->split(schedule, chunks)))
      return signalPassFailure();
  if (sources.isKept())
    sources.write(mesh);
}
