//===- file_list.cpp - Data in several files ----------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/data/file_list.h"
#include "runtime/core/text.h"
#include "runtime/formats/crc32c.h"
#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>
#include <glob.h>
#include <sys/stat.h>

namespace dist {

Status wrongSpec(const std::string &spec, const std::string &why) {
  return Status::error(StatusCode::InvalidInput, "cannot read data", spec, why,
                       "write NAME=FILE,label=FILE, a folder, or one file");
}

static Status readList(const std::string &path, std::vector<std::string> *out) {
  std::shared_ptr<const FileBytes> file;
  DIST_RETURN_IF_ERROR(FileBytes::open(path, &file));
  std::string_view text = file->bytes();
  std::string folder = parentFolder(path);
  for (size_t number = 1; !text.empty(); ++number) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && line.back() == '\r')
      line.remove_suffix(1);
    if (line.empty())
      continue;
    // Nor is what else is given as a list by mistake written to a terminal.
    if (line.size() >= PATH_MAX || line.find('\0') != std::string_view::npos)
      return wrongSpec(path, "line " + std::to_string(number) +
                                 " of the list is no name of a file");
    bool isWhole = line.front() == '/' || folder.empty();
    out->push_back((isWhole ? "" : folder + "/") + std::string(line));
  }
  if (out->empty())
    return wrongSpec(path, "the list names no file");
  return Status();
}

Status listFiles(const std::string &name, std::vector<std::string> *out) {
  out->clear();
  if (startsWith(name, "@") && !pathExists(name))
    return readList(name.substr(1), out);
  if (name.find_first_of("*?[") == std::string::npos || pathExists(name)) {
    out->push_back(name);
    return Status();
  }
  glob_t found;
  int result = glob(name.c_str(), GLOB_ERR, nullptr, &found);
  for (size_t i = 0; result == 0 && i < found.gl_pathc; ++i)
    out->push_back(found.gl_pathv[i]);
  globfree(&found);
  if (result == GLOB_NOMATCH)
    return wrongSpec(name, "no file matches it");
  if (result != 0)
    return wrongSpec(name, "its folder cannot be read");
  return Status();
}

/// A file that has no bytes, or, packed, unpacks to none.
static bool isEmptyFile(const std::string &path) {
  constexpr off_t mostPacked = 64; // gzip may keep a name
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) ||
      info.st_size > mostPacked)
    return false;
  std::shared_ptr<const FileBytes> file;
  return info.st_size == 0 ||
         (FileBytes::openUnpacked(path, &file).ok() && file->bytes().empty());
}

Status leaveOutEmpty(std::vector<std::string> *files) {
  auto middle = std::stable_partition(
      files->begin(), files->end(),
      [](const std::string &file) { return !isEmptyFile(file); });
  if (middle == files->end() || middle == files->begin())
    return Status();
  std::shared_ptr<const FileBytes> other;
  DIST_RETURN_IF_ERROR(
      FileBytes::openUnpacked(files->front(), &other, FileAccess::Map));
  if (!isTfRecord(other->bytes()))
    return Status::error(StatusCode::InvalidInput, "empty data file", *middle,
                         "", "give a file with examples, or leave it out");
  files->erase(middle, files->end());
  return Status();
}

/// As errors write it.
static std::string describe(const HostArray &array) {
  std::vector<int64_t> shape = array.shape;
  shape.erase(shape.begin());
  return std::string(name(array.type)) + " " + toString(shape);
}

/// Examples of several files, each of which keeps its own.
class JoinedExamples : public StoredExamples {
public:
  void append(const NamedArray &item) {
    parts.push_back({end, item});
    end += item.array.shape[0];
  }
  void read(const int64_t *indices, int64_t count, char *out) const override {
    for (int64_t i = 0; i < count; ++i) {
      const Part &part = *std::prev(std::upper_bound(
          parts.begin(), parts.end(), indices[i],
          [](int64_t index, const Part &one) { return index < one.first; }));
      const NamedArray &item = part.item;
      size_t bytes = item.array.view().bytes() / size_t(item.array.shape[0]);
      int64_t own = indices[i] - part.first + item.firstStored;
      if (item.stored)
        item.stored->read(&own, 1, out);
      else
        std::memcpy(out, item.array.data + bytes * size_t(own), bytes);
      out += bytes;
    }
  }

private:
  struct Part {
    int64_t first;
    NamedArray item;
  };
  std::vector<Part> parts;
  int64_t end = 0;
};

std::string listNames(const std::vector<std::string> &names) {
  constexpr size_t most = 8;
  std::string text;
  for (size_t i = 0; i < names.size() && i < most; ++i)
    text += (i ? ", '" : "'") + names[i] + "'";
  return text + (names.size() > most ? ", ..." : "");
}

/// Numbers of f64 as i64, if that loses none of their digits.
static bool holdIntegers(HostArray *array) {
  const double *numbers = reinterpret_cast<const double *>(array->data);
  auto integers = std::make_shared<std::vector<int64_t>>();
  for (int64_t i = 0, n = elementCount(array->shape); i < n; ++i) {
    // From there on f64 has not every integer.
    if (std::fabs(numbers[i]) >= 9007199254740992.0 ||
        std::trunc(numbers[i]) != numbers[i])
      return false;
    integers->push_back(int64_t(numbers[i]));
  }
  array->type = manifest::I64;
  array->data = reinterpret_cast<const char *>(integers->data());
  array->owner = std::move(integers);
  return true;
}

Status JoinedArrays::append(std::vector<NamedArray> more,
                            const std::string &file) {
  for (const NamedArray &item : more)
    if (item.array.shape.empty())
      return wrongSpec(file, "'" + item.name + "' is a single number, not an " +
                                 "array of examples");
  if (arrays.empty()) {
    arrays = std::move(more);
    return Status();
  }
  bool alike = more.size() == arrays.size();
  for (size_t i = 0; alike && i < more.size(); ++i)
    alike = more[i].name == arrays[i].name;
  if (!alike)
    return wrongSpec(file, "it has not the arrays of the files before it");
  for (size_t i = 0; i < more.size(); ++i) {
    HostArray &whole = arrays[i].array, &part = more[i].array;
    // Their places are all that is left of the names when they are joined.
    auto &known = arrays[i].columns;
    if (!known)
      known = more[i].columns;
    if (more[i].columns && *known != *more[i].columns)
      return wrongSpec(file, "its columns are " + listNames(*more[i].columns) +
                                 ", those of the files before it " +
                                 listNames(*known));
    if (arrays[i].isText && more[i].isText && whole.type != part.type) {
      HostArray &rounded = whole.type == manifest::F64 ? whole : part;
      if (holdIntegers(&rounded) && &rounded == &whole && i < memory.size())
        memory[i] = nullptr; // it is made anew of what is whole
    }
    if (describe(whole) != describe(part))
      return wrongSpec(file, "an example of '" + arrays[i].name + "' is " +
                                 describe(part) + ", in the files before it " +
                                 describe(whole));
  }
  memory.resize(arrays.size());
  joined.resize(arrays.size());
  for (size_t i = 0; i < more.size(); ++i) {
    HostArray &whole = arrays[i].array, &part = more[i].array;
    if (arrays[i].stored || more[i].stored) {
      if (!joined[i]) {
        joined[i] = std::make_shared<JoinedExamples>();
        joined[i]->append(arrays[i]);
      }
      joined[i]->append(more[i]);
      whole.data = nullptr;
      whole.owner = nullptr;
      whole.shape[0] += part.shape[0];
      arrays[i].stored = joined[i];
      continue;
    }
    if (!memory[i])
      memory[i] =
          std::make_shared<std::string>(whole.data, whole.view().bytes());
    memory[i]->append(part.data, part.view().bytes());
    whole.shape[0] += part.shape[0];
    whole.data = memory[i]->data();
    whole.owner = memory[i];
  }
  return Status();
}

std::vector<NamedArray> JoinedArrays::take() { return std::move(arrays); }

} // namespace dist
