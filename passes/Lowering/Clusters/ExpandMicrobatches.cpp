//===- ExpandMicrobatches.cpp - The copies that were not shown ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function shows the copies of its first microbatches and of the last. One of
// them (kPatternMicrobatch) has to be the same kernels as the one before it,
// one microbatch on: each operand is a value that all read, one of the same
// copy or one of the copy before (a sum), and numbers differ by as much from
// copy to copy. Then the copies between it and the last are made of it, and all
// ops are put into the order that the schedule has for all microbatches.
//
// Nothing but dead ops is changed before all of that is known to hold.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/CopyPlace.h"
#include "dialects/Dist/IR/Dist.h"
#include "dialects/Dist/IR/Stage.h"
#include "passes/Analysis/PipelineSchedule.h"
#include "passes/Lowering/Clusters/ClusterAnalysis.h"
#include "passes/Lowering/Clusters/CopyPattern.h"
#include "passes/Lowering/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <map>

namespace mlir::dist {
#define GEN_PASS_DEF_EXPANDMICROBATCHESPASS
#include "passes/Lowering/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
/// An op's place among the copies.
struct Where {
  /// None: it is no copy.
  std::optional<CopyPlace> place;
  unsigned index = 0;
};

/// The value that an operand of a copy is.
struct Source {
  /// What all copies read; else a result of a copy.
  Value common;
  /// How many microbatches before.
  int64_t back = 0;
  CopyPlace place;
  unsigned index = 0, result = 0;
};

/// An op that is a pattern for its copies.
struct Pattern {
  Operation *op = nullptr;
  SmallVector<Source> sources;
  SmallVector<CopyChange> changes;
};

class Expander {
public:
  explicit Expander(func::FuncOp function) : function(function) {}
  /// Fails, and has changed nothing that counts, where the copies do not show
  /// what the others are.
  LogicalResult run();

private:
  LogicalResult readSchedule();
  LogicalResult findPlaces();
  bool isBefore(CopyPlace a, CopyPlace b) const {
    return shownOrder.find(a)->second < shownOrder.find(b)->second;
  }
  FailureOr<std::optional<CopyPlace>> findPlace(Operation *op) const;
  void placeViews(Operation *reader, std::optional<CopyPlace> place);
  LogicalResult compareCopies();
  bool isReadAsShown(const Where &reader, const Where &read) const;
  LogicalResult comparePlace(CopyPlace place);
  std::optional<Source> findSource(Value before, Value value) const;
  bool isSeenElsewhere(const Pattern &pattern) const;
  LogicalResult planOrder();
  LogicalResult planOp(Operation *op, CopyPlace place, unsigned index);
  bool isPlanned(const Source &source, int64_t microbatch) const;
  /// Whether the last microbatch reads what will be of the one before it.
  bool isBeforeLast(CopyPlace reader, const Where &read) const {
    return reader.microbatch == count - 1 && read.place &&
           read.place->microbatch == shown - 2;
  }
  void expand();
  void makeCopy(Operation *op, CopyPlace place, unsigned index);
  Value find(const Source &source, int64_t microbatch) const;
  const Pattern &patternOf(CopyPlace place, unsigned index) const {
    place.microbatch = kPatternMicrobatch;
    return patterns.find(place)->second[index];
  }

  func::FuncOp function;
  int64_t count = 0, shown = 0;
  /// All microbatches' items in this stage's order, and the shown ones' number.
  std::vector<PipelineItem> items;
  std::map<CopyPlace, size_t> shownOrder;
  DenseMap<Operation *, Where> where;
  /// The ops of each place that is shown.
  std::map<CopyPlace, std::vector<Operation *>> segments;
  /// By the pattern's places.
  std::map<CopyPlace, std::vector<Pattern>> patterns;

  struct Step {
    Operation *op;
    /// Of a copy that is yet to be made.
    std::optional<CopyPlace> made;
    unsigned index = 0;
  };
  std::vector<Step> steps;
  DenseSet<Operation *> planned;
  /// How many ops of a place are planned, and then the copies made of it.
  std::map<CopyPlace, size_t> progress;
  std::map<CopyPlace, std::vector<Operation *>> copies;
};
} // namespace

//===----------------------------------------------------------------------===//
// What is shown
//===----------------------------------------------------------------------===//

LogicalResult Expander::readSchedule() {
  shown = function->getAttrOfType<IntegerAttr>(kShownMicrobatchesAttr).getInt();
  auto pipeline = findStagePipeline(function);
  if (!pipeline)
    return failure();
  PipelineShape shape = pipeline->shape;
  count = shape.microbatches;
  SmallVector<CopyPlace> places;
  function.walk(
      [&](Operation *op) { collectCopyPlaces(op->getLoc(), places); });
  shape.training =
      llvm::any_of(places, [](CopyPlace place) { return place.backward; });
  if (shown < kLeastShownMicrobatches || shown >= count)
    return failure();
  std::string error;
  auto all = planPipeline(pipeline->schedule, shape, error);
  shape.microbatches = shown;
  auto few = planPipeline(pipeline->schedule, shape, error);
  if (failed(all) || failed(few))
    return failure();
  items = all->order[pipeline->stage];
  for (const PipelineItem &item : few->order[pipeline->stage]) {
    int64_t microbatch =
        item.microbatch + 1 == shown ? count - 1 : item.microbatch;
    size_t order = shownOrder.size();
    shownOrder[{microbatch, item.chunk, item.backward}] = order;
  }
  return success();
}

/// The place of an op that is no view: the first that its location has, of ops
/// that became one, and not before what it reads.
FailureOr<std::optional<CopyPlace>> Expander::findPlace(Operation *op) const {
  std::optional<CopyPlace> first, read;
  SmallVector<CopyPlace> places;
  collectCopyPlaces(op->getLoc(), places);
  for (CopyPlace place : places) {
    if (!shownOrder.count(place))
      return failure();
    if (!first || isBefore(place, *first))
      first = place;
  }
  SmallVector<Operation *> readers = {op};
  while (!readers.empty())
    for (Value operand : readers.pop_back_val()->getOperands()) {
      Operation *definition = operand.getDefiningOp();
      if (!definition)
        continue;
      // A view is yet to be placed, with its first reader.
      if (!where.contains(definition))
        readers.push_back(definition);
      else if (auto place = where.lookup(definition).place;
               place && (!read || isBefore(*read, *place)))
        read = place;
    }
  return first && (!read || isBefore(*read, *first)) ? first : read;
}

/// Views that an op reads are of its place, unless others read them before.
void Expander::placeViews(Operation *reader, std::optional<CopyPlace> place) {
  for (Value operand : reader->getOperands())
    if (Operation *view = operand.getDefiningOp();
        view && isFloating(view) && !where.contains(view)) {
      where[view].place = place;
      placeViews(view, place);
    }
}

LogicalResult Expander::findPlaces() {
  Block &block = function.front();
  // Such as views that kernels had before they were flattened.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
  std::optional<CopyPlace> last;
  for (Operation &op : block.without_terminator()) {
    if (isFloating(&op))
      continue;
    // What it reads comes first, and is known by then.
    FailureOr<std::optional<CopyPlace>> place = findPlace(&op);
    if (failed(place))
      return failure();
    // What ranks exchange stays in its order: others wait for it in this one.
    if (auto collective = dyn_cast<CollectiveOpInterface>(op);
        collective && !collective.isLocal()) {
      if (!*place)
        place = last;
      else if (last && isBefore(**place, *last))
        return failure();
      last = *place;
    }
    where[&op].place = *place;
    placeViews(&op, *place);
  }
  for (Operation &op : block.without_terminator()) {
    // Views that are results.
    if (!where.contains(&op)) {
      FailureOr<std::optional<CopyPlace>> place = findPlace(&op);
      if (failed(place))
        return failure();
      where[&op].place = *place;
    }
    Where &here = where[&op];
    if (!here.place)
      continue;
    std::vector<Operation *> &segment = segments[*here.place];
    here.index = segment.size();
    segment.push_back(&op);
  }
  return success();
}

/// What copies read of which the pattern reads `value`, the one before it
/// `before`.
std::optional<Source> Expander::findSource(Value before, Value value) const {
  Source source;
  if (before == value) {
    source.common = value;
    return source;
  }
  auto result = dyn_cast<OpResult>(value);
  Where at = result ? where.lookup(result.getOwner()) : Where();
  if (!at.place)
    return std::nullopt;
  source.place = *at.place;
  source.index = at.index;
  source.result = result.getResultNumber();
  source.back = kPatternMicrobatch - at.place->microbatch;
  // Of the copy before: what begins a sum may be something else.
  if (source.back == 1)
    return source;
  if (source.back != 0)
    return std::nullopt;
  auto resultBefore = dyn_cast<OpResult>(before);
  Where atBefore =
      resultBefore ? where.lookup(resultBefore.getOwner()) : Where();
  CopyPlace expected = *at.place;
  --expected.microbatch;
  bool same = atBefore.place && *atBefore.place == expected &&
              atBefore.index == at.index &&
              resultBefore.getResultNumber() == source.result;
  return same ? std::optional(source) : std::nullopt;
}

/// Whether the last microbatch, or the first, has the numbers that the changes
/// lead to.
bool Expander::isSeenElsewhere(const Pattern &pattern) const {
  if (pattern.changes.empty())
    return true;
  for (int64_t microbatch : {count - 1, int64_t(0)}) {
    CopyPlace place = *where.lookup(pattern.op).place;
    place.microbatch = microbatch;
    auto segment = segments.find(place);
    if (segment == segments.end())
      continue;
    for (Operation *op : segment->second)
      if (hasChanges(op, pattern.op, pattern.changes, microbatch))
        return true;
  }
  return false;
}

LogicalResult Expander::comparePlace(CopyPlace place) {
  CopyPlace placeBefore = place;
  --placeBefore.microbatch;
  const std::vector<Operation *> &before = segments[placeBefore],
                                 &ops = segments[place];
  if (before.size() != ops.size())
    return failure();
  std::vector<Pattern> &pattern = patterns[place];
  for (auto [a, b] : llvm::zip_equal(before, ops)) {
    Pattern one;
    one.op = b;
    if (failed(compareCopiedOps(a, b, one.changes)))
      return failure();
    for (auto [x, y] : llvm::zip_equal(a->getOperands(), b->getOperands())) {
      std::optional<Source> source = findSource(x, y);
      if (!source)
        return failure();
      one.sources.push_back(*source);
    }
    if (!isSeenElsewhere(one))
      return failure();
    pattern.push_back(std::move(one));
  }
  return success();
}

LogicalResult Expander::compareCopies() {
  for (auto &[place, order] : shownOrder)
    if (place.microbatch == kPatternMicrobatch && failed(comparePlace(place)))
      return failure();
  for (Operation &op : function.front())
    for (Value operand : op.getOperands())
      if (Operation *definition = operand.getDefiningOp())
        if (!isReadAsShown(where.lookup(&op), where.lookup(definition)))
          return failure();
  return success();
}

/// Whether it can be told of what the reader reads in all microbatches: a copy
/// reads of its own or of those before, the last one of the one before it, and
/// others of the first and the last.
bool Expander::isReadAsShown(const Where &reader, const Where &read) const {
  if (!read.place || read.place->microbatch == 0 ||
      read.place->microbatch == count - 1)
    return true;
  if (!reader.place)
    return false;
  return reader.place->microbatch == count - 1
             ? isBeforeLast(*reader.place, read)
             : reader.place->microbatch >= read.place->microbatch;
}

//===----------------------------------------------------------------------===//
// In which order
//===----------------------------------------------------------------------===//

bool Expander::isPlanned(const Source &source, int64_t microbatch) const {
  if (source.common) {
    Operation *definition = source.common.getDefiningOp();
    return !definition || planned.contains(definition) ||
           !where.lookup(definition).place;
  }
  CopyPlace place = source.place;
  place.microbatch = microbatch - source.back;
  auto found = progress.find(place);
  return found != progress.end() && found->second > source.index;
}

/// Plans an op that is there, behind what it reads that is no copy.
LogicalResult Expander::planOp(Operation *op, CopyPlace place, unsigned index) {
  if (!planned.insert(op).second)
    return success();
  for (Value operand : op->getOperands()) {
    Operation *definition = operand.getDefiningOp();
    if (!definition)
      continue;
    Where at = where.lookup(definition);
    if (!at.place) {
      if (failed(planOp(definition, {}, 0)))
        return failure();
    } else if (isBeforeLast(place, at)) {
      Source source;
      source.place = *at.place;
      source.index = at.index;
      source.back = 1;
      if (!isPlanned(source, count - 1))
        return failure();
    } else if (!planned.contains(definition)) {
      return failure();
    }
  }
  steps.push_back({op, std::nullopt, index});
  return success();
}

LogicalResult Expander::planOrder() {
  // What is no copy and stands before all of them stays there.
  for (Operation &op : function.front().without_terminator()) {
    if (where.lookup(&op).place)
      break;
    if (failed(planOp(&op, {}, 0)))
      return failure();
  }
  for (const PipelineItem &item : items) {
    CopyPlace place{item.microbatch, item.chunk, item.backward};
    bool isThere =
        item.microbatch <= kPatternMicrobatch || item.microbatch == count - 1;
    CopyPlace like = place;
    if (!isThere)
      like.microbatch = kPatternMicrobatch;
    const std::vector<Operation *> &segment = segments[like];
    for (auto [index, op] : llvm::enumerate(segment)) {
      if (!isThere)
        for (const Source &source : patternOf(place, index).sources)
          if (!isPlanned(source, item.microbatch))
            return failure();
      if (isThere) {
        if (failed(planOp(op, place, index)))
          return failure();
      } else {
        for (Value operand : op->getOperands())
          if (Operation *definition = operand.getDefiningOp())
            if (!where.lookup(definition).place &&
                failed(planOp(definition, {}, 0)))
              return failure();
        steps.push_back({op, place, unsigned(index)});
      }
      ++progress[place];
    }
  }
  // Further ones that are shown are made like the others.
  size_t left = 0;
  for (auto &[place, segment] : segments)
    if (place.microbatch > kPatternMicrobatch && place.microbatch < count - 1)
      left += segment.size();
  for (Operation &op : function.front().without_terminator())
    if (!where.lookup(&op).place && failed(planOp(&op, {}, 0)))
      return failure();
  return success(planned.size() + left == where.size());
}

//===----------------------------------------------------------------------===//
// The copies
//===----------------------------------------------------------------------===//

Value Expander::find(const Source &source, int64_t microbatch) const {
  if (source.common)
    return source.common;
  CopyPlace place = source.place;
  place.microbatch = microbatch - source.back;
  return copies.find(place)->second[source.index]->getResult(source.result);
}

void Expander::makeCopy(Operation *op, CopyPlace place, unsigned index) {
  const Pattern &pattern = patternOf(place, index);
  Operation *copy = op->clone();
  function.front().getOperations().insert(
      function.front().getTerminator()->getIterator(), copy);
  for (auto [operand, source] :
       llvm::zip_equal(copy->getOpOperands(), pattern.sources))
    operand.set(find(source, place.microbatch));
  applyChanges(copy, pattern.changes, place.microbatch);
  copies[place].push_back(copy);
}

void Expander::expand() {
  Operation *terminator = function.front().getTerminator();
  function.walk(
      [](Operation *op) { op->setLoc(dropCopyPlaces(op->getLoc())); });
  for (const Step &step : steps) {
    if (step.made) {
      makeCopy(step.op, *step.made, step.index);
      continue;
    }
    step.op->moveBefore(terminator);
    Where at = where.lookup(step.op);
    if (!at.place)
      continue;
    copies[*at.place].push_back(step.op);
    for (OpOperand &operand : step.op->getOpOperands()) {
      auto result = dyn_cast<OpResult>(operand.get());
      Where from = result ? where.lookup(result.getOwner()) : Where();
      if (!isBeforeLast(*at.place, from))
        continue;
      CopyPlace before = *from.place;
      before.microbatch = count - 2;
      operand.set(
          copies[before][from.index]->getResult(result.getResultNumber()));
    }
  }
  // Those that were only shown.
  for (auto &[place, segment] : segments)
    if (place.microbatch > kPatternMicrobatch && place.microbatch < count - 1)
      for (Operation *op : segment) {
        op->dropAllUses();
        op->erase();
      }
  int64_t id = 0;
  for (auto collective : function.getOps<CollectiveOpInterface>())
    if (!collective.isLocal())
      collective.setCollectiveId(id++);
  function->removeAttr(kShownMicrobatchesAttr);
}

LogicalResult Expander::run() {
  if (failed(readSchedule()) || failed(findPlaces()) ||
      failed(compareCopies()) || failed(planOrder()))
    return failure();
  expand();
  return success();
}

namespace {
struct ExpandMicrobatchesPass
    : mlir::dist::impl::ExpandMicrobatchesPassBase<ExpandMicrobatchesPass> {
  using Base::Base;
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(kShownMicrobatchesAttr))
        // What is left as it was is refused by who needs all copies.
        (void)Expander(function).run();
  }
};
} // namespace
