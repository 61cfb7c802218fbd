//===- rank.cpp - The functions that compiled programs call ---------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/rank.h"
#include "runtime/core/guard.h"
#include <algorithm>
#include <cstdio>
#include <dlfcn.h>
#include <set>

using namespace dist;

namespace {

using Clock = std::chrono::steady_clock;

/// Times a call when the session traces.
class Timed {
public:
  Timed(dist_rt_context *rank, const char *category, const void *kernel,
        int32_t index, bool isKernel = false)
      : rank(rank->trace ? rank : nullptr) {
    if (!this->rank)
      return;
    // Here, since a destructor must not run out of memory.
    number = rank->spans.size();
    int32_t call = isKernel && rank->calls >= 0 ? rank->calls++ : -1;
    rank->spans.push_back(
        {category, kernel, index, call, rank->entry, Clock::now(), {}});
  }
  ~Timed() {
    if (rank)
      rank->spans[number].end = Clock::now();
  }

private:
  dist_rt_context *rank;
  size_t number = 0;
};

int32_t finish(dist_rt_context *rank, Status status) {
  if (status.ok())
    return 0;
  rank->status = std::move(status);
  return 1;
}

/// What generated code calls: it knows no exceptions. Each call shows the other
/// ranks that this one is alive, and ends the step where it was cancelled.
template <typename Function>
int32_t guarded(dist_rt_context *context, Function body) {
  context->communicator->progress.advance();
  return finish(context, withoutThrowing([&]() -> Status {
                  if (context->cancelled->load(std::memory_order_relaxed))
                    return cancelledStatus(*context);
                  return body();
                }));
}

int32_t rt_launch(dist_rt_context *context, dist_rt_kernel kernel,
                  void **buffers, int32_t count, int64_t n, int32_t chunks) {
  return guarded(context, [&] {
    Timed timed(context, "kernel", reinterpret_cast<const void *>(kernel), 0,
                /*isKernel=*/true);
    return context->stream->launch(kernel, buffers, count, n, chunks);
  });
}

int32_t rt_copy(dist_rt_context *context, void *to, const void *from,
                int64_t bytes) {
  return guarded(context,
                 [&] { return context->stream->copy(to, from, bytes); });
}

int32_t rt_library(dist_rt_context *context, int32_t kernel, void **buffers) {
  return guarded(context, [&] {
    if (kernel < 0 || kernel >= context->table->size())
      return Status::error(StatusCode::Internal,
                           "no library kernel " + std::to_string(kernel));
    DIST_RETURN_IF_ERROR(context->stream->prepareLibrary(kernel));
    Timed timed(context, "library", nullptr, kernel, /*isKernel=*/true);
    return context->stream->library(kernel, buffers);
  });
}

/// Where the addresses to write begin.
void **writtenBuffers(const Collective &call, void **buffers) {
  return buffers + (call.gives ? call.pieces.size : 0);
}

/// All ranks of a group make their calls in one order.
Status waitForStarted(dist_rt_context *context, const CollectivePlan &plan) {
  if (context->started.isIdle(plan))
    return Status();
  Progress::Waiting waiting(context->communicator->progress);
  return context->started.waitForLine(plan);
}

/// What generated code calls of a collective, by its number.
template <typename Function>
int32_t guardedCollective(dist_rt_context *context, int32_t number,
                          Function body) {
  return guarded(context, [&]() -> Status {
    auto &list = *context->collectives;
    if (number < 0 || size_t(number) >= list.size())
      return Status::error(
          StatusCode::Internal, "no collective " + std::to_string(number),
          transferName(context->entry, number), "", "recompile the package");
    return body(list[number], list[number].plan->call);
  });
}

int32_t rt_collective(dist_rt_context *context, int32_t number,
                      void **buffers) {
  return guardedCollective(
      context, number, [&](PlannedCollective &planned, const Collective &call) {
        // At a barrier nothing moves: others have yet to read what was shared.
        bool waits = call.kind == CollectiveKind::Barrier;
        bool slices = call.kind == CollectiveKind::AllSlice;
        Timed timed(context,
                    waits    ? "wait"
                    : slices ? "slice"
                             : "collective",
                    nullptr, call.op);
        if (context->queued)
          return context->queued->run(*context->communicator, planned, buffers);
        DIST_RETURN_IF_ERROR(waitForStarted(context, *planned.plan));
        return context->communicator->enqueue(*planned.plan, *context->stream,
                                              buffers,
                                              writtenBuffers(call, buffers));
      });
}

int32_t rt_publish(dist_rt_context *context, int32_t number, void **buffers) {
  return guardedCollective(
      context, number, [&](PlannedCollective &planned, const Collective &call) {
        if (context->queued)
          return context->queued->publish(*context->communicator, planned,
                                          buffers, context->patience);
        void **addresses = buffers + call.pieces.size;
        // A slice is of the rank's own memory: it waits for no other rank.
        if (call.kind == CollectiveKind::AllSlice)
          return context->communicator->publish(*planned.plan, buffers,
                                                addresses);
        Timed timed(context, "collective", nullptr, call.op);
        DIST_RETURN_IF_ERROR(waitForStarted(context, *planned.plan));
        return context->communicator->publish(*planned.plan, buffers,
                                              addresses);
      });
}

int32_t rt_collective_start(dist_rt_context *context, int32_t number,
                            void **buffers) {
  return guardedCollective(
      context, number, [&](PlannedCollective &planned, const Collective &call) {
        if (context->queued)
          return context->queued->start(*context->communicator, planned,
                                        buffers);
        return context->started.start(*context->communicator, *planned.plan,
                                      buffers, writtenBuffers(call, buffers),
                                      &planned.started);
      });
}

int32_t rt_collective_wait(dist_rt_context *context, int32_t number) {
  return guardedCollective(
      context, number, [&](PlannedCollective &planned, const Collective &call) {
        if (planned.started == 0)
          return Status::error(
              StatusCode::Internal,
              "a collective was not started that is waited for",
              transferName(context->entry, call.op), "",
              "recompile the package");
        if (context->queued)
          return context->queued->wait(planned);
        Timed timed(context, "wait", nullptr, call.op);
        Progress::Waiting waiting(context->communicator->progress, call.op);
        return context->started.wait(*planned.plan, planned.started);
      });
}

int32_t rt_fail(dist_rt_context *context, int32_t code, int32_t op) {
  const char *what = "generated code failed";
  switch (code) {
  case DIST_RT_LABEL_OUT_OF_RANGE:
    what = "a label is out of range";
    break;
  case DIST_RT_INDEX_OUT_OF_RANGE:
    what = "an index is out of range";
    break;
  default:
    break;
  }
  return guarded(context, [&] {
    return Status::error(StatusCode::InvalidInput, what,
                         transferName(context->entry, op));
  });
}

} // namespace

Status dist::cancelledStatus(const dist_rt_context &rank) {
  const manifest::Entry *entry = rank.entry;
  return Status::error(StatusCode::Cancelled, "cancelled",
                       entry ? entry->name() : "");
}

const dist_rt_api &dist::runtimeApi() {
  static const dist_rt_api api = {
      DIST_RT_ABI_VERSION,
      sizeof(dist_rt_api),
#define DIST_RT_FUNCTION(result, name, arguments, signature) rt_##name,
#include "runtime/abi/entrypoints.def"
#undef DIST_RT_FUNCTION
  };
  return api;
}

std::string dist::transferName(const manifest::Entry *entry, int32_t op) {
  if (op == sessionOp)
    return "what the processes' sessions exchange";
  if (entry)
    for (const manifest::Transfer &transfer : entry->transfers())
      if (transfer.id() == op) {
        std::string name = transfer.tensor();
        if (!transfer.origin().empty())
          name += (name.empty() ? "" : " at ") + transfer.origin();
        if (!name.empty())
          return entry->name() + ": " + name;
      }
  return (entry ? entry->name() + ": op " : "op ") + std::to_string(op);
}

int64_t dist::planBytes(const dist_rt_context &rank) {
  int64_t bytes = 0;
  std::set<const PlanMemory *> counted;
  auto add = [&](const CollectivePlan &plan) {
    if (plan.memory && counted.insert(plan.memory.get()).second)
      bytes += plan.memory->bytes();
  };
  for (const PlannedEntry &entry : rank.planned) {
    for (auto *list : {&entry.preparation, &entry.step})
      for (const PlannedCollective &one : *list)
        add(*one.plan);
    for (const auto &result : entry.results)
      if (result)
        add(result->prepared());
  }
  if (rank.goOn)
    add(rank.goOn->prepared());
  return bytes;
}

void dist::takeSpans(dist_rt_context &rank, std::vector<TraceEvent> *out) {
  {
    std::lock_guard<std::mutex> lock(rank.startedSpansMutex);
    rank.spans.insert(rank.spans.end(), rank.startedSpans.begin(),
                      rank.startedSpans.end());
    rank.startedSpans.clear();
  }
  for (const dist_rt_context::Span &span : rank.spans) {
    TraceEvent event;
    event.rank = rank.rank;
    event.category = span.category;
    if (event.category == "step") {
      event.name = span.entry->name();
    } else if (event.category == "library") {
      const auto &spec = rank.table->Get(span.index);
      std::string kind = manifest::LibraryKernel_Kind_Name(spec.kind());
      event.name = kind + " " + rank.stream->libraryName(span.index);
    } else if (event.category == "wait") {
      event.name = "wait for " + transferName(span.entry, span.index);
    } else if (event.category == "slice") {
      // No transfer, and no row of the manifest's.
      event.name = (span.entry ? span.entry->name() + ": " : std::string()) +
                   "its own part";
    } else if (event.category == "collective" || event.category == "started") {
      event.name = transferName(span.entry, span.index);
    } else {
      Dl_info info;
      char address[32];
      if (dladdr(span.kernel, &info) && info.dli_sname &&
          info.dli_saddr == span.kernel) {
        event.name = info.dli_sname;
      } else {
        std::snprintf(address, sizeof address, "kernel %p", span.kernel);
        event.name = address;
      }
    }
    if (span.call >= 0 && span.entry && span.call < span.entry->calls_size() &&
        !span.entry->calls(span.call).empty())
      event.name = span.entry->calls(span.call) + " (" + event.name + ")";
    auto microseconds = [&](Clock::time_point time) {
      return std::chrono::duration<double, std::micro>(time - rank.origin)
          .count();
    };
    event.begin = microseconds(span.begin);
    event.end = microseconds(span.end);
    out->push_back(std::move(event));
  }
  rank.spans.clear();
}
