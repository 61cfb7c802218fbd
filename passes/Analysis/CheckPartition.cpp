//===- CheckPartition.cpp - A partitioned program against the whole -------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/CheckPartition.h"
#include "passes/Analysis/CompareShards.h"
#include "dialects/Dist/IR/Portion.h"
#include "dialects/Dist/IR/Stage.h"
#include "passes/Analysis/CheckCompression.h"
#include "passes/Analysis/EntryPrograms.h"
#include "passes/Analysis/RandomInputs.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <deque>
#include <limits>
#include <map>

using namespace mlir;
using namespace mlir::dist;

namespace {
/// A value of the whole program: the op's number and which of its results, or
/// -1 - i for argument i.
using Key = std::pair<int64_t, unsigned>;

class FunctionChecker {
public:
  /// `parts`: the function that all ranks run, or one a program.
  FunctionChecker(func::FuncOp global, ArrayRef<func::FuncOp> parts,
                  MeshOp mesh, const CheckOptions &options)
      : global(global), parts(parts), local(parts.front()), mesh(mesh),
        options(options) {}
  FailureOr<FunctionCheck> run();

private:
  LogicalResult runGlobal(func::FuncOp function, ArrayRef<HostTensor> given);
  LogicalResult checkCompression();
  LogicalResult runLocal();
  LogicalResult compareOp(Operation *op, ArrayRef<RankTensors> results);
  LogicalResult compareResults(func::FuncOp part,
                               ArrayRef<RankTensors> results);
  void compareValue(Operation *op, unsigned result,
                    ArrayRef<RankTensors> tensors);
  void compareHeld(OpResult result, Key key, ArrayRef<HostTensor> held,
                   int64_t when);
  void compareIncomplete();
  std::optional<SmallVector<HostTensor>> gather(Operation *part, Key key,
                                                ShardingAttr sharding,
                                                StringAttr op,
                                                ArrayRef<HostTensor> held);
  std::optional<Key> findKey(Value value) const;
  void exchangeKeys(CollectiveOpInterface transfer);

  func::FuncOp global;
  SmallVector<func::FuncOp> parts;
  func::FuncOp local; // the first of them
  MeshOp mesh;
  const CheckOptions &options;
  SmallVector<HostTensor> arguments;
  RankTensors globalResults;
  DenseMap<Key, HostTensor> expected;
  /// The whole program's value of a collective's result is its operand's.
  DenseMap<Value, Key> keys;
  /// The same of what programs give each other, in order: by tag, or by the op
  /// where there is none.
  std::map<std::pair<std::string, int64_t>,
           std::deque<SmallVector<std::optional<Key>>>>
      given;
  /// The copies of values that microbatches compute, in whatever order. A value
  /// and its reshard are the same of the whole: told apart by op and layout.
  struct Copies {
    SmallVector<HostTensor> tensors;
    /// Those that are not there yet; each that is computed again is compared
    /// with the others as they were.
    llvm::BitVector missing;
    /// The last in number, and when it came.
    OpResult last;
    int64_t when = 0;
  };
  llvm::MapVector<std::pair<Key, std::pair<Attribute, StringAttr>>, Copies>
      copies;
  /// Where each position has a portion of the examples: what programs hold of a
  /// value, by program, until all have computed it.
  DenseMap<std::pair<Key, std::pair<Attribute, StringAttr>>,
           std::vector<std::deque<SmallVector<HostTensor>>>>
      portions;
  FunctionCheck check;
  ShardComparison comparison{local, options, check};
  /// Ops so far.
  int64_t now = 0;
};
} // namespace

/// How many copies follow each rank in the mesh of `sharding`: more than one
/// only where dist-unroll-microbatches made ranks of an axis copies.
static int64_t getNumCopies(ShardingAttr sharding, Operation *inside) {
  if (sharding.getMesh().getValue() != kMicrobatchMesh)
    return 1;
  return getMeshOf(sharding, inside).getAxisSizes().back();
}

/// What each rank (and copy) of the sharding's mesh holds of `parts`. Ranks
/// that run no part hold the same as those that do.
static SmallVector<HostTensor>
spread(ArrayRef<HostTensor> parts, ShardingAttr sharding, Operation *inside) {
  int64_t ranks = getMeshOf(sharding, inside).getNumRanks();
  SmallVector<HostTensor> shards;
  for (int64_t rank = 0; rank < ranks; ++rank)
    shards.push_back(parts[rank % parts.size()]);
  return shards;
}

std::optional<Key> FunctionChecker::findKey(Value value) const {
  auto found = keys.find(value);
  if (found != keys.end())
    return found->second;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return Key(-1 - getPosition(argument), 0);
  auto result = cast<OpResult>(value);
  auto number =
      result.getOwner()->getAttrOfType<IntegerAttr>(DistDialect::kOrigin);
  if (!number || isa<CollectiveOpInterface, ReshardOp>(result.getOwner()))
    return std::nullopt;
  return Key(number.getInt(), result.getResultNumber());
}

LogicalResult FunctionChecker::runGlobal(func::FuncOp function,
                                         ArrayRef<HostTensor> given) {
  for (unsigned i = 0; i < global.getNumArguments(); ++i)
    expected[{-1 - int64_t(i), 0}] = given[i];
  auto record = [&](Operation *op, ArrayRef<RankTensors> results) {
    if (auto number = op->getAttrOfType<IntegerAttr>(DistDialect::kOrigin))
      for (auto [i, tensor] : llvm::enumerate(results.front()))
        expected[{number.getInt(), i}] = tensor;
    return success();
  };
  auto results = evaluateFunction(function, given, record);
  if (failed(results))
    return failure();
  globalResults = *results;
  return success();
}

/// The value of the whole program that a key stands for; null if none.
static Value findValue(func::FuncOp function, Key key) {
  if (key.first < 0)
    return function.getArgument(-1 - key.first);
  for (Operation &op : function.front())
    if (auto number = op.getAttrOfType<IntegerAttr>(DistDialect::kOrigin))
      if (number.getInt() == key.first)
        return op.getResult(key.second);
  return {};
}

/// Nothing of a gradient may be lost; and from here on what has arrived is the
/// whole program's gradient.
LogicalResult FunctionChecker::checkCompression() {
  SmallVector<HostTensor> own = makeRandomArguments(local, options.seed, mesh);
  llvm::append_range(arguments,
                     ArrayRef(own).drop_front(global.getNumArguments()));
  auto sums = evaluateCompression(
      local, mesh, cutArguments(local, mesh, arguments, 0, mesh.getNumRanks()));
  if (failed(sums))
    return failure();
  OwningOpRef<func::FuncOp> whole(global.clone());
  SmallVector<HostTensor> given(
      ArrayRef<HostTensor>(arguments).take_front(global.getNumArguments()));
  for (const CompressedSum &sum : *sums) {
    // Back through what the partitioner has added, which changes no value:
    // conversions, padding and its masks.
    Value source = sum.gradient;
    std::optional<Key> key = findKey(source);
    while (!key && source.getDefiningOp()) {
      Operation *op = source.getDefiningOp();
      if (isa<CollectiveOpInterface>(op)) {
        // A bucket's results are those of its operands.
        if (op->getNumOperands() != op->getNumResults())
          break;
        source = op->getOperand(cast<OpResult>(source).getResultNumber());
      } else {
        auto *floats =
            llvm::find_if(op->getOpOperands(), [](OpOperand &operand) {
              return isa<FloatType>(getElementTypeOrSelf(operand.get()));
            });
        if (floats == op->getOpOperands().end())
          break;
        source = floats->get();
      }
      key = findKey(source);
    }
    Value gradient = key ? findValue(*whole, *key) : Value();
    auto value = gradient ? expected.find(*key) : expected.end();
    if (value == expected.end())
      return local.emitOpError()
             << "cannot be compared: the compressed gradient '" << sum.place
             << "' is no value of the whole program";
    RankedTensorType type = value->second.getType();
    ++check.compressedGradients;
    comparison.compare(addUp(sum.arrived, sum.left, type), {},
                       addUp(value->second, sum.leftBefore, type),
                       "compression", sum.place, now);
    BlockArgument arrived =
        whole->front().addArgument(gradient.getType(), gradient.getLoc());
    gradient.replaceAllUsesWith(arrived);
    given.push_back(addUp(sum.arrived, HostTensor(type), type));
  }
  return runGlobal(*whole, given);
}

/// A maximum, minimum or product of parts is no value of the whole program
/// before it is completed; only its completion is compared.
static bool isPartialOfOtherKind(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    if (auto reduce = dyn_cast<AllReduceOp>(user))
      return reduce.getReduction() != Reduction::Sum;
    if (auto reduce = dyn_cast<AllReduceStartOp>(user))
      return reduce.getReduction() != Reduction::Sum;
    if (auto reduce = dyn_cast<HostReduceOp>(user))
      return reduce.getReduction() != Reduction::Sum;
    if (auto scatter = dyn_cast<ReduceScatterOp>(user))
      return scatter.getReduction() != Reduction::Sum;
    if (auto scatter = dyn_cast<ReduceScatterStartOp>(user))
      return scatter.getReduction() != Reduction::Sum;
    return false;
  });
}

/// What one end gives is what the other takes.
void FunctionChecker::exchangeKeys(CollectiveOpInterface transfer) {
  auto tag = transfer->getAttrOfType<IntegerAttr>("tag");
  auto &queue = tag ? given[{"", tag.getInt()}]
                    : given[{transfer->getName().getStringRef().str(), 0}];
  if (transfer->getNumResults() == 0) {
    SmallVector<std::optional<Key>> &list = queue.emplace_back();
    for (Value operand : transfer->getOperands())
      list.push_back(findKey(operand));
    return;
  }
  if (queue.empty())
    return;
  for (auto [result, key] : llvm::zip(transfer->getResults(), queue.front()))
    if (key)
      keys[result] = *key;
  queue.pop_front();
}

/// The op that computes: for a start and its wait, what both together are. Of
/// the microbatches' collectives some are started ahead, some are not.
static StringAttr getComputingOp(Operation *op) {
  Operation *start = getStart(op);
  return StringAttr::get(op->getContext(),
                         start->getName().getDialectNamespace() + "." +
                             getUnstartedName(start));
}

LogicalResult FunctionChecker::compareOp(Operation *op,
                                         ArrayRef<RankTensors> results) {
  ++now;
  // Collectives hand on which value of the whole they are.
  auto transfer = dyn_cast<CollectiveOpInterface>(op);
  if (transfer && transfer.crossesPrograms()) {
    exchangeKeys(transfer);
  } else if (transfer &&
             getCollectiveResults(op).size() == op->getNumOperands()) {
    for (auto [operand, result] :
         llvm::zip(op->getOperands(), getCollectiveResults(op)))
      if (auto key = findKey(operand))
        keys[result] = *key;
  }
  for (OpResult result : op->getResults())
    if (isa<RankedTensorType>(result.getType()) &&
        !isPartialOfOtherKind(result))
      compareValue(op, result.getResultNumber(), results);
  return success();
}

/// What all programs hold of a value, once all of them have it; `held` alone
/// where all ranks' parts are of one program or of one of several stages.
std::optional<SmallVector<HostTensor>>
FunctionChecker::gather(Operation *part, Key key, ShardingAttr sharding,
                        StringAttr op, ArrayRef<HostTensor> held) {
  std::optional<Portion> portion = findPortion(part);
  if (!portion)
    return SmallVector<HostTensor>(held);
  auto &waiting = portions[{key, {sharding, op}}];
  waiting.resize(parts.size());
  waiting[portion->position].push_back(SmallVector<HostTensor>(held));
  if (llvm::any_of(waiting, [](const auto &queue) { return queue.empty(); }))
    return std::nullopt;
  SmallVector<HostTensor> all;
  for (auto &queue : waiting) {
    llvm::append_range(all, queue.front());
    queue.pop_front();
  }
  return all;
}

void FunctionChecker::compareValue(Operation *op, unsigned number,
                                   ArrayRef<RankTensors> tensors) {
  Value result = op->getResult(number);
  auto key = findKey(result);
  ShardingAttr sharding = findSharding(result);
  if (!key || (mesh && !sharding))
    return;
  if (!expected.contains(*key))
    return;
  SmallVector<HostTensor> held = collectShards(tensors, number);
  StringAttr name = getComputingOp(op);
  int64_t numCopies = sharding ? getNumCopies(sharding, op) : 1;
  auto copy = op->getAttrOfType<IntegerAttr>(kMicrobatchAttr);
  // A copy that is not laid out over the copies is a part of something that
  // only their combination completes.
  if (copy && numCopies == 1)
    return;
  if (numCopies > 1) {
    // Copies are the minor positions in the mesh.
    Copies &all = copies[{*key, {sharding, name}}];
    all.tensors.resize(held.size() * numCopies, HostTensor(held[0].getType()));
    for (auto [rank, part] : llvm::enumerate(held))
      for (int64_t i = 0; i < numCopies; ++i)
        if (!copy || copy.getInt() == i)
          all.tensors[rank * numCopies + i] = part;
    if (copy) {
      if (all.missing.empty())
        all.missing.resize(numCopies, true);
      all.missing.reset(copy.getInt());
      if (copy.getInt() == numCopies - 1) {
        all.last = op->getResult(number);
        all.when = now;
      }
      if (all.missing.any())
        return;
    }
    held = all.tensors;
  }
  compareHeld(op->getResult(number), *key, held, now);
}

void FunctionChecker::compareHeld(OpResult result, Key key,
                                  ArrayRef<HostTensor> held, int64_t when) {
  Operation *op = result.getOwner();
  ShardingAttr sharding = findSharding(result);
  auto all = gather(op->getParentOfType<func::FuncOp>(), key, sharding,
                    getComputingOp(op), held);
  if (all)
    comparison.compare(sharding ? spread(*all, sharding, op) : *all, sharding,
                       expected.find(key)->second, op->getName().getStringRef(),
                       getOriginName(op), when);
}

/// A copy that never came is an error of when the last one did; but stages may
/// need a value of some microbatches only.
void FunctionChecker::compareIncomplete() {
  for (auto &[where, all] : copies) {
    if (!all.last || all.missing.none())
      continue;
    auto transfer = dyn_cast<CollectiveOpInterface>(all.last.getOwner());
    if (!transfer || !transfer.crossesPrograms())
      compareHeld(all.last, where.first, all.tensors, all.when);
  }
}

LogicalResult FunctionChecker::compareResults(func::FuncOp part,
                                              ArrayRef<RankTensors> results) {
  for (unsigned i = 0; i < part.getNumResults(); ++i) {
    unsigned position = getPosition(part.getResultAttr(i, kEntryIndexAttr), i);
    // What is left of gradients has been compared with them.
    if (position >= globalResults.size() && part->hasAttr(kCompressionAttr))
      continue;
    if (position >= globalResults.size())
      return part.emitOpError() << "cannot be compared: result " << i
                                << " is none of the whole program";
    auto sharding =
        part.getResultAttrOfType<ShardingAttr>(i, DistDialect::kSharding);
    if (mesh && !sharding)
      continue;
    SmallVector<HostTensor> shards = collectShards(results, i);
    std::string name = "result " + std::to_string(position);
    for (StringRef attribute : {kVariableAttr, kNameAttr, kRoleAttr}) {
      if (Attribute given = part.getResultAttr(i, attribute)) {
        if (auto symbol = dyn_cast<FlatSymbolRefAttr>(given))
          name += " (" + symbol.getValue().str() + ")";
        else if (auto text = dyn_cast<StringAttr>(given))
          name += " (" + text.str() + ")";
        break;
      }
    }
    // Results have no number: told from ops' by a name that no op has.
    auto all = gather(part, {position, 0}, sharding,
                      StringAttr::get(part.getContext(), "return"), shards);
    if (all)
      comparison.compare(sharding ? spread(*all, sharding, part) : *all,
                         sharding, globalResults[position], "return", name,
                         now);
  }
  return success();
}

LogicalResult FunctionChecker::runLocal() {
  SmallVector<RankProgram> programs;
  for (auto [i, part] : llvm::enumerate(parts)) {
    for (BlockArgument argument : part.getArguments())
      if (getPosition(argument) >= int64_t(arguments.size()))
        return part.emitOpError()
               << "cannot be compared: argument " << argument.getArgNumber()
               << " is none of the whole program";
    auto [first, count] = getProgramRanks(mesh, i, parts.size());
    programs.push_back({part, first, count,
                        cutArguments(part, mesh, arguments, first, count)});
  }
  auto results = evaluatePrograms(
      programs, mesh, [&](Operation *op, ArrayRef<RankTensors> tensors) {
        return compareOp(op, tensors);
      });
  if (failed(results))
    return failure();
  compareIncomplete();
  for (auto [part, tensors] : llvm::zip(parts, *results))
    if (failed(compareResults(part, tensors)))
      return failure();
  return success();
}

FailureOr<FunctionCheck> FunctionChecker::run() {
  check.function = global.getSymName().str();
  bool isCompressed = parts.size() == 1 && local->hasAttr(kCompressionAttr);
  if (parts.size() == 1 && !isCompressed &&
      (global.getNumArguments() != local.getNumArguments() ||
       global.getNumResults() != local.getNumResults()))
    return local.emitOpError()
           << "cannot be compared: its arguments or results "
              "are not those of the whole program";
  arguments = makeRandomArguments(global, options.seed);
  if (failed(runGlobal(global, arguments)) ||
      (isCompressed && failed(checkCompression())) || failed(runLocal()))
    return failure();
  return check;
}

FailureOr<std::vector<FunctionCheck>>
mlir::dist::checkPartition(ModuleOp global, ModuleOp local,
                           const CheckOptions &options) {
  // Rounding would hide small errors, and amplify harmless ones: Adam divides
  // gradients of almost nothing by almost nothing.
  ExactFloats exact;
  std::vector<FunctionCheck> checks;
  MeshOp mesh = findMesh(local);
  for (auto function : global.getOps<func::FuncOp>()) {
    SmallVector<func::FuncOp> parts =
        findPrograms(local, function.getSymName());
    if (parts.empty() || function.isExternal())
      continue;
    auto check = FunctionChecker(function, parts, mesh, options).run();
    if (failed(check))
      return failure();
    checks.push_back(*check);
  }
  return checks;
}
