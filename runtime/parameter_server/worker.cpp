//===- worker.cpp - A worker of parameter servers -------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/parameter_server/worker.h"
#include <deque>
#include <optional>

namespace dist::ps {

/// How long a worker that has lost a server waits for the coordinator to see
/// that, too: if it went first, the run would end for want of workers.
static constexpr std::chrono::seconds kPatience{5};

namespace {

class Worker {
public:
  Worker(Mail &mail, Replica &replica, const TaskOptions &options)
      : mail(mail), replica(replica), cast(options.cast),
        teller(mail, options.stops), isIn(options.isIn) {}
  Status run(Ending *ending);

private:
  /// The next letter that is no news to this process as a whole. Errors: the
  /// run is over (`isOver`), or a peer is lost that it needs.
  Status next(Letter *letter);
  /// One question to each server, and what they answer, by server.
  Status ask(Kind kind, const Letter &closure, std::vector<Buffer> questions,
             std::vector<Letter> *answers);
  Status runClosure(const Letter &closure);
  Status train(const Letter &closure, ReportBody *report, Buffer *metrics,
               Status *failure);

  Mail &mail;
  Replica &replica;
  const Cast &cast;
  StopTeller teller;
  const std::function<void(int64_t)> &isIn;
  std::deque<Letter> closures; // handed out
  uint64_t questions = 0;
  Status failure; // a server is lost
  Mail::Clock::time_point last;
  bool isOver = false;
  Ending ending = Ending::Done;
};

} // namespace

Status Replica::beginWork(int64_t, const Buffer &) {
  return Status::error(
      StatusCode::InvalidArgument, "a worker runs nothing but training steps",
      "", "its chief is another program", "start the same program everywhere");
}

Status Worker::next(Letter *letter) {
  while (true) {
    Mail::Event event = mail.wait(mail.now() + kLook, letter);
    teller.look();
    if (!failure.ok() && mail.now() > last)
      return failure;
    if (event == Mail::Event::Nothing)
      continue;
    if (event == Mail::Event::Lost) {
      if (letter->from == Cast::coordinator)
        return lostPeer(cast, mail, letter->from);
      if (cast.serverOf(letter->from) >= 0 && failure.ok()) {
        failure = lostPeer(cast, mail, letter->from);
        last = mail.now() + kPatience;
      }
      continue;
    }
    if (letter->from != Cast::coordinator)
      return Status();
    EndBody end;
    if (letter->kind == Kind::End && unpack(letter->bytes, &end)) {
      isOver = true;
      ending = end.ending;
      return unpackError(letter->bytes, end);
    }
    if (letter->kind == Kind::Closure)
      closures.push_back(std::move(*letter));
    else
      mail.drop(letter->from, "it sent a letter that is not for a worker");
    return Status();
  }
}

Status Worker::ask(Kind kind, const Letter &closure,
                   std::vector<Buffer> questions,
                   std::vector<Letter> *answers) {
  Kind answered = kind == Kind::Pull ? Kind::Parameters : Kind::Applied;
  uint64_t question = ++this->questions;
  answers->assign(cast.servers, Letter());
  for (int server = 0; server < cast.servers; ++server) {
    Letter letter;
    letter.kind = kind;
    letter.question = question;
    letter.closure = closure.closure;
    letter.settled = closure.settled;
    letter.bytes = std::move(questions[server]);
    mail.send(cast.server(server), std::move(letter));
  }
  for (int missing = cast.servers; missing > 0 && !isOver;) {
    Letter letter;
    DIST_RETURN_IF_ERROR(next(&letter));
    int server = cast.serverOf(letter.from);
    if (isOver || letter.from == Cast::coordinator)
      continue;
    bool isAnswer = server >= 0 && letter.kind == answered &&
                    letter.question == question &&
                    (kind == Kind::Push ||
                     letter.bytes.size() == replica.parameterBytes(server));
    if (!isAnswer) {
      mail.drop(letter.from, "it sent a letter that is not for a worker");
      continue;
    }
    (*answers)[server] = std::move(letter);
    --missing;
  }
  return Status();
}

/// `failure`: of the closure; the status: of the process.
Status Worker::train(const Letter &closure, ReportBody *report, Buffer *metrics,
                     Status *failure) {
  *failure = closure.bytes.empty()
                 ? replica.begin(closure.closure)
                 : replica.beginWork(closure.closure, closure.bytes);
  if (!failure->ok())
    return Status();
  std::vector<Letter> answers;
  std::vector<Buffer> pulls(cast.servers);
  for (int server = 0; server < cast.servers; ++server)
    pulls[server] = replica.pullOf(server);
  DIST_RETURN_IF_ERROR(ask(Kind::Pull, closure, std::move(pulls), &answers));
  if (isOver)
    return Status();
  for (int server = 0; server < cast.servers && failure->ok(); ++server)
    *failure = replica.takeParameters(server, answers[server].bytes);
  bool isPushed = false;
  if (failure->ok())
    *failure = replica.compute(report, metrics, &isPushed);
  std::vector<Buffer> gradients(cast.servers);
  for (int server = 0; server < cast.servers && failure->ok() && isPushed;
       ++server)
    *failure = replica.giveGradients(server, &gradients[server]);
  if (!failure->ok() || !isPushed)
    return Status();
  DIST_RETURN_IF_ERROR(
      ask(Kind::Push, closure, std::move(gradients), &answers));
  for (int server = 0; server < cast.servers && !isOver; ++server) {
    AppliedBody body;
    if (!unpack(answers[server].bytes, &body)) {
      mail.drop(cast.server(server), "it sent what is no answer");
      return lostPeer(cast, mail, cast.server(server));
    }
    if (failure->ok())
      *failure = unpackError(answers[server].bytes, body);
    if (body.hasLearningRate && !report->hasLearningRate) {
      report->hasLearningRate = 1;
      report->learningRate = body.learningRate;
    }
  }
  return Status();
}

Status Worker::runClosure(const Letter &closure) {
  if (isIn && closure.closure < kFirstUnpushed)
    isIn(closure.closure);
  ReportBody report;
  Buffer metrics;
  Status failure;
  DIST_RETURN_IF_ERROR(train(closure, &report, &metrics, &failure));
  if (isOver)
    return Status();
  Letter letter;
  letter.kind = Kind::Report;
  letter.closure = closure.closure;
  letter.bytes = failure.ok() ? pack(report, metrics.data(), metrics.size())
                              : pack(report, failure);
  mail.send(Cast::coordinator, std::move(letter));
  return Status();
}

Status Worker::run(Ending *out) {
  if (cast.workerOf(mail.rank()) >= cast.workers) {
    Letter ready;
    ready.kind = Kind::Ready;
    mail.send(Cast::coordinator, std::move(ready));
  }
  while (!isOver) {
    if (closures.empty()) {
      Letter letter;
      DIST_RETURN_IF_ERROR(next(&letter));
      if (!isOver && letter.from != Cast::coordinator)
        mail.drop(letter.from, "it sent what was not asked for");
      continue;
    }
    Letter closure = std::move(closures.front());
    closures.pop_front();
    DIST_RETURN_IF_ERROR(runClosure(closure));
  }
  *out = ending;
  return Status();
}

Status work(Mail &mail, Replica &replica, const TaskOptions &options,
            Ending *ending) {
  return Worker(mail, replica, options).run(ending);
}

} // namespace dist::ps
