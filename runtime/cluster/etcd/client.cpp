//===- client.cpp - A client of etcd ----------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/etcd/client.h"
#include "runtime/cluster/etcd/rpc.grpc.pb.h"
#include "runtime/cluster/security/greeting.h"
#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>
#include <thread>

using namespace etcdserverpb;

namespace dist::cluster {

/// A watch that tells of a whole range at once may be long.
static constexpr int kLargestMessage = 64 << 20;

/// Whether a connection failed for what its other end showed, or that it showed
/// nothing. gRPC has no code for that: it gives the text of its TLS library.
static bool isOfHandshake(std::string message) {
  std::transform(message.begin(), message.end(), message.begin(),
                 [](unsigned char c) { return c == '_' ? ' ' : tolower(c); });
  for (const char *why : {"certificate verify failed", "wrong version number",
                          "is not in peer certificate", "unrecognized name"})
    if (message.find(why) != std::string::npos)
      return true;
  return false;
}

static StoreResult fromGrpc(const grpc::Status &status) {
  switch (status.error_code()) {
  case grpc::StatusCode::OK:
    return {};
  // No call that somebody waits for is cancelled here: the server ends, and
  // does so with what it has not answered.
  case grpc::StatusCode::CANCELLED:
    return {StoreCode::Unavailable,
            "the server ended the call: " + status.error_message()};
  case grpc::StatusCode::INVALID_ARGUMENT:
  case grpc::StatusCode::DEADLINE_EXCEEDED:
  case grpc::StatusCode::NOT_FOUND:
  case grpc::StatusCode::RESOURCE_EXHAUSTED:
  case grpc::StatusCode::FAILED_PRECONDITION:
  case grpc::StatusCode::OUT_OF_RANGE:
  case grpc::StatusCode::UNIMPLEMENTED:
    return {StoreCode(int(status.error_code())), status.error_message()};
  case grpc::StatusCode::UNAVAILABLE:
    if (isOfHandshake(status.error_message()))
      return {StoreCode::Unauthenticated, status.error_message()};
    return {StoreCode(int(status.error_code())), status.error_message()};
  default:
    return {StoreCode::Internal, status.error_message()};
  }
}

void silenceGrpc() {
  gpr_set_log_function([](gpr_log_func_args *) {});
}

static std::shared_ptr<grpc::Channel>
makeChannel(const std::string &address, const EtcdClientOptions &options) {
  grpc::ChannelArguments arguments;
  // Peers are reached directly, whatever proxy there is for the web.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // A server that starts anew is found at once, not after gRPC's minutes.
  // (The least backoff is how long connecting may take, too: it stays.)
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetMaxReceiveMessageSize(kLargestMessage);
  std::shared_ptr<grpc::ChannelCredentials> credentials =
      grpc::InsecureChannelCredentials();
  if (options.tls) {
    grpc::SslCredentialsOptions shown;
    shown.pem_root_certs = options.tls->authority;
    shown.pem_private_key = options.tls->key;
    shown.pem_cert_chain = options.tls->certificate;
    credentials = grpc::SslCredentials(shown);
    if (!options.tls->greetingKey.empty())
      arguments.SetSslTargetNameOverride(
          makeGreeting(options.tls->greetingKey));
    else if (!options.tlsName.empty())
      arguments.SetSslTargetNameOverride(options.tlsName);
  }
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

namespace {

/// A member of the etcd.
struct EtcdMember {
  explicit EtcdMember(std::shared_ptr<grpc::Channel> made)
      : channel(std::move(made)), kv(KV::NewStub(channel)),
        lease(Lease::NewStub(channel)),
        watch(etcdserverpb::Watch::NewStub(channel)) {}

  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<KV::Stub> kv;
  std::unique_ptr<Lease::Stub> lease;
  std::unique_ptr<etcdserverpb::Watch::Stub> watch;
};

} // namespace

struct EtcdClient::Impl {
  explicit Impl(const EtcdClientOptions &options) : timeout(options.timeout) {
    for (const std::string &address : options.addresses)
      members.emplace_back(makeChannel(address, options));
  }

  /// Whose turn it is.
  EtcdMember &present() { return members[turn % members.size()]; }
  /// The next one's turn after a failure, which several calls may have seen.
  StoreResult heard(size_t by, StoreResult result) {
    if (result.code == StoreCode::Unavailable ||
        result.code == StoreCode::DeadlineExceeded ||
        result.code == StoreCode::Unauthenticated)
      turn.compare_exchange_strong(by, by + 1);
    return result;
  }
  void setDeadline(grpc::ClientContext &context) const {
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::milliseconds(timeout));
  }
  template <typename Stub, typename Method, typename Request, typename Response>
  StoreResult call(std::unique_ptr<Stub> EtcdMember::*stub, Method method,
                   const Request &request, Response *response) {
    grpc::ClientContext context;
    setDeadline(context);
    const size_t by = turn;
    Stub &called = *(members[by % members.size()].*stub);
    return heard(by, fromGrpc((called.*method)(&context, request, response)));
  }

  std::vector<EtcdMember> members;
  std::atomic<size_t> turn{0};
  const int64_t timeout;
};

EtcdClient::EtcdClient(const EtcdClientOptions &options) {
  silenceGrpc();
  impl = std::make_unique<Impl>(options);
}
EtcdClient::~EtcdClient() = default;

void EtcdClient::waitForConnection(int64_t milliseconds) {
  (void)impl->present().channel->WaitForConnected(
      std::chrono::system_clock::now() +
      std::chrono::milliseconds(milliseconds));
}

StoreResult EtcdClient::range(const RangeRequest &request,
                              RangeResponse *response) {
  return impl->call(&EtcdMember::kv, &KV::Stub::Range, request, response);
}
StoreResult EtcdClient::put(const PutRequest &request, PutResponse *response) {
  return impl->call(&EtcdMember::kv, &KV::Stub::Put, request, response);
}
StoreResult EtcdClient::deleteRange(const DeleteRangeRequest &request,
                                    DeleteRangeResponse *response) {
  return impl->call(&EtcdMember::kv, &KV::Stub::DeleteRange, request, response);
}
StoreResult EtcdClient::txn(const TxnRequest &request, TxnResponse *response) {
  return impl->call(&EtcdMember::kv, &KV::Stub::Txn, request, response);
}
StoreResult EtcdClient::compact(const CompactionRequest &request,
                                CompactionResponse *response) {
  return impl->call(&EtcdMember::kv, &KV::Stub::Compact, request, response);
}
StoreResult EtcdClient::leaseGrant(const LeaseGrantRequest &request,
                                   LeaseGrantResponse *response) {
  return impl->call(&EtcdMember::lease, &Lease::Stub::LeaseGrant, request,
                    response);
}
StoreResult EtcdClient::leaseRevoke(const LeaseRevokeRequest &request,
                                    LeaseRevokeResponse *response) {
  return impl->call(&EtcdMember::lease, &Lease::Stub::LeaseRevoke, request,
                    response);
}

StoreResult EtcdClient::leaseKeepAlive(int64_t id,
                                       LeaseKeepAliveResponse *response) {
  // A stream for each, so that a server that does not answer is seen.
  grpc::ClientContext context;
  impl->setDeadline(context);
  const size_t by = impl->turn;
  auto stream =
      impl->members[by % impl->members.size()].lease->LeaseKeepAlive(&context);
  LeaseKeepAliveRequest request;
  request.set_id(id);
  bool isAnswered = stream->Write(request) && stream->Read(response);
  stream->WritesDone();
  if (isAnswered) {
    // The answer is there: how the stream ends says nothing more.
    context.TryCancel();
    (void)stream->Finish();
    return {};
  }
  StoreResult result = fromGrpc(stream->Finish());
  if (result.ok())
    result = {StoreCode::Unavailable,
              "the server ended the call without an answer"};
  return impl->heard(by, result);
}

namespace {

class WatchThread final : public EtcdClient::Watch {
public:
  WatchThread(etcdserverpb::Watch::Stub &stub,
              const WatchCreateRequest &request,
              std::function<void(const WatchResponse &)> onResponse,
              std::function<void(const StoreResult &)> onEnd)
      : stream(stub.Watch(&context)), onResponse(std::move(onResponse)),
        onEnd(std::move(onEnd)) {
    WatchRequest create;
    *create.mutable_create_request() = request;
    stream->Write(create);
    thread = std::thread([this] { run(); });
  }
  ~WatchThread() override {
    isEnding = true;
    context.TryCancel();
    thread.join();
  }

private:
  void run() {
    WatchResponse response;
    bool isCanceled = false;
    while (!isCanceled && stream->Read(&response)) {
      onResponse(response);
      isCanceled = response.canceled();
    }
    // The server has ended the watch, but not the stream.
    if (isCanceled)
      context.TryCancel();
    grpc::Status status = stream->Finish();
    if (isEnding || !onEnd)
      return;
    if (isCanceled)
      onEnd({StoreCode::Cancelled, response.cancel_reason()});
    else
      onEnd(status.ok() ? StoreResult(StoreCode::Unavailable,
                                      "the server ended the watch")
                        : fromGrpc(status));
  }

  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<WatchRequest, WatchResponse>> stream;
  std::function<void(const WatchResponse &)> onResponse;
  std::function<void(const StoreResult &)> onEnd;
  std::atomic<bool> isEnding{false};
  std::thread thread;
};

} // namespace

std::unique_ptr<EtcdClient::Watch>
EtcdClient::watch(const WatchCreateRequest &request,
                  std::function<void(const WatchResponse &)> onResponse,
                  std::function<void(const StoreResult &)> onEnd) {
  return std::make_unique<WatchThread>(*impl->present().watch, request,
                                       std::move(onResponse), std::move(onEnd));
}

} // namespace dist::cluster
