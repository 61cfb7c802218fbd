//===- session_shard.h - A server's variables in a session ------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_PARAMETER_SERVER_SESSION_SHARD_H
#define RUNTIME_PARAMETER_SERVER_SESSION_SHARD_H

#include "runtime/core/session.h"
#include "runtime/parameter_server/layout.h"
#include "runtime/parameter_server/server.h"

namespace dist::ps {

class SessionShard : public Shard {
public:
  /// Of a session of the server's package.
  static Status create(Session &session, const ServerLayout &layout,
                       std::unique_ptr<SessionShard> *out);
  size_t gradientBytes() const override { return layout.partBytes; }
  size_t stateBytes() const override { return layout.stateBytes; }
  Status readParameters(Buffer *out) override;
  Status apply(const Buffer &gradients, AppliedBody *out) override;
  Status readState(Buffer *out) override;
  Status writeState(const Buffer &state) override;

private:
  SessionShard(Session &session, const ServerLayout &layout)
      : session(session), layout(layout) {}

  Session &session;
  const ServerLayout &layout;
  const manifest::Entry *entry = nullptr; // apply
  int learningRate = -1;                  // its output; -1: none
  std::vector<TensorView> inputs;
  std::vector<Tensor> outputs;
  Tensor value;
};

} // namespace dist::ps

#endif // RUNTIME_PARAMETER_SERVER_SESSION_SHARD_H
