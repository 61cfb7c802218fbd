//===- halving.h - All-reduces by halving and doubling ----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// R. Rabenseifner, "Optimization of Collective Reduction Operations" (ICCS
// 2004); R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of Collective
// Communication Operations in MPICH" (IJHPCA 19(1), 2005).
//
// 2^k positions sum in k rounds. In round r a position meets the one whose
// number differs in bit r alone. Both have sums of the same parts: one keeps
// their lower half, the other one their upper half, and each gives the other
// what that keeps, to be added. Then each has one part of 2^k, summed over all.
// The same rounds backwards bring it the others: two give each other what they
// have, twice as much in each round. So a position sends 2 (2^k - 1) / 2^k of
// the bytes, as by a ring, in 2 k rounds.
//
// Of another number, the n that are more than the largest power of two below it
// take two rounds more: of positions 2 i and 2 i + 1, for i < n, the second one
// gives the first one all it has, and gets the result in the end.
//
// A sum is always that of the lower one's and the upper one's: ((a + b) + (c +
// d)) + ..., whoever makes it. So all elements have one order of sums, and all
// positions the same bits.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_SCHEDULE_HALVING_H
#define RUNTIME_COMM_SCHEDULE_HALVING_H

namespace dist {

/// One position's way through it.
class Halving {
public:
  Halving(int position, int size) : position(position) {
    while (parts <= size / 2) {
      parts *= 2;
      ++numRounds;
    }
    pairs = size - parts;
    number = position < 2 * pairs ? position / 2 : position - pairs;
  }

  /// The result is cut into so many.
  int numParts() const { return parts; }
  /// There, and as many back.
  int rounds() const { return numRounds; }
  /// Whether some have a neighbour that sums for it.
  bool hasNeighbours() const { return pairs > 0; }
  /// Who sums for this one, or whom it sums for; none: -1.
  int neighbour() const { return position < 2 * pairs ? position ^ 1 : -1; }
  /// It has no rounds: its neighbour sums for it.
  bool isSummedFor() const { return neighbour() >= 0 && position % 2; }

  /// Parts [keeps, keeps + count) are summed here and [gives, gives + count) by
  /// the partner; on the way back, what is given and taken changes places.
  struct Round {
    int partner;
    int keeps, gives, count;
  };
  Round round(int r) const {
    int keeps = 0, count = parts;
    for (int bit = 0; bit <= r; ++bit) {
      count /= 2;
      keeps += number >> bit & 1 ? count : 0;
    }
    int other = number ^ 1 << r;
    return {other < pairs ? 2 * other : other + pairs, keeps, keeps ^ count,
            count};
  }

private:
  int position, parts = 1, numRounds = 0;
  int pairs;  // of neighbours
  int number; // among those that have rounds
};

} // namespace dist

#endif // RUNTIME_COMM_SCHEDULE_HALVING_H
