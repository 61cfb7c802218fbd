//===- positions.h - Which ranks of a group need as much --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a position in a group does differs from what others do in few things:
// how many it tells in a tree, and how the parts are cut that it has to do with
// in another way than with all the others. Those that are alike in these need
// as much memory for one collective.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_MESSAGE_POSITIONS_H
#define RUNTIME_COMM_MESSAGE_POSITIONS_H

#include "runtime/comm/schedule/stream.h"

namespace dist::message {

class Positions {
public:
  using Key = std::vector<int64_t>;

  /// In a group of `size`, of an all-reduce that goes as `way`.
  Positions(const Collective &call, Algorithm way, int size);

  /// Of two positions with one key, the same.
  Key keyOf(int position) const;

private:
  /// What is cut: the bytes that are packed to leave, the largest slice, and
  /// how many there are.
  struct Shape {
    int64_t packed = 0, most = 0, count = 0;
  };
  static Shape shapeOf(const Stream &stream, const Slices &slices);
  void findParts();
  void findRingParts();
  /// In a binomial tree from there: as Operation::broadcast goes.
  int64_t countTold(int position, int64_t root) const;
  Key keyOfParts(std::initializer_list<int> parts) const;

  const Collective &call;
  const Algorithm way;
  const int size;
  std::vector<Shape> parts;
  std::vector<int64_t> told; // by position, of a permute
};

} // namespace dist::message

#endif // RUNTIME_COMM_MESSAGE_POSITIONS_H
