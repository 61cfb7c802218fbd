//===- connection.cpp - Messages of a control connection ------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/heartbeat/connection.h"

namespace dist::cluster {

/// The longest message, the status of thousands of processes; and what the
/// other end may leave in our memory.
static constexpr size_t kMostBytes = 1 << 20;
static constexpr size_t kLengthBytes = 4;

void Connection::trust() { longest = kMostBytes; }

bool Connection::send(const proto::Control &message) {
  std::string bytes = message.SerializeAsString();
  if (unsent.size() + bytes.size() > kMostBytes)
    return false;
  for (size_t i = 0; i < kLengthBytes; ++i)
    unsent += char(bytes.size() >> (8 * i));
  unsent += bytes;
  return flush();
}

bool Connection::flush() {
  while (!unsent.empty()) {
    int64_t sent = link->send(unsent.data(), unsent.size());
    if (sent <= 0)
      return sent == 0;
    unsent.erase(0, sent);
  }
  return true;
}

bool Connection::receive(std::vector<proto::Control> *messages, size_t most) {
  bool goesOn = true;
  char block[16384];
  while (unread.size() < longest + kLengthBytes) {
    int64_t got = link->receive(block, sizeof block);
    goesOn = got >= 0;
    if (got <= 0)
      break;
    unread.append(block, got);
  }
  size_t begin = 0;
  for (; most > 0 && unread.size() - begin >= kLengthBytes; --most) {
    size_t length = 0;
    for (size_t i = 0; i < kLengthBytes; ++i)
      length |= size_t(uint8_t(unread[begin + i])) << (8 * i);
    if (length > longest)
      return false;
    if (unread.size() - begin - kLengthBytes < length)
      break;
    proto::Control message;
    if (!message.ParseFromArray(unread.data() + begin + kLengthBytes,
                                int(length)))
      return false;
    messages->push_back(std::move(message));
    begin += kLengthBytes + length;
  }
  unread.erase(0, begin);
  return goesOn;
}

} // namespace dist::cluster
