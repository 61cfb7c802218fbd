//===- heartbeat_thread.cpp - The thread of the beats ---------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// It never waits for anything but its sockets, all at once: not for a peer that
// takes no more bytes, and not for a terminal.
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/heartbeat/handshake.h"
#include "runtime/cluster/heartbeat/heartbeat_impl.h"
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <pthread.h>
#include <unistd.h>

namespace dist::cluster {

/// Connections that have not said what they are: so many, for so long. One of
/// them goes where there is another one, whichever: a member that is sent away
/// by a flood comes again, and the oldest would always be the member.
static constexpr size_t kMostStrangers = 128;
static constexpr std::chrono::seconds kStrangerTime{5};
/// Taken in one round, so that most of those that were there can say something
/// in between; the others wait for the next.
static constexpr int kMostAccepts = 16;
/// How long a process that ends waits for its last words to leave.
static constexpr std::chrono::milliseconds kFarewell{100};

void Heartbeat::Impl::run() {
  pthread_setname_np(pthread_self(), "heartbeat");
  Clock::time_point planned = Clock::now();
  nextBeat = planned;
  {
    std::lock_guard<std::mutex> lock(mutex);
    lastLook = planned;
  }
  if (!isChief()) {
    sendHello(*peers[0].connection);
    detector.add(0, planned);
  }
  while (!isStopping) {
    wait(planned);
    Clock::time_point now = Clock::now();
    acceptStrangers(now);
    hearStrangers(now);
    hearPeers(now);
    now = Clock::now();
    if (now < planned)
      continue;
    look(now, planned);
    planned = now + kLookInterval;
  }
  proto::Control leave;
  leave.mutable_leave();
  tellAll(leave);
  auto isFlushed = [](const Peer &peer) {
    return !peer.connection || !peer.connection->flush() ||
           peer.connection->isFlushed();
  };
  for (Clock::time_point end = Clock::now() + kFarewell;
       Clock::now() < end &&
       !std::all_of(peers.begin(), peers.end(), isFlushed);)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void Heartbeat::Impl::wait(Clock::time_point until) {
  std::vector<pollfd> polled{{wakeEvents.get(), POLLIN, 0}};
  if (listener.get() >= 0)
    polled.push_back({listener.get(), POLLIN, 0});
  for (const Peer &peer : peers)
    if (peer.connection)
      polled.push_back(peer.connection->polled());
  for (const Stranger &stranger : strangers)
    polled.push_back(stranger.connection->polled());
  auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::max(until - Clock::now(), Clock::duration::zero()));
  timespec time{0, long(left.count())}; // less than a second
  (void)ppoll(polled.data(), polled.size(), &time, nullptr);
}

//===----------------------------------------------------------------------===//
// Who comes
//===----------------------------------------------------------------------===//

void Heartbeat::Impl::acceptStrangers(Clock::time_point now) {
  for (int i = 0; i < kMostAccepts && listener.get() >= 0; ++i) {
    Socket socket = listener.accept();
    if (socket.get() < 0)
      break;
    if (strangers.size() >= kMostStrangers)
      strangers.erase(strangers.begin() + choices() % strangers.size());
    Stranger stranger;
    stranger.connection = std::make_unique<Connection>(std::move(socket));
    stranger.since = now;
    proto::Control message;
    if (makeChallenge(&stranger.nonce, &message).ok() &&
        stranger.connection->send(message))
      strangers.push_back(std::move(stranger));
  }
}

void Heartbeat::Impl::hearStrangers(Clock::time_point now) {
  for (size_t i = 0; i < strangers.size();) {
    Stranger &stranger = strangers[i];
    std::vector<proto::Control> messages;
    bool stays = stranger.connection->receive(&messages) &&
                 stranger.connection->flush() &&
                 now - stranger.since < kStrangerTime;
    bool entered = false;
    for (size_t k = 0; k < messages.size() && stays && !entered; ++k) {
      stays = meet(stranger, messages[k], now, &entered);
      // What a member has sent behind its first message.
      if (entered)
        for (int member = *stranger.member; ++k < messages.size();)
          hear(member, messages[k], now);
    }
    if (stays && !entered)
      ++i;
    else
      strangers.erase(strangers.begin() + i);
  }
}

bool Heartbeat::Impl::meet(Stranger &stranger, const proto::Control &message,
                           Clock::time_point now, bool *entered) {
  if (!stranger.member) {
    proto::Control proof;
    if (!message.has_proof() ||
        !answerProof(key, stranger.nonce, message.proof(), &proof))
      return false;
    stranger.member = message.proof().member();
    return stranger.connection->send(proof);
  }
  int member = *stranger.member;
  if (member == kAsker) {
    if (!message.has_status_request() || stranger.isAnswered)
      return false;
    stranger.isAnswered = true;
    proto::Control answer;
    *answer.mutable_status() = status();
    return stranger.connection->send(answer);
  }
  if (!message.has_hello() || member <= 0 || member >= int(peers.size()) ||
      peers[member].connection)
    return false;
  Peer &peer = peers[member];
  peer.connection = std::move(stranger.connection);
  peer.connection->trust();
  sendHello(*peer.connection);
  hear(member, message, now);
  detector.add(member, now);
  *entered = true;
  return true;
}

void Heartbeat::Impl::sendHello(Connection &to) const {
  proto::Control message;
  proto::Hello &hello = *message.mutable_hello();
  hello.set_host(space);
  hello.set_process(getpid());
  hello.set_thread(gettid());
  (void)to.send(message); // its end is seen when it is read
}

//===----------------------------------------------------------------------===//
// What members say
//===----------------------------------------------------------------------===//

void Heartbeat::Impl::hearPeers(Clock::time_point now) {
  for (int member = 0; member < int(peers.size()); ++member) {
    if (!peers[member].connection)
      continue;
    std::vector<proto::Control> messages;
    Connection &connection = *peers[member].connection;
    bool isOpen = connection.receive(&messages) && connection.flush();
    for (const proto::Control &message : messages)
      hear(member, message, now);
    if (isOpen)
      continue;
    peers[member].connection.reset();
    if (detector.isWatched(member))
      lose(member, "has ended");
  }
}

void Heartbeat::Impl::hear(int member, const proto::Control &message,
                           Clock::time_point now) {
  Peer &peer = peers[member];
  detector.heard(member, now);
  switch (message.kind_case()) {
  case proto::Control::kHello:
    peer.process = message.hello().process();
    peer.thread = message.hello().thread();
    peer.isNear = message.hello().host() == space;
    return;
  case proto::Control::kBeat: {
    if (!detector.isWatched(member))
      return;
    std::lock_guard<std::mutex> lock(mutex);
    monitor.heard(member, message.beat(), now);
    return;
  }
  case proto::Control::kLoss:
    hearOfLoss(message.loss());
    return;
  case proto::Control::kLeave:
    detector.remove(member);
    setState(member, proto::ClusterStatus::Member::HAS_LEFT);
    return;
  default:
    return; // of another version
  }
}

void Heartbeat::Impl::hearOfLoss(const proto::Loss &loss) {
  bool isSelf = loss.member() == options.self;
  fail(loss.member(), isSelf
                          ? "the others have given it up, since " + loss.why() +
                                "; it was stopped, or cut off from them"
                          : loss.why());
}

//===----------------------------------------------------------------------===//
// Beats
//===----------------------------------------------------------------------===//

void Heartbeat::Impl::look(Clock::time_point now, Clock::time_point planned) {
  if (now >= nextBeat) {
    sendBeat(now);
    nextBeat = now + kBeatInterval - kLookInterval / 2;
  }
  for (const Detector::Finding &finding :
       detector.look(now, planned, [&](int member) { return ask(member); })) {
    char seconds[64];
    std::snprintf(seconds, sizeof seconds, "%.2g s",
                  std::chrono::duration<double>(finding.silence).count());
    switch (finding.change) {
    case Detector::Change::Suspected:
      setState(finding.peer, proto::ClusterStatus::Member::SILENT);
      break;
    case Detector::Change::IsBack: {
      std::lock_guard<std::mutex> lock(mutex);
      monitor.setState(finding.peer, proto::ClusterStatus::Member::WORKS);
      monitor.addNote(options.members[finding.peer].text() +
                      " showed no sign of life for " + seconds +
                      ", and is back");
      break;
    }
    case Detector::Change::Lost:
      lose(finding.peer,
           std::string("shows no sign of life for ") + seconds +
               (ask(finding.peer) == ThreadState::Stopped ? ", it is stopped"
                                                          : ""));
      break;
    }
  }
  {
    std::lock_guard<std::mutex> lock(mutex);
    lastLook = Clock::now();
    ++looks;
  }
  looked.notify_all();
}

void Heartbeat::Impl::sendBeat(Clock::time_point now) {
  proto::Control message;
  proto::Beat &beat = *message.mutable_beat();
  {
    std::lock_guard<std::mutex> lock(mutex);
    place.clear_ranks();
    for (Communicator *rank : ranks) {
      proto::RankPlace &one = *place.add_ranks();
      one.set_rank(rank->rank());
      if (int32_t op = rank->progress.op(); op != Progress::noOp)
        one.set_op(op);
    }
    beat = place;
    place.clear_steps();
    monitor.heard(options.self, beat, now);
  }
  // The chief's times of its steps are for itself.
  if (isChief())
    beat.clear_steps();
  tellAll(message);
}

void Heartbeat::Impl::tellAll(const proto::Control &message) {
  for (Peer &peer : peers)
    if (peer.connection)
      (void)peer.connection->send(message); // its end is seen when it is read
}

ThreadState Heartbeat::Impl::ask(int member) const {
  const Peer &peer = peers[member];
  if (!peer.isNear)
    return ThreadState::Unknown;
  std::ifstream file("/proc/" + std::to_string(peer.process) + "/task/" +
                     std::to_string(peer.thread) + "/stat");
  std::string line;
  std::getline(file, line);
  // Behind the name, which may hold anything.
  size_t name = line.rfind(") ");
  switch (name == std::string::npos ? ' ' : line[name + 2]) {
  case 'R':
    return ThreadState::Runnable;
  case 'T':
  case 't':
    return ThreadState::Stopped;
  case 'S':
  case 'D':
    return ThreadState::Sleeps;
  default:
    return ThreadState::Unknown;
  }
}

void Heartbeat::Impl::lose(int member, const std::string &how) {
  detector.remove(member);
  proto::Control message;
  proto::Loss &loss = *message.mutable_loss();
  loss.set_member(member);
  {
    std::lock_guard<std::mutex> lock(mutex);
    monitor.setState(member, proto::ClusterStatus::Member::LOST);
    std::string place = monitor.lastPlaceOf(member, nameOp);
    loss.set_why(options.members[member].text() + " " + how +
                 (place.empty() ? "" : "; it was last " + place));
  }
  tellAll(message);
  fail(member, loss.why());
}

} // namespace dist::cluster
