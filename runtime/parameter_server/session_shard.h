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
  static Status create(Session &session, const Layout &layout, int server,
                       std::unique_ptr<SessionShard> *out);
  bool isPull(const Buffer &bytes) const override;
  bool isPush(const Buffer &bytes) const override;
  size_t stateBytes() const override { return layout.stateBytes; }
  Status readParameters(Buffer *out) override;
  Status addRows(const Buffer &pull, Buffer *out) override;
  Status apply(const Buffer &gradients, AppliedBody *out) override;
  Status readState(Buffer *out) override;
  Status writeState(const Buffer &state) override;

private:
  /// A part of a table of which rows travel.
  struct Table {
    const PlacedPart *part;
    int64_t most = 0; // rows in a letter
    size_t rowBytes = 0;
    Tensor value;    // as it is now; no bytes: to be read
    Buffer gradient; // zeros between two updates
  };
  SessionShard(Session &session, const ServerLayout &layout)
      : session(session), layout(layout) {}
  /// Calls use(table, the numbers of its rows, these rows) for each table;
  /// `hasRows`: behind the numbers of each are the rows. False: the bytes are
  /// not such.
  template <typename Use>
  bool forEachTable(const char *bytes, const char *end, bool hasRows,
                    Use use) const;
  void forgetTables();

  Session &session;
  const ServerLayout &layout;
  mutable std::vector<Table> tables;
  const manifest::Entry *entry = nullptr; // apply
  int learningRate = -1;                  // its output; -1: none
  std::vector<TensorView> inputs;
  std::vector<Tensor> outputs;
  Tensor value;
};

} // namespace dist::ps

#endif // RUNTIME_PARAMETER_SERVER_SESSION_SHARD_H
