//===- post.cpp - A rank's messages, by what they are for -----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/message/post.h"
#include <algorithm>
#include <utility>

namespace dist::message {

namespace {
using State = Transport::Request::State;

/// How often a thread looks in while the rank's threads are elsewhere: each
/// time costs the rank some microseconds, and peers that ask wait for it.
constexpr std::chrono::milliseconds attendance{20};

bool isOver(const Transport::Request &request) {
  return request.state == State::Done || request.state == State::Failed;
}

Call readCall(const MessageHeader &header) {
  return {static_cast<CollectiveKind>(header.kind),
          header.op,
          header.count,
          header.digest,
          static_cast<Algorithm>(header.algorithm),
          header.betweenPrograms != 0};
}

uint64_t mix(uint64_t history, const Call &call) {
  uint64_t values[] = {static_cast<uint64_t>(call.kind),
                       call.betweenPrograms ? 0 : uint64_t(uint32_t(call.op)),
                       static_cast<uint64_t>(call.count), call.digest,
                       static_cast<uint64_t>(call.algorithm)};
  for (uint64_t value : values)
    history = (history ^ value) * 1099511628211u + 1;
  return history;
}
} // namespace

Post::Post(const MessageOptions &options, const MeshGroups &groups,
           std::unique_ptr<Transport> end, Progress &progress)
    : options(options), groups(groups), transport(std::move(end)),
      progress(progress), peers(groups.ranks()),
      mine(groups.groupsOf(transport->rank()).size()), step(options.firstStep),
      generation(options.generation) {
  constexpr size_t mostAtOnce = 16; // a few groups
  waits.reserve(mostAtOnce);
  attendant = std::thread([this] { attend(); });
}

Post::~Post() {
  {
    std::lock_guard<std::mutex> lock(attendantMutex);
    closing = true;
  }
  attendantWakes.notify_all();
  transport->wake();
  attendant.join();
  giveUp(nullptr);
  dropArrivals();
  for (const Transport::Arrival &arrival : early)
    transport->drop(arrival);
}

void Post::dropArrivals() {
  for (Peer &peer : peers) {
    for (const Transport::Arrival &arrival : peer.arrived)
      transport->drop(arrival);
    peer.arrived.clear();
  }
}

//===----------------------------------------------------------------------===//
// Who is inside
//===----------------------------------------------------------------------===//

void Post::enter() {
  if (inside.try_lock())
    return;
  entering.fetch_add(1);
  transport->wake(); // who has it may be asleep there
  inside.lock();
  cameIn();
}

void Post::cameIn() {
  entering.fetch_sub(1);
  entered.notify();
}

void Post::leave() {
  if (!poller && !waits.empty()) {
    poller = *std::max_element(
        waits.begin(), waits.end(), [](const Waiting *a, const Waiting *b) {
          return a->ofCall().spinMicroseconds < b->ofCall().spinMicroseconds;
        });
    poller->wake();
  }
  inside.unlock();
}

void Post::letIn() {
  inside.unlock();
  entered.wait([&] { return entering.load() == 0; },
               WaitPoint::Clock::time_point::max(), 0);
  enter();
}

Post::Inside::Inside(Post &post) : post(post) { post.enter(); }

Post::Inside::~Inside() {
  bool goesOn = post.goesOn();
  post.leave();
  if (goesOn)
    post.attendantWakes.notify_one();
  // An abort that came in the meantime left its message to this thread.
  if (post.aborted && !post.told && post.inside.try_lock()) {
    post.tellAborted();
    post.inside.unlock();
  }
}

void Post::attend() {
  std::unique_lock<std::mutex> lock(attendantMutex);
  while (!closing) {
    attendantWakes.wait_for(lock, attendance);
    if (closing)
      return;
    lock.unlock();
    if (inside.try_lock()) {
      poll();
      // What the rank has sent goes on while it computes.
      while (goesOn() && waits.empty() && entering.load() == 0 && !closing) {
        transport->sleepUntil(transport->now() + attendance);
        poll();
      }
      inside.unlock();
    }
    lock.lock();
  }
}

bool Post::poll() {
  bool moved = transport->progress(*this);
  for (auto it = controls.begin(); it != controls.end();) {
    if (!isOver(it->request)) {
      ++it;
      continue;
    }
    if (it->request.state == State::Done)
      readControl(*it);
    it = controls.erase(it);
  }
  if (goesOn())
    releaseKept();
  if (!lostRanks.empty())
    for (const Waiting *one : waits)
      failOnLostRank(one->ofCall());
  if (aborted && !told)
    tellAborted();
  if (waits.size() > 1 && (moved || aborted))
    wakeReady();
  return moved;
}

void Post::wakeReady() {
  for (Waiting *one : waits)
    if (one->isAsleep() && (aborted || one->isReady()))
      one->wake();
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

void Post::beginStep() { step.fetch_add(1); }

// A step's calls by their numbers, and behind them those that have none.
Status Post::advance(const Description &d, Course *course, Turn *turn) {
  constexpr uint64_t behindAll = uint64_t(1) << 32;
  Turn next{step.load(), 0};
  if (course->last.step != next.step)
    course->unnumbered = 0;
  // Numbers begin with 1: what has not begun is in front of them.
  next.number = 1 + (d.number == CollectivePlan::unnumbered
                         ? behindAll + course->unnumbered++
                         : uint64_t(d.number));
  if (!(course->last < next))
    return Status::error(
        StatusCode::Internal, std::string(name(d.call.kind)) + " cannot start",
        opName(options, rank(), d.call.op),
        "in its step it comes behind one that is not before it: it is number " +
            std::to_string(d.number) + " of those with these ranks",
        "recompile the package");
  course->last = *turn = next;
  return Status();
}

Status Post::begin(const Description &d, CallOnWire *call) {
  poll();
  DIST_RETURN_IF_ERROR(statusOf(d.call));
  call->fetching.clear();
  call->sending.clear();
  call->call = d.call;
  call->background = d.what.background;
  call->patient = groups.isHost(rank());
  call->spinMicroseconds =
      call->background || call->patient ? 0 : options.spinMicroseconds;
  if (d.withHost && !call->patient)
    call->spinMicroseconds =
        std::min(call->spinMicroseconds, options.spinForHostMicroseconds);
  if (d.what.kind == CollectiveKind::Send ||
      d.what.kind == CollectiveKind::Recv) {
    auto &courses = d.what.kind == CollectiveKind::Send ? sends : recvs;
    int peer = d.channel[1];
    call->key = {true, d.what.tag, {}, 0};
    return advance(d, &courses[{peer, d.what.tag}], &call->key.turn);
  }
  Group &group = mine[d.groupIndex];
  call->key = {false, d.channel[1], {}, 0};
  DIST_RETURN_IF_ERROR(advance(d, &group.course, &call->key.turn));
  call->history = group.history;
  group.last = d.call;
  group.underWay = true;
  // What came before this rank did, or for one that it has left out.
  for (Peer &peer : peers)
    for (const Transport::Arrival &arrival : peer.arrived) {
      const MessageHeader &h = arrival.header;
      if (h.isSend || h.channel != call->key.channel ||
          call->key.turn < h.turn ||
          (h.turn == call->key.turn && readCall(h) == d.call))
        continue;
      failOnMismatch(d.call, arrival);
      return statusOf(d.call);
    }
  return Status();
}

void Post::end(const Description &d) {
  if (d.what.kind == CollectiveKind::Send ||
      d.what.kind == CollectiveKind::Recv)
    return;
  Group &group = mine[d.groupIndex];
  group.history = mix(group.history, d.call);
  group.underWay = false;
}

MessageHeader Post::makeHeader(const CallOnWire &call, uint32_t message) const {
  MessageHeader header{};
  header.generation = generation;
  header.type = MessageType::Data;
  header.isSend = call.key.isSend;
  header.channel = call.key.channel;
  header.turn = call.key.turn;
  header.message = message;
  header.kind = static_cast<uint8_t>(call.call.kind);
  header.op = call.call.op;
  header.betweenPrograms = call.call.betweenPrograms;
  header.algorithm = static_cast<uint8_t>(call.call.algorithm);
  header.count = call.call.count;
  header.digest = call.call.digest;
  header.history = call.history;
  return header;
}

void Post::send(CallOnWire &call, uint32_t message, int to, const void *data,
                int64_t bytes, Ticket *ticket) {
  ticket->peer = to;
  ticket->request.state = State::Pending;
  call.sending.push_back(ticket);
  ++sent.messages;
  sent.bytes += bytes;
  transport->send(to, makeHeader(call, message), data, bytes, &ticket->request);
}

Status Post::waitForKept(CallOnWire &call, const Kept &sent) {
  if (sent.isOver())
    return Status();
  for (const Ticket &ticket : sent.tickets)
    call.sending.push_back(&ticket);
  Status status = wait(call, [&] { return sent.isOver(); });
  call.sending.clear();
  return status;
}

void Post::sendKept(const CallOnWire &call, int to, const Slices &slices,
                    const std::shared_ptr<Kept> &message) {
  kept.push_back(message);
  const char *bytes = message->memory->data();
  for (int64_t i = 0; i < slices.count(); ++i) {
    Ticket &ticket = message->tickets[i];
    ticket.peer = to;
    ticket.request.state = State::Pending;
    int64_t size = slices.end(i) - slices.begin(i);
    ++sent.messages;
    sent.bytes += size;
    transport->send(to, makeHeader(call, i), bytes + slices.begin(i), size,
                    &ticket.request);
  }
  releaseKept();
}

bool Kept::isOver() const {
  for (const Ticket &ticket : tickets)
    if (ticket.request.state == State::Pending)
      return false;
  return true;
}

void Post::releaseKept() {
  auto over = [](const std::shared_ptr<Kept> &one) { return one->isOver(); };
  kept.erase(std::remove_if(kept.begin(), kept.end(), over), kept.end());
  notes.remove_if([](const Note &note) { return isOver(note.request); });
}

void Post::receive(CallOnWire &call, uint32_t message, int from, void *to,
                   int64_t bytes, Ticket *ticket) {
  ticket->peer = from;
  ticket->request.state = State::Pending;
  Expected expected{call.key, &call, to, bytes, ticket};
  expected.key.message = message;
  auto &arrived = peers[from].arrived;
  for (size_t i = 0; i < arrived.size(); ++i) {
    const MessageHeader &h = arrived[i].header;
    if (!(Key{h.isSend != 0, h.channel, h.turn, h.message} == expected.key))
      continue;
    Transport::Arrival arrival = arrived[i];
    arrived[i] = arrived.back();
    arrived.pop_back();
    meet(expected, arrival);
    return;
  }
  peers[from].expected.push_back(expected);
}

void Post::arrived(const Transport::Arrival &arrival) {
  const MessageHeader &h = arrival.header;
  if (arrival.from < 0 || arrival.from >= int(peers.size()) ||
      int32_t(h.generation - generation) < 0) {
    transport->drop(arrival);
    return;
  }
  if (h.generation != generation) {
    early.push_back(arrival);
    return;
  }
  if (h.type != MessageType::Data) {
    controls.emplace_back();
    Control &control = controls.back();
    control.arrival = arrival;
    control.bytes.resize(arrival.bytes);
    control.request.state = State::Pending;
    transport->fetch(arrival, control.bytes.data(), &control.request);
    return;
  }
  auto &expected = peers[arrival.from].expected;
  Key key{h.isSend != 0, h.channel, h.turn, h.message};
  for (size_t i = 0; i < expected.size(); ++i)
    if (expected[i].key == key) {
      Expected found = expected[i];
      expected[i] = expected.back();
      expected.pop_back();
      meet(found, arrival);
      return;
    }
  keep(arrival);
}

void Post::meet(const Expected &expected, const Transport::Arrival &arrival) {
  Call theirs = readCall(arrival.header);
  const Call &ours = expected.call->call;
  bool fits = int64_t(arrival.bytes) == expected.bytes;
  if (expected.key.isSend)
    fits &= theirs.digest == ours.digest && theirs.count == ours.count;
  else
    fits &= theirs == ours && arrival.header.history == expected.call->history;
  if (!fits) {
    failOnMismatch(ours, arrival);
    transport->drop(arrival);
    return;
  }
  progress.advance();
  expected.call->fetching.push_back(expected.ticket);
  transport->fetch(arrival, expected.to, &expected.ticket->request);
}

void Post::keep(const Transport::Arrival &arrival) {
  const MessageHeader &h = arrival.header;
  if (!h.isSend) {
    const std::vector<int> &numbers = groups.groupsOf(rank());
    size_t index =
        std::find(numbers.begin(), numbers.end(), h.channel) - numbers.begin();
    if (index == numbers.size()) {
      transport->drop(arrival);
      return;
    }
    const Group &group = mine[index];
    const Turn &here = group.course.last;
    bool isPast = h.turn < here || (h.turn == here && !group.underWay);
    bool isOther = h.turn == here && !(readCall(h) == group.last);
    if (isPast || isOther) {
      failOnMismatch(group.last, arrival);
      transport->drop(arrival);
      return;
    }
  }
  peers[arrival.from].arrived.push_back(arrival);
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

void Post::failOnMismatch(const Call &call, const Transport::Arrival &arrival) {
  Call theirs = readCall(arrival.header);
  std::string why;
  if (arrival.header.isSend)
    why = describeMismatchedSend(options, arrival.from, theirs,
                                 arrival.header.channel, call);
  else
    why = describeMismatch(options, rank(), call, arrival.from, theirs);
  uint64_t theirStep = arrival.header.turn.step, ourStep = step;
  if (theirStep != ourStep)
    why += ", in steps " + std::to_string(ourStep) + " and " +
           std::to_string(theirStep);
  else if (!arrival.header.isSend && theirs == call)
    why += ", after others before";
  fail(StatusCode::Internal, rank(), call.kind, call.op, why,
       "recompile the package");
}

void Post::fail(StatusCode code, int rank, CollectiveKind kind, int32_t op,
                const std::string &why, const std::string &todo) {
  if (aborted)
    return;
  failure = Status::error(code, std::string(name(kind)) + " failed",
                          opName(options, rank, op), why, todo);
  setAborted(generation, failure.message());
  tellAborted();
}

Status Post::statusOf(const Call &call) {
  if (!aborted)
    return Status();
  if (!failure.ok())
    return std::exchange(failure, Status());
  std::lock_guard<std::mutex> lock(reasonMutex);
  return Status::error(StatusCode::Unavailable,
                       std::string(name(call.kind)) + " was given up",
                       opName(options, rank(), call.op), reason);
}

void Post::setAborted(uint32_t of, const std::string &why) {
  std::lock_guard<std::mutex> lock(reasonMutex);
  if (aborted || of != generation)
    return;
  reason = why;
  aborted = true;
}

void Post::abort(uint32_t of, const std::string &why) {
  setAborted(of, why);
  transport->wake();
  if (inside.try_lock()) {
    if (aborted && !told)
      tellAborted();
    inside.unlock();
  }
}

void Post::tellAborted() {
  told = true;
  std::string text;
  {
    std::lock_guard<std::mutex> lock(reasonMutex);
    text = reason;
  }
  // It fits what networks send at once.
  text.resize(std::min<size_t>(text.size(), 2000));
  for (int to = 0; to < int(peers.size()); ++to)
    if (to != rank() && peers[to].lost.empty())
      sendControl(MessageType::Abort, to, text.data(), text.size());
}

void Post::lost(int rank, const std::string &why) {
  if (!peers[rank].lost.empty())
    return;
  peers[rank].lost = why.empty() ? "it is gone" : why;
  lostRanks.push_back(rank);
}

void Post::failOnLostRank(const CallOnWire &call) {
  auto waitsFor = [&](int rank) {
    if (peers[rank].isExpectedBy(call))
      return true;
    for (auto *tickets : {&call.fetching, &call.sending})
      for (const Ticket *ticket : *tickets)
        if (ticket->peer == rank && !ticket->isDone())
          return true;
    return false;
  };
  for (int lost : lostRanks)
    if (waitsFor(lost)) {
      fail(StatusCode::Unavailable, rank(), call.call.kind, call.call.op,
           rankName(options, lost) + " was lost: " + peers[lost].lost, "");
      return;
    }
}

void Post::giveUp(CallOnWire *call) {
  if (call && !aborted)
    return; // it did not begin
  auto isOfCall = [&](const Expected &one) {
    return !call || one.call == call;
  };
  for (Peer &peer : peers)
    peer.expected.erase(
        std::remove_if(peer.expected.begin(), peer.expected.end(), isOfCall),
        peer.expected.end());
  auto anyOf = [](const std::vector<const Ticket *> &tickets) {
    for (const Ticket *ticket : tickets)
      if (!isOver(ticket->request))
        return true;
    return false;
  };
  auto underWay = [&] {
    return (call && (anyOf(call->fetching) || anyOf(call->sending))) ||
           goesOn() || !controls.empty();
  };
  // The others' reasons to give up are on their way.
  constexpr std::chrono::milliseconds patience{100};
  auto until = transport->now() + patience;
  while (underWay() && transport->now() < until)
    if (!poll())
      transport->sleepUntil(
          std::min(until, transport->now() + std::chrono::milliseconds(10)));
  if (underWay())
    transport->cancelAll();
  controls.clear();
  releaseKept();
}

void Post::reset() {
  std::lock_guard<std::mutex> lock(inside);
  giveUp(nullptr);
  dropArrivals();
  for (Peer &peer : peers)
    peer.waits.clear();
  for (Group &group : mine)
    group = Group();
  sends.clear();
  recvs.clear();
  step = options.firstStep;
  failure = Status();
  {
    std::lock_guard<std::mutex> lock(reasonMutex);
    ++generation;
    reason.clear();
    aborted = false;
    told = false;
  }
  std::vector<Transport::Arrival> now;
  now.swap(early);
  for (const Transport::Arrival &arrival : now)
    arrived(arrival);
}

Traffic Post::traffic() {
  std::lock_guard<std::mutex> lock(inside);
  return sent;
}

} // namespace dist::message
