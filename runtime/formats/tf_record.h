//===- tf_record.h - Examples of TFRecord files -------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file of tf.train.Example messages: each feature is an array of the
// examples' values, under its name. Numbers keep their type (f32, i64); a
// string is its bytes (u8), such as the raw pixels of an image: encoded ones
// (JPEG, PNG) are not decoded, and told so. All examples have as many values of
// a feature.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_TF_RECORD_H
#define RUNTIME_FORMATS_TF_RECORD_H

#include "runtime/formats/arrays.h"

namespace dist {

/// The features that `demand` chooses by their names in the first example: [n]
/// of one value each, else [n, values]. The examples are decoded one after the
/// other.
/// Errors name the example: a wrong checksum, one cut short, one that lacks the
/// feature or has another number or type of values.
Status parseTfRecord(std::string_view bytes, const std::string &where,
                     const ArrayDemand &demand, std::vector<NamedArray> *out);

/// The same, but for the values: all records are checked, and then found again
/// by an index of 12 bytes an example and feature. A mapped file's pages are
/// let go of as they are read.
Status indexTfRecord(std::shared_ptr<const FileBytes> file,
                     const std::string &where, const ArrayDemand &demand,
                     std::vector<NamedArray> *out);

} // namespace dist

#endif // RUNTIME_FORMATS_TF_RECORD_H
