//===- server.cpp - A parameter server ------------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/parameter_server/server.h"
#include <set>

namespace dist::ps {

namespace {

class Server {
public:
  Server(Mail &mail, Shard &shard, const TaskOptions &options)
      : mail(mail), shard(shard), options(options), cast(options.cast) {}
  Status run(Ending *ending);

private:
  Status answer(Letter &letter);
  /// No closure below is applied any more.
  void settle(int64_t below);
  void answerPush(const Letter &letter, Letter *reply);
  bool admit(const Letter &letter);

  Mail &mail;
  Shard &shard;
  const TaskOptions &options;
  Cast cast; // with those that came back
  /// What `readParameters` gave since the last change; null: nothing.
  std::shared_ptr<const Buffer> parameters;
  /// Closures whose gradients are in the variables, from `settled` on: of those
  /// below it all are.
  std::set<int64_t> applied;
  int64_t settled = 0;
};

} // namespace

void Server::settle(int64_t below) {
  if (below <= settled)
    return;
  settled = below;
  applied.erase(applied.begin(), applied.lower_bound(settled));
  if (options.isIn)
    options.isIn(settled);
}

void Server::answerPush(const Letter &letter, Letter *reply) {
  settle(letter.settled);
  AppliedBody body;
  body.isRepeated =
      letter.closure < settled || applied.count(letter.closure) > 0;
  Status status;
  if (!body.isRepeated) {
    parameters.reset();
    status = shard.apply(letter.bytes, &body);
    // An update that failed is not made again: it may be half made.
    applied.insert(letter.closure);
  }
  reply->kind = Kind::Applied;
  reply->bytes = pack(body, status);
}

/// False: it is no such letter.
bool Server::admit(const Letter &letter) {
  AdmitBody body;
  if (!unpack(letter.bytes, &body) || body.rank != cast.ranks() ||
      body.index < 0 || body.index >= cast.workers ||
      cast.workerOf(body.rankBefore) < 0)
    return false;
  // Where the address is of no use, the worker does not come.
  if (!mail.admit({letter.bytes.begin() + sizeof body, letter.bytes.end()})
           .ok())
    return false;
  cast.admit(body.index);
  mail.drop(body.rankBefore, "another process has its place");
  return true;
}

Status Server::answer(Letter &letter) {
  Letter reply;
  reply.question = letter.question;
  reply.closure = letter.closure;
  bool isCoordinator = letter.from == Cast::coordinator;
  bool isWorker = cast.workerOf(letter.from) >= 0;
  auto refuse = [&] {
    mail.drop(letter.from, "it sent a letter that is not for a server");
    return Status();
  };
  switch (letter.kind) {
  case Kind::Pull: {
    if (!isWorker || !shard.isPull(letter.bytes))
      return refuse();
    if (!parameters) {
      Buffer bytes;
      DIST_RETURN_IF_ERROR(shard.readParameters(&bytes));
      parameters = std::make_shared<const Buffer>(std::move(bytes));
    }
    reply.kind = Kind::Parameters;
    if (letter.bytes.empty()) {
      mail.send(letter.from, reply, parameters);
      return Status();
    }
    reply.bytes = *parameters;
    DIST_RETURN_IF_ERROR(shard.addRows(letter.bytes, &reply.bytes));
    break;
  }
  case Kind::Push:
    if (!isWorker || letter.closure < 0 || letter.closure >= kFirstUnpushed ||
        !shard.isPush(letter.bytes))
      return refuse();
    answerPush(letter, &reply);
    break;
  case Kind::ReadState:
    if (!isCoordinator || !letter.bytes.empty())
      return refuse();
    reply.kind = Kind::State;
    DIST_RETURN_IF_ERROR(shard.readState(&reply.bytes));
    break;
  case Kind::WriteState:
    if (!isCoordinator || letter.bytes.size() != shard.stateBytes())
      return refuse();
    // What a late worker did with the state before is none of this one.
    settle(letter.settled);
    parameters.reset();
    DIST_RETURN_IF_ERROR(shard.writeState(letter.bytes));
    reply.kind = Kind::StateWritten;
    break;
  case Kind::Admit:
    if (!isCoordinator || !admit(letter))
      return refuse();
    reply.kind = Kind::Admitted;
    break;
  default:
    return refuse();
  }
  mail.send(letter.from, std::move(reply));
  return Status();
}

Status Server::run(Ending *ending) {
  StopTeller teller(mail, options.stops);
  while (true) {
    Letter letter;
    switch (mail.wait(mail.now() + kLook, &letter)) {
    case Mail::Event::Nothing:
      break;
    case Mail::Event::Lost:
      // Workers come and go.
      if (letter.from == Cast::coordinator)
        return lostPeer(options.cast, mail, letter.from);
      break;
    case Mail::Event::Letter: {
      EndBody end;
      if (letter.kind == Kind::End && letter.from == Cast::coordinator &&
          unpack(letter.bytes, &end)) {
        *ending = end.ending;
        return unpackError(letter.bytes, end);
      }
      DIST_RETURN_IF_ERROR(answer(letter));
      break;
    }
    }
    teller.look();
  }
}

Status serve(Mail &mail, Shard &shard, const TaskOptions &options,
             Ending *ending) {
  return Server(mail, shard, options).run(ending);
}

} // namespace dist::ps
