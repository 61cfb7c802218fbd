//===- protocol.h - What letters of parameter servers hold ---*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bytes behind a letter's numbers, as they lie in memory: all processes run on
// machines of one byte order, of one version.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_PARAMETER_SERVER_PROTOCOL_H
#define RUNTIME_PARAMETER_SERVER_PROTOCOL_H

#include "runtime/core/status.h"
#include "runtime/parameter_server/mail.h"
#include <cstring>
#include <functional>
#include <string>

namespace dist::ps {

/// The ranks of a cluster: the coordinator, then workers, then servers, and
/// then workers that came back. A rank is never another process's: who has
/// slept through its own end, and pushes gradients still, has the old one.
struct Cast {
  int workers = 0, servers = 0; // of the beginning
  /// Of those that came back: which of the workers each one is.
  std::vector<int> returned;
  /// "worker 1", by rank.
  std::vector<std::string> names;

  static constexpr int coordinator = 0;
  int ranks() const { return 1 + servers + places(); }
  /// Places of workers: those of the beginning, and then of those that came
  /// back, in the order of their ranks.
  int places() const { return workers + int(returned.size()); }
  int worker(int place) const {
    return place < workers ? 1 + place : 1 + servers + place;
  }
  int server(int index) const { return 1 + workers + index; }
  /// Which one a rank is; -1: none.
  int serverOf(int rank) const {
    return rank > workers && rank <= workers + servers ? rank - workers - 1
                                                       : -1;
  }
  int workerOf(int rank) const {
    if (rank > workers + servers && rank < ranks())
      return rank - servers - 1;
    return rank >= 1 && rank <= workers ? rank - 1 : -1;
  }
  /// Which of the workers has a place.
  int indexOf(int place) const {
    return place < workers ? place : returned[place - workers];
  }
  /// A worker is back; its rank.
  int admit(int index) {
    names.push_back(names[worker(index)]);
    returned.push_back(index);
    return ranks() - 1;
  }
};

/// Closures from this number on push nothing: servers, which know closures by
/// what they have pushed, never hear of them, and no step waits for them.
inline constexpr int64_t kFirstUnpushed = int64_t(1) << 62;

/// A worker has come back, with the next rank.
struct AdmitBody {
  int32_t code = 0; // as all bodies have
  int32_t index = 0;
  int32_t rankBefore = 0; // which is nobody's any more
  int32_t rank = 0;
};

/// What a server did with a push.
struct AppliedBody {
  /// A StatusCode; other than Ok, the error's text follows.
  int32_t code = 0;
  /// The closure's gradients had come before: these were left aside.
  uint32_t isRepeated = 0;
  uint32_t hasLearningRate = 0;
  float learningRate = 0;
};

/// What a closure gave.
struct ReportBody {
  /// A StatusCode; other than Ok, the error's text follows, else the metrics.
  int32_t code = 0;
  uint32_t isFinite = 1;
  uint32_t hasLearningRate = 0;
  float learningRate = 0;
  float loss = 0;
  uint32_t unused = 0;
  int64_t examples = 0;
};

/// How a run that had no error ended.
enum class Ending : int32_t {
  Done,
  Stopped, // before its last step
  Saved    // the same, and it can be taken up again
};

/// Why a run is over; other than Ok, the error's text follows.
struct EndBody {
  int32_t code = 0;
  Ending ending = Ending::Done;
};

/// A body, and bytes behind it.
template <typename Body>
Buffer pack(const Body &body, const void *more = nullptr, size_t bytes = 0) {
  Buffer packed(sizeof(Body) + bytes);
  std::memcpy(packed.data(), &body, sizeof(Body));
  if (bytes)
    std::memcpy(packed.data() + sizeof(Body), more, bytes);
  return packed;
}
template <typename Body> Buffer pack(Body body, const Status &status) {
  body.code = int32_t(status.code());
  return pack(body, status.message().data(), status.message().size());
}

/// False: these bytes are none.
template <typename Body> bool unpack(const Buffer &bytes, Body *body) {
  if (bytes.size() < sizeof(Body))
    return false;
  std::memcpy(body, bytes.data(), sizeof(Body));
  return body->code >= 0 && body->code <= int32_t(StatusCode::Cancelled);
}
/// The error of a body whose code is one.
template <typename Body>
Status unpackError(const Buffer &bytes, const Body &body) {
  return body.code == 0
             ? Status()
             : Status::error(StatusCode(body.code),
                             std::string(bytes.data() + sizeof(Body),
                                         bytes.size() - sizeof(Body)));
}

/// How a process other than the coordinator takes part.
struct TaskOptions {
  Cast cast;
  /// Asked now and then: whether this process was told to stop, which the
  /// coordinator is told then. It goes on until the run is over.
  std::function<bool()> stops;
  /// Hears which closure this process is in: a worker's own, a server's first
  /// one that is not known to be done.
  std::function<void(int64_t closure)> isIn;
};

/// How often `stops` is asked.
constexpr std::chrono::milliseconds kLook{50};

/// Tells the coordinator, once, that this process was told to stop.
class StopTeller {
public:
  StopTeller(Mail &mail, const std::function<bool()> &stops)
      : mail(mail), stops(stops) {}
  void look() {
    if (isTold || !stops || !stops())
      return;
    Letter letter;
    letter.kind = Kind::Stop;
    mail.send(Cast::coordinator, std::move(letter));
    isTold = true;
  }

private:
  Mail &mail;
  const std::function<bool()> &stops;
  bool isTold = false;
};

/// What a peer's loss means to a process that is not to outlive it.
Status lostPeer(const Cast &cast, const Mail &mail, int rank);

} // namespace dist::ps

#endif // RUNTIME_PARAMETER_SERVER_PROTOCOL_H
