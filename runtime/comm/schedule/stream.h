//===- stream.h - Pieces as one run of bytes --------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What one rank gives another of several pieces, seen as one run of bytes, cut
// into slices: a slice is a message. Both ends see the same run, wherever and
// in whatever strides their bytes lie.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_SCHEDULE_STREAM_H
#define RUNTIME_COMM_SCHEDULE_STREAM_H

#include "runtime/core/communicator.h"
#include <algorithm>
#include <vector>

namespace dist::message {

class Stream {
public:
  /// Bytes that lie in `outer` times `rows` blocks of `bytes`.
  struct Part {
    char *base = nullptr;
    int64_t outer = 1, rows = 1, bytes = 0;
    int64_t outerStride = 0, rowStride = 0;
    int64_t piece = 0;
    int64_t size() const { return outer * rows * bytes; }
  };

  /// Parts begin where any element may lie.
  void add(const Part &part);
  /// Takes all parts out; another stream of as many needs no more memory.
  void clear();
  /// So many parts will need no more memory.
  void reserve(int64_t count);
  int64_t size() const { return total; }

  /// Calls fn(piece, address, offset, bytes) for the blocks in [lo, hi), in
  /// order; offsets are the stream's.
  template <typename Fn> void walk(int64_t lo, int64_t hi, Fn fn) const {
    for (size_t i = firstAt(lo); i < parts.size() && starts[i] < hi; ++i) {
      const Part &part = parts[i];
      int64_t first = std::max<int64_t>(lo - starts[i], 0);
      int64_t last = std::min(hi - starts[i], part.size());
      while (first < last) {
        int64_t block = first / part.bytes, within = first % part.bytes;
        int64_t bytes = std::min(part.bytes - within, last - first);
        fn(part.piece,
           part.base + block / part.rows * part.outerStride +
               block % part.rows * part.rowStride + within,
           starts[i] + first, bytes);
        first += bytes;
      }
    }
  }

  /// Where [lo, hi) lies, if it is one run of memory; else null.
  char *findRun(int64_t lo, int64_t hi) const;
  /// Copies [lo, hi) to one run of memory, and from one.
  void gather(int64_t lo, int64_t hi, char *to) const;
  void scatter(int64_t lo, int64_t hi, const char *from) const;

  /// Where the part at an offset ends, and where the next one begins: up to
  /// seven bytes on.
  struct PartEnd {
    int64_t end = 0, next = 0;
  };
  PartEnd partEndAfter(int64_t offset) const;

private:
  size_t firstAt(int64_t offset) const;

  std::vector<Part> parts;
  std::vector<int64_t> starts;
  int64_t total = 0;
};

/// Adds pieces [first, last) of a call whose buffers are `buffers`: what goes
/// to the position `place`, what comes from it, and all of them as they lie.
void addPiecesTo(const Sequence<Piece> &pieces, void *const *buffers, int place,
                 int64_t first, int64_t last, Stream *stream);
void addPiecesFrom(const Sequence<Piece> &pieces, void *const *buffers,
                   int place, int64_t first, int64_t last, Stream *stream);
void addWholePieces(const Sequence<Piece> &pieces, void *const *buffers,
                    int64_t first, int64_t last, Stream *stream);

/// How bytes are cut into messages. There is one, if empty, at least. Who sends
/// and who receives cut alike: by sizes, wherever their buffers lie.
class Slices {
public:
  Slices() = default;
  Slices(int64_t lo, int64_t hi) { cut(lo, hi); }
  Slices(const Stream &stream, int64_t lo, int64_t hi) { cut(stream, lo, hi); }

  /// Anew, as one run of memory.
  void cut(int64_t lo, int64_t hi);
  /// Anew, as the stream's parts lie, so that most messages come from and go to
  /// one run of memory and nothing is copied: of a large part a slice has
  /// nothing but that, and small parts that follow each other share one.
  void cut(const Stream &stream, int64_t lo, int64_t hi);
  /// Anew: parts [first, first + count) of `size` of a stream, which is cut
  /// into parts at cache lines.
  void cutParts(const Stream &stream, int first, int count, int size);

  int64_t count() const { return cuts.size(); }
  int64_t begin(int64_t i) const { return cuts[i].first; }
  int64_t end(int64_t i) const { return cuts[i].second; }
  /// Bytes of the largest.
  int64_t most() const;

private:
  std::vector<std::pair<int64_t, int64_t>> cuts;
};

} // namespace dist::message

#endif // RUNTIME_COMM_SCHEDULE_STREAM_H
