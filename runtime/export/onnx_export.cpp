//===- onnx_export.cpp - A trained model as an ONNX file -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/export/onnx_export.h"
#include "runtime/formats/file.h"
#include "runtime/formats/onnx.pb.h"
#include "runtime/formats/onnx_tensor.h"
#include <climits>
#include <set>

using namespace dist;

namespace {
Status readModel(const std::string &path, onnx::ModelProto *model) {
  std::shared_ptr<const FileBytes> file;
  DIST_RETURN_IF_ERROR(FileBytes::open(path, &file));
  return parseOnnxModel(file->bytes(), path, model);
}

Status writeModel(const onnx::ModelProto &model, const std::string &path) {
  std::string bytes;
  if (model.ByteSizeLong() > INT_MAX || !model.SerializeToString(&bytes))
    return Status::error(StatusCode::InvalidInput, "cannot write the model",
                         path, "an ONNX file ends at 2 GiB",
                         "write the weights as .safetensors");
  return writeFile(path, bytes);
}

/// Whether an initializer has elements, in any field.
bool isFilled(const onnx::TensorProto &tensor) {
  return tensor.has_raw_data() || tensor.float_data_size() ||
         tensor.int32_data_size() || tensor.int64_data_size() ||
         tensor.double_data_size() || tensor.uint64_data_size() ||
         tensor.string_data_size() || tensor.data_location() == 1;
}

void clearElements(onnx::TensorProto *tensor) {
  tensor->clear_raw_data();
  tensor->clear_float_data();
  tensor->clear_int32_data();
  tensor->clear_int64_data();
  tensor->clear_double_data();
  tensor->clear_uint64_data();
  tensor->clear_external_data();
  tensor->clear_data_location();
}

std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}
} // namespace

Status dist::writeOnnxSkeleton(const std::string &path,
                               const std::vector<std::string> &variables,
                               const std::string &skeleton) {
  onnx::ModelProto model;
  DIST_RETURN_IF_ERROR(readModel(path, &model));
  std::set<std::string> stripped(variables.begin(), variables.end());
  ExternalFiles files(folderOf(path));
  for (onnx::TensorProto &tensor :
       *model.mutable_graph()->mutable_initializer()) {
    if (stripped.count(tensor.name())) {
      clearElements(&tensor);
    } else if (tensor.data_location() == 1) {
      HostArray array;
      DIST_RETURN_IF_ERROR(takeOnnxTensor(tensor, &files, path, &array));
      clearElements(&tensor);
      tensor.set_raw_data(array.data, array.view().bytes());
    }
  }
  return writeModel(model, skeleton);
}

Status dist::writeOnnxModel(const std::string &skeleton,
                            const VariableReader &read,
                            const std::string &path) {
  onnx::ModelProto model;
  DIST_RETURN_IF_ERROR(readModel(skeleton, &model));
  for (onnx::TensorProto &tensor :
       *model.mutable_graph()->mutable_initializer()) {
    if (isFilled(tensor))
      continue;
    std::vector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
    if (elementCount(shape) == 0)
      continue;
    Tensor value;
    DIST_RETURN_IF_ERROR(read(tensor.name(), &value));
    if (value.type != fromOnnxType(tensor.data_type()) ||
        value.view().bytes() != byteSize(value.type) * elementCount(shape))
      return Status::error(
          StatusCode::Internal, "cannot write the model", path,
          "variable '" + tensor.name() + "' is " + name(value.type) +
              toString(value.shape) + ", but the model has " +
              onnxTypeName(tensor.data_type()) + toString(shape));
    tensor.set_raw_data(value.data.data(), value.view().bytes());
  }
  return writeModel(model, path);
}
