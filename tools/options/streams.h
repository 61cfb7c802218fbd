//===- streams.h - Standard streams that are missing ------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_OPTIONS_STREAMS_H
#define TOOLS_OPTIONS_STREAMS_H

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace dist::tools {

/// Standard streams that the process was started without stay without use, but
/// no file or pipe that it opens gets their numbers: what is said on one of
/// them would go there. Before anything else.
inline void holdStandardStreams() {
  // The other way round than they are used, which fails as it did.
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      (void)open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

} // namespace dist::tools

#endif // TOOLS_OPTIONS_STREAMS_H
