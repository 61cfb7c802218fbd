//===- predict.cpp - Arrays through the predict entry -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/train/predict.h"
#include "runtime/core/predict.h"
#include "runtime/formats/convert.h"
#include "runtime/formats/npy.h"
#include "runtime/formats/onnx_tensor.h"
#include <algorithm>

namespace dist {

using manifest::Binding;

Status readInputFile(const std::string &path, HostArray *out, std::string *name,
                     FileAccess access) {
  std::shared_ptr<const FileBytes> file;
  UnpackLimit limit;
  limit.header = [&](std::string_view start, size_t *bytes) {
    ArrayHeader header;
    if (!isNpy(start))
      return Status();
    DIST_RETURN_IF_ERROR(parseNpyHeader(start, path, &header));
    *bytes = header.end();
    return Status();
  };
  DIST_RETURN_IF_ERROR(FileBytes::openUnpacked(path, &file, access, limit));
  if (isNpy(file->bytes()))
    return parseNpy(file->bytes(), file, path, out);
  std::string ignored;
  return parseOnnxTensor(file->bytes(), path, name ? name : &ignored, out);
}

static Status unfit(const std::string &name, const std::string &why) {
  return Status::error(StatusCode::InvalidInput, "input does not fit the model",
                       "'" + name + "'", why, "see dist-run info");
}

Status predict(Session &session,
               const std::vector<std::pair<std::string, HostArray>> &given,
               std::vector<std::pair<std::string, Tensor>> *outputs) {
  const manifest::Entry *entry = session.findEntry("predict");
  if (!entry)
    return Status::error(
        StatusCode::InvalidInput, "the program has no entry 'predict'",
        session.manifest().model_name(), "",
        "compile the model again: a module's function is to be @predict, and "
        "--entries, if given, to have it");
  std::vector<TensorView> inputs;
  std::vector<HostArray> converted;
  std::string names;
  for (const Binding &binding : entry->arguments())
    if (binding.role() == Binding::INPUT)
      names += (names.empty() ? "" : ", ") + binding.name();
  // Before one is missed: a name may be misspelt.
  for (auto &[name, array] : given)
    if (std::none_of(entry->arguments().begin(), entry->arguments().end(),
                     [&, &name = name](const Binding &binding) {
                       return binding.role() == Binding::INPUT &&
                              binding.name() == name;
                     }))
      return unfit(name, "the model has no such input, it has " + names);
  for (const Binding &binding : entry->arguments()) {
    if (binding.role() != Binding::INPUT)
      continue;
    const std::string &name = binding.name();
    auto it = std::find_if(given.begin(), given.end(),
                           [&](auto &pair) { return pair.first == name; });
    if (it == given.end())
      return Status::error(StatusCode::InvalidInput, "input is missing",
                           "'" + name + "'", "",
                           "add --input " + name + "=FILE");
    HostArray array = it->second;
    // NumPy has no bfloat16: float32 files stand for it.
    if (array.type == manifest::F32 &&
        binding.global_type().type() == manifest::BF16) {
      auto narrow = std::make_shared<std::string>(
          2 * size_t(elementCount(array.shape)), '\0');
      convertElements(array.type, array.data, manifest::BF16, narrow->data(),
                      elementCount(array.shape));
      array.type = manifest::BF16;
      array.data = narrow->data();
      array.owner = narrow;
    }
    inputs.push_back(array.view());
    converted.push_back(std::move(array));
  }
  std::vector<Tensor> values;
  DIST_RETURN_IF_ERROR(predictExamples(session, inputs, &values));
  outputs->clear();
  size_t number = 0;
  for (const Binding &binding : entry->results())
    if (binding.role() == Binding::OUTPUT)
      outputs->emplace_back(binding.name(), std::move(values[number++]));
  return Status();
}

} // namespace dist
