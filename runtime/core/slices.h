//===- slices.h - Parts of global tensors on ranks --------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_SLICES_H
#define RUNTIME_CORE_SLICES_H

#include "runtime/core/status.h"
#include "runtime/core/types.h"
#include <functional>

namespace dist {

/// Where one rank's part of a tensor lies in the whole.
struct Slice {
  /// One a dim. Where the parts of a dim cannot be equal, the last ranks' are
  /// smaller than `localShape` (even empty): what they hold behind is padding.
  std::vector<int64_t> start, size;
  bool padded = false;
  /// Of the ranks that hold the same part, one is the first.
  bool firstCopy = true;
  /// Place among the ranks whose parts add up to the value (0: the first).
  int64_t partial = 0;
  /// In the whole tensor the part, which then has no padding, is one run of
  /// bytes from `offset` on.
  bool contiguous = true;
  int64_t offset = 0;
};

/// The part of a tensor that some ranks have between them, as a box of it.
struct Window {
  std::vector<int64_t> start, shape;
  /// Whether any of them has a part.
  bool present = false;
  /// Whether each element of the box is some rank's.
  bool whole = false;
};

/// What a tensor is: how a dim that is split over an axis with weights is cut.
enum class Content { Variable, Examples };

/// A tensor's distribution over a mesh: the parts of a dim are as large as the
/// first needs to be. Examples follow the axes' weights: their parts differ,
/// and `localShape` is that of one. Errors: axes the mesh has not, a local type
/// that does not follow.
class Distribution {
public:
  static Status create(const manifest::Mesh &mesh,
                       const manifest::TensorType &global,
                       const manifest::TensorType &local,
                       const manifest::Sharding &sharding,
                       const std::string &where, Distribution *out,
                       Content content = Content::Variable);

  DataType type = manifest::DATA_TYPE_UNKNOWN;
  std::vector<int64_t> globalShape, localShape;
  int64_t globalBytes = 0, localBytes = 0; // localBytes: of the largest part
  std::vector<bool> weighted;              // by dim: whether parts differ
  std::vector<Slice> slices;               // one a rank
  int64_t parts = 1;      // that all ranks together hold, partial sums aside
  bool sharded = false;   // some dim is split over more than one rank
  bool unreduced = false; // ranks hold partial sums

  /// Leaves only the ranks of which `holds` says so: the first copy of a part
  /// is the first that one of them has.
  void keepRanks(const std::function<bool(int rank)> &holds);

  /// Leaves `ranks` alone, and of the tensor the smallest box with all that
  /// they have: shapes and slices are the box's from now on.
  Window narrowTo(const std::vector<int> &ranks);

  /// The shape of a rank's part, with its padding.
  std::vector<int64_t> partShape(int rank) const {
    return shapeOf(slices[rank]);
  }

  /// Copies between the whole and a rank's part; its padding becomes zero.
  void cut(const void *global, int rank, void *local) const;
  void paste(const void *local, int rank, void *global) const;

private:
  std::vector<int64_t> shapeOf(const Slice &slice) const;
  /// Finds where a rank's part lies in the tensor.
  void locate(Slice *slice) const;
};

/// A box of a tensor, dense in memory of its own.
struct Box {
  std::vector<int64_t> start, shape;
};

/// Whether both have an element.
bool overlap(const Box &one, const Box &other);

/// Copies what both have, if anything, from the one to the other.
void copyOverlap(const Box &fromBox, const void *from, const Box &toBox,
                 void *to, int64_t elementBytes);

/// Adds up the ranks' partial sums, in rank order, into the whole tensor.
/// `address(rank)` is where a rank's part lies.
void addPartials(const Distribution &distribution,
                 const std::function<const void *(int rank)> &address,
                 void *global);

/// The weight of a place along an axis (1 where there are none), and the sum of
/// those before it.
int64_t weightOf(const manifest::Axis &axis, int64_t place);
int64_t weightBefore(const manifest::Axis &axis, int64_t place);

/// Ranks of a mesh (1 without axes), with the host, and without.
int64_t rankCount(const manifest::Mesh &mesh);
int64_t deviceCount(const manifest::Mesh &mesh);

} // namespace dist

#endif // RUNTIME_CORE_SLICES_H
