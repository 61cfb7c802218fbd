//===- slices.cpp - Parts of global tensors on ranks ----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/slices.h"
#include "runtime/comm/common/reduce.h"
#include <algorithm>
#include <cstring>
#include <set>

namespace dist {

namespace {

/// Bytes from one index of each dim to the next; in front, those of all.
std::vector<int64_t> byteStrides(const std::vector<int64_t> &shape,
                                 int64_t elementBytes) {
  std::vector<int64_t> stride(shape.size() + 1, elementBytes);
  for (size_t i = shape.size(); i-- > 0;)
    stride[i] = stride[i + 1] * shape[i];
  return stride;
}

/// Calls visit(offset in the whole, offset in the part, bytes) for each run of
/// bytes that is contiguous in both. `local`: the part with its padding.
template <typename Visit>
void forEachRun(const std::vector<int64_t> &whole,
                const std::vector<int64_t> &local, const Slice &slice,
                int64_t elementBytes, Visit visit) {
  for (int64_t size : slice.size)
    if (size == 0)
      return;
  // The innermost dims that are taken whole, and the one before them, are one
  // run.
  size_t outer = whole.size();
  int64_t run = elementBytes;
  while (outer > 0) {
    --outer;
    run *= slice.size[outer];
    if (slice.size[outer] != whole[outer] || slice.size[outer] != local[outer])
      break;
  }
  std::vector<int64_t> index(outer, 0);
  std::vector<int64_t> stride = byteStrides(whole, elementBytes);
  std::vector<int64_t> partStride = byteStrides(local, elementBytes);
  int64_t base = 0;
  for (size_t i = 0; i < whole.size(); ++i)
    base += slice.start[i] * stride[i + 1];
  while (true) {
    int64_t offset = base, part = 0;
    for (size_t i = 0; i < outer; ++i) {
      offset += index[i] * stride[i + 1];
      part += index[i] * partStride[i + 1];
    }
    visit(offset, part, run);
    size_t dim = outer;
    while (dim-- > 0) {
      if (++index[dim] < slice.size[dim])
        break;
      index[dim] = 0;
    }
    if (dim == size_t(-1))
      return;
  }
}

Status invalid(const std::string &where, const std::string &why) {
  return Status::error(StatusCode::InvalidInput, "the manifest is damaged",
                       where, why, "recompile the package");
}

} // namespace

int64_t rankCount(const manifest::Mesh &mesh) {
  int64_t ranks = mesh.host() ? 1 : 0;
  return ranks + deviceCount(mesh);
}

int64_t deviceCount(const manifest::Mesh &mesh) {
  int64_t ranks = 1;
  for (const manifest::Axis &axis : mesh.axes())
    ranks *= axis.size();
  return ranks;
}

int64_t weightOf(const manifest::Axis &axis, int64_t place) {
  return axis.weights().empty() ? 1 : axis.weights(place);
}

int64_t weightBefore(const manifest::Axis &axis, int64_t place) {
  int64_t sum = 0;
  for (int64_t i = 0; i < place; ++i)
    sum += weightOf(axis, i);
  return sum;
}

Status Distribution::create(const manifest::Mesh &mesh,
                            const manifest::TensorType &global,
                            const manifest::TensorType &local,
                            const manifest::Sharding &sharding,
                            const std::string &where, Distribution *out,
                            Content content) {
  Distribution result;
  result.type = global.type();
  result.globalShape = dist::shapeOf(global);
  result.localShape = dist::shapeOf(local);
  size_t dims = result.globalShape.size();
  int64_t element = byteSize(result.type);
  if (element == 0 || local.type() != global.type() ||
      result.localShape.size() != dims ||
      (sharding.dims_size() != 0 &&
       sharding.dims_size() != static_cast<int>(dims)))
    return invalid(where, "its types do not fit its sharding");
  result.globalBytes = element;
  for (int64_t dim : result.globalShape)
    if (dim < 0 ||
        __builtin_mul_overflow(result.globalBytes, dim, &result.globalBytes))
      return invalid(where, "its type has no size");

  int numAxes = mesh.axes_size();
  auto findAxis = [&](const std::string &name) {
    for (int i = 0; i < numAxes; ++i)
      if (mesh.axes(i).name() == name)
        return i;
    return -1;
  };
  std::vector<std::vector<int>> dimAxes(dims);
  std::vector<int> partialAxes;
  std::vector<bool> used(numAxes, false);
  auto use = [&](const std::string &name, std::vector<int> &list) {
    int axis = findAxis(name);
    if (axis < 0 || used[axis])
      return false;
    used[axis] = true;
    list.push_back(axis);
    return true;
  };
  for (int dim = 0; dim < sharding.dims_size(); ++dim)
    for (const std::string &name : sharding.dims(dim).axes())
      if (!use(name, dimAxes[dim]))
        return invalid(where, "its sharding has no or twice the axis " + name);
  for (const std::string &name : sharding.unreduced())
    if (!use(name, partialAxes))
      return invalid(where, "its sharding has no or twice the axis " + name);

  // Of a dim of examples the major axis may have weights, which divide it.
  std::vector<const manifest::Axis *> weights(dims, nullptr);
  result.weighted.assign(dims, false);
  if (content == Content::Examples)
    for (size_t dim = 0; dim < dims; ++dim)
      if (!dimAxes[dim].empty() &&
          !mesh.axes(dimAxes[dim].front()).weights().empty()) {
        weights[dim] = &mesh.axes(dimAxes[dim].front());
        result.weighted[dim] = true;
      }

  result.localBytes = element;
  for (size_t dim = 0; dim < dims; ++dim) {
    int64_t parts = 1;
    for (int axis : dimAxes[dim])
      parts *= mesh.axes(axis).size();
    int64_t whole = result.globalShape[dim];
    if (const manifest::Axis *axis = weights[dim]) {
      // All minor parts are equal; which of the shares it is, the caller knows.
      int64_t minor = parts / axis->size();
      int64_t unit = weightBefore(*axis, axis->size()) * minor, largest = 0;
      bool found = false;
      for (int64_t place = 0; place < axis->size(); ++place) {
        int64_t size = whole / unit * weightOf(*axis, place);
        largest = std::max(largest, size);
        found |= size == result.localShape[dim];
      }
      if (whole % unit != 0 || !found)
        return invalid(where, "local shape " + toString(result.localShape) +
                                  " is no share of " +
                                  toString(result.globalShape));
      result.sharded = true;
      result.parts *= parts;
      result.localBytes *= largest;
      continue;
    }
    if (parts < 1 ||
        result.localShape[dim] != whole / parts + (whole % parts != 0))
      return invalid(where, "local shape " + toString(result.localShape) +
                                " is not its part of " +
                                toString(result.globalShape));
    result.sharded |= parts > 1;
    result.parts *= parts;
    result.localBytes *= result.localShape[dim];
  }
  for (int axis : partialAxes)
    result.unreduced |= mesh.axes(axis).size() > 1;

  int64_t ranks = rankCount(mesh);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    std::vector<int64_t> place(numAxes);
    int64_t rest = rank;
    for (int axis = numAxes; axis-- > 0;) {
      place[axis] = rest % mesh.axes(axis).size();
      rest /= mesh.axes(axis).size();
    }
    auto index = [&](const std::vector<int> &axes) {
      int64_t number = 0;
      for (int axis : axes)
        number = number * mesh.axes(axis).size() + place[axis];
      return number;
    };
    Slice slice;
    for (size_t dim = 0; dim < dims; ++dim) {
      int64_t local = result.localShape[dim];
      if (const manifest::Axis *axis = weights[dim]) {
        std::vector<int> minor(dimAxes[dim].begin() + 1, dimAxes[dim].end());
        int64_t parts = 1;
        for (int other : minor)
          parts *= mesh.axes(other).size();
        int64_t unit =
            result.globalShape[dim] / parts / weightBefore(*axis, axis->size());
        int64_t at = place[dimAxes[dim].front()];
        local = unit * weightOf(*axis, at);
        slice.start.push_back(unit * parts * weightBefore(*axis, at) +
                              index(minor) * local);
        slice.size.push_back(local);
        continue;
      }
      slice.start.push_back(index(dimAxes[dim]) * local);
      slice.size.push_back(std::clamp<int64_t>(
          result.globalShape[dim] - slice.start[dim], 0, local));
    }
    slice.partial = index(partialAxes);
    for (int axis = 0; axis < numAxes; ++axis)
      slice.firstCopy &= used[axis] || place[axis] == 0;
    // The host comes behind them; where it has a tensor, it is whole.
    slice.firstCopy &= rank < deviceCount(mesh);
    result.locate(&slice);
    result.slices.push_back(std::move(slice));
  }
  *out = std::move(result);
  return Status();
}

std::vector<int64_t> Distribution::shapeOf(const Slice &slice) const {
  std::vector<int64_t> shape = localShape;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (weighted[dim])
      shape[dim] = slice.size[dim];
  return shape;
}

void Distribution::locate(Slice *slice) const {
  int runs = 0;
  std::vector<int64_t> part = shapeOf(*slice);
  slice->offset = 0;
  forEachRun(globalShape, part, *slice, byteSize(type),
             [&](int64_t offset, int64_t, int64_t) {
               if (runs++ == 0)
                 slice->offset = offset;
             });
  slice->padded = slice->size != part;
  slice->contiguous = runs <= 1 && !slice->padded;
}

Window Distribution::narrowTo(const std::vector<int> &ranks) {
  Window window;
  std::set<std::vector<int64_t>> counted; // starts
  int64_t held = 0;
  for (int rank : ranks) {
    const Slice &slice = slices[rank];
    bool empty = elementCount(slice.size) == 0;
    // Of nothing but padding, the box is as empty as it is.
    if (!window.present || (elementCount(window.shape) == 0 && !empty)) {
      window.present = true;
      window.start = slice.start;
      window.shape = slice.size;
    }
    if (empty)
      continue;
    for (size_t dim = 0; dim < slice.size.size(); ++dim) {
      int64_t last = std::max(window.start[dim] + window.shape[dim],
                              slice.start[dim] + slice.size[dim]);
      window.start[dim] = std::min(window.start[dim], slice.start[dim]);
      window.shape[dim] = last - window.start[dim];
    }
    if (counted.insert(slice.start).second)
      held += elementCount(slice.size);
  }
  window.whole = window.present && held == elementCount(window.shape);
  keepRanks([&](int rank) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
  });
  if (!window.present)
    return window;
  globalShape = window.shape;
  globalBytes = elementCount(globalShape) * byteSize(type);
  for (int rank : ranks) {
    Slice &slice = slices[rank];
    for (size_t dim = 0; dim < slice.start.size(); ++dim)
      slice.start[dim] -= window.start[dim];
    locate(&slice);
  }
  return window;
}

void Distribution::keepRanks(const std::function<bool(int rank)> &holds) {
  for (size_t rank = 0; rank < slices.size(); ++rank) {
    Slice &slice = slices[rank];
    slice.firstCopy = holds(rank);
    for (size_t other = 0; other < rank && slice.firstCopy; ++other)
      slice.firstCopy = !slices[other].firstCopy ||
                        slices[other].start != slice.start ||
                        slices[other].partial != slice.partial;
  }
}

void Distribution::cut(const void *global, int rank, void *local) const {
  if (slices[rank].padded)
    std::memset(local, 0, localBytes);
  forEachRun(globalShape, partShape(rank), slices[rank], byteSize(type),
             [&](int64_t whole, int64_t part, int64_t bytes) {
               std::memcpy(static_cast<char *>(local) + part,
                           static_cast<const char *>(global) + whole, bytes);
             });
}

void Distribution::paste(const void *local, int rank, void *global) const {
  forEachRun(globalShape, partShape(rank), slices[rank], byteSize(type),
             [&](int64_t whole, int64_t part, int64_t bytes) {
               std::memcpy(static_cast<char *>(global) + whole,
                           static_cast<const char *>(local) + part, bytes);
             });
}

bool overlap(const Box &one, const Box &other) {
  for (size_t dim = 0; dim < one.start.size(); ++dim)
    if (std::max(one.start[dim], other.start[dim]) >=
        std::min(one.start[dim] + one.shape[dim],
                 other.start[dim] + other.shape[dim]))
      return false;
  return true;
}

void copyOverlap(const Box &fromBox, const void *from, const Box &toBox,
                 void *to, int64_t elementBytes) {
  if (!overlap(fromBox, toBox))
    return;
  // As a part of the box to copy from, and where that lies in the other.
  Slice common;
  std::vector<int64_t> place;
  for (size_t dim = 0; dim < fromBox.start.size(); ++dim) {
    int64_t first = std::max(fromBox.start[dim], toBox.start[dim]);
    int64_t last = std::min(fromBox.start[dim] + fromBox.shape[dim],
                            toBox.start[dim] + toBox.shape[dim]);
    common.start.push_back(first - fromBox.start[dim]);
    common.size.push_back(last - first);
    place.push_back(first - toBox.start[dim]);
  }
  std::vector<int64_t> stride = byteStrides(toBox.shape, elementBytes);
  int64_t base = 0;
  for (size_t dim = 0; dim < place.size(); ++dim)
    base += place[dim] * stride[dim + 1];
  forEachRun(fromBox.shape, toBox.shape, common, elementBytes,
             [&](int64_t offset, int64_t part, int64_t bytes) {
               std::memcpy(static_cast<char *>(to) + base + part,
                           static_cast<const char *>(from) + offset, bytes);
             });
}

void addPartials(const Distribution &d,
                 const std::function<const void *(int rank)> &address,
                 void *global) {
  ReduceFn reduce = findReduction(d.type, Reduction::Sum);
  Buffer sum(d.localBytes);
  std::vector<const void *> parts;
  for (size_t rank = 0; rank < d.slices.size(); ++rank) {
    if (!d.slices[rank].firstCopy || d.slices[rank].partial != 0)
      continue;
    parts.clear();
    for (size_t other = 0; other < d.slices.size(); ++other)
      if (d.slices[other].firstCopy &&
          d.slices[other].start == d.slices[rank].start)
        parts.push_back(address(other));
    void *target = sum.data();
    reduce(parts.data(), parts.size(), &target, 1, 0,
           elementCount(d.localShape));
    d.paste(sum.data(), rank, global);
  }
}

} // namespace dist
