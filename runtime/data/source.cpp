//===- source.cpp - Which file feeds which argument -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/data/source.h"
#include "runtime/core/text.h"
#include <algorithm>
#include <charconv>
#include <cstring>
#include <dirent.h>
#include <sys/stat.h>

namespace dist {

static Status wrongSpec(const std::string &spec, const std::string &why) {
  return Status::error(StatusCode::InvalidInput, "cannot read data", spec, why,
                       "write NAME=FILE,label=FILE, a folder, or one file");
}

/// Cuts `[a:b]` off a file's name. Both bounds may be missing.
static Status splitRange(std::string &file, int64_t *begin, int64_t *end,
                         bool *ranged) {
  *begin = 0;
  *end = INT64_MAX;
  *ranged = false;
  if (file.empty() || file.back() != ']')
    return Status();
  size_t open = file.rfind('['), colon = file.rfind(':');
  if (open == std::string::npos || colon == std::string::npos || colon < open)
    return wrongSpec(file, "expected a range [a:b] at the end");
  auto bound = [&](size_t from, size_t to, int64_t *out) {
    if (from == to)
      return true;
    auto [stop, error] =
        std::from_chars(file.data() + from, file.data() + to, *out);
    return error == std::errc() && stop == file.data() + to && *out >= 0;
  };
  if (!bound(open + 1, colon, begin) || !bound(colon + 1, file.size() - 1, end))
    return wrongSpec(file, "the range's bounds are no numbers of at least 0");
  file.resize(open);
  *ranged = true;
  return Status();
}

static Status cut(NamedArray &item, const std::string &where, int64_t begin,
                  int64_t end) {
  HostArray &array = item.array;
  if (array.shape.empty())
    return wrongSpec(where, "it is a single number, not an array of examples");
  int64_t rows = array.shape[0];
  // Fewer examples than were asked for would train on, unnoticed.
  if (begin > rows || (end != INT64_MAX && end > rows))
    return wrongSpec(where, "the range ends beyond its " +
                                std::to_string(rows) + " examples");
  end = std::min(end, rows);
  if (begin > end)
    return wrongSpec(where, "the range ends before it begins");
  if (rows > 0)
    array.data += array.view().bytes() / rows * begin;
  array.shape[0] = end - begin;
  return Status();
}

static bool isFolder(const std::string &path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

/// Appends the rows of `more`.
static Status append(HostArray *array, HostArray more,
                     const std::string &where) {
  if (array->shape.empty()) {
    *array = std::move(more);
    return Status();
  }
  std::vector<int64_t> a = array->shape, b = more.shape;
  a[0] = b.empty() ? 0 : b[0];
  if (a != b || array->type != more.type)
    return wrongSpec(where, "its shape differs from the files' before it");
  auto both = std::make_shared<std::string>(array->data, array->view().bytes());
  both->append(more.data, more.view().bytes());
  array->shape[0] += more.shape[0];
  array->data = both->data();
  array->owner = both;
  return Status();
}

/// The demand of a file whose only array has the given name.
static ArrayDemand named(const DataDemand &demand, const std::string &name) {
  ArrayDemand one;
  one.check = [&demand, name](const std::string &, DataType type,
                              const std::vector<int64_t> &shape) {
    return demand.check(name, type, shape);
  };
  return one;
}

/// MNIST's four IDX files, or CIFAR-10's batches.
static Status readFolder(const std::string &folder, bool testPart,
                         FileAccess access, const DataDemand &demand,
                         std::vector<NamedArray> *out) {
  std::vector<std::string> names;
  if (DIR *handle = opendir(folder.c_str())) {
    while (dirent *item = readdir(handle))
      names.push_back(item->d_name);
    closedir(handle);
  }
  std::sort(names.begin(), names.end());
  auto starts = [](const std::string &name, const char *start) {
    return name.compare(0, std::strlen(start), start) == 0;
  };
  std::string images, labels;
  std::vector<std::string> batches;
  for (const std::string &name : names) {
    bool idx = name.find("ubyte") != std::string::npos;
    if (idx && starts(name, testPart ? "t10k-images" : "train-images"))
      images = folder + "/" + name;
    if (idx && starts(name, testPart ? "t10k-labels" : "train-labels"))
      labels = folder + "/" + name;
    bool binary = name.size() > 4 && (name.substr(name.size() - 4) == ".bin" ||
                                      name.find(".bin.gz") == name.size() - 7);
    if (binary && starts(name, testPart ? "test" : "data_batch"))
      batches.push_back(folder + "/" + name);
  }
  std::vector<NamedArray> arrays;
  if (!images.empty() && !labels.empty()) {
    for (auto &[name, file] : {std::pair("x", images), {"y", labels}}) {
      DIST_RETURN_IF_ERROR(
          readArrays(file, &arrays, false, access, named(demand, name)));
      out->push_back({name, std::move(arrays[0].array)});
    }
    return Status();
  }
  if (batches.empty())
    return wrongSpec(folder, std::string("the folder has neither ") +
                                 (testPart ? "t10k" : "train") +
                                 "-images/-labels (IDX) nor " +
                                 (testPart ? "test*.bin" : "data_batch*.bin") +
                                 " (CIFAR-10)");
  out->resize(2);
  (*out)[0].name = "x";
  (*out)[1].name = "y";
  for (const std::string &file : batches) {
    DIST_RETURN_IF_ERROR(readArrays(file, &arrays, false, access));
    if (arrays.size() != 2)
      return wrongSpec(file, "it is not in CIFAR-10's binary form");
    for (int i = 0; i < 2; ++i)
      DIST_RETURN_IF_ERROR(
          append(&(*out)[i].array, std::move(arrays[i].array), file));
  }
  return Status();
}

/// Which of a file's arrays `NAME=FILE` means: the only one, or one so named.
static std::vector<bool> chooseFor(const std::string &name,
                                   const std::vector<std::string> &names) {
  std::vector<bool> chosen(names.size(), names.size() == 1);
  if (names.size() == 1)
    return chosen;
  bool label = name == "y" || name == "label";
  for (const std::string &wanted : {name, std::string(label ? "label" : "x"),
                                    std::string(label ? "y" : "")})
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i] == wanted) {
        chosen[i] = true;
        return chosen;
      }
  return chosen;
}

static Status readPair(const std::string &file, FileAccess access,
                       const DataDemand &demand, NamedArray *item) {
  ArrayDemand one = named(demand, item->name);
  size_t count = 0;
  one.choose = [&](const std::vector<std::string> &names) {
    count = names.size();
    return chooseFor(item->name, names);
  };
  std::vector<NamedArray> arrays;
  DIST_RETURN_IF_ERROR(
      readArrays(file, &arrays, /*wholeTables=*/true, access, one));
  if (count == 0)
    return wrongSpec(file, "it holds no arrays");
  if (arrays.empty())
    return wrongSpec(file, "it holds several arrays, none named '" +
                               item->name + "'");
  item->array = std::move(arrays[0].array);
  return Status();
}

/// A file without a name: an archive, a table, images with their labels. What
/// has no name in a file of several arrays is the input.
static Status readUnnamed(const std::string &file, FileAccess access,
                          const DataDemand &demand,
                          std::vector<NamedArray> *out) {
  ArrayDemand several;
  several.choose = [&](std::vector<std::string> names) {
    if (names.size() == 1 && names[0].empty())
      return std::vector<bool>{true};
    for (std::string &name : names)
      name = name.empty() ? "x" : name;
    return demand.choose(names);
  };
  several.check = demand.check;
  DIST_RETURN_IF_ERROR(readArrays(file, out, false, access, several));
  if (out->size() == 1 && (*out)[0].name.empty())
    return wrongSpec(file, "it holds one array and does not say which input "
                           "it is for");
  for (NamedArray &item : *out)
    if (item.name.empty())
      item.name = "x";
  return Status();
}

Status readDataSpec(const std::string &spec, bool testPart,
                    std::vector<NamedArray> *out, FileAccess access,
                    const DataDemand &demand) {
  out->clear();
  std::vector<std::string> pieces = splitList(spec);
  bool pairs = pieces.size() > 1 ||
               (spec.find('=') != std::string::npos && !isFolder(spec));
  int64_t begin, end;
  bool ranged;
  if (!pairs) {
    std::string file = spec;
    DIST_RETURN_IF_ERROR(splitRange(file, &begin, &end, &ranged));
    DIST_RETURN_IF_ERROR(isFolder(file)
                             ? readFolder(file, testPart, access, demand, out)
                             : readUnnamed(file, access, demand, out));
    for (NamedArray &item : *out)
      DIST_RETURN_IF_ERROR(cut(item, file, begin, end));
    return Status();
  }
  for (const std::string &piece : pieces) {
    size_t equals = piece.find('=');
    if (equals == std::string::npos || equals == 0 ||
        equals + 1 == piece.size())
      return wrongSpec(piece, "expected NAME=FILE");
    NamedArray item;
    item.name = piece.substr(0, equals);
    for (const NamedArray &other : *out)
      if (other.name == item.name)
        return wrongSpec(spec, "'" + item.name + "' is given twice");
    std::string file = piece.substr(equals + 1);
    DIST_RETURN_IF_ERROR(splitRange(file, &begin, &end, &ranged));
    DIST_RETURN_IF_ERROR(readPair(file, access, demand, &item));
    DIST_RETURN_IF_ERROR(cut(item, file, begin, end));
    out->push_back(std::move(item));
  }
  return Status();
}

} // namespace dist
