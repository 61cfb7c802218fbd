//===- membership.cpp - How the processes of a cluster meet ---------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/membership/membership.h"
#include "runtime/cluster/etcd/client.h"
#include "runtime/cluster/etcd/server.h"
#include "runtime/cluster/membership/member.pb.h"
#include "runtime/cluster/network.h"
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <unistd.h>

using namespace etcdserverpb;

namespace dist::cluster {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// How long a process that has stopped stays registered, and how often one that
/// has not says so.
static constexpr int64_t kLeaseSeconds = 10;
static constexpr milliseconds kRenewal{3000};
/// A call of a store that does not answer is made again until the timeout.
static constexpr int64_t kCallMilliseconds = 5000;
static constexpr milliseconds kShortestPause{5}, kLongestPause{100};
/// Who waits is told for whom at first, and then each time.
static constexpr std::chrono::seconds kFirstNote{2}, kNextNotes{30};

/// How long a chief whose start has failed serves those who do not know yet.
static constexpr milliseconds kLinger{2000};

/// Who is there, by member, for as long as its lease; and what the first that
/// saw all of them found, which is what all go by.
static const std::string kPresent = "/dist/present/", kRoll = "/dist/roll";

/// Of an exchange, with a value by each member.
static std::string folderOf(const std::string &what) {
  return "/dist/" + what + "/";
}

/// Processes that see each other by their numbers have the same.
static std::string identifyHost() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot;
}

static std::string nameHost() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

struct Membership::Impl {
  explicit Impl(const MembershipOptions &options)
      : options(options), tasks(options.spec.tasks()) {}
  ~Impl();

  Status open();
  Status registerSelf();
  Status callRoll();
  Status readMembers(const std::string &roll);
  Status checkPrograms() const;

  /// The values under a folder of the store, by member.
  StoreResult list(const std::string &folder, bool valuesToo,
                   std::map<int, std::string> *values);
  /// Puts `value` where no one has put anything; `kept`: what someone has.
  StoreResult putFirst(const std::string &key, const std::string &value,
                       bool leased, std::optional<std::string> *kept);
  /// Until `folder` has a value of each member; fails when one that has none
  /// has left.
  Status waitForAll(const std::string &folder,
                    std::map<int, std::string> *values);
  /// Tells of who is waited for; an error when it is too late.
  Status wait(const std::vector<int> &missing);
  void renew();
  void linger();

  std::string where(int member) const {
    const Address *address = options.spec.find(tasks[member]);
    return tasks[member].text() +
           (address && !address->host.empty() ? " at " + address->text() : "");
  }
  Status chiefIsGone(const StoreResult &result) const {
    return Status::error(StatusCode::Unavailable, "the cluster has no chief",
                         where(chief), result.message,
                         "look there why it ended");
  }

  Status foundForeign(const std::string &key) const {
    return Status::error(StatusCode::Unavailable,
                         "the store holds what no member wrote", where(chief),
                         key, "start the cluster anew, of one version");
  }

  const MembershipOptions options;
  const std::vector<Task> tasks;
  /// The chief is the first of the tasks.
  static constexpr int chief = 0;
  int self = 0;
  std::unique_ptr<EtcdServer> server;
  std::unique_ptr<EtcdClient> client;
  int64_t lease = 0;
  bool isStarted = false;
  std::vector<Member> members;

  std::mutex mutex;
  std::condition_variable wake;
  bool isLeaving = false;
  std::thread renewal;

  /// Of the wait under way.
  Clock::time_point begin, nextNote;
  milliseconds pause{0};
  void beginWait() {
    begin = Clock::now();
    nextNote = begin + kFirstNote;
    pause = kShortestPause;
  }
};

Status Membership::Impl::open() {
  DIST_RETURN_IF_ERROR(findMember(options.spec, &self));
  const Address &address = *options.spec.find(tasks[chief]);
  std::string store = address.text();
  if (self == chief) {
    EtcdServerOptions serving;
    serving.address = Address{listenLiteral(address.host), address.port}.text();
    DIST_RETURN_IF_ERROR(EtcdServer::start(serving, &server));
    if (serving.address.rfind("0.0.0.0:", 0) != 0)
      store = serving.address;
    else
      store = "127.0.0.1:" + std::to_string(address.port);
  }
  client = std::make_unique<EtcdClient>(store, kCallMilliseconds);
  return Status();
}

Membership::Impl::~Impl() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isLeaving = true;
  }
  wake.notify_all();
  if (renewal.joinable())
    renewal.join();
  // The others hear of it at once; where the chief went first there is no one
  // to tell.
  if (lease != 0) {
    LeaseRevokeRequest request;
    request.set_id(lease);
    LeaseRevokeResponse response;
    (void)client->leaseRevoke(request, &response);
  }
  if (server && !members.empty() && !isStarted)
    linger();
}

void Membership::Impl::linger() {
  std::map<int, std::string> present;
  for (Clock::time_point end = Clock::now() + kLinger;
       Clock::now() < end && list(kPresent, false, &present).ok() &&
       !present.empty();)
    std::this_thread::sleep_for(kShortestPause);
}

void Membership::Impl::renew() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!wake.wait_for(lock, kRenewal, [&] { return isLeaving; })) {
    lock.unlock();
    // A store that is away matters to those alone who wait for an answer.
    LeaseKeepAliveResponse response;
    (void)client->leaseKeepAlive(lease, &response);
    lock.lock();
  }
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
  put->set_lease(leased ? lease : 0);
  request.add_failure()->mutable_request_range()->set_key(key);
  TxnResponse response;
  StoreResult result = client->txn(request, &response);
  kept->reset();
  if (result.ok() && !response.succeeded())
    for (const ResponseOp &answer : response.responses())
      for (const mvccpb::KeyValue &one : answer.response_range().kvs())
        *kept = one.value();
  return result;
}

StoreResult Membership::Impl::list(const std::string &folder, bool valuesToo,
                                   std::map<int, std::string> *values) {
  RangeRequest request;
  request.set_key(folder);
  request.set_range_end(folder.substr(0, folder.size() - 1) +
                        char(folder.back() + 1));
  request.set_keys_only(!valuesToo);
  RangeResponse response;
  StoreResult result = client->range(request, &response);
  values->clear();
  for (const mvccpb::KeyValue &one : response.kvs()) {
    const std::string name = one.key().substr(folder.size());
    for (int member = 0; member < int(tasks.size()); ++member)
      if (name == std::to_string(member))
        values->emplace(member, one.value());
  }
  return result;
}

Status Membership::Impl::wait(const std::vector<int> &missing) {
  Clock::time_point now = Clock::now();
  bool isLate = options.timeout > 0 &&
                now - begin > std::chrono::duration<double>(options.timeout);
  if (isLate || (options.note && now > nextNote)) {
    std::string names;
    for (int member : missing)
      names += (names.empty() ? "" : ", ") + where(member);
    if (isLate)
      return Status::error(
          StatusCode::Unavailable, "the cluster did not start",
          "--start-timeout",
          names + (members.empty() ? " did not join" : " does not go on"),
          "start what is missing with the same cluster, or "
          "look there why it ended");
    options.note("waiting for " + names);
    nextNote = now + kNextNotes;
  }
  std::this_thread::sleep_for(pause);
  pause = std::min(2 * pause, kLongestPause);
  return Status();
}

/// Waits for the chief's store to be there, and enters this process.
Status Membership::Impl::registerSelf() {
  beginWait();
  StoreResult result;
  while (true) {
    LeaseGrantRequest request;
    request.set_ttl(kLeaseSeconds);
    LeaseGrantResponse response;
    result = client->leaseGrant(request, &response);
    if (result.ok()) {
      lease = response.id();
      break;
    }
    if (Status status = wait({chief}); !status.ok())
      return Status::error(status.code(), status.message(), "", result.message);
    client->waitForConnection(kLongestPause.count());
  }
  renewal = std::thread([this] { renew(); });

  proto::Member member;
  member.set_host(identifyHost());
  member.set_name(nameHost());
  member.set_process(getpid());
  member.set_program(options.facts.program);
  for (const std::string &name : options.facts.cpuVariants)
    member.add_cpu_variants(name);
  member.set_cpus(options.cpus);
  std::optional<std::string> kept;
  result = putFirst(kPresent + std::to_string(self), member.SerializeAsString(),
                    /*leased=*/true, &kept);
  if (!result.ok())
    return chiefIsGone(result);
  if (!kept)
    return Status();
  proto::Member other;
  (void)other.ParseFromString(*kept);
  return Status::error(
      StatusCode::InvalidInput, "the task is another process's already",
      tasks[self].text(),
      "process " + std::to_string(other.process()) + " on " +
          inQuotes(other.name()) + " has joined as it",
      "give this one another index, or end that one (one that was killed is "
      "forgotten after " +
          std::to_string(kLeaseSeconds) + " s)");
}

Status Membership::Impl::callRoll() {
  for (beginWait();;) {
    std::map<int, std::string> present;
    RangeRequest request;
    request.set_key(kRoll);
    RangeResponse response;
    StoreResult result = client->range(request, &response);
    if (result.ok() && response.kvs_size() > 0)
      return readMembers(response.kvs(0).value());
    if (result.ok())
      result = list(kPresent, true, &present);
    if (!result.ok())
      return chiefIsGone(result);
    if (present.size() == tasks.size()) {
      proto::Texts roll;
      for (auto &[member, value] : present)
        roll.add_text(value);
      std::string own = roll.SerializeAsString();
      std::optional<std::string> kept;
      result = putFirst(kRoll, own, /*leased=*/false, &kept);
      return result.ok() ? readMembers(kept.value_or(own))
                         : chiefIsGone(result);
    }
    std::vector<int> missing;
    for (int member = 0; member < int(tasks.size()); ++member)
      if (!present.count(member))
        missing.push_back(member);
    DIST_RETURN_IF_ERROR(wait(missing));
  }
}

Status Membership::Impl::readMembers(const std::string &roll) {
  proto::Texts texts;
  bool isSound =
      texts.ParseFromString(roll) && texts.text_size() == int(tasks.size());
  std::vector<std::string> hosts;
  for (const std::string &text : texts.text()) {
    proto::Member told;
    isSound = isSound && told.ParseFromString(text);
    if (!isSound)
      break;
    Member member;
    member.program = told.program();
    member.cpuVariants = {told.cpu_variants().begin(),
                          told.cpu_variants().end()};
    member.task = tasks[members.size()];
    auto known = std::find(hosts.begin(), hosts.end(), told.host());
    member.host = int(known - hosts.begin());
    if (known == hosts.end())
      hosts.push_back(told.host());
    member.hostName = told.name();
    member.process = told.process();
    member.cpus = told.cpus();
    members.push_back(std::move(member));
  }
  return isSound ? Status() : foundForeign(kRoll);
}

Status Membership::Impl::waitForAll(const std::string &folder,
                                    std::map<int, std::string> *values) {
  for (beginWait();;) {
    std::map<int, std::string> present, found;
    // In this order: who has left in between has put its value before.
    StoreResult result = list(kPresent, false, &present);
    if (result.ok())
      result = list(folder, false, &found);
    if (result.ok() && found.size() == tasks.size())
      result = list(folder, true, values);
    if (!result.ok())
      return chiefIsGone(result);
    if (values->size() == tasks.size())
      return Status();
    std::vector<int> missing;
    for (int member = 0; member < int(tasks.size()); ++member) {
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
void Membership::endStart() { impl->isStarted = true; }

Status Membership::join(const MembershipOptions &options,
                        std::unique_ptr<Membership> *out) {
  auto impl = std::make_unique<Impl>(options);
  DIST_RETURN_IF_ERROR(impl->open());
  DIST_RETURN_IF_ERROR(impl->registerSelf());
  DIST_RETURN_IF_ERROR(impl->callRoll());
  DIST_RETURN_IF_ERROR(impl->checkPrograms());
  out->reset(new Membership(std::move(impl)));
  return Status();
}

Status Membership::exchange(const std::string &what,
                            const std::vector<std::string> &own,
                            std::vector<std::vector<std::string>> *all) {
  proto::Texts texts;
  for (const std::string &text : own)
    texts.add_text(text);
  std::string folder = folderOf(what);
  std::optional<std::string> kept;
  StoreResult result =
      impl->putFirst(folder + std::to_string(impl->self),
                     texts.SerializeAsString(), /*leased=*/false, &kept);
  if (!result.ok())
    return impl->chiefIsGone(result);
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

Status readFromChief(const Address &chief, const std::string &what,
                     std::string *out) {
  EtcdClient client(chief.text(), kCallMilliseconds);
  client.waitForConnection(kCallMilliseconds);
  RangeRequest request;
  request.set_key(folderOf(what) + "0");
  RangeResponse response;
  StoreResult result = client.range(request, &response);
  if (!result.ok())
    return Status::error(StatusCode::Unavailable, "no cluster answers",
                         chief.text(), result.message,
                         "give the address of its chief, or of worker 0");
  proto::Texts texts;
  if (response.kvs_size() != 1 ||
      !texts.ParseFromString(response.kvs(0).value()) || texts.text_size() != 1)
    return Status::error(StatusCode::Unavailable, "no cluster is at work",
                         chief.text(),
                         "its processes have not met yet, or have parameter "
                         "servers and send no beats",
                         "ask again when all are started");
  *out = texts.text(0);
  return Status();
}

} // namespace dist::cluster
