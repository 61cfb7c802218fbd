//===- run_watch.cpp - What a store's records say of runs -----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/simulation/run_watch.h"
#include <cstdlib>

namespace dist::simulation {

/// In front of a run's name in its keys; the job's key is what is before it.
static constexpr char kRun[] = "/run/";

/// The keys of a run: `.../run/NAME/`; empty: of none.
static std::string rootOf(const std::string &key) {
  const size_t at = key.find(kRun);
  if (at == std::string::npos)
    return "";
  const size_t end = key.find('/', at + sizeof kRun - 1);
  return end == std::string::npos ? "" : key.substr(0, end + 1);
}

/// The key that says which run the job is at.
static std::string jobOf(const std::string &root) {
  return root.substr(0, root.find(kRun) + sizeof kRun - 2);
}

static std::string nameOf(const std::string &root) {
  const size_t at = root.find(kRun) + sizeof kRun - 1;
  return root.substr(at, root.size() - 1 - at);
}

static std::string nameOf(int process) {
  return process < 0 ? "nobody" : "process " + std::to_string(process);
}

std::string RunWatch::valueOf(const std::string &key) const {
  auto found = values.find(key);
  return found == values.end() ? "" : found->second;
}

int RunWatch::processOf(const std::string &chief) const {
  auto found = chiefs.find(chief);
  return found == chiefs.end() ? -1 : found->second;
}

int RunWatch::chief() const {
  return lastRun.empty() ? -1 : processOf(valueOf(lastRun + "chief"));
}

void RunWatch::see(int caller, const cluster::JournalRecord &record) {
  std::map<std::string, Values> runs; // their changes
  for (const mvccpb::Event &event : record.events()) {
    const bool isGone = event.type() == mvccpb::Event::DELETE;
    const std::string root = rootOf(event.kv().key());
    if (!root.empty())
      runs[root][event.kv().key()] = isGone ? "" : event.kv().value();
  }
  // Of a job's key: its value is in the place of one of its runs.
  for (const mvccpb::Event &event : record.events()) {
    const std::string &key = event.kv().key();
    const bool isGone = event.type() == mvccpb::Event::DELETE;
    const std::string value = isGone ? valueOf(key) : event.kv().value();
    if (rootOf(key).empty() && key.size() > 4 &&
        key.compare(key.size() - 4, 4, "/run") == 0 && !value.empty())
      runs[key + "/" + value + "/"][key] = isGone ? "" : value;
  }
  for (auto &[root, changes] : runs)
    seeRun(caller, root, changes);
  for (const mvccpb::Event &event : record.events())
    if (event.type() == mvccpb::Event::DELETE)
      values.erase(event.kv().key());
    else
      values[event.kv().key()] = event.kv().value();
}

void RunWatch::seeChief(int caller, const std::string &root,
                        const Values &changes) {
  const std::string &now = changes.at(root + "chief");
  const std::string before = valueOf(root + "chief");
  const int known = processOf(before);
  if (!before.empty() && now != before) {
    if (known >= 0 && mayBeLost && !mayBeLost(known))
      simulator.fail(nameOf(known) + " is the chief, and " + nameOf(caller) +
                     " takes its place");
    // In the epoch that it names.
    auto epoch = changes.find(root + "next");
    if (epoch != changes.end() && values.count(root + epoch->second + "/roll/"))
      simulator.fail(nameOf(caller) +
                     " takes the place of a chief whose roll is closed");
  }
  if (caller >= 0)
    chiefs[now] = caller;
}

void RunWatch::seeRun(int caller, const std::string &root,
                      const Values &changes) {
  const std::string job = jobOf(root), chiefKey = root + "chief";
  const int before = processOf(valueOf(chiefKey));
  auto put = changes.find(chiefKey);
  if (put != changes.end() && !put->second.empty())
    seeChief(caller, root, changes);
  const int now = put != changes.end() ? processOf(put->second) : before;
  auto told = changes.find(job);
  const std::string name = nameOf(root);
  const bool isNow =
      told != changes.end() ? told->second == name : valueOf(job) == name;
  for (auto &[key, value] : changes) {
    if (!value.empty() && !isNow)
      simulator.fail("a run that is over writes " + key);
    const std::string what = key.substr(std::min(key.size(), root.size()));
    const bool isNumber = what == "epoch" || what == "next";
    const bool isRoll =
        what.size() > 6 && what.compare(what.size() - 6, 6, "/roll/") == 0;
    if (caller >= 0 && !value.empty() && (isNumber || isRoll) && now >= 0 &&
        now != caller)
      simulator.fail(nameOf(caller) + " writes " + key + ", and " +
                     nameOf(now) + " is the chief");
    if (isNumber && !value.empty() &&
        std::atoi(value.c_str()) < std::atoi(valueOf(key).c_str()))
      simulator.fail(key + " goes back to " + value);
    if (caller >= 0 && value.empty() && (key == job || key == chiefKey) &&
        before >= 0 && before != caller)
      simulator.fail(nameOf(caller) + " ends a run whose chief is " +
                     nameOf(before));
  }
  // What has ended with a lease is put again by who was the chief.
  auto last = lastChiefs.find(root);
  if (told != changes.end() && !told->second.empty() && valueOf(job).empty() &&
      last != lastChiefs.end() && last->second != caller)
    simulator.fail(nameOf(caller) + " begins a run that is over anew");
  if (now >= 0)
    lastChiefs[root] = now;
  lastRun = root;
}

} // namespace dist::simulation
