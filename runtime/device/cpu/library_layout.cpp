//===- library_layout.cpp - oneDNN's descriptors of memory ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/library_layout.h"
#include "runtime/core/types.h"

namespace dist::cpu {

dnnl::memory::data_type libraryType(manifest::DataType type) {
  switch (type) {
  case manifest::F32:
    return dnnl::memory::data_type::f32;
  case manifest::BF16:
    return dnnl::memory::data_type::bf16;
  case manifest::F16:
    return dnnl::memory::data_type::f16;
  default:
    return dnnl::memory::data_type::undef;
  }
}

Desc toDesc(const manifest::LibraryKernel::Memory &memory, size_t numDims) {
  dnnl::memory::dims dims(memory.dims().begin(), memory.dims().end());
  dnnl::memory::dims strides(memory.strides().begin(), memory.strides().end());
  bool vector = dims.size() == 1;
  if (vector && strides.empty())
    strides = {1};
  if (vector && numDims > 1) { // a matmul's bias counts as a row
    strides.insert(strides.begin(), numDims - 1, dims[0]);
    dims.insert(dims.begin(), numDims - 1, 1);
  }
  dnnl::memory::data_type type = libraryType(memory.type());
  if (strides.empty())
    return Desc(dims, type, dnnl::memory::format_tag::any, true);
  return Desc(dims, type, strides, true);
}

bool isPlainLayout(const Desc &desc) {
  return desc.get_format_kind() == dnnl::memory::format_kind::blocked &&
         desc.get_inner_nblks() == 0 &&
         desc.get_padded_dims() == desc.get_dims();
}

std::string describeLayout(const Desc &desc) {
  if (desc.get_format_kind() != dnnl::memory::format_kind::blocked)
    return "";
  std::string text =
      std::to_string(static_cast<int>(desc.get_data_type())) + " ";
  for (const auto &list : {desc.get_padded_dims(), desc.get_strides(),
                           desc.get_inner_blks(), desc.get_inner_idxs()})
    text += toString(list);
  return text;
}

} // namespace dist::cpu
