//===- greeting.cpp - Who may begin a handshake ---------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/security/greeting.h"
#include "runtime/cluster/security/certificates.h"
#include "runtime/cluster/security/keyed.h"
#include "runtime/core/text.h"

namespace dist::cluster {

static constexpr size_t kNumberBytes = 8, kCodeBytes = 16;

static std::string codeOf(const std::string &key, const std::string &number) {
  return toHex(
      authenticate(key, "dist greeting 1 " + number).substr(0, kCodeBytes));
}

std::string makeGreeting(const std::string &key) {
  std::string bytes;
  // Without a number of its own it shares its server's patience with others.
  if (!makeRandomBytes(kNumberBytes, &bytes).ok())
    bytes.assign(kNumberBytes, 0);
  const std::string number = toHex(bytes);
  return number + codeOf(key, number) + kGreetingDomain;
}

bool isGreeting(const std::string &key, const std::string &name) {
  constexpr size_t numberSize = 2 * kNumberBytes, codeSize = 2 * kCodeBytes;
  const size_t size = numberSize + codeSize;
  return name.size() > size && name.substr(size) == kGreetingDomain &&
         areEqual(name.substr(numberSize, codeSize),
                  codeOf(key, name.substr(0, numberSize)));
}

namespace {

/// Reads what has its length before it; nothing is there behind the end.
class Reader {
public:
  explicit Reader(const std::string &bytes)
      : at(0), end(bytes.size()), bytes(bytes) {}
  Reader(const std::string &bytes, size_t begin, size_t end)
      : at(begin), end(end), bytes(bytes) {}

  bool isAtEnd() const { return at >= end; }
  void skip(size_t count) { at = count > end - at ? end : at + count; }
  size_t number(int width) {
    size_t value = 0;
    for (int i = 0; i < width; ++i)
      value = value << 8 | (at < end ? uint8_t(bytes[at++]) : 0);
    return value;
  }
  Reader part(int width) {
    size_t size = number(width), begin = at;
    skip(size);
    return {bytes, begin, at};
  }
  std::string text() const { return bytes.substr(at, end - at); }

private:
  size_t at, end;
  const std::string &bytes;
};

} // namespace

std::string findServerName(const std::string &hello) {
  constexpr size_t kHeads = 5 + 4, kVersion = 2, kRandom = 32;
  constexpr size_t kServerNames = 0, kHostName = 0; // of RFC 6066
  Reader reader(hello);
  reader.skip(kHeads + kVersion + kRandom);
  (void)reader.part(1); // the session's id
  (void)reader.part(2); // ciphers
  (void)reader.part(1); // compressions
  for (Reader extensions = reader.part(2); !extensions.isAtEnd();) {
    const size_t type = extensions.number(2);
    Reader extension = extensions.part(2);
    if (type != kServerNames)
      continue;
    for (Reader names = extension.part(2); !names.isAtEnd();) {
      const size_t kind = names.number(1);
      Reader name = names.part(2);
      if (kind == kHostName)
        return name.text();
    }
  }
  return "";
}

} // namespace dist::cluster
