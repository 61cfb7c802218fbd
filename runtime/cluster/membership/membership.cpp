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

static std::optional<TlsCertificates>
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
    std::string target;
    DIST_RETURN_IF_ERROR(findStore(options.store, &target));
    std::optional<TlsCertificates> tls;
    if (options.store.isCoordinator)
      tls = certificatesOf(options.secret);
    client = around.connect(target, kCallMilliseconds, tls);
    leases = around.connect(target, kLeaseMilliseconds, tls);
    return Status();
  }
  const Address &address = *options.spec.find(taskOf(chief));
  std::string store = address.text();
  std::optional<TlsCertificates> tls = certificatesOf(options.secret);
  if (self == chief) {
    EtcdServerOptions serving;
    serving.address = {listenLiteral(address.host), address.port};
    serving.tls = tls;
    DIST_RETURN_IF_ERROR(around.serve(serving, &server));
    store = serving.address.text();
    if (serving.address.host == "0.0.0.0")
      store = Address{"127.0.0.1", address.port}.text();
  }
  client = around.connect(store, kCallMilliseconds, tls);
  leases = around.connect(store, kLeaseMilliseconds, tls);
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

void Membership::Impl::renew() {
  // A store that is away matters to those alone who wait for an answer.
  LeaseKeepAliveResponse response;
  (void)leases->leaseKeepAlive(lease, &response);
  if (keptLease != 0)
    (void)leases->leaseKeepAlive(keptLease, &response);
}

StoreResult Membership::Impl::putFirst(const std::string &key,
                                       const std::string &value, bool leased,
                                       std::optional<std::string> *kept) {
  TxnRequest request;
  Compare *compare = request.add_compare();
  compare->set_key(key);
  compare->set_target(Compare::CREATE);
  compare->set_create_revision(0);
  PutRequest *put = request.add_success()->mutable_request_put();
  put->set_key(key);
  put->set_value(value);
  put->set_lease(leased ? lease : keptLease);
  request.add_failure()->mutable_request_range()->set_key(key);
  if (!run.empty())
    fence(&request);
  if (!leased)
    fenceByPresence(&request);
  TxnResponse response;
  StoreResult result = call([&] { return client->txn(request, &response); });
  kept->reset();
  if (!result.ok() || response.succeeded())
    return result;
  for (const ResponseOp &answer : response.responses())
    for (const mvccpb::KeyValue &one : answer.response_range().kvs())
      *kept = one.value();
  if (!*kept && !run.empty())
    return runIsOver();
  if (!*kept)
    return isGivenUp();
  if (!options.store)
    return result;
  // An earlier try whose answer was lost.
  if (**kept == value)
    kept->reset();
  return result;
}

/// Only while this process is known there. One that wakes may find that its
/// place is another's by now, or at its chief's address the store of another.
void Membership::Impl::fenceByPresence(TxnRequest *request) const {
  Compare *compare = request->add_compare();
  compare->set_key(keyOf(kPresent, self));
  compare->set_target(Compare::VALUE);
  compare->set_value(describeSelf());
}

StoreResult Membership::Impl::isGivenUp() const {
  return {StoreCode::FailedPrecondition,
          "this process is not known there any more: it, or who serves the "
          "store, was silent for longer than " +
              std::to_string(kLeaseSeconds) + " s"};
}

/// That what was read is of the store in which this process is present.
StoreResult Membership::Impl::checkPresence() {
  RangeRequest request;
  request.set_key(keyOf(kPresent, self));
  RangeResponse response;
  StoreResult result = call([&] { return client->range(request, &response); });
  const bool isPresent =
      response.kvs_size() == 1 && response.kvs(0).value() == describeSelf();
  return result.ok() && !isPresent ? isGivenUp() : result;
}

StoreResult Membership::Impl::listNumbers(const std::string &folder,
                                          bool valuesToo,
                                          std::map<int, std::string> *values) {
  RangeRequest request;
  request.set_key(folder);
  request.set_range_end(folder.substr(0, folder.size() - 1) +
                        char(folder.back() + 1));
  request.set_keys_only(!valuesToo);
  RangeResponse response;
  StoreResult result = call([&] { return client->range(request, &response); });
  values->clear();
  for (const mvccpb::KeyValue &one : response.kvs()) {
    const std::string name = one.key().substr(folder.size());
    for (int number = 0; number < int(all.size()); ++number)
      if (name == std::to_string(number))
        values->emplace(number, one.value());
  }
  return result;
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

/// 0: there is none.
static StoreResult readNumberOf(Store &client, const char *key, int *number) {
  RangeRequest request;
  request.set_key(key);
  RangeResponse response;
  StoreResult result = client.range(request, &response);
  *number =
      response.kvs_size() == 1 ? std::atoi(response.kvs(0).value().c_str()) : 0;
  return result;
}

StoreResult Membership::Impl::readNumber(const char *key, int *number) {
  return readNumberOf(*client, key, number);
}

StoreResult Membership::Impl::writeNumber(const char *key, int number) {
  PutRequest request;
  request.set_key(key);
  request.set_value(std::to_string(number));
  PutResponse response;
  return client->put(request, &response);
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
  out->reset(new Membership(std::move(impl)));
  return Status();
}

Status Membership::regroup(const RegroupOptions &options) {
  Impl &own = *impl;
  ++own.epoch;
  own.isStarted = false;
  DIST_RETURN_IF_ERROR(own.enter());
  if (own.self != Impl::chief)
    return own.callAgain(options);
  // Those who wait to be taken in enter now, too.
  StoreResult result = own.writeNumber(kNext, own.epoch);
  if (!result.ok())
    return own.chiefIsGone(result);
  DIST_RETURN_IF_ERROR(own.callAgain(options));
  result = own.writeNumber(kEpoch, own.epoch);
  return result.ok() ? Status() : own.chiefIsGone(result);
}

bool Membership::hasNewcomers() {
  std::map<int, std::string> newcomers;
  if (!impl->listNumbers(kNewcomers, false, &newcomers).ok())
    return false;
  for (auto &[number, value] : newcomers)
    if (std::count(impl->numbers.begin(), impl->numbers.end(), number) == 0)
      return true;
  return false;
}

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

/// The root of the run that this chief is at, in a store that is not its own;
/// empty: it is at none.
static StoreResult readRoot(Store &client, const Address &chief,
                            std::string *root) {
  RangeRequest request;
  request.set_key(chiefKey(chief));
  RangeResponse response;
  StoreResult result = client.range(request, &response);
  *root = response.kvs_size() == 1 ? response.kvs(0).value() : "";
  return result;
}

Status readFromChief(const Address &chief,
                     const std::optional<JobSecret> &secret,
                     const std::string &what, std::string *out,
                     const SharedStore &store) {
  std::string target = chief.text(), root = kRoot;
  if (store)
    DIST_RETURN_IF_ERROR(findStore(store, &target));
  EtcdClient client(target, kCallMilliseconds,
                    store && !store.isCoordinator ? std::nullopt
                                                  : certificatesOf(secret));
  int epoch = 0;
  auto find = [&] {
    return store ? readRoot(client, chief, &root)
                 : readNumberOf(client, kEpoch, &epoch);
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
  request.set_key(folderOf(root, epoch, what) + "0");
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
  return Status();
}

} // namespace dist::cluster
