//===- state.cpp - What a saved state says of itself -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/state.h"
#include "runtime/formats/file.h"
#include "runtime/formats/file_system.h"
#include "runtime/formats/json.h"
#include <cerrno>
#include <cmath>
#include <sys/stat.h>

namespace dist {

using nlohmann::json;

/// States of version 2 have one file of variables and no index of it.
static constexpr int kVersion = 3, kWithoutIndex = 2;

/// JSON has no numbers for NaN and infinities: they are written as words.
static json fromDouble(double value) {
  if (std::isfinite(value))
    return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

static bool toDouble(const json &value, double *out) {
  if (value.is_number())
    *out = value.get<double>();
  else if (value == "NaN" || value.is_null()) // null: as it was once written
    *out = NAN;
  else if (value == "Infinity")
    *out = INFINITY;
  else if (value == "-Infinity")
    *out = -INFINITY;
  else
    return false;
  return true;
}

static json toJson(const TrainingState &s) {
  json value = {{"step", s.step},
                {"batch", s.batch},
                {"examples", s.examples},
                {"shuffled", s.shuffled},
                {"seed", s.seed},
                {"drop_remainder", s.dropRemainder},
                {"steps_per_epoch", s.stepsPerEpoch},
                {"epoch_loss", fromDouble(s.epochLoss)},
                {"epoch_examples", s.epochExamples},
                {"epoch_seconds", fromDouble(s.epochSeconds)},
                {"updates_from", s.updatesFrom}};
  if (!s.workerExamples.empty()) {
    value["shard_policy"] = s.shardPolicy;
    value["worker_examples"] = s.workerExamples;
  }
  if (s.pendingEpoch) {
    json values = json::array();
    for (auto &[name, number] : s.pendingEpoch->values)
      values.push_back({name, fromDouble(number)});
    value["pending_epoch"] = {{"values", values},
                              {"examples", s.pendingEpoch->examples},
                              {"seconds", fromDouble(s.pendingEpoch->seconds)}};
  }
  for (auto &[option, watch] : s.watched) {
    json &item = value["watched"][option];
    item = {{"metric", watch.metric},
            {"best_epoch", watch.bestEpoch},
            {"waited", watch.waited},
            {"cooldown", watch.cooldown}};
    if (watch.best)
      item["best"] = *watch.best;
  }
  return value;
}

namespace {

/// Reads the members of an object; what is missing or of another type makes it
/// fail.
class Reader {
public:
  explicit Reader(const json &value) : value(value) {}
  bool ok() const { return good; }
  bool has(const char *key) const { return value.contains(key); }

  template <typename Integer> void integer(const char *key, Integer *out) {
    const json *item = find(key);
    if (item && item->is_number_integer())
      *out = item->get<Integer>();
    else
      good = false;
  }
  void number(const char *key, double *out) {
    const json *item = find(key);
    good &= item && toDouble(*item, out);
  }
  void flag(const char *key, bool *out) {
    const json *item = find(key);
    if (item && item->is_boolean())
      *out = item->get<bool>();
    else
      good = false;
  }
  void text(const char *key, std::string *out) {
    const json *item = find(key);
    if (item && item->is_string())
      *out = item->get<std::string>();
    else
      good = false;
  }
  const json *find(const char *key) const {
    auto it = value.find(key);
    return it == value.end() ? nullptr : &*it;
  }
  void fail() { good = false; }

private:
  const json &value;
  bool good = true;
};

} // namespace

static void readShards(Reader &reader, TrainingState *s) {
  reader.text("shard_policy", &s->shardPolicy);
  const json *counts = reader.find("worker_examples");
  if (!counts || !counts->is_array())
    return reader.fail();
  for (const json &count : *counts)
    if (count.is_number_integer())
      s->workerExamples.push_back(count.get<int64_t>());
    else
      reader.fail();
}

static void readPendingEpoch(const json &value, Reader &whole,
                             TrainingState *s) {
  if (!value.is_object() || !value.contains("values") ||
      !value["values"].is_array())
    return whole.fail();
  TrainingState::PendingEpoch pending;
  for (const json &pair : value["values"]) {
    double number = 0;
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() ||
        !toDouble(pair[1], &number))
      return whole.fail();
    pending.values.emplace_back(pair[0].get<std::string>(), number);
  }
  Reader reader(value);
  reader.integer("examples", &pending.examples);
  reader.number("seconds", &pending.seconds);
  if (!reader.ok())
    return whole.fail();
  s->pendingEpoch = std::move(pending);
}

static void readWatched(const json &value, Reader &whole, TrainingState *s) {
  if (!value.is_object())
    return whole.fail();
  for (auto &[option, item] : value.items()) {
    if (!item.is_object())
      return whole.fail();
    Reader reader(item);
    WatchState &watch = s->watched[option];
    reader.text("metric", &watch.metric);
    reader.integer("best_epoch", &watch.bestEpoch);
    reader.integer("waited", &watch.waited);
    reader.integer("cooldown", &watch.cooldown);
    if (reader.has("best"))
      reader.number("best", &watch.best.emplace());
    if (!reader.ok())
      return whole.fail();
  }
}

/// False when a value is missing or malformed. What older states lack keeps its
/// default.
static bool fromJson(const json &content, StateHeader *header) {
  TrainingState *s = &header->training;
  Reader reader(content);
  reader.integer("step", &s->step);
  reader.integer("batch", &s->batch);
  reader.integer("examples", &s->examples);
  reader.flag("shuffled", &s->shuffled);
  reader.integer("seed", &s->seed);
  reader.flag("drop_remainder", &s->dropRemainder);
  reader.integer("steps_per_epoch", &s->stepsPerEpoch);
  reader.number("epoch_loss", &s->epochLoss);
  reader.integer("epoch_examples", &s->epochExamples);
  reader.number("epoch_seconds", &s->epochSeconds);
  reader.text("mesh", &header->mesh);
  reader.integer(header->hasIndex ? "index_crc32" : "variables_crc32",
                 &header->crc);
  if (reader.has("updates_from"))
    reader.integer("updates_from", &s->updatesFrom);
  if (reader.has("shard_policy"))
    readShards(reader, s);
  if (const json *pending = reader.find("pending_epoch"))
    readPendingEpoch(*pending, reader, s);
  if (const json *watched = reader.find("watched"))
    readWatched(*watched, reader, s);
  if (reader.has("run")) {
    reader.text("run", &header->run);
    reader.integer("epoch", &header->epoch);
  }
  if (reader.has("optimizer"))
    reader.text("optimizer", &header->optimizer.emplace());
  if (reader.has("accumulate"))
    reader.integer("accumulate", &header->accumulate.emplace());
  if (const json *groups = reader.find("groups")) {
    header->groups.emplace();
    for (auto &[name, group] : groups->items())
      if (group.is_string())
        header->groups->emplace(name, group.get<std::string>());
  }
  return reader.ok();
}

Status writeHeader(const std::string &folder, const StateHeader &header) {
  json content = toJson(header.training);
  content["version"] = kVersion;
  content["mesh"] = header.mesh;
  content["index_crc32"] = header.crc;
  content["run"] = header.run;
  content["epoch"] = header.epoch;
  if (header.optimizer)
    content["optimizer"] = *header.optimizer;
  if (header.accumulate)
    content["accumulate"] = *header.accumulate;
  if (header.groups)
    content["groups"] = *header.groups;
  json file = {{"state", content}, {"crc32", crc32Of(jsonText(content))}};
  return writeFile(folder + "/state.json", jsonText(file, 1) + "\n", true);
}

Status damagedState(const std::string &folder, const std::string &why) {
  return Status::error(StatusCode::InvalidInput, "damaged checkpoint", folder,
                       why);
}

Status openStateFile(const std::string &folder, const std::string &name,
                     std::shared_ptr<const FileBytes> *out, bool *damaged) {
  std::string path = folder + "/" + name;
  struct stat info;
  *damaged = fileSystem().status(path, &info) != 0 && errno == ENOENT;
  return *damaged ? damagedState(folder, name + " is missing")
                  : FileBytes::open(path, out);
}

Status readHeader(const std::string &folder, StateHeader *out, bool *damaged) {
  *out = StateHeader();
  auto wrong = [&](const char *why) { return damagedState(folder, why); };
  std::shared_ptr<const FileBytes> bytes;
  DIST_RETURN_IF_ERROR(openStateFile(folder, "state.json", &bytes, damaged));
  *damaged = true;
  json file = parseJson(bytes->bytes());
  if (!file.is_object() || !file.contains("state") ||
      !file["state"].is_object() || !file.contains("crc32") ||
      !file["crc32"].is_number_unsigned())
    return wrong("state.json is malformed");
  const json &content = file["state"];
  if (crc32Of(jsonText(content)) != file["crc32"].get<uint64_t>())
    return wrong("the checksum of state.json is wrong");
  auto version = content.find("version");
  if (version == content.end() || !version->is_number_integer())
    return wrong("state.json lacks a value");
  out->hasIndex = version->get<int64_t>() != kWithoutIndex;
  if (out->hasIndex && version->get<int64_t>() != kVersion) {
    *damaged = false;
    return Status::error(StatusCode::InvalidInput,
                         "the checkpoint is of another version", folder, "",
                         "go on with the dist-run that saved it");
  }
  if (!fromJson(content, out))
    return wrong("state.json lacks a value");
  *damaged = false;
  return Status();
}

} // namespace dist
