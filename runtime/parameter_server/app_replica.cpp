//===- app_replica.cpp - A worker of an app -------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/parameter_server/app_replica.h"

namespace dist::ps {

namespace {

/// The head of a closure's work: the name follows, then a function's argument.
struct WorkBody {
  int32_t code = 0; // as all bodies have
  uint32_t isCall = 0;
  uint64_t nameBytes = 0;
};

Buffer packWork(bool isCall, const std::string &name, const void *argument,
                size_t bytes) {
  WorkBody body;
  body.isCall = isCall;
  body.nameBytes = name.size();
  Buffer packed = pack(body, name.data(), name.size());
  const char *more = static_cast<const char *>(argument);
  packed.insert(packed.end(), more, more + bytes);
  return packed;
}

Status unknown(const char *what, const std::string &name) {
  return Status::error(StatusCode::InvalidArgument,
                       std::string("a worker has no ") + what + " of this name",
                       name, "it was not registered in that process",
                       "register it in all processes before they serve");
}

} // namespace

Buffer packStep(const std::string &dataset) {
  return packWork(false, dataset, nullptr, 0);
}

Buffer packCall(const std::string &function, const void *argument,
                size_t bytes) {
  return packWork(true, function, argument, bytes);
}

Status AppReplica::create(Session &session, const Layout &layout,
                          std::unique_ptr<AppReplica> *out) {
  std::unique_ptr<AppReplica> made(new AppReplica(session, layout));
  DIST_RETURN_IF_ERROR(
      SessionReplica::create(session, layout, nullptr, {}, &made->reader));
  *out = std::move(made);
  return Status();
}

Status AppReplica::begin(int64_t) {
  return Status::error(
      StatusCode::InvalidArgument, "the chief asks for a step of no dataset",
      "", "its chief is another program", "start the same program everywhere");
}

Status AppReplica::beginStep(const std::string &name) {
  auto found = datasets.find(name);
  if (found == datasets.end())
    return unknown("dataset", name);
  Data &data = found->second;
  if (!data.steps) {
    ReplicaOptions options;
    DIST_RETURN_IF_ERROR(data.make(&data.dataset, &options));
    DIST_RETURN_IF_ERROR(SessionReplica::create(
        session, layout, data.dataset.get(), options, &data.steps));
  }
  current = data.steps.get();
  return current->begin(data.next++, closure);
}

Status AppReplica::beginWork(int64_t number, const Buffer &work) {
  WorkBody body;
  if (!unpack(work, &body) || body.nameBytes > work.size() - sizeof body)
    return Status::error(StatusCode::Internal, "a closure cannot be read",
                         std::to_string(number));
  const char *name = work.data() + sizeof body;
  const char *end = work.data() + work.size();
  function = nullptr;
  closure = number;
  if (!body.isCall)
    return beginStep(std::string(name, body.nameBytes));
  auto found = functions.find(std::string(name, body.nameBytes));
  if (found == functions.end())
    return unknown("function", std::string(name, body.nameBytes));
  function = &found->second;
  argument.assign(name + body.nameBytes, end);
  current = reader.get();
  return Status();
}

Status AppReplica::compute(ReportBody *report, Buffer *gained, bool *isPushed) {
  if (!function)
    return current->compute(report, gained, isPushed);
  *isPushed = false;
  DIST_RETURN_IF_ERROR(reader->writeParameters());
  Status status =
      (*function)({closure, argument.data(), argument.size()}, gained);
  // What it ran is no part of the next step's metrics.
  DIST_RETURN_IF_ERROR(metrics.reset());
  return status;
}

} // namespace dist::ps
