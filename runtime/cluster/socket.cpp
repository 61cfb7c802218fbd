//===- socket.cpp - TCP sockets of a cluster ------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/socket.h"
#include <cerrno>
#include <cstring>
#include <functional>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dist::cluster {

Socket::Socket(Socket &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)) {}

Socket &Socket::operator=(Socket &&other) noexcept {
  std::swap(descriptor, other.descriptor);
  return *this;
}

Socket::~Socket() {
  if (descriptor >= 0)
    close(descriptor);
}

static Status refuse(const std::string &what, const std::string &where,
                     const std::string &why) {
  return Status::error(StatusCode::Unavailable, what, where, why);
}

/// Calls `use` with each of a host's addresses until it is content.
static std::string forEachAddress(const Address &address, int flags,
                                  const std::function<bool(addrinfo &)> &use) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo *found = nullptr;
  int code = getaddrinfo(address.host.c_str(),
                         std::to_string(address.port).c_str(), &hints, &found);
  if (code != 0)
    return gai_strerror(code);
  std::string why = "it has no address";
  for (addrinfo *one = found; one; one = one->ai_next) {
    if (use(*one)) {
      why.clear();
      break;
    }
    why = std::strerror(errno);
  }
  freeaddrinfo(found);
  return why;
}

static Socket open(const addrinfo &address) {
  return Socket(::socket(address.ai_family,
                         SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

Status Socket::listen(const std::string &literal, PortRange ports, Socket *out,
                      int *port) {
  std::string why;
  auto listenAt = [&](int number) {
    why = forEachAddress({literal, number}, AI_NUMERICHOST, [&](addrinfo &one) {
      Socket socket = open(one);
      sockaddr_storage bound = {};
      socklen_t size = sizeof bound;
      // A range has few ports: one that a run before has left is free at once.
      int on = number > 0;
      if (socket.get() < 0 ||
          setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) !=
              0 ||
          bind(socket.get(), one.ai_addr, one.ai_addrlen) != 0 ||
          ::listen(socket.get(), SOMAXCONN) != 0 ||
          getsockname(socket.get(), reinterpret_cast<sockaddr *>(&bound),
                      &size) != 0)
        return false;
      // At the same place in both families.
      *port = ntohs(reinterpret_cast<sockaddr_in &>(bound).sin_port);
      *out = std::move(socket);
      return true;
    });
    return why.empty();
  };
  for (int number = ports.first; number <= ports.last; ++number)
    if (listenAt(number))
      return Status();
  return refuse("cannot listen for the other processes",
                ports.first > 0 ? literal + ", ports " + ports.text() : literal,
                why);
}

Status Socket::reserve(Socket *out, int *port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  int on = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto *any = reinterpret_cast<sockaddr *>(&address);
  if (socket.get() < 0 ||
      setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(socket.get(), any, size) != 0 ||
      getsockname(socket.get(), any, &size) != 0)
    return refuse("cannot reserve a port", "127.0.0.1", std::strerror(errno));
  *port = ntohs(address.sin_port);
  *out = std::move(socket);
  return Status();
}

static void sendAtOnce(int socket) {
  int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Status Socket::connect(const Address &address, int milliseconds, Socket *out) {
  std::string why = forEachAddress(address, 0, [&](addrinfo &one) {
    Socket socket = open(one);
    if (socket.get() < 0)
      return false;
    if (::connect(socket.get(), one.ai_addr, one.ai_addrlen) != 0) {
      pollfd polled{socket.get(), POLLOUT, 0};
      if (errno != EINPROGRESS)
        return false;
      errno = ETIMEDOUT;
      if (poll(&polled, 1, milliseconds) != 1)
        return false;
      int error = 0;
      socklen_t size = sizeof error;
      getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
      errno = error;
      if (error != 0)
        return false;
    }
    sendAtOnce(socket.get());
    *out = std::move(socket);
    return true;
  });
  return why.empty() ? Status() : refuse("cannot connect", address.text(), why);
}

Socket Socket::accept() const {
  Socket socket(
      accept4(descriptor, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket.get() >= 0)
    sendAtOnce(socket.get());
  return socket;
}

} // namespace dist::cluster
