//===- server.h - A parameter server -------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Holds a part of the variables, with what the optimizer knows of them. It
// applies gradients in the order in which they come, and gives out values
// between two updates; it never waits for anyone.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_PARAMETER_SERVER_SERVER_H
#define RUNTIME_PARAMETER_SERVER_SERVER_H

#include "runtime/parameter_server/protocol.h"

namespace dist::ps {

/// What a server holds, which the others know from the same package. Letters
/// of another size, or with rows that are not there, are none for it.
class Shard {
public:
  virtual ~Shard() = default;
  virtual bool isPull(const Buffer &bytes) const = 0;
  virtual bool isPush(const Buffer &bytes) const = 0;
  virtual size_t stateBytes() const = 0;
  /// The variables that workers read whole.
  virtual Status readParameters(Buffer *out) = 0;
  /// Adds the rows that a pull, which is not empty, asks for.
  virtual Status addRows(const Buffer &pull, Buffer *out) = 0;
  /// One update.
  virtual Status apply(const Buffer &gradients, AppliedBody *out) = 0;
  /// All variables.
  virtual Status readState(Buffer *out) = 0;
  virtual Status writeState(const Buffer &state) = 0;
};

/// Serves until the coordinator ends the run. Errors: what ended it; the
/// coordinator is lost.
Status serve(Mail &mail, Shard &shard, const TaskOptions &options,
             Ending *ending);

} // namespace dist::ps

#endif // RUNTIME_PARAMETER_SERVER_SERVER_H
