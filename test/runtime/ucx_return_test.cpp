//===- ucx_return_test.cpp - An end that comes later, by UCX --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each end is a thread's of its own here.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/ucx/ucx.h"
#include <atomic>
#include <condition_variable>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <thread>

namespace dist {
namespace {

constexpr std::chrono::minutes kLimit{1};
/// Longer than what leaves its sender at once.
constexpr size_t kBytes = 1 << 20;

/// What an end has heard.
class Hearer : public Transport::Receiver {
public:
  explicit Hearer(Transport &end) : end(end) {}
  void arrived(const Transport::Arrival &arrival) override {
    received[arrival.from].resize(arrival.bytes);
    end.fetch(arrival, received[arrival.from].data(), &request);
  }
  void lost(int rank, const std::string &why) override { losses[rank] = why; }
  bool moveUntil(const std::function<bool()> &isDone) {
    for (auto last = Transport::Clock::now() + kLimit; !isDone();) {
      if (Transport::Clock::now() > last)
        return false;
      if (!end.progress(*this))
        end.sleepUntil(Transport::Clock::now() + std::chrono::milliseconds(5));
    }
    return true;
  }
  bool hears(int from) {
    return moveUntil([&] {
      return received.count(from) > 0 &&
             request.state == Transport::Request::Done;
    });
  }

  Transport &end;
  Transport::Request request;
  std::map<int, std::vector<char>> received;
  std::map<int, std::string> losses;
};

struct UcxReturn : testing::Test {
  static void SetUpTestSuite() { prepareUcx(); }

  UcxOptions options() {
    UcxOptions made;
    made.ranks = 2;
    made.sharedMemory = false;
    return made;
  }
  void SetUp() override {
    UcxOptions both = options();
    both.ranksHere = {0, 1};
    both.exchange = [this](const std::vector<std::string> &own,
                           std::vector<std::string> *all) {
      addresses = *all = own;
      return Status();
    };
    std::vector<std::unique_ptr<Transport>> made;
    Status status = makeUcxTransports(both, &made);
    ASSERT_TRUE(status.ok()) << status.message();
    for (int rank : {0, 1})
      ends[rank] = std::move(made[rank]);
  }
  /// A third one comes, which reaches these; the others admit it first.
  void comeBack(std::vector<int> reached, const std::function<void()> &then) {
    std::atomic<bool> isDone{false};
    std::thread comes([&] {
      Status status = makeUcxReturn(
          options(),
          [&](const std::string &own, int *rank,
              std::vector<std::string> *all) {
            *rank = 2;
            all->assign(2, "");
            for (int one : reached)
              (*all)[one] = addresses[one];
            for (int one : reached)
              admitting[one] = own;
            std::unique_lock<std::mutex> lock(mutex);
            isTold = true;
            changed.notify_all();
            changed.wait(lock, [&] { return isAdmitted; });
            return Status();
          },
          &ends[2]);
      EXPECT_TRUE(status.ok()) << status.message();
      isDone = true;
    });
    {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [&] { return isTold; });
      for (auto &[rank, address] : admitting) {
        EXPECT_TRUE(ends[rank]->admit(address).ok());
        EXPECT_EQ(ends[rank]->ranks(), 3);
      }
      if (then)
        then();
      isAdmitted = true;
      changed.notify_all();
    }
    std::vector<std::thread> others;
    for (int rank : reached)
      others.emplace_back([&, rank] {
        EXPECT_TRUE(
            Hearer(*ends[rank]).moveUntil([&] { return bool(isDone); }));
      });
    for (std::thread &other : others)
      other.join();
    comes.join();
  }
  void send(int from, int to, char what) {
    std::vector<char> bytes(kBytes, what);
    Transport::Request sent;
    MessageHeader header{};
    ends[from]->send(to, header, bytes.data(), bytes.size(), &sent);
    std::thread other([&] {
      Hearer hearer(*ends[to]);
      EXPECT_TRUE(hearer.hears(from));
      EXPECT_EQ(hearer.received[from], bytes);
    });
    EXPECT_TRUE(Hearer(*ends[from]).moveUntil([&] {
      return sent.state == Transport::Request::Done;
    }));
    other.join();
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> addresses;
  std::map<int, std::string> admitting;
  bool isTold = false, isAdmitted = false;
  std::unique_ptr<Transport> ends[3];
};

TEST_F(UcxReturn, WhoComesLaterIsReachedBothWays) {
  comeBack({0, 1}, nullptr);
  ASSERT_TRUE(ends[2]);
  EXPECT_EQ(ends[2]->rank(), 2);
  for (int other : {0, 1}) {
    send(2, other, 'a');
    send(other, 2, 'b');
  }
  send(0, 1, 'c'); // as before
  ends[2].reset();
  Hearer hearer(*ends[0]);
  EXPECT_TRUE(hearer.moveUntil([&] { return hearer.losses.count(2) > 0; }));
}

TEST_F(UcxReturn, NothingReachesItBeforeItHasConnected) {
  comeBack({0}, [&] {
    Transport::Request sent;
    MessageHeader header{};
    ends[0]->send(2, header, "x", 1, &sent);
    EXPECT_EQ(sent.state, Transport::Request::Failed);
  });
  ASSERT_TRUE(ends[2]);
  send(0, 2, 'a');
  // The one that it has no address of.
  Transport::Request sent;
  MessageHeader header{};
  ends[2]->send(1, header, "x", 1, &sent);
  EXPECT_EQ(sent.state, Transport::Request::Failed);
}

TEST_F(UcxReturn, WhatIsNoAddressIsRefused) {
  EXPECT_FALSE(ends[0]->admit("nowhere").ok());
  EXPECT_EQ(ends[0]->ranks(), 2);
}

} // namespace
} // namespace dist
