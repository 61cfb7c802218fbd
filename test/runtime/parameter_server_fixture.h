//===- parameter_server_fixture.h - A cluster of threads --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Coordinator, workers and servers over memory, with variables that count: a
// closure's gradient is its number, and an update adds it.
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_PARAMETER_SERVER_FIXTURE_H
#define TEST_RUNTIME_PARAMETER_SERVER_FIXTURE_H

#include "runtime/comm/message/memory/memory.h"
#include "runtime/parameter_server/coordinator.h"
#include "runtime/parameter_server/server.h"
#include "runtime/parameter_server/worker.h"
#include <atomic>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <thread>

namespace dist::ps {

constexpr size_t kLargest = 1 << 16;
/// More than what a transport copies at once.
constexpr int kNumbers = 300;

struct Numbers {
  int64_t number[kNumbers] = {};
  Buffer bytes() const {
    Buffer out(sizeof number);
    std::memcpy(out.data(), number, sizeof number);
    return out;
  }
  static Numbers of(const Buffer &bytes) {
    Numbers numbers;
    EXPECT_EQ(bytes.size(), sizeof numbers.number);
    std::memcpy(numbers.number, bytes.data(),
                std::min(bytes.size(), sizeof numbers.number));
    return numbers;
  }
};

/// number[0] is the sum of what was applied, number[1] how often.
class CountingShard : public Shard {
public:
  bool isPull(const Buffer &bytes) const override { return bytes.empty(); }
  bool isPush(const Buffer &bytes) const override {
    return bytes.size() == sizeof numbers.number;
  }
  size_t stateBytes() const override { return sizeof numbers.number; }
  Status readParameters(Buffer *out) override { return readState(out); }
  Status addRows(const Buffer &, Buffer *) override { return Status(); }
  Status apply(const Buffer &gradients, AppliedBody *out) override {
    int64_t closure = Numbers::of(gradients).number[0];
    if (closure == refused)
      return Status::error(StatusCode::InvalidInput, "no such gradient");
    numbers.number[0] += closure;
    ++numbers.number[1];
    order.push_back(closure);
    out->hasLearningRate = 1;
    out->learningRate = 0.5;
    return Status();
  }
  Status readState(Buffer *out) override {
    *out = numbers.bytes();
    return Status();
  }
  Status writeState(const Buffer &state) override {
    numbers = Numbers::of(state);
    return Status();
  }

  Numbers numbers;
  std::vector<int64_t> order;
  int64_t refused = -1;
};

/// What it sees of the servers, by closure: how many updates were in its
/// variables.
class CountingReplica : public Replica {
public:
  Status begin(int64_t closure) override {
    current = closure;
    return Status();
  }
  Status beginWork(int64_t closure, const Buffer &) override {
    return begin(closure);
  }
  Buffer pullOf(int) override { return {}; }
  size_t parameterBytes(int) const override { return sizeof(Numbers::number); }
  Status takeParameters(int server, const Buffer &bytes) override {
    latest[server] = Numbers::of(bytes).number[1];
    return Status();
  }
  Status compute(ReportBody *report, Buffer *metrics, bool *isPushed) override {
    const int64_t closure = current;
    seen[closure] = latest;
    if (closure == failing)
      return Status::error(StatusCode::InvalidInput, "a label is out of range");
    if (before)
      before(closure);
    report->loss = float(closure);
    report->examples = 2;
    metrics->assign(3, char(closure));
    *isPushed = closure != withheld && closure < kFirstUnpushed;
    return Status();
  }
  Status giveGradients(int server, Buffer *out) override {
    Numbers numbers;
    numbers.number[0] = current;
    *out = numbers.bytes();
    return Status();
  }

  std::map<int, int64_t> latest;
  std::map<int64_t, std::map<int, int64_t>> seen;
  int64_t current = 0, failing = -1, withheld = -1;
  std::function<void(int64_t)> before;
};

/// Ranks that can be admitted.
constexpr int kLater = 2;

/// Workers and servers that no thread was started for are the test's own.
class Cluster {
public:
  Cluster(int workers, int servers,
          std::optional<int64_t> staleness = std::nullopt)
      : shards(servers), replicas(workers) {
    options.cast.workers = workers;
    options.cast.servers = servers;
    options.staleness = staleness;
    options.note = [this](const std::string &line) { notes.push_back(line); };
    options.cast.names = {"chief 0"};
    for (int i = 0; i < workers; ++i)
      options.cast.names.push_back("worker " + std::to_string(i));
    for (int i = 0; i < servers; ++i)
      options.cast.names.push_back("ps " + std::to_string(i));
    for (auto &end : makeMemoryTransports(options.cast.ranks(), kLater))
      mails.push_back(std::make_unique<Mail>(std::move(end), kLargest));
    results.resize(mails.size());
    endings.resize(mails.size());
    threads.resize(mails.size());
    coordinator = std::make_unique<Coordinator>(*mails[0], options);
  }
  ~Cluster() {
    coordinator->end(Status());
    join();
  }
  void setPatience(Mail::Clock::duration patience) {
    options.patience = patience;
    coordinator = std::make_unique<Coordinator>(*mails[0], options);
  }
  /// From now on who is in `returning` takes a lost worker's place, as the rank
  /// that `ranks` has then.
  void takeBack() {
    options.returning = [this] { return returning; };
    options.admitted = [this](const Returning &who, int rank) {
      ranks[who.id] = rank;
    };
    options.released = [this](const std::string &id) {
      released.push_back(id);
    };
    coordinator = std::make_unique<Coordinator>(*mails[0], options);
  }
  /// For as long as no test lasts, or until this says that none does.
  void waitForReturns(std::function<bool()> noneReturns = nullptr) {
    options.returnTime = std::chrono::hours(24);
    options.noneReturns = std::move(noneReturns);
    takeBack();
  }
  /// Letters, by which nobody gets a closure.
  void listenUntil(const std::function<bool()> &isDone) {
    for (auto end = Transport::Clock::now() + std::chrono::minutes(1);
         !isDone() && Transport::Clock::now() < end;) {
      Status status = coordinator->listen(Transport::Clock::now() +
                                          std::chrono::milliseconds(1));
      EXPECT_TRUE(status.ok()) << status.message();
    }
    EXPECT_TRUE(isDone());
  }
  const Cast &cast() const { return options.cast; }

  void startServer(int index) {
    start(cast().server(index), [this, index](Mail &mail) {
      return serve(mail, shards[index], {cast(), stops, {}},
                   &endings[mail.rank()]);
    });
  }
  void startWorker(int index) {
    start(cast().worker(index), [this, index](Mail &mail) {
      return work(mail, replicas[index], {cast(), stops, {}},
                  &endings[mail.rank()]);
    });
  }
  void startReturned(int rank, int index) {
    start(rank, [this, rank, index](Mail &mail) {
      Cast later = cast();
      while (later.ranks() <= rank)
        later.admit(index);
      return work(mail, replicas[index], {later, stops, {}}, &endings[rank]);
    });
  }
  void startAll() {
    for (int i = 0; i < cast().servers; ++i)
      startServer(i);
    for (int i = 0; i < cast().workers; ++i)
      startWorker(i);
  }
  void schedule(int64_t first, int64_t end) {
    coordinator->begin(first);
    for (int64_t closure = first; closure < end; ++closure)
      coordinator->schedule(closure);
  }
  /// The next completion; the test fails where there is none.
  Completion next() {
    std::optional<Completion> out;
    Status status = tryNext(&out);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(out.has_value());
    return out.value_or(Completion());
  }
  Status tryNext(std::optional<Completion> *out) {
    return coordinator->next(Transport::Clock::now() + std::chrono::minutes(1),
                             out);
  }
  /// All that is left, by their order.
  std::vector<int64_t> finish() {
    std::vector<int64_t> order;
    while (!coordinator->isDone())
      order.push_back(next().closure);
    return order;
  }
  /// The next letter of a rank that has no thread.
  Letter take(int rank) {
    Letter letter;
    EXPECT_EQ(mails[rank]->wait(
                  Transport::Clock::now() + std::chrono::minutes(1), &letter),
              Mail::Event::Letter);
    return letter;
  }
  /// Moves the coordinator's letters, which no completion follows.
  void move() {
    std::optional<Completion> none;
    Status status = coordinator->next(
        Transport::Clock::now() + std::chrono::milliseconds(1), &none);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_FALSE(none.has_value());
  }
  void push(int worker, int server, int64_t closure, int64_t settled = 0) {
    Numbers numbers;
    numbers.number[0] = closure;
    Letter letter;
    letter.kind = Kind::Push;
    letter.closure = closure;
    letter.settled = settled;
    letter.bytes = numbers.bytes();
    mails[cast().worker(worker)]->send(cast().server(server),
                                       std::move(letter));
  }
  void join() {
    for (std::thread &thread : threads)
      if (thread.joinable())
        thread.join();
  }
  /// Ends a rank, as its process's end does.
  void kill(int rank) {
    if (threads[rank].joinable())
      threads[rank].join();
    mails[rank].reset();
  }

  std::vector<CountingShard> shards;
  std::vector<CountingReplica> replicas;
  std::vector<std::string> notes;
  std::function<bool()> stops;
  std::vector<Returning> returning;
  std::vector<std::string> released;
  std::map<std::string, int> ranks; // of those that were admitted
  CoordinatorOptions options;
  std::vector<std::unique_ptr<Mail>> mails;
  std::unique_ptr<Coordinator> coordinator;
  // By rank.
  std::vector<Status> results;
  std::vector<Ending> endings;

private:
  template <typename Run> void start(int rank, Run run) {
    threads[rank] = std::thread([this, rank, run] {
      results[rank] = run(*mails[rank]);
      // Its end is closed with its process.
      if (!results[rank].ok())
        mails[rank].reset();
    });
  }
  std::vector<std::thread> threads;
};

} // namespace dist::ps

#endif // TEST_RUNTIME_PARAMETER_SERVER_FIXTURE_H
