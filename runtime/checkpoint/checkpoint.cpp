//===- checkpoint.cpp - Saved states of a training run -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/core/package.h"
#include "runtime/formats/safetensors.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <dirent.h>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

namespace dist {

using nlohmann::json;

static constexpr int kVersion = 2;

/// Variables whose ranks hold different things: saved by rank, so that resuming
/// on the same mesh goes on with the same bits, and reduced for all others.
static bool bySlice(const manifest::Variable &variable) {
  return variable.on_read() || variable.sharding().unreduced_size() > 0;
}
static bool saved(const manifest::Variable &variable) {
  return variable.group() != "constant";
}
static std::string sliceName(const std::string &name, int rank) {
  return name + "@rank" + std::to_string(rank);
}

/// Such as data=2,model=2: whose ranks slices are.
static std::string describeMesh(const manifest::Manifest &manifest) {
  std::string text;
  for (const manifest::Axis &axis : manifest.mesh().axes())
    text += (text.empty() ? "" : ",") + axis.name() + "=" +
            std::to_string(axis.size());
  return text;
}

static std::string stateFolder(const std::string &folder, int64_t step) {
  char name[32];
  std::snprintf(name, sizeof name, "step-%012lld",
                static_cast<long long>(step));
  return folder + "/" + name;
}

/// Steps of the folders `step-N`, newest first.
static std::vector<int64_t> listStates(const std::string &folder) {
  std::vector<int64_t> steps;
  if (DIR *handle = opendir(folder.c_str())) {
    while (dirent *item = readdir(handle)) {
      long long step;
      int used = 0;
      if (std::sscanf(item->d_name, "step-%12lld%n", &step, &used) == 1 &&
          item->d_name[used] == 0)
        steps.push_back(step);
    }
    closedir(handle);
  }
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

/// Makes what was done to a folder's names durable.
static Status syncFolder(const std::string &folder) {
  int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool done = descriptor >= 0 && fsync(descriptor) == 0;
  int error = errno;
  if (descriptor >= 0)
    ::close(descriptor);
  // File systems that cannot do this say EINVAL: nothing more can be asked.
  if (done || error == EINVAL)
    return Status();
  return Status::error(StatusCode::Unavailable, "cannot save checkpoint",
                       folder, std::strerror(error),
                       "check the disk and its free space");
}

static json toJson(const TrainingState &s) {
  return {{"step", s.step},
          {"batch", s.batch},
          {"examples", s.examples},
          {"shuffled", s.shuffled},
          {"seed", s.seed},
          {"drop_remainder", s.dropRemainder},
          {"steps_per_epoch", s.stepsPerEpoch},
          {"epoch_loss", s.epochLoss},
          {"epoch_examples", s.epochExamples},
          {"epoch_seconds", s.epochSeconds}};
}

static bool fromJson(const json &value, TrainingState *s) {
  if (!value.is_object())
    return false;
  auto number = [&](const char *key, auto *out) {
    auto it = value.find(key);
    if (it == value.end() || !it->is_number())
      return false;
    *out = it->get<std::remove_pointer_t<decltype(out)>>();
    return true;
  };
  auto flag = [&](const char *key, bool *out) {
    auto it = value.find(key);
    if (it == value.end() || !it->is_boolean())
      return false;
    *out = it->get<bool>();
    return true;
  };
  return number("step", &s->step) && number("batch", &s->batch) &&
         number("examples", &s->examples) && flag("shuffled", &s->shuffled) &&
         number("seed", &s->seed) &&
         flag("drop_remainder", &s->dropRemainder) &&
         number("steps_per_epoch", &s->stepsPerEpoch) &&
         number("epoch_loss", &s->epochLoss) &&
         number("epoch_examples", &s->epochExamples) &&
         number("epoch_seconds", &s->epochSeconds);
}

Status saveCheckpoint(const std::string &folder, int64_t keep, Session &session,
                      const TrainingState &state) {
  const manifest::Manifest &manifest = session.manifest();
  DIST_RETURN_IF_ERROR(makeFolders(folder));
  // Left behind by a kill in the middle of a save.
  if (DIR *handle = opendir(folder.c_str())) {
    while (dirent *item = readdir(handle))
      if (std::strncmp(item->d_name, ".saving-", 8) == 0)
        removeAll(folder + "/" + item->d_name);
    closedir(handle);
  }
  std::string beside = folder + "/.saving-" + std::to_string(getpid());
  DIST_RETURN_IF_ERROR(makeFolders(beside));
  struct Remover {
    std::string path;
    ~Remover() {
      if (!path.empty())
        removeAll(path);
    }
  } remover{beside};

  std::deque<Tensor> values; // stable addresses until they are written
  SafetensorsWriter writer(beside + "/variables.safetensors");
  auto add = [&](const std::string &name, const Tensor &value) {
    writer.add(name, value.type, value.shape, value.data.data());
  };
  for (int i = 0; i < manifest.variables_size(); ++i) {
    const manifest::Variable &variable = manifest.variables(i);
    if (!saved(variable))
      continue;
    Tensor &whole = values.emplace_back();
    DIST_RETURN_IF_ERROR(session.readVariable(i, &whole));
    add(variable.name(), whole);
    for (int rank = 0; rank < manifest.ranks(); ++rank) {
      if (!bySlice(variable) || !holdsVariable(manifest, variable, rank))
        continue;
      Tensor &slice = values.emplace_back();
      DIST_RETURN_IF_ERROR(session.readSlice(i, rank, &slice));
      add(sliceName(variable.name(), rank), slice);
    }
  }
  uint32_t crc = 0;
  DIST_RETURN_IF_ERROR(writer.finish(true, &crc));
  json content = toJson(state);
  content["version"] = kVersion;
  content["mesh"] = describeMesh(manifest);
  content["variables_crc32"] = crc;
  json file = {{"state", content}, {"crc32", crc32Of(content.dump())}};
  DIST_RETURN_IF_ERROR(
      writeFile(beside + "/state.json", file.dump(1) + "\n", true));
  DIST_RETURN_IF_ERROR(syncFolder(beside));

  std::string target = stateFolder(folder, state.step);
  // The same step again (after resuming from an older state): replaced.
  removeAll(target);
  if (::rename(beside.c_str(), target.c_str()) != 0)
    return Status::error(StatusCode::Unavailable, "cannot save checkpoint",
                         target, std::strerror(errno),
                         "check the folder's permissions");
  remover.path.clear();
  DIST_RETURN_IF_ERROR(syncFolder(folder));
  std::vector<int64_t> steps = listStates(folder);
  for (size_t i = std::max<int64_t>(keep, 1); i < steps.size(); ++i)
    removeAll(stateFolder(folder, steps[i]));
  return Status();
}

/// Checks a state without touching the session.
static Status readState(const std::string &path, TrainingState *state,
                        std::string *mesh,
                        std::unique_ptr<SafetensorsFile> *values) {
  auto damaged = [&](const char *why) {
    return Status::error(StatusCode::InvalidInput, "damaged checkpoint", path,
                         why, "remove it");
  };
  std::shared_ptr<const FileBytes> bytes;
  DIST_RETURN_IF_ERROR(FileBytes::open(path + "/state.json", &bytes));
  std::string_view text = bytes->bytes();
  json file = json::parse(text.begin(), text.end(), nullptr, false);
  if (!file.is_object() || !file.contains("state") ||
      !file["state"].is_object() || !file.contains("crc32") ||
      !file["crc32"].is_number_unsigned())
    return damaged("state.json is malformed");
  const json &content = file["state"];
  if (crc32Of(content.dump(-1, ' ', false, json::error_handler_t::replace)) !=
      file["crc32"].get<uint64_t>())
    return damaged("the checksum of state.json is wrong");
  auto integer = [&](const char *key) -> int64_t {
    auto it = content.find(key);
    return it != content.end() && it->is_number_integer() ? it->get<int64_t>()
                                                          : -1;
  };
  if (integer("version") != kVersion)
    return damaged("it is of another version");
  if (!fromJson(content, state))
    return damaged("state.json lacks a value");
  if (!content.contains("mesh") || !content["mesh"].is_string())
    return damaged("state.json lacks a value");
  *mesh = content["mesh"].get<std::string>();
  DIST_RETURN_IF_ERROR(
      FileBytes::open(path + "/variables.safetensors", &bytes));
  if (crc32Of(bytes->bytes()) != integer("variables_crc32"))
    return damaged("the checksum of variables.safetensors is wrong");
  return SafetensorsFile::map(path + "/variables.safetensors", values);
}

static Status restore(const std::string &path, Session &session,
                      const std::string &mesh, const SafetensorsFile &values) {
  const manifest::Manifest &manifest = session.manifest();
  auto misfit = [&](const std::string &name, const std::string &why) {
    return Status::error(StatusCode::InvalidInput,
                         "checkpoint is of another program", path,
                         "variable '" + name + "' " + why,
                         "resume with the model and options that saved it");
  };
  for (int i = 0; i < manifest.variables_size(); ++i) {
    const manifest::Variable &variable = manifest.variables(i);
    if (!saved(variable))
      continue;
    const std::string &name = variable.name();
    if (!bySlice(variable)) {
      const TensorView *value = values.find(name);
      if (!value)
        return misfit(name, "is missing");
      const auto &type = variable.global_type();
      std::vector<int64_t> shape(type.shape().begin(), type.shape().end());
      if (value->type != type.type() || value->shape != shape)
        return misfit(name, "has shape " + toString(value->shape) +
                                " there, but " + toString(shape) + " here");
      DIST_RETURN_IF_ERROR(session.writeVariable(i, *value));
      continue;
    }
    // Slice by slice where the same ranks hold the like of them now as then; a
    // host more or less, which holds none, makes no difference.
    const auto &local = variable.local_type();
    std::vector<int64_t> shape(local.shape().begin(), local.shape().end());
    bool same = mesh == describeMesh(manifest);
    for (int rank = 0; rank < manifest.ranks() && same; ++rank) {
      const TensorView *slice = values.find(sliceName(name, rank));
      same = holdsVariable(manifest, variable, rank) == (slice != nullptr) &&
             (!slice || (slice->type == local.type() && slice->shape == shape));
    }
    for (int rank = 0; rank < manifest.ranks() && same; ++rank)
      if (const TensorView *slice = values.find(sliceName(name, rank)))
        DIST_RETURN_IF_ERROR(session.writeSlice(i, rank, *slice));
    if (same)
      continue;
    const TensorView *whole = values.find(name);
    if (!whole)
      return misfit(name, "is missing");
    DIST_RETURN_IF_ERROR(session.writeVariable(i, *whole));
  }
  return Status();
}

Status loadCheckpoint(const std::string &folder, Session &session,
                      TrainingState *state, bool *found,
                      std::vector<std::string> *notes) {
  *found = false;
  std::vector<int64_t> steps = listStates(folder);
  for (int64_t step : steps) {
    std::string path = stateFolder(folder, step);
    std::unique_ptr<SafetensorsFile> values;
    TrainingState read;
    std::string mesh;
    Status status = readState(path, &read, &mesh, &values);
    if (!status.ok()) {
      notes->push_back(status.message() + "; going back to the one before");
      continue;
    }
    DIST_RETURN_IF_ERROR(restore(path, session, mesh, *values));
    *state = read;
    *found = true;
    return Status();
  }
  if (!steps.empty())
    return Status::error(StatusCode::InvalidInput, "no sound checkpoint",
                         folder, notes->empty() ? "" : notes->back(),
                         "remove the folder to start anew");
  return Status();
}

Status saveVariables(const std::string &path, Session &session) {
  const manifest::Manifest &manifest = session.manifest();
  std::deque<Tensor> values;
  SafetensorsWriter writer(path);
  for (int i = 0; i < manifest.variables_size(); ++i) {
    const manifest::Variable &variable = manifest.variables(i);
    if (variable.group() != "parameter" && variable.group() != "buffer")
      continue;
    Tensor &value = values.emplace_back();
    DIST_RETURN_IF_ERROR(session.readVariable(i, &value));
    writer.add(variable.model_name().empty() ? variable.name()
                                             : variable.model_name(),
               value.type, value.shape, value.data.data());
  }
  return writer.finish();
}

} // namespace dist
