//===- forked.cpp - Processes that are forked for a test ------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/cts/processes/process.h"
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>

namespace dist::cts {

namespace {

struct ForkedProcess final : Process {
  ForkedProcess() {
    int first[2], second[2], third[2];
    // The child's ends only are open in it.
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, first);
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, second);
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, third);
    std::string arguments[] = {std::to_string(first[1]),
                               std::to_string(second[1]),
                               std::to_string(third[1])};
    id = fork();
    if (id == 0) {
      for (int socket : {first[1], second[1], third[1]})
        fcntl(socket, F_SETFD, 0);
      execl("/proc/self/exe", "rank", "--serve-rank", arguments[0].c_str(),
            arguments[1].c_str(), arguments[2].c_str(),
            static_cast<char *>(nullptr));
      _exit(127);
    }
    close(first[1]);
    close(second[1]);
    close(third[1]);
    sockets = {first[0], second[0], third[0]};
  }
  ~ForkedProcess() override {
    hangUp();
    waitpid(id, nullptr, 0);
  }
  bool isAlive() { return waitpid(id, nullptr, WNOHANG) == 0; }
};

class ForkedProcesses final : public Processes {
public:
  std::vector<std::shared_ptr<Process>> take(int64_t ranks) override {
    std::vector<std::shared_ptr<Process>> result;
    for (const auto &one : all)
      if (int64_t(result.size()) < ranks && one.use_count() == 1 &&
          one->isAlive())
        result.push_back(one);
    while (int64_t(result.size()) < ranks)
      result.push_back(all.emplace_back(std::make_shared<ForkedProcess>()));
    return result;
  }

private:
  std::vector<std::shared_ptr<ForkedProcess>> all;
};

} // namespace

Processes &forkedProcesses() {
  static ForkedProcesses processes;
  return processes;
}

} // namespace dist::cts
