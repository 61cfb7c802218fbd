//===- heartbeat.cpp - Processes that watch each other --------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/heartbeat/handshake.h"
#include "runtime/cluster/heartbeat/heartbeat_impl.h"
#include "runtime/cluster/security/keyed.h"
#include "runtime/core/text.h"
#include <algorithm>

namespace dist::cluster {

/// To reach the chief, and until it has answered: a member's time, and that of
/// who asks.
static constexpr int kJoinMilliseconds = 20000, kConnectMilliseconds = 5000;
static constexpr size_t kKeyBytes = 32;
/// What a process has not told of yet, at most.
static constexpr int kMostSteps = 4096;

//===----------------------------------------------------------------------===//
// Beginning and end
//===----------------------------------------------------------------------===//

static BeatSurroundings &around(const HeartbeatOptions &options) {
  return options.surroundings ? *options.surroundings
                              : systemBeatSurroundings();
}

/// "PORT KEY"
static Status readEndpoint(const std::string &host, const std::string &endpoint,
                           Address *address, std::string *key) {
  size_t blank = endpoint.find(' ');
  address->host = host;
  address->port = std::atoi(endpoint.c_str());
  if (blank == std::string::npos || address->port <= 0 || address->port > 65535)
    return Status::error(StatusCode::Unavailable,
                         "the store holds what no chief wrote", host,
                         "its endpoint", "start all of one version");
  *key = endpoint.substr(blank + 1);
  return Status();
}

Heartbeat::Heartbeat(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Heartbeat::~Heartbeat() = default;

Status Heartbeat::serve(const HeartbeatOptions &options,
                        const std::string &literal,
                        std::unique_ptr<Heartbeat> *out,
                        std::string *endpoint) {
  std::string bytes;
  DIST_RETURN_IF_ERROR(makeRandomBytes(kKeyBytes, &bytes));
  std::string key = toHex(bytes);
  std::unique_ptr<Door> door;
  int port = 0;
  DIST_RETURN_IF_ERROR(
      around(options).listen(literal, options.ports, &door, &port));
  auto impl = std::make_unique<Impl>(options, key);
  impl->start(std::move(door));
  *endpoint = std::to_string(port) + " " + key;
  out->reset(new Heartbeat(std::move(impl)));
  return Status();
}

Status Heartbeat::join(const HeartbeatOptions &options,
                       const std::string &chiefHost,
                       const std::string &endpoint,
                       std::unique_ptr<Heartbeat> *out) {
  Address address;
  std::string key;
  DIST_RETURN_IF_ERROR(readEndpoint(chiefHost, endpoint, &address, &key));
  // Before the chief may give this process up, which it hears of once its
  // thread looks.
  auto impl = std::make_unique<Impl>(options, key);
  std::unique_ptr<Connection> connection;
  Status status = connectToChief(address, key, options.self, kJoinMilliseconds,
                                 &connection, around(options));
  if (!status.ok())
    return Status::error(status.code(), "the chief cannot be reached",
                         options.members.front().text(), status.message(),
                         "look there why");
  impl->start(std::move(connection));
  out->reset(new Heartbeat(std::move(impl)));
  return Status();
}

Heartbeat::Impl::Impl(const HeartbeatOptions &options, std::string key)
    : options(options), names(options.members),
      around(cluster::around(options)), key(std::move(key)),
      space(around.space()), waiter(around.makeWaiter()),
      detector(int(options.members.size()),
               std::chrono::duration_cast<Clock::duration>(
                   std::chrono::duration<double>(options.patience))),
      peers(options.members.size()), monitor(options.members),
      lastHearing(around.now()) {}

void Heartbeat::Impl::start(std::unique_ptr<Door> newDoor) {
  door = std::move(newDoor);
  thread = around.start([this] { run(); });
}

void Heartbeat::Impl::start(std::unique_ptr<Connection> toChief) {
  toChief->trust();
  peers[0].connection = std::move(toChief);
  peers[0].isGreeted = true;
  thread = around.start([this] { run(); });
}

Heartbeat::Impl::~Impl() {
  waiter->end();
  thread.reset();
}

//===----------------------------------------------------------------------===//
// What the process's other threads say and ask
//===----------------------------------------------------------------------===//

void Heartbeat::attach(std::vector<Communicator *> ranks, OpName nameOp) {
  impl->attach(std::move(ranks), std::move(nameOp));
}
void Heartbeat::detach() { impl->detach(); }
void Heartbeat::done(const StepDone &step) { impl->done(step); }
void Heartbeat::begin(int64_t step) { impl->begin(step); }
void Heartbeat::admit(const MemberName &name) { impl->admit(name); }
Status Heartbeat::check() { return impl->check(); }
Status Heartbeat::explain(const Status &failed) {
  return impl->explain(failed);
}
std::vector<LostMember> Heartbeat::findLost(bool waits) {
  return impl->findLost(waits);
}
std::vector<std::string> Heartbeat::takeNotes() { return impl->takeNotes(); }
proto::ClusterStatus Heartbeat::status() { return impl->status(); }

void Heartbeat::Impl::attach(std::vector<Communicator *> newRanks,
                             OpName newNameOp) {
  std::lock_guard<std::mutex> lock(mutex);
  ranks = std::move(newRanks);
  nameOp = std::move(newNameOp);
  waited.clear();
  generations.clear();
  for (Communicator *rank : ranks) {
    waited.push_back(rank->progress.waitTime());
    generations.push_back(rank->generation());
  }
  if (!failure.empty())
    abortRanks();
}

void Heartbeat::Impl::abortRanks() {
  for (size_t i = 0; i < ranks.size(); ++i)
    ranks[i]->abort(generations[i], failure);
}

void Heartbeat::Impl::detach() {
  std::lock_guard<std::mutex> lock(mutex);
  ranks.clear();
  nameOp = nullptr;
}

void Heartbeat::Impl::done(const StepDone &step) {
  std::lock_guard<std::mutex> lock(mutex);
  place.set_epoch(step.epoch);
  place.set_step(step.step + 1);
  // Who has communicators, and is between two sessions, has no step to tell of;
  // where nobody has any, no step waits in one.
  int64_t least = options.outlivesMembers ? 0 : -1;
  for (size_t i = 0; i < ranks.size(); ++i) {
    int64_t now = ranks[i]->progress.waitTime();
    int64_t wait = now - std::exchange(waited[i], now);
    if (least < 0 || wait < least)
      least = wait;
  }
  if (least < 0 || place.steps_size() >= kMostSteps)
    return;
  proto::StepTimes &times = *place.add_steps();
  times.set_step(step.step);
  times.set_examples(step.examples);
  times.set_seconds(step.seconds);
  times.set_input_seconds(step.inputSeconds);
  times.set_wait_seconds(double(least) * 1e-9);
}

void Heartbeat::Impl::begin(int64_t step) {
  std::lock_guard<std::mutex> lock(mutex);
  place.set_step(step);
}

void Heartbeat::Impl::admit(const MemberName &name) {
  std::lock_guard<std::mutex> lock(mutex);
  admitted.push_back(name);
  monitor.add(name);
}

void Heartbeat::Impl::catchUp(std::unique_lock<std::mutex> &lock) {
  // The thread of the beats has slept as long as this one. Both may sleep again
  // while this one waits.
  const std::chrono::duration<double> fresh(options.patience / 2);
  while (options.patience > 0 && around.now() - lastHearing > fresh &&
         around.wait(lock, looked, around.now() + kLookInterval)) {
  }
}

Status Heartbeat::Impl::check() {
  std::unique_lock<std::mutex> lock(mutex);
  catchUp(lock);
  if (failure.empty())
    return Status();
  return Status::error(StatusCode::Unavailable,
                       isGivenUp
                           ? "this process is none of the cluster any more"
                           : "a process of the cluster is lost",
                       "", failure);
}

Status Heartbeat::Impl::explain(const Status &failed) {
  if (failed.code() != StatusCode::Unavailable)
    return failed;
  Status known = check();
  std::lock_guard<std::mutex> lock(mutex);
  return isGivenUp ? known : failed;
}

std::vector<LostMember> Heartbeat::Impl::findLost(bool waits) {
  std::unique_lock<std::mutex> lock(mutex);
  // The end of a connection is seen at once, silence after `patience`.
  const std::chrono::duration<double> longest(1 + 2 * options.patience);
  const Clock::time_point end =
      around.now() + std::chrono::duration_cast<Clock::duration>(longest);
  while (waits && lost.empty() && around.now() < end &&
         around.wait(lock, looked, end)) {
  }
  return lost;
}

std::vector<std::string> Heartbeat::Impl::takeNotes() {
  std::lock_guard<std::mutex> lock(mutex);
  return monitor.takeNotes();
}

proto::ClusterStatus Heartbeat::Impl::status() {
  std::lock_guard<std::mutex> lock(mutex);
  return monitor.status(around.now());
}

void Heartbeat::Impl::fail(int member, const std::string &why) {
  bool isSelf = member == options.self;
  std::lock_guard<std::mutex> lock(mutex);
  if (std::none_of(lost.begin(), lost.end(),
                   [&](const LostMember &one) { return one.member == member; }))
    lost.push_back({member, why});
  if (options.outlivesMembers && !isSelf)
    return;
  if (isGivenUp || (!failure.empty() && !isSelf))
    return;
  isGivenUp = isSelf;
  failure = why;
  abortRanks();
}

void Heartbeat::Impl::setState(int member, Monitor::State state) {
  std::lock_guard<std::mutex> lock(mutex);
  monitor.setState(member, state);
}

//===----------------------------------------------------------------------===//
// Asking from outside
//===----------------------------------------------------------------------===//

Status askForStatus(const std::string &chiefHost, const std::string &endpoint,
                    proto::ClusterStatus *out) {
  Address address;
  std::string key;
  DIST_RETURN_IF_ERROR(readEndpoint(chiefHost, endpoint, &address, &key));
  std::unique_ptr<Connection> connected;
  DIST_RETURN_IF_ERROR(
      connectToChief(address, key, kAsker, kConnectMilliseconds, &connected));
  Connection &connection = *connected;
  connection.trust();
  proto::Control request;
  request.mutable_status_request();
  bool isOpen = connection.send(request);
  BeatSurroundings &around = systemBeatSurroundings();
  std::unique_ptr<Waiter> waiter = around.makeWaiter();
  const auto end =
      around.now() + std::chrono::milliseconds(kConnectMilliseconds);
  std::vector<proto::Control> answers;
  while (isOpen && around.now() < end) {
    (void)waiter->wait({connection.awaited()}, nullptr, end);
    isOpen = connection.flush() && connection.receive(&answers);
    for (const proto::Control &answer : answers)
      if (answer.has_status()) {
        *out = answer.status();
        return Status();
      }
  }
  return Status::error(
      StatusCode::Unavailable, "the chief does not answer", address.text(),
      isOpen ? "it is busy, or was stopped" : "it has closed the connection");
}

} // namespace dist::cluster
