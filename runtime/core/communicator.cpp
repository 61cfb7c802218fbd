//===- communicator.cpp - Descriptions of collectives ---------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/communicator.h"
#include "runtime/device/device.h"
#include <algorithm>
#include <cstring>
#include <new>

namespace dist {

const char *name(CollectiveKind kind) {
  static const char *const names[] = {
      "all_reduce", "all_gather", "all_slice", "reduce_scatter",
      "all_to_all", "permute",    "broadcast", "send",
      "recv",       "reduce",     "barrier"};
  auto number = static_cast<size_t>(kind);
  return number < std::size(names) ? names[number]
                                   : "a collective that there is not";
}

Collective Collective::fromAbi(const dist_rt_collective &description) {
  Collective call;
  call.kind = static_cast<CollectiveKind>(description.kind);
  call.op = static_cast<int32_t>(description.op);
  call.reduction = static_cast<Reduction>(description.reduction);
  call.algorithm = static_cast<Algorithm>(description.algorithm);
  call.peer = description.peer;
  call.gives = description.ends != DIST_RT_TAKES;
  call.takes = description.ends != DIST_RT_GIVES;
  call.tag = description.tag;
  const auto *words = reinterpret_cast<const int64_t *>(&description + 1);
  call.axes = {words, description.num_axes};
  words += description.num_axes;
  call.sources = {words, description.num_sources};
  words += description.num_sources;
  call.pieces = {reinterpret_cast<const Piece *>(words),
                 description.num_pieces};
  return call;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// Of what plans compute in: a cache's line.
static constexpr std::align_val_t planAlignment{64};

void PlanMemory::Free::operator()(char *memory) const {
  ::operator delete[](memory, planAlignment);
}

void PlanMemory::reserve(int64_t bytes) {
  int64_t before = wanted.load();
  while (before < bytes && !wanted.compare_exchange_weak(before, bytes))
    continue;
}

char *PlanMemory::take() {
  if (int64_t bytes = wanted.load(); size < bytes) {
    memory.reset();
    size = 0;
    memory.reset(
        static_cast<char *>(::operator new[](size_t(bytes), planAlignment)));
    size = bytes;
  }
  return memory.get();
}

CollectivePlan::CollectivePlan(const Collective &call, uint32_t generation)
    : call(call), generation(generation) {
  kept.from.reserve(call.gives ? call.pieces.size : 0);
  kept.to.reserve(call.takes ? call.pieces.size : 0);
}

const CollectivePlan::Addresses &CollectivePlan::keep(void *const *from,
                                                      void *const *to) {
  // Of a send and a recv one of the two is not there.
  kept.from.assign(from, from + (call.gives ? call.pieces.size : 0));
  kept.to.assign(to, to + (call.takes ? call.pieces.size : 0));
  return kept;
}

Status Communicator::publish(CollectivePlan &plan, void *const *, void **) {
  return Status::error(StatusCode::Internal,
                       std::string(name(plan.call.kind)) +
                           " is to be read where it lies, but these devices "
                           "do not share memory",
                       "op " + std::to_string(plan.call.op), "",
                       "recompile the package");
}

Status Communicator::enqueue(CollectivePlan &plan, Stream &stream,
                             void *const *from, void *const *to) {
  plan.keep(from, to);
  // No more than a function holds without memory of its own.
  return stream.call([this, &plan] {
    const CollectivePlan::Addresses &at = plan.addresses();
    return run(plan, at.from.data(), at.to.data());
  });
}

Status Communicator::runOnce(const Collective &call, void *const *from,
                             void *const *to) {
  std::unique_ptr<CollectivePlan> plan;
  DIST_RETURN_IF_ERROR(prepare(call, &plan));
  return run(*plan, from, to);
}

Status Communicator::publishOnce(const Collective &call, void *const *from,
                                 void **addresses) {
  std::unique_ptr<CollectivePlan> plan;
  DIST_RETURN_IF_ERROR(prepare(call, &plan));
  return publish(*plan, from, addresses);
}

int64_t bytesFrom(const Piece &piece, int64_t groupSize) {
  return piece.outer * piece.rows * piece.bytes *
         (piece.from_place ? groupSize : 1);
}

int64_t bytesTo(const Piece &piece, int64_t groupSize) {
  return piece.outer * piece.rows * piece.bytes *
         (piece.to_place ? groupSize : 1);
}

/// With the size known, a copy is one or two instructions.
template <int64_t size>
static void copyRows(const char *from, int64_t fromStride, char *to,
                     int64_t toStride, int64_t rows, int64_t) {
  for (int64_t i = 0; i < rows; ++i)
    std::memcpy(to + i * toStride, from + i * fromStride, size);
}
static void copyAnyRows(const char *from, int64_t fromStride, char *to,
                        int64_t toStride, int64_t rows, int64_t size) {
  for (int64_t i = 0; i < rows; ++i)
    std::memcpy(to + i * toStride, from + i * fromStride, size);
}

void copyBlocks(const Piece &piece, const void *from, void *to, int64_t lo,
                int64_t hi) {
  auto *copy = piece.bytes == 1    ? copyRows<1>
               : piece.bytes == 2  ? copyRows<2>
               : piece.bytes == 4  ? copyRows<4>
               : piece.bytes == 8  ? copyRows<8>
               : piece.bytes == 16 ? copyRows<16>
                                   : copyAnyRows;
  // One level where an outer block holds a single row.
  bool flat = piece.rows == 1;
  int64_t rows = flat ? piece.outer : piece.rows;
  int64_t fromRow = flat ? piece.from_outer : piece.from_row;
  int64_t toRow = flat ? piece.to_outer : piece.to_row;
  while (lo < hi) {
    int64_t o = lo / rows, i = lo % rows;
    int64_t count = std::min(hi - lo, rows - i);
    copy(static_cast<const char *>(from) + o * piece.from_outer + i * fromRow,
         fromRow, static_cast<char *>(to) + o * piece.to_outer + i * toRow,
         toRow, count, piece.bytes);
    lo += count;
  }
}

//===----------------------------------------------------------------------===//
// Dense buffers
//===----------------------------------------------------------------------===//

DenseCollective::DenseCollective(CollectiveKind kind, int32_t op, uint32_t mask,
                                 DataType type, int64_t bytes) {
  int64_t count = 0;
  for (int axis = 0; axis < 32; ++axis)
    if (mask >> axis & 1)
      axes[count++] = axis;
  piece.type = type;
  piece.outer = piece.rows = 1;
  piece.bytes = bytes;
  call.kind = kind;
  call.op = op;
  call.axes = {axes, count};
  call.pieces = {&piece, 1};
}

Status DenseAllReduce::prepare(Communicator &communicator, int32_t op,
                               int64_t count, DataType type,
                               Reduction reduction, uint32_t axes,
                               std::unique_ptr<DenseAllReduce> *out) {
  std::unique_ptr<DenseAllReduce> made(
      new DenseAllReduce(CollectiveKind::AllReduce, op, axes, type,
                         count * int64_t(byteSize(type))));
  made->what.call.reduction = reduction;
  DIST_RETURN_IF_ERROR(made->DensePlan::prepare(communicator));
  *out = std::move(made);
  return Status();
}

/// Once, now.
static Status runDense(Communicator &communicator, const DenseCollective &dense,
                       const void *from, void *to) {
  void *source = const_cast<void *>(from);
  return communicator.runOnce(dense.call, &source, &to);
}

Status Communicator::allReduce(int32_t op, void *data, int64_t count,
                               DataType type, Reduction reduction,
                               uint32_t axes) {
  DenseCollective dense(CollectiveKind::AllReduce, op, axes, type,
                        count * byteSize(type));
  dense.call.reduction = reduction;
  return runDense(*this, dense, data, data);
}

Status Communicator::allGather(int32_t op, const void *from, void *to,
                               int64_t bytes, uint32_t axes) {
  DenseCollective dense(CollectiveKind::AllGather, op, axes, manifest::U8,
                        bytes);
  dense.piece.to_place = bytes;
  return runDense(*this, dense, from, to);
}

Status Communicator::reduceScatter(int32_t op, const void *from, void *to,
                                   int64_t count, DataType type,
                                   Reduction reduction, uint32_t axes) {
  DenseCollective dense(CollectiveKind::ReduceScatter, op, axes, type,
                        count * byteSize(type));
  dense.piece.from_place = dense.piece.bytes;
  dense.call.reduction = reduction;
  return runDense(*this, dense, from, to);
}

Status Communicator::broadcast(int32_t op, void *data, int64_t bytes, int root,
                               uint32_t axes) {
  DenseCollective dense(CollectiveKind::Broadcast, op, axes, manifest::U8,
                        bytes);
  dense.call.peer = root;
  return runDense(*this, dense, data, data);
}

Status Communicator::barrier(int32_t op, uint32_t axes) {
  DenseCollective dense(CollectiveKind::Barrier, op, axes, manifest::U8, 0);
  dense.call.pieces = {};
  return runDense(*this, dense, nullptr, nullptr);
}

} // namespace dist
