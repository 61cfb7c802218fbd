//===- servers.h - Which variables parameter servers hold -------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_SERVERS_H
#define RUNTIME_CORE_SERVERS_H

#include "runtime/core/manifest.pb.h"
#include "runtime/core/status.h"
#include <string>

namespace dist {

/// Whether the parts that servers hold are parts of the variables: each lies
/// within its variable, and together they are all of it, once. `where` names
/// the manifest in errors.
Status checkServers(const manifest::Manifest &manifest,
                    const std::string &where);

/// Whether `server`, the manifest of the package in serverPath(folder, number),
/// is that of server `number` of `worker`'s: of this compilation, with its
/// parts as variables, and with `apply`, which takes their gradients in order.
Status checkServer(const manifest::Manifest &worker, int number,
                   const manifest::Manifest &server, const std::string &where);

} // namespace dist

#endif // RUNTIME_CORE_SERVERS_H
