//===- parity_compiler.cpp - Packages of cases, by dist-opt ---------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "parity_compiler.h"
#include "runtime/formats/file.h"
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace dist::parity {

static std::vector<std::string> splitWords(const std::string &text) {
  std::vector<std::string> words;
  std::string word;
  for (char c : text + " ") {
    if (c != ' ')
      word += c;
    else if (!word.empty())
      words.push_back(std::move(word)), word.clear();
  }
  return words;
}

/// What of the words chooses kernels, which a module before lowering does not
/// carry.
static std::vector<std::string>
getKernelWords(const std::vector<std::string> &words) {
  std::vector<std::string> chosen;
  for (size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == "--convolution")
      chosen.insert(chosen.end(), {words[i], words[i + 1]});
  return chosen;
}

/// Runs the dist-opt beside this program.
static Status runCompiler(std::vector<std::string> words) {
  char self[4096];
  ssize_t size = readlink("/proc/self/exe", self, sizeof self);
  std::string path(self, std::max<ssize_t>(size, 0));
  words.insert(words.begin(), path.substr(0, path.rfind('/')) + "/dist-opt");
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child;
  int code = 0;
  if (posix_spawn(&child, argv[0], nullptr, nullptr, argv.data(), environ) ||
      waitpid(child, &code, 0) < 0)
    return Status::error(StatusCode::Unavailable, "cannot run the compiler",
                         words[0]);
  if (code != 0)
    return Status::error(StatusCode::InvalidInput, "the compiler failed",
                         words[1], "its words stand above");
  return Status();
}

Compiler::Compiler(std::string model, std::vector<std::string> flags)
    : model(std::move(model)), common(std::move(flags)) {
  std::string pattern = "/tmp/strategy_parity.XXXXXX";
  folder = mkdtemp(pattern.data()) ? pattern : "";
}

Compiler::~Compiler() {
  if (!folder.empty())
    removeAll(folder);
}

Status Compiler::compile(const std::string &optimizer, const std::string &flags,
                         bool unsplit, std::string *package,
                         const std::string &threads) {
  std::string &known =
      packages[optimizer + " " + flags + (unsplit ? "!" + threads : "")];
  *package = known;
  if (!known.empty())
    return Status();
  std::string name = folder + "/" + std::to_string(packages.size());
  std::vector<std::string> words = {model, "--optimizer", optimizer};
  words.insert(words.end(), common.begin(), common.end());
  for (std::string &word : splitWords(flags))
    words.push_back(std::move(word));
  if (unsplit) {
    std::vector<std::string> kernels = getKernelWords(words);
    words.insert(words.end(), {"--emit=train", "-o", name + ".mlir"});
    DIST_RETURN_IF_ERROR(runCompiler(words));
    words = {name + ".mlir"};
    words.insert(words.end(), kernels.begin(), kernels.end());
    if (!threads.empty())
      words.insert(words.end(), {"--threads", threads});
  }
  words.insert(words.end(), {"-o", name});
  DIST_RETURN_IF_ERROR(runCompiler(words));
  *package = known = name;
  return Status();
}

} // namespace dist::parity
