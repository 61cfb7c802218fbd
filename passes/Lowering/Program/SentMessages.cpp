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
#include "passes/Lowering/Library/LibraryKernels.h"
#include "runtime/comm/schedule/sent.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::dist;
namespace manifest = ::dist::manifest;

namespace {
/// What the ranks of a program send, by process.
class Counter {
public:
  Counter(MeshOp mesh, const manifest::Manifest &manifest)
      : mesh(mesh), manifest(manifest),
        axisNames(
            llvm::to_vector(mesh.getAxisNames().getAsRange<StringAttr>())),
        sent(getNumProcesses(mesh)) {}

  void add(rt::CollectiveOp op, int64_t program);
  /// What sessions sum up behind the program, where each rank has a part.
  void addResults(const manifest::Entry &entry, int64_t program);
  /// A dense all-reduce over the axes.
  void addAllReduce(ArrayRef<int64_t> axes, manifest::DataType type,
                    int64_t bytes, int64_t program);
  std::vector<ProcessTraffic> take() { return std::move(sent); }

private:
  void count(const ::dist::Collective &call, ArrayRef<int64_t> axes,
             int64_t program);

  MeshOp mesh;
  const manifest::Manifest &manifest;
  SmallVector<StringAttr> axisNames;
  std::vector<ProcessTraffic> sent;
};
} // namespace

void Counter::count(const ::dist::Collective &call, ArrayRef<int64_t> axes,
                    int64_t program) {
  SmallVector<StringAttr> names;
  for (int64_t axis : axes)
    names.push_back(axisNames[axis]);
  std::vector<::dist::Traffic> positions =
      ::dist::message::countSent(call, int(mesh.getGroupSize(names)));
  for (const SmallVector<int64_t> &group : getGroups(mesh, names))
    for (auto [position, rank] : llvm::enumerate(group)) {
      if (program >= 0 && manifest.program_of_rank(int(rank)) != program)
        continue;
      ProcessTraffic &of = sent[getProcessOfRank(mesh, rank)];
      of.messages += positions[position].messages;
      of.bytes += positions[position].bytes;
    }
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
  call.algorithm = static_cast<::dist::Algorithm>(op.getAlgorithm());
  call.peer = op.getPeer();
  call.sources = {op.getSources().data(), int64_t(op.getSources().size())};
  call.pieces = {pieces.data(), int64_t(pieces.size())};
  count(call, op.getAxes(), program);
}

void Counter::addAllReduce(ArrayRef<int64_t> axes, manifest::DataType type,
                           int64_t bytes, int64_t program) {
  ::dist::Piece piece{};
  piece.type = type;
  piece.outer = piece.rows = 1;
  piece.bytes = bytes;
  ::dist::Collective call;
  call.kind = ::dist::CollectiveKind::AllReduce;
  call.pieces = {&piece, 1};
  count(call, axes, program);
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

void mlir::dist::addSentMessages(ModuleOp programs,
                                 const manifest::Manifest &manifest,
                                 ExplainReport &report) {
  MeshOp mesh = findMesh(programs);
  if (!mesh || getNumProcesses(mesh) == 1)
    return;
  llvm::StringMap<rt::ProgramOp> byName;
  for (auto program : programs.getOps<rt::ProgramOp>())
    byName[program.getSymName()] = program;
  for (EntryReport &entry : report.entries) {
    rt::ProgramOp program = byName.lookup(entry.name);
    if (!program)
      continue;
    int64_t number = getProgramNumber(program);
    Counter counter(mesh, manifest);
    program.walk([&](rt::CollectiveOp op) { counter.add(op, number); });
    for (const manifest::Entry &one : manifest.programs(int(number)).entries())
      if (one.name() == entry.entry)
        counter.addResults(one, number);
    entry.sent = counter.take();
  }
  Counter counter(mesh, manifest);
  counter.addAllReduce(
      llvm::to_vector(llvm::seq<int64_t>(0, mesh.getAxisNames().size())),
      manifest::I32, sizeof(int32_t), /*program=*/-1);
  report.agreement = counter.take();
}
