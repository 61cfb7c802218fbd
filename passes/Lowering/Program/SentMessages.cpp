//===- SentMessages.cpp - What processes send each other ------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Program/SentMessages.h"
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Dist/IR/Processes.h"
#include "dialects/Rt/IR/Rt.h"
#include "passes/Analysis/TransferTimes.h"
#include "passes/Lowering/Library/LibraryKernels.h"
#include "passes/Lowering/Program/Bindings.h"
#include "passes/Lowering/Program/MessageMemory.h"
#include "runtime/core/told.h"
#include "llvm/ADT/StringMap.h"
#include <set>

using namespace mlir;
using namespace mlir::dist;
namespace manifest = ::dist::manifest;

namespace {
/// What the ranks of a program send, by process; with links by their levels,
/// too. `memory` is told of each collective.
class Counter {
public:
  Counter(MeshOp mesh, const manifest::Manifest &manifest,
          const ::dist::LinkTable *links = nullptr,
          MessageMemory *memory = nullptr)
      : mesh(mesh), manifest(manifest), links(links), memory(memory),
        axisNames(
            llvm::to_vector(mesh.getAxisNames().getAsRange<StringAttr>())),
        sent(getNumProcesses(mesh)), numbers(numberByProcess(mesh)),
        byLevel(links ? links->levels().size() * mesh.getNumRanks() : 0) {}

  void add(rt::CollectiveOp op, int64_t program);
  /// What sessions sum up behind the program, where each rank has a part.
  void addResults(const manifest::Entry &entry, int64_t program);
  /// A dense all-reduce over the axes.
  void addAllReduce(ArrayRef<int64_t> axes, manifest::DataType type,
                    int64_t bytes, int64_t program);
  /// A dense one of another kind over all axes, from `root` if it has one.
  void addToAll(::dist::CollectiveKind kind, int64_t bytes, int64_t root = 0);
  SmallVector<int64_t> getAllAxes() const {
    return llvm::to_vector(llvm::seq<int64_t>(0, axisNames.size()));
  }
  std::vector<ProcessTraffic> take() { return std::move(sent); }
  std::vector<LevelTraffic> getLevels();

private:
  void count(const ::dist::Collective &call, int64_t program);

  MeshOp mesh;
  const manifest::Manifest &manifest;
  const ::dist::LinkTable *links;
  MessageMemory *memory;
  SmallVector<StringAttr> axisNames;
  std::vector<ProcessTraffic> sent;
  SmallVector<int64_t> numbers;        // by rank, as links count them
  std::vector<ProcessTraffic> byLevel; // and in each by rank
};
} // namespace

void Counter::count(const ::dist::Collective &call, int64_t program) {
  if (memory)
    memory->add(call, program);
  SmallVector<StringAttr> names;
  for (int64_t axis : call.axes)
    names.push_back(axisNames[axis]);
  auto add = [](ProcessTraffic &to, const ::dist::Traffic &traffic) {
    to.messages += traffic.messages;
    to.bytes += traffic.bytes;
  };
  auto isOf = [&](int64_t rank) {
    return program < 0 || manifest.program_of_rank(int(rank)) == program;
  };
  int size = int(mesh.getGroupSize(names));
  std::vector<::dist::Traffic> positions =
      ::dist::message::countSent(call, size);
  for (const SmallVector<int64_t> &group : getGroups(mesh, names)) {
    for (auto [position, rank] : llvm::enumerate(group))
      if (isOf(rank))
        add(sent[getProcessOfRank(mesh, rank)], positions[position]);
    if (!links)
      continue;
    ::dist::message::visitSent(
        call, size, [&](const ::dist::message::Sending &one) {
          int64_t from = group[one.from], to = group[one.to];
          size_t level = links->levelBetween(numbers[from], numbers[to]);
          if (isOf(from))
            add(byLevel[level * mesh.getNumRanks() + from], one.traffic);
        });
  }
}

std::vector<LevelTraffic> Counter::getLevels() {
  std::vector<LevelTraffic> levels;
  if (!links)
    return levels;
  size_t ranks = mesh.getNumRanks();
  for (auto [i, level] : llvm::enumerate(links->levels())) {
    LevelTraffic row{level.name, {}, {}};
    for (const ProcessTraffic &one :
         ArrayRef(byLevel).slice(i * ranks, ranks)) {
      row.all.messages += one.messages;
      row.all.bytes += one.bytes;
      if (one.bytes > row.most.bytes)
        row.most = one;
    }
    levels.push_back(std::move(row));
  }
  return levels;
}

void Counter::add(rt::CollectiveOp op, int64_t program) {
  SmallVector<::dist::Piece> pieces;
  for (auto piece : op.getPieces().getAsRange<rt::PieceAttr>()) {
    ArrayRef<int64_t> blocks = piece.getBlocks(), from = piece.getFrom(),
                      to = piece.getTo();
    pieces.push_back({getDataType(piece.getElementType()), blocks[0], blocks[1],
                      blocks[2], from[0], from[1], from[2], to[0], to[1],
                      to[2]});
  }
  ::dist::Collective call;
  call.kind = static_cast<::dist::CollectiveKind>(op.getKind());
  call.op = int32_t(op.getOp());
  call.reduction = static_cast<::dist::Reduction>(op.getReduction());
  call.algorithm = static_cast<::dist::Algorithm>(op.getAlgorithm());
  call.peer = op.getPeer();
  call.tag = op.getTag();
  call.gives = !op.getFrom().empty();
  call.takes = !op.getTo().empty();
  call.axes = {op.getAxes().data(), int64_t(op.getAxes().size())};
  call.sources = {op.getSources().data(), int64_t(op.getSources().size())};
  call.pieces = {pieces.data(), int64_t(pieces.size())};
  count(call, program);
}

void Counter::addAllReduce(ArrayRef<int64_t> axes, manifest::DataType type,
                           int64_t bytes, int64_t program) {
  ::dist::Piece piece{};
  piece.type = type;
  piece.outer = piece.rows = 1;
  piece.bytes = bytes;
  ::dist::Collective call;
  call.kind = ::dist::CollectiveKind::AllReduce;
  call.axes = {axes.data(), int64_t(axes.size())};
  call.pieces = {&piece, 1};
  count(call, program);
}

void Counter::addResults(const manifest::Entry &entry, int64_t program) {
  for (const manifest::Binding &result : entry.results()) {
    SmallVector<int64_t> axes;
    for (auto [axis, name] : llvm::enumerate(axisNames))
      if (llvm::is_contained(result.sharding().unreduced(), name.str()))
        axes.push_back(int64_t(axis));
    if (axes.empty() || result.role() == manifest::Binding::VARIABLE)
      continue;
    addAllReduce(axes, result.local_type().type(),
                 int64_t(::dist::byteSize(result.local_type())), program);
  }
}

void Counter::addToAll(::dist::CollectiveKind kind, int64_t bytes,
                       int64_t root) {
  ::dist::Piece piece{};
  piece.type = manifest::I8;
  piece.outer = piece.rows = 1;
  piece.bytes = bytes;
  piece.to_place = kind == ::dist::CollectiveKind::AllGather ? bytes : 0;
  ::dist::Collective call;
  call.kind = kind;
  call.peer = root;
  SmallVector<int64_t> axes = getAllAxes();
  call.axes = {axes.data(), int64_t(axes.size())};
  call.pieces = {&piece, 1};
  count(call, /*program=*/-1);
}

//===----------------------------------------------------------------------===//
// Results of steps
//===----------------------------------------------------------------------===//

/// Of the entries that a step of the training calls, which results each process
/// has; ResultTeller (runtime/train) asks its session the same.
static std::vector<std::set<std::pair<std::string, std::string>>>
findStepResults(MeshOp mesh, const manifest::Manifest &manifest) {
  std::vector<std::set<std::pair<std::string, std::string>>> found(
      getNumProcesses(mesh));
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
    int program = manifest.program_of_rank(int(rank));
    for (const manifest::Entry &entry : manifest.programs(program).entries()) {
      StringRef name = entry.name();
      bool isCalled = manifest.accumulate_steps() > 1
                          ? name.starts_with("gradients") || name == "apply"
                          : name.starts_with("train_step");
      if (!isCalled)
        continue;
      for (const manifest::Binding &result : entry.results())
        if (::dist::isOfStepResult(result.role()))
          found[getProcessOfRank(mesh, rank)].insert(
              {entry.name(), result.name()});
    }
  }
  return found;
}

static constexpr const char *kSyncEvery = "sync-every"; // an option

/// How many steps of the training processes agree on at once.
static int64_t getLaunchSteps(const manifest::Manifest &manifest) {
  auto found = manifest.options().find(kSyncEvery);
  int64_t every = 1;
  if (found != manifest.options().end())
    StringRef(found->second).getAsInteger(10, every);
  return std::clamp<int64_t>(every, 1, ::dist::kOwnSteps);
}

/// What processes send when those that have a step's results tell the others:
/// the one that has all of them, or, where workers train by themselves, each,
/// of so many steps.
static std::vector<ProcessTraffic>
countResults(MeshOp mesh, const manifest::Manifest &manifest, int64_t steps,
             MessageMemory *memory) {
  auto found = findStepResults(mesh, manifest);
  size_t most = 0;
  for (auto &results : found)
    most = std::max(most, results.size());
  auto hasAll = [&](auto &results) { return results.size() == most; };
  bool adds = manifest.options().count(kSyncEvery);
  if (most == 0 || (!adds && llvm::all_of(found, hasAll)))
    return {};
  Counter counter(mesh, manifest, /*links=*/nullptr, memory);
  counter.addToAll(::dist::CollectiveKind::AllGather,
                   sizeof(::dist::TextTitle));
  const int64_t bytes = steps * int64_t(sizeof(::dist::StepResult));
  if (adds) {
    counter.addToAll(::dist::CollectiveKind::AllGather, bytes);
    return counter.take();
  }
  int64_t source = llvm::find_if(found, hasAll) - found.begin(), root = 0;
  while (getProcessOfRank(mesh, root) != source)
    ++root;
  counter.addToAll(::dist::CollectiveKind::Broadcast, bytes, root);
  return counter.take();
}

LogicalResult mlir::dist::addSentMessages(ModuleOp programs,
                                          const manifest::Manifest &manifest,
                                          ExplainReport &report) {
  MeshOp mesh = findMesh(programs);
  if (!mesh || getNumProcesses(mesh) == 1)
    return success();
  FailureOr<std::unique_ptr<MessageMemory>> memory =
      MessageMemory::create(mesh, manifest);
  if (failed(memory))
    return failure();
  llvm::StringMap<rt::ProgramOp> byName;
  for (auto program : programs.getOps<rt::ProgramOp>())
    byName[program.getSymName()] = program;
  for (EntryReport &entry : report.entries) {
    rt::ProgramOp program = byName.lookup(entry.name);
    if (!program)
      continue;
    int64_t number = getProgramNumber(program);
    Counter counter(mesh, manifest,
                    report.transfers ? report.transfers->getLinks() : nullptr,
                    memory->get());
    program.walk([&](rt::CollectiveOp op) { counter.add(op, number); });
    for (const manifest::Entry &one : manifest.programs(int(number)).entries())
      if (one.name() == entry.entry)
        counter.addResults(one, number);
    entry.levels = counter.getLevels();
    entry.sent = counter.take();
  }
  // What prepares an entry takes memory, too.
  Counter preparations(mesh, manifest, /*links=*/nullptr, memory->get());
  for (auto program : programs.getOps<rt::ProgramOp>())
    if (program->hasAttr(kPrepares))
      program.walk([&](rt::CollectiveOp op) {
        preparations.add(op, getProgramNumber(program));
      });
  Counter counter(mesh, manifest, /*links=*/nullptr, memory->get());
  counter.addAllReduce(counter.getAllAxes(), manifest::I32, sizeof(int32_t),
                       /*program=*/-1);
  report.agreement = counter.take();
  report.launchSteps = getLaunchSteps(manifest);
  report.results =
      countResults(mesh, manifest, report.launchSteps, memory->get());
  // Of each text that sessions exchange: prepared, whether or not one comes.
  Counter(mesh, manifest, /*links=*/nullptr, memory->get())
      .addToAll(::dist::CollectiveKind::AllGather, sizeof(::dist::TextTitle));
  for (EntryReport &entry : report.entries)
    if (rt::ProgramOp program = byName.lookup(entry.name))
      entry.memory.messages = (*memory)->getBytes(getProgramNumber(program));
  return (*memory)->verify();
}
