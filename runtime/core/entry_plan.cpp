//===- entry_plan.cpp - How an entry's tensors reach its ranks ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/entry_plan.h"
#include "runtime/comm/local/reduce.h"
#include <algorithm>

namespace dist {

namespace {

int64_t alignUp(int64_t bytes) {
  return (bytes + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
}

bool isAligned(const void *address) {
  return reinterpret_cast<uintptr_t>(address) % bufferAlignment == 0;
}

} // namespace

Status EntryPlan::create(const Package &package, const manifest::Entry &entry,
                         std::unique_ptr<EntryPlan> *out) {
  using manifest::Binding;
  const manifest::Manifest &m = package.manifest;
  auto plan = std::make_unique<EntryPlan>();
  for (int program : m.program_of_rank()) {
    Part part;
    for (const manifest::Entry &candidate : m.programs(program).entries())
      if (candidate.name() == entry.name())
        part.entry = &candidate;
    // The bindings of a name are the same in all programs.
    if (!part.entry || part.entry->arguments_size() != entry.arguments_size() ||
        part.entry->results_size() != entry.results_size())
      return Status::error(
          StatusCode::InvalidInput, "the package is damaged", package.folder,
          "programs differ in entry " + entry.name(), "compile it again");
    DIST_RETURN_IF_ERROR(package.find(part.entry->symbol(), &part.step));
    DIST_RETURN_IF_ERROR(
        package.find(part.entry->prepare_symbol(), &part.prepare));
    if (!part.step)
      return Status::error(
          StatusCode::InvalidInput, "the package is damaged", package.folder,
          "entry " + entry.name() + " has no function", "compile it again");
    plan->parts.push_back(part);
  }

  std::vector<int> read;
  auto add = [&](const Binding &binding, bool isResult) -> Status {
    int position = plan->numBindings++;
    if (binding.role() == Binding::VARIABLE) {
      plan->places.push_back(
          {position, m.variables(binding.variable()).state_offset()});
      (isResult ? plan->changed : read).push_back(binding.variable());
      return Status();
    }
    if (binding.role() == Binding::PREPARED) {
      plan->places.push_back({position, binding.state_offset()});
      return Status();
    }
    std::vector<Item> &list = isResult ? plan->outputs : plan->inputs;
    Item item;
    item.binding = position;
    item.index = list.size();
    item.name = binding.name();
    DIST_RETURN_IF_ERROR(Distribution::create(
        m.mesh(), binding.global_type(), binding.local_type(),
        binding.sharding(), entry.name() + ": " + binding.name(),
        &item.distribution));
    if (item.distribution.unreduced && !isResult)
      return Status::error(StatusCode::InvalidInput, "the package is damaged",
                           entry.name() + ": " + binding.name(),
                           "an input cannot be a partial sum",
                           "compile it again");
    item.staged = plan->stagingBytes;
    plan->stagingBytes += alignUp(item.distribution.localBytes);
    list.push_back(std::move(item));
    return Status();
  };
  for (const Binding &binding : entry.arguments())
    DIST_RETURN_IF_ERROR(add(binding, false));
  for (const Binding &binding : entry.results())
    DIST_RETURN_IF_ERROR(add(binding, true));
  // What the entry itself changes cannot be prepared before it.
  for (int variable : read)
    if (std::find(plan->changed.begin(), plan->changed.end(), variable) ==
        plan->changed.end())
      plan->preparedFrom.push_back(variable);
  *out = std::move(plan);
  return Status();
}

Status EntryPlan::begin(const std::vector<TensorView> &tensors,
                        std::vector<Tensor> *results) const {
  if (tensors.size() != inputs.size())
    return Status::error(StatusCode::InvalidArgument, "wrong number of inputs",
                         entry(0).name(),
                         "expected " + std::to_string(inputs.size()) +
                             ", but got " + std::to_string(tensors.size()));
  for (const Item &item : inputs) {
    const TensorView &tensor = tensors[item.index];
    const Distribution &d = item.distribution;
    if (tensor.type != d.type || tensor.shape != d.globalShape)
      return Status::error(StatusCode::InvalidArgument, "an input does not fit",
                           entry(0).name() + ": " + item.name,
                           std::string("expected ") + name(d.type) +
                               toString(d.globalShape) + ", but got " +
                               name(tensor.type) + toString(tensor.shape));
    if (!tensor.data && d.globalBytes != 0)
      return Status::error(StatusCode::InvalidArgument, "an input has no data",
                           entry(0).name() + ": " + item.name);
  }
  results->resize(outputs.size());
  for (const Item &item : outputs) {
    Tensor &tensor = (*results)[item.index];
    tensor.type = item.distribution.type;
    tensor.shape = item.distribution.globalShape;
    tensor.data.resize(item.distribution.globalBytes);
  }
  return Status();
}

bool EntryPlan::liesInPlace(const Item &item, int rank, const void *whole) {
  const Slice &slice = item.distribution.slices[rank];
  return slice.contiguous &&
         isAligned(static_cast<const char *>(whole) + slice.offset);
}

bool EntryPlan::writesInPlace(const Item &item, int rank,
                              const void *whole) const {
  return !item.distribution.unreduced &&
         item.distribution.slices[rank].firstCopy &&
         liesInPlace(item, rank, whole);
}

void EntryPlan::bind(dist_rt_context &rank,
                     const std::vector<TensorView> &tensors,
                     std::vector<Tensor> *results) const {
  if (rank.staging.size() < static_cast<size_t>(stagingBytes))
    rank.staging.resize(stagingBytes);
  rank.bindings.resize(numBindings);
  for (const Place &place : places)
    rank.bindings[place.binding] = rank.state.data() + place.offset;
  for (const Item &item : inputs) {
    // Programs only read their inputs.
    char *whole =
        static_cast<char *>(const_cast<void *>(tensors[item.index].data));
    if (liesInPlace(item, rank.rank, whole)) {
      rank.bindings[item.binding] =
          whole + item.distribution.slices[rank.rank].offset;
    } else {
      char *part = rank.staging.data() + item.staged;
      item.distribution.cut(whole, rank.rank, part);
      rank.bindings[item.binding] = part;
    }
  }
  for (const Item &item : outputs) {
    char *whole = (*results)[item.index].data.data();
    rank.bindings[item.binding] =
        writesInPlace(item, rank.rank, whole)
            ? whole + item.distribution.slices[rank.rank].offset
            : rank.staging.data() + item.staged;
  }
}

void EntryPlan::finish(
    const std::vector<std::unique_ptr<dist_rt_context>> &ranks,
    std::vector<Tensor> *results) const {
  for (const Item &item : outputs) {
    const Distribution &d = item.distribution;
    char *whole = (*results)[item.index].data.data();
    if (d.unreduced) {
      addPartials(
          d, [&](int rank) { return ranks[rank]->bindings[item.binding]; },
          whole);
      continue;
    }
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      if (d.slices[rank].firstCopy && !writesInPlace(item, rank, whole))
        d.paste(ranks[rank]->bindings[item.binding], rank, whole);
  }
}

bool EntryPlan::needsPreparation(const std::vector<uint64_t> &versions) const {
  if (!parts[0].prepare)
    return false;
  if (preparedVersions.empty())
    return true;
  for (int variable : preparedFrom)
    if (versions[variable] != preparedVersions[variable])
      return true;
  return false;
}

void EntryPlan::prepared(const std::vector<uint64_t> &versions) {
  preparedVersions = versions;
}

} // namespace dist
