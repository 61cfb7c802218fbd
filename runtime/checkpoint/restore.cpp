//===- restore.cpp - Taking up the variables of a state -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/values.h"
#include "runtime/comm/common/reduce.h"
#include "runtime/core/package.h"
#include <algorithm>
#include <cstring>

namespace dist {

using manifest::Variable;
using Kind = SavedPart::Kind;

static constexpr const char *kIteration = "optimizer/iteration";
static constexpr const char *kLearningRate = "optimizer/learning_rate";

static int64_t accumulateOf(const manifest::Manifest &manifest) {
  return std::max<int64_t>(manifest.accumulate_steps(), 1);
}

Restorer::Restorer(const std::string &folder, const StateHeader &header,
                   const SavedValues &values, Session &session, Restores what)
    : folder(folder), header(header), values(values), session(session),
      what(what), manifest(session.manifest()),
      distributions(manifest.variables_size()) {}

Status Restorer::misfit(const std::string &name, const std::string &why) const {
  return Status::error(StatusCode::InvalidInput,
                       "checkpoint is of another model", folder,
                       "variable '" + name + "' " + why,
                       what == Restores::All
                           ? "resume with the model that saved it, or give "
                             "another folder"
                           : "give the model that is trained there, or another "
                             "folder");
}

//===----------------------------------------------------------------------===//
// Whether the state fits
//===----------------------------------------------------------------------===//

/// The first difference between the saved model and this one, as an error.
Status Restorer::checkModel() const {
  std::map<std::string, bool> here;
  for (const Variable &variable : manifest.variables()) {
    const std::string &name = variable.name();
    here[name] = true;
    if (!isOfModel(variable.group()))
      continue;
    std::vector<const SavedPart *> boxes = values.find(name, Kind::Box);
    if (boxes.empty() && values.find(name, Kind::Slice).empty())
      return misfit(name, "is missing");
    // What is reduced when it is read has a shape of its own.
    if (isSavedBySlice(variable) || boxes.empty())
      continue;
    const manifest::TensorType &type = variable.global_type();
    const SavedPart &box = *boxes.front();
    if (box.whole != shapeOf(type))
      return misfit(name, "has shape " + toString(box.whole) + " there, but " +
                              toString(shapeOf(type)) + " here");
    DataType saved = values.viewOf(box).type;
    if (saved != type.type())
      return misfit(name, std::string("has type ") + dist::name(saved) +
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
  StateHeader here;
  describe(manifest, &here);
  if (header.optimizer)
    return *header.optimizer != *here.optimizer;
  std::map<std::string, bool> known;
  for (const Variable &variable : manifest.variables()) {
    known[variable.name()] = true;
    if (variable.group() == "slot" &&
        values.find(variable.name(), Kind::Box).empty() &&
        values.find(variable.name(), Kind::Slice).empty())
      return true;
  }
  for (const std::string &name : values.variables())
    if (name.compare(0, 10, "optimizer/") == 0 && name != kIteration &&
        name != kLearningRate && !known.count(name))
      return true;
  return false;
}

/// Older states do not say; they hold sums where there were some.
int64_t Restorer::accumulateBefore() const {
  if (header.accumulate)
    return std::max<int64_t>(*header.accumulate, 1);
  for (const std::string &name : values.variables())
    if (name.compare(0, 12, "accumulator/") == 0)
      return accumulateOf(manifest);
  return 1;
}

static bool isOfOptimizer(const Variable &variable) {
  return variable.group() == "slot" || variable.name() == kIteration ||
         variable.name() == kLearningRate;
}

bool Restorer::isRestored(const Variable &variable) const {
  // Sums of another optimizer's gradients are as good as this one's.
  if (what == Restores::Model)
    return isOfModel(variable.group());
  return isSaved(variable) && !(anotherOptimizer && isOfOptimizer(variable)) &&
         !(anotherAccumulation && variable.group() == "accumulator");
}

/// Whether boxes are all of the variable's value, so that none is missing.
Status Restorer::checkComplete(const Variable &variable,
                               const std::vector<const SavedPart *> &boxes,
                               bool *damaged) const {
  int64_t elements = 0;
  for (const SavedPart *box : boxes)
    elements += elementCount(values.viewOf(*box).shape);
  *damaged = !boxes.empty() && elements != elementCount(boxes.front()->whole);
  if (!*damaged)
    return Status();
  return damagedState(folder, "a part of '" + variable.name() + "' is missing");
}

Status Restorer::check(bool *damaged) {
  *damaged = false;
  DIST_RETURN_IF_ERROR(checkModel());
  for (int i = 0; i < manifest.variables_size(); ++i)
    DIST_RETURN_IF_ERROR(distribute(manifest, manifest.variables(i),
                                    manifest.model_name(), &distributions[i]));
  anotherOptimizer = findsAnotherOptimizer();
  anotherAccumulation = accumulateBefore() != accumulateOf(manifest);
  for (int i = 0; i < manifest.variables_size(); ++i) {
    const Variable &variable = manifest.variables(i);
    if (!isRestored(variable))
      continue;
    DIST_RETURN_IF_ERROR(checkComplete(
        variable, values.find(variable.name(), Kind::Box), damaged));
    for (const SavedPart *part : partsToRead(i))
      DIST_RETURN_IF_ERROR(values.check(*part, damaged));
  }
  if (what == Restores::Model)
    return Status();
  for (const SavedPart *part : bestParts())
    DIST_RETURN_IF_ERROR(values.check(*part, damaged));
  return Status();
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

/// What a rank has of a variable, as saved by the first rank that had the same;
/// older states have it for each.
const SavedPart *Restorer::sliceOf(int index, int rank) const {
  const Distribution &here = distributions[index];
  int64_t first = rank;
  for (int64_t other = rank; other-- > 0;)
    if (here.slices[other].firstCopy &&
        here.slices[other].start == here.slices[rank].start &&
        here.slices[other].partial == here.slices[rank].partial)
      first = other;
  const SavedPart *found = nullptr;
  for (const SavedPart *slice :
       values.find(manifest.variables(index).name(), Kind::Slice))
    if (slice->rank == rank || (slice->rank == first && !found))
      found = slice;
  return found;
}

/// Whether the same ranks hold the like of the variable's slices now as then; a
/// host more or less, which holds none, makes no difference.
bool Restorer::restoresSlices(int index) const {
  StateHeader here;
  describe(manifest, &here);
  if (header.mesh != here.mesh)
    return false;
  const Variable &variable = manifest.variables(index);
  const manifest::TensorType &local = variable.local_type();
  for (int rank = 0; rank < manifest.ranks(); ++rank) {
    const SavedPart *slice = sliceOf(index, rank);
    if (!holdsVariable(manifest, variable, rank)) {
      if (slice && slice->rank == rank)
        return false;
      continue;
    }
    if (!slice || values.viewOf(*slice).type != local.type() ||
        values.viewOf(*slice).shape != shapeOf(local))
      return false;
  }
  return true;
}

/// What this process needs of a variable.
std::vector<const SavedPart *> Restorer::partsToRead(int index) const {
  const Variable &variable = manifest.variables(index);
  const Distribution &here = distributions[index];
  std::vector<const SavedPart *> needed;
  std::vector<const SavedPart *> boxes =
      values.find(variable.name(), Kind::Box);
  if (!isSavedBySlice(variable) && !boxes.empty()) {
    for (const SavedPart *box : boxes) {
      Box saved = {box->start, values.viewOf(*box).shape};
      bool wanted = false;
      for (int rank : session.localRanks())
        wanted |= box->whole == here.globalShape &&
                  holdsVariable(manifest, variable, rank) &&
                  overlap(saved, {here.slices[rank].start, here.localShape});
      if (wanted)
        needed.push_back(box);
    }
    return needed;
  }
  if (!isSavedBySlice(variable) || !restoresSlices(index))
    return boxes.empty() ? values.find(variable.name(), Kind::Slice) : boxes;
  for (int rank : session.localRanks())
    if (holdsVariable(manifest, variable, rank))
      needed.push_back(sliceOf(index, rank));
  return needed;
}

/// Gives each rank its slice, put together from the boxes that have some of it.
Status Restorer::restoreBoxes(int index) {
  const Distribution &here = distributions[index];
  std::vector<const SavedPart *> boxes = partsToRead(index);
  Tensor slice;
  const std::vector<int64_t> *start = nullptr; // of what is in `slice`
  for (int rank : session.localRanks()) {
    if (!holdsVariable(manifest, manifest.variables(index), rank))
      continue;
    Box wanted = {here.slices[rank].start, here.localShape};
    // Mirrored ranks get what is read once.
    if (!start || *start != wanted.start) {
      start = &here.slices[rank].start;
      if (boxes.size() == 1 && boxes.front()->start == wanted.start &&
          values.viewOf(*boxes.front()).shape == wanted.shape) {
        DIST_RETURN_IF_ERROR(values.read(*boxes.front(), &slice));
      } else {
        slice.type = here.type;
        slice.shape = here.localShape;
        slice.data.assign(here.localBytes, 0);
        for (const SavedPart *box : boxes) {
          Box saved = {box->start, values.viewOf(*box).shape};
          if (!overlap(saved, wanted))
            continue;
          Tensor part;
          DIST_RETURN_IF_ERROR(values.read(*box, &part));
          copyOverlap(saved, part.data.data(), wanted, slice.data.data(),
                      byteSize(here.type));
        }
      }
    }
    DIST_RETURN_IF_ERROR(session.writeSlice(index, rank, slice.view()));
  }
  return Status();
}

/// Whether there was a row for each replica, as moving statistics have, of a
/// variable that has none here, for one replica: they are read as their mean.
static bool hadRows(const Variable &variable, const Tensor &saved) {
  const std::vector<int64_t> here = shapeOf(variable.global_type());
  return isOfModel(variable.group()) && saved.shape.size() == here.size() + 1 &&
         std::equal(here.begin(), here.end(), saved.shape.begin() + 1) &&
         saved.type == variable.global_type().type() &&
         (saved.type == manifest::F32 || saved.type == manifest::F64);
}

/// The value of a variable whose ranks hold different things, as a session of
/// the mesh that saved it reads it.
Status Restorer::reduceSlices(int index, Tensor *out) const {
  const Variable &variable = manifest.variables(index);
  std::vector<const SavedPart *> slices =
      values.find(variable.name(), Kind::Slice);
  // The order in which a session adds them up; equal places do not overlap.
  std::sort(slices.begin(), slices.end(),
            [](const SavedPart *one, const SavedPart *other) {
              return one->partial < other->partial;
            });
  out->type = values.viewOf(*slices.front()).type;
  out->shape = slices.front()->whole;
  Box whole = {std::vector<int64_t>(out->shape.size(), 0), out->shape};
  out->data.assign(out->view().bytes(), 0);
  ReduceFn add = findReduction(out->type, Reduction::Sum);
  for (const SavedPart *slice : slices) {
    const TensorView &view = values.viewOf(*slice);
    if (slice->whole != out->shape || view.type != out->type ||
        (slice->partial > 0 && !add))
      return misfit(variable.name(), "has slices that do not fit together");
    Tensor part;
    DIST_RETURN_IF_ERROR(values.read(*slice, &part));
    Box box = {slice->start, view.shape};
    if (slice->partial == 0) {
      copyOverlap(box, part.data.data(), whole, out->data.data(),
                  byteSize(out->type));
      continue;
    }
    Tensor widened;
    if (view.shape != out->shape) {
      widened.data.assign(out->data.size(), 0);
      copyOverlap(box, part.data.data(), whole, widened.data.data(),
                  byteSize(out->type));
      part.data = std::move(widened.data);
    }
    const void *from[] = {out->data.data(), part.data.data()};
    void *to = out->data.data();
    add(from, 2, &to, 1, 0, elementCount(out->shape));
  }
  if (isReadAsOneRow(variable) && !out->shape.empty())
    readAsOneRow(variable, out);
  if (!isReadAsOneRow(variable) && hadRows(variable, *out)) {
    Variable rows = variable;
    rows.set_aggregation("mean");
    readAsOneRow(rows, out);
  }
  return Status();
}

/// The global value, of what the parts are of.
Status Restorer::readWhole(int index, Tensor *out) const {
  std::vector<const SavedPart *> boxes =
      values.find(manifest.variables(index).name(), Kind::Box);
  if (boxes.empty())
    return reduceSlices(index, out);
  if (boxes.size() == 1)
    return values.read(*boxes.front(), out);
  out->type = values.viewOf(*boxes.front()).type;
  out->shape = boxes.front()->whole;
  out->data.assign(out->view().bytes(), 0);
  Box whole = {std::vector<int64_t>(out->shape.size(), 0), out->shape};
  for (const SavedPart *box : boxes) {
    Tensor part;
    DIST_RETURN_IF_ERROR(values.read(*box, &part));
    copyOverlap({box->start, part.shape}, part.data.data(), whole,
                out->data.data(), byteSize(out->type));
  }
  return Status();
}

/// `fits` becomes false when there is no value for the variable.
Status Restorer::restore(int index, bool *fits) {
  const Variable &variable = manifest.variables(index);
  const std::string &name = variable.name();
  std::vector<const SavedPart *> boxes = values.find(name, Kind::Box);
  *fits = true;
  if (!isSavedBySlice(variable) && !boxes.empty()) {
    const manifest::TensorType &type = variable.global_type();
    *fits = boxes.front()->whole == shapeOf(type) &&
            values.viewOf(*boxes.front()).type == type.type();
    return *fits ? restoreBoxes(index) : Status();
  }
  if (isSavedBySlice(variable) && restoresSlices(index)) {
    for (int rank : session.localRanks()) {
      if (!holdsVariable(manifest, variable, rank))
        continue;
      Tensor slice;
      DIST_RETURN_IF_ERROR(values.read(*sliceOf(index, rank), &slice));
      DIST_RETURN_IF_ERROR(session.writeSlice(index, rank, slice.view()));
    }
    return Status();
  }
  *fits = !boxes.empty() || !values.find(name, Kind::Slice).empty();
  if (!*fits)
    return Status();
  Tensor whole;
  DIST_RETURN_IF_ERROR(readWhole(index, &whole));
  Status status = session.writeVariable(index, whole.view());
  // Nothing is written of a value that does not fit.
  if (status.code() != StatusCode::InvalidInput)
    return status;
  if (isOfModel(variable.group()))
    return misfit(name, "does not fit: " + status.message());
  *fits = false;
  return Status();
}

/// Where there is a best value for each variable of the model, all of them.
std::vector<const SavedPart *> Restorer::bestParts() const {
  std::vector<const SavedPart *> all;
  for (const Variable &variable : manifest.variables()) {
    if (!isOfModel(variable.group()))
      continue;
    std::vector<const SavedPart *> best =
        values.find(variable.name(), Kind::Best);
    if (best.empty() || best.front()->whole != valueShape(variable) ||
        values.viewOf(*best.front()).type != variable.global_type().type())
      return {};
    all.push_back(best.front());
  }
  return all;
}

Status Restorer::readBest(TrainingState *state) const {
  std::vector<const SavedPart *> parts = bestParts();
  if (parts.empty())
    return Status();
  auto best = std::make_shared<std::map<std::string, Tensor>>();
  for (const SavedPart *part : parts)
    DIST_RETURN_IF_ERROR(values.read(*part, &(*best)[part->variable]));
  state->bestValues = std::move(best);
  return Status();
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

void Restorer::tellOfAccumulation(TrainingState *state,
                                  std::vector<std::string> *notes) const {
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

void Restorer::tellOfTheRest(std::vector<std::string> *notes) const {
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

Status Restorer::run(TrainingState *state, std::vector<std::string> *notes) {
  bool hasOptimizer = false;
  for (int i = 0; i < manifest.variables_size(); ++i) {
    const Variable &variable = manifest.variables(i);
    hasOptimizer |= isOfOptimizer(variable);
    if (!isRestored(variable))
      continue;
    bool fits = false;
    DIST_RETURN_IF_ERROR(restore(i, &fits));
    if (!fits)
      anew[variable.group()].push_back(variable.name());
  }
  *state = header.training;
  if (what == Restores::Model)
    return Status();
  DIST_RETURN_IF_ERROR(readBest(state));
  if (anotherOptimizer) {
    StateHeader here;
    describe(manifest, &here);
    notes->push_back(
        "the optimizer is another one (" +
        (header.optimizer ? "'" + *header.optimizer + "' before, " : "") + "'" +
        *here.optimizer + "' now): the variables keep their values" +
        (hasOptimizer ? ", its slots and its count of updates begin anew"
                      : ""));
  }
  if (anotherAccumulation)
    tellOfAccumulation(state, notes);
  tellOfTheRest(notes);
  return Status();
}

} // namespace dist
