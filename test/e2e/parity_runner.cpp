//===- parity_runner.cpp - Programs that step from given states -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "parity_runner.h"
#include "runtime/core/package.h"
#include "runtime/core/slices.h"
#include "runtime/formats/convert.h"
#include <cmath>

using namespace dist;
using namespace dist::parity;

Difference parity::compare(const Values &found, const Values &expected) {
  Difference result;
  double squares = 0, norm = 0, most = -1;
  for (const auto &[name, values] : expected) {
    double part = 0;
    auto other = found.find(name);
    for (size_t i = 0; i < values.size(); ++i) {
      double difference =
          other == found.end() || other->second.size() != values.size()
              ? INFINITY
              : double(other->second[i]) - double(values[i]);
      part += difference * difference;
      norm += double(values[i]) * double(values[i]);
    }
    squares += part;
    if (!(part <= most)) {
      most = part;
      result.worst = name;
    }
  }
  result.relative = norm > 0 ? std::sqrt(squares / norm) : std::sqrt(squares);
  return result;
}

Status Runner::open(const std::string &package, const DataOptions &options,
                    Runner *out, const SessionOptions &session) {
  DIST_RETURN_IF_ERROR(Session::open(package, session, &out->session));
  DIST_RETURN_IF_ERROR(
      EntryPair::create(*out->session, "train_step", &out->entries));
  const manifest::Entry *entry = out->session->findEntry("train_step");
  if (!entry)
    entry = out->session->findEntry("train_step_partial");
  out->plan = out->entries.plan(out->session->manifest());
  out->plan.prefetch = 0;
  return Dataset::open(options, *entry, &out->data);
}

Status Runner::step(double *loss) {
  const Batch *batch = stream->next();
  StepResult result;
  DIST_RETURN_IF_ERROR(entries.run(*batch, &result));
  *loss = result.loss;
  return Status();
}

Status Runner::save(Snapshot *out) {
  const manifest::Manifest &manifest = session->manifest();
  for (int i = 0; i < manifest.variables_size(); ++i)
    if (manifest.variables(i).group() != "metric")
      DIST_RETURN_IF_ERROR(read(i, &(*out)[manifest.variables(i).name()]));
  return Status();
}

Status Runner::restore(const Snapshot &from) {
  const manifest::Manifest &manifest = session->manifest();
  for (int i = 0; i < manifest.variables_size(); ++i)
    if (auto found = from.find(manifest.variables(i).name());
        found != from.end())
      DIST_RETURN_IF_ERROR(session->writeVariable(i, found->second.view()));
  return Status();
}

Status Runner::probe(const Snapshot &from, Step *out) {
  DIST_RETURN_IF_ERROR(restore(from));
  Values before, unused;
  DIST_RETURN_IF_ERROR(readAll(&before, &unused));
  DIST_RETURN_IF_ERROR(step(&out->loss));
  DIST_RETURN_IF_ERROR(readAll(&out->gradient, &out->state));
  for (auto &[name, values] : out->gradient)
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = (double(before[name][i]) - double(values[i])) / kProbeRate;
  return Status();
}

Status Runner::read(int index, Tensor *out) {
  const manifest::Manifest &manifest = session->manifest();
  const manifest::Variable &variable = manifest.variables(index);
  // Of each replica's row, not their mean.
  if (!hasReplicaRows(variable))
    return session->readVariable(index, out);
  Distribution distribution;
  DIST_RETURN_IF_ERROR(Distribution::create(
      manifest.mesh(), variable.global_type(), variable.local_type(),
      variable.sharding(), variable.name(), &distribution));
  out->type = distribution.type;
  out->shape = distribution.globalShape;
  out->data.resize(distribution.globalBytes);
  // Ranks that hold the same part have the same values.
  for (int rank = 0; rank < manifest.ranks(); ++rank) {
    if (!holdsVariable(manifest, variable, rank))
      continue;
    Tensor slice;
    DIST_RETURN_IF_ERROR(session->readSlice(index, rank, &slice));
    distribution.paste(slice.data.data(), rank, out->data.data());
  }
  return Status();
}

Status Runner::readAll(Values *parameters, Values *state) {
  const manifest::Manifest &manifest = session->manifest();
  for (int i = 0; i < manifest.variables_size(); ++i) {
    const manifest::Variable &variable = manifest.variables(i);
    if (!variable.trainable() && variable.group() != "buffer")
      continue;
    Tensor value;
    DIST_RETURN_IF_ERROR(read(i, &value));
    auto &values = variable.trainable() ? *parameters : *state;
    std::vector<float> &numbers = values[variable.name()];
    numbers.resize(elementCount(value.shape));
    for (size_t k = 0; k < numbers.size(); ++k)
      numbers[k] = elementAsDouble(value.type, value.data.data(), k);
  }
  return Status();
}
