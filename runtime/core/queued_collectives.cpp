//===- queued_collectives.cpp - Collectives between streams ---------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/queued_collectives.h"
#include "runtime/core/types.h"
#include <algorithm>

namespace dist {

QueuedCollectives::QueuedCollectives(std::shared_ptr<Device> device,
                                     Stream &compute, Progress *progress)
    : device(std::move(device)), compute(compute), progress(progress) {}

Status QueuedCollectives::streamOf(CollectivePlan::Line line, Stream **out) {
  std::unique_ptr<Stream> &stream = exchanges[line];
  if (!stream) {
    StreamOptions options;
    options.progress = progress;
    DIST_RETURN_IF_ERROR(device->createStream(options, &stream));
  }
  *out = stream.get();
  return Status();
}

static uint32_t maskOf(const Collective &call) {
  uint32_t mask = 0;
  for (int64_t axis : call.axes)
    mask |= 1u << axis;
  return mask;
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
  // In a new generation, what was shown is no more.
  planned->shown.reset();
  if (planned->points)
    return Status();
  auto points = std::make_unique<QueuedPoints>();
  DIST_RETURN_IF_ERROR(streamOf(plan.line(), &points->exchange));
  DIST_RETURN_IF_ERROR(device->createEvent(&points->ready));
  DIST_RETURN_IF_ERROR(device->createEvent(&points->done));
  if (!isPublished(plan.call))
    DIST_RETURN_IF_ERROR(layOutOnHost(communicator, planned));
  planned->points = std::move(points);
  return Status();
}

Status QueuedCollectives::layOutOnHost(Communicator &communicator,
                                       PlannedCollective *planned) {
  const CollectivePlan &plan = *planned->plan;
  auto host = std::make_unique<HostBuffers>();
  int64_t places = communicator.groupSize(maskOf(plan.call));
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
  planned->host = std::move(host);
  return Status();
}

Status QueuedCollectives::begin(const QueuedPoints &points) {
  DIST_RETURN_IF_ERROR(compute.record(*points.ready));
  return points.exchange->wait(*points.ready);
}

Status QueuedCollectives::enqueue(Communicator &communicator,
                                  PlannedCollective &planned,
                                  void *const *buffers) {
  HostBuffers &host = *planned.host;
  Stream &exchange = *planned.points->exchange;
  void *const *from = buffers, *const *to = buffers + host.from.size();
  DIST_RETURN_IF_ERROR(begin(*planned.points));
  // Also what is written: blocks may leave gaps, and a rank's own part may be
  // there already.
  for (size_t i = 0; i < host.from.size(); ++i)
    DIST_RETURN_IF_ERROR(
        exchange.copy(host.from[i], from[i], host.fromBytes[i]));
  for (size_t i = 0; i < host.to.size(); ++i)
    DIST_RETURN_IF_ERROR(exchange.copy(host.to[i], to[i], host.toBytes[i]));
  DIST_RETURN_IF_ERROR(communicator.enqueue(*planned.plan, exchange,
                                            host.from.data(), host.to.data()));
  for (size_t i = 0; i < host.to.size(); ++i)
    DIST_RETURN_IF_ERROR(exchange.copy(to[i], host.to[i], host.toBytes[i]));
  return exchange.record(*planned.points->done);
}

Status QueuedCollectives::run(Communicator &communicator,
                              PlannedCollective &planned,
                              void *const *buffers) {
  DIST_RETURN_IF_ERROR(enqueue(communicator, planned, buffers));
  return wait(planned);
}

Status QueuedCollectives::start(Communicator &communicator,
                                PlannedCollective &planned,
                                void *const *buffers) {
  ++planned.started;
  return enqueue(communicator, planned, buffers);
}

Status QueuedCollectives::wait(const PlannedCollective &planned) {
  return compute.wait(*planned.points->done);
}

Status QueuedCollectives::show(Communicator &communicator,
                               PlannedCollective &planned, void **buffers,
                               double patience) {
  const CollectivePlan &plan = *planned.plan;
  const Collective &call = plan.call;
  auto shown = std::make_unique<QueuedAddresses>();
  Collective meeting;
  meeting.kind = CollectiveKind::Barrier;
  meeting.op = call.op;
  meeting.axes = call.axes;
  meeting.background = true;
  DIST_RETURN_IF_ERROR(communicator.prepare(meeting, &shown->meeting));
  shown->meeting->number = plan.number;
  DIST_RETURN_IF_ERROR(finish(patience));
  void **all = buffers + call.pieces.size;
  DIST_RETURN_IF_ERROR(communicator.publish(*planned.plan, buffers, all));
  int64_t places = communicator.groupSize(maskOf(call));
  shown->own.assign(buffers, all);
  shown->all.assign(all, all + places * call.pieces.size);
  planned.shown = std::move(shown);
  return Status();
}

Status QueuedCollectives::publish(Communicator &communicator,
                                  PlannedCollective &planned, void **buffers,
                                  double patience) {
  const Collective &call = planned.plan->call;
  // A slice is of the rank's own memory: it waits for no other rank.
  if (call.kind == CollectiveKind::AllSlice)
    return communicator.publish(*planned.plan, buffers,
                                buffers + call.pieces.size);
  if (!planned.shown)
    return show(communicator, planned, buffers, patience);
  const QueuedAddresses &shown = *planned.shown;
  if (!std::equal(shown.own.begin(), shown.own.end(), buffers))
    return Status::error(
        StatusCode::Internal, "a buffer that others read is not where it was",
        "op " + std::to_string(call.op),
        "they were told of it in the first step", "recompile the package");
  const QueuedPoints &points = *planned.points;
  DIST_RETURN_IF_ERROR(begin(points));
  DIST_RETURN_IF_ERROR(
      communicator.enqueue(*shown.meeting, *points.exchange, nullptr, nullptr));
  DIST_RETURN_IF_ERROR(points.exchange->record(*points.done));
  DIST_RETURN_IF_ERROR(compute.wait(*points.done));
  std::copy(shown.all.begin(), shown.all.end(), buffers + call.pieces.size);
  return Status();
}

Status QueuedCollectives::finish(double patience) {
  Status first = compute.finish(patience);
  for (auto &[line, exchange] : exchanges) {
    Status status = exchange->finish(patience);
    if (first.ok())
      first = std::move(status);
  }
  return first;
}

} // namespace dist
