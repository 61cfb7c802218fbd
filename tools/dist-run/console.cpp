//===- console.cpp - Results, progress, errors -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/console.h"
#include "runtime/core/one_line.h"
#include "tools/options/interrupt.h"
#include "tools/options/options.h"
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/ioctl.h>
#include <unistd.h>

namespace dist::tools {

/// Whether a bar stands on the terminal's last line.
static bool barDrawn = false;

static void clearBar() {
  if (barDrawn)
    std::fputs("\r\x1b[K", stderr);
  barDrawn = false;
}

int report(const Status &status) {
  if (status.ok())
    return 0;
  waitIfEnding();
  clearBar();
  std::fprintf(stderr, "%s\n", errorLine("dist-run", status).c_str());
  return exitCodeOf(status.code());
}

/// errno of what kept it from stdout; 0: it is there.
static int write(const std::string &text) {
  clearBar();
  bool isThere =
      std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  return isThere ? 0 : errno;
}

static Status cannotPrint(int error) {
  return Status::error(StatusCode::Unavailable, "cannot write the result",
                       "stdout", std::strerror(error),
                       "check where it is sent to");
}

Status printResult(const std::string &text) {
  int error = write(text);
  return error ? cannotPrint(error) : Status();
}

int printReport(const std::string &text) {
  int error = write(text);
  if (error == EPIPE && endsWithReader())
    return kReaderLeft;
  return report(error ? cannotPrint(error) : Status());
}

void printNote(const std::string &line) {
  clearBar();
  std::fprintf(stderr, "%s\n", onOneLine(line).c_str());
}

void drawBar(const std::string &line) {
  if (line.empty() || !hasTerminal())
    return;
  std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
  barDrawn = true;
}

bool hasTerminal() {
  static const bool terminal = isatty(STDERR_FILENO);
  return terminal;
}

int terminalColumns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  return 80;
}

} // namespace dist::tools
