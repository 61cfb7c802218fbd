//===- values.cpp - Writing the variables of a state -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/values.h"
#include "runtime/core/package.h"
#include <algorithm>
#include <set>

namespace dist {

using manifest::Variable;

bool isSavedBySlice(const Variable &variable) {
  return variable.on_read() || variable.sharding().unreduced_size() > 0;
}
bool isSaved(const Variable &variable) {
  // What a worker pulls of a table is the table's.
  return variable.group() != "constant" && variable.group() != "pulled";
}
bool isOfModel(const std::string &group) {
  return group == "parameter" || group == "buffer";
}

void describe(const manifest::Manifest &manifest, StateHeader *header) {
  header->mesh.clear();
  for (const manifest::Axis &axis : manifest.mesh().axes())
    header->mesh += (header->mesh.empty() ? "" : ",") + axis.name() + "=" +
                    std::to_string(axis.size());
  // `adam` of `adam:lr=1e-3`.
  auto given = manifest.options().find("optimizer");
  header->optimizer = given == manifest.options().end()
                          ? ""
                          : given->second.substr(0, given->second.find(':'));
  header->accumulate = std::max<int64_t>(manifest.accumulate_steps(), 1);
  header->groups.emplace();
  for (const Variable &variable : manifest.variables())
    if (isSaved(variable))
      header->groups->emplace(variable.name(), variable.group());
}

/// `w[0:64,8:16]`, or `w` where the box is all of it.
static std::string boxName(const std::string &variable, const Window &box,
                           const std::vector<int64_t> &whole) {
  if (box.shape == whole)
    return variable;
  std::string text;
  for (size_t dim = 0; dim < whole.size(); ++dim)
    text += (dim ? "," : "") + std::to_string(box.start[dim]) + ":" +
            std::to_string(box.start[dim] + box.shape[dim]);
  return variable + "[" + text + "]";
}

void ValuesFile::addBox(Session &session, int variable,
                        const Distribution &whole,
                        const std::vector<int> &ranks) {
  Distribution box = whole;
  Window window = box.narrowTo(ranks);
  if (!window.whole) {
    for (int rank : ranks)
      addBox(session, variable, whole, {rank});
    return;
  }
  // A rank may have nothing but padding.
  if (elementCount(window.shape) == 0 && whole.globalBytes > 0)
    return;
  Part &part = parts.emplace_back();
  const std::string &name = session.manifest().variables(variable).name();
  part.entry.tensor = boxName(name, window, whole.globalShape);
  part.entry.variable = name;
  part.entry.whole = whole.globalShape;
  part.entry.start = window.start;
  part.type = whole.type;
  part.shape = window.shape;
  part.make = [&session, variable, box, ranks, slice = scratch](Tensor *out) {
    if (ranks.size() == 1 && box.localShape == box.globalShape)
      return session.readSlice(variable, ranks.front(), out);
    out->type = box.type;
    out->shape = box.globalShape;
    out->data.resize(box.globalBytes);
    for (int rank : ranks) {
      DIST_RETURN_IF_ERROR(session.readSlice(variable, rank, slice.get()));
      box.paste(slice->data.data(), rank, out->data.data());
    }
    return Status();
  };
}

void ValuesFile::addSlice(Session &session, int variable,
                          const Distribution &whole, int rank) {
  Part &part = parts.emplace_back();
  const std::string &name = session.manifest().variables(variable).name();
  part.entry.kind = SavedPart::Kind::Slice;
  part.entry.tensor = name + "@rank" + std::to_string(rank);
  part.entry.variable = name;
  part.entry.whole = whole.globalShape;
  part.entry.start = whole.slices[rank].start;
  part.entry.rank = rank;
  part.entry.partial = whole.slices[rank].partial;
  part.type = whole.type;
  part.shape = whole.localShape;
  part.make = [&session, variable, rank](Tensor *out) {
    return session.readSlice(variable, rank, out);
  };
}

Status ValuesFile::plan(Session &session, const TrainingState &state) {
  const manifest::Manifest &manifest = session.manifest();
  name = "variables.safetensors";
  if (session.processes() > 1) {
    char numbers[64];
    std::snprintf(numbers, sizeof numbers, "variables-%05d-of-%05d.safetensors",
                  session.process() + 1, session.processes());
    name = numbers;
  }
  for (int i = 0; i < manifest.variables_size(); ++i) {
    const Variable &variable = manifest.variables(i);
    if (!isSaved(variable))
      continue;
    Distribution whole;
    DIST_RETURN_IF_ERROR(
        distribute(manifest, variable, manifest.model_name(), &whole));
    std::vector<int> first;
    for (int rank : session.localRanks())
      if (whole.slices[rank].firstCopy)
        first.push_back(rank);
    if (!isSavedBySlice(variable) && !first.empty())
      addBox(session, i, whole, first);
    else if (isSavedBySlice(variable))
      for (int rank : first)
        addSlice(session, i, whole, rank);
  }
  if (session.process() == 0)
    addBest(state);
  return Status();
}

void ValuesFile::addValue(Session &session, int variable) {
  const Variable &of = session.manifest().variables(variable);
  Part &part = parts.emplace_back();
  part.entry.tensor = part.entry.variable = of.name();
  part.entry.whole = part.shape = valueShape(of);
  part.entry.start.assign(part.shape.size(), 0);
  part.type = of.global_type().type();
  part.make = [&session, variable](Tensor *out) {
    return session.readVariable(variable, out);
  };
}

Status ValuesFile::planHeld(Session &session, const TrainingState &state) {
  const manifest::Manifest &manifest = session.manifest();
  name = "variables.safetensors";
  for (int i = 0; i < manifest.variables_size(); ++i) {
    const Variable &variable = manifest.variables(i);
    if (!isSaved(variable))
      continue;
    if (isSavedBySlice(variable)) {
      addValue(session, i);
      continue;
    }
    Distribution whole;
    DIST_RETURN_IF_ERROR(
        distribute(manifest, variable, manifest.model_name(), &whole));
    std::vector<int> holders;
    std::set<std::vector<int64_t>> starts;
    for (int rank : session.localRanks())
      if (holdsVariable(manifest, variable, rank) &&
          starts.insert(whole.slices[rank].start).second)
        holders.push_back(rank);
    if (!holders.empty())
      addBox(session, i, whole, holders);
  }
  addBest(state);
  return Status();
}

void ValuesFile::addBest(const TrainingState &state) {
  if (!state.bestValues)
    return;
  for (auto &item : *state.bestValues) {
    Part &part = parts.emplace_back();
    part.entry.kind = SavedPart::Kind::Best;
    part.entry.tensor = "best@" + item.first;
    part.entry.variable = item.first;
    part.entry.whole = part.shape = item.second.shape;
    part.entry.start.assign(part.shape.size(), 0);
    part.type = item.second.type;
    part.make = [&value = item.second, values = state.bestValues](Tensor *out) {
      *out = value;
      return Status();
    };
  }
}

Status ValuesFile::copy(std::vector<Tensor> *memory) {
  memory->resize(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    // The best values change no more.
    if (parts[i].entry.kind == SavedPart::Kind::Best)
      continue;
    DIST_RETURN_IF_ERROR(parts[i].make(&(*memory)[i]));
    parts[i].copied = &(*memory)[i];
  }
  return Status();
}

Status ValuesFile::write(const std::string &folder, SavedFile *out) {
  SafetensorsWriter writer(folder + "/" + name);
  for (Part &part : parts)
    if (part.copied)
      writer.add(part.entry.tensor, part.type, part.shape,
                 part.copied->data.data());
    else
      writer.add(part.entry.tensor, part.type, part.shape, part.make);
  SafetensorsSums sums;
  DIST_RETURN_IF_ERROR(writer.finish(/*durable=*/true, &sums));
  out->name = name;
  out->bytes = sums.bytes;
  out->headerCrc = sums.header;
  for (Part &part : parts) {
    part.entry.crc = sums.tensors[part.entry.tensor];
    out->parts.push_back(part.entry);
  }
  return Status();
}

} // namespace dist
