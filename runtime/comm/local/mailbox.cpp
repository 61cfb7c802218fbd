//===- mailbox.cpp - From one rank to another -----------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/mailbox.h"
#include "runtime/comm/local/patience.h"
#include <cstring>

namespace dist::local {

static int64_t countBytes(const Collective &what) {
  int64_t bytes = 0;
  for (const Piece &piece : what.pieces)
    bytes += bytesFrom(piece, 1);
  return bytes;
}

void Mailbox::put(int sender, int64_t tag, const Call &call,
                  const Collective &what, void *const *from) {
  Message message;
  message.call = call;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!spare.empty()) {
      message.bytes = std::move(spare.back());
      spare.pop_back();
    }
  }
  message.bytes.resize(countBytes(what));
  char *next = message.bytes.data();
  for (int64_t i = 0; i < what.pieces.size; ++i) {
    int64_t bytes = bytesFrom(what.pieces[i], 1);
    if (bytes)
      std::memcpy(next, from[i], bytes);
    next += bytes;
  }
  {
    std::lock_guard<std::mutex> lock(mutex);
    messages[{sender, tag}].push_back(std::move(message));
  }
  delivered.fetch_add(1);
  wait.notify();
}

void Mailbox::clear() {
  std::lock_guard<std::mutex> lock(mutex);
  messages.clear();
}

Status receive(Shared &shared, Mailbox &mailbox, int receiver, int sender,
               const Call &call, const Collective &what, void *const *to) {
  Patience patience(shared, receiver, sender, what.tag, call, what.background);
  Message message;
  while (true) {
    uint64_t seen = mailbox.delivered.load();
    {
      std::lock_guard<std::mutex> lock(mailbox.mutex);
      auto found = mailbox.messages.find({sender, what.tag});
      if (found != mailbox.messages.end() && !found->second.empty()) {
        message = std::move(found->second.front());
        found->second.pop_front();
        break;
      }
    }
    bool came = patience.wait(
        mailbox.wait,
        [&] {
          return shared.aborted.load() || mailbox.delivered.load() != seen;
        },
        what.background ? 0 : shared.options.spinMicroseconds);
    if (shared.aborted.load())
      return shared.abortedStatus(receiver, call);
    if (!came)
      return patience.timedOut();
  }
  if (message.call.digest != call.digest ||
      message.bytes.size() != static_cast<size_t>(countBytes(what)))
    return shared.fail(StatusCode::Internal, receiver, call,
                       describeMismatchedSend(shared.options, sender,
                                              message.call, what.tag, call),
                       "recompile the package");
  const char *next = message.bytes.data();
  for (int64_t i = 0; i < what.pieces.size; ++i) {
    int64_t bytes = bytesFrom(what.pieces[i], 1);
    if (bytes)
      std::memcpy(to[i], next, bytes);
    next += bytes;
  }
  std::lock_guard<std::mutex> lock(mailbox.mutex);
  mailbox.spare.push_back(std::move(message.bytes));
  return Status();
}

} // namespace dist::local
