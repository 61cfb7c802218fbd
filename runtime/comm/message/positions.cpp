//===- positions.cpp - Which ranks of a group need as much ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/message/positions.h"
#include "runtime/comm/schedule/parts.h"

namespace dist::message {

Positions::Positions(const Collective &call, Algorithm way, int size)
    : call(call), way(way), size(size) {
  if (call.kind == CollectiveKind::Permute) {
    told.resize(size);
    for (int64_t target = 0; target < call.sources.size; ++target)
      if (int64_t source = call.sources[target];
          source >= 0 && source != target)
        ++told[source];
  }
  if (call.kind == CollectiveKind::AllReduce && way == Algorithm::Parts)
    findParts();
  if (call.kind == CollectiveKind::AllReduce && way == Algorithm::Ring)
    findRingParts();
}

Positions::Shape Positions::shapeOf(const Stream &stream,
                                    const Slices &slices) {
  Shape shape{0, slices.most(), slices.count()};
  for (int64_t i = 0; i < slices.count(); ++i)
    if (!stream.findRun(slices.begin(i), slices.end(i)))
      shape.packed += (slices.end(i) - slices.begin(i) + 63) & ~int64_t(63);
  return shape;
}

/// Where the i-th piece may lie: nothing is read there, and no two of them
/// follow each other.
static char *placeOf(int64_t i) {
  return reinterpret_cast<char *>(uintptr_t(i + 1) << 40); // NOLINT
}

void Positions::findParts() {
  std::vector<void *> buffers;
  for (int64_t i = 0; i < call.pieces.size; ++i)
    buffers.push_back(placeOf(i));
  Stream whole;
  addWholePieces(call.pieces, buffers.data(), 0, call.pieces.size, &whole);
  Slices slices;
  for (int part = 0; part < size; ++part) {
    slices.cutParts(whole, part, 1, size);
    parts.push_back(shapeOf(whole, slices));
  }
}

void Positions::findRingParts() {
  Stream part;
  Slices slices;
  for (int p = 0; p < size; ++p) {
    part.clear();
    for (int64_t i = 0; i < call.pieces.size; ++i) {
      const Piece &piece = call.pieces[i];
      int64_t width = byteSize(static_cast<DataType>(piece.type));
      auto [lo, hi] = partOf(piece.outer * piece.rows * piece.bytes / width,
                             width, p, size);
      part.add({placeOf(i) + lo * width, 1, 1, (hi - lo) * width, 0, 0, i});
    }
    slices.cut(part, 0, part.size());
    parts.push_back(shapeOf(part, slices));
  }
}

int64_t Positions::countTold(int position, int64_t root) const {
  int64_t v = (position - root + size) % size, bit = 1, count = 0;
  while (bit < size && !(v & bit))
    bit <<= 1;
  for (int64_t lower = bit >> 1; lower > 0; lower >>= 1)
    count += v + lower < size;
  return count;
}

Positions::Key Positions::keyOfParts(std::initializer_list<int> which) const {
  Key key;
  for (int part : which) {
    const Shape &shape = parts[part % size];
    key.insert(key.end(), {shape.packed, shape.most, shape.count});
  }
  return key;
}

Positions::Key Positions::keyOf(int position) const {
  switch (call.kind) {
  case CollectiveKind::Permute: {
    int64_t source = call.sources[position];
    return {source == position, source >= 0, told[position]};
  }
  case CollectiveKind::Broadcast:
    return {position == call.peer, countTold(position, call.peer)};
  case CollectiveKind::Reduce: // the host's, and the others
    return {position == size - 1};
  case CollectiveKind::AllReduce:
    break;
  default: // the same with all others
    return {};
  }
  switch (way) {
  case Algorithm::ReduceToOne:
    return {position == 0, countTold(position, 0)};
  case Algorithm::Parts: // sums its own, and has the others twice
    return keyOfParts({position});
  case Algorithm::Ring:
    // Of 2 (size - 1) steps, in each of which it sends one part and takes one,
    // these parts come once, and the others twice.
    return keyOfParts({position, position + 1, position + 2});
  case Algorithm::HalvingDoubling: // rounds of its own
    return {position};
  default: // all addends
    return {};
  }
}

} // namespace dist::message
