//===- FatalErrors.cpp - Where the compiler cannot go on -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-opt/FatalErrors.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"
#include <cstring>
#include <new>
#include <string>
#include <unistd.h>

using llvm::StringRef;

/// Streams of the compiler end the program when what they hold cannot be
/// written: that is the file system's failure, like any other.
static void onFatalError(void *, const char *reason, bool) {
  StringRef why = reason;
  bool ofFiles = why.consume_front("IO failure on output stream: ");
  std::string line =
      ofFiles ? "dist-opt: error: cannot write the output: " + why.str() +
                    "; check where it is sent to\n"
              : "dist-opt: error: " + why.str() + "\n";
  // The stream of errors may be gone when this is called on the way out.
  (void)!write(STDERR_FILENO, line.data(), line.size());
  _exit(3);
}

/// The compiler is built without exceptions: an allocation that fails ends it,
/// with a line and a code as any other error. Allocates nothing.
static void onOutOfMemory() {
  constexpr const char *line =
      "dist-opt: error: out of memory: an allocation failed; use a smaller "
      "--batch-size, or raise the limits (ulimit -v)\n";
  (void)!write(STDERR_FILENO, line, strlen(line));
  llvm::sys::RunInterruptHandlers(); // removes files that are half written
  _exit(3);
}

void mlir::dist::endWithErrorLines() {
  llvm::install_fatal_error_handler(onFatalError);
  std::set_new_handler(onOutOfMemory);
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) { onOutOfMemory(); });
}
