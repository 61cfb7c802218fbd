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
  Clock::time_point planned = around.now();
  nextBeat = planned;
  if (!isChief()) {
    sendHello(*peers[0].connection);
    // Until it has said where it runs nobody sees that it waits for a CPU.
    detector.add(0, planned + kStrangerTime);
  }
  while (wait(planned)) {
    const Clock::time_point begin = around.now();
    Clock::time_point now = begin;
    // What they say may be as late as this process.
    if (now - planned > kBeatInterval)
      for (Stranger &stranger : strangers)
        stranger.since = now;
    acceptAdmitted();
    acceptStrangers(now);
    hearStrangers(now);
    hearPeers(now);
    now = around.now();
    if (now < planned)
      continue;
    look(now, planned);
    {
      std::lock_guard<std::mutex> lock(mutex);
      lastHearing = begin;
    }
    looked.notify_all();
    planned = now + kLookInterval;
  }
  proto::Control leave;
  leave.mutable_leave();
  tellAll(leave);
  // A member that has the chief's answer, and has not been heard since.
  for (Peer &peer : peers)
    if (peer.connection && !peer.isGreeted) {
      tellLosses(*peer.connection);
      (void)peer.connection->send(leave);
    }
  auto isFlushed = [](const Peer &peer) {
    return !peer.connection || !peer.connection->flush() ||
           peer.connection->isFlushed();
  };
  for (Clock::time_point end = around.now() + kFarewell;
       around.now() < end &&
       !std::all_of(peers.begin(), peers.end(), isFlushed);)
    around.sleep(std::chrono::milliseconds(1));
}

bool Heartbeat::Impl::wait(Clock::time_point until) {
  std::vector<Waiter::Awaited> awaited;
  for (const Peer &peer : peers)
    if (peer.connection)
      awaited.push_back(peer.connection->awaited());
  for (const Stranger &stranger : strangers)
    awaited.push_back(stranger.connection->awaited());
  return waiter->wait(awaited, door.get(), until);
}

//===----------------------------------------------------------------------===//
// Who comes
//===----------------------------------------------------------------------===//

void Heartbeat::Impl::acceptAdmitted() {
  std::lock_guard<std::mutex> lock(mutex);
  for (MemberName &name : admitted) {
    names.push_back(std::move(name));
    peers.emplace_back();
    detector.grow();
  }
  admitted.clear();
}

void Heartbeat::Impl::acceptStrangers(Clock::time_point now) {
  for (int i = 0; i < kMostAccepts && door; ++i) {
    std::unique_ptr<Link> link = door->accept();
    if (!link)
      break;
    if (strangers.size() >= kMostStrangers)
      strangers.erase(strangers.begin() + choices() % strangers.size());
    Stranger stranger;
    stranger.connection = std::make_unique<Connection>(std::move(link));
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
    const bool isOpen = stranger.connection->receive(&messages) &&
                        stranger.connection->flush() &&
                        now - stranger.since < kStrangerTime;
    // What it said before its end counts.
    bool stays = true, entered = false;
    for (size_t k = 0; k < messages.size() && stays && !entered; ++k) {
      stays = meet(stranger, messages[k], now, &entered);
      // What a member has sent behind its first message.
      if (entered)
        for (int member = *stranger.member; ++k < messages.size();)
          hear(member, messages[k], now);
    }
    if (isOpen && stays && !entered)
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
    const int member = message.proof().member();
    stranger.member = member;
    (void)stranger.connection->send(proof); // its end is seen when it is read
    if (member <= 0 || member >= int(peers.size()) || peers[member].connection)
      return true;
    peers[member] = Peer();
    peers[member].connection = std::move(stranger.connection);
    peers[member].connection->trust();
    // As long as it has not said where it runs nobody sees that it waits for a
    // CPU.
    detector.add(member, now + kStrangerTime);
    *entered = true;
    return true;
  }
  // Other numbers than a member's that is to come say nothing more.
  if (stranger.member != kAsker || !message.has_status_request() ||
      stranger.isAnswered)
    return false;
  stranger.isAnswered = true;
  proto::Control answer;
  *answer.mutable_status() = status();
  return stranger.connection->send(answer);
}

void Heartbeat::Impl::sendHello(Connection &to) const {
  proto::Control message;
  proto::Hello &hello = *message.mutable_hello();
  hello.set_host(space);
  hello.set_process(around.process());
  hello.set_thread(around.thread());
  (void)to.send(message); // its end is seen when it is read
}

/// Those of before it came, which it was not there to hear of.
void Heartbeat::Impl::tellLosses(Connection &to) {
  for (LostMember &one : findLost(/*waits=*/false)) {
    proto::Control message;
    message.mutable_loss()->set_member(one.member);
    message.mutable_loss()->set_why(std::move(one.why));
    (void)to.send(message);
  }
}

//===----------------------------------------------------------------------===//
// What members say
//===----------------------------------------------------------------------===//

void Heartbeat::Impl::hearPeers(Clock::time_point now) {
  std::vector<int> ended = hearAll(now);
  if (!complaints.empty()) {
    // What others had said by then, too, in case this process slept meanwhile.
    for (int member : hearAll(now))
      ended.push_back(member);
    judgeComplaints();
  }
  for (int member : ended)
    if (detector.isWatched(member))
      lose(member, "has ended");
}

std::vector<int> Heartbeat::Impl::hearAll(Clock::time_point now) {
  std::vector<int> ended;
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
    ended.push_back(member);
  }
  return ended;
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
    if (!std::exchange(peer.isGreeted, true)) {
      sendHello(*peer.connection);
      tellLosses(*peer.connection);
    }
    return;
  case proto::Control::kBeat: {
    if (!detector.isWatched(member))
      return;
    std::lock_guard<std::mutex> lock(mutex);
    monitor.heard(member, message.beat(), now);
    return;
  }
  case proto::Control::kLoss:
    if (!isChief())
      hearOfLoss(message.loss());
    else if (detector.isWatched(member)) {
      detector.remove(member);
      complaints.push_back({member, message.loss()});
    }
    return;
  case proto::Control::kLeave:
    detector.remove(member);
    setState(member, proto::ClusterStatus::Member::HAS_LEFT);
    return;
  default:
    return; // of another version
  }
}

/// Members have lost the chief, this process. It may be the one that is cut
/// off, or was stopped: then no other one has it still. Some may have ended
/// without a word of it, since they heard of it from another one before they
/// saw it.
void Heartbeat::Impl::judgeComplaints() {
  bool hasOthers = false;
  for (int other = 0; other < int(peers.size()); ++other)
    hasOthers |= peers[other].connection && detector.isWatched(other);
  for (const auto &[member, loss] : std::exchange(complaints, {}))
    if (hasOthers)
      lose(member, "has lost " + options.members[0].task +
                       ": one of them was cut off, or stopped");
    else
      hearOfLoss(loss);
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

static std::string describe(ThreadState state) {
  return state == ThreadState::Stopped   ? ", it is stopped"
         : state == ThreadState::Blocked ? ", it waits for a disk or for memory"
                                         : "";
}

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
      monitor.addNote(names[finding.peer].text() +
                      " showed no sign of life for " + seconds +
                      ", and is back");
      break;
    }
    case Detector::Change::Lost:
      lose(finding.peer, std::string("shows no sign of life for ") + seconds +
                             describe(ask(finding.peer)));
      break;
    }
  }
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
    if (peer.connection && peer.isGreeted)
      (void)peer.connection->send(message); // its end is seen when it is read
}

ThreadState Heartbeat::Impl::ask(int member) const {
  const Peer &peer = peers[member];
  return peer.isNear ? around.stateOf(peer.process, peer.thread)
                     : ThreadState::Unknown;
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
    loss.set_why(names[member].text() + " " + how +
                 (place.empty() ? "" : "; it was last " + place));
  }
  tellAll(message);
  fail(member, loss.why());
}

} // namespace dist::cluster
