//===- messages.cpp - Sends and receives by MPI ---------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/mpi/rank.h"
#include <cstring>

namespace dist::mpi {

Status MpiCommunicator::checkTag(const Frame &f) {
  int64_t last = mpi.max_tag() - 1;
  if (f.d.what.tag >= 0 && f.d.what.tag < last)
    return Status();
  return Status::error(StatusCode::Unavailable,
                       "MPI cannot tell a message from others",
                       opName(options, rank(), f.d.what.op),
                       "its tag is " + std::to_string(f.d.what.tag) +
                           ", and the last one is " + std::to_string(last - 1),
                       "leave --communicator mpi out");
}

Status MpiCommunicator::sendMessage(const Frame &f) {
  DIST_RETURN_IF_ERROR(checkTag(f));
  DIST_RETURN_IF_ERROR(waitForKept(f));
  const Stream &stream = wholeOut(f, allOf(f));
  Header header = headerOf(f.d, 0);
  char *bytes = f.plan.kept->memory->take();
  std::memcpy(bytes, &header, sizeof header);
  stream.gather(0, stream.size(), bytes + sizeof header);
  int code = 0;
  {
    std::lock_guard<std::mutex> lock(calls);
    code = mpi.send(f.group, bytes, sizeof header + stream.size(),
                    f.memberAt[f.d.what.peer], f.d.what.tag,
                    &f.plan.kept->request);
    if (code == 0) {
      kept.push_back(f.plan.kept);
      lookAround();
    }
  }
  return code == 0 ? Status() : failed(f.d, code);
}

Status MpiCommunicator::receiveMessage(const Frame &f) {
  DIST_RETURN_IF_ERROR(checkTag(f));
  const Stream &stream = wholeIn(f, allOf(f));
  int64_t room = sizeof(Header) + stream.size(), bytes = 0;
  Header header{};
  std::vector<char> larger;
  // Of an older generation: nobody waits for it any more.
  do {
    DIST_RETURN_IF_ERROR(waitForMessage(f, room, &larger, &bytes));
    std::memcpy(&header, bytes > room ? larger.data() : f.in, sizeof header);
  } while (header.generation != current);
  if (bytes != room || header.count != f.d.call.count ||
      header.digest != f.d.call.digest)
    return fail(Status::error(
        StatusCode::Internal,
        describeMismatchedSend(options,
                               (*f.d.members)[f.memberAt[f.d.what.peer]],
                               {CollectiveKind(header.kind), header.op,
                                header.count, header.digest},
                               f.d.what.tag, f.d.call)));
  stream.scatter(0, stream.size(), f.in + sizeof header);
  return Status();
}

} // namespace dist::mpi
