//===- queued_collectives.cpp - Collectives between streams ---------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/queued_collectives.h"
#include "runtime/core/types.h"

namespace dist {

Status QueuedCollectives::create(std::shared_ptr<Device> device,
                                 Stream &compute, Progress *progress,
                                 std::unique_ptr<QueuedCollectives> *out) {
  std::unique_ptr<QueuedCollectives> made(
      new QueuedCollectives(std::move(device), compute));
  StreamOptions options;
  options.progress = progress;
  DIST_RETURN_IF_ERROR(made->device->createStream(options, &made->exchange));
  *out = std::move(made);
  return Status();
}

/// From the first byte to the last of blocks that lie in such strides.
static int64_t spanOf(const Piece &piece, int64_t places, int64_t outer,
                      int64_t row, int64_t place) {
  if (piece.outer <= 0 || piece.rows <= 0 || piece.bytes <= 0)
    return 0;
  return (piece.outer - 1) * outer + (piece.rows - 1) * row +
         (places - 1) * place + piece.bytes;
}

Status QueuedCollectives::prepare(Communicator &communicator,
                                  PlannedCollective *planned) {
  CollectivePlan &plan = *planned->plan;
  // It runs on a thread of the stream's.
  plan.call.background = true;
  if (planned->host || isPublished(plan.call))
    return Status();
  auto host = std::make_unique<HostBuffers>();
  uint32_t mask = 0;
  for (int64_t axis : plan.call.axes)
    mask |= 1u << axis;
  int64_t places = communicator.groupSize(mask);
  int64_t total = 0;
  std::vector<int64_t> fromAt, toAt;
  auto add = [&](int64_t bytes, std::vector<int64_t> *sizes,
                 std::vector<int64_t> *offsets) {
    constexpr int64_t alignment = bufferAlignment;
    offsets->push_back(total);
    sizes->push_back(bytes);
    total += (bytes + alignment - 1) / alignment * alignment;
  };
  for (const Piece &piece : plan.call.pieces) {
    if (plan.call.gives)
      add(spanOf(piece, places, piece.from_outer, piece.from_row,
                 piece.from_place),
          &host->fromBytes, &fromAt);
    if (plan.call.takes)
      add(spanOf(piece, places, piece.to_outer, piece.to_row, piece.to_place),
          &host->toBytes, &toAt);
  }
  DIST_RETURN_IF_ERROR(
      device->allocate(MemorySpace::Host, total, "collectives", &host->memory));
  for (int64_t offset : fromAt)
    host->from.push_back(host->memory->map() + offset);
  for (int64_t offset : toAt)
    host->to.push_back(host->memory->map() + offset);
  DIST_RETURN_IF_ERROR(device->createEvent(&host->ready));
  DIST_RETURN_IF_ERROR(device->createEvent(&host->done));
  planned->host = std::move(host);
  return Status();
}

Status QueuedCollectives::enqueue(Communicator &communicator,
                                  PlannedCollective &planned,
                                  void *const *buffers) {
  HostBuffers &host = *planned.host;
  void *const *from = buffers, *const *to = buffers + host.from.size();
  DIST_RETURN_IF_ERROR(compute.record(*host.ready));
  DIST_RETURN_IF_ERROR(exchange->wait(*host.ready));
  // Also what is written: blocks may leave gaps, and a rank's own part may be
  // there already.
  for (size_t i = 0; i < host.from.size(); ++i)
    DIST_RETURN_IF_ERROR(
        exchange->copy(host.from[i], from[i], host.fromBytes[i]));
  for (size_t i = 0; i < host.to.size(); ++i)
    DIST_RETURN_IF_ERROR(exchange->copy(host.to[i], to[i], host.toBytes[i]));
  DIST_RETURN_IF_ERROR(exchange->call([&planned, &communicator] {
    HostBuffers &host = *planned.host;
    return communicator.run(*planned.plan, host.from.data(), host.to.data());
  }));
  for (size_t i = 0; i < host.to.size(); ++i)
    DIST_RETURN_IF_ERROR(exchange->copy(to[i], host.to[i], host.toBytes[i]));
  return exchange->record(*host.done);
}

Status QueuedCollectives::run(Communicator &communicator,
                              PlannedCollective &planned,
                              void *const *buffers) {
  DIST_RETURN_IF_ERROR(enqueue(communicator, planned, buffers));
  return compute.wait(*planned.host->done);
}

Status QueuedCollectives::start(Communicator &communicator,
                                PlannedCollective &planned,
                                void *const *buffers) {
  ++planned.started;
  return enqueue(communicator, planned, buffers);
}

Status QueuedCollectives::wait(const PlannedCollective &planned) {
  return compute.wait(*planned.host->done);
}

Status QueuedCollectives::publish(Communicator &communicator,
                                  PlannedCollective &planned, void **buffers,
                                  double patience) {
  const Collective &call = planned.plan->call;
  // A slice is of the rank's own memory: it waits for no other rank.
  if (call.kind != CollectiveKind::AllSlice)
    DIST_RETURN_IF_ERROR(finish(patience));
  return communicator.publish(*planned.plan, buffers,
                              buffers + call.pieces.size);
}

Status QueuedCollectives::finish(double patience) {
  Status first = compute.finish(patience), second = exchange->finish(patience);
  return first.ok() ? second : first;
}

} // namespace dist
