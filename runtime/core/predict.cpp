//===- predict.cpp - Any number of examples -------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/predict.h"
#include "runtime/core/indices.h"
#include <algorithm>
#include <cstring>
#include <limits>

namespace dist {

using manifest::Binding;

static bool hasExamples(const Binding &binding) {
  return binding.batch_dim() == 0 && binding.global_type().shape_size() > 0;
}

std::vector<PredictEntry>
findPredictEntries(const manifest::Manifest &manifest) {
  std::vector<PredictEntry> found;
  if (manifest.programs_size() == 0)
    return found;
  const std::string prefix = kPredictBatch;
  const auto &program = manifest.programs(
      manifest.program_of_rank_size() ? manifest.program_of_rank(0) : 0);
  for (const manifest::Entry &entry : program.entries()) {
    bool main = entry.name() == "predict";
    if (!main && entry.name().compare(0, prefix.size(), prefix) != 0)
      continue;
    PredictEntry one{&entry, 0, entry.seconds()};
    for (const Binding &binding : entry.arguments())
      if (binding.role() == Binding::INPUT && hasExamples(binding))
        one.rows = binding.global_type().shape(0);
    found.insert(main ? found.begin() : found.end(), one);
  }
  return found;
}

std::vector<size_t> coverExamples(const std::vector<PredictEntry> &entries,
                                  int64_t rows) {
  // Without predictions: the fewest examples, then the fewest calls.
  bool timed = std::all_of(entries.begin(), entries.end(),
                           [](auto &one) { return one.seconds > 0; });
  auto costOf = [&](size_t i) {
    return timed ? entries[i].seconds : double(entries[i].rows) + 1e-3;
  };
  size_t best = 0; // by example
  int64_t most = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    most = std::max(most, entries[i].rows);
    if (costOf(i) * double(entries[best].rows) <
        costOf(best) * double(entries[i].rows))
      best = i;
  }
  // The end is weighed; what is before it goes where an example costs least.
  int64_t bulk = std::max<int64_t>(0, (rows - 4 * most) / entries[best].rows);
  int64_t left = rows - bulk * entries[best].rows;
  std::vector<double> cost(left + 1, std::numeric_limits<double>::infinity());
  std::vector<size_t> first(left + 1, 0);
  cost[0] = 0;
  for (int64_t n = 1; n <= left; ++n)
    for (size_t i = 0; i < entries.size(); ++i) {
      double with = costOf(i) + cost[std::max<int64_t>(0, n - entries[i].rows)];
      if (with < cost[n]) {
        cost[n] = with;
        first[n] = i;
      }
    }
  std::vector<size_t> calls(bulk, best);
  for (int64_t n = left; n > 0; n -= entries[first[n]].rows)
    calls.push_back(first[n]);
  std::stable_sort(calls.begin(), calls.end(), [&](size_t a, size_t b) {
    return entries[a].rows > entries[b].rows;
  });
  return calls;
}

static Status unfit(const std::string &name, const std::string &why) {
  return Status::error(StatusCode::InvalidInput, "input does not fit the model",
                       "'" + name + "'", why, "see dist-run info");
}

/// Rows of a chunk: the real ones, then copies of the last.
static void cutChunk(const TensorView &array, int64_t begin, int64_t rows,
                     Tensor *out) {
  size_t rowBytes = array.shape[0] ? array.bytes() / size_t(array.shape[0]) : 0;
  out->type = array.type;
  out->shape = array.shape;
  out->shape[0] = rows;
  out->data.resize(out->view().bytes());
  for (int64_t i = 0; i < rows; ++i)
    std::memcpy(out->data.data() + rowBytes * size_t(i),
                static_cast<const char *>(array.data) +
                    rowBytes * size_t(std::min(begin + i, array.shape[0] - 1)),
                rowBytes);
}

namespace {

/// A prediction whose inputs fit.
struct Prediction {
  std::vector<const Binding *> inputs, results;
  int64_t rows = -1, batch = -1; // -1: no input has examples
};

} // namespace

static Status checkInputs(const manifest::Entry &entry,
                          const std::vector<TensorView> &tensors,
                          Prediction *out) {
  for (const Binding &binding : entry.arguments())
    if (binding.role() == Binding::INPUT)
      out->inputs.push_back(&binding);
  for (const Binding &binding : entry.results())
    if (binding.role() == Binding::OUTPUT)
      out->results.push_back(&binding);
  if (tensors.size() != out->inputs.size())
    return Status::error(StatusCode::InvalidArgument, "wrong number of inputs",
                         entry.name(),
                         "expected " + std::to_string(out->inputs.size()) +
                             ", but got " + std::to_string(tensors.size()));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Binding &binding = *out->inputs[i];
    const TensorView &tensor = tensors[i];
    const auto &type = binding.global_type();
    std::vector<int64_t> shape = shapeOf(type);
    if (tensor.type != type.type())
      return unfit(binding.name(), std::string("expected type ") +
                                       name(type.type()) + ", but got " +
                                       name(tensor.type));
    std::vector<int64_t> fitted = shape;
    bool batched = hasExamples(binding) && tensor.shape.size() == shape.size();
    if (batched)
      fitted[0] = tensor.shape[0];
    if (tensor.shape != fitted)
      return unfit(binding.name(), "expected shape " + toString(shape) +
                                       ", but got " + toString(tensor.shape));
    if (batched) {
      if (out->rows >= 0 && out->rows != fitted[0])
        return unfit(binding.name(), "it has " + std::to_string(fitted[0]) +
                                         " examples, another input has " +
                                         std::to_string(out->rows));
      out->rows = fitted[0];
      out->batch = shape[0];
    }
    if (!tensor.data && tensor.bytes() != 0)
      return unfit(binding.name(), "it has no data");
  }
  if (out->rows > 0 && out->batch == 0)
    return unfit(out->inputs[0]->name(), "the program takes no examples");
  if (out->rows == 0 && out->batch != 0)
    return unfit(out->inputs.empty() ? "" : out->inputs[0]->name(),
                 "it has no examples");
  return Status();
}

/// Whether the examples can go through entries of other batches.
static Status checkParts(const manifest::Manifest &manifest,
                         const Prediction &p) {
  for (const Binding *binding : p.results)
    if (binding->batch_dim() != 0)
      return unfit(p.inputs[0]->name(),
                   "the program takes " + std::to_string(p.batch) +
                       " examples at once, and output '" + binding->name() +
                       "' depends on all");
  // A chunk must be the batch that was asked for, without copies.
  auto mixes = manifest.options().find("predict_full_batches");
  int64_t asked = manifest.global_batch();
  if (mixes != manifest.options().end() &&
      (p.rows % p.batch || (asked > 0 && asked != p.batch)))
    return unfit(p.inputs[0]->name(), "it has " + std::to_string(p.rows) +
                                          " examples, the program takes " +
                                          std::to_string(p.batch) +
                                          " at once, and " + mixes->second);
  return Status();
}

Status predictExamples(Session &session, const std::vector<TensorView> &tensors,
                       std::vector<Tensor> *outputs,
                       const std::function<bool()> &stops) {
  const manifest::Entry *entry = session.findEntry("predict");
  if (!entry)
    return Status::error(
        StatusCode::InvalidInput, "the program has no entry 'predict'",
        session.manifest().model_name(), "",
        "compile the model again: a module's function is to be @predict, and "
        "--entries, if given, to have it");
  Prediction p;
  DIST_RETURN_IF_ERROR(checkInputs(*entry, tensors, &p));
  if (p.rows < 0 || p.rows == p.batch)
    return session.run(*entry, tensors, outputs);
  std::vector<PredictEntry> entries = findPredictEntries(session.manifest());
  for (const PredictEntry &other : entries)
    if (other.rows == p.rows)
      return session.run(*session.findEntry(other.entry->name()), tensors,
                         outputs);
  DIST_RETURN_IF_ERROR(checkParts(session.manifest(), p));
  // All of them, before any runs.
  for (size_t i = 0; i < tensors.size(); ++i)
    DIST_RETURN_IF_ERROR(checkIndices(*p.inputs[i], tensors[i]));
  // Inputs may lie in what was given before.
  std::vector<Tensor> wholes(p.results.size());
  for (size_t i = 0; i < p.results.size(); ++i) {
    const auto &type = p.results[i]->global_type();
    Tensor &whole = wholes[i];
    whole.type = type.type();
    whole.shape = shapeOf(type);
    whole.shape[0] = p.rows;
    whole.data.resize(whole.view().bytes());
  }
  std::vector<Tensor> chunk(tensors.size()), values;
  int64_t begin = 0;
  for (size_t number : coverExamples(entries, p.rows)) {
    bool goesOn = true;
    if (stops)
      DIST_RETURN_IF_ERROR(session.agree(!stops(), &goesOn));
    if (!goesOn)
      return Status::error(StatusCode::Cancelled, "cancelled", entry->name());
    int64_t rows = entries[number].rows;
    std::vector<TensorView> views = tensors;
    for (size_t i = 0; i < tensors.size(); ++i)
      if (hasExamples(*p.inputs[i])) {
        cutChunk(tensors[i], begin, rows, &chunk[i]);
        views[i] = chunk[i].view();
      }
    DIST_RETURN_IF_ERROR(session.run(
        *session.findEntry(entries[number].entry->name()), views, &values));
    for (size_t i = 0; i < p.results.size(); ++i) {
      Tensor &whole = wholes[i];
      size_t rowBytes = whole.data.size() / size_t(p.rows);
      std::memcpy(whole.data.data() + rowBytes * size_t(begin),
                  values[i].data.data(),
                  rowBytes * size_t(std::min(rows, p.rows - begin)));
    }
    begin += rows;
  }
  *outputs = std::move(wholes);
  return Status();
}

} // namespace dist
