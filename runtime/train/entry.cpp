//===- entry.cpp - Calling an entry with a batch -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/train/entry.h"
#include "runtime/formats/convert.h"
#include <algorithm>
#include <cmath>

namespace dist {

using manifest::Binding;

/// Whether a window leaves all dims but the first as they are.
static bool isRowRange(const Window &window,
                       const std::vector<int64_t> &shape) {
  return window.shape == shape ||
         std::equal(window.shape.begin() + 1, window.shape.end(),
                    shape.begin() + 1, shape.end());
}

Status EntryCall::create(Session &session, const std::string &name,
                         EntryCall *out) {
  const manifest::Entry *entry = session.findEntry(name);
  if (!entry)
    return Status::error(StatusCode::InvalidInput,
                         "the program has no entry '" + name + "'",
                         session.manifest().model_name(), "",
                         "compile the model with --loss and an optimizer");
  *out = EntryCall();
  out->session = &session;
  out->manifestEntry = entry;
  int column = 0;
  for (const Binding &binding : entry->arguments()) {
    const auto &type = binding.global_type();
    std::vector<int64_t> shape = shapeOf(type);
    if (binding.role() == Binding::VARIABLE ||
        binding.role() == Binding::PREPARED)
      continue;
    Window window = session.inputWindow(*entry, out->sources.size());
    if (window.present && !isRowRange(window, shape))
      return Status::error(
          StatusCode::InvalidInput,
          "a process's part of an input is no range "
          "of rows",
          binding.name(),
          name + " takes " + toString(window.shape) + " of " + toString(shape),
          "place ranks that split another dim than the batch in one process");
    switch (binding.role()) {
    case Binding::MASK:
      out->sources.push_back({Source::Mask, 0, shape, window});
      break;
    case Binding::COUNT:
      out->sources.push_back({Source::Count, 0, shape, window});
      break;
    default:
      out->sources.push_back({Source::Column, column++, shape, window});
    }
  }
  int position = 0;
  for (const Binding &binding : entry->results()) {
    if (binding.role() == Binding::VARIABLE ||
        binding.role() == Binding::PREPARED)
      continue;
    if (binding.role() == Binding::LOSS)
      out->loss = position;
    if (binding.role() == Binding::LEARNING_RATE)
      out->learningRate = position;
    if (binding.role() == Binding::FINITE)
      out->finite = position;
    ++position;
  }
  return Status();
}

/// The window's rows of the whole.
static TensorView cutRows(TensorView whole, const Window &window) {
  if (!window.present || whole.shape == window.shape)
    return whole;
  int64_t rows = whole.shape[0];
  const char *bytes = static_cast<const char *>(whole.data);
  whole.data = bytes + (rows ? whole.bytes() / rows * window.start[0] : 0);
  whole.shape = window.shape;
  return whole;
}

void EntryCall::fill(const Batch &batch,
                     std::vector<TensorView> *filled) const {
  std::vector<TensorView> &inputs = *filled;
  inputs.resize(sources.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    const Source &source = sources[i];
    switch (source.kind) {
    case Source::Mask:
      inputs[i].type = manifest::BOOL;
      inputs[i].shape = source.shape;
      inputs[i].data = batch.mask.data();
      break;
    case Source::Count:
      inputs[i].type = manifest::F32;
      inputs[i].shape = source.shape;
      inputs[i].data = &batch.count;
      break;
    case Source::Column:
      inputs[i] = batch.tensors[source.column];
      break;
    }
    inputs[i] = cutRows(inputs[i], source.window);
  }
}

void EntryCall::widenRows(int64_t *first, int64_t *end) const {
  for (const Source &source : sources) {
    const Window &window = source.window;
    if (source.kind != Source::Column || source.shape.empty())
      continue;
    // Without a part the address of the whole goes along.
    int64_t start = window.present ? window.start[0] : 0;
    int64_t rows = window.present ? window.shape[0] : 0;
    *first = std::min(*first, start);
    *end = std::max(*end, start + rows);
  }
}

StepResult EntryCall::read(const std::vector<Tensor> &outputs) const {
  StepResult result;
  auto isHere = [&](int position) {
    return position >= 0 && !outputs[position].data.empty();
  };
  auto value = [&](int position) {
    const Tensor &tensor = outputs[position];
    return elementAsDouble(tensor.type, tensor.data.data(), 0);
  };
  // Workers that train by themselves have parts of the loss, and their own word
  // on whether it is finite.
  auto each = [&](int position) {
    const Tensor &tensor = outputs[position];
    std::vector<double> values(elementCount(tensor.shape));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = elementAsDouble(tensor.type, tensor.data.data(), i);
    return values;
  };
  if (isHere(loss)) {
    result.hasLoss = true;
    for (double part : each(loss))
      result.loss += float(part);
    result.finite = std::isfinite(result.loss);
  }
  if (isHere(finite)) {
    // The program's word counts: with a loss scale above 1 it skips the step.
    std::vector<double> words = each(finite);
    result.finite = std::find(words.begin(), words.end(), 0) == words.end();
  }
  if (isHere(learningRate)) {
    result.hasLearningRate = true;
    result.learningRate = float(value(learningRate));
  }
  return result;
}

bool EntryCall::hasResults() const {
  for (int position : {loss, finite, learningRate})
    if (position >= 0 &&
        !session->outputWindow(*manifestEntry, position).present)
      return false;
  return true;
}

Status EntryCall::run(const Batch &batch, StepResult *result) {
  fill(batch, &inputs);
  DIST_RETURN_IF_ERROR(session->run(*manifestEntry, inputs, &outputs));
  *result = read(outputs);
  return Status();
}

void setReplicas(const manifest::Manifest &manifest,
                 const manifest::Entry &entry, BatchPlan *plan) {
  plan->replicas = 1;
  plan->weights.clear();
  for (const Binding &binding : entry.arguments()) {
    if (binding.role() == Binding::VARIABLE || binding.batch_dim() != 0 ||
        binding.global_type().shape_size() == 0)
      continue;
    if (binding.sharding().dims_size() > 0)
      for (const std::string &axis : binding.sharding().dims(0).axes())
        for (const manifest::Axis &known : manifest.mesh().axes())
          if (known.name() == axis) {
            plan->replicas *= known.size();
            // Weights are of the one axis that splits the batch.
            plan->weights.assign(known.weights().begin(),
                                 known.weights().end());
          }
    if (int64_t(plan->weights.size()) != plan->replicas)
      plan->weights.clear();
    return;
  }
}

int64_t batchRows(const manifest::Entry &entry) {
  for (const Binding &binding : entry.arguments())
    if ((binding.role() == Binding::INPUT ||
         binding.role() == Binding::LABEL) &&
        binding.batch_dim() == 0 && binding.global_type().shape_size() > 0)
      return binding.global_type().shape(0);
  return 0;
}

//===----------------------------------------------------------------------===//
// EntryPair
//===----------------------------------------------------------------------===//

Status EntryPair::create(Session &session, const std::string &name,
                         EntryPair *out) {
  *out = EntryPair();
  out->name = name;
  std::string partial = name + "_partial";
  if (session.findEntry(partial))
    DIST_RETURN_IF_ERROR(EntryCall::create(session, partial, &out->partial));
  // The full entry's absence is the error when there is no partial one either.
  if (session.findEntry(name) || !out->partial)
    return EntryCall::create(session, name, &out->full);
  return Status();
}

Status EntryPair::choose(const Batch &batch, EntryCall **out) {
  EntryCall &call = batch.partial ? partial : full;
  *out = &call;
  if (!call)
    return Status::error(
        StatusCode::InvalidInput, "the program takes full batches only", name,
        "this batch has " + std::to_string(batch.examples) + " examples",
        "give --drop-remainder or compile the model again");
  return Status();
}

Status EntryPair::checkShort(const manifest::Manifest &manifest,
                             int64_t examples, const BatchPlan &plan,
                             int64_t batches, const std::string &advice) const {
  if (partial || batches < 1)
    return Status();
  // In a pass they become no larger.
  int64_t last = BatchStream::examplesOf(examples, plan, batches - 1);
  if (last == plan.batch)
    return Status();
  auto why = manifest.options().find("full_batches");
  return Status::error(
      StatusCode::InvalidInput, "the program takes full batches only",
      "--batch-size",
      (plan.shards.empty()
           ? "the last one of " + std::to_string(examples) + " examples"
           : "the last one of a pass of the workers") +
          " would have " + std::to_string(last) + " of " +
          std::to_string(plan.batch) +
          (why == manifest.options().end() ? "" : ", and " + why->second),
      "give " + advice + "a --batch-size that divides them");
}

Status EntryPair::run(const Batch &batch, StepResult *result) {
  EntryCall *call = nullptr;
  DIST_RETURN_IF_ERROR(choose(batch, &call));
  return call->run(batch, result);
}

BatchPlan EntryPair::plan(const manifest::Manifest &manifest) const {
  const manifest::Entry &entry = full ? full.entry() : partial.entry();
  BatchPlan plan;
  plan.rows = batchRows(partial ? partial.entry() : entry);
  plan.batch = full ? batchRows(full.entry()) : plan.rows;
  if (manifest.global_batch() > 0 && manifest.global_batch() <= plan.batch)
    plan.batch = manifest.global_batch();
  setReplicas(manifest, entry, &plan);
  plan.firstRow = INT64_MAX;
  plan.endRow = 0;
  for (const EntryCall *call : {&full, &partial})
    if (*call)
      call->widenRows(&plan.firstRow, &plan.endRow);
  return plan;
}

//===----------------------------------------------------------------------===//
// Metrics
//===----------------------------------------------------------------------===//

double areaUnderCurve(const TensorView &counts) {
  int64_t bins = counts.shape.back();
  auto at = [&](int64_t row, int64_t bin) {
    return elementAsDouble(counts.type, counts.data, row * bins + bin);
  };
  // From the highest threshold, where nothing counts as positive, downwards.
  double right = 0, wrong = 0, area = 0;
  for (int64_t bin = bins; bin-- > 0;) {
    double more = at(0, bin);
    area += at(1, bin) * (right + more / 2);
    right += more;
    wrong += at(1, bin);
  }
  return right > 0 && wrong > 0 ? area / right / wrong : 0;
}

Metrics::Metrics(Session &session) : session(session) {
  const auto &variables = session.manifest().variables();
  for (int i = 0; i < variables.size(); ++i) {
    const std::string &name = variables[i].name();
    if (variables[i].group() != "metric" || name.compare(0, 7, "metric/") != 0)
      continue;
    size_t slash = name.rfind('/');
    if (slash < 7)
      continue;
    std::string metric = name.substr(7, slash - 7),
                part = name.substr(slash + 1);
    auto it = std::find_if(items.begin(), items.end(), [&](const Item &item) {
      return item.name == metric;
    });
    if (it == items.end())
      // The loss leads every row.
      it = items.insert(metric == "loss" ? items.begin() : items.end(),
                        Item{metric});
    (part == "count"    ? it->count
     : part == "counts" ? it->counts
                        : it->total) = i;
  }
}

bool Metrics::has(const std::string &name) const {
  return std::any_of(items.begin(), items.end(),
                     [&](const Item &item) { return item.name == name; });
}

std::vector<std::string> Metrics::names() const {
  std::vector<std::string> all;
  for (const Item &item : items)
    all.push_back(item.name);
  return all;
}

Status Metrics::read(std::vector<std::pair<std::string, double>> *values) {
  auto scalar = [&](int index, double *out) {
    Tensor tensor;
    DIST_RETURN_IF_ERROR(session.readVariable(index, &tensor));
    *out = elementAsDouble(tensor.type, tensor.data.data(), 0);
    return Status();
  };
  for (const Item &item : items) {
    if (item.counts >= 0) {
      Tensor counts;
      DIST_RETURN_IF_ERROR(session.readVariable(item.counts, &counts));
      values->emplace_back(item.name, areaUnderCurve(counts.view()));
      continue;
    }
    double total = NAN, count = 1;
    if (item.total >= 0)
      DIST_RETURN_IF_ERROR(scalar(item.total, &total));
    if (item.count >= 0)
      DIST_RETURN_IF_ERROR(scalar(item.count, &count));
    values->emplace_back(item.name, total / count);
  }
  return Status();
}

Status Metrics::reset() {
  for (const Item &item : items)
    for (int index : {item.total, item.count, item.counts}) {
      if (index < 0)
        continue;
      Tensor zero =
          makeZeros(session.manifest().variables(index).global_type());
      DIST_RETURN_IF_ERROR(session.writeVariable(index, zero.view()));
    }
  return Status();
}

} // namespace dist
