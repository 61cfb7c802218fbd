//===- coordinator.cpp - Who hands out the steps --------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/parameter_server/coordinator.h"
#include <algorithm>

namespace dist::ps {

/// How long the others may take to fetch the word that the run is over.
static constexpr std::chrono::seconds kLastWord{2};

Coordinator::Coordinator(Mail &mail, const CoordinatorOptions &options)
    : mail(mail), options(options), cast(this->options.cast),
      workers(cast.workers) {}

void Coordinator::begin(int64_t first) {
  lowest = first;
  above.clear();
  works.erase(works.begin(), works.lower_bound(first));
}

void Coordinator::schedule(int64_t closure, Buffer work) {
  queue.push_back(closure);
  if (!work.empty())
    works[closure] = std::move(work);
}

bool Coordinator::isUnderWay() const {
  return std::any_of(workers.begin(), workers.end(), [&](const Worker &worker) {
    // After an error there is no result that must not be missed.
    bool isAwaited = failure.ok() || !worker.isLate;
    return worker.closure >= 0 && !isSettled(worker.closure) && isAwaited;
  });
}

int Coordinator::countLeft() const {
  return int(std::count_if(workers.begin(), workers.end(),
                           [](const Worker &one) { return !one.isLost; }));
}

bool Coordinator::isDone() const {
  return queue.empty() && completions.empty() && failure.ok() && !isUnderWay();
}

void Coordinator::cancel() {
  // One that came back from a lost worker is below some that have begun, or are
  // done: without it the numbers would have a gap.
  int64_t begun = above.empty() ? lowest : *above.rbegin() + 1;
  for (const Worker &worker : workers)
    begun = std::max(begun, worker.closure + 1);
  queue.erase(std::remove_if(queue.begin(), queue.end(),
                             [&](int64_t closure) { return closure >= begun; }),
              queue.end());
}

void Coordinator::settle(int64_t closure) {
  works.erase(closure);
  above.insert(closure);
  while (!above.empty() && *above.begin() == lowest) {
    above.erase(above.begin());
    ++lowest;
  }
}

std::deque<int64_t>::iterator Coordinator::findReady() {
  if (!options.staleness)
    return queue.begin();
  // The lowest that is not done always may, wherever it stands.
  return std::find_if(queue.begin(), queue.end(), [&](int64_t closure) {
    return closure - lowest <= *options.staleness;
  });
}

void Coordinator::give(int index, int64_t closure) {
  workers[index].closure = closure;
  workers[index].isLate = false;
  workers[index].began = mail.now();
  Letter letter;
  letter.kind = Kind::Closure;
  letter.closure = closure;
  letter.settled = lowest;
  if (auto work = works.find(closure); work != works.end())
    letter.bytes = work->second;
  mail.send(cast.worker(index), std::move(letter));
}

int64_t Coordinator::findLate() {
  int64_t found = -1;
  for (int index = 0; index < cast.workers; ++index) {
    Worker &worker = workers[index];
    bool isDue = worker.closure >= 0 && !worker.isLate &&
                 mail.now() - worker.began > options.patience;
    if (isDue && options.note && !isSettled(worker.closure))
      options.note(
          cast.names[cast.worker(index)] + " shows no result of its step " +
          std::to_string(worker.closure + 1) + " for " +
          std::to_string(
              std::chrono::duration_cast<std::chrono::seconds>(options.patience)
                  .count()) +
          " s" + (countLeft() > 1 ? ": one that is free runs it, too" : ""));
    worker.isLate |= isDue;
    if (!worker.isLate || isSettled(worker.closure))
      continue;
    int holders = int(
        std::count_if(workers.begin(), workers.end(), [&](const Worker &other) {
          return other.closure == worker.closure && !other.isLate;
        }));
    if (holders == 0)
      found = worker.closure;
  }
  return found;
}

void Coordinator::handOut() {
  int64_t late = findLate();
  for (int index = 0; index < cast.workers; ++index) {
    if (workers[index].isLost || workers[index].closure >= 0)
      continue;
    auto ready = findReady();
    if (ready != queue.end()) {
      give(index, *ready);
      queue.erase(ready);
    } else if (late >= 0 && failure.ok()) {
      give(index, std::exchange(late, -1));
    }
  }
}

Status Coordinator::loseWorker(int index) {
  Worker &worker = workers[index];
  if (worker.isLost)
    return Status();
  worker.isLost = true;
  const int rank = cast.worker(index);
  int64_t closure = std::exchange(worker.closure, -1);
  bool isElsewhere =
      std::any_of(workers.begin(), workers.end(), [&](const Worker &other) {
        return other.closure == closure;
      });
  bool isRerun =
      closure >= 0 && !isSettled(closure) && failure.ok() && !isElsewhere;
  if (isRerun)
    queue.push_back(closure);
  const int left = countLeft();
  if (left == 0)
    return Status::error(StatusCode::Unavailable, "no worker is left", "",
                         "the last one, " + cast.names[rank] +
                             ", is lost: " + mail.why(rank),
                         "look there why it ended; --resume goes on from the "
                         "last saved state");
  if (options.note)
    options.note(cast.names[rank] + " is lost (" + mail.why(rank) +
                 "): the run goes on with " + std::to_string(left) +
                 (left == 1 ? " worker" : " workers") +
                 (isRerun ? ", one of which runs its step " +
                                std::to_string(closure + 1) + " again"
                          : ""));
  return Status();
}

Status Coordinator::hearReport(Letter &letter) {
  Worker &worker = workers[cast.workerOf(letter.from)];
  ReportBody report;
  if (letter.closure != worker.closure || !unpack(letter.bytes, &report)) {
    mail.drop(letter.from, "it reported what it was not asked for");
    return Status();
  }
  worker.closure = -1;
  worker.isLate = false;
  if (isSettled(letter.closure))
    return Status();
  if (report.code != 0) {
    if (failure.ok()) {
      failure = unpackError(letter.bytes, report);
      failing = letter.closure;
    }
    queue.clear();
    return Status();
  }
  settle(letter.closure);
  Completion &completion = completions.emplace_back();
  completion.closure = letter.closure;
  completion.worker = cast.workerOf(letter.from);
  completion.report = report;
  completion.metrics.assign(letter.bytes.begin() + sizeof report,
                            letter.bytes.end());
  return Status();
}

Status Coordinator::hear(Mail::Event event, Letter &letter) {
  int worker = cast.workerOf(letter.from);
  if (event == Mail::Event::Lost)
    return worker >= 0 ? loseWorker(worker) : lostPeer(cast, mail, letter.from);
  if (letter.kind == Kind::Stop) {
    wasTold = true;
    return Status();
  }
  if (worker >= 0 && letter.kind == Kind::Report)
    return hearReport(letter);
  if (worker < 0 && letter.question == questions && !answer) {
    answer = std::move(letter);
    return Status();
  }
  mail.drop(letter.from, "it sent a letter that is not for the coordinator");
  return Status();
}

Status Coordinator::next(Mail::Clock::time_point until,
                         std::optional<Completion> *out) {
  out->reset();
  toldFailure = -1;
  while (completions.empty()) {
    handOut();
    // With a queue, all that are left are late with what others have done: they
    // come back, or are lost.
    if (!isUnderWay() && (queue.empty() || !failure.ok())) {
      queue.clear();
      toldFailure = std::exchange(failing, -1);
      return std::exchange(failure, Status());
    }
    Letter letter;
    Mail::Event event = mail.wait(until, &letter);
    if (event == Mail::Event::Nothing)
      return Status();
    DIST_RETURN_IF_ERROR(hear(event, letter));
  }
  *out = std::move(completions.front());
  completions.pop_front();
  // The others do not wait until this one is dealt with.
  handOut();
  return Status();
}

Status Coordinator::listen(Mail::Clock::time_point until) {
  Letter letter;
  Mail::Event event = mail.wait(until, &letter);
  return event == Mail::Event::Nothing ? Status() : hear(event, letter);
}

Status Coordinator::ask(int server, Kind kind, Buffer question,
                        Letter *answered) {
  Letter letter;
  letter.kind = kind;
  letter.question = ++questions;
  letter.bytes = std::move(question);
  const int rank = cast.server(server);
  answer.reset();
  mail.send(rank, std::move(letter));
  while (!answer) {
    Mail::Event event = mail.wait(mail.now() + kLook, &letter);
    if (event != Mail::Event::Nothing)
      DIST_RETURN_IF_ERROR(hear(event, letter));
  }
  Kind expected = kind == Kind::ReadState ? Kind::State : Kind::StateWritten;
  *answered = std::move(*answer);
  if (answered->from == rank && answered->kind == expected)
    return Status();
  mail.drop(answered->from, "it sent what is no answer");
  return lostPeer(cast, mail, answered->from);
}

Status Coordinator::readState(int server, Buffer *out) {
  Letter answer;
  DIST_RETURN_IF_ERROR(ask(server, Kind::ReadState, {}, &answer));
  *out = std::move(answer.bytes);
  return Status();
}

Status Coordinator::writeState(int server, Buffer state) {
  Letter answer;
  return ask(server, Kind::WriteState, std::move(state), &answer);
}

void Coordinator::end(const Status &why, Ending ending) {
  for (int rank = 1; rank < cast.ranks(); ++rank) {
    Letter letter;
    letter.kind = Kind::End;
    letter.bytes = pack(EndBody{0, ending}, why);
    mail.send(rank, std::move(letter));
  }
  mail.flush(mail.now() + kLastWord);
}

} // namespace dist::ps
