//===- post_waiting.cpp - How long a rank waits for messages --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As the local communicator's patience (waits.h), but what other ranks show of
// themselves is asked for: by who has waited for more than a moment, of all
// that its wait depends on.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/message/post.h"
#include <algorithm>
#include <cstring>

namespace dist::message {

namespace {
using Clock = Transport::Clock;
/// How often a waiting rank looks at the others.
constexpr std::chrono::milliseconds longestSlice{200};

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}
} // namespace

Post::Waiting::Waiting(Post &post, const CallOnWire &call)
    : post(post), call(call), timeout(toDuration(post.options.timeout)),
      left(timeout) {
  slice = longestSlice;
  if (timeout.count() > 0)
    slice = std::min<Clock::duration>(slice, timeout / 4);
}

Post::Waiting::~Waiting() {
  if (post.waiting == this)
    post.waiting = nullptr;
}

Status Post::Waiting::pass() {
  // The clock costs as much as a look at the network.
  constexpr int spinsPerLook = 16;
  if (spins % spinsPerLook != 0) {
    ++spins;
    relax();
    return Status();
  }
  Clock::time_point now = post.transport->now();
  if (spins == 0) {
    awake = now + std::chrono::microseconds(call.spinMicroseconds);
    next = now + slice;
  }
  if (now < awake) {
    ++spins;
    return Status();
  }
  spins = spinsPerLook;
  if (now >= next)
    return look(now);
  post.transport->sleepUntil(next); // what came meanwhile is taken first
  return Status();
}

Wait Post::Waiting::report() const {
  return {post.rank(),     call.background,
          call.call.kind,  call.call.op,
          call.key.isSend, call.key.isSend ? call.key.channel : 0,
          post.missing()};
}

std::vector<int> Post::missing() const {
  std::vector<int> result;
  for (int peer = 0; peer < int(peers.size()); ++peer)
    if (!peers[peer].expected.empty())
      result.push_back(peer);
  for (auto *tickets : {&fetching, &sending}) {
    if (!result.empty())
      break;
    for (const Ticket *ticket : *tickets)
      if (!ticket->isDone())
        result.push_back(ticket->peer);
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
  }
  return result;
}

Status Post::Waiting::look(Clock::time_point now) {
  int ranks = post.peers.size();
  Wait own = report();
  std::vector<Wait> all{own};
  std::vector<LifeSign> signs;
  for (const Peer &peer : post.peers) {
    signs.push_back(peer.sign);
    all.insert(all.end(), peer.waits.begin(), peer.waits.end());
  }
  Dependence dependence = follow(own, all, ranks);
  Clock::duration between = looks ? now - last : slice;
  bool moved = watch.sawProgress(dependence, between, signs);
  // The first look asks; the second has the answers to compare others with.
  left = moved && looks > 1 ? timeout : left - countedTime(between, slice);
  ++looks;
  last = now;
  next = now + slice;
  post.waiting = this;
  const MessageOptions &options = post.options;
  if (!warned && options.warn && timeout.count() > 0 && left <= timeout / 2) {
    warned = true;
    options.warn(warnOf(options, own, timeout - left));
  }
  if (timeout.count() > 0 && left.count() <= 0) {
    if (call.patient && post.arrivals == call.arrivalsBefore) {
      left = timeout;
      return Status();
    }
    Blame who = blame(options, dependence);
    post.fail(StatusCode::Unavailable, who.rank, who.kind, who.op, who.why,
              "see why, or raise --collective-timeout");
    return post.statusOf(call.call);
  }
  std::vector<int> ask = dependence.free;
  for (size_t i = 1; i < dependence.waits.size(); ++i)
    ask.push_back(dependence.waits[i].rank);
  for (int peer : ask)
    if (peer != post.rank() && post.peers[peer].lost.empty())
      post.sendControl(MessageType::Question, peer, nullptr, 0);
  return Status();
}

//===----------------------------------------------------------------------===//
// Questions and answers
//===----------------------------------------------------------------------===//

void Post::sendControl(MessageType type, int to, const void *data,
                       int64_t bytes) {
  kept.emplace_back();
  Kept &message = kept.back();
  message.bytes.assign(static_cast<const char *>(data),
                       static_cast<const char *>(data) + bytes);
  message.tickets.emplace_back();
  Ticket &ticket = message.tickets.back();
  ticket.peer = to;
  ticket.request.state = Transport::Request::Pending;
  MessageHeader header{};
  header.generation = generation;
  header.type = type;
  transport->send(to, header, message.bytes.data(), bytes, &ticket.request);
}

/// Steps and CPU time; of a rank that waits also background, kind, op, whether
/// for a message, tag, and who is missing.
void Post::answer(int to) {
  std::vector<int64_t> words{int64_t(progress.steps()), progress.cpuTime()};
  if (waiting) {
    Wait wait = waiting->report();
    words.insert(words.end(), {wait.background, int64_t(wait.kind), wait.op,
                               wait.forMessage, wait.tag});
    words.insert(words.end(), wait.missing.begin(), wait.missing.end());
  }
  sendControl(MessageType::Answer, to, words.data(),
              words.size() * sizeof(int64_t));
}

/// Why `from` has given up, as this rank tells it. One that is cut off from
/// hearing others may still be heard: what it says of this process is no loss
/// of this process.
std::string Post::toldBy(int from, std::string why) const {
  // A rank of a process of several is called by that: "rank 3 of worker 1".
  std::string self = rankName(options, rank());
  if (size_t of = self.find(" of "); of != std::string::npos)
    self.erase(0, of + 4);
  return why.rfind(self, 0) == 0
             ? rankName(options, from) + " says of this process: " + why
             : why;
}

void Post::readControl(const Control &control) {
  int from = control.arrival.from;
  switch (control.arrival.header.type) {
  case MessageType::Abort:
    // A rank that was told does not pass it on: all are told.
    setAborted(control.arrival.header.generation,
               toldBy(from, {control.bytes.begin(), control.bytes.end()}));
    told = true;
    return;
  case MessageType::Question:
    answer(from);
    return;
  case MessageType::Answer:
    break;
  default:
    return;
  }
  std::vector<int64_t> words(control.bytes.size() / sizeof(int64_t));
  if (words.size() < 2)
    return;
  std::memcpy(words.data(), control.bytes.data(),
              words.size() * sizeof(int64_t));
  Peer &peer = peers[from];
  peer.sign = {uint64_t(words[0]), words[1]};
  peer.waits.clear();
  constexpr size_t first = 7;
  if (words.size() < first || words[3] < 0 ||
      words[3] > int64_t(CollectiveKind::Barrier))
    return;
  Wait wait{from,
            words[2] != 0,
            static_cast<CollectiveKind>(words[3]),
            int32_t(words[4]),
            words[5] != 0,
            words[6],
            {}};
  for (size_t i = first; i < words.size(); ++i)
    if (words[i] >= 0 && words[i] < int64_t(peers.size()))
      wait.missing.push_back(words[i]);
  peer.waits.push_back(wait);
}

} // namespace dist::message
