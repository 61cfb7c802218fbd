//===- end.cpp - One rank's end of UCX ------------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/ucx/end.h"
#include "runtime/comm/ucx/ports.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dist::ucx {

namespace {
using Clock = Transport::Clock;

constexpr unsigned messageId = 1, greetingId = 2;
constexpr int allGreetings = 2;
/// More than UCX sends in a fifo's element: what is larger has to find its way
/// once, too, with the peer's help.
constexpr char greetingText[512] = {};
constexpr char processHasEnded[] = "its process has ended";
/// How long an end that closes waits for what it has sent to leave.
constexpr std::chrono::seconds closingTime{1};
/// How often one that does not sleep looks at its peers' processes, in passes.
constexpr unsigned passesPerLook = 4096;

Status refuse(const std::string &what, ucs_status_t status) {
  return Status::error(StatusCode::Unavailable, what, "",
                       ucs_status_string(status));
}

void closeDescriptor(int descriptor) {
  if (descriptor >= 0)
    ::close(descriptor);
}
} // namespace

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

std::string Address::toText() const {
  std::string text = host + "\n" + std::to_string(process) + "\n" +
                     std::to_string(token) + "\n";
  return text + worker;
}

bool Address::fromText(const std::string &text, Address *out) {
  size_t first = text.find('\n');
  size_t second =
      first == std::string::npos ? first : text.find('\n', first + 1);
  size_t third =
      second == std::string::npos ? second : text.find('\n', second + 1);
  if (third == std::string::npos || third + 1 == text.size())
    return false;
  out->host = text.substr(0, first);
  out->process = std::atoll(text.c_str() + first + 1);
  out->token = std::strtoull(text.c_str() + second + 1, nullptr, 10);
  out->worker = text.substr(third + 1);
  return true;
}

//===----------------------------------------------------------------------===//
// Opening and closing
//===----------------------------------------------------------------------===//

End::End(std::shared_ptr<Context> context, int rank, int ranks)
    : context(std::move(context)) {
  become(rank, ranks);
}

void End::become(int rank, int ranks) {
  me = rank;
  peers.resize(ranks);
  for (int i = 0; i < ranks; ++i) {
    peers[i].end = this;
    peers[i].rank = i;
  }
}

Status End::create(std::shared_ptr<Context> context, int rank, int ranks,
                   std::unique_ptr<End> *out) {
  std::unique_ptr<End> end(new End(std::move(context), rank, ranks));
  if (getrandom(&end->token, sizeof end->token, 0) !=
      ssize_t(sizeof end->token))
    return Status::error(StatusCode::Unavailable,
                         "the system has no random numbers", "",
                         std::strerror(errno));
  ucp_worker_params_t parameters{};
  parameters.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  parameters.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  DIST_RETURN_IF_ERROR(makeWorker(*end->context, parameters, &end->worker));
  ucs_status_t status = ucp_worker_get_efd(end->worker, &end->workerEvents);
  end->wakeEvents = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (status != UCS_OK || end->wakeEvents < 0)
    return refuse("cannot wait for the network", status);
  ucp_am_handler_param_t handler{};
  handler.field_mask =
      UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
      UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = messageId;
  handler.flags = UCP_AM_FLAG_WHOLE_MSG;
  handler.cb = onMessage;
  handler.arg = end.get();
  status = ucp_worker_set_am_recv_handler(end->worker, &handler);
  handler.id = greetingId;
  handler.cb = onGreeting;
  if (status == UCS_OK)
    status = ucp_worker_set_am_recv_handler(end->worker, &handler);
  if (status != UCS_OK)
    return refuse("cannot receive from the network", status);
  *out = std::move(end);
  return Status();
}

End::~End() {
  if (worker) {
    // What was sent leaves, if it can; no request is told twice.
    ucp_request_param_t none{};
    ucs_status_ptr_t flush = ucp_worker_flush_nbx(worker, &none);
    if (UCS_PTR_IS_PTR(flush)) {
      Clock::time_point until = Clock::now() + closingTime;
      while (ucp_request_check_status(flush) == UCS_INPROGRESS &&
             Clock::now() < until)
        ucp_worker_progress(worker);
      ucp_request_free(flush);
    }
    cancelAll();
    for (const Arrival &arrival : arrivals)
      drop(arrival);
    for (Peer &peer : peers)
      close(peer);
    ucp_worker_destroy(worker);
  }
  closeDescriptor(wakeEvents);
  for (Peer &peer : peers)
    closeDescriptor(peer.process);
}

Status End::address(Address *out) const {
  ucp_address_t *address = nullptr;
  size_t bytes = 0;
  ucs_status_t status = ucp_worker_get_address(worker, &address, &bytes);
  if (status != UCS_OK)
    return refuse("the network has no address for this rank", status);
  out->token = token;
  out->worker.assign(reinterpret_cast<char *>(address), bytes);
  ucp_worker_release_address(worker, address);
  return Status();
}

void End::connect(const std::vector<Address> &all) {
  polled = {{workerEvents, POLLIN, 0}, {wakeEvents, POLLIN, 0}};
  own = all[me];
  for (Peer &peer : peers) {
    const Address &address = all[peer.rank];
    peer.isAbsent = peer.isLost = address.worker.empty();
    if (!peer.isAbsent && !watch(peer, address))
      lose(peer, processHasEnded);
  }
}

bool End::watch(Peer &peer, const Address &address) {
  peer.address = address.worker;
  peer.token = address.token;
  if (address.host != own.host || address.process == own.process)
    return true;
  // Without one, its connections' end is what tells of its own.
  peer.process = syscall(SYS_pidfd_open, pid_t(address.process), 0);
  if (peer.process < 0)
    return errno != ESRCH;
  polled.push_back({peer.process, POLLIN, 0});
  polledPeers.push_back(peer.rank);
  return true;
}

Status End::admit(const std::string &text) {
  Address address;
  if (!Address::fromText(text, &address))
    return Status::error(StatusCode::Unavailable, "a rank has no address",
                         std::to_string(ranks()));
  Peer &peer = peers.emplace_back();
  peer.end = this;
  peer.rank = ranks() - 1;
  peer.isComing = true;
  coming.push_back(peer.rank);
  if (!watch(peer, address))
    lose(peer, processHasEnded);
  return Status();
}

bool End::isConnected() {
  bool all = true;
  for (Peer &peer : peers) {
    if (peer.rank == me || peer.isAbsent)
      continue;
    // The second greeting says that the first of the other's has come.
    if (peer.greetingsSent <= peer.greetings)
      greet(peer);
    all &= peer.greetings == allGreetings;
  }
  ucp_worker_progress(worker);
  look(Clock::duration::zero());
  return all && jobsUnderWay == 0;
}

void End::greet(Peer &peer) {
  if (peer.greetingsSent == allGreetings || !reach(peer))
    return;
  ++peer.greetingsSent;
  Job *job = takeJob(peer.rank, &greeting);
  job->header = {peer.token, me, {}};
  begin(job, peer, greetingId, greetingText, sizeof greetingText);
}

void End::greetBack() {
  for (int rank : coming) {
    Peer &peer = peers[rank];
    while (peer.greetingsSent < peer.greetings && !peer.isLost)
      greet(peer);
    peer.isComing = peer.greetingsSent < allGreetings && !peer.isLost;
  }
  coming.erase(
      std::remove_if(coming.begin(), coming.end(),
                     [this](int rank) { return !peers[rank].isComing; }),
      coming.end());
}

int End::firstLost(std::string *why) const {
  for (const Peer &peer : peers)
    if (peer.isLost && !peer.isAbsent) {
      *why = peer.why;
      return peer.rank;
    }
  return -1;
}

int End::firstMissing() const {
  for (const Peer &peer : peers)
    if (peer.rank != me && !peer.isAbsent && peer.greetings < allGreetings)
      return peer.rank;
  return me;
}

ucs_status_t End::onGreeting(void *argument, const void *header,
                             size_t headerBytes, void *, size_t,
                             const ucp_am_recv_param_t *) {
  End &end = *static_cast<End *>(argument);
  WireHeader wire;
  if (headerBytes != sizeof wire)
    return UCS_OK; // none of ours
  std::memcpy(&wire, header, sizeof wire);
  if (wire.token != end.token || wire.sender < 0 || wire.sender >= end.ranks())
    return UCS_OK;
  if (Peer &peer = end.peers[wire.sender]; peer.greetings < allGreetings)
    ++peer.greetings;
  return UCS_OK;
}

bool End::reach(Peer &peer) {
  if (peer.isLost || peer.endpoint)
    return !peer.isLost;
  ucp_ep_params_t parameters{};
  parameters.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                          UCP_EP_PARAM_FIELD_ERR_HANDLER |
                          UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
  parameters.address =
      reinterpret_cast<const ucp_address_t *>(peer.address.data());
  parameters.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  parameters.err_handler.cb = onError;
  parameters.err_handler.arg = &peer;
  ucs_status_t status = ucp_ep_create(worker, &parameters, &peer.endpoint);
  if (status == UCS_OK)
    return true;
  peer.endpoint = nullptr;
  lose(peer, std::string("it cannot be reached: ") + ucs_status_string(status));
  return false;
}

void End::close(Peer &peer) {
  if (!peer.endpoint)
    return;
  ucp_request_param_t parameters{};
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  parameters.flags = UCP_EP_CLOSE_FLAG_FORCE;
  ucs_status_ptr_t closing = ucp_ep_close_nbx(peer.endpoint, &parameters);
  peer.endpoint = nullptr;
  if (!UCS_PTR_IS_PTR(closing))
    return;
  while (ucp_request_check_status(closing) == UCS_INPROGRESS)
    ucp_worker_progress(worker);
  ucp_request_free(closing);
}

void End::cancelAll() {
  std::vector<bool> busy(peers.size());
  for (const Job &job : jobs)
    if (job.underWay)
      busy[job.peer] = true;
  for (Peer &peer : peers)
    if (busy[peer.rank]) {
      close(peer);
      // Making a connection again can meet the old one's end.
      lose(peer, "its connection was given up");
    }
  Clock::time_point until = Clock::now() + closingTime;
  while (jobsUnderWay && Clock::now() < until)
    ucp_worker_progress(worker);
  if (!jobsUnderWay)
    return;
  // Whatever UCX still means to do, it does not without its worker.
  for (Peer &peer : peers) {
    close(peer);
    peer.isLost = true;
  }
  for (Job &job : jobs)
    if (job.underWay)
      job.request->state = Request::Failed;
  ucp_worker_destroy(worker);
  worker = nullptr;
  polled[0].fd = -1;
}

//===----------------------------------------------------------------------===//
// Sending
//===----------------------------------------------------------------------===//

End::Job *End::takeJob(int peer, Request *request) {
  if (freeJobs.empty()) {
    jobs.emplace_back();
    jobs.back().end = this;
    freeJobs.push_back(&jobs.back());
  }
  Job *job = freeJobs.back();
  freeJobs.pop_back();
  job->peer = peer;
  job->request = request;
  job->underWay = true;
  ++jobsUnderWay;
  request->state = Request::Pending;
  return job;
}

void End::finish(Job *job, ucs_status_t status) {
  job->request->state = status == UCS_OK ? Request::Done : Request::Failed;
  job->underWay = false;
  --jobsUnderWay;
  freeJobs.push_back(job);
}

void End::begun(Job *job, ucs_status_ptr_t result) {
  if (!result)
    finish(job, UCS_OK);
  else if (UCS_PTR_IS_ERR(result))
    finish(job, UCS_PTR_STATUS(result));
}

void End::begin(Job *job, const Peer &peer, unsigned id, const void *data,
                size_t bytes) {
  ucp_request_param_t parameters{};
  parameters.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  parameters.cb.send = onSent;
  parameters.user_data = job;
  begun(job, ucp_am_send_nbx(peer.endpoint, id, &job->header,
                             sizeof job->header, data, bytes, &parameters));
}

void End::onSent(void *request, ucs_status_t status, void *job) {
  Job *own = static_cast<Job *>(job);
  own->end->finish(own, status);
  ucp_request_free(request);
}

void End::onFetched(void *request, ucs_status_t status, size_t, void *job) {
  onSent(request, status, job);
}

void End::send(int to, const MessageHeader &header, const void *data,
               size_t bytes, Request *request) {
  Peer &peer = peers[to];
  if (!worker || peer.isComing || !reach(peer)) {
    request->state = Request::Failed;
    return;
  }
  Job *job = takeJob(to, request);
  job->header = {peer.token, me, header};
  begin(job, peer, messageId, data, bytes);
}

//===----------------------------------------------------------------------===//
// Receiving
//===----------------------------------------------------------------------===//

End::Held *End::takeHeld() {
  if (freeMessages.empty()) {
    messages.emplace_back();
    freeMessages.push_back(&messages.back());
  }
  Held *held = freeMessages.back();
  freeMessages.pop_back();
  held->isRendezvous = held->isShown = held->isOurs = held->isOver = false;
  return held;
}

void End::release(Held *held) {
  if (held->isShown) { // its callback goes on with it
    held->isOver = true;
    return;
  }
  if (held->isOurs && held->copy.empty() && worker)
    ucp_am_data_release(worker, held->data);
  held->copy.clear();
  freeMessages.push_back(held);
}

ucs_status_t End::onMessage(void *argument, const void *header,
                            size_t headerBytes, void *data, size_t bytes,
                            const ucp_am_recv_param_t *parameters) {
  End &end = *static_cast<End *>(argument);
  WireHeader wire;
  if (headerBytes != sizeof wire)
    return UCS_OK; // none of ours
  std::memcpy(&wire, header, sizeof wire);
  if (wire.token != end.token || wire.sender < 0 || wire.sender >= end.ranks())
    return UCS_OK;
  Held *held = end.takeHeld();
  Arrival arrival{int(wire.sender), wire.header, bytes, held};
  held->data = data;
  held->isRendezvous = parameters->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV;
  if (held->isRendezvous) {
    end.arrivals.push_back(arrival);
    return UCS_INPROGRESS;
  }
  if (end.receiver) {
    held->isShown = true;
    end.receiver->arrived(arrival);
    held->isShown = false;
    if (held->isOver) {
      end.freeMessages.push_back(held);
      return UCS_OK;
    }
  } else {
    end.arrivals.push_back(arrival);
  }
  held->isOurs = true;
  if (parameters->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA)
    return UCS_INPROGRESS;
  held->copy.assign(static_cast<char *>(data),
                    static_cast<char *>(data) + bytes);
  held->isOurs = !held->copy.empty();
  held->data = held->copy.data();
  return UCS_OK;
}

void End::fetch(const Arrival &arrival, void *to, Request *request) {
  Held *held = static_cast<Held *>(arrival.handle);
  if (!held->isRendezvous) {
    if (arrival.bytes)
      std::memcpy(to, held->data, arrival.bytes);
    request->state = Request::Done;
    release(held);
    return;
  }
  void *data = held->data;
  release(held);
  if (!worker) {
    request->state = Request::Failed;
    return;
  }
  Job *job = takeJob(arrival.from, request);
  ucp_request_param_t parameters{};
  parameters.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  parameters.cb.recv_am = onFetched;
  parameters.user_data = job;
  begun(job,
        ucp_am_recv_data_nbx(worker, data, to, arrival.bytes, &parameters));
}

void End::drop(const Arrival &arrival) {
  Held *held = static_cast<Held *>(arrival.handle);
  if (held->isRendezvous && worker)
    ucp_am_data_release(worker, held->data);
  release(held);
}

bool End::progress(Receiver &to) {
  if (!worker)
    return false;
  constexpr int mostAtOnce = 64;
  receiver = &to;
  int moved = 0;
  while (moved < mostAtOnce && ucp_worker_progress(worker))
    ++moved;
  receiver = nullptr;
  if (!coming.empty())
    greetBack();
  if (++passes % passesPerLook == 0)
    look(Clock::duration::zero());
  while (!arrivals.empty()) {
    shown.swap(arrivals);
    for (const Arrival &arrival : shown)
      to.arrived(arrival);
    shown.clear();
    ++moved;
  }
  // What a rank had sent before it was lost has come by now.
  if (moved || losses.empty())
    return moved;
  std::vector<int> told;
  told.swap(losses);
  for (int rank : told) {
    close(peers[rank]);
    to.lost(rank, peers[rank].why);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

void End::lose(Peer &peer, const std::string &why) {
  if (peer.isLost)
    return;
  peer.isLost = true;
  peer.why = why;
  losses.push_back(peer.rank);
}

void End::onError(void *argument, ucp_ep_h, ucs_status_t status) {
  Peer &peer = *static_cast<Peer *>(argument);
  peer.end->lose(peer, std::string("its connection ended: ") +
                           ucs_status_string(status));
}

void End::look(Clock::duration time) {
  time = std::clamp<Clock::duration>(time, Clock::duration::zero(),
                                     std::chrono::hours(1));
  auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
  timespec timeout{time_t(ns / 1000000000), long(ns % 1000000000)};
  if (ppoll(polled.data(), polled.size(), &timeout, nullptr) <= 0)
    return;
  if (polled[1].revents) {
    uint64_t count;
    [[maybe_unused]] ssize_t bytes = read(wakeEvents, &count, sizeof count);
  }
  constexpr size_t first = 2;
  for (size_t i = first; i < polled.size(); ++i)
    if (polled[i].revents) {
      lose(peers[polledPeers[i - first]], processHasEnded);
      polled[i].fd = -1;
    }
}

void End::sleepUntil(Clock::time_point time) {
  if (!losses.empty() || !arrivals.empty())
    return;
  if (worker && ucp_worker_arm(worker) != UCS_OK)
    return; // there is something
  look(time - Clock::now());
}

void End::wake() {
  uint64_t one = 1;
  [[maybe_unused]] ssize_t bytes = write(wakeEvents, &one, sizeof one);
}

} // namespace dist::ucx
