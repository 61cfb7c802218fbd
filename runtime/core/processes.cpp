//===- processes.cpp - What processes of a session do as one --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/processes.h"
#include <cstdlib>

namespace dist {

/// As one text: `CODE BYTES` of the message, a line's end, message and text.
static std::string pack(const Status &status, const std::string &text) {
  return std::to_string(int(status.code())) + " " +
         std::to_string(status.message().size()) + "\n" + status.message() +
         text;
}

static bool unpack(const std::string &packed, StatusCode *code,
                   std::string *message, std::string *text) {
  char *end = nullptr;
  long number = std::strtol(packed.c_str(), &end, 10);
  size_t size = std::strtoull(end, &end, 10);
  size_t start = end - packed.c_str() + 1;
  if (*end != '\n' || number < 0 || number > long(StatusCode::Cancelled) ||
      size > packed.size() - start)
    return false;
  *code = StatusCode(number);
  *message = packed.substr(start, size);
  *text = packed.substr(start + size);
  return true;
}

Status share(Session &session, const Status &mine, const std::string &text,
             std::vector<std::string> *texts, Status *outcome) {
  if (session.processes() == 1) {
    *texts = {text};
    *outcome = mine;
    return Status();
  }
  std::vector<std::string> packed;
  DIST_RETURN_IF_ERROR(session.exchange(pack(mine, text), &packed));
  *outcome = Status();
  texts->assign(packed.size(), "");
  for (size_t process = 0; process < packed.size(); ++process) {
    StatusCode code = StatusCode::Ok;
    std::string message;
    if (!unpack(packed[process], &code, &message, &(*texts)[process]))
      return Status::error(StatusCode::Internal, "processes cannot agree",
                           "process " + std::to_string(process),
                           "what it sent is no status");
    if (code != StatusCode::Ok && outcome->ok())
      *outcome = Status::error(code, "process " + std::to_string(process) +
                                         ": " + message);
  }
  return Status();
}

Status share(Session &session, const Status &mine) {
  std::vector<std::string> ignored;
  Status outcome;
  DIST_RETURN_IF_ERROR(share(session, mine, "", &ignored, &outcome));
  return outcome;
}

Status onChief(Session &session,
               const std::function<Status(const GlobalReader &read)> &job) {
  if (session.processes() == 1)
    return job([&](int index, Tensor *out) {
      return session.readVariable(index, out);
    });
  // What the chief says next: a variable's number, or nothing more.
  std::vector<std::string> said;
  OwnWork work(session);
  if (session.process() == 0)
    return share(session, job([&](int index, Tensor *out) {
                   DIST_RETURN_IF_ERROR(session.exchange(
                       "read " + std::to_string(index), &said));
                   return session.readVariable(index, out);
                 }));
  for (;;) {
    DIST_RETURN_IF_ERROR(session.exchange(pack(Status(), ""), &said));
    if (said[0].compare(0, 5, "read ") != 0)
      break;
    Tensor ignored;
    DIST_RETURN_IF_ERROR(
        session.readVariable(std::atoi(said[0].c_str() + 5), &ignored));
  }
  StatusCode code = StatusCode::Ok;
  std::string message, text;
  if (!unpack(said[0], &code, &message, &text))
    return Status::error(StatusCode::Internal, "processes cannot agree",
                         "process 0", "what it sent is no status");
  return code == StatusCode::Ok ? Status()
                                : Status::error(code, "process 0: " + message);
}

} // namespace dist
