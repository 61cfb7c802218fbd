//===- membership.cpp - How the processes of a cluster meet ---------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/etcd/client.h"
#include "runtime/cluster/membership/member.pb.h"
#include "runtime/cluster/membership/membership_impl.h"
#include "runtime/cluster/network.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace etcdserverpb;

namespace dist::cluster {

/// How long a chief that ends serves those who have not begun yet, or not read
/// what it has: where the start has failed, they do not know.
static constexpr milliseconds kLinger{2000};

std::string folderOf(const std::string &root, int epoch,
                     const std::string &what) {
  return root + std::to_string(epoch) + "/" + what + "/";
}

std::optional<TlsCertificates>
certificatesOf(const std::optional<JobSecret> &secret) {
  return secret ? std::optional(makeCertificates(*secret)) : std::nullopt;
}

Status refuseSecret(const std::string &who, const std::string &where,
                    bool hasSecret) {
  return Status::error(
      StatusCode::InvalidInput, who + " does not have this job's secret", where,
      hasSecret ? "it has another one, or none"
                : "it has one, and this has none",
      "give all processes of the job the same --job-secret-file FILE, or "
      "DIST_JOB_SECRET");
}

Status Membership::Impl::open() {
  DIST_RETURN_IF_ERROR(findMember(options.spec, &self));
  if (options.store) {
    EtcdClientOptions reached;
    DIST_RETURN_IF_ERROR(
        findStore(options.store, options.secret, getStoreSeconds(), &reached));
    client = around.connect(reached);
    reached.timeout = kLeaseMilliseconds;
    leases = around.connect(reached);
    return Status();
  }
  const Address &address = *options.spec.find(taskOf(chief));
  std::string store = address.text();
  std::optional<TlsCertificates> tls = certificatesOf(options.secret);
  if (self == chief) {
    EtcdServerOptions serving;
    serving.address = {listenLiteral(address.host), address.port};
    serving.tls = tls;
    leads = true;
    DIST_RETURN_IF_ERROR(around.serve(serving, &server));
    store = serving.address.text();
    if (isWildcard(serving.address.host))
      store = Address{serving.address.host == "::" ? "::1" : "127.0.0.1",
                      address.port}
                  .text();
  }
  client = around.connect({{store}, kCallMilliseconds, tls});
  leases = around.connect({{store}, kLeaseMilliseconds, tls});
  return Status();
}

Membership::Impl::~Impl() {
  renewal.reset();
  if (leads && options.store)
    endRun();
  // The others hear of it at once; where the chief went first there is no one
  // to tell.
  if (lease != 0) {
    LeaseRevokeRequest request;
    request.set_id(lease);
    LeaseRevokeResponse response;
    (void)leases->leaseRevoke(request, &response);
  }
  if (server && (!members.empty() || epoch > 0))
    linger();
}

void Membership::Impl::linger() {
  for (Clock::time_point end = around.now() + kLinger; around.now() < end;
       around.sleep(kShortestPause)) {
    std::map<int, std::string> present, begun;
    if (!list(folder(kPresent), false, &present).ok() ||
        !list(folder(kBegun), true, &begun).ok())
      return;
    auto needsStore = [&](const auto &one) {
      auto found = begun.find(one.first);
      return found == begun.end() ||
             std::atoi(found->second.c_str()) < exchangesSince;
    };
    if (std::none_of(present.begin(), present.end(), needsStore))
      return;
  }
}

void Membership::Impl::noteBegun() {
  if (server || options.store)
    return;
  PutRequest request;
  request.set_key(keyOf(kBegun, self));
  request.set_value(std::to_string(exchangesSince));
  PutResponse response;
  (void)leases->put(request,
                    &response); // a chief that is gone waits for no one
}

RangeRequest rangeOf(const std::string &folder) {
  RangeRequest request;
  request.set_key(folder);
  request.set_range_end(folder.substr(0, folder.size() - 1) +
                        char(folder.back() + 1));
  return request;
}

void compareMissing(const std::string &key, TxnRequest *request) {
  Compare *compare = request->add_compare();
  compare->set_key(key);
  compare->set_target(Compare::CREATE);
  compare->set_create_revision(0);
}

void compareValue(const std::string &key, const std::string &value,
                  TxnRequest *request) {
  Compare *compare = request->add_compare();
  compare->set_key(key);
  compare->set_target(Compare::VALUE);
  compare->set_value(value);
}

void addPut(const std::string &key, const std::string &value, int64_t lease,
            TxnRequest *request) {
  PutRequest *put = request->add_success()->mutable_request_put();
  put->set_key(key);
  put->set_value(value);
  put->set_lease(lease);
}

void addDelete(const std::string &key, TxnRequest *request) {
  request->add_success()->mutable_request_delete_range()->set_key(key);
}

StoreResult Membership::Impl::putFirst(const std::string &key,
                                       const std::string &value, bool leased,
                                       std::optional<std::string> *kept,
                                       const Texts &more) {
  TxnResponse response;
  StoreResult result = call([&] {
    TxnRequest request;
    compareMissing(key, &request);
    if (!run.empty())
      fence(&request);
    if (!leased)
      fenceByPresence(&request);
    addPut(key, value, leased ? lease : keptLease, &request);
    for (auto &[one, text] : more)
      addPut(one, text, leased ? lease : keptLease, &request);
    request.add_failure()->mutable_request_range()->set_key(key);
    return client->txn(request, &response);
  });
  kept->reset();
  if (!result.ok())
    return result;
  for (const ResponseOp &answer : response.responses())
    for (const mvccpb::KeyValue &one : answer.response_range().kvs())
      *kept = one.value();
  if (!response.succeeded() && !*kept)
    return isUnknown();
  // An earlier try whose answer was lost.
  if (options.store && *kept && **kept == value)
    kept->reset();
  if (!*kept) {
    std::lock_guard<std::mutex> guard(duty);
    told[key] = {value, leased};
  }
  return result;
}

/// Only while this process is known there. One that wakes may find that its
/// place is another's by now, or at its chief's address the store of another.
void Membership::Impl::fenceByPresence(TxnRequest *request) const {
  compareValue(keyOf(kPresent, self), describeSelf(), request);
}

StoreResult Membership::Impl::isGivenUp() const {
  return {StoreCode::FailedPrecondition,
          "this process is not known there any more: it, or who serves the "
          "store, was silent for longer than " +
              std::to_string(kLeaseSeconds) + " s"};
}

/// A transaction was refused by what it compares.
StoreResult Membership::Impl::isUnknown() {
  std::string now;
  const bool goesOn = run.empty() || (readRun(&now).ok() && now == run);
  return goesOn ? isGivenUp() : runIsOver();
}

std::string Membership::Impl::findEviction() {
  std::optional<std::string> known, roll;
  int now = 0;
  if (!readNumber(kEpoch, &now).ok() || now < epoch || now <= closedEpoch)
    return "";
  // At its chief's address there may be the store of another run.
  const std::string before = folderOf(root, closedEpoch, kRoll);
  if (!options.store && (!readText(before, &known).ok() || known != closedRoll))
    return "";
  if (!readText(folderOf(root, now, kRoll), &roll).ok() || !roll || isIn(*roll))
    return "";
  return wasEvictedIn(now);
}

Status Membership::Impl::chiefIsGone(const StoreResult &result) {
  const bool isKnownThere = result.code != StoreCode::FailedPrecondition &&
                            result.code != StoreCode::NotFound;
  const std::string eviction = isKnownThere ? "" : findEviction();
  if (!eviction.empty() || (!isKnownThere && !options.store))
    return Status::error(
        StatusCode::Unavailable, "this process is none of the cluster any more",
        where(self), eviction.empty() ? isGivenUp().message : eviction,
        "look at the chief, whether its run goes on");
  if (options.store)
    return storeFails(result);
  char stopped[160];
  // Before the roll is closed nobody goes on without it.
  const bool mayBeGivenUp = self != chief && !members.empty();
  if (double nap = mayBeGivenUp && isAway(result) ? findNap() : 0; nap > 0) {
    std::snprintf(stopped, sizeof stopped,
                  "it was stopped for %.2g s; the chief has ended, or gone on "
                  "without it, meanwhile",
                  nap);
    return Status::error(StatusCode::Unavailable,
                         "this process is none of the cluster any more",
                         where(self), stopped, "look at the chief");
  }
  return Status::error(StatusCode::Unavailable,
                       isAway(result) ? "the cluster has no chief"
                                      : "the chief's store refuses a call",
                       where(chief), result.message, "look there why it ended");
}

/// That what was read is of the store in which this process is present.
StoreResult Membership::Impl::checkPresence() {
  std::optional<std::string> text;
  StoreResult result = readText(keyOf(kPresent, self), &text);
  return result.ok() && text != describeSelf() ? isGivenUp() : result;
}

StoreResult Membership::Impl::readText(const std::string &key,
                                       std::optional<std::string> *text) {
  RangeRequest request;
  request.set_key(key);
  RangeResponse response;
  StoreResult result = call([&] { return client->range(request, &response); });
  text->reset();
  if (result.ok() && response.kvs_size() == 1)
    *text = response.kvs(0).value();
  return result;
}

StoreResult Membership::Impl::listNumbers(const std::string &folder,
                                          bool valuesToo,
                                          std::map<int, std::string> *values) {
  RangeRequest request = rangeOf(folder);
  request.set_keys_only(!valuesToo);
  RangeResponse response;
  StoreResult result = call([&] { return client->range(request, &response); });
  takeNumbers(response, folder, values);
  return result;
}

void Membership::Impl::takeNumbers(const RangeResponse &response,
                                   const std::string &folder,
                                   std::map<int, std::string> *values) const {
  values->clear();
  for (const mvccpb::KeyValue &one : response.kvs()) {
    const std::string name = one.key().substr(folder.size());
    for (int number = 0; number < int(all.size()); ++number)
      if (name == std::to_string(number))
        values->emplace(number, one.value());
  }
}

StoreResult Membership::Impl::list(const std::string &folder, bool valuesToo,
                                   std::map<int, std::string> *values) {
  std::map<int, std::string> byNumber;
  StoreResult result = listNumbers(folder, valuesToo, &byNumber);
  values->clear();
  for (int member = 0; member < int(numbers.size()); ++member)
    if (auto found = byNumber.find(numbers[member]); found != byNumber.end())
      values->emplace(member, std::move(found->second));
  return result;
}

StoreResult Membership::Impl::readNumber(const char *name, int *number) {
  std::optional<std::string> text;
  StoreResult result = readText(root + name, &text);
  *number = text ? std::atoi(text->c_str()) : 0;
  return result;
}

StoreResult Membership::Impl::writeNumber(const char *name, int number) {
  TxnRequest request;
  if (!run.empty())
    fence(&request);
  addPut(root + name, std::to_string(number), keptLease, &request);
  TxnResponse response;
  StoreResult result = call([&] { return client->txn(request, &response); });
  return result.ok() && !response.succeeded() ? runIsOver() : result;
}

Membership::Membership(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Membership::~Membership() = default;
const std::vector<Member> &Membership::members() const { return impl->members; }
int Membership::self() const { return impl->self; }
int Membership::epoch() const { return impl->epoch; }
void Membership::note(const std::string &line) const {
  if (impl->options.note)
    impl->options.note(line);
}

void Membership::endStart() {
  if (!std::exchange(impl->isStarted, true)) {
    impl->exchangesSince = 0;
    impl->noteBegun();
  }
  impl->keepsRun = impl->options.store && impl->options.isElastic;
}
void Membership::watch(std::function<Status()> check) {
  impl->check = std::move(check);
}
std::vector<int> Membership::findGone() const {
  return {impl->gone.begin(), impl->gone.end()};
}
bool Membership::othersMeetAgain() const { return impl->isOvertaken; }

Status Membership::join(const MembershipOptions &options,
                        std::unique_ptr<Membership> *out) {
  auto impl = std::make_unique<Impl>(options);
  DIST_RETURN_IF_ERROR(impl->open());
  DIST_RETURN_IF_ERROR(impl->registerSelf());
  impl->endMeeting();
  out->reset(new Membership(std::move(impl)));
  return Status();
}

Status Membership::regroup(const RegroupOptions &options) {
  Impl &own = *impl;
  own.beginMeeting();
  own.lastCall = own.around.now();
  ++own.epoch;
  own.isStarted = own.isOvertaken = false;
  own.check = nullptr;
  DIST_RETURN_IF_ERROR(own.mendLeases());
  DIST_RETURN_IF_ERROR(own.enter());
  // Those who wait to be taken in enter now, too.
  if (own.leads) {
    StoreResult result = own.writeNumber(kNext, own.epoch);
    if (!result.ok() && !own.isDeposed(result))
      return own.chiefIsGone(result);
  }
  DIST_RETURN_IF_ERROR(own.callAgain(options));
  own.endMeeting();
  return Status();
}

bool Membership::hasNewcomers() const { return impl->sawNewcomers; }

namespace {

/// What one who is no member knows of where a chief has put something.
struct ChiefsPlace {
  std::string root = kRoot;
  int epoch = 0, number = 0;
  Address chief;
};

} // namespace

/// Empty: there is none.
static StoreResult readOne(Store &client, const std::string &key,
                           std::string *text) {
  RangeRequest request;
  request.set_key(key);
  RangeResponse response;
  StoreResult result = client.range(request, &response);
  *text = response.kvs_size() == 1 ? response.kvs(0).value() : "";
  return result;
}

static StoreResult findPlace(Store &client, bool isShared, ChiefsPlace *place) {
  std::string text;
  StoreResult result;
  if (isShared)
    result = readOne(client, chiefKey(place->chief), &place->root);
  if (isShared && result.ok())
    result = readOne(client, place->root + kChief, &text);
  proto::Chief chief;
  if (!text.empty() && chief.ParseFromString(text) &&
      !parseAddress(chief.address(), &place->chief))
    place->number = chief.number();
  if (result.ok())
    result = readOne(client, place->root + kEpoch, &text);
  place->epoch = std::atoi(text.c_str());
  return result;
}

Status readFromChief(Address *at, const std::optional<JobSecret> &secret,
                     const std::string &what, std::string *out,
                     const SharedStore &store) {
  const Address &chief = *at;
  EtcdClientOptions reached;
  reached.addresses = {chief.text()};
  reached.tls = certificatesOf(secret);
  if (store)
    DIST_RETURN_IF_ERROR(
        findStore(store, secret, kCallMilliseconds / 1e3, &reached));
  EtcdClient client(reached);
  ChiefsPlace place;
  auto find = [&] {
    place = {};
    place.chief = chief;
    return findPlace(client, bool(store), &place);
  };
  StoreResult result = find();
  // What another secret does is no matter of time.
  for (Clock::time_point end = Clock::now() + milliseconds(kCallMilliseconds);
       result.code == StoreCode::Unavailable && Clock::now() < end;) {
    client.waitForConnection(kLongestPause.count());
    result = find();
  }
  RangeRequest request;
  RangeResponse response;
  request.set_key(folderOf(place.root, place.epoch, what) +
                  std::to_string(place.number));
  if (result.ok())
    result = client.range(request, &response);
  const std::string address = (store ? store.addresses.front() : chief).text();
  if (result.code == StoreCode::Unauthenticated)
    return refuseSecret(store ? "the coordinator" : "the chief", address,
                        secret.has_value());
  if (!result.ok() && store)
    return Status::error(StatusCode::Unavailable, "no store answers", address,
                         result.message,
                         "give the job's --coordination" +
                             std::string(secret || !store.isCoordinator
                                             ? ""
                                             : ", and its secret, if it has "
                                               "one (--job-secret-file)"));
  if (!result.ok())
    return Status::error(StatusCode::Unavailable, "no cluster answers",
                         chief.text(), result.message,
                         std::string("give the address of its chief, or of "
                                     "worker 0") +
                             (secret ? ""
                                     : ", and the job's secret, if it has one "
                                       "(--job-secret-file)"));
  proto::Texts texts;
  if (response.kvs_size() != 1 ||
      !texts.ParseFromString(response.kvs(0).value()) || texts.text_size() != 1)
    return Status::error(StatusCode::Unavailable, "no cluster is at work",
                         chief.text(), "its processes have not met yet",
                         "ask again when all are started");
  *out = texts.text(0);
  *at = place.chief;
  return Status();
}

} // namespace dist::cluster
