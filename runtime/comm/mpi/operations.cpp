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

Status MpiCommunicator::checkCount(const Description &d, int64_t count,
                                   const char *units) {
  if (count <= INT_MAX)
    return Status();
  return Status::error(
      StatusCode::Unavailable, "MPI cannot move so much at once",
      opName(options, rank(), d.what.op),
      std::string(name(d.what.kind)) + " has " + std::to_string(count) + " " +
          units + ", and 2147483647 are the most",
      "give smaller packs or more ranks, or leave "
      "--communicator mpi out");
}

Status MpiCommunicator::exchange(const Frame &f) {
  const Run all = allOf(f);
  int size = f.d.size();
  bool isGather = f.d.what.kind == CollectiveKind::AllGather;
  int64_t bytes = outTo(f, f.d.position, all).size();
  DIST_RETURN_IF_ERROR(checkCount(f.d, bytes, "bytes"));
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
  DIST_RETURN_IF_ERROR(checkCount(f.d, bytes, "bytes"));
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
  DIST_RETURN_IF_ERROR(checkCount(f.d, bytes, "bytes"));
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
  DIST_RETURN_IF_ERROR(wait(f.d, requests, For::Mpi));
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
