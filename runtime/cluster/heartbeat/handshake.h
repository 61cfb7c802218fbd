//===- handshake.h - Who is at a control connection's ends ----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The members of an epoch have a key, which the chief makes and tells them in
// the store. It never travels on a control connection, whose bytes others may
// see: each end shows that it has it by a code (HMAC-SHA256) of two nonces, one
// of each end, so that what was shown once is of no use another time, and of
// who shows it, so that none can be given back what it has sent.
//
//   chief: Challenge {nonce}
//   other: Proof {member, its nonce, code}
//   chief: Proof {code}
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_HEARTBEAT_HANDSHAKE_H
#define RUNTIME_CLUSTER_HEARTBEAT_HANDSHAKE_H

#include "runtime/cluster/heartbeat/connection.h"

namespace dist::cluster {

/// The number of who asks for the status, and is no member.
inline constexpr int kAsker = -1;

/// What the chief sends first to who connects.
Status makeChallenge(std::string *nonce, proto::Control *message);
/// Whether who has sent this had the key and that nonce; the chief's `answer`.
bool answerProof(const std::string &key, const std::string &nonce,
                 const proto::Proof &shown, proto::Control *answer);

/// Connects to the chief as `member`; both have shown the key to each other.
/// One that has too many strangers at its door may send this one away: it comes
/// again, for so many milliseconds.
Status connectToChief(const Address &chief, const std::string &key, int member,
                      int milliseconds, std::unique_ptr<Connection> *out,
                      BeatSurroundings &around = systemBeatSurroundings());

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_HEARTBEAT_HANDSHAKE_H
