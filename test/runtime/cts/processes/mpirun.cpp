//===- mpirun.cpp - Processes that mpirun starts for a test ---------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/cts/processes/mpirun.h"
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>

namespace dist::cts {

namespace {

using Clock = std::chrono::steady_clock;

/// Until all have come. They come by the CPUs that there are.
constexpr std::chrono::seconds untilStarted{150};
/// Until a job has ended that may end, or that was told to.
constexpr std::chrono::seconds untilEnded{20};

/// What a process says of each socket that it connects.
struct Greeting {
  int64_t rank, socket, id;
};

/// Of a name of the kernel's, behind a NUL: a file would stay where a test is
/// killed.
socklen_t fill(sockaddr_un *address, const std::string &name) {
  *address = {};
  address->sun_family = AF_UNIX;
  name.copy(address->sun_path + 1, sizeof address->sun_path - 1);
  return offsetof(sockaddr_un, sun_path) + 1 + name.size();
}

/// A job; the last of its processes that is in use ends it.
class Job {
public:
  explicit Job(const std::vector<std::string> &launcher) {
    output = memfd_create("mpirun", MFD_CLOEXEC);
    int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    auto *at = reinterpret_cast<sockaddr *>(&address);
    socklen_t size = sizeof address;
    // The kernel gives one that nobody has.
    if (bind(listening, at, sizeof address.sun_family) != 0 ||
        listen(listening, 3 * mpirunRanks) != 0 ||
        getsockname(listening, at, &size) != 0)
      giveUp("cannot listen");
    start(launcher, std::string(address.sun_path + 1,
                                size - offsetof(sockaddr_un, sun_path) - 1));
    for (int i = 0; i < 3 * mpirunRanks; ++i)
      accept(listening);
    close(listening);
  }
  ~Job() {
    if (isUsable())
      for (Process &process : processes)
        process.hangUp();
    else // some ranks would wait at their end for the others
      kill(id, SIGTERM);
    if (!endsWithin(untilEnded)) {
      kill(id, SIGKILL);
      waitpid(id, nullptr, 0);
    }
    close(output);
  }
  bool isUsable() {
    for (Process &process : processes)
      if (!process.isUsable())
        return false;
    return true;
  }

  std::array<Process, mpirunRanks> processes;

private:
  void start(const std::vector<std::string> &launcher,
             const std::string &name) {
    std::array<char, 4096> self{};
    if (readlink("/proc/self/exe", self.data(), self.size() - 1) < 0)
      giveUp("cannot find this program");
    std::vector<std::string> words = launcher;
    for (const std::string &word :
         {std::string("-n"), std::to_string(mpirunRanks),
          std::string(self.data()), std::string("--serve-mpi"), name})
      words.push_back(word);
    std::vector<char *> arguments;
    for (std::string &word : words)
      arguments.push_back(&word[0]);
    arguments.push_back(nullptr);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    pid_t test = getpid();
    id = fork();
    if (id == 0) {
      // mpirun ends its processes then.
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (getppid() != test)
        _exit(1);
      std::signal(SIGPIPE, SIG_DFL);
      dup2(nothing, 0);
      dup2(output, 1);
      dup2(output, 2);
      execvp(arguments[0], arguments.data());
      _exit(127);
    }
    close(nothing);
  }

  void accept(int listening) {
    while (true) {
      pollfd ready{listening, POLLIN, 0};
      constexpr int moment = 100;
      if (poll(&ready, 1, moment) > 0)
        break;
      if (waitpid(id, nullptr, WNOHANG) != 0) {
        id = -1;
        giveUp("it has ended");
      }
      if (Clock::now() - begin > untilStarted)
        giveUp("not all ranks have come");
    }
    int socket = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    Greeting greeting{};
    if (socket < 0 || !readAll(socket, &greeting, sizeof greeting))
      giveUp("a rank has ended");
    Process &process = processes[greeting.rank];
    process.id = greeting.id;
    Sockets &all = process.sockets;
    (greeting.socket == 0   ? all.asks
     : greeting.socket == 1 ? all.aborts
                            : all.besides) = socket;
  }

  bool endsWithin(Clock::duration time) {
    for (Clock::time_point until = Clock::now() + time; Clock::now() < until;) {
      if (waitpid(id, nullptr, WNOHANG) != 0)
        return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  /// No test can run: the program ends, and says what mpirun said.
  [[noreturn]] void giveUp(const char *why) {
    std::fprintf(stderr, "cannot start ranks by mpirun: %s\n", why);
    std::array<char, 4096> text{};
    lseek(output, 0, SEEK_SET);
    for (ssize_t size; (size = read(output, text.data(), text.size())) > 0;)
      std::fwrite(text.data(), 1, size, stderr);
    if (id > 0)
      kill(id, SIGTERM);
    std::_Exit(1);
  }

  const Clock::time_point begin = Clock::now();
  pid_t id = -1;
  int output = -1;
};

class MpirunProcesses final : public Processes {
public:
  explicit MpirunProcesses(std::vector<std::string> launcher)
      : launcher(std::move(launcher)) {}
  std::vector<std::shared_ptr<Process>> take(int64_t ranks) override {
    if (!job || !job->isUsable()) {
      job.reset();
      job = std::make_shared<Job>(launcher);
    }
    std::vector<std::shared_ptr<Process>> result;
    for (int64_t rank = 0; rank < ranks; ++rank)
      result.emplace_back(job, &job->processes[rank]);
    return result;
  }

private:
  const std::vector<std::string> launcher;
  std::shared_ptr<Job> job;
};

} // namespace

std::unique_ptr<Processes> mpirunProcesses(std::vector<std::string> launcher) {
  return std::make_unique<MpirunProcesses>(std::move(launcher));
}

Sockets connectToTest(const std::string &name, int rank) {
  sockaddr_un address;
  socklen_t size = fill(&address, name);
  int all[3];
  for (int i = 0; i < 3; ++i) {
    all[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    Greeting greeting{rank, i, getpid()};
    if (connect(all[i], reinterpret_cast<sockaddr *>(&address), size) != 0 ||
        !writeAll(all[i], &greeting, sizeof greeting))
      std::_Exit(1);
  }
  return {all[0], all[1], all[2]};
}

} // namespace dist::cts
