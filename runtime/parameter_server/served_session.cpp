//===- served_session.cpp - A session whose variables servers hold --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/parameter_server/served_session.h"
#include "runtime/core/text.h"
#include <algorithm>
#include <cstring>

namespace dist::ps {

Status ServedSession::create(std::unique_ptr<Session> worker,
                             const Layout &layout, ServerStates &servers,
                             std::unique_ptr<ServedSession> *out) {
  std::unique_ptr<ServedSession> made(
      new ServedSession(std::move(worker), layout, servers));
  DIST_RETURN_IF_ERROR(made->place());
  *out = std::move(made);
  return Status();
}

//===----------------------------------------------------------------------===//
// Where variables are
//===----------------------------------------------------------------------===//

int ServedSession::findMerged(const std::string &name) const {
  for (int i = 0; i < merged.variables_size(); ++i)
    if (merged.variables(i).name() == name)
      return i;
  return -1;
}

/// A server's variable that is no part of a worker's: what its optimizer knows
/// of a part, which is a part of what it knows of the whole, or what each
/// server has of its own and all have alike.
Status ServedSession::placeState(int server, int number) {
  const ServerLayout &of = layout.servers[server];
  const manifest::Variable &there = of.manifest.variables(number);
  Piece piece;
  piece.server = server;
  piece.offset = of.stateOffsets[number];
  piece.bytes = byteSize(there.global_type());
  manifest::Variable variable = there;
  variable.set_weights_key("");
  bool isCommon = true;
  for (const PlacedPart &part : of.parts) {
    const std::string &name = of.manifest.variables(part.there).name();
    if (there.slot_of() != name)
      continue;
    const manifest::Variable &whole = merged.variables(part.variable);
    isCommon = false;
    variable.set_slot_of(whole.name());
    // "optimizer/w/m/part_1" of "w/part_1" is a part of "optimizer/w/m".
    std::string suffix =
        name.substr(std::min(name.size(), whole.name().size()));
    if (endsWith(there.name(), suffix))
      variable.set_name(
          there.name().substr(0, there.name().size() - suffix.size()));
    bool isCut = part.bytes != byteSize(whole.global_type());
    const auto &shape = there.global_type().shape();
    if (!isCut)
      break;
    if (shape.empty() || shape[0] != part.shape[0])
      return Status::error(StatusCode::InvalidInput, "the package is damaged",
                           there.name(), "it has no rows of its variable's",
                           "compile it again");
    piece.offsetInWhole = piece.bytes / shape[0] * part.begin;
    for (auto *type :
         {variable.mutable_global_type(), variable.mutable_local_type()})
      type->set_shape(0, whole.global_type().shape(0));
  }
  int index = findMerged(variable.name());
  if (index < 0) {
    index = merged.variables_size();
    *merged.add_variables() = variable;
    places.emplace_back();
  }
  Place &place = places[index];
  if (!isSameType(merged.variables(index).global_type(),
                  variable.global_type()) ||
      (!place.pieces.empty() && place.isCommon != isCommon))
    return Status::error(StatusCode::InvalidInput, "the package is damaged",
                         variable.name(), "servers have different ones",
                         "compile it again");
  place.isCommon = isCommon;
  place.pieces.push_back(piece);
  return Status();
}

Status ServedSession::place() {
  merged = worker->manifest();
  own = merged.variables_size();
  DIST_RETURN_IF_ERROR(findStepCounter(merged, &stepCounter));
  DIST_RETURN_IF_ERROR(readSteps(&firstStep));
  places.resize(own);
  states.resize(layout.servers.size());
  for (int server = 0; server < int(layout.servers.size()); ++server) {
    const ServerLayout &of = layout.servers[server];
    std::vector<bool> isPart(of.manifest.variables_size());
    for (const PlacedPart &part : of.parts) {
      isPart[part.there] = true;
      places[part.variable].pieces.push_back({server,
                                              of.stateOffsets[part.there],
                                              part.offsetInWhole, part.bytes});
    }
    for (int i = 0; i < of.manifest.variables_size(); ++i)
      if (!isPart[i])
        DIST_RETURN_IF_ERROR(placeState(server, i));
  }
  for (int i = 0; i < own; ++i)
    if (merged.variables(i).group() == "metric")
      gains.emplace_back(i, makeZeros(merged.variables(i).global_type()));
  for (auto &[index, gain] : gains)
    if (gain.type != manifest::F64 && gain.type != manifest::F32)
      return Status::error(StatusCode::InvalidInput,
                           "metrics cannot be added up",
                           merged.variables(index).name(),
                           std::string("it is ") + name(gain.type) +
                               ", and workers' sums are f64 or f32",
                           "leave that metric out");
  return Status();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Status ServedSession::fetch(int server) {
  State &state = states[server];
  if (!state.bytes.empty())
    return Status();
  DIST_RETURN_IF_ERROR(servers.readState(server, &state.bytes));
  if (state.bytes.size() == layout.servers[server].stateBytes)
    return Status();
  state.bytes.clear();
  return Status::error(StatusCode::Unavailable, "a server has another package",
                       "server " + std::to_string(server), "",
                       "start the cluster anew");
}

Status ServedSession::readVariable(int index, Tensor *out) {
  const Place &place = places[index];
  if (place.pieces.empty()) {
    if (isGained(index))
      DIST_RETURN_IF_ERROR(settleGains());
    return worker->readVariable(index, out);
  }
  *out = makeZeros(merged.variables(index).global_type());
  for (const Piece &piece : place.pieces) {
    DIST_RETURN_IF_ERROR(fetch(piece.server));
    std::memcpy(out->data.data() + piece.offsetInWhole,
                states[piece.server].bytes.data() + piece.offset, piece.bytes);
    if (place.isCommon)
      break;
  }
  return Status();
}

Status ServedSession::writeVariable(int index, const TensorView &value) {
  const Place &place = places[index];
  if (place.pieces.empty()) {
    if (index == stepCounter)
      newSteps = 0;
    for (auto &[metric, gain] : gains)
      if (metric == index)
        std::fill(gain.data.begin(), gain.data.end(), 0);
    return worker->writeVariable(index, value);
  }
  const manifest::TensorType &type = merged.variables(index).global_type();
  if (value.type != type.type() || value.bytes() != byteSize(type))
    return Status::error(StatusCode::InvalidArgument,
                         "a value of another type or shape",
                         merged.variables(index).name(),
                         std::string(name(value.type)) + toString(value.shape));
  for (const Piece &piece : place.pieces) {
    DIST_RETURN_IF_ERROR(fetch(piece.server));
    State &state = states[piece.server];
    std::memcpy(state.bytes.data() + piece.offset,
                static_cast<const char *>(value.data) + piece.offsetInWhole,
                piece.bytes);
    state.isChanged = true;
  }
  isLoaded = false;
  return Status();
}

/// Servers' variables are whole on each rank.
Status ServedSession::readSlice(int index, int rank, Tensor *out) {
  bool isServed = !places[index].pieces.empty();
  return isServed || isGained(index) ? readVariable(index, out)
                                     : worker->readSlice(index, rank, out);
}

Status ServedSession::writeSlice(int index, int rank, const TensorView &value) {
  return places[index].pieces.empty() ? worker->writeSlice(index, rank, value)
                                      : writeVariable(index, value);
}

Status ServedSession::load() {
  if (isLoaded)
    return Status();
  Tensor value;
  for (int i = 0; i < own; ++i) {
    if (places[i].pieces.empty())
      continue;
    DIST_RETURN_IF_ERROR(readVariable(i, &value));
    DIST_RETURN_IF_ERROR(worker->writeVariable(i, value.view()));
  }
  isLoaded = true;
  return Status();
}

Status ServedSession::run(const manifest::Entry &entry,
                          const std::vector<TensorView> &inputs,
                          std::vector<Tensor> *outputs) {
  DIST_RETURN_IF_ERROR(load());
  DIST_RETURN_IF_ERROR(settleGains());
  return worker->run(entry, inputs, outputs);
}

Status ServedSession::resetVariables() {
  return Status::error(StatusCode::InvalidArgument,
                       "variables of parameter servers cannot be reset", "",
                       "they have the package's values when they start",
                       "start the cluster anew");
}

Status ServedSession::rebuild(std::shared_ptr<World>) {
  return Status::error(StatusCode::InvalidArgument,
                       "a session of parameter servers has no world");
}

//===----------------------------------------------------------------------===//
// Closures
//===----------------------------------------------------------------------===//

Status ServedSession::beginClosures() {
  for (int server = 0; server < int(states.size()); ++server) {
    State &state = states[server];
    if (state.isChanged)
      DIST_RETURN_IF_ERROR(servers.writeState(server, std::move(state.bytes)));
    state = State();
  }
  isLoaded = false;
  return Status();
}

Status ServedSession::addMetrics(const Buffer &gained) {
  DIST_RETURN_IF_ERROR(addGains(gained));
  ++newSteps;
  return Status();
}

size_t ServedSession::gainBytes() const {
  size_t bytes = 0;
  for (auto &[index, gain] : gains)
    bytes += gain.data.size();
  return bytes;
}

template <typename Number>
static void addNumbers(const char *more, size_t count, char *sums) {
  for (size_t i = 0; i < count; ++i) {
    Number sum, one;
    std::memcpy(&sum, sums + i * sizeof sum, sizeof sum);
    std::memcpy(&one, more + i * sizeof one, sizeof one);
    sum += one;
    std::memcpy(sums + i * sizeof sum, &sum, sizeof sum);
  }
}

/// `more`: as many numbers of the same type.
static void addTo(Tensor *sums, const char *more) {
  const size_t bytes = sums->data.size();
  if (sums->type == manifest::F64)
    addNumbers<double>(more, bytes / sizeof(double), sums->data.data());
  else
    addNumbers<float>(more, bytes / sizeof(float), sums->data.data());
}

Status ServedSession::addGains(const Buffer &gained) {
  size_t at = 0;
  for (auto &[index, gain] : gains) {
    if (gained.size() - at < gain.data.size())
      return Status::error(
          StatusCode::Unavailable, "a worker has another package",
          merged.variables(index).name(), "", "start the cluster anew");
    addTo(&gain, gained.data() + at);
    at += gain.data.size();
  }
  hasGains = true;
  return Status();
}

Status ServedSession::readSteps(int64_t *out) {
  Tensor value;
  *out = 0;
  if (stepCounter < 0)
    return Status();
  DIST_RETURN_IF_ERROR(worker->readVariable(stepCounter, &value));
  std::memcpy(out, value.data.data(), sizeof *out);
  return Status();
}

Status ServedSession::countSteps(int64_t *out) {
  DIST_RETURN_IF_ERROR(settleGains());
  DIST_RETURN_IF_ERROR(readSteps(out));
  *out -= firstStep;
  return Status();
}

Status ServedSession::settleSteps() {
  const int64_t more = std::exchange(newSteps, 0);
  if (stepCounter < 0)
    return Status();
  Tensor value;
  DIST_RETURN_IF_ERROR(worker->readVariable(stepCounter, &value));
  int64_t steps;
  std::memcpy(&steps, value.data.data(), sizeof steps);
  steps += more;
  std::memcpy(value.data.data(), &steps, sizeof steps);
  return worker->writeVariable(stepCounter, value.view());
}

Status ServedSession::settleGains() {
  if (!std::exchange(hasGains, false))
    return Status();
  DIST_RETURN_IF_ERROR(settleSteps());
  for (auto &[index, gain] : gains) {
    Tensor value;
    DIST_RETURN_IF_ERROR(worker->readVariable(index, &value));
    addTo(&value, gain.data.data());
    gain = makeZeros(merged.variables(index).global_type());
    DIST_RETURN_IF_ERROR(worker->writeVariable(index, value.view()));
  }
  return Status();
}

} // namespace dist::ps
