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

Status QueuedCollectives::plan(Communicator &communicator,
                               const dist_rt_collective &description,
                               Plan **out) {
  auto [found, isNew] = plans.try_emplace(&description);
  Plan &plan = found->second;
  *out = &plan;
  if (!isNew && plan.done)
    return Status();
  plan = Plan();
  plan.call = Collective::fromAbi(description);
  // It runs on a thread of the stream's.
  plan.call.background = true;
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
          &plan.fromBytes, &fromAt);
    if (plan.call.takes)
      add(spanOf(piece, places, piece.to_outer, piece.to_row, piece.to_place),
          &plan.toBytes, &toAt);
  }
  DIST_RETURN_IF_ERROR(
      device->allocate(MemorySpace::Host, total, "collectives", &plan.memory));
  for (int64_t offset : fromAt)
    plan.from.push_back(plan.memory->map() + offset);
  for (int64_t offset : toAt)
    plan.to.push_back(plan.memory->map() + offset);
  DIST_RETURN_IF_ERROR(device->createEvent(&plan.ready));
  return device->createEvent(&plan.done);
}

Status QueuedCollectives::enqueue(Communicator &communicator,
                                  const dist_rt_collective &description,
                                  void *const *buffers, Plan **out) {
  Plan *plan = nullptr;
  DIST_RETURN_IF_ERROR(this->plan(communicator, description, &plan));
  void *const *from = buffers, *const *to = buffers + plan->from.size();
  DIST_RETURN_IF_ERROR(compute.record(*plan->ready));
  DIST_RETURN_IF_ERROR(exchange->wait(*plan->ready));
  // Also what is written: blocks may leave gaps, and a rank's own part may be
  // there already.
  for (size_t i = 0; i < plan->from.size(); ++i)
    DIST_RETURN_IF_ERROR(
        exchange->copy(plan->from[i], from[i], plan->fromBytes[i]));
  for (size_t i = 0; i < plan->to.size(); ++i)
    DIST_RETURN_IF_ERROR(exchange->copy(plan->to[i], to[i], plan->toBytes[i]));
  DIST_RETURN_IF_ERROR(exchange->call([plan, &communicator] {
    return communicator.run(plan->call, plan->from.data(), plan->to.data());
  }));
  for (size_t i = 0; i < plan->to.size(); ++i)
    DIST_RETURN_IF_ERROR(exchange->copy(to[i], plan->to[i], plan->toBytes[i]));
  DIST_RETURN_IF_ERROR(exchange->record(*plan->done));
  *out = plan;
  return Status();
}

Status QueuedCollectives::run(Communicator &communicator,
                              const dist_rt_collective &description,
                              void *const *buffers) {
  Plan *plan = nullptr;
  DIST_RETURN_IF_ERROR(enqueue(communicator, description, buffers, &plan));
  return compute.wait(*plan->done);
}

Status QueuedCollectives::start(Communicator &communicator,
                                const dist_rt_collective &description,
                                void *const *buffers) {
  Plan *plan = nullptr;
  DIST_RETURN_IF_ERROR(enqueue(communicator, description, buffers, &plan));
  started[plan->call.op] = plan;
  return Status();
}

Status QueuedCollectives::wait(int32_t op) {
  auto plan = started.find(op);
  if (plan != started.end())
    return compute.wait(*plan->second->done);
  return Status::error(StatusCode::Internal,
                       "a collective was not started that is waited for",
                       "op " + std::to_string(op));
}

Status QueuedCollectives::publish(Communicator &communicator,
                                  const dist_rt_collective &description,
                                  void **buffers, double patience) {
  Collective call = Collective::fromAbi(description);
  // A slice is of the rank's own memory: it waits for no other rank.
  if (call.kind != CollectiveKind::AllSlice)
    DIST_RETURN_IF_ERROR(finish(patience));
  return communicator.publish(call, buffers, buffers + call.pieces.size);
}

Status QueuedCollectives::finish(double patience) {
  Status first = compute.finish(patience), second = exchange->finish(patience);
  return first.ok() ? second : first;
}

} // namespace dist
