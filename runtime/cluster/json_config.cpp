//===- json_config.cpp - A cluster as JSON text -----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/json_config.h"
#include "runtime/core/near_word.h"
#include <nlohmann/json.hpp>
#include <set>

namespace dist::cluster {

using nlohmann::json;

/// A cluster of so many tasks is a mistake, and a text of so many bytes none
/// that a person or a launcher wrote.
static constexpr size_t kMostTasks = 1 << 16;
static constexpr size_t kMostBytes = 1 << 24;

namespace {

class Reader {
public:
  Reader(const std::string &source, ClusterSpec *spec)
      : source(source), spec(spec) {}

  std::vector<Status> read(const std::string &text) {
    json root;
    if (!parse(text, &root))
      return faults;
    if (!root.is_object()) {
      add("the cluster is no JSON object", "", "it is " + kindOf(root),
          "write {\"cluster\": ..., \"task\": ...}");
      return faults;
    }
    checkKeys(root, "", {"cluster", "task", "devices"},
              {"environment", "rpc_layer", "job"});
    if (auto cluster = root.find("cluster"); cluster != root.end())
      readCluster(*cluster);
    else
      add("the cluster is empty", "", "there is no \"cluster\"",
          "add \"cluster\": {\"worker\": [\"HOST:PORT\", ...]}");
    if (auto task = root.find("task"); task != root.end())
      readTask(*task);
    if (auto devices = root.find("devices"); devices != root.end())
      readDevices(*devices);
    return faults;
  }

private:
  void add(const std::string &what, const std::string &path,
           const std::string &why, const std::string &todo) {
    faults.push_back(Status::error(StatusCode::InvalidInput, what,
                                   path.empty() ? source : source + ": " + path,
                                   why, todo));
  }

  static std::string kindOf(const json &value) {
    std::string name = value.type_name();
    return name == "null"
               ? name
               : (std::string("aeiou").find(name[0]) != std::string::npos
                      ? "an "
                      : "a ") +
                     name;
  }

  bool parse(const std::string &text, json *root) {
    if (text.size() > kMostBytes) {
      add("the cluster's text is too long", "",
          "it has " + std::to_string(text.size()) + " bytes",
          "give the description of one cluster");
      return false;
    }
    // Of a key that is given twice one value would be lost without a word.
    std::vector<std::set<std::string>> open;
    std::set<std::string> twice;
    auto watch = [&](int, json::parse_event_t event, json &value) {
      if (event == json::parse_event_t::object_start)
        open.emplace_back();
      else if (event == json::parse_event_t::object_end)
        open.pop_back();
      else if (event == json::parse_event_t::key &&
               !open.back().insert(value.get<std::string>()).second)
        twice.insert(value.get<std::string>());
      return true;
    };
    try {
      *root = json::parse(text, watch);
    } catch (const json::parse_error &error) {
      addSyntax(text, error);
      return false;
    } catch (const json::exception &error) { // a number out of range
      add("the cluster is no JSON", "", clean(error.what()),
          "write numbers of the usual size");
      return false;
    }
    for (const std::string &key : twice)
      add("a key is given twice", "", inQuotes(key) + " has two values",
          "leave one of them out");
    return twice.empty();
  }

  /// What the parser says, without its name and position.
  static std::string clean(std::string text) {
    for (const char *end : {"] ", ": "})
      if (size_t at = text.find(end); at != std::string::npos)
        text = text.substr(at + 2);
    for (char &c : text)
      if (static_cast<unsigned char>(c) < 0x20 ||
          static_cast<unsigned char>(c) >= 0x7f)
        c = '?';
    return text.size() > 160 ? text.substr(0, 160) + "..." : text;
  }

  void addSyntax(const std::string &text, const json::parse_error &error) {
    // `byte` counts what was read, the wrong one included.
    size_t end = std::min(error.byte == 0 ? 0 : error.byte - 1, text.size());
    size_t line = 1, column = 1;
    for (size_t i = 0; i < end; ++i) {
      column = text[i] == '\n' ? 1 : column + 1;
      line += text[i] == '\n';
    }
    faults.push_back(Status::error(
        StatusCode::InvalidInput, "the cluster is no JSON",
        source + ":" + std::to_string(line) + ":" + std::to_string(column),
        clean(error.what()), "correct it there"));
  }

  /// Unknown ones are faults; those of other frameworks are told.
  void checkKeys(const json &object, const std::string &path,
                 const std::vector<std::string> &known,
                 const std::vector<std::string> &foreign) {
    for (auto &[key, value] : object.items()) {
      if (std::find(known.begin(), known.end(), key) != known.end())
        continue;
      std::string place = path.empty() ? key : path + "." + key;
      if (std::find(foreign.begin(), foreign.end(), key) != foreign.end()) {
        spec->notes.push_back(source + ": " + place + " is not used");
        continue;
      }
      std::string near = nearestWord(key, known), all;
      for (const std::string &name : known)
        all += (all.empty() ? "" : ", ") + name;
      add("unknown key", path, "there is no " + inQuotes(key),
          near.empty() ? "give " + all : "did you mean " + near + "?");
    }
  }

  void readCluster(const json &cluster) {
    if (!cluster.is_object()) {
      add("the cluster is no JSON object", "cluster",
          "it is " + kindOf(cluster),
          "write {\"worker\": [\"HOST:PORT\", ...]}");
      return;
    }
    spec->addressSource = source;
    for (auto &[name, tasks] : cluster.items()) {
      std::optional<Job> job = findJob(name);
      if (job == Job::Evaluator) {
        add("the evaluator stands in the cluster", "cluster",
            "it only reads checkpoints, and no task talks to it",
            "leave it out; its own task is {\"type\": \"evaluator\"}");
      } else if (!job) {
        addUnknownJob("unknown job", name, "cluster");
      } else {
        readTasks(*job, tasks);
      }
    }
  }

  void addUnknownJob(const std::string &what, const std::string &name,
                     const std::string &path) {
    std::string near =
        name == "master" ? "chief" : nearestWord(name, jobNames());
    add(what, path, "there is no " + inQuotes(name),
        near.empty() ? "give chief, worker or ps"
                     : "did you mean " + near + "?");
  }

  void readTasks(Job job, const json &tasks) {
    std::string path = std::string("cluster.") + nameOf(job);
    if (!tasks.is_array() && !tasks.is_object()) {
      add("a job has no list of addresses", path, "it is " + kindOf(tasks),
          "write [\"HOST:PORT\", ...]");
      return;
    }
    if (tasks.empty()) {
      add("a job has no task", path, "its list is empty",
          "leave the job out, or list its addresses");
      return;
    }
    if (tasks.size() > kMostTasks) {
      add("a job has too many tasks", path,
          "it has " + std::to_string(tasks.size()),
          "give at most " + std::to_string(kMostTasks));
      return;
    }
    std::vector<Address> &addresses = spec->of(job);
    addresses.assign(tasks.size(), Address());
    if (tasks.is_array()) {
      for (size_t i = 0; i < tasks.size(); ++i)
        readAddress(tasks[i], path + "[" + std::to_string(i) + "]",
                    &addresses[i]);
      return;
    }
    // {"0": ..., "1": ...}: as many places as tasks, so that one outside leaves
    // another one open.
    for (size_t i = 0; i < tasks.size(); ++i)
      if (!tasks.contains(std::to_string(i)))
        add("a task is missing", path,
            std::string(nameOf(job)) + " " + std::to_string(i) + " of " +
                std::to_string(tasks.size()) + " has no address",
            "give each index from 0 an address");
      else
        readAddress(tasks[std::to_string(i)],
                    path + "[" + std::to_string(i) + "]", &addresses[i]);
  }

  void readAddress(const json &value, const std::string &path,
                   Address *address) {
    if (!value.is_string()) {
      add("an address is no text", path, "it is " + kindOf(value),
          "write \"HOST:PORT\"");
      return;
    }
    const std::string &text = value.get_ref<const std::string &>();
    if (auto fault = parseAddress(text, address))
      add("wrong address " + inQuotes(text), path, fault->why, fault->todo);
  }

  void readTask(const json &task) {
    if (!task.is_object()) {
      add("the task is no JSON object", "task", "it is " + kindOf(task),
          "write {\"type\": \"worker\", \"index\": 0}");
      return;
    }
    checkKeys(task, "task", {"type", "index"},
              {"trial", "environment", "cloud"});
    auto type = task.find("type"), index = task.find("index");
    if (type == task.end() || index == task.end()) {
      add("the task is not complete", "task",
          std::string("there is no \"") +
              (type == task.end() ? "type" : "index") + "\"",
          "write {\"type\": \"worker\", \"index\": 0}");
      return;
    }
    std::optional<Job> job;
    if (!type->is_string())
      add("the task's type is no text", "task.type", "it is " + kindOf(*type),
          "give chief, worker, ps or evaluator");
    else if (job = findJob(type->get_ref<const std::string &>()); !job)
      addUnknownJob("unknown type of task",
                    type->get_ref<const std::string &>(), "task.type");
    // Shells write "0".
    int64_t number = -1;
    if (index->is_string()) {
      const std::string &text = index->get_ref<const std::string &>();
      if (!text.empty() && text.size() < 10 &&
          text.find_first_not_of("0123456789") == std::string::npos)
        number = std::stoi(text);
    } else if (index->is_number_integer() &&
               (!index->is_number_unsigned() ||
                index->get<uint64_t>() <= INT64_MAX)) {
      number = index->get<int64_t>();
    }
    if (number < 0 || number > INT32_MAX) {
      add("the task's index is no number", "task.index",
          "it is " + inQuotes(index->dump(-1, ' ', true,
                                          json::error_handler_t::replace)),
          "give an integer of at least 0");
      return;
    }
    if (job) {
      spec->self = Task{*job, int(number)};
      spec->selfSource = source + ": task";
    }
  }

  void readDevices(const json &devices) {
    if (!devices.is_number_unsigned() || devices.get<uint64_t>() == 0 ||
        devices.get<uint64_t>() > 1024) {
      add("wrong number of devices", "devices",
          "it is " + inQuotes(devices.dump(-1, ' ', true,
                                           json::error_handler_t::replace)),
          "give each worker's devices, 1 to 1024");
      return;
    }
    spec->devices = devices.get<int>();
    spec->devicesSource = source + ": devices";
  }

  const std::string &source;
  ClusterSpec *spec;
  std::vector<Status> faults;
};

} // namespace

std::vector<Status> parseJsonConfig(const std::string &text,
                                    const std::string &source,
                                    ClusterSpec *spec) {
  return Reader(source, spec).read(text);
}

Status parseTask(const std::string &text, const std::string &source,
                 Task *task) {
  size_t colon = text.find(':');
  std::string name = text.substr(0, colon);
  std::string index = colon == std::string::npos ? "" : text.substr(colon + 1);
  std::optional<Job> job = findJob(name);
  auto wrong = [&](const std::string &why, const std::string &todo) {
    return Status::error(StatusCode::InvalidArgument, "wrong option value",
                         source, why, todo);
  };
  if (!job) {
    std::string near = nearestWord(name, jobNames());
    return wrong("there is no " + inQuotes(name),
                 near.empty() ? "give TYPE:INDEX, as worker:0"
                              : "did you mean " + near + "?");
  }
  if (index.empty() || index.size() > 9 ||
      index.find_first_not_of("0123456789") != std::string::npos)
    return wrong(inQuotes(text) + " has no index",
                 "give TYPE:INDEX, as worker:0");
  *task = Task{*job, std::stoi(index)};
  return Status();
}

} // namespace dist::cluster
