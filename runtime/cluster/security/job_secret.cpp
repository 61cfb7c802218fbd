//===- job_secret.cpp - What a job's processes know, and no other ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/security/job_secret.h"
#include "runtime/cluster/security/keyed.h"
#include "runtime/core/text.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dist::cluster {

static constexpr size_t kFewestBytes = 16, kMostBytes = 4096;
static constexpr size_t kRandomBytes = 32;

static const char *const kHowToMake =
    "make one by: (umask 077; head -c 32 /dev/urandom | base64 > FILE)";

Status JobSecret::fromText(const std::string &text, const std::string &source,
                           JobSecret *out) {
  static const char blanks[] = " \t\r\n";
  size_t begin = text.find_first_not_of(blanks);
  std::string secret =
      begin == std::string::npos
          ? ""
          : text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
  if (secret.size() < kFewestBytes || secret.size() > kMostBytes)
    return Status::error(
        StatusCode::InvalidInput,
        secret.size() < kFewestBytes ? "the job's secret is too short"
                                     : "the job's secret is too long",
        source,
        "it has " +
            (secret.size() > kMostBytes ? "more than 4096"
                                        : std::to_string(secret.size())) +
            " characters, and needs " + std::to_string(kFewestBytes) +
            " or more that nobody can guess",
        kHowToMake);
  out->secret = std::move(secret);
  return Status();
}

Status JobSecret::fromFile(const std::string &path, JobSecret *out) {
  // Not blocking: a pipe that nobody writes to is no secret.
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info = {};
  if (file < 0 || fstat(file, &info) != 0) {
    int error = errno;
    if (file >= 0)
      ::close(file);
    return Status::error(
        StatusCode::InvalidInput, "cannot read the job's secret", path,
        std::strerror(error), "check the name and its permissions");
  }
  if (info.st_mode & (S_IRWXG | S_IRWXO)) {
    ::close(file);
    return Status::error(StatusCode::InvalidInput,
                         "the job's secret is open to others", path,
                         "its permissions let more than its owner use it",
                         "chmod 600 it, and make a new one if others may have "
                         "read it");
  }
  std::string text;
  char block[1024];
  ssize_t got = 0;
  while (text.size() <= 2 * kMostBytes &&
         ((got = ::read(file, block, sizeof block)) > 0 ||
          (got < 0 && errno == EINTR)))
    if (got > 0)
      text.append(block, size_t(got));
  int error = got < 0 ? errno : 0;
  ::close(file);
  if (error)
    return Status::error(StatusCode::InvalidInput,
                         "cannot read the job's secret", path,
                         std::strerror(error));
  return fromText(text, path, out);
}

Status JobSecret::makeRandom(JobSecret *out) {
  std::string bytes;
  DIST_RETURN_IF_ERROR(makeRandomBytes(kRandomBytes, &bytes));
  out->secret = toHex(bytes);
  return Status();
}

} // namespace dist::cluster
