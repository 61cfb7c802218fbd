//===- compiler.cpp - dist-opt as a child process -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/compiler.h"
#include "runtime/core/one_line.h"
#include "tools/dist-run/console.h"
#include "tools/options/interrupt.h"
#include "tools/options/piped_files.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace dist::tools {

std::string pathBeside(const std::string &program) {
  char self[4096];
  ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
  std::string path(self, std::max<ssize_t>(size, 0));
  return path.substr(0, path.rfind('/') + 1) + program;
}

std::string compilerPath() {
  std::string path = pathBeside("dist-opt");
  return access(path.c_str(), X_OK) == 0 ? path : "dist-opt";
}

std::vector<std::string> ownCommandLine() {
  std::ostringstream text;
  text << std::ifstream("/proc/self/cmdline", std::ios::binary).rdbuf();
  std::vector<std::string> words;
  std::istringstream rest(text.str());
  for (std::string word; std::getline(rest, word, '\0');)
    words.push_back(word);
  return words;
}

/// The child's lines in this tool's name. Of a crash only errors are kept.
static std::string adopt(const std::string &text, bool crashed) {
  std::string out;
  size_t begin = 0;
  while (begin < text.size()) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.compare(0, 10, "dist-opt: ") == 0)
      line = "dist-run: " + line.substr(10);
    else if (crashed)
      continue;
    out += line + "\n";
  }
  return out;
}

Status runCompiler(const std::vector<std::string> &words,
                   CompileFailure *failure) {
  auto cannot = [](const std::string &why) {
    return Status::error(StatusCode::Unavailable, "cannot run the compiler",
                         "dist-opt", why,
                         "check that it and its "
                         "libraries are installed");
  };
  int pipes[2];
  if (pipe2(pipes, O_CLOEXEC) != 0)
    return cannot(std::strerror(errno));
  std::vector<char *> argv;
  for (const std::string &word : words)
    argv.push_back(const_cast<char *>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child;
  {
    // Until it is known which process to kill.
    Shield shield("starting the compiler");
    pid_t parent = getpid();
    child = forkHearing();
    if (child == 0) {
      // A group of its own: with the compiler goes what it has started.
      // And with this process goes the compiler, however that ends.
      setpgid(0, 0);
      dieWith(parent);
      int null = open("/dev/null", O_RDWR);
      if (!namesStandardInput())
        dup2(null, STDIN_FILENO);
      dup2(null, STDOUT_FILENO);
      dup2(pipes[1], STDERR_FILENO);
      execvp(argv[0], argv.data());
      _exit(127);
    }
    if (child > 0) {
      setpgid(child, child);
      setChildGroup(child);
    }
  }
  if (child < 0) {
    close(pipes[0]);
    close(pipes[1]);
    return cannot(std::strerror(errno));
  }
  close(pipes[1]);
  std::string text;
  char block[4096];
  for (;;) {
    ssize_t got = read(pipes[0], block, sizeof block);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      break;
    // A compiler that never stops talking must not fill the memory.
    if (text.size() < (size_t(1) << 20))
      text.append(block, got);
  }
  close(pipes[0]);
  // Once it is reaped its number may be another's.
  siginfo_t info;
  while (waitid(P_PID, id_t(child), &info, WEXITED | WNOWAIT) != 0 &&
         errno == EINTR)
    ;
  setChildGroup(0);
  int code = 0;
  while (waitpid(child, &code, 0) < 0 && errno == EINTR)
    ;
  if (WIFEXITED(code) && WEXITSTATUS(code) == 0) {
    std::istringstream lines(adopt(text, false));
    for (std::string line; std::getline(lines, line);)
      printNote(line);
    return Status();
  }
  // What the loader says, as of a library that is not there, is why.
  const std::string said = onOneLine(text.substr(0, text.find('\n')));
  if (WIFEXITED(code) && WEXITSTATUS(code) == 127)
    return cannot("it cannot be started" + (said.empty() ? "" : ": " + said));
  bool crashed = !WIFEXITED(code) || WEXITSTATUS(code) > 3;
  failure->text = adopt(text, crashed);
  failure->exitCode = crashed ? 3 : WEXITSTATUS(code);
  if (failure->text.find("error:") == std::string::npos)
    failure->text =
        "dist-run: error: the compiler failed (" + words[1] + "): " +
        (WIFSIGNALED(code) ? "signal " + std::to_string(WTERMSIG(code))
                           : "exit code " + std::to_string(WEXITSTATUS(code))) +
        "; please report the model and options\n" + failure->text;
  return Status::error(
      crashed ? StatusCode::Internal : StatusCode::InvalidInput, "");
}

} // namespace dist::tools
