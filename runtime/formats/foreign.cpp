//===- foreign.cpp - Model files of other tools -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/foreign.h"
#include "runtime/core/text.h"
#include "runtime/formats/file.h"
#include "runtime/formats/varint.h"
#include <algorithm>
#include <cctype>

using namespace dist;
using std::string_view;

namespace {
constexpr const char *kTensorFlow =
    "save it as a SavedModel, e.g. with tf.saved_model.save or Keras' "
    "model.export";
constexpr const char *kLite =
    "convert it to ONNX, e.g. with python -m tf2onnx.convert";
constexpr const char *kKeras =
    "convert it to ONNX, e.g. with Keras' model.export(..., format=\"onnx\")";
constexpr const char *kJax =
    "write StableHLO in MLIR's generic form, with the parameters' values, as "
    "examples/export/jax_to_mlir.py does";
constexpr const char *kTorch =
    "convert it to ONNX, e.g. with torch.onnx.export";

Status refuse(const std::string &where, const std::string &kind,
              const char *advice) {
  return Status::error(StatusCode::InvalidInput, "cannot read the model", where,
                       kind + " is not imported", advice);
}

bool contains(string_view bytes, string_view part) {
  return bytes.find(part) != string_view::npos;
}

/// Takes a message or string of that field off the front. One that a damaged
/// file cuts short still tells what it was.
bool takeField(string_view *bytes, unsigned field, string_view *out) {
  uint64_t tag, size;
  if (!takeVarint(bytes, &tag) || tag != (field << 3 | 2) ||
      !takeVarint(bytes, &size))
    return false;
  *out = bytes->substr(0, std::min<uint64_t>(size, bytes->size()));
  bytes->remove_prefix(out->size());
  return true;
}

/// Whether a GraphDef starts here: a node with a name and an op. An ONNX model
/// starts with a number.
bool isGraphDef(string_view bytes) {
  string_view node, name, op;
  return takeField(&bytes, 1, &node) && takeField(&node, 1, &name) &&
         takeField(&node, 2, &op) && !op.empty() &&
         std::all_of(op.begin(), op.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '_';
         });
}

constexpr string_view kBytecode = "ML\xefR";

/// The start of a file: MLIR bytecode writes its producer there.
string_view head(string_view bytes) { return bytes.substr(0, 256); }

/// Whether MLIR text uses an op of the dialect in the generic form; a location
/// may hold any name.
bool usesGeneric(string_view text, const std::string &dialect) {
  std::string generic = "\"" + dialect + ".";
  for (size_t at = text.find(generic); at != string_view::npos;
       at = text.find(generic, at + 1)) {
    size_t end = text.find('"', at + 1);
    if (at > 0 && text[at - 1] == '(')
      continue;
    if (end != string_view::npos && text.substr(end, 2) == "\"(")
      return true;
  }
  return false;
}
} // namespace

bool dist::isSavedModel(string_view bytes) {
  // Its version, then a MetaGraphDef whose MetaInfoDef names TensorFlow's
  // version, where ONNX has its producer's name.
  uint64_t tag, version;
  string_view metaGraph, info;
  return takeVarint(&bytes, &tag) && tag == (1 << 3) &&
         takeVarint(&bytes, &version) && takeField(&bytes, 2, &metaGraph) &&
         takeField(&metaGraph, 1, &info) && !info.empty();
}

bool dist::isTensorFlowModel(string_view bytes) {
  return isSavedModel(bytes) || isGraphDef(bytes);
}

std::string dist::modelFileOf(const std::string &where) {
  std::string file = where + "/saved_model.pb";
  return pathExists(file) ? file : where;
}

bool dist::isGenericStableHlo(string_view text) {
  return usesGeneric(text, "stablehlo") || usesGeneric(text, "chlo");
}

Status dist::checkForeignFile(string_view bytes, const std::string &where) {
  // What ONNX starts with: its size may be large.
  if (startsWith(bytes, "\x08"))
    return {};
  if (startsWith(bytes, kBytecode)) {
    if (contains(head(bytes), "StableHLO"))
      return refuse(where, "StableHLO (a portable artifact)", kJax);
    return {};
  }
  if (startsWith(bytes, "\x89HDF\r\n"))
    return refuse(where, "HDF5 (Keras' .h5)", kKeras);
  if (startsWith(bytes, "PK\x03\x04")) {
    if (contains(bytes, "model.weights.h5"))
      return refuse(where, "a Keras archive (.keras)", kKeras);
    if (contains(bytes, "data.pkl"))
      return refuse(where, "a PyTorch archive", kTorch);
    return {};
  }
  if (bytes.size() >= 8 && bytes.substr(4, 4) == "TFL3")
    return refuse(where, "TensorFlow Lite", kLite);
  // jax.export puts the portable artifact into a flatbuffer.
  if (size_t at = bytes.find(kBytecode);
      at != string_view::npos && contains(head(bytes.substr(at)), "StableHLO"))
    return refuse(where, "a function of jax.export (StableHLO)", kJax);
  // A dialect's own syntax needs the dialect.
  for (const char *dialect : {"stablehlo", "vhlo", "mhlo"})
    if (contains(bytes, std::string("= ") + dialect + "."))
      return refuse(
          where, std::string("MLIR in the syntax of dialect '") + dialect + "'",
          kJax);
  for (const char *dialect : {"vhlo", "mhlo"})
    if (usesGeneric(bytes, dialect))
      return refuse(where, std::string("MLIR of dialect '") + dialect + "'",
                    kJax);
  if (startsWith(bytes, "node {") || startsWith(bytes, "saved_model_schema"))
    return refuse(where, "TensorFlow's graph as text", kTensorFlow);
  return {};
}

Status dist::checkForeignFolder(const std::string &where) {
  if (pathExists(where + "/saved_model.pb"))
    return {};
  if (pathExists(where + "/saved_model.pbtxt"))
    return refuse(where, "a TensorFlow SavedModel as text", kTensorFlow);
  if (pathExists(where + "/checkpoint"))
    return refuse(where, "a TensorFlow checkpoint",
                  "it has values without a graph: save the model with "
                  "tf.saved_model.save or Keras' model.export");
  return {};
}
