//===- source.cpp - Which file feeds which argument -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/data/source.h"
#include "runtime/core/text.h"
#include "runtime/data/file_list.h"
#include "runtime/data/shards.h"
#include <algorithm>
#include <charconv>
#include <cstring>
#include <dirent.h>
#include <set>
#include <sys/stat.h>

namespace dist {

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
  if (item.stored)
    item.firstStored += begin;
  else if (rows > 0)
    array.data += array.view().bytes() / rows * begin;
  array.shape[0] = end - begin;
  return Status();
}

static bool isFolder(const std::string &path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
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

namespace {
/// What there is of one part in a folder.
struct FolderPart {
  std::string images, labels;       // MNIST's IDX files
  std::vector<std::string> batches; // CIFAR-10's, in order

  bool isMnist() const { return !images.empty() && !labels.empty(); }
};
} // namespace

static FolderPart lookInto(const std::string &folder, bool testPart) {
  FolderPart part;
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
  for (const std::string &name : names) {
    bool idx = name.find("ubyte") != std::string::npos;
    if (idx && starts(name, testPart ? "t10k-images" : "train-images"))
      part.images = folder + "/" + name;
    if (idx && starts(name, testPart ? "t10k-labels" : "train-labels"))
      part.labels = folder + "/" + name;
    bool binary = endsWith(name, ".bin") || endsWith(name, ".bin.gz");
    if (binary && starts(name, testPart ? "test" : "data_batch"))
      part.batches.push_back(folder + "/" + name);
  }
  return part;
}

/// MNIST's four IDX files.
static Status readFolder(const std::string &folder, bool testPart,
                         FileAccess access, const DataDemand &demand,
                         std::vector<NamedArray> *out) {
  FolderPart part = lookInto(folder, testPart);
  std::vector<NamedArray> arrays;
  if (part.isMnist()) {
    for (auto &[name, file] :
         {std::pair("x", part.images), {"y", part.labels}}) {
      DIST_RETURN_IF_ERROR(
          readArrays(file, &arrays, false, access, named(demand, name)));
      out->push_back({name, std::move(arrays[0].array)});
    }
    return Status();
  }
  return wrongSpec(
      folder, std::string("the folder has neither ") +
                  (testPart ? "t10k" : "train") + "-images/-labels (IDX) nor " +
                  (testPart ? "test*.bin" : "data_batch*.bin") + " (CIFAR-10)");
}

/// A file of a folder in CIFAR-10's form.
static Status readBatch(const std::string &file, FileAccess access,
                        std::vector<NamedArray> *out) {
  DIST_RETURN_IF_ERROR(readArrays(file, out, false, access));
  if (out->size() != 2)
    return wrongSpec(file, "it is not in CIFAR-10's binary form");
  (*out)[0].name = "x";
  (*out)[1].name = "y";
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

/// Cuts `#ARRAY` off the name of a file that holds several arrays: which of
/// them is meant. A file whose own name has a # in it is the file.
static std::string splitMember(std::string &file) {
  size_t hash = file.rfind('#');
  if (hash == std::string::npos || pathExists(file))
    return "";
  std::string member = file.substr(hash + 1);
  file.resize(hash);
  return member;
}

/// One file of a pair; its array gets the pair's name.
static Status readPart(const std::string &name, const std::string &member,
                       const std::string &file, FileAccess access,
                       const DataDemand &demand,
                       std::vector<NamedArray> *arrays) {
  ArrayDemand one = named(demand, name);
  one.leavesRecords = demand.leavesRecords;
  std::vector<std::string> names;
  one.choose = [&](const std::vector<std::string> &all) {
    names = all;
    if (member.empty())
      return chooseFor(name, all);
    std::vector<bool> chosen;
    for (const std::string &each : all)
      chosen.push_back(each == member);
    return chosen;
  };
  DIST_RETURN_IF_ERROR(
      readArrays(file, arrays, /*wholeTables=*/true, access, one));
  if (names.empty())
    return wrongSpec(file, "it holds no arrays");
  if (arrays->empty())
    return wrongSpec(file, "it holds " + listNames(names) + ", none named '" +
                               (member.empty() ? name : member) + "'" +
                               (member.empty() ? " (" + name +
                                                     "=FILE#ARRAY "
                                                     "takes another)"
                                               : ""));
  (*arrays)[0].name = name;
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
  several.leavesRecords = demand.leavesRecords;
  DIST_RETURN_IF_ERROR(readArrays(file, out, false, access, several));
  if (out->size() == 1 && (*out)[0].name.empty())
    return wrongSpec(file, "it holds one array and does not say which input "
                           "it is for");
  for (NamedArray &item : *out)
    if (item.name.empty())
      item.name = "x";
  return Status();
}

namespace {
/// The files that one piece of a specification names.
struct Piece {
  std::string text;   // without the range
  std::string member; // of each file
  int64_t begin = 0, end = INT64_MAX;
  bool hasRange = false, isPair = false;

  static Status parse(std::string text, bool isPair, Piece *out) {
    out->isPair = isPair;
    DIST_RETURN_IF_ERROR(
        splitRange(text, &out->begin, &out->end, &out->hasRange));
    if (isPair)
      out->member = splitMember(text);
    out->text = std::move(text);
    return Status();
  }
  /// A folder by itself is as many files as it has of CIFAR-10's (`batches`),
  /// else one.
  Status list(bool testPart, std::vector<std::string> *files,
              std::set<std::string> *batches = nullptr) const {
    std::vector<std::string> named;
    DIST_RETURN_IF_ERROR(listFiles(text, &named));
    files->clear();
    for (const std::string &name : named) {
      FolderPart part =
          !isPair && isFolder(name) ? lookInto(name, testPart) : FolderPart();
      if (part.isMnist() || part.batches.empty()) {
        files->push_back(name);
        continue;
      }
      files->insert(files->end(), part.batches.begin(), part.batches.end());
      if (batches)
        batches->insert(part.batches.begin(), part.batches.end());
    }
    return leaveOutEmpty(files);
  }
  /// What `read` brings of each of the worker's `files`, joined and cut;
  /// `rows`: how many examples each of them has, which a piece before has said.
  template <typename Read>
  Status readAll(std::vector<std::string> files, const DataDemand &demand,
                 Read read, std::vector<int64_t> *rows,
                 std::vector<NamedArray> *out) const {
    if (demand.workers > 1)
      files = filesOfWorker(files, demand.worker, demand.workers);
    JoinedArrays joined;
    for (size_t i = 0; i < files.size(); ++i) {
      std::vector<NamedArray> arrays;
      DIST_RETURN_IF_ERROR(read(files[i], &arrays));
      int64_t count = arrays.empty() || arrays[0].array.shape.empty()
                          ? 0
                          : arrays[0].array.shape[0];
      DIST_RETURN_IF_ERROR(joined.append(std::move(arrays), files[i]));
      if (demand.workers == 1)
        continue;
      // Which example belongs to which is told within a file alone.
      if (rows->size() <= i)
        rows->push_back(count);
      if ((*rows)[i] != count)
        return wrongSpec(files[i],
                         "it has " + std::to_string(count) +
                             " examples, the file that goes with it " +
                             std::to_string((*rows)[i]));
    }
    *out = joined.take();
    for (NamedArray &item : *out)
      DIST_RETURN_IF_ERROR(cut(item, text, begin, end));
    return Status();
  }
};
} // namespace

/// The pieces of NAME=FILE,...; or the one that names no array.
static Status splitSpec(const std::string &spec, bool *pairs,
                        std::vector<std::pair<std::string, Piece>> *out) {
  std::vector<std::string> texts = splitList(spec);
  // A name of its own may have both signs in it: year=2024/a,b.npz.
  Piece whole;
  const bool isThere = Piece::parse(spec, false, &whole).ok() &&
                       (pathExists(spec) || pathExists(whole.text));
  *pairs =
      !isThere && (texts.size() > 1 || spec.find('=') != std::string::npos);
  if (!*pairs)
    return Piece::parse(spec, false, &out->emplace_back().second);
  for (const std::string &text : texts) {
    size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      return wrongSpec(text, "expected NAME=FILE (in a list, as NAME=@LIST, a "
                             "file's name may have commas)");
    std::string name = text.substr(0, equals);
    for (auto &other : *out)
      if (other.first == name)
        return wrongSpec(spec, "'" + name + "' is given twice");
    auto &piece = out->emplace_back();
    piece.first = name;
    DIST_RETURN_IF_ERROR(
        Piece::parse(text.substr(equals + 1), true, &piece.second));
  }
  return Status();
}

Status listDataFiles(const std::string &spec, std::vector<std::string> *out) {
  bool pairs = false;
  std::vector<std::pair<std::string, Piece>> pieces;
  DIST_RETURN_IF_ERROR(splitSpec(spec, &pairs, &pieces));
  return pieces.front().second.list(/*testPart=*/false, out);
}

Status checkSharedFiles(const std::string &spec) {
  bool pairs = false;
  std::vector<std::pair<std::string, Piece>> pieces;
  DIST_RETURN_IF_ERROR(splitSpec(spec, &pairs, &pieces));
  size_t count = 0;
  for (auto &[name, piece] : pieces) {
    std::vector<std::string> files;
    DIST_RETURN_IF_ERROR(piece.list(/*testPart=*/false, &files));
    if (piece.hasRange)
      return wrongSpec(piece.text, "a range is of all files together, and each "
                                   "worker reads some of them alone "
                                   "(--shard-policy file)");
    if (count > 0 && files.size() != count)
      return wrongSpec(piece.text,
                       "'" + name + "' has " + std::to_string(files.size()) +
                           " files, '" + pieces.front().first + "' has " +
                           std::to_string(count) +
                           ": which go to one worker is told by their order "
                           "(--shard-policy file)");
    count = files.size();
  }
  return Status();
}

Status readDataSpec(const std::string &spec, bool testPart,
                    std::vector<NamedArray> *out, FileAccess access,
                    const DataDemand &demand) {
  out->clear();
  bool pairs = false;
  std::vector<std::pair<std::string, Piece>> pieces;
  std::vector<int64_t> rows;
  DIST_RETURN_IF_ERROR(splitSpec(spec, &pairs, &pieces));
  if (!pairs) {
    std::vector<std::string> files;
    std::set<std::string> batches;
    DIST_RETURN_IF_ERROR(pieces[0].second.list(testPart, &files, &batches));
    return pieces[0].second.readAll(
        files, demand,
        [&](const std::string &file, std::vector<NamedArray> *arrays) {
          return batches.count(file) ? readBatch(file, access, arrays)
                 : isFolder(file)
                     ? readFolder(file, testPart, access, demand, arrays)
                     : readUnnamed(file, access, demand, arrays);
        },
        &rows, out);
  }
  for (auto &pair : pieces) {
    const std::string &name = pair.first;
    const Piece &piece = pair.second;
    std::vector<std::string> files;
    std::vector<NamedArray> one;
    DIST_RETURN_IF_ERROR(piece.list(testPart, &files));
    DIST_RETURN_IF_ERROR(piece.readAll(
        files, demand,
        [&](const std::string &file, std::vector<NamedArray> *arrays) {
          return readPart(name, piece.member, file, access, demand, arrays);
        },
        &rows, &one));
    out->push_back(std::move(one[0]));
  }
  return Status();
}

} // namespace dist
