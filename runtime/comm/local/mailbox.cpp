//===- mailbox.cpp - From one rank to another -----------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/mailbox.h"
#include "runtime/comm/local/patience.h"
#include "runtime/comm/schedule/parts.h"
#include <cstring>

namespace dist::local {

static int64_t countBytes(const Collective &what) {
  int64_t bytes = 0;
  for (const Piece &piece : what.pieces)
    bytes += alignPacked(bytesFrom(piece, 1));
  return bytes;
}

std::shared_ptr<Letter> makeLetter(const Collective &what) {
  return std::make_shared<Letter>(countBytes(what));
}

void Mailbox::open(int sender, int64_t tag) {
  std::lock_guard<std::mutex> lock(mutex);
  queues[{sender, tag}];
}

void Mailbox::clear() {
  std::lock_guard<std::mutex> lock(mutex);
  for (auto &[key, queue] : queues) {
    while (queue.first) {
      queue.first->underWay.store(false);
      queue.first = std::move(queue.first->next);
    }
    queue.last = nullptr;
  }
}

/// Waits until `ready()`, or all give up.
template <typename Ready>
static Status wait(Shared &shared, Mailbox &mailbox, Patience &patience,
                   int rank, const Call &call, bool background, Ready ready) {
  bool came = patience.wait(
      mailbox.wait, [&] { return shared.aborted.load() || ready(); },
      background ? 0 : shared.options.spinMicroseconds);
  if (shared.aborted.load())
    return shared.abortedStatus(rank, call);
  return came ? Status() : patience.timedOut();
}

Status send(Shared &shared, int sender, int receiver, const Call &call,
            const Collective &what, void *const *from,
            const std::shared_ptr<Letter> &letter) {
  Mailbox &mailbox = *shared.mailboxes[receiver];
  if (letter->underWay.load()) {
    Patience patience(shared, sender, receiver, what.tag, call,
                      what.background);
    DIST_RETURN_IF_ERROR(wait(shared, mailbox, patience, sender, call,
                              what.background,
                              [&] { return !letter->underWay.load(); }));
  }
  letter->call = call;
  char *next = letter->memory->take();
  for (int64_t i = 0; i < what.pieces.size; ++i) {
    int64_t bytes = bytesFrom(what.pieces[i], 1);
    if (bytes)
      std::memcpy(next, from[i], bytes);
    next += alignPacked(bytes);
  }
  letter->underWay.store(true);
  {
    std::lock_guard<std::mutex> lock(mailbox.mutex);
    Mailbox::Queue &queue = mailbox.queues[{sender, what.tag}];
    (queue.first ? queue.last->next : queue.first) = letter;
    queue.last = letter.get();
  }
  mailbox.delivered.fetch_add(1);
  mailbox.wait.notify();
  return Status();
}

/// The first letter of a queue; null: there is none.
static std::shared_ptr<Letter> takeFirst(Mailbox &mailbox, int sender,
                                         int64_t tag) {
  std::lock_guard<std::mutex> lock(mailbox.mutex);
  Mailbox::Queue &queue = mailbox.queues[{sender, tag}];
  std::shared_ptr<Letter> letter = std::move(queue.first);
  if (letter)
    queue.first = std::move(letter->next);
  return letter;
}

Status receive(Shared &shared, int receiver, int sender, const Call &call,
               const Collective &what, void *const *to) {
  Mailbox &mailbox = *shared.mailboxes[receiver];
  Patience patience(shared, receiver, sender, what.tag, call, what.background);
  std::shared_ptr<Letter> letter;
  while (true) {
    uint64_t seen = mailbox.delivered.load();
    letter = takeFirst(mailbox, sender, what.tag);
    if (letter)
      break;
    DIST_RETURN_IF_ERROR(
        wait(shared, mailbox, patience, receiver, call, what.background,
             [&] { return mailbox.delivered.load() != seen; }));
  }
  if (letter->call.digest != call.digest || letter->bytes != countBytes(what))
    return shared.fail(StatusCode::Internal, receiver, call,
                       describeMismatchedSend(shared.options, sender,
                                              letter->call, what.tag, call),
                       "recompile the package");
  const char *next = letter->memory->data();
  for (int64_t i = 0; i < what.pieces.size; ++i) {
    int64_t bytes = bytesFrom(what.pieces[i], 1);
    if (bytes)
      std::memcpy(to[i], next, bytes);
    next += alignPacked(bytes);
  }
  letter->underWay.store(false);
  mailbox.wait.notify();
  return Status();
}

} // namespace dist::local
