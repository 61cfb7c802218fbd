//===- external_files.cpp - Files that a model points to -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A name is resolved first, then checked, then opened from the allowed folder
// downwards without following any link. So a link that is changed in between
// makes the open fail; it cannot lead it elsewhere (as openat2 with
// RESOLVE_BENEATH, which older kernels lack).
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/external_files.h"
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace dist;

namespace {

Status refused(const std::string &where, const std::string &why,
               const std::string &todo) {
  return Status::error(StatusCode::InvalidInput, "bad external data", where,
                       why, todo);
}

/// Whether a name says by itself that it is relative and goes nowhere upwards.
bool staysInside(const std::string &location) {
  if (location.empty() || location[0] == '/' ||
      location.find('\0') != std::string::npos ||
      location.find('\\') != std::string::npos)
    return false;
  for (size_t at = 0; at <= location.size();) {
    size_t end = std::min(location.find('/', at), location.size());
    if (location.compare(at, end - at, "..") == 0)
      return false;
    at = end + 1;
  }
  return true;
}

/// The path without links; empty, with errno, when there is no such file.
std::string resolve(const std::string &path) {
  char *real = ::realpath(path.c_str(), nullptr);
  std::string result = real ? real : "";
  std::free(real);
  return result;
}

/// What of `path` is under `folder`, both resolved; empty: it is not under it.
std::string partUnder(const std::string &folder, const std::string &path) {
  std::string prefix = folder == "/" ? folder : folder + "/";
  return path.size() > prefix.size() &&
                 path.compare(0, prefix.size(), prefix) == 0
             ? path.substr(prefix.size())
             : "";
}

/// Opens a file under a folder, name by name, and none of them a link. -1 and
/// errno when that cannot be.
int openUnder(const std::string &folder, const std::string &path) {
  int at = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  for (size_t begin = 0; at >= 0;) {
    size_t end = path.find('/', begin);
    bool last = end == std::string::npos;
    std::string name = path.substr(begin, last ? end : end - begin);
    // Not blocking: to open a pipe would wait for a writer.
    int next = openat(
        at, name.c_str(),
        O_CLOEXEC | O_NOFOLLOW |
            (last ? O_RDONLY | O_NONBLOCK | O_NOCTTY : O_PATH | O_DIRECTORY));
    int error = errno;
    ::close(at);
    errno = error;
    at = next;
    if (last)
      break;
    begin = end + 1;
  }
  return at;
}

} // namespace

Status ExternalFiles::open(const std::string &location,
                           const std::string &where,
                           std::shared_ptr<const FileBytes> *out) {
  auto known = files.find(location);
  if (known != files.end()) {
    *out = known->second;
    return Status();
  }
  const char *beside = "keep the data beside the model";
  if (!staysInside(location))
    return refused(
        where, "the path '" + location + "' leaves the model's folder", beside);
  std::string folder = parentFolder(model);
  std::string path = folder == "." && model.find('/') == std::string::npos
                         ? location
                         : (folder == "/" ? "" : folder) + "/" + location;
  std::string real = resolve(path);
  if (real.empty())
    return Status::error(StatusCode::InvalidInput, "cannot read file", path,
                         std::strerror(errno),
                         "it holds tensors of the model: fetch it, too");
  int descriptor = -1;
  bool inside = false;
  for (const std::string &base :
       {resolve(folder), parentFolder(resolve(model))}) {
    std::string part = partUnder(base, real);
    if (part.empty())
      continue;
    inside = true;
    descriptor = openUnder(base, part);
    break;
  }
  if (!inside)
    return refused(where,
                   "'" + location +
                       "' is a link out of the model's folder, to '" + real +
                       "'",
                   beside);
  if (descriptor < 0)
    return Status::error(StatusCode::InvalidInput, "cannot read file", path,
                         std::strerror(errno),
                         "check the name and its permissions");
  struct stat info;
  bool regular = fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
  Status status =
      regular ? FileBytes::open(descriptor, path, out, access)
              : refused(where, "'" + location + "' is no regular file", beside);
  ::close(descriptor);
  DIST_RETURN_IF_ERROR(status);
  if (opened) {
    opened(path, (*out)->bytes());
    (*out)->release();
  }
  files[location] = *out;
  return Status();
}
