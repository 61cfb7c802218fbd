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
#include <cstdlib>

using namespace etcdserverpb;

namespace dist::cluster {

/// How long a chief whose start has failed serves those who do not know yet.
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
    DIST_RETURN_IF_ERROR(findStore(options.store, options.secret, &reached));
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
    if (serving.address.host == "0.0.0.0")
      store = Address{"127.0.0.1", address.port}.text();
  }
  client = around.connect({{store}, kCallMilliseconds, tls});
  leases = around.connect({{store}, kLeaseMilliseconds, tls});
  return Status();
}

Membership::Impl::~Impl() {
  renewal.reset();
  // The others hear of it at once; where the chief went first there is no one
  // to tell.
  if (lease != 0) {
    LeaseRevokeRequest request;
    request.set_id(lease);
    LeaseRevokeResponse response;
    (void)leases->leaseRevoke(request, &response);
  }
  if (server && (!members.empty() || epoch > 0) && !isStarted)
    linger();
}

void Membership::Impl::linger() {
  std::map<int, std::string> present;
  for (Clock::time_point end = around.now() + kLinger;
       around.now() < end && list(folder(kPresent), false, &present).ok() &&
       !present.empty();)
    around.sleep(kShortestPause);
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
      addPut(one, text, options.store ? lease.load() : 0, &request);
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
    return run.empty() ? isGivenUp() : runIsOver();
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
  addPut(root + name, std::to_string(number), options.store ? lease.load() : 0,
         &request);
  TxnResponse response;
  StoreResult result = call([&] { return client->txn(request, &response); });
  return result.ok() && !response.succeeded() ? runIsOver() : result;
}

Status Membership::Impl::wait(const std::vector<int> &missing) {
  Clock::time_point now = around.now();
  bool isLate = options.timeout > 0 &&
                now - begin > std::chrono::duration<double>(options.timeout);
  if (isLate || (options.note && now > nextNote)) {
    std::string names;
    for (int member : missing)
      names += (names.empty() ? "" : ", ") + where(member);
    if (isLate)
      return Status::error(
          StatusCode::Unavailable,
          epoch == 0 ? "the cluster did not start"
                     : "the cluster does not go on",
          "--start-timeout",
          names + (members.empty() ? " did not join" : " does not go on"),
          "start what is missing with the same cluster, or "
          "look there why it ended");
    options.note("waiting for " + names);
    nextNote = now + kNextNotes;
  }
  around.sleep(pause);
  pause = std::min(2 * pause, kLongestPause);
  return Status();
}

Status Membership::Impl::waitForAll(const std::string &folder,
                                    std::map<int, std::string> *values) {
  for (beginWait();;) {
    std::map<int, std::string> present, found;
    // In this order: who has left in between has put its value before.
    StoreResult result = list(this->folder(kPresent), false, &present);
    if (result.ok())
      result = list(folder, false, &found);
    if (result.ok() && found.size() == numbers.size())
      result = list(folder, true, values);
    if (result.ok() && values->size() == numbers.size())
      result = checkPresence();
    if (!result.ok())
      return chiefIsGone(result);
    if (values->size() == numbers.size())
      return Status();
    std::vector<int> missing;
    for (int member = 0; member < int(numbers.size()); ++member) {
      if (found.count(member))
        continue;
      missing.push_back(member);
      if (!present.count(member))
        return Status::error(StatusCode::Unavailable,
                             "a process of the cluster has ended",
                             where(member), "it left while the cluster started",
                             "look there why");
    }
    DIST_RETURN_IF_ERROR(wait(missing));
  }
}

/// The text of most members, the chief's where as many say another; those that
/// say something else.
static std::vector<int> findDiffering(const std::vector<std::string> &texts,
                                      int chief, std::string *common) {
  std::map<std::string, int> counts;
  for (const std::string &text : texts)
    ++counts[text];
  *common = texts[chief];
  for (auto &[text, count] : counts)
    if (count > counts[*common])
      *common = text;
  std::vector<int> differing;
  for (int member = 0; member < int(texts.size()); ++member)
    if (texts[member] != *common)
      differing.push_back(member);
  return differing;
}

Status Membership::Impl::checkPrograms() const {
  std::vector<std::string> programs;
  for (const Member &member : members)
    programs.push_back(member.program);
  std::string common;
  std::vector<int> differing = findDiffering(programs, chief, &common);
  if (differing.empty())
    return Status();
  std::string names;
  for (int member : differing)
    names += (names.empty() ? "" : ", ") + where(member);
  return Status::error(
      StatusCode::InvalidInput, "the processes have different programs", names,
      std::string(differing.size() == 1 ? "it has" : "they have") +
          " another one than the other " +
          std::to_string(members.size() - differing.size()),
      "give all the same model, options and version; machines whose CPUs "
      "differ want one package for all of them (dist-opt --emit=package "
      "--target-cpu LIST --threads N)");
}

Membership::Membership(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Membership::~Membership() = default;
const std::vector<Member> &Membership::members() const { return impl->members; }
int Membership::self() const { return impl->self; }
int Membership::epoch() const { return impl->epoch; }
void Membership::endStart() { impl->isStarted = true; }

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
  ++own.epoch;
  own.isStarted = false;
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

Status Membership::shareFacts(const MemberFacts &facts) {
  proto::Facts own;
  own.set_program(facts.program);
  for (const std::string &name : facts.cpuVariants)
    own.add_cpu_variants(name);
  std::vector<std::vector<std::string>> all;
  DIST_RETURN_IF_ERROR(exchange("facts", {own.SerializeAsString()}, &all));
  for (size_t member = 0; member < all.size(); ++member) {
    proto::Facts told;
    if (all[member].size() != 1 || !told.ParseFromString(all[member][0]))
      return impl->foundForeign(impl->folder("facts"));
    impl->members[member].program = told.program();
    impl->members[member].cpuVariants = {told.cpu_variants().begin(),
                                         told.cpu_variants().end()};
  }
  return impl->checkPrograms();
}

Status Membership::exchange(const std::string &what,
                            const std::vector<std::string> &own,
                            std::vector<std::vector<std::string>> *all) {
  proto::Texts texts;
  for (const std::string &text : own)
    texts.add_text(text);
  std::string folder = impl->folder(what);
  std::optional<std::string> kept;
  StoreResult result =
      impl->putFirst(impl->keyOf(what, impl->self), texts.SerializeAsString(),
                     /*leased=*/false, &kept);
  if (!result.ok())
    return impl->chiefIsGone(result);
  if (kept)
    return impl->chiefIsGone(impl->isGivenUp());
  std::map<int, std::string> values;
  DIST_RETURN_IF_ERROR(impl->waitForAll(folder, &values));
  all->clear();
  for (auto &[member, value] : values) {
    if (!texts.ParseFromString(value))
      return impl->foundForeign(folder);
    all->emplace_back(texts.text().begin(), texts.text().end());
  }
  return Status();
}

Status Membership::agreeOn(
    const std::vector<std::pair<std::string, std::string>> &settings) {
  std::vector<std::string> own;
  for (auto &[name, value] : settings)
    own.push_back(value);
  std::vector<std::vector<std::string>> all;
  DIST_RETURN_IF_ERROR(exchange("settings", own, &all));
  const size_t count = std::min(settings.size(), all[impl->chief].size());
  for (size_t i = 0; i < count; ++i) {
    std::vector<std::string> values;
    for (const std::vector<std::string> &one : all)
      values.push_back(i < one.size() ? one[i]
                       : one.empty()  ? all[impl->chief][i]
                                      : "missing");
    std::string common;
    std::vector<int> differing = findDiffering(values, impl->chief, &common);
    if (!differing.empty())
      return Status::error(
          StatusCode::InvalidInput, "the processes do not train alike",
          impl->where(differing[0]),
          "its " + settings[i].first + ": " + values[differing[0]] +
              ", the others': " + common,
          "give all the same");
  }
  return Status();
}

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
    DIST_RETURN_IF_ERROR(findStore(store, secret, &reached));
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
