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

} // namespace dist::cluster
