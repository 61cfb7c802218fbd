//===- protocol.cpp - What parameter servers' processes have in common ----===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/parameter_server/protocol.h"

namespace dist::ps {

Status lostPeer(const Cast &cast, const Mail &mail, int rank) {
  return Status::error(StatusCode::Unavailable, cast.names[rank] + " is lost",
                       "", mail.why(rank),
                       "look there why it ended; --resume goes on from the "
                       "last saved state");
}

} // namespace dist::ps
