//===- entry_plan.cpp - How an entry's tensors reach its ranks ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/entry_plan.h"
#include "runtime/comm/common/reduce.h"
#include "runtime/core/indices.h"
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

using manifest::Binding;
using Bindings = google::protobuf::RepeatedPtrField<Binding>;

static Status damaged(const Package &package, const std::string &why) {
  return Status::error(StatusCode::InvalidInput, "the package is damaged",
                       package.folder, why, "compile it again");
}

static bool isTensor(const Binding &binding) {
  return binding.role() != Binding::VARIABLE &&
         binding.role() != Binding::PREPARED;
}

Status EntryPlan::findParts(const Package &package, const std::string &name) {
  const manifest::Manifest &m = package.manifest;
  std::vector<const Layout *> byProgram(m.programs_size(), nullptr);
  for (int program : m.program_of_rank()) {
    Part part;
    for (const manifest::Entry &candidate : m.programs(program).entries())
      if (candidate.name() == name)
        part.entry = &candidate;
    if (!part.entry)
      return damaged(package, "not every program has entry " + name);
    DIST_RETURN_IF_ERROR(package.find(part.entry->symbol(), &part.step));
    DIST_RETURN_IF_ERROR(
        package.find(part.entry->prepare_symbol(), &part.prepare));
    if (!part.step)
      return damaged(package, "entry " + name + " has no function");
    if (!byProgram[program]) {
      layouts.push_back(std::make_unique<Layout>());
      layouts.back()->entry = part.entry;
      layouts.back()->program = program;
      byProgram[program] = layouts.back().get();
      Layout &layout = *layouts.back();
      DIST_RETURN_IF_ERROR(package.findCollectives(part.entry->prepare_symbol(),
                                                   &layout.preparation));
      DIST_RETURN_IF_ERROR(
          package.findCollectives(part.entry->symbol(), &layout.step));
      meets |= meetOthers(layout.preparation) || meetOthers(layout.step);
    }
    part.layout = byProgram[program];
    parts.push_back(part);
  }
  return Status();
}

Status EntryPlan::mergeBindings(const Package &package) {
  whole = layouts.front()->entry;
  if (layouts.size() > 1) {
    // A place's binding is that of any program that has it.
    auto merge = [&](auto list, Bindings *to) -> Status {
      std::vector<const Binding *> at;
      for (const auto &layout : layouts)
        for (const Binding &binding : list(*layout->entry)) {
          if (binding.role() == Binding::PREPARED)
            continue;
          size_t position = binding.position();
          if (binding.position() < 0 || binding.position() > 1 << 20)
            return damaged(package, "a binding has no place in its entry");
          at.resize(std::max(at.size(), position + 1), nullptr);
          if (!at[position])
            at[position] = &binding;
          else if (at[position]->role() != binding.role() ||
                   at[position]->name() != binding.name())
            return damaged(package,
                           "programs differ in entry " + layout->entry->name());
        }
      for (const Binding *binding : at)
        if (binding)
          *to->Add() = *binding;
      return Status();
    };
    merged = *whole;
    merged.clear_arguments();
    merged.clear_results();
    merged.set_flops(0);
    for (const auto &layout : layouts)
      merged.set_flops(merged.flops() + layout->entry->flops());
    DIST_RETURN_IF_ERROR(merge(
        [](const manifest::Entry &e) -> const Bindings & {
          return e.arguments();
        },
        merged.mutable_arguments()));
    DIST_RETURN_IF_ERROR(merge([](const manifest::Entry &e)
                                   -> const Bindings & { return e.results(); },
                               merged.mutable_results()));
    whole = &merged;
  }
  const manifest::Manifest &m = package.manifest;
  auto addPorts = [&](const Bindings &bindings, bool isResult) -> Status {
    int number = 0;
    for (const Binding &binding : bindings) {
      size_t position = layouts.size() > 1 ? binding.position() : number++;
      std::vector<int> &at = isResult ? outputAt : inputAt;
      std::vector<Port> &ports = isResult ? outputs : inputs;
      at.resize(position + 1, -1);
      if (!isTensor(binding))
        continue;
      at[position] = ports.size();
      Port &port = ports.emplace_back();
      port.binding = &binding;
      DIST_RETURN_IF_ERROR(Distribution::create(
          m.mesh(), binding.global_type(), binding.local_type(),
          binding.sharding(), whole->name() + ": " + binding.name(),
          &port.distribution, Content::Examples));
      port.window = {std::vector<int64_t>(port.distribution.globalShape.size()),
                     port.distribution.globalShape, true, true};
      if (port.distribution.unreduced && !isResult)
        return Status::error(StatusCode::InvalidInput, "the package is damaged",
                             whole->name() + ": " + binding.name(),
                             "an input cannot be a partial sum",
                             "compile it again");
    }
    return Status();
  };
  DIST_RETURN_IF_ERROR(addPorts(whole->arguments(), false));
  return addPorts(whole->results(), true);
}

Status EntryPlan::layOut(const Package &package, const Module::Layout &library,
                         Layout *layout) {
  const manifest::Manifest &m = package.manifest;
  auto add = [&](const Bindings &bindings, bool isResult) {
    int number = 0;
    for (const Binding &binding : bindings) {
      size_t position = layouts.size() > 1 ? binding.position() : number++;
      int index = layout->numBindings++;
      if (binding.role() == Binding::VARIABLE) {
        layout->places.push_back(
            {index, m.variables(binding.variable()).state_offset()});
        (isResult ? changed : read).push_back(binding.variable());
      } else if (binding.role() == Binding::PREPARED) {
        bool packed = binding.has_packed();
        layout->places.push_back({index,
                                  packed ? library.prepared.at(binding.name())
                                         : binding.state_offset(),
                                  packed});
      } else {
        int port = (isResult ? outputAt : inputAt)[position];
        int64_t &bytes = isResult ? layout->resultBytes : layout->stagingBytes;
        (isResult ? layout->outputs : layout->inputs)
            .push_back({index, port, bytes});
        bytes += alignUp(
            (isResult ? outputs : inputs)[port].distribution.localBytes);
      }
    }
  };
  add(layout->entry->arguments(), false);
  add(layout->entry->results(), true);
  for (int i = 0; i < layout->entry->slots_size(); ++i)
    layout->places.push_back({layout->numBindings++, library.slots[i], true});
  return Status();
}

bool EntryPlan::hasPort(int rank, bool isResult, int port) const {
  const Layout &layout = *parts[rank].layout;
  const auto &items = isResult ? layout.outputs : layout.inputs;
  return std::any_of(items.begin(), items.end(),
                     [&](const Item &item) { return item.port == port; });
}

/// The mesh's axes over which the tensor's parts are partial sums.
static uint32_t unreducedAxes(const manifest::Mesh &mesh,
                              const manifest::Sharding &sharding) {
  uint32_t mask = 0;
  for (int axis = 0; axis < mesh.axes_size(); ++axis)
    for (const std::string &name : sharding.unreduced())
      if (mesh.axes(axis).name() == name)
        mask |= 1u << axis;
  return mask;
}

Status EntryPlan::narrow(const Package &package,
                         const std::vector<int> &localRanks) {
  const manifest::Mesh &mesh = package.manifest.mesh();
  auto narrowAll = [&](std::vector<Port> &ports, bool isResult) -> Status {
    for (size_t i = 0; i < ports.size(); ++i) {
      Port &port = ports[i];
      Distribution &d = port.distribution;
      std::vector<int> holders;
      for (int rank : localRanks)
        if (hasPort(rank, isResult, i))
          holders.push_back(rank);
      if (d.unreduced) {
        port.reducedOver = unreducedAxes(mesh, port.binding->sharding());
        d.unreduced = false; // after that
        for (Slice &slice : d.slices)
          slice.partial = 0;
      }
      port.window = d.narrowTo(holders);
      if (isResult && port.window.present && !port.window.whole)
        return Status::error(
            StatusCode::InvalidArgument,
            "the package cannot run on these processes",
            whole->name() + ": " + port.binding->name(),
            "what this process's ranks have of it are no neighbouring parts",
            "give each process ranks that follow each other");
    }
    return Status();
  };
  DIST_RETURN_IF_ERROR(narrowAll(inputs, false));
  return narrowAll(outputs, true);
}

Status EntryPlan::create(const Package &package,
                         const std::vector<const Module *> &modules,
                         const std::vector<int> &localRanks,
                         const std::string &name, int number,
                         std::unique_ptr<EntryPlan> *out) {
  auto plan = std::make_unique<EntryPlan>();
  DIST_RETURN_IF_ERROR(plan->findParts(package, name));
  DIST_RETURN_IF_ERROR(plan->mergeBindings(package));
  for (auto &layout : plan->layouts)
    DIST_RETURN_IF_ERROR(
        plan->layOut(package, modules[layout->program]->layout(layout->program),
                     layout.get()));
  for (auto &layout : plan->layouts)
    plan->mostResultBytes =
        std::max(plan->mostResultBytes, layout->resultBytes);
  if (localRanks.size() < plan->parts.size())
    DIST_RETURN_IF_ERROR(plan->narrow(package, localRanks));
  else if (plan->layouts.size() > 1)
    for (size_t port = 0; port < plan->outputs.size(); ++port)
      plan->outputs[port].distribution.keepRanks(
          [&](int rank) { return plan->hasPort(rank, true, port); });
  // What the entry itself changes cannot be prepared before it.
  for (int variable : plan->read)
    if (std::find(plan->changed.begin(), plan->changed.end(), variable) ==
        plan->changed.end())
      plan->preparedFrom.push_back(variable);
  plan->ownNumber = number;
  *out = std::move(plan);
  return Status();
}

Status EntryPlan::prepareCollectives(dist_rt_context &rank) const {
  const Part &part = parts[rank.rank];
  if (rank.planned.size() <= size_t(ownNumber))
    rank.planned.resize(ownNumber + 1);
  PlannedEntry &planned = rank.planned[ownNumber];
  // Which errors name.
  rank.entry = part.entry;
  DIST_RETURN_IF_ERROR(planned.prepare(
      *rank.communicator, part.layout->preparation, part.layout->step));
  planned.results.clear();
  for (const Item &item : part.layout->outputs) {
    const Port &port = outputs[item.port];
    auto &result = planned.results.emplace_back();
    // In the order of ranks, as addPartials does.
    if (port.reducedOver)
      DIST_RETURN_IF_ERROR(DenseAllReduce::prepare(
          *rank.communicator, sessionOp,
          elementCount(port.distribution.partShape(rank.rank)),
          port.distribution.type, Reduction::Sum, port.reducedOver, &result));
  }
  rank.entry = nullptr;
  if (!rank.queued)
    return Status();
  for (auto *list : {&planned.preparation, &planned.step})
    for (PlannedCollective &one : *list)
      DIST_RETURN_IF_ERROR(rank.queued->prepare(*rank.communicator, &one));
  return Status();
}

Status EntryPlan::begin(const std::vector<TensorView> &tensors,
                        std::vector<Tensor> *results) const {
  if (tensors.size() != inputs.size())
    return Status::error(StatusCode::InvalidArgument, "wrong number of inputs",
                         whole->name(),
                         "expected " + std::to_string(inputs.size()) +
                             ", but got " + std::to_string(tensors.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorView &tensor = tensors[i];
    const Distribution &d = inputs[i].distribution;
    if (!inputs[i].window.present)
      continue;
    if (tensor.type != d.type || tensor.shape != d.globalShape)
      return Status::error(StatusCode::InvalidArgument, "an input does not fit",
                           whole->name() + ": " + inputs[i].binding->name(),
                           std::string("expected ") + name(d.type) +
                               toString(d.globalShape) + ", but got " +
                               name(tensor.type) + toString(tensor.shape));
    if (!tensor.data && d.globalBytes != 0)
      return Status::error(StatusCode::InvalidArgument, "an input has no data",
                           whole->name() + ": " + inputs[i].binding->name());
  }
  const bool *mask = nullptr;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].binding->role() == Binding::MASK && inputs[i].window.present)
      mask = static_cast<const bool *>(tensors[i].data);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].window.present)
      DIST_RETURN_IF_ERROR(checkIndices(*inputs[i].binding, tensors[i], mask));
  results->resize(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    Tensor &tensor = (*results)[i];
    tensor.type = outputs[i].distribution.type;
    tensor.shape = outputs[i].window.shape;
    tensor.data.resize(
        outputs[i].window.present ? outputs[i].distribution.globalBytes : 0);
  }
  return Status();
}

bool EntryPlan::liesInPlace(const Port &port, int rank, const void *whole) {
  const Slice &slice = port.distribution.slices[rank];
  return slice.contiguous &&
         isAligned(static_cast<const char *>(whole) + slice.offset);
}

int64_t EntryPlan::partBytes(const Port &port, int rank) {
  return elementCount(port.distribution.partShape(rank)) *
         byteSize(port.distribution.type);
}

bool EntryPlan::writesInPlace(const Port &port, int rank, const void *whole) {
  return !port.distribution.unreduced &&
         port.distribution.slices[rank].firstCopy &&
         liesInPlace(port, rank, whole);
}

Status EntryPlan::bind(dist_rt_context &rank,
                       const std::vector<TensorView> &tensors,
                       std::vector<Tensor> *results, int64_t base) const {
  const Layout &layout = *parts[rank.rank].layout;
  if (rank.staging.size() < static_cast<size_t>(layout.stagingBytes))
    rank.staging.resize(layout.stagingBytes);
  rank.bindings.resize(layout.numBindings);
  for (const Place &place : layout.places)
    rank.bindings[place.binding] =
        (place.isLibrarys ? rank.library : rank.state)->address() +
        place.offset;
  const bool isHost = rank.device->isHost();
  for (const Item &item : layout.inputs) {
    const Port &port = inputs[item.port];
    // Programs only read their inputs.
    char *whole =
        static_cast<char *>(const_cast<void *>(tensors[item.port].data));
    char *part = rank.staging.data() + item.staged;
    if (liesInPlace(port, rank.rank, whole))
      part = whole + port.distribution.slices[rank.rank].offset;
    else
      port.distribution.cut(whole, rank.rank, part);
    rank.bindings[item.binding] = part;
    if (isHost)
      continue;
    char *there = rank.inputs->address() + item.staged;
    DIST_RETURN_IF_ERROR(
        rank.stream->copy(there, part, partBytes(port, rank.rank)));
    rank.bindings[item.binding] = there;
  }
  for (const Item &item : layout.outputs)
    rank.bindings[item.binding] =
        isHost ? resultOf(rank, item, (*results)[item.port].data.data(), base)
               : rank.outputs->address() + item.staged;
  return Status();
}

Status EntryPlan::fetchResults(dist_rt_context &rank,
                               std::vector<Tensor> *results,
                               int64_t base) const {
  if (rank.device->isHost())
    return Status();
  for (const Item &item : parts[rank.rank].layout->outputs)
    DIST_RETURN_IF_ERROR(rank.stream->copy(
        resultOf(rank, item, (*results)[item.port].data.data(), base),
        rank.outputs->address() + item.staged,
        partBytes(outputs[item.port], rank.rank)));
  return Status();
}

char *EntryPlan::resultOf(const dist_rt_context &rank, const Item &item,
                          char *whole, int64_t base) const {
  const Port &port = outputs[item.port];
  if (writesInPlace(port, rank.rank, whole))
    return whole + port.distribution.slices[rank.rank].offset;
  return const_cast<char *>(rank.results.data()) + base + item.staged;
}

Status EntryPlan::reduceResults(dist_rt_context &rank,
                                std::vector<Tensor> *results,
                                int64_t base) const {
  const std::vector<Item> &items = parts[rank.rank].layout->outputs;
  for (size_t i = 0; i < items.size(); ++i) {
    const auto &sum = rank.planned[ownNumber].results[i];
    if (!sum)
      continue;
    DIST_RETURN_IF_ERROR(rank.started.waitForLine(sum->prepared()));
    char *whole = (*results)[items[i].port].data.data();
    DIST_RETURN_IF_ERROR(
        sum->run(*rank.communicator, resultOf(rank, items[i], whole, base)));
  }
  return Status();
}

const void *EntryPlan::findOutput(const dist_rt_context &rank, int port,
                                  char *whole, int64_t base) const {
  for (const Item &item : parts[rank.rank].layout->outputs)
    if (item.port == port)
      return resultOf(rank, item, whole, base);
  return nullptr;
}

void EntryPlan::finish(
    const std::vector<std::unique_ptr<dist_rt_context>> &ranks,
    std::vector<Tensor> *results, int64_t base) const {
  // Slices of ranks in other processes are no first copies.
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Port &port = outputs[i];
    const Distribution &d = port.distribution;
    char *whole = (*results)[i].data.data();
    if (d.unreduced) {
      addPartials(
          d, [&](int rank) { return findOutput(*ranks[rank], i, whole, base); },
          whole);
      continue;
    }
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      if (d.slices[rank].firstCopy && !writesInPlace(port, rank, whole))
        d.paste(findOutput(*ranks[rank], i, whole, base), rank, whole);
  }
}

bool EntryPlan::needsPreparation(const std::vector<uint64_t> &versions) const {
  if (std::none_of(parts.begin(), parts.end(),
                   [](const Part &part) { return part.prepare != nullptr; }))
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

bool liesIn(const std::vector<TensorView> &inputs,
            const std::vector<Tensor> &outputs) {
  for (const TensorView &input : inputs)
    for (const Tensor &output : outputs) {
      auto *from = static_cast<const char *>(input.data);
      const char *held = output.data.data();
      std::less<const char *> before; // also where they are not of one object
      if (before(from, held + output.data.size()) &&
          before(held, from + input.bytes()))
        return true;
    }
  return false;
}

} // namespace dist
