//===- exchange.cpp - What members bring each other -----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/membership/member.pb.h"
#include "runtime/cluster/membership/membership_impl.h"
#include <algorithm>

namespace dist::cluster {

/// In an exchange. Who has slept for longer than its lease, and was not
/// missed, is registered anew within a moment.
StoreResult Membership::Impl::putOwn(const std::string &what,
                                     const std::string &value,
                                     std::optional<std::string> *kept) {
  const std::string key = keyOf(what, self);
  lastCall = around.now();
  StoreResult result = putFirst(key, value, /*leased=*/false, kept);
  for (Clock::time_point end = around.now() + kRenewal + kRound;
       !options.store && result.code == StoreCode::FailedPrecondition &&
       around.now() < end && findEviction().empty();) {
    around.sleep(kLongestPause);
    result = putFirst(key, value, /*leased=*/false, kept);
  }
  return result;
}

Status Membership::Impl::wait(const std::vector<int> &missing,
                              const std::string &folder) {
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
  Awaited awaited{folder, {}};
  for (int member : missing)
    awaited.keys.insert(folder + std::to_string(numbers[member]));
  pauseUntilChange(pause, awaited, [&] {
    return (check && !check().ok()) ||
           (options.timeout > 0 && isPast(options.timeout)) ||
           (options.note && around.now() > nextNote);
  });
  pause = std::min(2 * pause, kLongestPause);
  return Status();
}

void Membership::Impl::pauseUntilChange(milliseconds pause,
                                        const Awaited &awaited,
                                        const std::function<bool()> &isDue) {
  // Not while there is no connection yet, which a watch would wait for.
  if (lease != 0)
    changes.follow(*client, rangeOf(options.store ? runKey() : kRoot));
  if (std::optional<std::string> why = changes.takeReason();
      why && options.note)
    options.note("the store does not tell of changes (" + *why +
                 "): it is asked instead, each " +
                 std::to_string(kLongestPause.count()) + " ms");
  if (!changes.areTold()) {
    around.sleep(pause);
    return;
  }
  // A chief that ends asks for that by itself.
  Awaited heard = awaited;
  heard.ignored = folder(kBegun);
  for (Clock::time_point end = around.now() + kLongestTrust;
       !changes.await(kLongestPause, heard) && around.now() < end;) {
    // As between two calls: this process may be stopped meanwhile.
    const Clock::time_point now = around.now();
    noteNap(now - lastCall);
    lastCall = now;
    if (isDue && isDue())
      return;
  }
}

Status Membership::Impl::checkOthers(const std::map<int, std::string> &present,
                                     const std::map<int, std::string> &found) {
  if (check)
    DIST_RETURN_IF_ERROR(check());
  for (int member = 0; member < int(numbers.size()); ++member)
    if (!found.count(member) && !present.count(member))
      gone.insert(member);
  if (!gone.empty())
    return Status::error(StatusCode::Unavailable,
                         "a process of the cluster has ended",
                         where(*gone.begin()),
                         "it left while the cluster started", "look there why");
  int next = 0;
  if (options.isElastic)
    if (StoreResult result = readNumber(kNext, &next); !result.ok())
      return chiefIsGone(result);
  isOvertaken = next > epoch;
  return isOvertaken
             ? Status::error(StatusCode::Unavailable, "the others meet again",
                             where(chief), "one of them was lost")
             : Status();
}

Status Membership::Impl::waitForAll(const std::string &folder,
                                    std::map<int, std::string> *values) {
  gone.clear();
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
    DIST_RETURN_IF_ERROR(checkOthers(present, found));
    std::vector<int> missing;
    for (int member = 0; member < int(numbers.size()); ++member)
      if (!found.count(member))
        missing.push_back(member);
    DIST_RETURN_IF_ERROR(wait(missing, folder));
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

/// Behind a meeting of those that go on: the others have come to it, and do not
/// go with the chief. They are refused, and that ends nothing but this epoch.
Status Membership::Impl::refuse(const std::vector<int> &others,
                                const std::string &what, const std::string &own,
                                const std::string &chiefs) {
  if (std::count(others.begin(), others.end(), self) > 0)
    return Status::error(
        StatusCode::InvalidInput, "the cluster does not take this process in",
        where(self), "its " + what + ": " + own + ", the others': " + chiefs,
        "start it with the same model, options and version as "
        "the others");
  gone = {others.begin(), others.end()};
  std::string names;
  for (int member : others)
    names += (names.empty() ? "" : ", ") + where(member);
  return Status::error(
      StatusCode::Unavailable, "a process that has come is refused", names,
      "it has another " + what + " than the others", "start it with theirs");
}

/// Members whose text is another than the chief's.
static std::vector<int> unlikeChief(const std::vector<std::string> &texts,
                                    int chief) {
  std::vector<int> others;
  for (int member = 0; member < int(texts.size()); ++member)
    if (texts[member] != texts[chief])
      others.push_back(member);
  return others;
}

/// What runs there, as it is told: the program, and the protocol it speaks.
static constexpr char kBy[] = " by protocol ";
static std::string programOf(const MemberFacts &facts) {
  return facts.program + kBy + std::to_string(kProtocol);
}

/// Of that: enough of the digest to tell two apart, and the protocol.
static std::string shorten(const std::string &program) {
  size_t end = std::min(program.find(kBy), program.size());
  return program.substr(0, std::min<size_t>(end, 12)) + program.substr(end);
}

Status Membership::Impl::checkPrograms(
    const std::function<std::string(int, int)> &explain) {
  std::vector<std::string> programs;
  for (const Member &member : members)
    programs.push_back(member.program);
  if (const std::vector<int> others = unlikeChief(programs, chief);
      epoch > 0 && !others.empty())
    return refuse(others, "program", shorten(programs[self]),
                  shorten(programs[chief]));
  std::string common;
  const std::vector<int> differing = findDiffering(programs, chief, &common);
  if (differing.empty())
    return Status();
  std::string names;
  for (int member : differing)
    names += (names.empty() ? "" : ", ") + where(member);
  const auto usual = std::find(programs.begin(), programs.end(), common);
  return Status::error(
      StatusCode::InvalidInput, "the processes have different programs", names,
      std::string(differing.size() == 1 ? "it has" : "they have") +
          " another one than the other " +
          std::to_string(members.size() - differing.size()) +
          explain(differing[0], int(usual - programs.begin())),
      "give all the same model, options and version; machines whose CPUs "
      "differ want one package for all of them (dist-opt --emit=package "
      "--target-cpu LIST --threads N)");
}

/// Of the options of one those that another has not.
static std::string listMissing(const std::vector<std::string> &one,
                               const std::vector<std::string> &other) {
  std::string all;
  for (const std::string &option : one)
    if (std::count(other.begin(), other.end(), option) == 0)
      all += (all.empty() ? "" : " ") + option;
  return all;
}

/// In what a program differs from the usual one, as far as its options say it.
static std::string nameDifference(const std::vector<std::string> &own,
                                  const std::vector<std::string> &usual) {
  const std::string more = listMissing(own, usual);
  const std::string less = listMissing(usual, own);
  if (more.empty() && less.empty())
    return "made with the same options: the model's file, the version, or the "
           "CPU is another";
  if (more.empty())
    return "made without " + less;
  return "made with " + more +
         (less.empty() ? ", and theirs without" : ", and theirs with " + less);
}

Status Membership::Impl::compareProgram(const MemberFacts &facts) {
  std::vector<std::string> texts;
  DIST_RETURN_IF_ERROR(readOfChief("facts", &texts));
  proto::Facts told;
  if (texts.size() != 1 || !told.ParseFromString(texts[0]))
    return foundForeign(folder("facts"));
  members[chief].program = told.program();
  if (told.program() == programOf(facts))
    return Status();
  return Status::error(StatusCode::InvalidInput,
                       "the processes have different programs", where(self),
                       "it has another one than the chief",
                       "give all the same model, options and version");
}

Status Membership::shareFacts(const MemberFacts &facts) {
  proto::Facts own;
  own.set_program(programOf(facts));
  for (const std::string &name : facts.cpuVariants)
    own.add_cpu_variants(name);
  std::vector<std::vector<std::string>> all;
  if (impl->isBack)
    return impl->compareProgram(facts);
  DIST_RETURN_IF_ERROR(exchange("facts", {own.SerializeAsString()}, &all));
  for (size_t member = 0; member < all.size(); ++member) {
    proto::Facts told;
    if (all[member].size() != 1 || !told.ParseFromString(all[member][0]))
      return impl->foundForeign(impl->folder("facts"));
    impl->members[member].program = told.program();
    impl->members[member].cpuVariants = {told.cpu_variants().begin(),
                                         told.cpu_variants().end()};
  }
  return impl->checkPrograms([&](int unlike, int usual) -> std::string {
    if (!exchange("arguments", facts.arguments, &all).ok())
      return "";
    return ", " + nameDifference(all[size_t(unlike)], all[size_t(usual)]);
  });
}

Status Membership::exchange(const std::string &what,
                            const std::vector<std::string> &own,
                            std::vector<std::vector<std::string>> *all) {
  proto::Texts texts;
  for (const std::string &text : own)
    texts.add_text(text);
  std::string folder = impl->folder(what);
  std::optional<std::string> kept;
  StoreResult result = impl->putOwn(what, texts.SerializeAsString(), &kept);
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
  if (impl->isStarted) {
    ++impl->exchangesSince;
    impl->noteBegun();
  }
  return Status();
}

Status Membership::agreeOn(
    const std::vector<std::pair<std::string, std::string>> &settings) {
  std::vector<std::string> own;
  for (auto &[name, value] : settings)
    own.push_back(value);
  std::vector<std::vector<std::string>> all;
  if (impl->isBack) {
    all.resize(2);
    all[1] = own;
    DIST_RETURN_IF_ERROR(impl->readOfChief("settings", &all[0]));
  } else {
    DIST_RETURN_IF_ERROR(exchange("settings", own, &all));
  }
  const size_t count = std::min(settings.size(), all[impl->chief].size());
  for (size_t i = 0; i < count; ++i) {
    std::vector<std::string> values;
    for (const std::vector<std::string> &one : all)
      values.push_back(i < one.size() ? one[i]
                       : one.empty()  ? all[impl->chief][i]
                                      : "missing");
    if (const std::vector<int> others = unlikeChief(values, impl->chief);
        impl->epoch > 0 && !others.empty())
      return impl->refuse(others, settings[i].first, values[impl->self],
                          values[impl->chief]);
    std::string common;
    std::vector<int> differing = findDiffering(values, impl->chief, &common);
    if (!differing.empty())
      return Status::error(
          StatusCode::InvalidInput, "the processes do not train alike",
          impl->where(impl->isBack ? impl->self : differing[0]),
          "its " + settings[i].first + ": " + values[differing[0]] +
              ", the others': " + common,
          "give all the same");
  }
  return Status();
}

} // namespace dist::cluster
