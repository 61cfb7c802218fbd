//===- onnx_scan.h - A model's bytes without its weights -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_ONNX_SCAN_H
#define RUNTIME_FORMATS_ONNX_SCAN_H

#include "runtime/formats/onnx_tensor.h"

namespace dist {

/// Protocol Buffers copy each field of bytes when they parse. Splits a model's
/// bytes into `rest`, the same message without the large raw elements of its
/// initializers, and where these lie. False when the bytes are not laid out as
/// a model of one graph: then the whole is for the parser, and its errors.
bool leaveRawElements(std::string_view bytes, std::string *rest,
                      RawElements *raw);

} // namespace dist

#endif // RUNTIME_FORMATS_ONNX_SCAN_H
