//===- handshake.cpp - Who is at a control connection's ends --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/heartbeat/handshake.h"
#include "runtime/cluster/security/keyed.h"
#include <algorithm>
#include <chrono>

namespace dist::cluster {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

static constexpr size_t kNonceBytes = 16;
/// Before one that was sent away comes again.
static constexpr milliseconds kPause{20};

/// `role`: "chief", "other". Nonces have one length, and the number has an end:
/// two messages that differ have codes that differ.
static std::string codeOf(const std::string &key, const char *role, int member,
                          const std::string &chiefNonce,
                          const std::string &otherNonce) {
  return authenticate(key, std::string("dist control 1 ") + role + " " +
                               std::to_string(member) + " " + chiefNonce +
                               otherNonce);
}

Status makeChallenge(std::string *nonce, proto::Control *message) {
  DIST_RETURN_IF_ERROR(makeRandomBytes(kNonceBytes, nonce));
  message->mutable_challenge()->set_nonce(*nonce);
  return Status();
}

bool answerProof(const std::string &key, const std::string &nonce,
                 const proto::Proof &shown, proto::Control *answer) {
  if (shown.nonce().size() != kNonceBytes ||
      !areEqual(shown.code(),
                codeOf(key, "other", shown.member(), nonce, shown.nonce())))
    return false;
  answer->mutable_proof()->set_code(
      codeOf(key, "chief", shown.member(), nonce, shown.nonce()));
  return true;
}

namespace {

/// What became of a try.
enum class Outcome { Done, SentAway, Foreign, Late };

} // namespace

/// The next message, until `end`.
static Outcome hearOne(BeatSurroundings &around, Connection &connection,
                       Clock::time_point end, proto::Control *message) {
  std::unique_ptr<Waiter> waiter = around.makeWaiter();
  std::vector<proto::Control> messages;
  while (true) {
    // Behind its answer a chief that ends says why.
    bool isOpen =
        connection.flush() && connection.receive(&messages, /*most=*/1);
    if (!messages.empty()) {
      *message = std::move(messages.front());
      return Outcome::Done;
    }
    if (!isOpen)
      return Outcome::SentAway;
    if (around.now() >= end)
      return Outcome::Late;
    (void)waiter->wait({connection.awaited()}, nullptr, end);
  }
}

static Outcome shake(BeatSurroundings &around, Connection &connection,
                     const std::string &key, int member,
                     Clock::time_point end) {
  proto::Control message;
  if (Outcome outcome = hearOne(around, connection, end, &message);
      outcome != Outcome::Done)
    return outcome;
  const std::string nonce = message.challenge().nonce();
  std::string own;
  if (nonce.size() != kNonceBytes || !makeRandomBytes(kNonceBytes, &own).ok())
    return Outcome::Foreign;
  proto::Control shown;
  shown.mutable_proof()->set_member(member);
  shown.mutable_proof()->set_nonce(own);
  shown.mutable_proof()->set_code(codeOf(key, "other", member, nonce, own));
  if (!connection.send(shown))
    return Outcome::SentAway;
  if (Outcome outcome = hearOne(around, connection, end, &message);
      outcome != Outcome::Done)
    return outcome;
  return areEqual(message.proof().code(),
                  codeOf(key, "chief", member, nonce, own))
             ? Outcome::Done
             : Outcome::Foreign;
}

Status connectToChief(const Address &chief, const std::string &key, int member,
                      int limit, std::unique_ptr<Connection> *out,
                      BeatSurroundings &around) {
  const Clock::time_point end = around.now() + milliseconds(limit);
  Outcome outcome = Outcome::Late;
  do {
    std::unique_ptr<Link> link;
    DIST_RETURN_IF_ERROR(around.connect(chief, limit, &link));
    auto connection = std::make_unique<Connection>(std::move(link));
    outcome = shake(around, *connection, key, member, end);
    if (outcome == Outcome::Done) {
      *out = std::move(connection);
      return Status();
    }
    around.sleep(kPause);
  } while (outcome == Outcome::SentAway && around.now() < end);
  return Status::error(
      StatusCode::Unavailable, "the chief does not answer", chief.text(),
      outcome == Outcome::Late       ? "it is busy, or was stopped"
      : outcome == Outcome::SentAway ? "it closes the connection"
                                     : "what answers there is another program");
}

} // namespace dist::cluster
