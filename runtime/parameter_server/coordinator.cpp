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
    : mail(mail), options(options), cast(options.cast), workers(cast.workers) {}

void Coordinator::begin(int64_t first) {
  isCancelled = false;
  Done &done = doneOf(first);
  done.lowest = first;
  done.above.clear();
  works.erase(works.lower_bound(first < kFirstUnpushed ? 0 : kFirstUnpushed),
              works.lower_bound(first));
}

/// "its step 3"
static std::string describe(int64_t closure) {
  return closure < kFirstUnpushed ? "its step " + std::to_string(closure + 1)
                                  : "its part of the evaluation";
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
  return int(
      std::count_if(workers.begin(), workers.end(), [](const Worker &one) {
        return one.isReady && !one.isLost;
      }));
}

bool Coordinator::isBegun(int64_t closure) const {
  return isSettled(closure) ||
         std::any_of(workers.begin(), workers.end(), [&](const Worker &worker) {
           return worker.closure == closure;
         });
}

bool Coordinator::isDone() const {
  return queue.empty() && completions.empty() && failure.ok() && !isUnderWay();
}

void Coordinator::cancel() {
  isCancelled = true;
  // One that came back from a lost worker is below some that have begun, or are
  // done: without it the numbers would have a gap.
  int64_t begun =
      steps.above.empty() ? steps.lowest : *steps.above.rbegin() + 1;
  for (const Worker &worker : workers)
    if (worker.closure < kFirstUnpushed)
      begun = std::max(begun, worker.closure + 1);
  queue.erase(std::remove_if(queue.begin(), queue.end(),
                             [&](int64_t closure) { return closure >= begun; }),
              queue.end());
}

void Coordinator::settle(int64_t closure) {
  works.erase(closure);
  Done &done = doneOf(closure);
  done.above.insert(closure);
  while (!done.above.empty() && *done.above.begin() == done.lowest) {
    done.above.erase(done.above.begin());
    ++done.lowest;
  }
}

std::deque<int64_t>::iterator Coordinator::findReady() {
  if (!options.staleness)
    return queue.begin();
  // The lowest that is not done always may, wherever it stands.
  return std::find_if(queue.begin(), queue.end(), [&](int64_t closure) {
    return closure >= kFirstUnpushed ||
           closure - steps.lowest <= *options.staleness;
  });
}

void Coordinator::give(int place, int64_t closure) {
  workers[place].closure = closure;
  workers[place].isLate = false;
  workers[place].began = mail.now();
  Letter letter;
  letter.kind = Kind::Closure;
  letter.closure = closure;
  letter.settled = steps.lowest;
  if (auto work = works.find(closure); work != works.end())
    letter.bytes = work->second;
  mail.send(cast.worker(place), std::move(letter));
}

int64_t Coordinator::findLate() {
  int64_t found = -1;
  for (int place = 0; place < cast.places(); ++place) {
    Worker &worker = workers[place];
    bool isDue = worker.closure >= 0 && !worker.isLate &&
                 mail.now() - worker.began > options.patience;
    if (isDue && options.note && !isSettled(worker.closure))
      options.note(
          cast.names[cast.worker(place)] + " shows no result of " +
          describe(worker.closure) + " for " +
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
  // What is scheduled behind an error would put off its telling.
  if (!failure.ok())
    return;
  for (int place = 0; place < cast.places(); ++place) {
    const Worker &worker = workers[place];
    if (worker.isLost || !worker.isReady || worker.closure >= 0)
      continue;
    auto ready = findReady();
    if (ready != queue.end()) {
      give(place, *ready);
      queue.erase(ready);
    } else if (late >= 0) {
      give(place, std::exchange(late, -1));
    }
  }
}

/// "1 worker"
static std::string countWorkers(int count) {
  return std::to_string(count) + (count == 1 ? " worker" : " workers");
}

Status Coordinator::isEmpty(const std::string &more) const {
  return Status::error(
      StatusCode::Unavailable, "no worker is left", "",
      "the last one, " + cast.names[lastWorker] +
          ", is lost: " + mail.why(lastWorker) + more,
      "look there why it ended; --resume goes on from the last saved state");
}

Status Coordinator::loseWorker(int place) {
  Worker &worker = workers[place];
  if (worker.isLost)
    return Status();
  worker.isLost = true;
  if (options.released && !worker.id.empty())
    options.released(worker.id);
  const int rank = cast.worker(place);
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
  if (!worker.isReady) {
    if (options.note)
      options.note(cast.names[rank] + " has not come back: " + mail.why(rank));
    return Status();
  }
  if (left == 0 && !emptySince) {
    lastWorker = rank;
    if (options.returnTime <= Mail::Clock::duration::zero())
      return isEmpty();
    emptySince = mail.now();
    if (options.note)
      options.note(cast.names[rank] + " is lost (" + mail.why(rank) +
                   "): the run waits for a worker to come back");
  } else if (options.note)
    options.note(
        cast.names[rank] + " is lost (" + mail.why(rank) +
        "): the run goes on with " + countWorkers(left) +
        (isRerun ? ", one of which runs " + describe(closure) + " again" : ""));
  return Status();
}

int Coordinator::placeOf(int index) const {
  int place = cast.places() - 1;
  while (cast.indexOf(place) != index)
    --place;
  return place;
}

Status Coordinator::look() {
  DIST_RETURN_IF_ERROR(ended);
  if (emptySince && options.noneReturns && options.noneReturns())
    return isEmpty(", and none is started again");
  if (emptySince && isCancelled && !queue.empty())
    return isEmpty(", and the run ends before one could come back");
  if (emptySince && mail.now() - *emptySince > options.returnTime)
    return isEmpty();
  if (!options.returning || admission || mail.now() < nextLook)
    return Status();
  nextLook = mail.now() + kLook;
  for (const Returning &who : options.returning()) {
    if (who.index < 0 || who.index >= cast.workers)
      continue;
    // In the place of one that is there, as far as is known here, it waits, and
    // keeps nobody else waiting.
    const Worker &before = workers[placeOf(who.index)];
    if (!before.isLost && before.isReady)
      continue;
    if (!taken.count(who.id))
      return admit(who);
  }
  return Status();
}

Status Coordinator::admit(const Returning &who) {
  const int place = placeOf(who.index), before = cast.worker(place);
  taken.insert(who.id);
  // It was admitted, and has not come.
  if (!workers[place].isLost) {
    mail.drop(before, "another process has come in its place");
    DIST_RETURN_IF_ERROR(loseWorker(place));
  }
  if (Status status = mail.admit(who.address); !status.ok()) {
    if (options.note)
      options.note(cast.names[before] +
                   " cannot come back: " + status.message());
    if (options.released)
      options.released(who.id);
    return Status();
  }
  const int rank = cast.admit(who.index);
  Worker &worker = workers.emplace_back();
  worker.isReady = false;
  worker.id = who.id;
  admission = Admission{who, rank, 0};
  const AdmitBody body{0, who.index, before, rank};
  for (int server = 0; server < cast.servers; ++server) {
    Letter letter;
    letter.kind = Kind::Admit;
    letter.question = uint64_t(rank);
    letter.bytes = pack(body, who.address.data(), who.address.size());
    mail.send(cast.server(server), std::move(letter));
    ++admission->missing;
  }
  return Status();
}

void Coordinator::hearAdmitted(const Letter &letter) {
  if (!admission || letter.question != uint64_t(admission->rank)) {
    mail.drop(letter.from, "it sent what is no answer");
    return;
  }
  if (--admission->missing > 0)
    return;
  if (options.admitted)
    options.admitted(admission->who, admission->rank);
  admission.reset();
}

void Coordinator::hearReady(const Letter &letter) {
  Worker &worker = workers[cast.workerOf(letter.from)];
  if (worker.isLost || worker.isReady)
    return;
  worker.isReady = true;
  emptySince.reset();
  if (options.note)
    options.note(cast.names[letter.from] + " is back: the run goes on with " +
                 countWorkers(countLeft()));
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
  completion.worker = cast.indexOf(cast.workerOf(letter.from));
  completion.report = report;
  completion.metrics.assign(letter.bytes.begin() + sizeof report,
                            letter.bytes.end());
  return Status();
}

/// That a server, or the last worker, is lost is told once. Who has asked for a
/// state meanwhile, as to save, goes on behind its error, and would wait for
/// ever.
Status Coordinator::hear(Mail::Event event, Letter &letter) {
  Status heard = hearOne(event, letter);
  if (!heard.ok() && ended.ok())
    ended = heard;
  return heard;
}

Status Coordinator::hearOne(Mail::Event event, Letter &letter) {
  int worker = cast.workerOf(letter.from);
  if (event == Mail::Event::Lost)
    return worker >= 0 ? loseWorker(worker) : lostPeer(cast, mail, letter.from);
  if (letter.kind == Kind::Stop) {
    wasTold = true;
    return Status();
  }
  if (worker >= 0 && letter.kind == Kind::Report)
    return hearReport(letter);
  if (worker >= 0 && letter.kind == Kind::Ready) {
    hearReady(letter);
    return Status();
  }
  if (letter.kind == Kind::Admitted && cast.serverOf(letter.from) >= 0) {
    hearAdmitted(letter);
    return Status();
  }
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
    DIST_RETURN_IF_ERROR(look());
    handOut();
    // With a queue, all that are left are late with what others have done: they
    // come back, or are lost.
    if (!isUnderWay() && (queue.empty() || !failure.ok())) {
      queue.clear();
      toldFailure = std::exchange(failing, -1);
      return std::exchange(failure, Status());
    }
    Letter letter;
    const bool looks = options.returning && !admission;
    Mail::Event event =
        mail.wait(looks ? std::min(until, nextLook) : until, &letter);
    if (event == Mail::Event::Nothing && mail.now() < until)
      continue;
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
  DIST_RETURN_IF_ERROR(look());
  Letter letter;
  Mail::Event event = mail.wait(until, &letter);
  return event == Mail::Event::Nothing ? Status() : hear(event, letter);
}

Status Coordinator::ask(int server, Kind kind, Buffer question,
                        Letter *answered) {
  DIST_RETURN_IF_ERROR(ended);
  Letter letter;
  letter.kind = kind;
  letter.question = ++questions;
  letter.settled = steps.lowest;
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
