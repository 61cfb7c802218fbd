//===- ranks_apart.h - A process each rank, for measurements ----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program starts itself once more for each rank, and these find each other by
// files of a folder.
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_BENCH_RANKS_APART_H
#define TOOLS_BENCH_RANKS_APART_H

#include "runtime/comm/message/message.h"
#include "runtime/comm/ucx/ucx.h"
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <thread>

namespace dist::bench {

/// Runs `arguments` once for each rank, with "--rank R --folder F" behind;
/// whether all went well.
inline bool runRanks(std::vector<std::string> arguments, int ranks) {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "ranks.XXXXXX").string();
  if (!mkdtemp(pattern.data()))
    return false;
  std::vector<pid_t> processes;
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<std::string> words = arguments;
    for (const std::string &word : {std::string("--rank"), std::to_string(rank),
                                    std::string("--folder"), pattern})
      words.push_back(word);
    std::vector<char *> pointers;
    for (std::string &word : words)
      pointers.push_back(word.data());
    pointers.push_back(nullptr);
    pid_t process = -1;
    if (posix_spawn(&process, "/proc/self/exe", nullptr, nullptr,
                    pointers.data(), environ) == 0)
      processes.push_back(process);
  }
  bool good = processes.size() == size_t(ranks);
  for (pid_t process : processes) {
    int status = 0;
    waitpid(process, &status, 0);
    good &= status == 0;
  }
  std::filesystem::remove_all(pattern);
  return good;
}

/// The world of those ranks that are here, by UCX.
inline Status openRanks(MessageOptions options, const std::vector<int> &here,
                        int ranks, bool sharedMemory, const std::string &folder,
                        std::unique_ptr<MessageWorld> *out) {
  UcxOptions ucx;
  ucx.ranks = ranks;
  ucx.ranksHere = here;
  ucx.sharedMemory = sharedMemory;
  ucx.exchange = [&](const std::vector<std::string> &own,
                     std::vector<std::string> *all) {
    auto name = [&](int of) {
      return std::filesystem::path(folder) / std::to_string(of);
    };
    for (size_t i = 0; i < here.size(); ++i) {
      std::filesystem::path draft = name(here[i]).string() + ".draft";
      std::ofstream(draft, std::ios::binary) << own[i];
      std::filesystem::rename(draft, name(here[i]));
    }
    for (int rank = 0; rank < ranks; ++rank) {
      while (!std::filesystem::exists(name(rank)))
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::ostringstream text;
      text << std::ifstream(name(rank), std::ios::binary).rdbuf();
      all->push_back(text.str());
    }
    return Status();
  };
  std::vector<std::unique_ptr<Transport>> ends;
  DIST_RETURN_IF_ERROR(makeUcxTransports(ucx, &ends));
  return MessageWorld::create(options, std::move(ends), out);
}

} // namespace dist::bench

#endif // TOOLS_BENCH_RANKS_APART_H
