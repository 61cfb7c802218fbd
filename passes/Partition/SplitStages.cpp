//===- SplitStages.cpp - One program a stage of the pipeline -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which stage needs which value is found from the results backward; each
// stage's function then gets its part of the program, which has one op for all
// microbatches. A send stands right behind what it sends and never waits, a
// recv right before the first use. What runs when is not said here: ops keep
// their order, and dist-unroll-microbatches puts copies into the schedule's.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Dist/IR/Microbatch.h"
#include "dialects/Dist/IR/Processes.h"
#include "dialects/Dist/IR/Sources.h"
#include "dialects/Graph/IR/Cotangent.h"
#include "passes/Analysis/PipelineSchedule.h"
#include "passes/Analysis/StageAssignment.h"
#include "passes/Partition/EntryPart.h"
#include "passes/Partition/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallSet.h"

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
        sources(sources), microbatches(getNumMicrobatches(function)),
        assignment(assignStages(function)), ports(function),
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
  bool isScheduled(Operation *op) const;
  bool isBackward(Operation *op) const;
  LogicalResult plan(StringRef schedule, int64_t chunks);
  void findCotangents();
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
  int64_t microbatches;
  StageAssignment assignment;
  PortVariables ports;
  OpBuilder builder;
  DenseMap<Value, StageSet> demands;
  DenseMap<std::pair<Value, int64_t>, int64_t> tags;
  /// What is made of marked cotangents.
  DenseSet<Value> cotangents;
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
// The schedule
//===----------------------------------------------------------------------===//

/// Whether there is one such op for each microbatch, of which the schedule says
/// when it runs.
bool Splitter::isScheduled(Operation *op) const {
  return assignment.home.lookup(op) >= 0 &&
         (microbatches == 1 || op->hasAttr(kMicrobatchAttr));
}

bool Splitter::isBackward(Operation *op) const {
  return isScheduled(op) && !assignment.forward.contains(op);
}

LogicalResult Splitter::plan(StringRef schedule, int64_t chunks) {
  PipelineShape shape;
  shape.stages = stages;
  shape.chunks = chunks;
  shape.microbatches = microbatches;
  shape.training = llvm::any_of(function.front().without_terminator(),
                                [&](Operation &op) { return isBackward(&op); });
  std::string error;
  auto plan = planPipeline(schedule, shape, error);
  if (failed(plan))
    return function.emitError() << "dist-split-stages: " << error;
  const PipelineTimeline &timeline = plan->timeline;
  auto number = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  function->setAttr(
      kPipelineAttr,
      builder.getDictionaryAttr(
          {builder.getNamedAttr("schedule", builder.getStringAttr(schedule)),
           builder.getNamedAttr("stages", number(stages)),
           builder.getNamedAttr("chunks", number(chunks)),
           builder.getNamedAttr("microbatches", number(microbatches)),
           builder.getNamedAttr("bubble",
                                builder.getF64FloatAttr(timeline.bubble)),
           builder.getNamedAttr(
               "in_flight", builder.getDenseI64ArrayAttr(timeline.inFlight))}));
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

/// There is one transfer for each copy of the value.
static void markLike(Value value, Operation *transfer) {
  if (Operation *op = value.getDefiningOp())
    if (Attribute mark = op->getAttr(kMicrobatchAttr))
      transfer->setAttr(kMicrobatchAttr, mark);
}

void Splitter::sendTo(Value value, int64_t from, int64_t to) {
  builder.setInsertionPointToEnd(&programs[from].function.front());
  Location loc = value.getLoc();
  auto send = SendOp::create(builder, loc,
                             ValueRange{programs[from].values.lookup(value)},
                             to, getTag(value, to), mesh.getSymName(),
                             builder.getStrArrayAttr({kStageAxis}),
                             getReason(value, from, to), getValueName(value));
  markLike(value, send);
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
  markLike(value, recv);
  if (cotangents.contains(value))
    recv->setAttr(kCotangent, builder.getUnitAttr());
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
  // Of the others, the function's number says enough.
  if (home >= 0 && home != stage)
    made->setAttr(kStageAttr, builder.getI64IntegerAttr(home));
  if (isBackward(op))
    made->setAttr(kBackwardAttr, builder.getUnitAttr());
}

void Splitter::emitAll() {
  // Variables that another stage reads go first: nothing has to be waited for.
  for (BlockArgument argument : function.getArguments())
    if (int64_t place = getPlace(argument); place >= 0)
      for (int64_t to : getDemands(argument))
        if (to != place)
          sendTo(argument, place, to);

  // Ops of one stage each; the others follow when they are asked for.
  for (Operation &op :
       llvm::make_early_inc_range(function.front().without_terminator())) {
    int64_t home = assignment.home.lookup(&op);
    if (home < 0 ||
        llvm::all_of(
            op.getResults(),
            [&](Value result) { return getDemands(result).empty(); }))
      continue;
    emit(&op, home % stages);
    sendResults(&op, home % stages);
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

void Splitter::findCotangents() {
  for (Operation &op : function.front().without_terminator())
    if (op.hasAttr(kCotangent) ||
        llvm::any_of(op.getOperands(), [&](Value operand) {
          return cotangents.contains(operand);
        }))
      cotangents.insert(op.result_begin(), op.result_end());
}

LogicalResult Splitter::split(StringRef schedule, int64_t chunks) {
  if (failed(plan(schedule, chunks)))
    return failure();
  findCotangents();
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
  setProcesses(mesh, kStageAxis, processes);

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
