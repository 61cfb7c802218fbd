//===- sums.cpp - Reductions by MPI --------------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/mpi/rank.h"
#include "runtime/core/half.h"
#include <cmath>
#include <cstring>
#include <limits>

namespace dist::mpi {

static int typeFor(DataType type) {
  switch (type) {
  case manifest::F64:
    return DIST_COMM_F64;
  case manifest::I8:
    return DIST_COMM_I8;
  case manifest::I16:
    return DIST_COMM_I16;
  case manifest::I32:
    return DIST_COMM_I32;
  case manifest::I64:
    return DIST_COMM_I64;
  case manifest::U8:
  case manifest::BOOL:
    return DIST_COMM_U8;
  case manifest::U16:
    return DIST_COMM_U16;
  case manifest::U32:
    return DIST_COMM_U32;
  case manifest::U64:
    return DIST_COMM_U64;
  default: // f32, and what is summed in it
    return DIST_COMM_F32;
  }
}

static int reductionFor(DataType type, Reduction reduction) {
  bool isBool = type == manifest::BOOL; // 0 or 1: or, and
  switch (reduction) {
  case Reduction::Sum:
    return isBool ? DIST_COMM_MAX : DIST_COMM_SUM;
  case Reduction::Max:
    return DIST_COMM_MAX;
  case Reduction::Min:
    return DIST_COMM_MIN;
  case Reduction::Product:
    return isBool ? DIST_COMM_MIN : DIST_COMM_PRODUCT;
  }
  return -1;
}

/// Bits of floats as integers of the same order, and back: below zero the
/// larger ones have the smaller bits.
template <typename Int> static Int swapOrder(Int bits) {
  return bits < 0 ? bits ^ std::numeric_limits<Int>::max() : bits;
}

/// MPI does not say what it makes of a NaN in a maximum or minimum, and with us
/// it stays: so it compares integers. `isMax`: a NaN is the largest; else the
/// least.
template <typename Float, typename Int>
static void toOrdered(char *at, int64_t count, bool isMax) {
  constexpr Int most = std::numeric_limits<Int>::max();
  for (int64_t i = 0; i < count; ++i, at += sizeof(Int)) {
    Float value;
    Int bits;
    std::memcpy(&value, at, sizeof value);
    std::memcpy(&bits, at, sizeof bits);
    // Both come back as a NaN.
    bits = std::isnan(value) ? (isMax ? most : ~most) : swapOrder(bits);
    std::memcpy(at, &bits, sizeof bits);
  }
}

template <typename Int> static void fromOrdered(char *at, int64_t count) {
  for (int64_t i = 0; i < count; ++i, at += sizeof(Int)) {
    Int bits;
    std::memcpy(&bits, at, sizeof bits);
    bits = swapOrder(bits);
    std::memcpy(at, &bits, sizeof bits);
  }
}

// 16-bit floats, which MPI has not, are summed in f32 and rounded once.
Status MpiCommunicator::reduceRun(const Frame &f, DataType type, char *from,
                                  char *to, int64_t bytes, bool scatters) {
  int64_t count = bytes / byteSize(type);
  int64_t given = scatters ? count * f.d.size() : count;
  DIST_RETURN_IF_ERROR(checkCount(f.d, given, "elements"));
  bool isHalf = type == manifest::F16,
       isWidened = isHalf || type == manifest::BF16;
  char *addends = from, *sums = to;
  if (isWidened) {
    for (int64_t i = 0; i < given; ++i) {
      uint16_t bits;
      std::memcpy(&bits, from + 2 * i, 2);
      f.wide[i] = isHalf ? halfToFloat(bits) : bfloatToFloat(bits);
    }
    addends = reinterpret_cast<char *>(f.wide);
    sums = reinterpret_cast<char *>(scatters ? f.wide + given : f.wide);
  }
  int mpiType = typeFor(type);
  bool isMax = f.d.what.reduction == Reduction::Max,
       isCompared = isMax || f.d.what.reduction == Reduction::Min,
       isF32 = isCompared && mpiType == DIST_COMM_F32,
       isF64 = isCompared && mpiType == DIST_COMM_F64;
  if (isF32) {
    toOrdered<float, int32_t>(addends, given, isMax);
    mpiType = DIST_COMM_I32;
  } else if (isF64) {
    toOrdered<double, int64_t>(addends, given, isMax);
    mpiType = DIST_COMM_I64;
  }
  auto call = scatters ? mpi.reduce_scatter : mpi.all_reduce;
  DIST_RETURN_IF_ERROR(complete(f, [&](Request **request) {
    return call(f.group, addends, sums, count, mpiType,
                reductionFor(type, f.d.what.reduction), request);
  }));
  if (isF32)
    fromOrdered<int32_t>(sums, count);
  else if (isF64)
    fromOrdered<int64_t>(sums, count);
  for (int64_t i = 0; isWidened && i < count; ++i) {
    float sum = reinterpret_cast<float *>(sums)[i];
    uint16_t bits = isHalf ? floatToHalf(sum) : floatToBfloat(sum);
    std::memcpy(to + 2 * i, &bits, 2);
  }
  return Status();
}

template <typename Use>
Status MpiCommunicator::forRuns(const Frame &f, Use use) {
  int64_t count = f.d.what.pieces.size;
  for (int64_t first = 0, last = 0; first < count; first = last) {
    for (last = first; last < count && f.d.type(last) == f.d.type(first);)
      ++last;
    DIST_RETURN_IF_ERROR(use(Run{first, last}, f.d.type(first)));
  }
  return Status();
}

Status MpiCommunicator::allReduce(const Frame &f) {
  return forRuns(f, [&](Run run, DataType type) {
    const Stream &own = wholeOut(f, run), &result = wholeIn(f, run);
    char *packed = f.out;
    own.gather(0, own.size(), packed);
    DIST_RETURN_IF_ERROR(
        reduceRun(f, type, packed, packed, own.size(), /*scatters=*/false));
    result.scatter(0, own.size(), packed);
    return Status();
  });
}

Status MpiCommunicator::reduceScatter(const Frame &f) {
  return forRuns(f, [&](Run run, DataType type) {
    const Stream &result = inFrom(f, 0, run);
    int64_t bytes = result.size();
    char *packed = f.out, *sums = f.in;
    for (int place = 0; place < f.d.size(); ++place)
      outTo(f, place, run).gather(0, bytes, packed + f.memberAt[place] * bytes);
    DIST_RETURN_IF_ERROR(
        reduceRun(f, type, packed, sums, bytes, /*scatters=*/true));
    result.scatter(0, bytes, sums);
    return Status();
  });
}

} // namespace dist::mpi
