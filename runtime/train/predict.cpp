//===- predict.cpp - Arrays through the predict entry -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/train/predict.h"
#include "runtime/core/indices.h"
#include "runtime/formats/convert.h"
#include "runtime/formats/npy.h"
#include "runtime/formats/onnx_tensor.h"
#include <algorithm>
#include <cstring>

namespace dist {

using manifest::Binding;

Status readInputFile(const std::string &path, HostArray *out, std::string *name,
                     FileAccess access) {
  std::shared_ptr<const FileBytes> file;
  DIST_RETURN_IF_ERROR(FileBytes::openUnpacked(path, &file, access));
  if (isNpy(file->bytes()))
    return parseNpy(file->bytes(), file, path, out);
  std::string ignored;
  return parseOnnxTensor(file->bytes(), path, name ? name : &ignored, out);
}

static Status unfit(const std::string &name, const std::string &why) {
  return Status::error(StatusCode::InvalidInput, "input does not fit the model",
                       "'" + name + "'", why, "see dist-run info");
}

/// Rows of a chunk: the real ones, then copies of the last.
static void cutChunk(const HostArray &array, int64_t begin, int64_t rows,
                     Tensor *out) {
  size_t rowBytes =
      array.shape[0] ? array.view().bytes() / size_t(array.shape[0]) : 0;
  out->type = array.type;
  out->shape = array.shape;
  out->shape[0] = rows;
  out->data.resize(out->view().bytes());
  for (int64_t i = 0; i < rows; ++i)
    std::memcpy(out->data.data() + rowBytes * size_t(i),
                array.data +
                    rowBytes * size_t(std::min(begin + i, array.shape[0] - 1)),
                rowBytes);
}

Status predict(Session &session,
               const std::vector<std::pair<std::string, HostArray>> &given,
               std::vector<std::pair<std::string, Tensor>> *outputs) {
  const manifest::Entry *entry = session.findEntry("predict");
  if (!entry)
    return Status::error(
        StatusCode::InvalidInput, "the program has no entry 'predict'",
        session.manifest().model_name(), "", "compile the model again");
  std::vector<HostArray> inputs;
  std::vector<const Binding *> bindings;
  int64_t rows = -1, batch = -1;
  std::string names;
  for (const Binding &binding : entry->arguments()) {
    if (binding.role() != Binding::INPUT)
      continue;
    const std::string &name = binding.name();
    names += (names.empty() ? "" : ", ") + name;
    auto it = std::find_if(given.begin(), given.end(),
                           [&](auto &pair) { return pair.first == name; });
    if (it == given.end())
      return Status::error(StatusCode::InvalidInput, "input is missing",
                           "'" + name + "'", "",
                           "add --input " + name + "=FILE");
    HostArray array = it->second;
    const auto &type = binding.global_type();
    std::vector<int64_t> shape(type.shape().begin(), type.shape().end());
    if (array.type != type.type()) {
      // NumPy has no bfloat16: float32 files stand for it.
      if (array.type != manifest::F32 || type.type() != manifest::BF16)
        return unfit(name, std::string("expected type ") +
                               dist::name(type.type()) + ", but got " +
                               dist::name(array.type));
      auto converted = std::make_shared<std::string>(
          2 * size_t(elementCount(array.shape)), '\0');
      convertElements(array.type, array.data, type.type(), converted->data(),
                      elementCount(array.shape));
      array.type = type.type();
      array.data = converted->data();
      array.owner = converted;
    }
    std::vector<int64_t> fitted = shape;
    bool batched = binding.batch_dim() == 0 && !shape.empty() &&
                   array.shape.size() == shape.size();
    if (batched)
      fitted[0] = array.shape[0];
    if (array.shape != fitted)
      return unfit(name, "expected shape " + toString(shape) + ", but got " +
                             toString(array.shape));
    if (batched) {
      if (rows >= 0 && rows != fitted[0])
        return unfit(name, "it has " + std::to_string(fitted[0]) +
                               " examples, another input has " +
                               std::to_string(rows));
      rows = fitted[0];
      batch = shape[0];
    }
    DIST_RETURN_IF_ERROR(checkIndices(binding, array.view()));
    inputs.push_back(std::move(array));
    bindings.push_back(&binding);
  }
  for (auto &[name, array] : given)
    if (std::none_of(bindings.begin(), bindings.end(),
                     [&, &name = name](auto *b) { return b->name() == name; }))
      return unfit(name, "the model has no such input, it has " + names);
  if (rows == 0 && batch != 0)
    return unfit(bindings.empty() ? "" : bindings[0]->name(),
                 "it has no examples");

  std::vector<const Binding *> results;
  for (const Binding &binding : entry->results())
    if (binding.role() == Binding::OUTPUT)
      results.push_back(&binding);
  bool chunked = rows >= 0 && rows != batch;
  if (chunked)
    for (const Binding *binding : results)
      if (binding->batch_dim() != 0)
        return unfit(bindings[0]->name(),
                     "the program takes " + std::to_string(batch) +
                         " examples at once, and output '" + binding->name() +
                         "' depends on all");
  // A chunk must be the batch that was asked for, without copies.
  const auto &options = session.manifest().options();
  auto mixes = options.find("predict_full_batches");
  int64_t asked = session.manifest().global_batch();
  if (chunked && mixes != options.end() &&
      (rows % batch || (asked > 0 && asked != batch)))
    return unfit(bindings[0]->name(), "it has " + std::to_string(rows) +
                                          " examples, the program takes " +
                                          std::to_string(batch) +
                                          " at once, and " + mixes->second);
  outputs->clear();
  std::vector<Tensor> chunk(inputs.size()), values;
  for (int64_t begin = 0; begin == 0 || begin < rows;
       begin += std::max<int64_t>(batch, 1)) {
    std::vector<TensorView> views;
    for (size_t i = 0; i < inputs.size(); ++i) {
      bool cut = chunked && bindings[i]->batch_dim() == 0;
      if (cut)
        cutChunk(inputs[i], begin, batch, &chunk[i]);
      views.push_back(cut ? chunk[i].view() : inputs[i].view());
    }
    DIST_RETURN_IF_ERROR(session.run(*entry, views, &values));
    for (size_t i = 0; i < results.size(); ++i) {
      if (!chunked) {
        outputs->emplace_back(results[i]->name(), std::move(values[i]));
        continue;
      }
      if (begin == 0) {
        Tensor whole;
        whole.type = values[i].type;
        whole.shape = values[i].shape;
        whole.shape[0] = rows;
        whole.data.resize(whole.view().bytes());
        outputs->emplace_back(results[i]->name(), std::move(whole));
      }
      Tensor &whole = (*outputs)[i].second;
      size_t rowBytes = whole.view().bytes() / size_t(rows);
      std::memcpy(whole.data.data() + rowBytes * size_t(begin),
                  values[i].data.data(),
                  rowBytes * size_t(std::min(batch, rows - begin)));
    }
    if (!chunked)
      break;
  }
  return Status();
}

} // namespace dist
