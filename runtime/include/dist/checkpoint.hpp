//===- dist/checkpoint.hpp - States to go on from, in C++17 -----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// dist/checkpoint.h with an owner; see dist/session.hpp.
//
//===----------------------------------------------------------------------===//
#ifndef DIST_CHECKPOINT_HPP
#define DIST_CHECKPOINT_HPP

#include "dist/session.hpp"

namespace dist::api {

/// A folder of states to go on from (dist/checkpoint.h), of a session that
/// outlives it.
class Checkpoint {
public:
  Checkpoint(const std::string &folder, Session &session,
             dist_checkpoint_use_t use, int64_t keep = 0) {
    dist_checkpoint_options_t options = DIST_CHECKPOINT_OPTIONS_INIT;
    options.use = use;
    options.keep = keep;
    dist_checkpoint_t *opened = nullptr;
    check(dist_checkpoint_open(folder.c_str(), session.get(), &options, &opened,
                               &restored));
    handle.reset(opened);
  }
  /// The step of the state that the session was given; -1: there was none.
  int64_t step() const { return restored; }
  void save(int64_t step) { check(dist_checkpoint_save(handle.get(), step)); }

private:
  struct Close {
    void operator()(dist_checkpoint_t *checkpoint) const {
      dist_checkpoint_close(checkpoint);
    }
  };
  int64_t restored = -1;
  std::unique_ptr<dist_checkpoint_t, Close> handle;
};

} // namespace dist::api

#endif // DIST_CHECKPOINT_HPP
