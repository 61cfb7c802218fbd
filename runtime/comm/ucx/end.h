//===- end.h - One rank's end of UCX ----------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_UCX_END_H
#define RUNTIME_COMM_UCX_END_H

#include "runtime/comm/message/transport.h"
#include "runtime/core/status.h"
#include <deque>
#include <functional>
#include <memory>
#include <poll.h>
#include <ucp/api/ucp.h>
#include <vector>

namespace dist::ucx {

/// UCX's state of one process, which its ends share.
class Context {
public:
  Context(ucp_context_h handle, std::function<void(const std::string &)> note)
      : handle(handle), note(std::move(note)) {}
  ~Context() { ucp_cleanup(handle); }
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;
  const ucp_context_h handle;
  const std::function<void(const std::string &)> note; // UcxOptions'
};

/// What an end tells the others of itself.
struct Address {
  std::string host; // machine and process namespace
  int64_t process = 0;
  /// What is sent there has to begin with.
  uint64_t token = 0;
  std::string worker;

  std::string toText() const;
  static bool fromText(const std::string &text, Address *out);
};

class End final : public Transport {
public:
  static Status create(std::shared_ptr<Context> context, int rank, int ranks,
                       std::unique_ptr<End> *out);
  ~End() override;

  Status address(Address *out) const;
  /// Before `connect`: it is another rank than it was made as, of so many.
  void become(int rank, int ranks);
  /// Before anything else: where all are, by rank. Those without an address are
  /// not reached from here.
  void connect(const std::vector<Address> &all);
  /// Greets all others, and those again who have greeted: behind that no
  /// connection is half made, which UCX 1.13 does not survive the end of a peer
  /// in. Call it until it is true, or one is lost.
  bool isConnected();
  /// The first that has not greeted back.
  int firstMissing() const;
  /// The first that was lost meanwhile, with the reason; -1: none.
  int firstLost(std::string *why) const;

  int rank() const override { return me; }
  int ranks() const override { return int(peers.size()); }
  Status admit(const std::string &address) override;
  void send(int to, const MessageHeader &header, const void *data, size_t bytes,
            Request *request) override;
  void fetch(const Arrival &arrival, void *to, Request *request) override;
  void drop(const Arrival &arrival) override;
  bool progress(Receiver &receiver) override;
  void sleepUntil(Clock::time_point time) override;
  void cancelAll() override;
  void wake() override;

private:
  struct Peer {
    End *end = nullptr;
    int rank = 0;
    std::string address; // the worker's
    uint64_t token = 0;
    ucp_ep_h endpoint = nullptr;
    int process = -1;      // its descriptor, on this host
    bool isAbsent = false; // it has no address here
    bool isComing = false; // it connects, and has not greeted twice yet
    bool isLost = false;
    std::string why;
    int greetingsSent = 0, greetings = 0;
  };
  struct WireHeader {
    uint64_t token; // of who it is for
    int64_t sender;
    MessageHeader header;
  };
  /// Something under way in UCX.
  struct Job {
    End *end = nullptr;
    WireHeader header; // UCX reads it until the message has left
    Request *request = nullptr;
    int peer = 0;
    bool underWay = false;
  };
  /// A message that arrived.
  struct Held {
    void *data = nullptr;
    bool isRendezvous = false; // the sender has it still
    bool isShown = false;      // UCX's, for as long as its callback runs
    bool isOurs = false;       // to be released, or in `copy`
    bool isOver = false;
    std::vector<char> copy;
  };

  End(std::shared_ptr<Context> context, int rank, int ranks);
  Job *takeJob(int peer, Request *request);
  void finish(Job *job, ucs_status_t status);
  /// Sends a message whose header the job has.
  void begin(Job *job, const Peer &peer, unsigned id, const void *data,
             size_t bytes);
  /// What UCX said when it was given a job.
  void begun(Job *job, ucs_status_ptr_t result);
  bool reach(Peer &peer);
  void greet(Peer &peer);
  /// Those who come, as often as they have greeted.
  void greetBack();
  /// Where a peer is; false: its process has ended.
  bool watch(Peer &peer, const Address &address);
  void close(Peer &peer);
  void lose(Peer &peer, const std::string &why);
  /// Waits for messages, `wake`, or the end of a process.
  void look(Clock::duration time);
  Held *takeHeld();
  void release(Held *held);

  static ucs_status_t onMessage(void *argument, const void *header,
                                size_t headerBytes, void *data, size_t bytes,
                                const ucp_am_recv_param_t *parameters);
  static ucs_status_t onGreeting(void *argument, const void *header,
                                 size_t headerBytes, void *data, size_t bytes,
                                 const ucp_am_recv_param_t *parameters);
  static void onSent(void *request, ucs_status_t status, void *job);
  static void onFetched(void *request, ucs_status_t status, size_t bytes,
                        void *job);
  static void onError(void *peer, ucp_ep_h endpoint, ucs_status_t status);

  std::shared_ptr<Context> context;
  int me;
  Address own;
  /// Random: told to the other ranks with the address. Who has found the port
  /// alone does not know it, and is not heard.
  uint64_t token = 0;
  ucp_worker_h worker = nullptr;
  int workerEvents = -1, wakeEvents = -1;
  std::deque<Peer> peers; // UCX has their places
  std::vector<int> coming;
  /// The worker, the waker, and processes, of the peers beside.
  std::vector<pollfd> polled;
  std::vector<int> polledPeers;
  std::deque<Job> jobs;
  std::vector<Job *> freeJobs;
  size_t jobsUnderWay = 0;
  std::deque<Held> messages;
  std::vector<Held *> freeMessages;
  Receiver *receiver = nullptr;  // while `progress` runs
  std::vector<Arrival> arrivals; // not shown yet
  std::vector<Arrival> shown;    // while `progress` does
  std::vector<int> losses;       // not told yet
  Request greeting;
  unsigned passes = 0;
};

} // namespace dist::ucx

#endif // RUNTIME_COMM_UCX_END_H
