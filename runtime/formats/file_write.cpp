//===- file_write.cpp - Writing files atomically -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/file.h"
#include "runtime/formats/file_system.h"
#include "runtime/formats/links.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dist {

FileSink::~FileSink() {
  if (descriptor >= 0)
    fileSystem().close(descriptor);
  if (!beside.empty())
    fileSystem().remove(beside);
}

Status FileSink::failed(const char *what) {
  int error = errno;
  return Status::error(StatusCode::Unavailable, what, path,
                       std::strerror(error),
                       "check the folder, its permissions and free space");
}

Status FileSink::open(const std::string &target) {
  path = target;
  struct stat info;
  FileSystem &files = fileSystem();
  if (const int open = ownDescriptor(path); open >= 0) {
    descriptor = fcntl(open, F_DUPFD_CLOEXEC, 0);
    return descriptor < 0 ? failed("cannot write file") : Status();
  }
  if (files.status(path, &info) == 0 && !S_ISREG(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) {
      errno = EISDIR;
      return failed("cannot write file");
    }
    descriptor = files.open(path, O_WRONLY | O_CLOEXEC);
    return descriptor < 0 ? failed("cannot write file") : Status();
  }
  path = withoutLinks(path);
  beside = patternBeside(path);
  descriptor = files.openTemporary(&beside);
  if (descriptor < 0) {
    beside.clear();
    return failed("cannot write file");
  }
  return Status();
}

Status FileSink::write(const void *data, size_t size) {
  const char *next = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t put =
        fileSystem().write(descriptor, next, std::min(size, size_t(1) << 30));
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0 && errno == EFAULT)
      return Status::error(StatusCode::Unavailable, "cannot write file", path,
                           "the file that the data are from was cut short",
                           "run again when nothing writes it");
    if (put < 0)
      return failed("cannot write file");
    next += put;
    size -= put;
  }
  return Status();
}

Status FileSink::commit(bool durable) {
  if (durable && !beside.empty() && fileSystem().sync(descriptor) != 0)
    return failed("cannot write file");
  int open = descriptor;
  descriptor = -1;
  if (fileSystem().close(open) != 0)
    return failed("cannot write file");
  if (!beside.empty()) {
    if (fileSystem().rename(beside, path) != 0)
      return failed("cannot rename file into place");
    beside.clear();
    if (durable)
      return flushToDisk(parentFolder(path));
  }
  return Status();
}

Status writeFile(const std::string &path, std::string_view text, bool durable) {
  FileSink sink;
  DIST_RETURN_IF_ERROR(sink.open(path));
  DIST_RETURN_IF_ERROR(sink.write(text));
  return sink.commit(durable);
}

std::string parentFolder(const std::string &path) {
  size_t end = path.find_last_not_of('/');
  size_t slash = end == std::string::npos ? 0 : path.rfind('/', end);
  if (end == std::string::npos || slash == 0)
    return path.empty() ? "." : "/";
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

Status flushToDisk(const std::string &path) {
  FileSystem &files = fileSystem();
  int descriptor = files.open(path, O_RDONLY | O_CLOEXEC);
  bool done = descriptor >= 0 && files.sync(descriptor) == 0;
  int error = errno;
  if (descriptor >= 0)
    files.close(descriptor);
  // File systems that cannot do this say EINVAL: nothing more can be asked.
  if (done || error == EINVAL)
    return Status();
  return Status::error(StatusCode::Unavailable, "cannot write to the disk",
                       path, std::strerror(error),
                       "check the disk and its free space");
}

Status makeFolderBeside(const std::string &path, std::string *out) {
  *out = patternBeside(path);
  if (!mkdtemp(out->data()) || chmod(out->c_str(), 0777 & ~currentUmask()) != 0)
    return Status::error(StatusCode::Unavailable, "cannot make folder", *out,
                         std::strerror(errno),
                         "check the path, its permissions and free space");
  return Status();
}

bool pathExists(const std::string &path) {
  struct stat info;
  return fileSystem().status(path, &info) == 0;
}

Status makeFolders(const std::string &path, bool durable) {
  std::vector<std::string> made;
  for (std::string one = path;
       durable && !pathExists(one) && (made.empty() || one != made.back());
       one = parentFolder(one))
    made.push_back(one);
  if (std::error_code error = fileSystem().makeFolders(path))
    return Status::error(StatusCode::Unavailable, "cannot make folder", path,
                         error.message(),
                         "check the path, its permissions and free space");
  for (const std::string &one : made)
    DIST_RETURN_IF_ERROR(flushToDisk(parentFolder(one)));
  return Status();
}

static Status renamed(const std::string &to, int error) {
  return error == 0
             ? Status()
             : Status::error(StatusCode::Unavailable, "cannot rename folder",
                             to, std::strerror(error),
                             "check the folder's permissions");
}

/// An error's number.
static int replaceOnce(const std::string &from, const std::string &to) {
  auto rename = [](const std::string &one, const std::string &other,
                   unsigned flags = 0) {
    return fileSystem().rename(one, other, flags) == 0 ? 0 : errno;
  };
  int error = rename(from, to, RENAME_EXCHANGE);
  if (error == ENOENT) // There is nothing to exchange it for.
    error = rename(from, to);
  if (error != EINVAL && error != ENOSYS)
    return error;
  const std::string old = from + ".old";
  const bool replaces = pathExists(to);
  error = replaces ? rename(to, old) : 0;
  if (error != 0)
    return error;
  error = rename(from, to);
  if (error == 0)
    return replaces ? rename(old, from) : 0;
  // Another has come in its place meanwhile.
  if (replaces && rename(old, to) != 0 && pathExists(to))
    fileSystem().removeAll(old);
  return error;
}

Status replaceFolder(const std::string &from, const std::string &to) {
  // Whoever writes the same folder may have made it, or moved it away, since it
  // was looked for.
  constexpr int kTries = 10;
  int error = 0;
  for (int i = 0; i < kTries; ++i) {
    error = replaceOnce(from, to);
    const bool isChanged = error == ENOTEMPTY || error == EEXIST ||
                           (error == ENOENT && pathExists(from));
    if (!isChanged)
      break;
  }
  return renamed(to, error);
}

Status offerFolder(const std::string &from, const std::string &to,
                   const std::function<bool()> &isGood,
                   const std::string &aside, bool *taken) {
  // A folder that is not empty is not replaced: the name is given to the first.
  FileSystem &files = fileSystem();
  auto offer = [&] {
    *taken = files.rename(from, to) == 0;
    return *taken ? 0 : errno;
  };
  auto another = [&] { return pathExists(to) && isGood(); };
  int error = offer();
  if (error != 0 && !another()) {
    (void)files.rename(to, aside);
    error = offer();
  }
  if (error != 0 && another())
    error = 0;
  return renamed(to, error);
}

void removeAll(const std::string &path) { fileSystem().removeAll(path); }

} // namespace dist
