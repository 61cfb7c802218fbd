//===- acceptor.cpp - Who gets as far as the key-value server -------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/etcd/acceptor.h"
#include "runtime/cluster/security/greeting.h"
#include <algorithm>
#include <cerrno>
#include <deque>
#include <map>
#include <new>
#include <poll.h>
#include <random>
#include <string>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <utility>
#include <vector>

namespace dist::cluster {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Connections that have not sent their greeting, and the time that one has.
static constexpr size_t kMostStrangers = 128;
static constexpr milliseconds kStrangerTime{2000};
/// Before it looks again whether there is a descriptor for one more.
static constexpr milliseconds kPause{20};
/// Connections that enter in `kHandshakeTime`: as many as may be in their
/// handshakes at once. Each process of a job makes two as it starts.
static constexpr size_t kMostEntries = 2048;
/// The same of one greeting, which a client keeps when it connects again.
static constexpr size_t kMostOfOne = 64;
/// Between two looks at the strangers.
static constexpr int kMostAccepts = 32;

/// A ClientHello is one TLS record, of some hundred bytes for our clients.
static constexpr size_t kLongestHello = 4096;
static constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
static constexpr size_t kPrefaceBytes = sizeof kPreface - 1;

namespace {

enum class Look { Whole, Incomplete, Other };

struct Stranger {
  Socket socket;
  Clock::time_point since;
};

} // namespace

/// RFC 8446, 5.1 and 4: type 22 (handshake), version 3.x, the record's length;
/// type 1 (client_hello), its length.
static Look lookForHello(const std::string &bytes) {
  auto byte = [&](size_t i) { return size_t(uint8_t(bytes[i])); };
  static constexpr size_t kRecordHead = 5, kMessageHead = 4;
  if ((bytes.size() > 0 && byte(0) != 22) ||
      (bytes.size() > 1 && byte(1) != 3) || (bytes.size() > 5 && byte(5) != 1))
    return Look::Other;
  if (bytes.size() < kRecordHead + kMessageHead)
    return Look::Incomplete;
  size_t record = byte(3) << 8 | byte(4);
  size_t message = byte(6) << 16 | byte(7) << 8 | byte(8);
  if (message + kMessageHead != record || kRecordHead + record > kLongestHello)
    return Look::Other;
  return bytes.size() >= kRecordHead + record ? Look::Whole : Look::Incomplete;
}

static Look lookForPreface(const std::string &bytes) {
  size_t have = std::min(bytes.size(), kPrefaceBytes);
  if (bytes.compare(0, have, kPreface, have) != 0)
    return Look::Other;
  return have == kPrefaceBytes ? Look::Whole : Look::Incomplete;
}

/// What has come of the greeting, which stays to be read.
static Look lookAt(const Socket &socket, Greeting greeting,
                   std::string *greetingBytes) {
  std::string &bytes = *greetingBytes;
  bytes.assign(kLongestHello, 0);
  ssize_t got =
      recv(socket.get(), bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  if (got == 0)
    return Look::Other; // it is closed
  if (got < 0)
    return errno == EAGAIN || errno == EINTR ? Look::Incomplete : Look::Other;
  bytes.resize(size_t(got));
  return greeting == Greeting::Tls ? lookForHello(bytes)
                                   : lookForPreface(bytes);
}

/// A client of another secret learns so, at less cost than by a handshake:
/// TLS's fatal alert 112, unrecognized_name.
static void sendAlert(const Socket &socket) {
  static constexpr char kAlert[7] = {21, 3, 3, 0, 2, 2, 112};
  char read[kLongestHello];
  (void)recv(socket.get(), read, sizeof read, MSG_DONTWAIT); // as sendAway
  (void)send(socket.get(), kAlert, sizeof kAlert, MSG_NOSIGNAL | MSG_DONTWAIT);
  (void)shutdown(socket.get(), SHUT_WR);
}

/// A client that speaks TLS where there is none learns so by an answer that is
/// none of TLS, as it would of gRPC: HTTP/2's empty SETTINGS.
static void sendAway(const Socket &socket) {
  static constexpr char kSettings[9] = {0, 0, 0, 4};
  char read[kLongestHello];
  // Closed with bytes that nobody has read, the connection would be reset, and
  // the answer might be lost.
  (void)recv(socket.get(), read, sizeof read, MSG_DONTWAIT);
  (void)send(socket.get(), kSettings, sizeof kSettings,
             MSG_NOSIGNAL | MSG_DONTWAIT);
  (void)shutdown(socket.get(), SHUT_WR);
}

struct Acceptor::Impl {
  Impl(Socket listener, Greeting greeting, const std::string &greetingKey,
       std::function<void(Socket)> enter);
  ~Impl();

  void run();
  void acceptSome();
  void hear(int descriptor, uint32_t happened);
  void drop(size_t stranger) { strangers.erase(strangers.begin() + stranger); }
  /// Not the oldest: who has something to say is no likelier to be lost, then,
  /// however fast the others come.
  void dropAny() { drop(choices() % strangers.size()); }
  bool mayEnter(const std::string &name, Clock::time_point now);

  const Socket listener;
  const Greeting greeting;
  const std::string greetingKey;
  const std::function<void(Socket)> enter;
  const Socket events{epoll_create1(EPOLL_CLOEXEC)};
  const Socket end{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  /// In the order in which they came.
  std::vector<Stranger> strangers;
  /// Of the last `kHandshakeTime`: when, and with which name.
  std::deque<std::pair<Clock::time_point, std::string>> entries;
  std::map<std::string, size_t> entriesOf;
  std::minstd_rand choices{std::random_device()()};
  std::thread thread;
};

static bool listenTo(const Socket &events, const Socket &socket,
                     uint32_t what) {
  epoll_event event = {};
  event.events = what;
  event.data.fd = socket.get();
  return epoll_ctl(events.get(), EPOLL_CTL_ADD, socket.get(), &event) == 0;
}

Acceptor::Impl::Impl(Socket listener, Greeting greeting,
                     const std::string &greetingKey,
                     std::function<void(Socket)> enter)
    : listener(std::move(listener)), greeting(greeting),
      greetingKey(greetingKey), enter(std::move(enter)) {
  if (!listenTo(events, this->listener, EPOLLIN) ||
      !listenTo(events, end, EPOLLIN))
    throw std::bad_alloc();
  thread = std::thread([this] { run(); });
}

Acceptor::Impl::~Impl() {
  (void)eventfd_write(end.get(), 1);
  thread.join();
}

void Acceptor::Impl::run() {
  while (true) {
    int wait = -1;
    if (!strangers.empty())
      wait = int(std::max<int64_t>(
          0, std::chrono::duration_cast<milliseconds>(
                 strangers.front().since + kStrangerTime - Clock::now())
                     .count() +
                 1));
    epoll_event happened[64];
    int count = epoll_wait(events.get(), happened, 64, wait);
    bool hasCome = false;
    for (int i = 0; i < count; ++i) {
      int descriptor = happened[i].data.fd;
      if (descriptor == end.get())
        return;
      if (descriptor == listener.get())
        hasCome = true;
      else
        hear(descriptor, happened[i].events);
    }
    while (!strangers.empty() &&
           Clock::now() - strangers.front().since >= kStrangerTime)
      drop(0);
    if (hasCome)
      acceptSome();
  }
}

void Acceptor::Impl::acceptSome() {
  for (int i = 0; i < kMostAccepts; ++i) {
    Socket socket = listener.accept();
    if (socket.get() < 0) {
      if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS &&
          errno != ENOMEM)
        return;
      // One that waits makes room. Where none does, the process has used up
      // its descriptors itself: who comes waits in the kernel meanwhile.
      pollfd polled{end.get(), POLLIN, 0};
      if (strangers.empty())
        (void)poll(&polled, 1, int(kPause.count()));
      else
        dropAny();
      return;
    }
    if (strangers.size() >= kMostStrangers)
      dropAny();
    // Told of once for all that has come, so that one that sends half of its
    // greeting does not wake this thread again and again.
    if (listenTo(events, socket, EPOLLIN | EPOLLRDHUP | EPOLLET))
      strangers.push_back({std::move(socket), Clock::now()});
  }
}

void Acceptor::Impl::hear(int descriptor, uint32_t happened) {
  auto found = std::find_if(
      strangers.begin(), strangers.end(),
      [&](const Stranger &one) { return one.socket.get() == descriptor; });
  if (found == strangers.end())
    return;
  std::string bytes;
  Look look = lookAt(found->socket, greeting, &bytes);
  bool hasEnded = happened & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);
  if (look == Look::Incomplete && !hasEnded)
    return;
  Socket socket = std::move(found->socket);
  drop(size_t(found - strangers.begin()));
  std::string name;
  if (look == Look::Whole && !greetingKey.empty()) {
    name = findServerName(bytes);
    if (!isGreeting(greetingKey, name))
      return sendAlert(socket);
  }
  if (look == Look::Whole && mayEnter(name, Clock::now())) {
    (void)epoll_ctl(events.get(), EPOLL_CTL_DEL, descriptor, nullptr);
    enter(std::move(socket));
  } else if (look == Look::Other && greeting == Greeting::Http2) {
    sendAway(socket);
  }
}

bool Acceptor::Impl::mayEnter(const std::string &name, Clock::time_point now) {
  while (!entries.empty() && now - entries.front().first >= kHandshakeTime) {
    auto of = entriesOf.find(entries.front().second);
    if (--of->second == 0)
      entriesOf.erase(of);
    entries.pop_front();
  }
  const bool isOne = !greetingKey.empty();
  if (entries.size() >= kMostEntries ||
      (isOne && entriesOf.count(name) && entriesOf[name] >= kMostOfOne))
    return false;
  entries.emplace_back(now, name);
  ++entriesOf[name];
  return true;
}

Acceptor::Acceptor(Socket listener, Greeting greeting,
                   const std::string &greetingKey,
                   std::function<void(Socket)> enter)
    : impl(std::make_unique<Impl>(std::move(listener), greeting, greetingKey,
                                  std::move(enter))) {}
Acceptor::~Acceptor() = default;

} // namespace dist::cluster
