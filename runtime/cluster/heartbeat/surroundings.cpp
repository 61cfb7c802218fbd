//===- surroundings.cpp - Heartbeats on the system's machine --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/heartbeat/surroundings.h"
#include "runtime/cluster/heartbeat/connection.h"
#include "runtime/core/process_space.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace dist::cluster {

namespace {

class SocketLink final : public Link {
public:
  explicit SocketLink(Socket socket) : socket(std::move(socket)) {}
  int64_t send(const char *bytes, size_t count) override {
    return outcome([&] {
      return ::send(socket.get(), bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    });
  }
  int64_t receive(char *bytes, size_t count) override {
    const int64_t got =
        outcome([&] { return recv(socket.get(), bytes, count, MSG_DONTWAIT); });
    return got == 0 && !isEmpty ? -1 : got;
  }
  int descriptor() const override { return socket.get(); }

private:
  template <typename Call> int64_t outcome(Call call) {
    ssize_t done = call();
    while (done < 0 && errno == EINTR)
      done = call();
    isEmpty = done < 0 && errno == EAGAIN;
    return isEmpty ? 0 : done;
  }

  Socket socket;
  bool isEmpty = false; // as the last call has found
};

class SocketDoor final : public Door {
public:
  explicit SocketDoor(Socket socket) : socket(std::move(socket)) {}
  std::unique_ptr<Link> accept() override {
    Socket accepted = socket.accept();
    return accepted.get() < 0 ? nullptr : linkOf(std::move(accepted));
  }
  int descriptor() const override { return socket.get(); }

private:
  Socket socket;
};

class PollWaiter final : public Waiter {
public:
  PollWaiter() : wakeEvents(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  bool wait(const std::vector<Awaited> &links, const Door *door,
            Detector::TimePoint until) override {
    if (isEnding)
      return false;
    std::vector<pollfd> polled{{wakeEvents.get(), POLLIN, 0}};
    if (door)
      polled.push_back({door->descriptor(), POLLIN, 0});
    for (const Awaited &one : links)
      polled.push_back({one.link->descriptor(),
                        short(one.sends ? POLLIN | POLLOUT : POLLIN), 0});
    const auto left =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::max(
            until - Detector::Clock::now(), Detector::Clock::duration::zero()));
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(left);
    timespec time{whole.count(), long((left - whole).count())};
    (void)ppoll(polled.data(), polled.size(), &time, nullptr);
    return !isEnding;
  }
  void end() override {
    isEnding = true;
    uint64_t one = 1;
    [[maybe_unused]] ssize_t bytes = write(wakeEvents.get(), &one, sizeof one);
  }

private:
  Socket wakeEvents;
  std::atomic<bool> isEnding{false};
};

class SystemThread final : public BeatSurroundings::Thread {
public:
  explicit SystemThread(std::function<void()> body)
      : thread([body = std::move(body)] {
          pthread_setname_np(pthread_self(), "heartbeat");
          body();
        }) {}
  ~SystemThread() override { thread.join(); }

private:
  std::thread thread;
};

class SystemBeatSurroundings final : public BeatSurroundings {
public:
  Clock::time_point now() override { return Clock::now(); }
  void sleep(std::chrono::milliseconds time) override {
    std::this_thread::sleep_for(time);
  }
  std::unique_ptr<Thread> start(std::function<void()> body) override {
    return std::make_unique<SystemThread>(std::move(body));
  }
  bool wait(std::unique_lock<std::mutex> &lock,
            std::condition_variable &condition,
            Clock::time_point until) override {
    condition.wait_until(lock, until);
    return true;
  }
  std::unique_ptr<Waiter> makeWaiter() override {
    return std::make_unique<PollWaiter>();
  }
  Status listen(const std::string &literal, PortRange ports,
                std::unique_ptr<Door> *out, int *port) override {
    Socket socket;
    DIST_RETURN_IF_ERROR(Socket::listen(literal, ports, &socket, port));
    *out = std::make_unique<SocketDoor>(std::move(socket));
    return Status();
  }
  Status connect(const Address &address, int milliseconds,
                 std::unique_ptr<Link> *out) override {
    Socket socket;
    DIST_RETURN_IF_ERROR(Socket::connect(address, milliseconds, &socket));
    *out = linkOf(std::move(socket));
    return Status();
  }
  int64_t process() override { return getpid(); }
  int64_t thread() override { return gettid(); }
  std::string space() override { return processSpace(); }
  ThreadState stateOf(int64_t process, int64_t thread) override;
};

} // namespace

std::unique_ptr<Link> linkOf(Socket socket) {
  return std::make_unique<SocketLink>(std::move(socket));
}

ThreadState SystemBeatSurroundings::stateOf(int64_t process, int64_t thread) {
  std::ifstream file("/proc/" + std::to_string(process) + "/task/" +
                     std::to_string(thread) + "/stat");
  std::string line;
  std::getline(file, line);
  // Behind the name, which may hold anything.
  size_t name = line.rfind(") ");
  switch (name == std::string::npos ? ' ' : line[name + 2]) {
  case 'R':
    return ThreadState::Runnable;
  case 'T':
  case 't':
    return ThreadState::Stopped;
  case 'S':
    return ThreadState::Sleeps;
  case 'D':
    return ThreadState::Blocked;
  default:
    return ThreadState::Unknown;
  }
}

BeatSurroundings &systemBeatSurroundings() {
  static SystemBeatSurroundings system;
  return system;
}

} // namespace dist::cluster
