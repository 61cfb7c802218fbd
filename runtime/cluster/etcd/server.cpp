//===- server.cpp - The embedded key-value server ---------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/etcd/server.h"
#include "runtime/cluster/etcd/acceptor.h"
#include "runtime/cluster/etcd/watches.h"
#include <chrono>
#include <random>

using namespace etcdserverpb;

namespace dist::cluster {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

static ServerUnaryReactor *answer(CallbackServerContext *context,
                                  const StoreResult &result) {
  ServerUnaryReactor *reactor = context->DefaultReactor();
  reactor->Finish(toGrpc(result));
  return reactor;
}

namespace {

class KvService final : public KV::CallbackService {
public:
  explicit KvService(ServerCore &core) : core(core) {}

  ServerUnaryReactor *Range(CallbackServerContext *context,
                            const RangeRequest *request,
                            RangeResponse *response) override {
    return answer(context, core.with([&](EtcdState &state) {
      return state.range(*request, response);
    }));
  }
  ServerUnaryReactor *Put(CallbackServerContext *context,
                          const PutRequest *request,
                          PutResponse *response) override {
    return answer(context, core.with([&](EtcdState &state) {
      return state.put(*request, response);
    }));
  }
  ServerUnaryReactor *DeleteRange(CallbackServerContext *context,
                                  const DeleteRangeRequest *request,
                                  DeleteRangeResponse *response) override {
    return answer(context, core.with([&](EtcdState &state) {
      return state.deleteRange(*request, response);
    }));
  }
  ServerUnaryReactor *Txn(CallbackServerContext *context,
                          const TxnRequest *request,
                          TxnResponse *response) override {
    return answer(context, core.with([&](EtcdState &state) {
      return state.txn(*request, response);
    }));
  }
  ServerUnaryReactor *Compact(CallbackServerContext *context,
                              const CompactionRequest *,
                              CompactionResponse *) override {
    return answer(context,
                  {StoreCode::Unimplemented,
                   "the embedded server keeps all revisions: for compaction "
                   "use an etcd-server"});
  }

private:
  ServerCore &core;
};

/// Answers one message after the other.
class KeepAliveStream final
    : public grpc::ServerBidiReactor<LeaseKeepAliveRequest,
                                     LeaseKeepAliveResponse> {
public:
  explicit KeepAliveStream(ServerCore &core) : core(core) {
    StartRead(&request);
  }
  void OnReadDone(bool ok) override {
    if (!ok)
      return Finish(grpc::Status::OK);
    response.Clear();
    core.with([&](EtcdState &state) {
      state.leaseKeepAlive(request, core.clock(), &response);
      return true;
    });
    StartWrite(&response);
  }
  void OnWriteDone(bool ok) override {
    if (!ok)
      return Finish(grpc::Status::OK);
    StartRead(&request);
  }
  void OnDone() override { delete this; }

private:
  ServerCore &core;
  LeaseKeepAliveRequest request;
  LeaseKeepAliveResponse response;
};

class LeaseService final : public Lease::CallbackService {
public:
  explicit LeaseService(ServerCore &core) : core(core) {}

  ServerUnaryReactor *LeaseGrant(CallbackServerContext *context,
                                 const LeaseGrantRequest *request,
                                 LeaseGrantResponse *response) override {
    return answer(context, core.with([&](EtcdState &state) {
      return state.leaseGrant(*request, core.clock(), response);
    }));
  }
  ServerUnaryReactor *LeaseRevoke(CallbackServerContext *context,
                                  const LeaseRevokeRequest *request,
                                  LeaseRevokeResponse *response) override {
    return answer(context, core.with([&](EtcdState &state) {
      return state.leaseRevoke(*request, response);
    }));
  }
  grpc::ServerBidiReactor<LeaseKeepAliveRequest, LeaseKeepAliveResponse> *
  LeaseKeepAlive(CallbackServerContext *) override {
    return new KeepAliveStream(core);
  }

private:
  ServerCore &core;
};

} // namespace

static int64_t steadyMillis() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct EtcdServer::Impl {
  explicit Impl(const EtcdServerOptions &options)
      : core([this](const JournalRecord &record) { return keep(record); },
             options.clock ? options.clock : steadyMillis),
        kv(core), lease(core) {}

  StoreResult keep(const JournalRecord &record) {
    if (!journal)
      return {};
    if (Status status = journal->append(record); !status.ok())
      return {StoreCode::Unavailable, status.message()};
    return {};
  }

  Status open(const EtcdServerOptions &options) {
    if (!options.journal.empty())
      DIST_RETURN_IF_ERROR(Journal::open(
          options.journal, options.sync,
          [&](const JournalRecord &record) {
            StoreResult result = core.state.restore(record, core.clock());
            return result.ok() ? Status()
                               : Status::error(StatusCode::InvalidInput,
                                               result.message);
          },
          &journal, &cutBytes));
    // A client whose lease was lost with a store must not take for its own the
    // lease of another client, which the next store has granted.
    const uint32_t firstLease = std::random_device{}();
    if (StoreResult result = core.state.beginEpoch(firstLease); !result.ok())
      return Status::error(StatusCode::Unavailable, result.message);
    epoch = core.state.epoch();
    return Status();
  }

  std::unique_ptr<Journal> journal;
  uint64_t cutBytes = 0;
  int64_t epoch = 0;
  int port = 0;
  ServerCore core;
  KvService kv;
  LeaseService lease;
  std::unique_ptr<WatchService> watch;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> door;
  std::unique_ptr<grpc::Server> server;
  /// Ends first: nothing is handed to a server that ends.
  std::unique_ptr<Acceptor> acceptor;
};

EtcdServer::EtcdServer(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
int EtcdServer::port() const { return impl->port; }
int64_t EtcdServer::epoch() const { return impl->epoch; }
uint64_t EtcdServer::cutBytes() const { return impl->cutBytes; }

static std::shared_ptr<grpc::ServerCredentials>
makeCredentials(const std::optional<TlsCertificates> &tls) {
  if (!tls)
    return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions shown(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  shown.pem_root_certs = tls->authority;
  shown.pem_key_cert_pairs.push_back({tls->key, tls->certificate});
  return grpc::SslServerCredentials(shown);
}

Status EtcdServer::start(const EtcdServerOptions &options,
                         std::unique_ptr<EtcdServer> *server) {
  silenceGrpc();
  auto impl = std::make_unique<Impl>(options);
  DIST_RETURN_IF_ERROR(impl->open(options));
  impl->watch = std::make_unique<WatchService>(impl->core);
  auto refuse = [&](const std::string &why) {
    return Status::error(StatusCode::Unavailable,
                         "cannot serve the key-value store",
                         options.address.text(), why, "give another one");
  };
  Socket listener;
  if (!Socket::listen(options.address.host,
                      {options.address.port, options.address.port}, &listener,
                      &impl->port)
           .ok())
    return refuse("the address is in use or not this machine's");
  grpc::ServerBuilder builder;
  impl->door = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      makeCredentials(options.tls));
  // A connection that does not get past the handshake costs a descriptor and
  // some memory for so long, and not for gRPC's two minutes.
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             int(kHandshakeTime.count()));
  // The state refuses what is too large with etcd's message: gRPC lets some
  // more pass.
  builder.SetMaxReceiveMessageSize(int(kLargestRequest + 512 * 1024));
  builder.RegisterService(&impl->kv);
  builder.RegisterService(&impl->lease);
  builder.RegisterService(impl->watch.get());
  impl->server = builder.BuildAndStart();
  if (!impl->server)
    return refuse("gRPC does not start a server");
  impl->acceptor = std::make_unique<Acceptor>(
      std::move(listener), options.tls ? Greeting::Tls : Greeting::Http2,
      options.tls ? options.tls->greetingKey : "",
      [door = impl->door.get()](Socket socket) {
        grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters
            connection;
        connection.fd = socket.release();
        door->HandleNewConnection(&connection);
      });
  server->reset(new EtcdServer(std::move(impl)));
  return Status();
}

EtcdServer::~EtcdServer() {
  impl->acceptor.reset();
  // Streams do not end by themselves: they are cut.
  impl->server->Shutdown(std::chrono::system_clock::now());
  impl->server->Wait();
  impl->watch->stop();
}

} // namespace dist::cluster
