//===- values.cpp - The variables of a saved state -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/values.h"
#include "runtime/core/package.h"
#include <algorithm>
#include <cerrno>
#include <deque>
#include <sys/stat.h>

namespace dist {

using manifest::Variable;

static constexpr const char *kFile = "/variables.safetensors";
static constexpr const char *kIteration = "optimizer/iteration";
static constexpr const char *kLearningRate = "optimizer/learning_rate";

/// Variables whose ranks hold different things: saved by rank, so that resuming
/// on the same mesh goes on with the same bits, and reduced for all others.
static bool bySlice(const Variable &variable) {
  return variable.on_read() || variable.sharding().unreduced_size() > 0;
}
static bool saved(const Variable &variable) {
  return variable.group() != "constant";
}
bool isOfModel(const std::string &group) {
  return group == "parameter" || group == "buffer";
}
static std::string sliceName(const std::string &name, int rank) {
  return name + "@rank" + std::to_string(rank);
}

static std::string bestName(const std::string &name) { return "best@" + name; }

static std::string describeMesh(const manifest::Manifest &manifest) {
  std::string text;
  for (const manifest::Axis &axis : manifest.mesh().axes())
    text += (text.empty() ? "" : ",") + axis.name() + "=" +
            std::to_string(axis.size());
  return text;
}

/// `adam` of `adam:lr=1e-3`.
static std::string optimizerOf(const manifest::Manifest &manifest) {
  auto given = manifest.options().find("optimizer");
  return given == manifest.options().end()
             ? ""
             : given->second.substr(0, given->second.find(':'));
}

static int64_t accumulateOf(const manifest::Manifest &manifest) {
  return std::max<int64_t>(manifest.accumulate_steps(), 1);
}

Status writeValues(const std::string &folder, Session &session,
                   StateHeader *header) {
  const manifest::Manifest &manifest = session.manifest();
  header->mesh = describeMesh(manifest);
  header->optimizer = optimizerOf(manifest);
  header->accumulate = accumulateOf(manifest);
  header->groups.emplace();
  std::deque<Tensor> values; // stable addresses until they are written
  SafetensorsWriter writer(folder + kFile);
  auto add = [&](const std::string &name, const Tensor &value) {
    writer.add(name, value.type, value.shape, value.data.data());
  };
  for (int i = 0; i < manifest.variables_size(); ++i) {
    const Variable &variable = manifest.variables(i);
    if (!saved(variable))
      continue;
    header->groups->emplace(variable.name(), variable.group());
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
  if (header->training.bestValues)
    for (auto &[name, value] : *header->training.bestValues)
      add(bestName(name), value);
  return writer.finish(true, &header->variablesCrc);
}

Status readValues(const std::string &folder, const StateHeader &header,
                  std::unique_ptr<SafetensorsFile> *out, bool *damaged) {
  std::string path = folder + kFile;
  auto wrong = [&](const char *why) {
    return Status::error(StatusCode::InvalidInput, "damaged checkpoint", folder,
                         why);
  };
  *damaged = true;
  struct stat info;
  if (stat(path.c_str(), &info) != 0 && errno == ENOENT)
    return wrong("variables.safetensors is missing");
  *damaged = false;
  std::shared_ptr<const FileBytes> bytes;
  DIST_RETURN_IF_ERROR(FileBytes::open(path, &bytes));
  *damaged = true;
  if (crc32Of(bytes->bytes()) != header.variablesCrc)
    return wrong("the checksum of variables.safetensors is wrong");
  DIST_RETURN_IF_ERROR(SafetensorsFile::open(path, out));
  *damaged = false;
  return Status();
}

namespace {

class Restorer {
public:
  Restorer(const std::string &folder, const StateHeader &header,
           const SafetensorsFile &values, Session &session,
           std::vector<std::string> *notes)
      : folder(folder), header(header), values(values), session(session),
        manifest(session.manifest()), notes(notes) {}
  Status run(TrainingState *state);

private:
  Status checkModel() const;
  bool findsAnotherOptimizer() const;
  int64_t accumulateBefore() const;
  Status restore(int index, bool *fits);
  void readBest(TrainingState *state) const;
  bool restoresSlices(const Variable &variable) const;
  void tellOfAccumulation(TrainingState *state) const;
  void tellOfTheRest() const;

  Status misfit(const std::string &name, const std::string &why) const {
    return Status::error(StatusCode::InvalidInput,
                         "checkpoint is of another model", folder,
                         "variable '" + name + "' " + why,
                         "resume with the model that saved it, or give "
                         "another folder");
  }

  const std::string &folder;
  const StateHeader &header;
  const SafetensorsFile &values;
  Session &session;
  const manifest::Manifest &manifest;
  std::vector<std::string> *notes;
  bool anotherOptimizer = false, anotherAccumulation = false;
  /// Variables that begin anew, by group.
  std::map<std::string, std::vector<std::string>> anew;
};

} // namespace

static std::vector<int64_t> shapeOf(const manifest::TensorType &type) {
  return {type.shape().begin(), type.shape().end()};
}

/// The first difference between the saved model and this one, as an error.
Status Restorer::checkModel() const {
  std::map<std::string, bool> here;
  for (const Variable &variable : manifest.variables()) {
    const std::string &name = variable.name();
    here[name] = true;
    if (!isOfModel(variable.group()))
      continue;
    const TensorView *value = values.find(name);
    if (!value)
      return misfit(name, "is missing");
    // What is reduced when it is read has a shape of its own.
    if (bySlice(variable))
      continue;
    const manifest::TensorType &type = variable.global_type();
    if (value->shape != shapeOf(type))
      return misfit(name, "has shape " + toString(value->shape) +
                              " there, but " + toString(shapeOf(type)) +
                              " here");
    if (value->type != type.type())
      return misfit(name, std::string("has type ") + dist::name(value->type) +
                              " there, but " + dist::name(type.type()) +
                              " here");
  }
  if (header.groups)
    for (auto &[name, group] : *header.groups)
      if (isOfModel(group) && !here.count(name))
        return misfit(name, "is there, but not in this model");
  return Status();
}

/// Older states do not name theirs: then slots that are missing, or that this
/// optimizer does not have, tell.
bool Restorer::findsAnotherOptimizer() const {
  if (header.optimizer)
    return *header.optimizer != optimizerOf(manifest);
  std::map<std::string, bool> here;
  for (const Variable &variable : manifest.variables()) {
    here[variable.name()] = true;
    if (variable.group() == "slot" && !values.find(variable.name()))
      return true;
  }
  for (auto &[name, view] : values.tensors())
    if (name.compare(0, 10, "optimizer/") == 0 && name != kIteration &&
        name != kLearningRate && name.find("@rank") == std::string::npos &&
        !here.count(name))
      return true;
  return false;
}

/// Whether the same ranks hold the like of the variable's slices now as then; a
/// host more or less, which holds none, makes no difference.
bool Restorer::restoresSlices(const Variable &variable) const {
  if (header.mesh != describeMesh(manifest))
    return false;
  const manifest::TensorType &local = variable.local_type();
  for (int rank = 0; rank < manifest.ranks(); ++rank) {
    const TensorView *slice = values.find(sliceName(variable.name(), rank));
    if (holdsVariable(manifest, variable, rank) != (slice != nullptr) ||
        (slice &&
         (slice->type != local.type() || slice->shape != shapeOf(local))))
      return false;
  }
  return true;
}

/// `fits` becomes false when there is no value for the variable.
Status Restorer::restore(int index, bool *fits) {
  const Variable &variable = manifest.variables(index);
  const std::string &name = variable.name();
  const TensorView *whole = values.find(name);
  *fits = true;
  if (!bySlice(variable)) {
    const manifest::TensorType &type = variable.global_type();
    *fits =
        whole && whole->type == type.type() && whole->shape == shapeOf(type);
    return *fits ? session.writeVariable(index, *whole) : Status();
  }
  if (restoresSlices(variable)) {
    for (int rank = 0; rank < manifest.ranks(); ++rank)
      if (const TensorView *slice = values.find(sliceName(name, rank)))
        DIST_RETURN_IF_ERROR(session.writeSlice(index, rank, *slice));
    return Status();
  }
  *fits = whole != nullptr;
  if (!whole)
    return Status();
  Status status = session.writeVariable(index, *whole);
  // Nothing is written of a value that does not fit.
  if (status.code() != StatusCode::InvalidInput)
    return status;
  if (isOfModel(variable.group()))
    return misfit(name, "does not fit: " + status.message());
  *fits = false;
  return Status();
}

/// The best values, where there is one for each variable of the model.
void Restorer::readBest(TrainingState *state) const {
  auto best = std::make_shared<std::map<std::string, Tensor>>();
  for (const Variable &variable : manifest.variables()) {
    if (!isOfModel(variable.group()))
      continue;
    const TensorView *view = values.find(bestName(variable.name()));
    const TensorView *last = values.find(variable.name());
    if (!view || !last || view->type != last->type ||
        view->shape != last->shape)
      return;
    Tensor &copy = (*best)[variable.name()];
    copy.type = view->type;
    copy.shape = view->shape;
    const char *bytes = static_cast<const char *>(view->data);
    copy.data.assign(bytes, bytes + view->bytes());
  }
  state->bestValues = std::move(best);
}

/// Older states do not say; they hold sums where there were some.
int64_t Restorer::accumulateBefore() const {
  if (header.accumulate)
    return std::max<int64_t>(*header.accumulate, 1);
  for (auto &[name, view] : values.tensors())
    if (name.compare(0, 12, "accumulator/") == 0)
      return accumulateOf(manifest);
  return 1;
}

void Restorer::tellOfAccumulation(TrainingState *state) const {
  int64_t before = accumulateBefore();
  int64_t pending = (state->step - state->updatesFrom) % before;
  state->updatesFrom = state->step;
  std::string text =
      "an update is of " + std::to_string(accumulateOf(manifest)) +
      " batches from here on, and was of " + std::to_string(before);
  if (pending > 0)
    text += "; " + std::to_string(pending) +
            " batches that were summed for the next one are dropped";
  notes->push_back(text);
}

void Restorer::tellOfTheRest() const {
  static const std::pair<const char *, const char *> kinds[] = {
      {"slot", "slots of the optimizer"},
      {"counter", "counters"},
      {"metric", "metrics"},
      {"accumulator", "sums of gradients"},
      {"compression", "what --compress holds back"}};
  for (auto &[group, names] : anew) {
    std::string what = "variables of group '" + group + "'";
    for (auto &[known, text] : kinds)
      if (group == known)
        what = text;
    notes->push_back(
        "not in the saved state, beginning anew: " + what + " (" + names[0] +
        (names.size() > 1 ? " and " + std::to_string(names.size() - 1) + " more"
                          : "") +
        ")");
  }
  if (!header.groups)
    return;
  int64_t dropped = 0;
  for (auto &[name, group] : *header.groups)
    dropped +=
        group == "compression" &&
        std::none_of(manifest.variables().begin(), manifest.variables().end(),
                     [&, &name = name](const Variable &variable) {
                       return variable.name() == name;
                     });
  if (dropped > 0)
    notes->push_back(
        "what --compress held back is dropped: " + std::to_string(dropped) +
        " variables of the saved state are not in this program");
}

Status Restorer::run(TrainingState *state) {
  DIST_RETURN_IF_ERROR(checkModel());
  anotherOptimizer = findsAnotherOptimizer();
  anotherAccumulation = accumulateBefore() != accumulateOf(manifest);
  bool hasOptimizer = false;
  for (int i = 0; i < manifest.variables_size(); ++i) {
    const Variable &variable = manifest.variables(i);
    bool ofOptimizer = variable.group() == "slot" ||
                       variable.name() == kIteration ||
                       variable.name() == kLearningRate;
    hasOptimizer |= ofOptimizer;
    // Sums of another optimizer's gradients are as good as this one's.
    if (!saved(variable) || (anotherOptimizer && ofOptimizer) ||
        (anotherAccumulation && variable.group() == "accumulator"))
      continue;
    bool fits = false;
    DIST_RETURN_IF_ERROR(restore(i, &fits));
    if (!fits)
      anew[variable.group()].push_back(variable.name());
  }
  *state = header.training;
  readBest(state);
  if (anotherOptimizer)
    notes->push_back(
        "the optimizer is another one (" +
        (header.optimizer ? "'" + *header.optimizer + "' before, " : "") + "'" +
        optimizerOf(manifest) + "' now): the variables keep their values" +
        (hasOptimizer ? ", its slots and its count of updates begin anew"
                      : ""));
  if (anotherAccumulation)
    tellOfAccumulation(state);
  tellOfTheRest();
  return Status();
}

Status restoreValues(const std::string &folder, const StateHeader &header,
                     const SafetensorsFile &values, Session &session,
                     TrainingState *state, std::vector<std::string> *notes) {
  return Restorer(folder, header, values, session, notes).run(state);
}

} // namespace dist
