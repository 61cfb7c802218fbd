//===- digest.h - Fingerprint of a package's files --------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_DIGEST_H
#define RUNTIME_CORE_DIGEST_H

#include "runtime/core/status.h"
#include <string>
#include <vector>

namespace dist {

/// What `Manifest.digest` holds for the given files, in that order: length and
/// CRC-32 of each. It finds damage, not forgery.
Status digestFiles(const std::vector<std::string> &paths, std::string *out);

/// The digest of a package folder's variant: of its program and of
/// weights.safetensors (the latter only when it is there).
Status digestPackage(const std::string &package, const std::string &variant,
                     std::string *out);

} // namespace dist

#endif // RUNTIME_CORE_DIGEST_H
