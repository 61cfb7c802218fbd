//===- TransferTimes.cpp - What collectives take, by tables -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/TransferTimes.h"
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Dist/IR/Processes.h"
#include "dialects/Dist/IR/Stage.h"
#include "dialects/Interfaces/Cost.h"
#include "runtime/comm/schedule/choice.h"
#include "runtime/comm/schedule/parts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::dist;
namespace runtime = ::dist;

runtime::Status TransferTimes::read(StringRef collectivesTable,
                                    StringRef linkTable, int64_t hosts,
                                    TransferTimes &out) {
  out = TransferTimes();
  out.hosts = hosts;
  if (!collectivesTable.empty()) {
    auto table = std::make_shared<runtime::CollectiveTable>();
    out.path = collectivesTable.str();
    DIST_RETURN_IF_ERROR(runtime::CollectiveTable::read(out.path, table.get()));
    out.table = std::move(table);
  }
  if (!linkTable.empty()) {
    auto links = std::make_shared<runtime::LinkTable>();
    out.path = linkTable.str();
    DIST_RETURN_IF_ERROR(runtime::LinkTable::read(out.path, links.get()));
    out.links = std::move(links);
  }
  return runtime::Status();
}

/// What the runtime is asked for; nothing: it is no transfer between ranks.
static std::optional<runtime::CollectiveKind>
getKind(CollectiveOpInterface op) {
  switch (op.getCollectiveKind()) {
  case CollectiveKind::AllReduce:
    return runtime::CollectiveKind::AllReduce;
  case CollectiveKind::AllGather:
    return runtime::CollectiveKind::AllGather;
  case CollectiveKind::ReduceScatter:
    return runtime::CollectiveKind::ReduceScatter;
  case CollectiveKind::AllToAll:
    return runtime::CollectiveKind::AllToAll;
  case CollectiveKind::Permute:
    return runtime::CollectiveKind::Permute;
  case CollectiveKind::Broadcast:
    return runtime::CollectiveKind::Broadcast;
  case CollectiveKind::Send:
    return runtime::CollectiveKind::Send;
  case CollectiveKind::AllSlice:
  case CollectiveKind::Recv:
  case CollectiveKind::HostBroadcast:
  case CollectiveKind::HostReduce:
    return std::nullopt;
  }
  return std::nullopt;
}

static runtime::Algorithm getAlgorithm(CollectiveOpInterface op, MeshOp mesh) {
  return static_cast<runtime::Algorithm>(
      op.getCall(mesh.getGroupSize(op.getGroupAxes())).algorithm);
}

/// What the runtime chooses an all-reduce's way by: each tensor begins where
/// any element may lie.
static int64_t getPackedBytes(CollectiveOpInterface op, int64_t groupSize) {
  int64_t bytes = 0;
  for (const CollectivePiece &piece : op.getCall(groupSize).pieces)
    bytes += runtime::alignPacked(piece.outer * piece.rows * piece.bytes);
  return bytes;
}

static int64_t getOperandBytes(Operation *op) {
  int64_t bytes = 0;
  for (Type type : op->getOperandTypes())
    bytes += getByteSize(type);
  return bytes;
}

//===----------------------------------------------------------------------===//
// Measured times
//===----------------------------------------------------------------------===//

runtime::TimedCall TransferTimes::getCall(CollectiveOpInterface op,
                                          MeshOp mesh) const {
  SmallVector<StringAttr> axes = op.getGroupAxes();
  runtime::TimedCall call;
  call.kind = *getKind(op);
  call.ranks = mesh.getGroupSize(axes);
  call.bytes = getOperandBytes(op);
  if (getNumProcesses(mesh) > 1)
    call.link = hosts > 1 && crossesProcesses(mesh, axes)
                    ? runtime::LinkClass::Network
                    : runtime::LinkClass::Process;
  // One message to another rank is half of what two do in a permute.
  if (call.kind == runtime::CollectiveKind::Send) {
    call.kind = runtime::CollectiveKind::Permute;
    call.ranks = 2;
  }
  if (call.kind != runtime::CollectiveKind::AllReduce)
    return call;
  call.algorithm = getAlgorithm(op, mesh);
  if (call.link != runtime::LinkClass::Memory)
    call.algorithm = runtime::message::chooseAllReduce(
        call.algorithm, getPackedBytes(op, call.ranks), call.ranks);
  return call;
}

//===----------------------------------------------------------------------===//
// Links
//===----------------------------------------------------------------------===//

/// The position of who sends among the ranks of a stage axis: one program's.
static int64_t getSender(CollectiveOpInterface op) {
  auto function = op->getParentOfType<func::FuncOp>();
  auto stage = function ? function->getAttrOfType<IntegerAttr>(kStageAttr)
                        : IntegerAttr();
  return stage ? stage.getInt() : 0;
}

double TransferTimes::getSecondsByLinks(CollectiveOpInterface op, MeshOp mesh,
                                        runtime::Algorithm algorithm) const {
  SmallVector<StringAttr> axes = op.getGroupAxes();
  int64_t size = mesh.getGroupSize(axes);
  CollectiveCall of = op.getCall(size);
  SmallVector<runtime::Piece> pieces;
  std::string key;
  llvm::raw_string_ostream os(key);
  os << int(*getKind(op)) << " " << int(algorithm) << " " << of.peer << " "
     << formatAxes(axes);
  for (const CollectivePiece &piece : of.pieces) {
    runtime::Piece one{};
    // Only its size counts: parts are cut between elements.
    one.type = getByteSize(RankedTensorType::get({}, piece.elementType)) > 4
                   ? runtime::manifest::F64
                   : runtime::manifest::F32;
    one.outer = piece.outer;
    one.rows = piece.rows;
    one.bytes = piece.bytes;
    pieces.push_back(one);
    os << " " << piece.outer * piece.rows * piece.bytes;
  }
  for (int64_t source : of.sources)
    os << " from " << source;
  const bool isSend = op.getCollectiveKind() == CollectiveKind::Send;
  const int64_t sender = isSend ? getSender(op) : 0;
  os << " by " << sender << " of";
  // A plan weighs several meshes.
  for (auto [axis, axisSize] :
       llvm::zip(mesh.getAxisNames(), mesh.getAxisSizes()))
    os << " " << axis << axisSize;
  os << " " << mesh->getAttr(kProcessesAttr);
  if (auto found = known.find(key); found != known.end())
    return found->second;
  runtime::Collective call;
  call.kind = *getKind(op);
  call.algorithm = algorithm;
  call.peer = of.peer;
  call.sources = {of.sources.data(), int64_t(of.sources.size())};
  call.pieces = {pieces.data(), int64_t(pieces.size())};
  SmallVector<int64_t> numbers = numberByProcess(mesh);
  std::vector<std::vector<int64_t>> groups;
  for (const SmallVector<int64_t> &group : getGroups(mesh, axes)) {
    std::vector<int64_t> &ofGroup = groups.emplace_back();
    for (int64_t rank : group)
      ofGroup.push_back(numbers[rank]);
  }
  // The others of the group have nothing to do with it.
  if (isSend) {
    for (std::vector<int64_t> &group : groups)
      group = {group[sender], group[of.peer]};
    call.peer = 1;
  }
  return known[key] = links->getSeconds(call, groups);
}

//===----------------------------------------------------------------------===//
// Either
//===----------------------------------------------------------------------===//

std::optional<double> TransferTimes::getSeconds(CollectiveOpInterface op,
                                                MeshOp mesh) const {
  if (isEmpty() || !getKind(op))
    return std::nullopt;
  return links ? getSecondsByLinks(op, mesh, getAlgorithm(op, mesh))
               : table->find(getCall(op, mesh));
}

LogicalResult TransferTimes::verify(CollectiveOpInterface op,
                                    MeshOp mesh) const {
  if (isEmpty() || op.isLocal() || !getKind(op))
    return success();
  if (links) {
    if (mesh.getNumRanks() <= links->ranks())
      return success();
    return op->emitError() << "how long it takes is not told by " << path
                           << ": its outermost level, '"
                           << links->levels().back().name << "', has "
                           << links->ranks() << " ranks, and the mesh "
                           << mesh.getNumRanks() << "; add a level";
  }
  runtime::TimedCall call = getCall(op, mesh);
  if (table->find(call))
    return success();
  return op->emitError() << "how long it takes is not told by " << path
                         << ": it has no row of "
                         << table->describeMissing(call)
                         << "; measure it: dist-run bench --collectives";
}

AllReduceAlgorithm TransferTimes::choose(CollectiveOpInterface op,
                                         MeshOp mesh) const {
  // Of ranks that read each other's memory it is the only way.
  if (isEmpty() || getNumProcesses(mesh) == 1)
    return AllReduceAlgorithm::Auto;
  if (table)
    return static_cast<AllReduceAlgorithm>(
        table->chooseAllReduce(getCall(op, mesh)));
  auto best = runtime::Algorithm::Auto;
  double least = 0;
  for (const runtime::AlgorithmFacts &one : runtime::allAlgorithms) {
    if (one.algorithm == runtime::Algorithm::Auto ||
        !runtime::message::keepsOrder(one.algorithm))
      continue;
    double seconds = getSecondsByLinks(op, mesh, one.algorithm);
    if (best != runtime::Algorithm::Auto && seconds >= least)
      continue;
    best = one.algorithm;
    least = seconds;
  }
  return static_cast<AllReduceAlgorithm>(best);
}
