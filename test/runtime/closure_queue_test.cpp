//===- closure_queue_test.cpp - Closures of an app ------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/parameter_server/closure_queue.h"
#include "test/runtime/parameter_server_fixture.h"
#include <future>

namespace dist::ps {
namespace {

/// Gives back the work, and fails where it is "fail".
class EchoReplica : public CountingReplica {
public:
  Status beginWork(int64_t closure, const Buffer &given) override {
    work = given;
    return begin(closure);
  }
  Status compute(ReportBody *report, Buffer *result, bool *isPushed) override {
    std::string text(work.begin(), work.end());
    *isPushed = text == "push";
    if (hold)
      hold(text);
    if (text == "fail")
      return Status::error(StatusCode::InvalidInput, "it was to fail");
    report->loss = 1.5;
    *result = work;
    return Status();
  }
  Buffer work;
  std::function<void(const std::string &)> hold;
};

Buffer text(const std::string &of) { return Buffer(of.begin(), of.end()); }

struct ClosureQueueTest : testing::Test {
  explicit ClosureQueueTest(int workers = 2)
      : cluster(workers, 1), echoes(workers), results(workers) {}
  Cluster cluster;
  std::vector<EchoReplica> echoes;
  std::vector<Status> results;
  std::vector<std::thread> threads;
  std::unique_ptr<ClosureQueue> queue;
  std::atomic<bool> isHeld{false}, isFailureHeld{false};

  void startWorker(int index) {
    echoes[index].hold = [this](const std::string &work) {
      while ((work == "wait" && isHeld) || (work == "fail" && isFailureHeld))
        std::this_thread::yield();
    };
    threads.emplace_back([this, index] {
      Ending ending;
      Mail &mail = *cluster.mails[cluster.cast().worker(index)];
      results[index] =
          work(mail, echoes[index], {cluster.cast(), {}, {}}, &ending);
    });
  }
  void open(ClosureQueue::Options options = {}, bool hasServer = true) {
    if (hasServer)
      cluster.startServer(0);
    for (int i = 0; i < cluster.cast().workers; ++i)
      startWorker(i);
    queue = std::make_unique<ClosureQueue>(*cluster.coordinator,
                                           std::move(options));
  }
  void close() {
    isHeld = isFailureHeld = false;
    queue.reset();
    cluster.coordinator->end(Status());
    for (std::thread &thread : threads)
      thread.join();
    threads.clear();
  }
  void TearDown() override { close(); }

  std::shared_ptr<RemoteValue> schedule(const std::string &work,
                                        bool isStep = false) {
    std::shared_ptr<RemoteValue> value;
    Status status = queue->schedule(text(work), isStep, &value);
    EXPECT_TRUE(status.ok()) << status.message();
    return value;
  }
  static std::string fetch(RemoteValue &value) {
    const Completion *done = nullptr;
    Status status = value.fetch(&done);
    return status.ok() ? std::string(done->metrics.begin(), done->metrics.end())
                       : status.message();
  }
};

TEST_F(ClosureQueueTest, EachValueIsItsClosures) {
  open();
  std::vector<std::shared_ptr<RemoteValue>> values;
  for (int i = 0; i < 200; ++i)
    values.push_back(schedule("closure " + std::to_string(i)));
  ASSERT_TRUE(queue->join().ok());
  bool isDone = false;
  EXPECT_TRUE(queue->isDone(&isDone).ok());
  EXPECT_TRUE(isDone);
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(fetch(*values[i]), "closure " + std::to_string(i));
  EXPECT_TRUE(queue->takeSteps().empty());
}

TEST_F(ClosureQueueTest, SchedulingDoesNotWait) {
  open();
  isHeld = true;
  for (int i = 0; i < 5; ++i)
    schedule("wait");
  bool isDone = true;
  EXPECT_TRUE(queue->isDone(&isDone).ok());
  EXPECT_FALSE(isDone);
  isHeld = false;
  EXPECT_TRUE(queue->join().ok());
}

TEST_F(ClosureQueueTest, AFullQueueMakesItWait) {
  ClosureQueue::Options options;
  options.limit = 3;
  open(options);
  isHeld = true;
  std::atomic<int> scheduled{0};
  std::thread scheduler([&] {
    for (int i = 0; i < 4; ++i) {
      schedule("wait");
      ++scheduled;
    }
  });
  while (scheduled.load() < 3)
    std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(scheduled.load(), 3);
  isHeld = false;
  scheduler.join();
  EXPECT_EQ(scheduled.load(), 4);
  EXPECT_TRUE(queue->join().ok());
}

/// Closures end in their order.
struct OneWorkerQueueTest : ClosureQueueTest {
  OneWorkerQueueTest() : ClosureQueueTest(1) {}
};

TEST_F(OneWorkerQueueTest, TheFirstErrorIsToldOnceAndTheQueueGoesOn) {
  open();
  isHeld = true;
  auto underWay = schedule("wait");
  auto failed = schedule("fail");
  // Behind the one that fails; whether the worker has begun it or not.
  std::vector<std::shared_ptr<RemoteValue>> later;
  for (int i = 0; i < 50; ++i)
    later.push_back(schedule("wait"));
  isHeld = false;
  Status status = queue->join();
  EXPECT_EQ(status.code(), StatusCode::InvalidInput);
  EXPECT_NE(status.message().find("it was to fail"), std::string::npos);
  EXPECT_TRUE(queue->join().ok());
  EXPECT_EQ(fetch(*underWay), "wait");
  EXPECT_NE(fetch(*failed).find("it was to fail"), std::string::npos);
  const Completion *done = nullptr;
  status = later.back()->fetch(&done);
  EXPECT_EQ(status.code(), StatusCode::Cancelled);
  EXPECT_NE(status.message().find("an earlier one failed"), std::string::npos);
  EXPECT_EQ(fetch(*schedule("again")), "again");
  EXPECT_TRUE(queue->join().ok());
}

/// One is under way for as long as it likes: those behind the error have ended,
/// and nothing is begun that would put off its telling.
TEST_F(ClosureQueueTest, AnErrorIsToldToAProgramThatSchedulesOn) {
  open();
  isHeld = isFailureHeld = true;
  auto underWay = schedule("wait");
  auto failed = schedule("fail");
  std::vector<std::shared_ptr<RemoteValue>> later;
  for (int i = 0; i < 20; ++i)
    later.push_back(schedule("behind"));
  isFailureHeld = false;
  auto last = std::async(std::launch::async, [&] { return fetch(*later[19]); });
  auto first = std::async(std::launch::async, [&] { return fetch(*failed); });
  bool areSettled =
      last.wait_for(std::chrono::seconds(20)) == std::future_status::ready &&
      first.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  EXPECT_TRUE(areSettled);
  bool isDone = true;
  EXPECT_TRUE(queue->isDone(&isDone).ok());
  EXPECT_FALSE(isDone);
  Buffer state;
  EXPECT_EQ(queue->readState(0, &state).code(), StatusCode::InvalidArgument);
  std::atomic<bool> isScheduled{false};
  Status told;
  std::thread scheduler([&] {
    told = queue->schedule(text("more"), false, nullptr);
    isScheduled = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(isScheduled);
  isHeld = false;
  scheduler.join();
  EXPECT_EQ(told.code(), StatusCode::InvalidInput) << told.message();
  EXPECT_NE(last.get().find("an earlier one failed"), std::string::npos);
  EXPECT_NE(first.get().find("it was to fail"), std::string::npos);
  EXPECT_EQ(fetch(*underWay), "wait");
  EXPECT_TRUE(queue->join().ok());
  EXPECT_EQ(fetch(*schedule("again")), "again");
}

TEST_F(ClosureQueueTest, ScheduleAndDoneTellAnErrorToo) {
  open();
  fetch(*schedule("fail"));
  std::shared_ptr<RemoteValue> value;
  EXPECT_EQ(queue->schedule(text("a"), false, &value).code(),
            StatusCode::InvalidInput);
  EXPECT_EQ(value, nullptr);
  EXPECT_EQ(fetch(*schedule("b")), "b");
  fetch(*schedule("fail"));
  bool isDone = false;
  EXPECT_EQ(queue->isDone(&isDone).code(), StatusCode::InvalidInput);
  EXPECT_TRUE(isDone);
  EXPECT_TRUE(queue->isDone(&isDone).ok());
}

TEST_F(ClosureQueueTest, PushesCountAcrossAnError) {
  open();
  for (int i = 0; i < 10; ++i)
    schedule("push", true);
  ASSERT_TRUE(queue->join().ok());
  schedule("fail");
  EXPECT_FALSE(queue->join().ok());
  for (int i = 0; i < 10; ++i)
    schedule("push", true);
  ASSERT_TRUE(queue->join().ok());
  EXPECT_EQ(queue->takeSteps().size(), 20u);
  close();
  cluster.join();
  EXPECT_EQ(cluster.shards[0].numbers.number[1], 20);
}

TEST_F(ClosureQueueTest, StatesAreReadBetweenClosures) {
  open();
  Buffer state;
  ASSERT_TRUE(queue->readState(0, &state).ok());
  Numbers numbers = Numbers::of(state);
  numbers.number[1] = 40;
  ASSERT_TRUE(queue->writeState(0, numbers.bytes()).ok());
  isHeld = true;
  schedule("wait");
  Status status = queue->readState(0, &state);
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_NE(status.message().find("closures are under way"), std::string::npos);
  isHeld = false;
  schedule("push");
  ASSERT_TRUE(queue->join().ok());
  ASSERT_TRUE(queue->readState(0, &state).ok());
  EXPECT_EQ(Numbers::of(state).number[1], 41);
}

TEST_F(ClosureQueueTest, PreparesBeforeTheFirstClosureSinceAllWereDone) {
  int prepared = 0;
  ClosureQueue::Options options;
  options.prepare = [&] {
    ++prepared;
    Buffer state;
    return queue->readState(0, &state);
  };
  open(options);
  isHeld = true;
  for (int i = 0; i < 5; ++i)
    schedule("wait");
  EXPECT_EQ(prepared, 1);
  isHeld = false;
  ASSERT_TRUE(queue->join().ok());
  schedule("a");
  ASSERT_TRUE(queue->join().ok());
  EXPECT_EQ(prepared, 2);
}

/// As behind a state that was loaded.
TEST_F(ClosureQueueTest, NumbersGoOnFromWhereTheyAreSaidTo) {
  int64_t first = 0;
  ClosureQueue::Options options;
  options.first = [&](int64_t *out) {
    *out = first;
    return Status();
  };
  open(options);
  auto numberOf = [](RemoteValue &value) {
    const Completion *done = nullptr;
    Status status = value.fetch(&done);
    EXPECT_TRUE(status.ok()) << status.message();
    return done ? done->closure : -1;
  };
  auto next = [&] {
    int64_t number = numberOf(*schedule("push", true));
    EXPECT_TRUE(queue->join().ok());
    return number;
  };
  EXPECT_EQ(next(), 0);
  first = 40;
  EXPECT_EQ(next(), 40);
  first = 7; // an older one: they are not used again
  EXPECT_EQ(next(), 41);
  EXPECT_EQ(next(), 42);
  close();
  cluster.join();
  EXPECT_EQ(cluster.shards[0].numbers.number[1], 4);
}

TEST_F(ClosureQueueTest, ClosingCancelsAndValuesOutliveIt) {
  open();
  isHeld = true;
  schedule("wait");
  schedule("wait");
  auto never = schedule("never");
  std::thread waits([never] {
    EXPECT_NE(fetch(*never).find("its cluster was closed"), std::string::npos);
  });
  queue.reset();
  waits.join();
  EXPECT_NE(fetch(*never).find("its cluster was closed"), std::string::npos);
}

TEST_F(ClosureQueueTest, ALostServerIsToldByEveryCall) {
  std::atomic<bool> isLost{false};
  cluster.mails[0]->setWatch([&] {
    std::vector<std::pair<int, std::string>> lost;
    if (isLost)
      lost.emplace_back(cluster.cast().server(0), "it was killed");
    return lost;
  });
  open({}, /*hasServer=*/false);
  auto value = schedule("wait");
  isLost = true;
  for (int i = 0; i < 2; ++i) {
    Status status = queue->join();
    EXPECT_EQ(status.code(), StatusCode::Unavailable);
    EXPECT_NE(status.message().find("ps 0 is lost"), std::string::npos)
        << status.message();
  }
  EXPECT_NE(fetch(*value).find("ps 0 is lost"), std::string::npos);
  Buffer state;
  EXPECT_EQ(queue->readState(0, &state).code(), StatusCode::Unavailable);
  EXPECT_EQ(queue->schedule(text("a"), false, nullptr).code(),
            StatusCode::Unavailable);
}

} // namespace
} // namespace dist::ps
