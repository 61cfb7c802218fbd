//===- tensorflow_model.h - TensorFlow's models as messages -----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A SavedModel's saved_model.pb, or a frozen GraphDef, parsed and checked as
// far as that needs no knowledge of ops; and the tensors within.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_TENSORFLOW_MODEL_H
#define RUNTIME_FORMATS_TENSORFLOW_MODEL_H

#include "runtime/formats/file.h"

namespace dist {

namespace tensorflow {
class MetaGraphDef;
class TensorProto;
} // namespace tensorflow

/// The graph that is served. Of a GraphDef, one without signatures; `frozen`
/// tells which it was.
Status parseTensorFlowModel(std::string_view bytes, const std::string &where,
                            tensorflow::MetaGraphDef *out, bool *frozen);

/// A tensor's elements, in memory of their own; strings and others that are no
/// numbers are refused.
Status takeTensorFlowTensor(const tensorflow::TensorProto &tensor,
                            const std::string &where, HostArray *out);

} // namespace dist

#endif // RUNTIME_FORMATS_TENSORFLOW_MODEL_H
