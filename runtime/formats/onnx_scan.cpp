//===- onnx_scan.cpp - A model's bytes without its weights -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/onnx_scan.h"
#include "runtime/formats/varint.h"

using namespace dist;
using std::string_view;

namespace {

/// Smaller elements are worth no entry of their own.
constexpr size_t kLarge = 4096;
/// Numbers of fields in onnx.proto.
constexpr uint64_t kGraphOfModel = 7, kInitializerOfGraph = 5;
constexpr uint64_t kTypeOfTensor = 2, kFloatsOfTensor = 4, kRawOfTensor = 9;
/// The type of tensors whose elements are floats one by one; others put theirs
/// there in pairs.
constexpr uint64_t kFloatType = 1;

struct Field {
  uint64_t number = 0;
  unsigned wire = 0;
  string_view whole;   // with its tag
  string_view payload; // of wire type 2: what the length counts
  uint64_t value = 0;  // of wire type 0
};

constexpr unsigned kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;

bool takeField(string_view *bytes, Field *field) {
  string_view before = *bytes;
  uint64_t tag, size = 0;
  if (!takeVarint(bytes, &tag))
    return false;
  field->number = tag >> 3;
  field->wire = tag & 7;
  switch (field->wire) {
  case kVarint:
    if (!takeVarint(bytes, &field->value))
      return false;
    break;
  case kFixed64:
    size = 8;
    break;
  case kFixed32:
    size = 4;
    break;
  case kBytes:
    if (!takeVarint(bytes, &size))
      return false;
    break;
  default: // groups, which no version of the format has
    return false;
  }
  if (size > bytes->size())
    return false;
  field->payload = bytes->substr(0, size);
  bytes->remove_prefix(size);
  field->whole = before.substr(0, before.size() - bytes->size());
  return true;
}

void putBytes(uint64_t number, string_view payload, std::string *out) {
  for (uint64_t value : {number << 3 | kBytes, uint64_t(payload.size())}) {
    for (; value >= 128; value >>= 7)
      *out += char(value | 128);
    *out += char(value);
  }
  out->append(payload);
}

/// The tensor without its elements, which go to `elements` if they are large:
/// raw ones, or floats, which are packed as those are.
bool splitTensor(string_view bytes, std::string *rest, string_view *elements) {
  Field field;
  uint64_t type = 0;
  bool hasElements = false, areFloats = false;
  while (!bytes.empty()) {
    if (!takeField(&bytes, &field))
      return false;
    if (field.number == kTypeOfTensor && field.wire == kVarint)
      type = field.value;
    bool floats = field.number == kFloatsOfTensor;
    if (floats || field.number == kRawOfTensor) {
      // Of two raw fields the parser takes the last, of floats it takes all.
      if (hasElements || field.wire != kBytes)
        return false;
      hasElements = true;
      areFloats = floats;
      if (field.payload.size() >= kLarge) {
        *elements = field.payload;
        continue;
      }
    }
    rest->append(field.whole);
  }
  return !areFloats || type == kFloatType;
}

bool splitGraph(string_view bytes, std::string *rest, RawElements *raw) {
  Field field;
  for (int number = 0; !bytes.empty();) {
    if (!takeField(&bytes, &field))
      return false;
    if (field.number != kInitializerOfGraph || field.wire != kBytes) {
      rest->append(field.whole);
      continue;
    }
    std::string tensor;
    string_view elements;
    // A tensor of an odd form stays whole.
    if (field.payload.size() >= kLarge &&
        splitTensor(field.payload, &tensor, &elements) && elements.data()) {
      putBytes(kInitializerOfGraph, tensor, rest);
      raw->ofInitializer[number] = elements;
    } else {
      rest->append(field.whole);
    }
    ++number;
  }
  return true;
}

} // namespace

bool dist::leaveRawElements(string_view bytes, std::string *rest,
                            RawElements *raw) {
  raw->ofInitializer.clear();
  rest->clear();
  bool graphSeen = false;
  Field field;
  while (!bytes.empty()) {
    bool good = takeField(&bytes, &field);
    bool isGraph =
        good && field.number == kGraphOfModel && field.wire == kBytes;
    std::string graph;
    // Two graphs would be merged by the parser, and initializers renumbered.
    if (!good || (isGraph && graphSeen) ||
        (isGraph && !splitGraph(field.payload, &graph, raw))) {
      raw->ofInitializer.clear();
      return false;
    }
    graphSeen |= isGraph;
    if (isGraph)
      putBytes(kGraphOfModel, graph, rest);
    else
      rest->append(field.whole);
  }
  return true;
}
