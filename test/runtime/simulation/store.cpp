//===- store.cpp - A simulated machine with a store -----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/simulation/store.h"
#include <algorithm>

namespace dist::simulation {

using namespace cluster;
using namespace etcdserverpb;

StoreMachine::StoreMachine(Simulator &simulator, int owner, Disk *disk)
    : owner(owner), watch(simulator), simulator(simulator), disk(disk) {}

Time StoreMachine::nextTurn() const {
  return owner < 0 ? frozenUntil : simulator.frozenUntil(owner);
}

int64_t StoreMachine::milliseconds() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             simulator.now().time_since_epoch())
      .count();
}

bool StoreMachine::start() {
  written.clear();
  isRefused = false;
  state = std::make_unique<EtcdState>(
      [this](const JournalRecord &record) { return keep(record); });
  std::vector<std::string> restored;
  if (disk) {
    uint64_t cutBytes = 0;
    Status status = Journal::open(
        disk->open(), "journal", JournalSync::EachRecord,
        [&](const JournalRecord &record) {
          restored.push_back(record.SerializeAsString());
          StoreResult result = state->restore(record, milliseconds());
          return result.ok()
                     ? Status()
                     : Status::error(StatusCode::InvalidInput, result.message);
        },
        &journal, &cutBytes);
    if (!status.ok() && !disk->isOff())
      simulator.fail("the store does not start again: " + status.message());
    if (status.ok())
      checkRestored(restored);
    if (!status.ok()) {
      state.reset();
      return false;
    }
  }
  StoreResult result = acknowledge(state->beginEpoch());
  if (!result.ok())
    state.reset();
  return result.ok();
}

void StoreMachine::checkRestored(const std::vector<std::string> &restored) {
  std::vector<std::string> expected = acknowledged;
  const bool isLonger = restored.size() == expected.size() + 1;
  if (isLonger && !doubtful.empty())
    expected.push_back(doubtful);
  if (restored != expected)
    simulator.fail("after a crash the store has " +
                   std::to_string(restored.size()) + " records, and not the " +
                   std::to_string(acknowledged.size()) +
                   " that it has acknowledged");
  if (isLonger && !restored.empty()) {
    JournalRecord record;
    (void)record.ParseFromString(restored.back());
    watch.see(doubtfulCaller, record);
  }
  acknowledged = restored;
  doubtful.clear();
}

StoreResult StoreMachine::keep(const JournalRecord &record) {
  std::string bytes = record.SerializeAsString();
  if (journal)
    if (Status status = journal->append(record); !status.ok()) {
      isRefused = true;
      if (disk->isOff() && doubtful.empty()) {
        doubtful = bytes;
        doubtfulCaller = caller;
      }
      return {StoreCode::Unavailable, status.message()};
    }
  watch.see(caller, record);
  written.push_back(std::move(bytes));
  return {};
}

StoreResult StoreMachine::acknowledge(const StoreResult &result) {
  if (result.ok() && isRefused)
    simulator.fail("the store acknowledges what it has not kept");
  acknowledged.insert(acknowledged.end(), written.begin(), written.end());
  written.clear();
  return result;
}

void StoreMachine::expire() {
  isRefused = false;
  caller = -1;
  if (isUp())
    (void)acknowledge(state->expire(milliseconds()));
  isRefused = false;
}

//===----------------------------------------------------------------------===//
// Connections
//===----------------------------------------------------------------------===//

namespace {

/// The way of calls to a store and back. It outlasts who calls.
struct Route : std::enable_shared_from_this<Route> {
  Route(Simulator &simulator, const NetworkFaults &faults,
        std::function<std::shared_ptr<StoreMachine>()> find, Duration timeout)
      : simulator(simulator), faults(faults), find(std::move(find)),
        timeout(timeout) {}

  /// A call under way; who has made it may be gone.
  template <typename Response> struct Pending {
    std::function<StoreResult(StoreMachine &, int, Response *)> use;
    Response response;
    StoreResult result;
    bool isDone = false;
    int caller = 0;
  };

  template <typename Response>
  StoreResult
  call(Response *response,
       std::function<StoreResult(StoreMachine &, int, Response *)> use) {
    StoreResult gone(StoreCode::Unavailable, "the connection has ended");
    if (simulator.isGhost())
      return gone;
    auto pending = std::make_shared<Pending<Response>>();
    pending->use = std::move(use);
    pending->caller = simulator.running();
    const Time end = simulator.now() + timeout;
    simulator.at(
        simulator.now() + delay(),
        [self = shared_from_this(), pending] { self->arrive(pending); });
    while (!pending->isDone && simulator.now() < end)
      simulator.sleepUntil(end);
    if (simulator.isGhost())
      return gone;
    if (!pending->isDone)
      return {StoreCode::DeadlineExceeded, "no answer in time"};
    if (pending->result.ok())
      *response = pending->response;
    return pending->result;
  }

  template <typename Response>
  void arrive(std::shared_ptr<Pending<Response>> pending) {
    StoreResult gone(StoreCode::Unavailable, "the connection has ended");
    std::shared_ptr<StoreMachine> machine = find();
    if (!machine || !machine->isUp())
      return answer(pending, gone);
    const int process = simulator.ownerOf(pending->caller);
    if (faults.reaches && !faults.reaches(process, machine->owner))
      return;
    if (simulator.chance(faults.lost))
      return answer(pending, gone);
    if (Time turn = machine->nextTurn(); turn > simulator.now()) {
      if (turn != Time::max())
        simulator.at(turn, [self = shared_from_this(), pending] {
          self->arrive(pending);
        });
      return;
    }
    pending->result = pending->use(*machine, process, &pending->response);
    // It is done, and nobody hears of it.
    if (simulator.chance(faults.lost) || !machine->isUp())
      pending->result = gone;
    answer(pending, pending->result);
  }

  template <typename Response>
  void answer(std::shared_ptr<Pending<Response>> pending,
              const StoreResult &result) {
    simulator.at(simulator.now() + delay(),
                 [self = shared_from_this(), pending, result] {
                   pending->result = result;
                   pending->isDone = true;
                   self->simulator.wake(pending->caller);
                 });
  }

  Duration delay() {
    return simulator.between(microseconds(50), faults.latest);
  }

  Simulator &simulator;
  const NetworkFaults &faults;
  const std::function<std::shared_ptr<StoreMachine>()> find;
  const Duration timeout;
};

class Connected final : public Store {
public:
  explicit Connected(std::shared_ptr<Route> route) : route(std::move(route)) {}

  void waitForConnection(int64_t milliseconds) override {
    std::shared_ptr<StoreMachine> machine = route->find();
    if (!machine || !machine->isUp())
      route->simulator.sleepUntil(route->simulator.now() +
                                  std::chrono::milliseconds(milliseconds));
  }
  StoreResult range(const RangeRequest &request,
                    RangeResponse *response) override {
    return route->call<RangeResponse>(
        response,
        [request](StoreMachine &machine, int caller, RangeResponse *answer) {
          return machine.serve(caller, [&](EtcdState &state) {
            return state.range(request, answer);
          });
        });
  }
  StoreResult put(const PutRequest &request, PutResponse *response) override {
    return route->call<PutResponse>(
        response,
        [request](StoreMachine &machine, int caller, PutResponse *answer) {
          return machine.serve(caller, [&](EtcdState &state) {
            return state.put(request, answer);
          });
        });
  }
  StoreResult deleteRange(const DeleteRangeRequest &request,
                          DeleteRangeResponse *response) override {
    return route->call<DeleteRangeResponse>(
        response, [request](StoreMachine &machine, int caller,
                            DeleteRangeResponse *answer) {
          return machine.serve(caller, [&](EtcdState &state) {
            return state.deleteRange(request, answer);
          });
        });
  }
  StoreResult txn(const TxnRequest &request, TxnResponse *response) override {
    return route->call<TxnResponse>(
        response,
        [request](StoreMachine &machine, int caller, TxnResponse *answer) {
          return machine.serve(caller, [&](EtcdState &state) {
            return state.txn(request, answer);
          });
        });
  }
  StoreResult leaseGrant(const LeaseGrantRequest &request,
                         LeaseGrantResponse *response) override {
    return route->call<LeaseGrantResponse>(
        response, [request](StoreMachine &machine, int caller,
                            LeaseGrantResponse *answer) {
          return machine.serve(caller, [&](EtcdState &state) {
            return state.leaseGrant(request, machine.milliseconds(), answer);
          });
        });
  }
  StoreResult leaseRevoke(const LeaseRevokeRequest &request,
                          LeaseRevokeResponse *response) override {
    return route->call<LeaseRevokeResponse>(
        response, [request](StoreMachine &machine, int caller,
                            LeaseRevokeResponse *answer) {
          return machine.serve(caller, [&](EtcdState &state) {
            return state.leaseRevoke(request, answer);
          });
        });
  }
  StoreResult leaseKeepAlive(int64_t id,
                             LeaseKeepAliveResponse *response) override {
    LeaseKeepAliveRequest request;
    request.set_id(id);
    return route->call<LeaseKeepAliveResponse>(
        response, [request](StoreMachine &machine, int caller,
                            LeaseKeepAliveResponse *answer) {
          return machine.serve(caller, [&](EtcdState &state) {
            state.leaseKeepAlive(request, machine.milliseconds(), answer);
            return StoreResult();
          });
        });
  }

private:
  const std::shared_ptr<Route> route;
};

} // namespace

std::unique_ptr<Store>
connectTo(Simulator &simulator, const NetworkFaults &faults,
          std::function<std::shared_ptr<StoreMachine>()> find,
          std::chrono::milliseconds timeout) {
  return std::make_unique<Connected>(
      std::make_shared<Route>(simulator, faults, std::move(find), timeout));
}

} // namespace dist::simulation
