//===- sha256.h - Hashes of content -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_SHA256_H
#define RUNTIME_FORMATS_SHA256_H

#include "runtime/core/status.h"
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st; // libcrypto's

namespace dist {

/// SHA-256 (FIPS 180-4) of all that is added.
class Sha256 {
public:
  Sha256();
  void add(std::string_view bytes);
  /// A piece with its length, so that neighbours cannot run into each other.
  void addPiece(std::string_view bytes);
  /// Ends it; hexadecimal.
  std::string hex();

private:
  struct Free {
    void operator()(evp_md_ctx_st *context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context;
};

/// The hash of a regular file's content, read from its start to its end.
Status hashFile(const std::string &path, std::string *hex);

} // namespace dist

#endif // RUNTIME_FORMATS_SHA256_H
