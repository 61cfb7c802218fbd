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
#include <cctype>
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

// Who is there looks for all, but for one that spins meanwhile: it is the
// quickest to hear of what comes.
Post::Waiting::Waiting(Post &post, const CallOnWire &call, Test test, void *of)
    : post(post), call(call), test(test), of(of),
      timeout(toDuration(post.options.timeout)), left(timeout) {
  slice = longestSlice;
  if (timeout.count() > 0)
    slice = std::min<Clock::duration>(slice, timeout / 4);
  if (!post.poller ||
      call.spinMicroseconds >= post.poller->call.spinMicroseconds)
    post.poller = this;
  post.waits.push_back(this);
}

Post::Waiting::~Waiting() {
  auto &waits = post.waits;
  waits.erase(std::find(waits.begin(), waits.end(), this));
  if (polls())
    post.poller = nullptr; // `leave` finds another
}

void Post::Waiting::sleep() {
  if (spins == 0)
    begin(post.transport->now());
  asleep = true;
  std::unique_lock<std::mutex> lock(post.inside, std::adopt_lock);
  while (asleep)
    woken.wait(lock);
  lock.release();
  post.cameIn();
}

void Post::Waiting::wake() {
  if (!asleep)
    return;
  asleep = false;
  post.entering.fetch_add(1);
  woken.notify_one();
}

void Post::Waiting::begin(Clock::time_point now) {
  awake = now + std::chrono::microseconds(call.spinMicroseconds);
  next = now + slice;
  spins = 1;
}

void Post::Waiting::pass() {
  // The clock costs as much as a look at the network.
  constexpr int spinsPerLook = 16;
  if (spins % spinsPerLook != 0) {
    ++spins;
    relax();
    return;
  }
  Clock::time_point now = post.transport->now();
  if (spins == 0)
    begin(now);
  if (now < awake) {
    ++spins;
    return;
  }
  spins = spinsPerLook;
  Clock::time_point first = next;
  for (const Waiting *one : post.waits)
    first = std::min(first, one->next);
  if (now < first) {
    post.transport->sleepUntil(first); // what came meanwhile is taken first
    return;
  }
  for (Waiting *one : post.waits)
    if (now >= one->next)
      one->look(now);
}

Wait Post::Waiting::report() const {
  return {post.rank(),       call.background,
          call.call.kind,    call.call.op,
          call.key.isSend,   call.key.isSend ? call.key.channel : 0,
          post.missing(call)};
}

std::vector<int> Post::missing(const CallOnWire &call) const {
  std::vector<int> result;
  for (int peer = 0; peer < int(peers.size()); ++peer)
    if (peers[peer].isExpectedBy(call))
      result.push_back(peer);
  for (auto *tickets : {&call.fetching, &call.sending}) {
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

void Post::Waiting::look(Clock::time_point now) {
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
  const MessageOptions &options = post.options;
  const Clock::duration soon = timeout / 2;
  if (!warned && options.warn && timeout.count() > 0 &&
      (left <= soon || watch.workTime() >= soon)) {
    warned = true;
    options.warn(left <= soon ? warnOf(options, own, timeout - left)
                              : warnOfWork(options, own, watch.workTime()));
  }
  if (timeout.count() > 0 && left.count() <= 0) {
    if (call.patient && call.fetching.empty()) {
      left = timeout;
      return;
    }
    Blame who = blame(options, dependence);
    post.fail(StatusCode::Unavailable, who.rank, who.kind, who.op, who.why,
              "see why, or raise --collective-timeout");
    return;
  }
  std::vector<int> ask = dependence.free;
  for (size_t i = 1; i < dependence.waits.size(); ++i)
    ask.push_back(dependence.waits[i].rank);
  for (int peer : ask)
    if (peer != post.rank() && post.peers[peer].lost.empty())
      post.sendControl(MessageType::Question, peer, nullptr, 0);
}

//===----------------------------------------------------------------------===//
// Questions and answers
//===----------------------------------------------------------------------===//

void Post::sendControl(MessageType type, int to, const void *data,
                       int64_t bytes) {
  notes.emplace_back();
  Note &note = notes.back();
  note.bytes.assign(static_cast<const char *>(data),
                    static_cast<const char *>(data) + bytes);
  note.request.state = Transport::Request::Pending;
  MessageHeader header{};
  header.generation = generation;
  header.type = type;
  transport->send(to, header, note.bytes.data(), bytes, &note.request);
}

/// Steps, CPU time and whether it is at work of its own; of each wait that
/// lasts background, kind, op, whether for a message, tag, how many are
/// missing, and who.
void Post::answer(int to) {
  std::vector<int64_t> words{int64_t(progress.steps()), progress.cpuTime(),
                             progress.isAtWork()};
  for (const Waiting *one : waits) {
    if (!one->isKnown())
      continue;
    Wait wait = one->report();
    words.insert(words.end(),
                 {wait.background, int64_t(wait.kind), wait.op, wait.forMessage,
                  wait.tag, int64_t(wait.missing.size())});
    words.insert(words.end(), wait.missing.begin(), wait.missing.end());
  }
  sendControl(MessageType::Answer, to, words.data(),
              words.size() * sizeof(int64_t));
}

/// Of what a rank says of itself, nothing is taken on trust.
static std::vector<Wait> readWaits(int from, const std::vector<int64_t> &words,
                                   size_t at, int64_t ranks) {
  constexpr size_t head = 6;
  std::vector<Wait> waits;
  while (at + head <= words.size()) {
    const int64_t *word = words.data() + at;
    at += head;
    int64_t count = word[5];
    if (word[1] < 0 || word[1] > int64_t(CollectiveKind::Barrier) ||
        count < 0 || count > int64_t(words.size() - at))
      break;
    Wait wait{from,
              word[0] != 0,
              static_cast<CollectiveKind>(word[1]),
              int32_t(word[2]),
              word[3] != 0,
              word[4],
              {}};
    for (int64_t i = 0; i < count; ++i, ++at)
      if (words[at] >= 0 && words[at] < ranks)
        wait.missing.push_back(int(words[at]));
    waits.push_back(wait);
  }
  return waits;
}

/// Why `from` has given up, as this rank tells it. One that is cut off from
/// hearing others may still be heard: what it says of this process is no loss
/// of this process.
std::string Post::toldBy(int from, std::string why) const {
  std::string self = options.nameProcess ? options.nameProcess(rank())
                                         : rankName(options, rank());
  bool isOfThis = why.rfind(self, 0) == 0 &&
                  // Not a longer name that begins like it, as "worker 12" does.
                  !std::isalnum(static_cast<unsigned char>(why[self.size()]));
  return isOfThis ? rankName(options, from) + " says of this process: " + why
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
  constexpr size_t head = 3;
  if (words.size() < head)
    return;
  std::memcpy(words.data(), control.bytes.data(),
              words.size() * sizeof(int64_t));
  Peer &peer = peers[from];
  peer.sign = {uint64_t(words[0]), words[1], words[2] != 0};
  peer.waits = readWaits(from, words, head, int64_t(peers.size()));
}

} // namespace dist::message
