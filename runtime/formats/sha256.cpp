//===- sha256.cpp - Hashes of content -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/sha256.h"
#include "runtime/core/text.h"
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace dist {

/// libcrypto fails here only where it has no memory left.
static void check(bool done) {
  if (!done)
    throw std::bad_alloc();
}

void Sha256::Free::operator()(evp_md_ctx_st *context) const {
  EVP_MD_CTX_free(context);
}

Sha256::Sha256() : context(EVP_MD_CTX_new()) {
  check(context && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr));
}

void Sha256::add(std::string_view bytes) {
  check(EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()));
}

void Sha256::addPiece(std::string_view bytes) {
  uint64_t size = bytes.size();
  add({reinterpret_cast<const char *>(&size), sizeof size});
  add(bytes);
}

std::string Sha256::hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  check(EVP_DigestFinal_ex(context.get(), digest, &size));
  return toHex({reinterpret_cast<char *>(digest), size});
}

Status hashFile(const std::string &path, std::string *hex) {
  // Not blocking: a pipe has no content to hash, and is refused below.
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info;
  auto cannot = [&](const char *why) {
    if (file >= 0)
      ::close(file);
    return Status::error(StatusCode::InvalidInput, "cannot read file", path,
                         why, "check the name and its permissions");
  };
  if (file < 0 || fstat(file, &info) != 0)
    return cannot(std::strerror(errno));
  if (!S_ISREG(info.st_mode))
    return cannot("it is no regular file");
  Sha256 hash;
  std::vector<char> block(1 << 18);
  for (;;) {
    ssize_t got = ::read(file, block.data(), block.size());
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return cannot(std::strerror(errno));
    if (got == 0)
      break;
    hash.add({block.data(), size_t(got)});
  }
  ::close(file);
  *hex = hash.hex();
  return Status();
}

} // namespace dist
