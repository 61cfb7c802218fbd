//===- keyed.h - What only who has a key can say ----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_SECURITY_KEYED_H
#define RUNTIME_CLUSTER_SECURITY_KEYED_H

#include "runtime/core/status.h"
#include <string>

namespace dist::cluster {

/// Bytes that nobody can guess.
Status makeRandomBytes(size_t count, std::string *out);

/// HMAC-SHA256 (RFC 2104), 32 bytes.
std::string authenticate(const std::string &key, const std::string &message);
/// Takes as long wherever they differ: the time tells nothing of a MAC.
bool areEqual(const std::string &a, const std::string &b);

/// HKDF-SHA256 (RFC 5869): keys of several purposes, of which none tells
/// anything of another, nor of `secret`.
std::string deriveKey(const std::string &secret, const std::string &purpose,
                      size_t bytes);

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_SECURITY_KEYED_H
