//===- links.cpp - Where what is written under a name lies ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/links.h"
#include "runtime/formats/file.h"
#include <algorithm>
#include <climits>
#include <filesystem>
#include <unistd.h>

namespace dist {

/// A folder may be named with slashes at the end.
static std::string withoutEnd(std::string path) {
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  return path;
}

/// The next link's target; empty: there is none. What /proc has as links are no
/// names but what is open.
static std::string follow(const std::string &path) {
  char text[PATH_MAX];
  const std::string name = withoutEnd(path);
  const ssize_t size = readlink(name.c_str(), text, sizeof text);
  if (size <= 0)
    return "";
  const std::string folder = parentFolder(name);
  std::error_code error;
  const std::string place = std::filesystem::canonical(folder, error);
  if (error || place.compare(0, 6, "/proc/") == 0)
    return "";
  const std::string to(text, size_t(size));
  return to.front() == '/' ? to : folder + "/" + to;
}

std::string withoutLinks(const std::string &path) {
  constexpr int kMostLinks = 40; // as the kernel follows
  std::string place = path;
  for (int i = 0; i < kMostLinks; ++i) {
    std::string next = follow(place);
    if (next.empty())
      return place;
    place = std::move(next);
  }
  return path;
}

int ownDescriptor(const std::string &path) {
  const std::string place = withoutEnd(withoutLinks(path));
  const size_t name = place.rfind('/') + 1;
  if (name == place.size() ||
      place.find_first_not_of("0123456789", name) != std::string::npos ||
      place.size() - name > 6)
    return -1;
  std::error_code error;
  const std::filesystem::path folder =
      std::filesystem::canonical(parentFolder(place), error);
  return !error && folder == std::filesystem::canonical("/proc/self/fd", error)
             ? std::stoi(place.substr(name))
             : -1;
}

std::string patternBeside(const std::string &path) {
  const std::string end = ".part-XXXXXX";
  std::string name = withoutEnd(path);
  const size_t slash = name.rfind('/');
  const size_t begin = slash == std::string::npos ? 0 : slash + 1;
  name.resize(std::min(name.size(), begin + NAME_MAX - end.size()));
  return name + end;
}

} // namespace dist
