//===- operations.cpp - Pieces packed for MPI, and unpacked ---------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything that MPI reads and writes is memory of the rank's own: a
// collective that fails cannot be taken back, and may touch it later.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/mpi/rank.h"
#include "runtime/core/half.h"
#include <algorithm>
#include <climits>
#include <cstring>

namespace dist::mpi {

const message::Stream &MpiCommunicator::outTo(const Frame &f, int place,
                                              Run run) {
  f.plan.gives.clear();
  message::addPiecesTo(f.d.what.pieces, f.from, place, run.first, run.last,
                       &f.plan.gives);
  return f.plan.gives;
}

const message::Stream &MpiCommunicator::inFrom(const Frame &f, int place,
                                               Run run) {
  f.plan.takes.clear();
  message::addPiecesFrom(f.d.what.pieces, f.to, place, run.first, run.last,
                         &f.plan.takes);
  return f.plan.takes;
}

const message::Stream &MpiCommunicator::wholeOut(const Frame &f, Run run) {
  f.plan.gives.clear();
  message::addWholePieces(f.d.what.pieces, f.from, run.first, run.last,
                          &f.plan.gives);
  return f.plan.gives;
}

const message::Stream &MpiCommunicator::wholeIn(const Frame &f, Run run) {
  f.plan.takes.clear();
  message::addWholePieces(f.d.what.pieces, f.to, run.first, run.last,
                          &f.plan.takes);
  return f.plan.takes;
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

Status MpiCommunicator::checkCount(const Frame &f, int64_t count) {
  if (count <= INT_MAX)
    return Status();
  return Status::error(StatusCode::Unavailable,
                       "MPI cannot move so much at once",
                       opName(options, rank(), f.d.what.op),
                       std::to_string(count) + " elements, and 2147483647 are "
                                               "the most",
                       "give smaller packs or more ranks, or leave "
                       "--communicator mpi out");
}

//===----------------------------------------------------------------------===//
// What sums
//===----------------------------------------------------------------------===//

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

// 16-bit floats, which MPI has not, are summed in f32 and rounded once.
Status MpiCommunicator::reduceRun(const Frame &f, DataType type,
                                  const char *from, char *to, int64_t bytes,
                                  bool scatters) {
  int64_t count = bytes / byteSize(type);
  int64_t given = scatters ? count * f.d.size() : count;
  DIST_RETURN_IF_ERROR(checkCount(f, given));
  bool isHalf = type == manifest::F16,
       isWidened = isHalf || type == manifest::BF16;
  const void *addends = from;
  void *sums = to;
  if (isWidened) {
    for (int64_t i = 0; i < given; ++i) {
      uint16_t bits;
      std::memcpy(&bits, from + 2 * i, 2);
      f.wide[i] = isHalf ? halfToFloat(bits) : bfloatToFloat(bits);
    }
    addends = f.wide;
    sums = scatters ? f.wide + given : f.wide;
  }
  auto call = scatters ? mpi.reduce_scatter : mpi.all_reduce;
  DIST_RETURN_IF_ERROR(complete(f, [&](Request **request) {
    return call(f.group, addends, sums, count, typeFor(type),
                reductionFor(type, f.d.what.reduction), request);
  }));
  for (int64_t i = 0; isWidened && i < count; ++i) {
    float sum = static_cast<float *>(sums)[i];
    uint16_t bits = isHalf ? floatToHalf(sum) : floatToBfloat(sum);
    std::memcpy(to + 2 * i, &bits, 2);
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

//===----------------------------------------------------------------------===//
// What copies
//===----------------------------------------------------------------------===//

Status MpiCommunicator::exchange(const Frame &f) {
  const Run all = allOf(f);
  int size = f.d.size();
  bool isGather = f.d.what.kind == CollectiveKind::AllGather;
  int64_t bytes = outTo(f, f.d.position, all).size();
  DIST_RETURN_IF_ERROR(checkCount(f, bytes));
  char *packed = f.out, *others = f.in;
  if (isGather)
    outTo(f, f.d.position, all).gather(0, bytes, packed);
  for (int place = 0; !isGather && place < size; ++place)
    outTo(f, place, all).gather(0, bytes, packed + f.memberAt[place] * bytes);
  auto call = isGather ? mpi.all_gather : mpi.all_to_all;
  DIST_RETURN_IF_ERROR(complete(f, [&](Request **request) {
    return call(f.group, packed, others, bytes, request);
  }));
  for (int place = 0; place < size; ++place)
    inFrom(f, place, all).scatter(0, bytes, others + f.memberAt[place] * bytes);
  return Status();
}

Status MpiCommunicator::broadcast(const Frame &f, const Team &worker) {
  const Run all = allOf(f);
  int root = f.d.what.peer;
  bool isRoot = f.d.position == root;
  const Stream &stream = isRoot ? outTo(f, root, all) : inFrom(f, root, all);
  int64_t bytes = stream.size();
  DIST_RETURN_IF_ERROR(checkCount(f, bytes));
  char *packed = f.out;
  if (isRoot)
    stream.gather(0, bytes, packed);
  DIST_RETURN_IF_ERROR(complete(f, [&](Request **request) {
    return mpi.broadcast(f.group, packed, bytes, f.memberAt[root], request);
  }));
  if (isRoot)
    copyOwn(f, worker);
  else
    stream.scatter(0, bytes, packed);
  return Status();
}

void MpiCommunicator::copyOwn(const Frame &f, const Team &worker) {
  int me = f.d.position;
  for (int64_t i = 0; i < f.d.what.pieces.size; ++i)
    worker.pull(f.d.what.pieces[i], f.from[i], me, f.to[i], me);
}

Status MpiCommunicator::permute(const Frame &f, const Team &worker) {
  const Run all = allOf(f);
  const Sequence<int64_t> &sources = f.d.what.sources;
  int me = f.d.position, size = f.d.size(), tag = mpi.max_tag();
  int64_t source = sources[me], bytes = inFrom(f, 0, all).size();
  DIST_RETURN_IF_ERROR(checkCount(f, bytes));
  char *packed = f.out, *others = f.in;
  for (int target = 0; target < size; ++target)
    if (sources[target] == me && target != me)
      outTo(f, target, all).gather(0, bytes, packed + target * bytes);
  std::vector<Request *> &requests = f.plan.requests;
  requests.clear();
  int code = 0;
  {
    std::lock_guard<std::mutex> lock(calls);
    auto begin = [&](auto start, char *at, int place) {
      Request *request = nullptr;
      if (code == 0)
        code = start(f.group, at, bytes, f.memberAt[place], tag, &request);
      if (request)
        requests.push_back(request);
    };
    if (source >= 0 && source != me)
      begin(mpi.recv, others, source);
    for (int target = 0; target < size; ++target)
      if (sources[target] == me && target != me)
        begin(mpi.send, packed + target * bytes, target);
  }
  if (code != 0)
    return failed(f.d, code);
  DIST_RETURN_IF_ERROR(wait(f.d, requests));
  if (source == me)
    copyOwn(f, worker);
  else if (source >= 0)
    inFrom(f, source, all).scatter(0, bytes, others);
  else
    for (int64_t i = 0; i < all.last; ++i)
      std::memset(f.to[i], 0, bytesTo(f.d.what.pieces[i], size));
  return Status();
}

} // namespace dist::mpi
