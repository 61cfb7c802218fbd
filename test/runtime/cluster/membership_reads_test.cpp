//===- membership_reads_test.cpp - How often members read -------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each member is a thread of its own here. No time passes, and a store tells of
// a put before that returns: members read for nothing but what has changed, and
// the bounds hold for each order in which their threads may run.
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/etcd/client.h"
#include "runtime/cluster/etcd/state.h"
#include "runtime/cluster/membership/changes.h"
#include "runtime/cluster/membership/membership.h"
#include "test/runtime/cluster/cluster_fixture.h"
#include "test/runtime/cluster/system_surroundings.h"
#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <list>
#include <mutex>
#include <numeric>

using namespace dist;
using namespace dist::cluster;
using namespace etcdserverpb;

namespace {

/// What all members' clients share.
class Hub {
public:
  struct Watcher {
    KeyRange range;
    int64_t next = 0;
    std::function<void(const WatchResponse &)> onResponse;
  };

  template <typename Use> StoreResult with(Use use) {
    std::lock_guard<std::mutex> guard(mutex);
    if (isGone)
      return {StoreCode::Unavailable, "it is gone"};
    StoreResult result = use(state);
    for (Watcher &one : watchers) {
      WatchResponse told;
      for (mvccpb::Event &event :
           state.eventsFrom(one.next, one.range, false, SIZE_MAX, &one.next))
        *told.add_events() = std::move(event);
      if (told.events_size() > 0)
        one.onResponse(told);
    }
    return result;
  }

  std::mutex mutex;
  EtcdState state{[](const JournalRecord &) { return StoreResult(); }};
  std::list<Watcher> watchers;
  int reads = 0;
  bool hasWatches = true, isGone = false;
  bool goesWithWatch = false; // when one is asked for
};

class HubClient final : public Store {
public:
  explicit HubClient(Hub &hub) : hub(hub) {}
  void waitForConnection(int64_t) override {}
  StoreResult range(const RangeRequest &request,
                    RangeResponse *response) override {
    return hub.with([&](EtcdState &state) {
      ++hub.reads;
      return state.range(request, response);
    });
  }
  StoreResult put(const PutRequest &request, PutResponse *response) override {
    return hub.with(
        [&](EtcdState &state) { return state.put(request, response); });
  }
  StoreResult deleteRange(const DeleteRangeRequest &request,
                          DeleteRangeResponse *response) override {
    return hub.with(
        [&](EtcdState &state) { return state.deleteRange(request, response); });
  }
  StoreResult txn(const TxnRequest &request, TxnResponse *response) override {
    return hub.with(
        [&](EtcdState &state) { return state.txn(request, response); });
  }
  StoreResult leaseGrant(const LeaseGrantRequest &request,
                         LeaseGrantResponse *response) override {
    return hub.with([&](EtcdState &state) {
      return state.leaseGrant(request, /*now=*/0, response);
    });
  }
  StoreResult leaseRevoke(const LeaseRevokeRequest &request,
                          LeaseRevokeResponse *response) override {
    return hub.with(
        [&](EtcdState &state) { return state.leaseRevoke(request, response); });
  }
  StoreResult leaseKeepAlive(int64_t id,
                             LeaseKeepAliveResponse *response) override {
    LeaseKeepAliveRequest request;
    request.set_id(id);
    return hub.with([&](EtcdState &state) {
      state.leaseKeepAlive(request, /*now=*/0, response);
      return StoreResult();
    });
  }
  std::unique_ptr<Watch>
  watch(const WatchCreateRequest &request,
        std::function<void(const WatchResponse &)> onResponse,
        std::function<void(const StoreResult &)> onEnd) override {
    std::lock_guard<std::mutex> guard(hub.mutex);
    hub.isGone |= hub.goesWithWatch;
    if (!hub.hasWatches) {
      onEnd({StoreCode::Unavailable, "no connection"});
      return std::make_unique<Watch>();
    }
    WatchResponse created;
    created.set_created(true);
    onResponse(created);
    hub.watchers.push_back({{request.key(), request.range_end()},
                            hub.state.revision() + 1,
                            std::move(onResponse)});
    return std::make_unique<Watching>(hub, --hub.watchers.end());
  }

private:
  struct Watching final : Watch {
    Watching(Hub &hub, std::list<Hub::Watcher>::iterator watcher)
        : hub(hub), watcher(watcher) {}
    ~Watching() override {
      std::lock_guard<std::mutex> guard(hub.mutex);
      hub.watchers.erase(watcher);
    }
    Hub &hub;
    const std::list<Hub::Watcher>::iterator watcher;
  };

  Hub &hub;
};

class Stillness final : public SystemSurroundings {
public:
  Clock::time_point now() override {
    return Clock::time_point() + ++looks * step;
  }
  std::unique_ptr<Repeated> repeat(milliseconds,
                                   std::function<void()>) override {
    return nullptr; // nothing is
  }
  Status serve(const EtcdServerOptions &, std::shared_ptr<void> *) override {
    return Status();
  }
  std::unique_ptr<Store> connect(const EtcdClientOptions &) override {
    return std::make_unique<HubClient>(hub);
  }

  Hub hub;
  /// What passes each time that someone looks.
  std::chrono::seconds step{0};

private:
  std::atomic<int> looks{0};
};

class Meeting {
public:
  Meeting(int count, bool isShared) : isShared(isShared), members(count) {
    for (int i = 0; i < count; ++i)
      spec.of(Job::Worker).push_back({"127.0.0.1", 1 + i});
  }

  Status join(int i) {
    MembershipOptions options;
    options.spec = spec;
    options.spec.self = Task{Job::Worker, i};
    options.isElastic = true;
    if (isShared)
      options.store.addresses = {{"127.0.0.1", 2379}};
    options.store.isCoordinator = isShared;
    options.surroundings = &around;
    options.note = [this](const std::string &line) {
      std::lock_guard<std::mutex> guard(around.hub.mutex);
      notes.push_back(line);
    };
    return Membership::join(options, &members[i]);
  }
  Status exchange(int i, const std::string &what) {
    std::vector<std::vector<std::string>> heard;
    DIST_RETURN_IF_ERROR(members[i]->exchange(what, {what}, &heard));
    EXPECT_EQ(heard.size(), members.size());
    return Status();
  }
  Status regroup(int i) {
    RegroupOptions options;
    options.lost = [] { return std::vector<int>(); };
    return members[i]->regroup(options);
  }
  /// How often all have read, who do this.
  int readsOf(const std::function<Status(int)> &what) {
    std::vector<int> all(members.size());
    std::iota(all.begin(), all.end(), 0);
    const int before = around.hub.reads;
    atOnce(all, [&](int i) {
      // One after the other, so that those before hear of each.
      std::this_thread::sleep_for(std::chrono::milliseconds(i));
      return what(i);
    });
    return around.hub.reads - before;
  }

  const bool isShared;
  Stillness around;
  ClusterSpec spec;
  std::vector<std::string> notes;
  std::vector<std::unique_ptr<Membership>> members;
};

} // namespace

class MembershipReads : public testing::TestWithParam<std::tuple<int, bool>> {};

// Whoever waits looks once, and again when all have come that are waited for:
// twelve reads, with those of an epoch and of what the others have put. In a
// shared store it looks for the run besides.
TEST_P(MembershipReads, AreAsManyOfAMemberHoweverManyThereAre) {
  const auto [count, isShared] = GetParam();
  Meeting meeting(count, isShared);
  EXPECT_LE(meeting.readsOf([&](int i) { return meeting.join(i); }),
            (isShared ? 24 : 12) * count);
  EXPECT_LE(meeting.readsOf([&](int i) {
    return meeting.members[i]->shareFacts({"program", {}, {}});
  }),
            12 * count);
  EXPECT_LE(meeting.readsOf([&](int i) { return meeting.exchange(i, "test"); }),
            12 * count);
  // They say that they have begun, and from then on what they have read.
  EXPECT_LE(meeting.readsOf([&](int i) {
    meeting.members[i]->endStart();
    DIST_RETURN_IF_ERROR(meeting.exchange(i, "stop"));
    return meeting.exchange(i, "stop again");
  }),
            24 * count);
  // In a shared store they ask by the clock, too: for whose turn it is.
  if (!isShared)
    EXPECT_LE(meeting.readsOf([&](int i) { return meeting.regroup(i); }),
              12 * count);
  EXPECT_TRUE(meeting.notes.empty()) << meeting.notes.front();
}

INSTANTIATE_TEST_SUITE_P(Counts, MembershipReads,
                         testing::Combine(testing::Values(2, 8, 32, 64),
                                          testing::Bool()));

namespace {

void put(Hub &hub, const std::string &key) {
  PutRequest request;
  request.set_key(key);
  PutResponse response;
  EXPECT_TRUE(HubClient(hub).put(request, &response).ok());
}

bool hasNews(StoreChanges &changes, const Awaited &awaited) {
  return changes.await(std::chrono::milliseconds(0), awaited);
}

} // namespace

TEST(StoreChanges, TellWhenAllHaveComeThatAreAwaited) {
  Hub hub;
  HubClient client(hub);
  StoreChanges changes;
  RangeRequest keys;
  keys.set_key("/a/");
  keys.set_range_end("/a0");
  changes.follow(client, keys);
  const Awaited two{"/a/in/", {"/a/in/1", "/a/in/2"}}, none{"/a/in/", {}};
  // What was put before is told by nobody.
  EXPECT_TRUE(hasNews(changes, two));
  EXPECT_FALSE(hasNews(changes, two));
  put(hub, "/a/in/1");
  put(hub, "/a/in/3");
  put(hub, "/b/1");
  EXPECT_FALSE(hasNews(changes, two));
  put(hub, "/a/in/2");
  EXPECT_FALSE(hasNews(changes, none));
  EXPECT_TRUE(hasNews(changes, two));
  EXPECT_FALSE(hasNews(changes, {}));
  // Anything, where nothing is awaited, and what is elsewhere.
  put(hub, "/a/in/4");
  EXPECT_TRUE(hasNews(changes, {}));
  put(hub, "/a/out");
  EXPECT_TRUE(hasNews(changes, none));
  put(hub, "/a/out");
  changes.forget();
  EXPECT_FALSE(hasNews(changes, {}));
  put(hub, "/a/out");
  EXPECT_FALSE(hasNews(changes, {"", {}, "/a/o"}));
  changes.forget();
  // Who leaves.
  DeleteRangeRequest left;
  left.set_key("/a/in/1");
  DeleteRangeResponse response;
  EXPECT_TRUE(client.deleteRange(left, &response).ok());
  EXPECT_TRUE(hasNews(changes, none));
}

// Its end is what there is to tell, and not that it has no watches.
TEST(StoreChanges, AreNotMissedInAStoreThatIsGone) {
  Meeting meeting(2, /*isShared=*/false);
  meeting.around.hub.hasWatches = false;
  meeting.around.hub.goesWithWatch = true;
  Status status = meeting.join(0);
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_THAT(status.message(), testing::HasSubstr("it is gone"));
  EXPECT_TRUE(meeting.notes.empty()) << meeting.notes.front();
}

// Nor that this process was slow: nobody has begun without it.
TEST(StoreChanges, OfWhoIsSlowAtTheStartAreTheChiefs) {
  Meeting meeting(2, /*isShared=*/false);
  meeting.around.step = std::chrono::seconds(1);
  meeting.around.hub.goesWithWatch = true;
  EXPECT_THAT(meeting.join(1).message(),
              testing::HasSubstr("the cluster has no chief"));
}
