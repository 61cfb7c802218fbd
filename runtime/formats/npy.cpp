//===- npy.cpp - NumPy's array files -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/npy.h"
#include "runtime/formats/convert.h"
#include <algorithm>
#include <charconv>
#include <cstring>

namespace dist {

static constexpr std::string_view kMagic("\x93NUMPY", 6);

bool isNpy(std::string_view bytes) {
  return bytes.substr(0, kMagic.size()) == kMagic;
}

static const struct {
  char kind;
  size_t size;
  DataType type;
} kTypes[] = {
    {'f', 4, manifest::F32},  {'f', 8, manifest::F64}, {'f', 2, manifest::F16},
    {'b', 1, manifest::BOOL}, {'i', 1, manifest::I8},  {'i', 2, manifest::I16},
    {'i', 4, manifest::I32},  {'i', 8, manifest::I64}, {'u', 1, manifest::U8},
    {'u', 2, manifest::U16},  {'u', 4, manifest::U32}, {'u', 8, manifest::U64}};

namespace {

/// A reader of the header: the literal of a Python dict with three keys.
struct HeaderParser {
  std::string_view text;
  bool failed = false;

  void skipSpace() {
    while (!text.empty() && (text[0] == ' ' || text[0] == '\n' ||
                             text[0] == '\t' || text[0] == '\r'))
      text.remove_prefix(1);
  }
  bool eat(std::string_view word) {
    skipSpace();
    if (text.substr(0, word.size()) != word)
      return false;
    text.remove_prefix(word.size());
    return true;
  }
  void expect(std::string_view word) { failed |= !eat(word); }
  std::string_view quoted() {
    skipSpace();
    if (text.empty() || (text[0] != '\'' && text[0] != '"')) {
      failed = true;
      return {};
    }
    size_t end = text.find(text[0], 1);
    if (end == std::string_view::npos) {
      failed = true;
      return {};
    }
    std::string_view word = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    return word;
  }
  bool boolean() {
    if (eat("True"))
      return true;
    expect("False");
    return false;
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> dims;
    expect("(");
    while (!failed && !eat(")")) {
      skipSpace();
      int64_t dim = -1;
      auto [end, error] =
          std::from_chars(text.data(), text.data() + text.size(), dim);
      if (error != std::errc() || dim < 0 || dims.size() >= 32) {
        failed = true;
        break;
      }
      text.remove_prefix(end - text.data());
      eat("L"); // Python 2 wrote long integers so.
      dims.push_back(dim);
      if (!eat(",")) {
        expect(")");
        break;
      }
    }
    return dims;
  }
};

} // namespace

/// Copies `in` with its bytes swapped and, from column-major order, its dims
/// put right.
static Status normalize(HostArray &array, bool swapped, bool fortran,
                        size_t bytes) {
  auto copy = std::make_shared<std::string>(array.data, bytes);
  size_t size = byteSize(array.type);
  if (swapped)
    for (size_t i = 0; i + size <= bytes; i += size)
      std::reverse(copy->begin() + i, copy->begin() + i + size);
  if (fortran) {
    std::string plain(bytes, '\0');
    size_t rank = array.shape.size();
    std::vector<int64_t> index(rank, 0);
    std::vector<int64_t> strides(rank, 1);
    for (size_t d = 1; d < rank; ++d)
      strides[d] = strides[d - 1] * array.shape[d - 1];
    for (size_t i = 0; i * size < bytes; ++i) {
      int64_t from = 0;
      for (size_t d = 0; d < rank; ++d)
        from += index[d] * strides[d];
      std::memcpy(&plain[i * size], copy->data() + from * size, size);
      for (size_t d = rank; d-- > 0;) {
        if (++index[d] < array.shape[d])
          break;
        index[d] = 0;
      }
    }
    *copy = std::move(plain);
  }
  array.data = copy->data();
  array.owner = copy;
  return Status();
}

static Status damagedArray(const std::string &where, const std::string &why) {
  return Status::error(StatusCode::InvalidInput, "cannot read NumPy array",
                       where, why, "write it again with numpy.save");
}

/// And how the elements lie, which only who reads them needs.
static Status parseHeader(std::string_view bytes, const std::string &where,
                          ArrayHeader *out, bool *swapped, bool *fortran) {
  auto damaged = [&](const std::string &why) {
    return damagedArray(where, why);
  };
  if (!isNpy(bytes))
    return damaged("it is no .npy file");
  if (bytes.size() < 10)
    return damaged("it is truncated");
  int major = static_cast<unsigned char>(bytes[6]);
  size_t prefix = major == 1 ? 10 : 12;
  uint32_t length = 0;
  if (major < 1 || major > 3 || bytes.size() < prefix)
    return damaged("its version or header is unknown");
  std::memcpy(&length, bytes.data() + 8, prefix - 8);
  if (length > bytes.size() - prefix)
    return damaged("it is truncated");

  HeaderParser parser{bytes.substr(prefix, length)};
  std::string_view descr;
  bool seen[3] = {};
  ArrayHeader header;
  parser.expect("{");
  while (!parser.failed && !parser.eat("}")) {
    std::string_view key = parser.quoted();
    parser.expect(":");
    if (key == "descr") {
      parser.skipSpace();
      if (!parser.text.empty() && parser.text[0] == '[')
        return damaged("it has fields (a structured type)");
      descr = parser.quoted();
      seen[0] = true;
    } else if (key == "fortran_order") {
      *fortran = parser.boolean();
      seen[1] = true;
    } else if (key == "shape") {
      header.shape = parser.tuple();
      seen[2] = true;
    } else {
      parser.failed = true;
    }
    if (!parser.eat(",")) {
      parser.expect("}");
      break;
    }
  }
  if (parser.failed || !seen[0] || !seen[1] || !seen[2])
    return damaged("its header is malformed");

  size_t size = 0;
  if (descr.size() < 3 ||
      std::from_chars(descr.data() + 2, descr.data() + descr.size(), size)
              .ptr != descr.data() + descr.size())
    size = 0;
  for (auto &row : kTypes)
    if (size && row.kind == descr[1] && row.size == size)
      header.type = row.type;
  if (header.type == manifest::DATA_TYPE_UNKNOWN)
    return damaged("its type '" + std::string(descr) +
                   "' is not supported (numbers and bool are)");
  header.start = prefix + length;
  if (!checkedBytes(header.shape, size, &header.bytes) ||
      header.bytes > SIZE_MAX - header.start)
    return damaged("its shape is too large");
  *swapped = descr[0] == '>' && size > 1;
  *fortran &= header.shape.size() > 1;
  *out = std::move(header);
  return Status();
}

Status parseNpyHeader(std::string_view start, const std::string &where,
                      ArrayHeader *out) {
  bool swapped = false, fortran = false;
  return parseHeader(start, where, out, &swapped, &fortran);
}

Status parseNpy(std::string_view bytes, std::shared_ptr<const void> owner,
                const std::string &where, HostArray *out) {
  ArrayHeader header;
  bool swapped = false, fortran = false;
  DIST_RETURN_IF_ERROR(parseHeader(bytes, where, &header, &swapped, &fortran));
  if (bytes.size() < header.end())
    return damagedArray(
        where, "it is truncated: shape " + toString(header.shape) + " needs " +
                   std::to_string(header.bytes) + " bytes, it has " +
                   std::to_string(bytes.size() - header.start));
  HostArray array{header.type, header.shape, bytes.data() + header.start,
                  std::move(owner)};
  if (swapped || fortran)
    DIST_RETURN_IF_ERROR(normalize(array, swapped, fortran, header.bytes));
  *out = std::move(array);
  return Status();
}

Status writeNpy(const std::string &path, const TensorView &tensor,
                bool durable) {
  TensorView view = tensor;
  const char *descr = nullptr;
  std::string text;
  for (auto &row : kTypes)
    if (row.type == view.type) {
      text = std::string(row.size == 1 ? "|" : "<") + row.kind +
             std::to_string(row.size);
      descr = text.c_str();
    }
  std::vector<float> converted;
  if (!descr) {
    converted.resize(elementCount(view.shape));
    convertElements(view.type, view.data, manifest::F32, converted.data(),
                    converted.size());
    view.type = manifest::F32;
    view.data = converted.data();
    descr = "<f4";
  }
  std::string header = std::string("{'descr': '") + descr +
                       "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < view.shape.size(); ++i)
    header += (i ? ", " : "") + std::to_string(view.shape[i]);
  header += view.shape.size() == 1 ? ",), }" : "), }";
  // The data start at a multiple of 64; the header ends in a newline.
  size_t padded = (kMagic.size() + 4 + header.size() + 1 + 63) / 64 * 64;
  header.resize(padded - kMagic.size() - 4 - 1, ' ');
  header += '\n';
  std::string prefix(kMagic);
  prefix += '\x01';
  prefix += '\0';
  prefix += char(header.size() & 0xff);
  prefix += char(header.size() >> 8);
  FileSink sink;
  DIST_RETURN_IF_ERROR(sink.open(path));
  DIST_RETURN_IF_ERROR(sink.write(prefix + header));
  DIST_RETURN_IF_ERROR(sink.write(view.data, view.bytes()));
  return sink.commit(durable);
}

} // namespace dist
