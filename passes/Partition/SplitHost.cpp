//===- SplitHost.cpp - A program for the host that has variables ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Who needs which value is found from the results backward. What is the same on
// all devices the host can compute as well as they: it does for what only it
// wants, and so everything behind the reduction of gradients is computed once.
// A number that it makes of those (whether all are finite, a norm) it sends:
// for it devices would reduce all gradients among themselves, too. Both
// programs are then written in the entry's own order, in which transfers pair
// up.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Dist/IR/Sources.h"
#include "dialects/Dist/IR/Stage.h"
#include "dialects/Interfaces/Cost.h"
#include "passes/Analysis/StageAssignment.h"
#include "passes/Partition/EntryPart.h"
#include "passes/Partition/Passes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::dist {
#define GEN_PASS_DEF_SPLITHOSTPASS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Which programs read a value.
struct Readers {
  bool device = false, host = false;
  bool any() const { return device || host; }
  void operator|=(const Readers &other) {
    device |= other.device;
    host |= other.host;
  }
};
constexpr Readers onlyDevices = {true, false}, onlyHost = {false, true};

/// Splits one entry.
class HostSplitter {
public:
  HostSplitter(func::FuncOp function, MeshOp mesh, int64_t bytesPerPack,
               SourceBuilder &sources)
      : function(function), mesh(mesh), bytesPerPack(bytesPerPack),
        sources(sources), ports(function), builder(function.getContext()) {}
  LogicalResult run();

private:
  /// Whether the argument is a variable that the host has.
  bool isPlaced(BlockArgument argument) {
    auto variable = ports.ofArgument(argument.getArgNumber());
    return variable && isOnHost(variable);
  }
  void findUniform();
  LogicalResult findReaders();
  void markOperands(Operation &op);
  /// Whether the host alone computes the op's one number.
  bool isHosts(Operation &op) {
    return op.getNumResults() == 1 && digests.contains(op.getResult(0));
  }
  void sendDigest(Value value);
  /// Who gives result `number` back.
  Readers getHolder(OpOperand &result);

  void createParts();
  void sendVariables();
  void emit(Operation &op);
  void emitReduce(AllReduceOp op);
  Operation *addTransfer(Operation *transfer, ValueRange values,
                         EntryPart &taker);
  void returnAll();

  func::FuncOp function;
  MeshOp mesh;
  int64_t bytesPerPack;
  SourceBuilder &sources;
  PortVariables ports;
  OpBuilder builder;
  /// Values that the host has or can compute.
  DenseSet<Value> uniform;
  /// Of those, what depends on sums over all devices of more than one number,
  /// and single numbers made of such.
  DenseSet<Value> summed, digests;
  DenseMap<Value, Readers> readers;
  EntryPart device, host;
};

struct SplitHostPass : mlir::dist::impl::SplitHostPassBase<SplitHostPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

//===----------------------------------------------------------------------===//
// Who needs what
//===----------------------------------------------------------------------===//

static bool isWhole(ShardingAttr sharding) {
  return sharding && sharding.splitsNoDim() && sharding.getUnreduced().empty();
}

/// Whether it adds up what all devices have.
static bool reducesOverAll(Operation *op, MeshOp mesh) {
  auto reduce = dyn_cast<AllReduceOp>(op);
  return reduce &&
         mesh.getGroupSize(reduce.getGroupAxes()) == mesh.getNumRanks();
}

void HostSplitter::findUniform() {
  for (BlockArgument argument : function.getArguments()) {
    bool variable = bool(ports.ofArgument(argument.getArgNumber()));
    if (variable ? isPlaced(argument) : isWhole(findSharding(argument)))
      uniform.insert(argument);
  }
  for (Operation &op : function.front().without_terminator()) {
    bool known = reducesOverAll(&op, mesh);
    if (!isa<CollectiveOpInterface>(op))
      known = llvm::all_of(
                  op.getOperands(),
                  [&](Value operand) { return uniform.contains(operand); }) &&
              llvm::all_of(op.getResults(), [](Value result) {
                ShardingAttr sharding = findSharding(result);
                return !sharding || isWhole(sharding);
              });
    if (!known)
      continue;
    uniform.insert(op.result_begin(), op.result_end());
    auto isSummed = [&](Value operand) {
      return summed.contains(operand) || digests.contains(operand);
    };
    for (Value result : op.getResults()) {
      bool isOne = hasOneElement(result.getType());
      if (reducesOverAll(&op, mesh) ? !isOne
                                    : llvm::any_of(op.getOperands(), isSummed))
        (isOne ? digests : summed).insert(result);
    }
  }
}

Readers HostSplitter::getHolder(OpOperand &result) {
  if (auto variable = ports.ofResult(result.getOperandNumber()))
    return isOnHost(variable) ? onlyHost : onlyDevices;
  auto sharding = function.getResultAttrOfType<ShardingAttr>(
      result.getOperandNumber(), DistDialect::kSharding);
  return isWhole(sharding) && uniform.contains(result.get()) ? onlyHost
                                                             : onlyDevices;
}

void HostSplitter::markOperands(Operation &op) {
  if (reducesOverAll(&op, mesh)) {
    for (auto [operand, result] : llvm::zip(op.getOperands(), op.getResults()))
      if (readers.lookup(result).any())
        readers[operand] |= onlyDevices;
    return;
  }
  Readers all;
  for (Value result : op.getResults())
    all |= readers.lookup(result);
  if (all.any() && isHosts(op))
    all = onlyHost;
  if (all.any())
    for (Value operand : op.getOperands())
      readers[operand] |= all;
}

LogicalResult HostSplitter::findReaders() {
  Block &block = function.front();
  for (OpOperand &result : block.getTerminator()->getOpOperands()) {
    Readers holder = getHolder(result);
    // What a uniform value is computed from is uniform or reduced.
    if (holder.host && !uniform.contains(result.get())) {
      std::string reason = getProgramReason(function, "host");
      return function.emitOpError()
             << "gives "
             << function.getResultAttr(result.getOperandNumber(), kVariableAttr)
             << " a value that devices make and that is no sum over all of "
                "them, but the variable is on the host by "
             << reason
             << (StringRef(reason).starts_with("--strategy")
                     ? "; give --strategy mirrored, which has it on the devices"
                     : "; leave it on the devices");
    }
    readers[result.get()] |= holder;
  }
  for (Operation &op : llvm::reverse(block.without_terminator()))
    markOperands(op);
  return success();
}

//===----------------------------------------------------------------------===//
// The programs
//===----------------------------------------------------------------------===//

void HostSplitter::createParts() {
  StringRef name = function.getSymName();
  device =
      createEntryPart(function, name + "_device", [&](BlockArgument argument) {
        return !isPlaced(argument) && (readers.lookup(argument).device ||
                                       !readers.lookup(argument).host);
      });
  host = createEntryPart(function, name + "_host", [&](BlockArgument argument) {
    return isPlaced(argument) || readers.lookup(argument).host;
  });
  for (auto [part, placement] : {std::pair(&device, Placement::Device),
                                 std::pair(&host, Placement::Host)})
    part->function->setAttr(
        kPlacementAttr, PlacementAttr::get(builder.getContext(), placement));
}

/// The other end of `transfer`, which `taker` takes `values` from.
Operation *HostSplitter::addTransfer(Operation *transfer, ValueRange values,
                                     EntryPart &taker) {
  builder.setInsertionPointToEnd(&taker.function.front());
  OperationState state(transfer->getLoc(), transfer->getName());
  state.addTypes(values.getTypes());
  state.addAttributes(transfer->getAttrs());
  Operation *made = builder.create(state);
  for (auto [value, result] : llvm::zip(values, made->getResults())) {
    taker.values.map(value, result);
    if (ShardingAttr sharding = findSharding(value))
      setSharding(result, sharding);
  }
  return made;
}

/// Names of at most three, and how many more.
static std::string listNames(ArrayRef<std::string> names) {
  constexpr size_t shown = 3;
  std::string text;
  for (const std::string &name : names.take_front(shown))
    text += (text.empty() ? "'" : ", '") + name + "'";
  if (names.size() > shown)
    text += " and " + std::to_string(names.size() - shown) + " more";
  return text;
}

/// Every variable that a device reads, once, in the order in which they do.
void HostSplitter::sendVariables() {
  SmallVector<BlockArgument> arguments;
  DenseSet<Value> seen;
  auto add = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && isPlaced(argument) && readers.lookup(argument).device &&
        seen.insert(argument).second)
      arguments.push_back(argument);
  };
  for (Operation &op : function.front())
    if (isa<func::ReturnOp>(op) ||
        llvm::any_of(op.getResults(), [&](Value result) {
          return readers.lookup(result).device;
        }))
      llvm::for_each(op.getOperands(), add);

  ArrayRef<BlockArgument> rest = arguments;
  while (!rest.empty()) {
    SmallVector<Value> bucket, given;
    SmallVector<std::string> names, origins;
    int64_t bytes = 0;
    while (!rest.empty() && (bytesPerPack <= 0 || bytes <= bytesPerPack)) {
      BlockArgument argument = rest.front();
      rest = rest.drop_front();
      bytes += getByteSize(argument.getType());
      bucket.push_back(argument);
      given.push_back(host.values.lookup(argument));
      names.push_back(
          ports.ofArgument(argument.getArgNumber()).getSymName().str());
      if (std::string origin = getValueName(argument);
          !llvm::is_contained(origins, origin))
        origins.push_back(origin);
    }
    builder.setInsertionPointToEnd(&host.function.front());
    auto transfer = HostBroadcastOp::create(
        builder, bucket.front().getLoc(), TypeRange(), given, mesh.getSymName(),
        mesh.getAxisNames(),
        "devices read " + listNames(names) + ", which the host has",
        llvm::join(origins, "; "));
    for (Value argument : bucket) {
      auto users = argument.getUsers();
      auto reader = llvm::find_if(users, [&](Operation *user) {
        return llvm::any_of(user->getResults(), [&](Value result) {
          return readers.lookup(result).device;
        });
      });
      addProgramCause(transfer, sources, "host",
                      getProgramReason(function, "host") +
                          " keeps its one copy on the host",
                      argument, reader == users.end() ? nullptr : *reader);
    }
    addTransfer(transfer, bucket, device);
  }
}

/// An all_reduce of what devices want, and a reduction of what the host does.
void HostSplitter::emitReduce(AllReduceOp op) {
  SmallVector<Value> both, operands, results;
  SmallVector<Attribute> shardings;
  for (auto [operand, result] : llvm::zip(op.getInputs(), op.getOutputs())) {
    Readers by = readers.lookup(result);
    Value given = by.any() ? device.values.lookup(operand) : Value();
    if (by.device) {
      both.push_back(result);
      operands.push_back(given);
      if (ShardingAttr sharding = findSharding(result))
        shardings.push_back(sharding);
    }
  }
  if (!both.empty()) {
    builder.setInsertionPointToEnd(&device.function.front());
    OperationState state(op.getLoc(), op->getName());
    state.addOperands(operands);
    state.addTypes(ValueRange(both).getTypes());
    state.addAttributes(op->getAttrs());
    Operation *made = builder.create(state);
    made->removeAttr(DistDialect::kShardings);
    if (shardings.size() == both.size())
      made->setAttr(DistDialect::kShardings, builder.getArrayAttr(shardings));
    for (auto [result, copy] : llvm::zip(both, made->getResults()))
      device.values.map(result, copy);
  }
  operands.clear();
  for (auto [operand, result] : llvm::zip(op.getInputs(), op.getOutputs()))
    if (readers.lookup(result).host) {
      operands.push_back(device.values.lookup(operand));
      results.push_back(result);
    }
  if (results.empty())
    return;
  builder.setInsertionPointToEnd(&device.function.front());
  auto transfer = HostReduceOp::create(
      builder, op.getLoc(), TypeRange(), operands, op.getReduction(),
      op.getMesh(), op.getAxes(), op.getReason(), op.getOrigin());
  addTransfer(copyCauses(op, transfer), results, host);
}

/// From the host, which has it, to the devices.
void HostSplitter::sendDigest(Value value) {
  builder.setInsertionPointToEnd(&host.function.front());
  auto transfer = HostBroadcastOp::create(
      builder, value.getLoc(), TypeRange(), host.values.lookup(value),
      mesh.getSymName(), mesh.getAxisNames(),
      "devices read what the host makes of the sum of all gradients",
      getValueName(value));
  addProgramCause(transfer, sources, "host",
                  getProgramReason(function, "host") +
                      " keeps its one copy on the host",
                  value, value.getDefiningOp());
  addTransfer(transfer, value, device);
}

void HostSplitter::emit(Operation &op) {
  if (reducesOverAll(&op, mesh))
    return emitReduce(cast<AllReduceOp>(op));
  if (isHosts(op) && readers.lookup(op.getResult(0)).any()) {
    builder.setInsertionPointToEnd(&host.function.front());
    builder.clone(op, host.values);
    if (readers.lookup(op.getResult(0)).device)
      sendDigest(op.getResult(0));
    return;
  }
  Readers all;
  for (Value result : op.getResults())
    all |= readers.lookup(result);
  for (auto [wants, part] :
       {std::pair(all.device, &device), std::pair(all.host, &host)}) {
    if (!wants)
      continue;
    builder.setInsertionPointToEnd(&part->function.front());
    builder.clone(op, part->values);
  }
}

void HostSplitter::returnAll() {
  SmallVector<unsigned> numbers[2];
  SmallVector<Value> values[2];
  for (OpOperand &use : function.front().getTerminator()->getOpOperands()) {
    bool onHost = getHolder(use).host;
    numbers[onHost].push_back(use.getOperandNumber());
    values[onHost].push_back((onHost ? host : device).values.lookup(use.get()));
  }
  finishEntryPart(device, function, numbers[0], values[0]);
  finishEntryPart(host, function, numbers[1], values[1]);
  // Both ends of a transfer have one number, by which the runtime knows it.
  SmallVector<int64_t> ids;
  for (auto op : device.function.getOps<CollectiveOpInterface>())
    if (op.crossesPrograms())
      ids.push_back(op.getCollectiveId());
  for (auto [op, id] :
       llvm::zip_equal(host.function.getOps<CollectiveOpInterface>(), ids))
    op.setCollectiveId(id);
}

LogicalResult HostSplitter::run() {
  findUniform();
  if (failed(findReaders()))
    return failure();
  createParts();
  sendVariables();
  for (Operation &op : function.front().without_terminator())
    emit(op);
  returnAll();
  function.erase();
  return success();
}

void SplitHostPass::runOnOperation() {
  ModuleOp module = getOperation();
  auto variables = module.getOps<graph::VariableOp>();
  auto placed = llvm::find_if(
      variables, [](graph::VariableOp variable) { return isOnHost(variable); });
  if (placed == variables.end())
    return markAllAnalysesPreserved();
  MeshOp mesh = findMesh(module);
  if (!mesh || mesh.getAxisNames().empty()) {
    (*placed).emitOpError()
        << "is on the host, but no mesh says which devices read it; run "
           "dist-replicate and dist-partition first";
    return signalPassFailure();
  }
  mesh.setHost(true);
  SourceBuilder sources(mesh);
  for (auto function :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (!function.isExternal() &&
        failed(HostSplitter(function, mesh, bytesPerPack, sources).run()))
      return signalPassFailure();
  if (sources.isKept())
    sources.write(mesh);
}
