//===- algorithm.h - How an all-reduce goes about it ------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_ALGORITHM_H
#define RUNTIME_CORE_ALGORITHM_H

#include "runtime/abi/abi.h"
#include <iterator>

namespace dist {

/// Of an all-reduce: the same results up to the order of the sums.
enum class Algorithm {
  Auto = DIST_RT_ALGORITHM_AUTO,
  Ring = DIST_RT_ALGORITHM_RING,
  ReduceToOne = DIST_RT_ALGORITHM_REDUCE_TO_ONE,
  Exchange = DIST_RT_ALGORITHM_EXCHANGE,
  Gather = DIST_RT_ALGORITHM_GATHER,
  Parts = DIST_RT_ALGORITHM_PARTS,
  HalvingDoubling = DIST_RT_ALGORITHM_HALVING_DOUBLING
};

/// In which an element's addends are summed: a, b, c and d of places 0 to 3.
enum class SumOrder {
  OfPlaces, // ((a + b) + c) + d
  Around,   // that, or ((b + c) + d) + a, and so on: by where the element lies
  InPairs   // (a + b) + (c + d)
};

/// All that others than those who carry an algorithm out need to know of it.
struct AlgorithmFacts {
  Algorithm algorithm;
  const char *name;
  /// All of one order have the same bits.
  SumOrder order = SumOrder::OfPlaces;
  /// Whether ranks that share memory go that way, too; else they go as Auto.
  bool isOfMemory = true;
  /// What a rank sends or takes is all of each other rank's: much, of large
  /// sums of many ranks.
  bool movesAllToEach = false;
};

/// By their numbers.
inline constexpr AlgorithmFacts allAlgorithms[] = {
    {Algorithm::Auto, "auto"},
    {Algorithm::Ring, "ring", SumOrder::Around},
    {Algorithm::ReduceToOne, "reduce_to_one"},
    {Algorithm::Exchange, "exchange", SumOrder::OfPlaces, false, true},
    {Algorithm::Gather, "gather", SumOrder::OfPlaces, false, true},
    {Algorithm::Parts, "parts", SumOrder::OfPlaces, false},
    {Algorithm::HalvingDoubling, "halving_doubling", SumOrder::InPairs}};

constexpr bool areByNumber() {
  for (size_t i = 0; i < std::size(allAlgorithms); ++i)
    if (static_cast<size_t>(allAlgorithms[i].algorithm) != i)
      return false;
  return true;
}
static_assert(areByNumber(), "factsOf looks algorithms up by their numbers");

/// Whether there is an algorithm of that number.
constexpr bool isAlgorithm(int64_t number) {
  return number >= 0 && number < int64_t(std::size(allAlgorithms));
}

/// Of one that there is.
constexpr const AlgorithmFacts &factsOf(Algorithm algorithm) {
  return allAlgorithms[static_cast<size_t>(algorithm)];
}
/// Of any number: another rank's may be of another build.
constexpr const char *name(Algorithm algorithm) {
  return isAlgorithm(static_cast<int64_t>(algorithm))
             ? factsOf(algorithm).name
             : "an algorithm that there is not";
}

} // namespace dist

#endif // RUNTIME_CORE_ALGORITHM_H
