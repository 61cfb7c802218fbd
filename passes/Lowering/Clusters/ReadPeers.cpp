//===- ReadPeers.cpp - Reductions that their reader computes --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs when kernels are formed: whether a value is read once, element by
// element, is a property of kernels.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Dist/IR/Portion.h"
#include "dialects/Dist/IR/Processes.h"
#include "dialects/Dist/IR/Stage.h"
#include "dialects/Graph/IR/GraphOrder.h"
#include "passes/Lowering/Clusters/ClusterAnalysis.h"
#include "passes/Lowering/Program/CollectiveCalls.h"
#include "passes/Lowering/Memory/MemoryLayout.h"
#include "passes/Lowering/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::dist;

namespace mlir::dist {
#define GEN_PASS_DEF_READPEERSPASS
#include "passes/Lowering/Passes.h.inc"
} // namespace mlir::dist

namespace {

/// Below this the transfer is about its meetings, which stay.
constexpr int64_t minPublishedBytes = 64 * 1024;
/// More streams than this are more than a core prefetches.
constexpr int64_t maxPeers = 8;

/// The one kernel that reads a result, and as which of its operands.
struct Reader {
  rt::FusedOp kernel;
  unsigned operand = 0;
};

struct Candidate {
  Operation *op;
  CollectiveCall call;
  int64_t peers;
  /// By operand; none: it is not published.
  SmallVector<std::optional<Reader>> readers;
};

class PeerReader {
public:
  explicit PeerReader(func::FuncOp func) : func(func) {
    for (auto op : func.getBody().front().getOps<CollectiveOpInterface>())
      if (op.getCollectiveId() >= 0)
        collectives.insert({op.getCollectiveId(), op});
  }
  /// The transfers, in their order.
  SmallVector<int64_t> getIds() const {
    return llvm::map_to_vector(collectives,
                               [](const auto &entry) { return entry.first; });
  }
  std::optional<Candidate> examine(int64_t id);
  void publish(Candidate &candidate);
  void release();

private:
  std::optional<Reader> findReader(Value result);
  void addUp(const Reader &reader, ValueRange parts);
  void dropPublished(Candidate &candidate);

  func::FuncOp func;
  llvm::MapVector<int64_t, CollectiveOpInterface> collectives;
  /// What is read in place until the end, by axes, and the first transfer.
  llvm::MapVector<Attribute, std::pair<int64_t, SmallVector<Value>>> held;
};

} // namespace

/// Bytes that pass a rank's core for each byte of the operand. The collective:
/// an all_reduce reads 1/n of n operands and writes it to n results, and the
/// kernel reads all of one; a reduce_scatter reads as much, and writes and
/// gives the kernel 1/n. From peers, the kernel reads what it needs of n
/// operands.
static bool isWorthwhile(rt::CollectiveKind kind, int64_t peers) {
  if (peers < 2 || peers > maxPeers)
    return false;
  return kind == rt::CollectiveKind::ReduceScatter || peers < 3;
}

/// Whether ranks may publish buffers for each other to read. A group of several
/// processes has no memory in common; and a rank has one communicator for all
/// its groups, which reaches all ranks by memory or all of them by messages.
static bool haveCommonMemory(MeshOp mesh) { return getNumProcesses(mesh) == 1; }

/// A collective that was started stays one: it overlaps with other work.
static std::optional<rt::CollectiveKind> getPublishedKind(Operation *op) {
  if (isa<AllReduceOp>(op))
    return rt::CollectiveKind::AllReduce;
  if (isa<ReduceScatterOp>(op))
    return rt::CollectiveKind::ReduceScatter;
  return std::nullopt;
}

/// Whether the function computes the value and no other value has its memory:
/// arguments and results of `graph.after` are other values' memory as well.
static bool isOwn(Value value) {
  value = getReshaped(value);
  return !isa<BlockArgument>(value) && !value.getDefiningOp<graph::AfterOp>();
}

std::optional<Reader> PeerReader::findReader(Value result) {
  Value value = result;
  while (value.hasOneUse())
    if (auto view = dyn_cast<graph::ReshapeOp>(*value.user_begin()))
      value = view.getResult();
    else
      break;
  if (!value.hasOneUse())
    return std::nullopt;
  OpOperand &use = *value.use_begin();
  auto kernel = dyn_cast<rt::FusedOp>(use.getOwner());
  if (!kernel)
    return std::nullopt;
  Block &body = kernel.getBody().front();
  if (isa<LoopedOpInterface>(body.front()))
    return std::nullopt;
  // A later phase of a row would add up once more.
  std::optional<ClusterInfo> info = analyzeBody(body);
  if (!info || info->fixedRowDims >= 0)
    return std::nullopt;
  for (Operation *user : body.getArgument(use.getOperandNumber()).getUsers()) {
    auto kind = info->kinds.find(user);
    if (!user->hasTrait<OpTrait::Elementwise>() || kind == info->kinds.end() ||
        kind->second != MemberKind::Full)
      return std::nullopt;
  }
  return Reader{kernel, use.getOperandNumber()};
}

std::optional<Candidate> PeerReader::examine(int64_t id) {
  CollectiveOpInterface op = collectives.lookup(id);
  std::optional<rt::CollectiveKind> kind;
  if (op)
    kind = getPublishedKind(op);
  if (!kind)
    return std::nullopt;
  MeshOp mesh = findMesh(op);
  if (!haveCommonMemory(mesh))
    return std::nullopt;
  int64_t peers = mesh.getGroupSize(op.getGroupAxes());
  Candidate candidate{op, op.getCall(peers), peers, {}};
  // Who asks for an algorithm gets its order of sums.
  if (!isWorthwhile(*kind, peers) ||
      candidate.call.reduction != Reduction::Sum ||
      candidate.call.algorithm != AllReduceAlgorithm::Auto)
    return std::nullopt;
  llvm::DenseMap<Operation *, size_t> buffers;
  for (auto [piece, operand, result] : llvm::zip_equal(
           candidate.call.pieces, op->getOperands(), op->getResults())) {
    std::optional<Reader> &reader = candidate.readers.emplace_back();
    // Narrow floats: the communicator rounds once, a kernel would not at all.
    if (!(piece.elementType.isF32() || piece.elementType.isF64()) ||
        piece.outer * piece.rows != 1 || !isOwn(operand))
      continue;
    reader = findReader(result);
    if (!reader)
      continue;
    size_t &count =
        buffers
            .try_emplace(reader->kernel, reader->kernel->getNumOperands() +
                                             reader->kernel->getNumResults())
            .first->second;
    count += peers - 1;
    if (count > kMaxKernelBuffers) {
      count -= peers - 1;
      reader = std::nullopt;
    }
  }
  return candidate;
}

/// Gives the kernel all parts for one, and their sum in the order of peers, as
/// communicators reduce: the same bits.
void PeerReader::addUp(const Reader &reader, ValueRange parts) {
  rt::FusedOp kernel = reader.kernel;
  Block &body = kernel.getBody().front();
  Location loc = kernel.getLoc();
  OpBuilder outside(kernel);
  OpBuilder inside = OpBuilder::atBlockBegin(&body);
  Type type = kernel.getInputs()[reader.operand].getType();
  BlockArgument first = body.getArgument(reader.operand);
  SmallVector<OpOperand *> uses(
      llvm::map_range(first.getUses(), [](OpOperand &use) { return &use; }));
  Value sum = first;
  for (auto [place, part] : llvm::enumerate(parts)) {
    Value input = part;
    if (input.getType() != type)
      input = graph::ReshapeOp::create(outside, loc, type, input);
    if (place == 0) {
      kernel->setOperand(reader.operand, input);
      continue;
    }
    kernel.getInputsMutable().append(input);
    sum = graph::AddOp::create(inside, loc, type, sum,
                               body.addArgument(type, loc));
  }
  for (OpOperand *use : uses)
    use->set(sum);
}

/// What is not published stays a collective.
void PeerReader::dropPublished(Candidate &candidate) {
  Operation *op = candidate.op;
  SmallVector<unsigned> kept;
  for (auto [i, reader] : llvm::enumerate(candidate.readers)) {
    if (!reader) {
      kept.push_back(i);
      continue;
    }
    // Views of what is not there any more.
    Value result = op->getResult(i);
    SmallVector<Operation *> views;
    while (!result.use_empty()) {
      views.push_back(*result.user_begin());
      result = views.back()->getResult(0);
    }
    for (Operation *view : llvm::reverse(views))
      view->erase();
  }
  if (!kept.empty()) {
    auto pick = [&](auto range) {
      return llvm::map_to_vector(kept, [&](unsigned i) { return range[i]; });
    };
    OpBuilder builder(op);
    OperationState state(op->getLoc(), op->getName());
    state.addOperands(pick(op->getOperands()));
    state.addTypes(pick(op->getResultTypes()));
    state.addAttributes(op->getAttrs());
    Operation *rest = builder.create(state);
    if (auto dims = op->getAttrOfType<DenseI64ArrayAttr>("dims"))
      rest->setAttr("dims",
                    builder.getDenseI64ArrayAttr(pick(dims.asArrayRef())));
    if (auto list = op->getAttrOfType<ArrayAttr>(DistDialect::kShardings))
      rest->setAttr(DistDialect::kShardings,
                    builder.getArrayAttr(pick(list.getValue())));
    for (auto [i, result] : llvm::zip_equal(kept, rest->getResults()))
      op->getResult(i).replaceAllUsesWith(result);
  }
  op->erase();
}

void PeerReader::publish(Candidate &candidate) {
  auto op = cast<CollectiveOpInterface>(candidate.op);
  SmallVector<Value> inputs;
  SmallVector<Type> types;
  SmallVector<Attribute> pieces;
  for (auto [i, reader] : llvm::enumerate(candidate.readers)) {
    if (!reader)
      continue;
    inputs.push_back(op->getOperand(i));
    // Slices of the operands where a rank needs a part.
    types.append(candidate.peers, op->getResult(i).getType());
    pieces.push_back(getPieceAttr(op->getContext(), candidate.call.pieces[i]));
  }
  OpBuilder builder(op);
  int64_t id = op.getCollectiveId();
  auto published = rt::PublishOp::create(
      builder, op->getLoc(), types, *getPublishedKind(op), id,
      getAxisNumbers(op), candidate.peers, inputs, builder.getArrayAttr(pieces),
      describeTransfer(op, id, inputs));
  size_t next = 0;
  for (auto &reader : candidate.readers)
    if (reader)
      addUp(*reader, published.getOutputs().slice(candidate.peers * next++,
                                                  candidate.peers));
  auto &group = held[published.getAxesAttr()];
  if (group.second.empty())
    group.first = id;
  llvm::append_range(group.second, inputs);
  dropPublished(candidate);
}

void PeerReader::release() {
  // At the end, when all ranks have read and so no rank waits for long.
  OpBuilder builder(func.getBody().front().getTerminator());
  for (auto &[axes, group] : held)
    rt::ReleaseOp::create(builder, func.getLoc(), group.first,
                          cast<DenseI64ArrayAttr>(axes), group.second);
}

/// Ranks that meet in a transfer must all publish, or all move, the same of it:
/// `programs` are one program, or those of all portions of the examples.
static void publishTogether(MutableArrayRef<PeerReader> programs) {
  for (int64_t id : programs.front().getIds()) {
    std::vector<Candidate> candidates;
    for (PeerReader &program : programs)
      if (std::optional<Candidate> candidate = program.examine(id))
        candidates.push_back(std::move(*candidate));
    if (candidates.size() != programs.size())
      continue;
    int64_t bytes = 0;
    for (size_t i = 0; i < candidates[0].readers.size(); ++i) {
      bool agreed = llvm::all_of(candidates, [&](const Candidate &candidate) {
        return candidate.readers[i].has_value();
      });
      if (agreed)
        bytes += getByteSize(candidates[0].op->getOperand(i).getType());
      else
        for (Candidate &candidate : candidates)
          candidate.readers[i] = std::nullopt;
    }
    if (bytes < minPublishedBytes)
      continue;
    for (auto [program, candidate] : llvm::zip_equal(programs, candidates))
      program.publish(candidate);
  }
  for (PeerReader &program : programs)
    program.release();
}

namespace {
struct ReadPeersPass : mlir::dist::impl::ReadPeersPassBase<ReadPeersPass> {
  using Base::Base;
  void runOnOperation() override {
    llvm::MapVector<Attribute, std::vector<PeerReader>> groups;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration())
        groups[findPortion(func) ? func->getAttr(kEntryAttr)
                                 : Attribute(func.getSymNameAttr())]
            .emplace_back(func);
    for (auto &[entry, programs] : groups)
      publishTogether(programs);
  }
};
} // namespace
