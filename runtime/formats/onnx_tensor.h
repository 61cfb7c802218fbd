//===- onnx_tensor.h - Tensors of ONNX files -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ONNX keeps a tensor's elements as raw bytes, in one of several typed fields,
// or in another file. Here each becomes one array of bytes.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_ONNX_TENSOR_H
#define RUNTIME_FORMATS_ONNX_TENSOR_H

#include "runtime/formats/file.h"
#include "runtime/formats/onnx_functions.h"
#include <map>

namespace dist {

namespace onnx {
class ModelProto;
class SparseTensorProto;
class TensorProto;
} // namespace onnx

/// The element type of a number of TensorProto.DataType; DATA_TYPE_UNKNOWN for
/// those there is no support for, whose name `onnxTypeName` gives.
DataType fromOnnxType(int32_t type);
int32_t toOnnxType(DataType type);
std::string onnxTypeName(int32_t type);

class ExternalFiles;

/// The elements of initializers that stand as raw bytes (or packed floats,
/// which are the same) in a model's file, left there: a model of gigabytes is
/// not in memory twice. By the initializer's number; those that are not here
/// have their elements in the message.
struct RawElements {
  std::map<int, std::string_view> ofInitializer;
  /// What keeps the bytes alive.
  std::shared_ptr<const void> owner;
};

/// Takes the elements out of `tensor` (raw bytes are moved, not copied). With
/// no `files`, external data are refused.
Status takeOnnxTensor(onnx::TensorProto &tensor, ExternalFiles *files,
                      const std::string &where, HostArray *out);
/// The same of the model's initializer `number`, whose elements may be in
/// `raw`.
Status takeOnnxInitializer(onnx::TensorProto &tensor, int number,
                           const RawElements &raw, ExternalFiles *files,
                           const std::string &where, HostArray *out);

/// The dense form of a sparse one (coordinates of its elements, or their
/// numbers in row-major order).
Status takeOnnxSparse(onnx::SparseTensorProto &sparse, ExternalFiles *files,
                      const std::string &where, HostArray *out);

/// A file that holds one TensorProto (`.pb`).
Status parseOnnxTensor(std::string_view bytes, const std::string &where,
                       std::string *name, HostArray *out);

/// Parses a whole model and checks that it is one. With `raw`, large elements
/// of initializers stay where they are, in bytes that the caller keeps. The
/// model's functions are written out where they are called.
Status parseOnnxModel(std::string_view bytes, const std::string &where,
                      onnx::ModelProto *out, RawElements *raw = nullptr,
                      OnnxFunctionOfNode *functionOf = nullptr);

} // namespace dist

#endif // RUNTIME_FORMATS_ONNX_TENSOR_H
