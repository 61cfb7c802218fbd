//===- metrics_server.cpp - Metrics over HTTP -----------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/status/metrics_server.h"
#include <cerrno>
#include <cstring>
#include <microhttpd.h>
#include <netdb.h>

namespace dist::cluster {

static constexpr unsigned kMostConnections = 64, kSecondsIdle = 5;
static constexpr size_t kBytesEach = 8192;

struct MetricsServer::Impl {
  std::function<std::string()> text;
  MHD_Daemon *daemon = nullptr;

  ~Impl() {
    if (daemon)
      MHD_stop_daemon(daemon);
  }
  MHD_Result answer(MHD_Connection *connection, const char *path,
                    const char *method) const;
};

MHD_Result MetricsServer::Impl::answer(MHD_Connection *connection,
                                       const char *path,
                                       const char *method) const {
  bool isRead = std::strcmp(method, MHD_HTTP_METHOD_GET) == 0 ||
                std::strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
  unsigned code = !isRead ? MHD_HTTP_METHOD_NOT_ALLOWED
                  : std::strcmp(path, "/metrics") == 0 ? MHD_HTTP_OK
                                                       : MHD_HTTP_NOT_FOUND;
  std::string body = code == MHD_HTTP_OK          ? text()
                     : code == MHD_HTTP_NOT_FOUND ? "see /metrics\n"
                                                  : "GET only\n";
  MHD_Response *response = MHD_create_response_from_buffer(
      body.size(), body.data(), MHD_RESPMEM_MUST_COPY);
  if (!response)
    return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                          "text/plain; version=0.0.4; charset=utf-8");
  MHD_Result result = MHD_queue_response(connection, code, response);
  MHD_destroy_response(response);
  return result;
}

static MHD_Result onRequest(void *impl, MHD_Connection *connection,
                            const char *path, const char *method, const char *,
                            const char *, size_t *bytes, void **seen) {
  // The first call is for the head alone; of a body nothing is kept.
  if (!*seen) {
    *seen = impl;
    return MHD_YES;
  }
  if (*bytes > 0) {
    *bytes = 0;
    return MHD_YES;
  }
  return static_cast<MetricsServer::Impl *>(impl)->answer(connection, path,
                                                          method);
}

MetricsServer::MetricsServer(std::unique_ptr<Impl> impl)
    : impl(std::move(impl)) {}
MetricsServer::~MetricsServer() = default;

Status MetricsServer::start(const std::string &literal, int port,
                            std::function<std::string()> text,
                            std::unique_ptr<MetricsServer> *out) {
  auto refuse = [&](const std::string &why) {
    return Status::error(StatusCode::Unavailable, "cannot serve metrics",
                         literal + ":" + std::to_string(port), why,
                         "give another --metrics-port");
  };
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | AI_PASSIVE;
  addrinfo *found = nullptr;
  if (int code = getaddrinfo(literal.c_str(), std::to_string(port).c_str(),
                             &hints, &found))
    return refuse(gai_strerror(code));
  auto impl = std::make_unique<Impl>();
  impl->text = std::move(text);
  errno = 0;
  // All addresses of the machine are those of IPv4, too.
  unsigned family = found->ai_family != AF_INET6 ? 0
                    : literal == "::"            ? MHD_USE_DUAL_STACK
                                                 : MHD_USE_IPv6;
  impl->daemon = MHD_start_daemon(
      MHD_USE_POLL_INTERNAL_THREAD | family, 0, nullptr, nullptr, onRequest,
      impl.get(), MHD_OPTION_SOCK_ADDR, found->ai_addr,
      MHD_OPTION_CONNECTION_LIMIT, kMostConnections,
      MHD_OPTION_CONNECTION_TIMEOUT, kSecondsIdle,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, kBytesEach, MHD_OPTION_END);
  int error = errno;
  freeaddrinfo(found);
  if (!impl->daemon)
    return refuse(error ? std::strerror(error) : "it cannot be listened at");
  out->reset(new MetricsServer(std::move(impl)));
  return Status();
}

int MetricsServer::port() const {
  const MHD_DaemonInfo *info =
      MHD_get_daemon_info(impl->daemon, MHD_DAEMON_INFO_BIND_PORT);
  return info ? info->port : 0;
}

} // namespace dist::cluster
