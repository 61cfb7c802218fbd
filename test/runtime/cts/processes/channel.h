//===- channel.h - Words between a test and its processes -------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_CTS_PROCESSES_CHANNEL_H
#define TEST_RUNTIME_CTS_PROCESSES_CHANNEL_H

#include "runtime/core/status.h"
#include <cstdint>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

namespace dist::cts {

/// A request or reply, written and read in one order.
class Text {
public:
  Text() = default;
  explicit Text(std::string bytes) : bytes(std::move(bytes)) {}

  Text &add(int64_t value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
    return *this;
  }
  Text &add(const void *data, size_t size) {
    add(int64_t(size));
    bytes.append(static_cast<const char *>(data), size);
    return *this;
  }
  Text &add(const std::string &text) { return add(text.data(), text.size()); }
  Text &add(const Status &status) {
    return add(int64_t(status.code())).add(status.message());
  }

  int64_t number() {
    int64_t value = 0;
    std::memcpy(&value, bytes.data() + next, sizeof value);
    next += sizeof value;
    return value;
  }
  std::string text() {
    size_t size = number();
    next += size;
    return bytes.substr(next - size, size);
  }
  Status status() {
    auto code = static_cast<StatusCode>(number());
    std::string message = text();
    return code == StatusCode::Ok ? Status() : Status::error(code, message);
  }

  std::string bytes;
  size_t next = 0;
};

inline bool writeAll(int socket, const void *data, size_t size) {
  auto *bytes = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t done = write(socket, bytes, size);
    if (done <= 0)
      return false;
    bytes += done;
    size -= done;
  }
  return true;
}

inline bool readAll(int socket, void *data, size_t size) {
  auto *bytes = static_cast<char *>(data);
  while (size > 0) {
    ssize_t done = read(socket, bytes, size);
    if (done <= 0)
      return false;
    bytes += done;
    size -= done;
  }
  return true;
}

inline bool sendText(int socket, const Text &text) {
  uint64_t size = text.bytes.size();
  return writeAll(socket, &size, sizeof size) &&
         writeAll(socket, text.bytes.data(), size);
}

inline bool receiveText(int socket, Text *text) {
  uint64_t size = 0;
  if (!readAll(socket, &size, sizeof size))
    return false;
  *text = Text(std::string(size, 0));
  return readAll(socket, text->bytes.data(), size);
}

/// What a process is asked to do.
enum class Ask {
  Open,    // a world of one rank: replies its address, then takes all
  Prepare, // a collective on a world
  BeginStep,
  Run, // what was prepared
  Reset,
  Close,
  Group,    // size and rank of a group
  Traffic,  // of the rank, and what the kernel counted on its connections
  IsUsable, // whether worlds can be opened
  Abort     // on the second socket
};

/// By which a process hears of its test.
struct Sockets {
  int asks = -1, aborts = -1;
  int besides = -1; // asks to run something in the background
};

} // namespace dist::cts

#endif // TEST_RUNTIME_CTS_PROCESSES_CHANNEL_H
