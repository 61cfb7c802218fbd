//===- choice.h - How an all-reduce of messages goes ------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All ranks of a group choose by what all of them know: they must agree.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_MESSAGE_CHOICE_H
#define RUNTIME_COMM_MESSAGE_CHOICE_H

#include "runtime/comm/message/message.h"

namespace dist::message {

/// Of an all-reduce of `bytes`, packed, among `ranks`, which was asked to go
/// as `asked`; `forced` is that of options. Never Default.
AllReduceWay chooseAllReduce(AllReduceWay forced, Algorithm asked,
                             int64_t bytes, int ranks);

} // namespace dist::message

#endif // RUNTIME_COMM_MESSAGE_CHOICE_H
