//===- tensorflow_model.cpp - TensorFlow's models as messages -------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/tensorflow_model.h"
#include "runtime/formats/foreign.h"
#include "runtime/formats/tensor_bundle.h"
#include "runtime/formats/tensorflow.pb.h"
#include <climits>
#include <cstring>

using namespace dist;

namespace {
Status invalid(const std::string &what, const std::string &where,
               const std::string &why, const std::string &todo = "") {
  return Status::error(StatusCode::InvalidInput, what, where, why, todo);
}

/// What a list may be repeated to: a few bytes of a file make no more.
constexpr size_t kMostRepeated = size_t(1) << 30;

/// A list's numbers as elements of `Element`, the last repeated; nothing at all
/// stands for zeros.
template <typename Element, typename List>
bool fill(const List &list, size_t count, std::string *out) {
  if (size_t(list.size()) > count)
    return false;
  out->assign(count * sizeof(Element), 0);
  Element last = 0;
  for (size_t i = 0; i < count; ++i) {
    if (i < size_t(list.size()))
      last = static_cast<Element>(list.Get(int(i)));
    std::memcpy(out->data() + i * sizeof(Element), &last, sizeof(Element));
  }
  return true;
}

bool fillElements(const tensorflow::TensorProto &tensor, DataType type,
                  size_t count, std::string *out) {
  switch (type) {
  case manifest::F32:
    return fill<float>(tensor.float_val(), count, out);
  case manifest::F64:
    return fill<double>(tensor.double_val(), count, out);
  case manifest::F16:
  case manifest::BF16:
    return fill<uint16_t>(tensor.half_val(), count, out);
  case manifest::BOOL:
    return fill<uint8_t>(tensor.bool_val(), count, out);
  case manifest::I8:
  case manifest::U8:
    return fill<uint8_t>(tensor.int_val(), count, out);
  case manifest::I16:
  case manifest::U16:
    return fill<uint16_t>(tensor.int_val(), count, out);
  case manifest::I32:
    return fill<int32_t>(tensor.int_val(), count, out);
  case manifest::I64:
    return fill<int64_t>(tensor.int64_val(), count, out);
  case manifest::U32:
    return fill<uint32_t>(tensor.uint32_val(), count, out);
  case manifest::U64:
    return fill<uint64_t>(tensor.uint64_val(), count, out);
  default:
    return false;
  }
}
} // namespace

Status dist::takeTensorFlowTensor(const tensorflow::TensorProto &tensor,
                                  const std::string &where, HostArray *out) {
  constexpr const char *kWhat = "cannot read a tensor";
  DataType type = fromTensorFlowType(tensor.dtype());
  if (type == manifest::DATA_TYPE_UNKNOWN)
    return invalid(kWhat, where,
                   "elements of " + tensorFlowTypeName(tensor.dtype()) +
                       " are not supported");
  std::vector<int64_t> shape;
  for (const auto &dim : tensor.tensor_shape().dim())
    shape.push_back(dim.size());
  size_t size = 0;
  if (tensor.tensor_shape().unknown_rank() ||
      !checkedBytes(shape, byteSize(type), &size))
    return invalid(kWhat, where, "its shape is impossible");
  auto bytes = std::make_shared<std::string>();
  if (!tensor.tensor_content().empty()) {
    if (tensor.tensor_content().size() != size)
      return invalid(kWhat, where,
                     "it has " +
                         std::to_string(tensor.tensor_content().size()) +
                         " bytes, and its shape has " + std::to_string(size));
    *bytes = tensor.tensor_content();
  } else if (size > kMostRepeated) {
    return invalid(kWhat, where, "one number stands for too many");
  } else if (!fillElements(tensor, type, size / byteSize(type), bytes.get())) {
    return invalid(kWhat, where, "it has more numbers than its shape");
  }
  const char *data = bytes->data();
  *out = {type, shape, data, bytes};
  return {};
}

Status dist::parseTensorFlowModel(std::string_view bytes,
                                  const std::string &where,
                                  tensorflow::MetaGraphDef *out, bool *frozen) {
  constexpr const char *kWhat = "cannot read the model";
  if (bytes.size() > INT_MAX)
    return invalid(kWhat, where, "Protocol Buffers end at 2 GiB");
  *frozen = !isSavedModel(bytes);
  int size = int(bytes.size());
  if (*frozen) {
    if (!out->mutable_graph_def()->ParseFromArray(bytes.data(), size))
      return invalid(kWhat, where, "the GraphDef is damaged",
                     "write or fetch it again");
    return {};
  }
  tensorflow::SavedModel model;
  if (!model.ParseFromArray(bytes.data(), size))
    return invalid(kWhat, where, "the SavedModel is damaged",
                   "write or fetch it again");
  // TF1 saves the graphs for training and for serving apart.
  int chosen = -1;
  for (int i = 0; i < model.meta_graphs_size(); ++i)
    for (const std::string &tag : model.meta_graphs(i).meta_info_def().tags())
      if (chosen < 0 && tag == "serve")
        chosen = i;
  if (chosen < 0 && model.meta_graphs_size() == 1)
    chosen = 0;
  if (chosen < 0)
    return invalid(kWhat, where, "the SavedModel has no graph tagged 'serve'",
                   "save it with tf.saved_model.save");
  *out = std::move(*model.mutable_meta_graphs(chosen));
  return {};
}
