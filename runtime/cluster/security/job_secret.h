//===- job_secret.h - What a job's processes know, and no other -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All processes of a job are given the same text. It is sent to nobody: keys
// are derived from it, by which they know each other.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_SECURITY_JOB_SECRET_H
#define RUNTIME_CLUSTER_SECURITY_JOB_SECRET_H

#include "runtime/core/status.h"
#include <string>

namespace dist::cluster {

class JobSecret {
public:
  /// Without white space at the text's ends. `source` is where it is from, for
  /// errors: one that is short enough to be guessed.
  static Status fromText(const std::string &text, const std::string &source,
                         JobSecret *out);
  /// Errors: a file that others than its owner may read, too.
  static Status fromFile(const std::string &path, JobSecret *out);
  static Status makeRandom(JobSecret *out);

  const std::string &text() const { return secret; }

private:
  std::string secret;
};

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_SECURITY_JOB_SECRET_H
