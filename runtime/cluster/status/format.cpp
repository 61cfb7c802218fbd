//===- format.cpp - A cluster's status as text ----------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/status/format.h"
#include "runtime/cluster/heartbeat/monitor.h"
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace dist::cluster {

using proto::ClusterStatus;
using Member = ClusterStatus::Member;

static const char *textOf(Member::State state) {
  switch (state) {
  case Member::STARTS:
    return "starts";
  case Member::WORKS:
    return "works";
  case Member::SILENT:
    return "is silent";
  case Member::LOST:
    return "is lost";
  case Member::HAS_LEFT:
    return "has left";
  default:
    return "unknown";
  }
}

static std::string number(const char *form, double value) {
  char text[64];
  std::snprintf(text, sizeof text, form, value);
  return text;
}

static std::string milliseconds(double seconds) {
  return number("%.3g ms", seconds * 1e3);
}

static std::string describeSlowest(const ClusterStatus &status) {
  if (status.slowest() < 0 || status.slowest() >= status.members_size())
    return "slowest: not known yet\n";
  if (status.reason() == ClusterStatus::NETWORK)
    return "slowest: the network: all wait for it in most of a step\n";
  return "slowest: " + status.members(status.slowest()).task() + " (" +
         textOf(status.reason()) + "): " + number("%.2g", status.slowness()) +
         " times the others' own time of a step\n";
}

/// Of each task the newest process: one that came back takes the place of the
/// one before, which is lost.
static std::vector<Member> newestOf(const ClusterStatus &status) {
  std::vector<Member> newest;
  for (const Member &member : status.members()) {
    auto before =
        std::find_if(newest.begin(), newest.end(), [&](const Member &other) {
          return other.task() == member.task();
        });
    if (before == newest.end())
      newest.push_back(member);
    else
      *before = member;
  }
  return newest;
}

std::string formatStatus(const ClusterStatus &status) {
  std::string text = "epoch " + std::to_string(status.epoch()) + ", step " +
                     std::to_string(status.step()) + ", " +
                     std::to_string(status.examples()) + " examples, " +
                     number("%.0f", status.examples_per_second()) +
                     " examples/s\n";
  std::vector<std::vector<std::string>> rows = {
      {"task", "address", "host", "process", "state", "step", "input",
       "compute", "waits", "last beat"}};
  for (const Member &member : newestOf(status))
    rows.push_back({member.task(), member.address(), member.host(),
                    std::to_string(member.process()), textOf(member.state()),
                    std::to_string(member.step()),
                    milliseconds(member.input_seconds()),
                    milliseconds(member.compute_seconds()),
                    milliseconds(member.wait_seconds()),
                    member.state() == Member::STARTS
                        ? "none"
                        : number("%.2f s ago", member.beat_age())});
  for (const std::vector<std::string> &row : rows) {
    for (size_t column = 0; column < row.size(); ++column) {
      text += row[column];
      if (column + 1 == row.size())
        break;
      size_t width = 0;
      for (const std::vector<std::string> &other : rows)
        width = std::max(width, other[column].size());
      text.append(width + 2 - row[column].size(), ' ');
    }
    text += "\n";
  }
  return text + describeSlowest(status);
}

std::string formatStatusJson(const ClusterStatus &status) {
  nlohmann::ordered_json json = {
      {"epoch", status.epoch()},
      {"step", status.step()},
      {"examples", status.examples()},
      {"examples_per_s", status.examples_per_second()}};
  bool isKnown =
      status.slowest() >= 0 && status.slowest() < status.members_size();
  json["slowest"] = nullptr;
  if (isKnown)
    json["slowest"] = {{"task", status.members(status.slowest()).task()},
                       {"reason", textOf(status.reason())},
                       {"times_the_others", status.slowness()}};
  json["members"] = nlohmann::ordered_json::array();
  for (const Member &member : newestOf(status)) {
    nlohmann::ordered_json one = {{"task", member.task()},
                                  {"address", member.address()},
                                  {"host", member.host()},
                                  {"process", member.process()},
                                  {"state", textOf(member.state())},
                                  {"step", member.step()},
                                  {"input_s", member.input_seconds()},
                                  {"compute_s", member.compute_seconds()},
                                  {"wait_s", member.wait_seconds()},
                                  {"beat_age_s", nullptr}};
    if (member.state() != Member::STARTS)
      one["beat_age_s"] = member.beat_age();
    json["members"].push_back(std::move(one));
  }
  // A host's name may be any bytes.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

//===----------------------------------------------------------------------===//
// Metrics
//===----------------------------------------------------------------------===//

namespace {
using Labels = std::vector<std::pair<const char *, std::string>>;

class Metrics {
public:
  /// A metric; its values follow.
  void begin(const char *newName, const char *type, const char *help) {
    name = newName;
    text += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name +
            " " + type + "\n";
  }
  void add(double value, const Labels &labels = {}) {
    text += name;
    const char *before = "{";
    for (auto &[label, content] : labels) {
      text += std::string(before) + label + "=\"" + escape(content) + "\"";
      before = ",";
    }
    text += (labels.empty() ? " " : "} ") + number("%.17g", value) + "\n";
  }
  std::string text;

private:
  static std::string escape(const std::string &content) {
    std::string escaped;
    for (char c : content) {
      if (c == '\\' || c == '"')
        escaped += '\\';
      escaped += c == '\n' ? std::string("\\n") : std::string(1, c);
    }
    return escaped;
  }
  const char *name = "";
};
} // namespace

std::string formatMetrics(const ClusterStatus &status) {
  Metrics metrics;
  auto single = [&](const char *name, const char *type, const char *help,
                    double value) {
    metrics.begin(name, type, help);
    metrics.add(value);
  };
  single("dist_epoch", "gauge", "The epoch under way, from 1.",
         double(status.epoch()));
  single("dist_step", "gauge", "The step under way, from 1.",
         double(status.step()));
  single("dist_examples_total", "counter",
         "Examples that all workers have trained on since the start.",
         double(status.examples()));
  single("dist_examples_per_second", "gauge",
         "The same in a second, over the last steps.",
         status.examples_per_second());
  auto ofEach = [&](const char *name, const char *help,
                    const std::function<void(const Member &, Labels)> &add) {
    metrics.begin(name, "gauge", help);
    for (const Member &member : newestOf(status))
      add(member, {{"task", member.task()}});
  };
  ofEach("dist_worker_up", "1 while the process shows signs of life.",
         [&](const Member &member, const Labels &labels) {
           metrics.add(member.state() == Member::WORKS, labels);
         });
  ofEach("dist_worker_beat_age_seconds",
         "Since the process showed a sign of life.",
         [&](const Member &member, const Labels &labels) {
           if (member.state() != Member::STARTS)
             metrics.add(member.beat_age(), labels);
         });
  ofEach("dist_worker_step", "The step that the process is in.",
         [&](const Member &member, const Labels &labels) {
           metrics.add(double(member.step()), labels);
         });
  ofEach("dist_worker_step_seconds",
         "What a step consists of, as a mean over the last steps.",
         [&](const Member &member, const Labels &labels) {
           auto part = [&](const char *name, double seconds) {
             Labels more = labels;
             more.emplace_back("part", name);
             metrics.add(seconds, more);
           };
           part("input", member.input_seconds());
           part("compute", member.compute_seconds());
           part("wait", member.wait_seconds());
         });
  metrics.begin("dist_slowest", "gauge",
                "Who the others wait for most: its own time of a step, as a "
                "multiple of the others'.");
  if (status.slowest() >= 0 && status.slowest() < status.members_size())
    metrics.add(status.slowness(),
                {{"task", status.members(status.slowest()).task()},
                 {"reason", textOf(status.reason())}});
  return metrics.text;
}

} // namespace dist::cluster
