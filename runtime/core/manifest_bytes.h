//===- manifest_bytes.h - A manifest as its file has it ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_MANIFEST_BYTES_H
#define RUNTIME_CORE_MANIFEST_BYTES_H

#include "runtime/core/manifest.pb.h"
#include <string>

namespace dist {

/// The same bytes for the same content, in every process: Protocol Buffers
/// write maps in any order unless they are asked for one.
std::string toBytes(const manifest::Manifest &manifest);

} // namespace dist

#endif // RUNTIME_CORE_MANIFEST_BYTES_H
