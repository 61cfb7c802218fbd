//===- reduce.cpp - C interface: values of all processes ------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/capi.h"
#include "runtime/formats/convert.h"

using namespace dist;

namespace {

/// A value around its axis: each of outer x inner results is of `size`
/// elements.
struct Block {
  int64_t outer = 1, size = 1, inner = 1;
};

/// Numbers are combined as `Number`, which holds every element exactly.
template <typename Number>
Number reduceOne(const Number *elements, const Block &block,
                 dist_reduction_t reduction) {
  Number result = elements[0];
  for (int64_t i = 1; i < block.size; ++i) {
    Number next = elements[i * block.inner];
    // NaN stays, as in all reductions.
    if (reduction == DIST_REDUCTION_MAX)
      result = next > result || next != next ? next : result;
    else if (reduction == DIST_REDUCTION_MIN)
      result = next < result || next != next ? next : result;
    else
      result += next;
  }
  return reduction == DIST_REDUCTION_MEAN ? result / Number(block.size)
                                          : result;
}

template <typename Number>
void reduceAll(DataType type, DataType wide, const void *data,
               const Block &block, dist_reduction_t reduction, void *out) {
  int64_t results = block.outer * block.inner;
  std::vector<Number> elements(results * block.size), reduced(results);
  convertElements(type, data, wide, elements.data(), elements.size());
  for (int64_t i = 0; i < results; ++i)
    reduced[i] = reduceOne(
        &elements[i / block.inner * block.size * block.inner + i % block.inner],
        block, reduction);
  convertElements(wide, reduced.data(), type, out, results);
}

Status reduce(const TensorView &value, dist_reduction_t reduction, int32_t axis,
              void *out, size_t bytes) {
  if (reduction == DIST_REDUCTION_MEAN && !isFloat(value.type))
    return badArgument("a mean is of floats", name(value.type));
  if (axis >= int64_t(value.shape.size()))
    return badArgument("the value has no such axis", std::to_string(axis));
  Block block;
  for (int64_t dim = 0; dim < int64_t(value.shape.size()); ++dim)
    (dim == axis               ? block.size
     : axis >= 0 && dim > axis ? block.inner
                               : block.outer) *= value.shape[dim];
  if (block.size == 0)
    return badArgument("there is nothing along the axis", std::to_string(axis));
  size_t needed = block.outer * block.inner * byteSize(value.type);
  if (bytes < needed || (needed > 0 && (!out || !value.data)))
    return badArgument("too little room for the result",
                       std::to_string(needed) + " bytes");
  if (isFloat(value.type))
    reduceAll<double>(value.type, manifest::F64, value.data, block, reduction,
                      out);
  else if (value.type == manifest::U64)
    reduceAll<uint64_t>(value.type, manifest::U64, value.data, block, reduction,
                        out);
  else
    reduceAll<int64_t>(value.type, manifest::I64, value.data, block, reduction,
                       out);
  return Status();
}

} // namespace

dist_status_t *dist_session_reduce(dist_session_t *session,
                                   dist_reduction_t reduction, int32_t axis,
                                   const dist_tensor_t *value, void *out_data,
                                   size_t bytes) {
  return guarded([&]() -> Status {
    if (!session)
      return badArgument("a session is needed");
    int number = numberOf(reduction);
    if (number < DIST_REDUCTION_SUM || number > DIST_REDUCTION_MIN)
      return badArgument("no such reduction", std::to_string(number));
    TensorView view;
    DIST_RETURN_IF_ERROR(toView(value, &view));
    // All ranks are of this process: what it has is all there is.
    return reduce(view, reduction, axis, out_data, bytes);
  });
}
