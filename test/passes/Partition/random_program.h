//===- random_program.h - Programs that nobody wrote -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module with a random mesh and one function of random graph ops, annotated
// at random: arguments, results and values in between. As text, so that what
// fails can be kept as a test.
//
//===----------------------------------------------------------------------===//
#ifndef TEST_PASSES_PARTITION_RANDOM_PROGRAM_H
#define TEST_PASSES_PARTITION_RANDOM_PROGRAM_H

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace mlir::dist::test {

using Shape = std::vector<int64_t>;

/// A value that later ops may use.
struct RandomValue {
  std::string name;
  Shape shape;
  /// 'f' f32, 'i' i64, 'b' i1.
  char type = 'f';
  /// Whether every program computes the same bits: what is compared or ranked
  /// must be, or rounding decides.
  bool exact = true;
  /// A bound of its magnitude: what is squashed must not be large, or rounding
  /// is amplified.
  double bound = 1;
};

/// `tensor<2x3xf32>`
std::string typeOf(const RandomValue &value);

class RandomProgram {
public:
  /// The same seed gives the same first ops, however many are asked for. With
  /// `mayPad` axes also split dims that they do not divide.
  RandomProgram(uint64_t seed, unsigned numOps, bool mayPad);
  const std::string &getText() const { return text; }

private:
  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }
  /// True once in `n` times.
  bool once(int64_t n) { return pick(1, n) == 1; }

  /// Of ops that move elements, whatever they are.
  char pickType() { return once(5) ? 'i' : 'f'; }

  void makeMesh();
  Shape makeShape(int64_t numDims);
  std::string makeSharding(const Shape &shape, bool mayBeOpen,
                           bool mayBeUnreduced);
  RandomValue makeArgument(const Shape &shape, char type);
  void returnSome();

  /// A value of at least `minDims` dims, or one of exactly this shape; a new
  /// argument if there is none.
  RandomValue pickValue(char type, int64_t minDims, bool exact = false);
  RandomValue pickLike(const Shape &shape, char type, bool exact = false);

  /// Writes one op and keeps its results; some get an annotation of their own.
  RandomValue emit(const std::string &op,
                   const std::vector<RandomValue> &operands,
                   const std::string &attributes, RandomValue result,
                   bool functional);
  void emitMany(const std::string &op, const std::vector<RandomValue> &operands,
                const std::string &attributes,
                std::vector<RandomValue> results);
  void keep(RandomValue value);

  void addUnary();
  void addBinary();
  void addSelect();
  void addConvert();
  void addReduce();
  void addBroadcast();
  void addReshape();
  void addTranspose();
  void addDot();
  void addConv();
  void addPool();
  void addSoftmax();
  void addLayerNorm();
  void addBatchNorm();
  void addCrossEntropy();
  void addGather();
  void addScatterAdd();
  void addLookup();
  void addSlice();
  void addPad();
  void addConcat();
  void addAlongAxis();
  void addArgMax();
  void addConstant();
  void addReshard();
  void addGradientLike();
  void addInteger();
  void addIntegerMean();

  std::mt19937_64 random;
  bool mayPad;
  std::vector<std::pair<std::string, int64_t>> axes;
  std::vector<RandomValue> values;
  std::vector<std::string> used;
  std::string arguments, body, text;
  unsigned numArguments = 0, numValues = 0;
};

} // namespace mlir::dist::test

#endif // TEST_PASSES_PARTITION_RANDOM_PROGRAM_H
