//===- predict.cpp - dist-run predict -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/train/predict.h"
#include "runtime/formats/convert.h"
#include "runtime/formats/npy.h"
#include "tools/dist-run/commands.h"
#include "tools/dist-run/console.h"
#include "tools/dist-run/follow.h"
#include "tools/dist-run/output.h"
#include "tools/dist-run/program.h"
#include "tools/options/interrupt.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <dirent.h>
#include <map>
#include <set>
#include <unistd.h>

namespace dist::tools {

namespace {

struct NamedInput {
  std::string name, file;
  HostArray array;
};

} // namespace

static Status readInputs(const std::vector<std::string> &words,
                         std::vector<NamedInput> *out) {
  for (const std::string &word : words) {
    // Names may hold '=' as little as files may be nameless.
    size_t equals = word.find('=');
    NamedInput input{word.substr(0, equals), word.substr(equals + 1), {}};
    for (const NamedInput &other : *out)
      if (other.name == input.name)
        return Status::error(StatusCode::InvalidArgument,
                             "input is given twice", "'" + input.name + "'", "",
                             "give one file");
    DIST_RETURN_IF_ERROR(
        readInputFile(input.file, &input.array, nullptr, FileAccess::Map));
    out->push_back(std::move(input));
  }
  return Status();
}

/// The input whose value the compiler asks for, of `--bind NAME=FILE` in its
/// error; empty when it asks for none that is given.
static const NamedInput *askedFor(const std::string &text,
                                  const std::vector<NamedInput> &inputs) {
  size_t at = text.find("--bind ");
  if (at == std::string::npos)
    return nullptr;
  std::string rest = text.substr(at + 7);
  for (const NamedInput &input : inputs)
    if (rest.compare(0, input.name.size() + 1, input.name + "=") == 0)
      return &input;
  return nullptr;
}

/// The batch that a model of fixed shapes was exported at, where the compiler
/// says that it takes no other; empty: it does not.
static std::string batchAdvised(const std::string &text) {
  const std::string advice = "give --batch-size ";
  size_t at = text.find(advice);
  if (at == std::string::npos)
    return "";
  at += advice.size();
  return text.substr(at, text.find_first_not_of("0123456789", at) - at);
}

/// Whether the compiler says that nothing in the model is a batch: it has no
/// inputs, or only numbers or empty ones.
static bool hasNoBatch(const std::string &text) {
  return text.find("leave --batch-size out") != std::string::npos;
}

/// Compiles with the values that decide shapes, asking again for each that the
/// compiler names.
static Status makePredictor(const Options &options,
                            const std::vector<NamedInput> &inputs,
                            Program *program, CompileFailure *failure,
                            std::vector<std::string> *bound) {
  std::vector<std::string> more;
  bool guessed = leavesBatchOpen(options);
  if (guessed) {
    // The examples in the files are the batch of a model that leaves it open.
    int64_t batch = 1;
    for (const NamedInput &input : inputs)
      if (!input.array.shape.empty() && input.array.shape[0] > 0) {
        batch = input.array.shape[0];
        break;
      }
    more.push_back("--batch-size=" + std::to_string(batch));
  }
  for (auto &[name, file] : options.binds)
    bound->push_back(name);
  for (;;) {
    *failure = CompileFailure();
    Status status = makeProgram(options, more, program, failure);
    if (status.ok() || failure->exitCode == 0)
      return status;
    // Examples go through a model of a fixed batch in batches of that size.
    if (std::string batch = batchAdvised(failure->text);
        guessed && !batch.empty()) {
      guessed = false;
      more.front() = "--batch-size=" + batch;
      continue;
    }
    if (guessed && hasNoBatch(failure->text)) {
      guessed = false;
      more.erase(more.begin());
      continue;
    }
    const NamedInput *asked = askedFor(failure->text, inputs);
    if (!asked ||
        std::find(bound->begin(), bound->end(), asked->name) != bound->end())
      return status;
    bound->push_back(asked->name);
    more.push_back("--bind=" + asked->name + "=" + asked->file);
  }
}

/// Whether `--output NAME=FILE.npy` says so, before anything runs.
static Status checkOutputWords(const Options &options) {
  const std::string end = ".npy";
  std::set<std::string> names;
  std::vector<ResultPlace> places;
  for (const std::string &word : options.outputs) {
    size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      return Status::error(
          StatusCode::InvalidArgument, "wrong option value", "--output",
          "expected NAME=FILE.npy, but got '" + word + "'", "name the output");
    if (!names.insert(word.substr(0, equals)).second)
      return Status::error(StatusCode::InvalidArgument, "output is given twice",
                           "'" + word.substr(0, equals) + "'", "",
                           "give one file");
    DIST_RETURN_IF_ERROR(checkForm("--output", word.substr(equals + 1), end));
    places.push_back(
        {"--output " + word.substr(0, equals), word.substr(equals + 1)});
  }
  return checkPlaces(places);
}

static std::string fileName(std::string name) {
  for (char &c : name)
    if (c == '/' || c == ':')
      c = '_';
  return name + ".npy";
}

/// Whether each output has a file of its own in --output-dir.
static Status checkFileNames(const manifest::Entry &entry) {
  std::map<std::string, std::string> files;
  for (const manifest::Binding &binding : entry.results()) {
    if (binding.role() != manifest::Binding::OUTPUT)
      continue;
    auto [other, isNew] =
        files.emplace(fileName(binding.name()), binding.name());
    if (!isNew)
      return Status::error(StatusCode::InvalidInput,
                           "two outputs would be one file", "--output-dir",
                           "'" + other->second + "' and '" + binding.name() +
                               "' are both written as " + other->first,
                           "give --output NAME=FILE.npy for each");
  }
  return Status();
}

/// Whether the model has the outputs that are asked for.
static Status checkOutputs(const Options &options,
                           const manifest::Entry &entry) {
  for (const std::string &word : options.outputs) {
    std::string wanted = word.substr(0, word.find('=')), names;
    bool found = false;
    for (const manifest::Binding &binding : entry.results())
      if (binding.role() == manifest::Binding::OUTPUT) {
        names += (names.empty() ? "" : ", ") + binding.name();
        found |= binding.name() == wanted;
      }
    if (!found)
      return Status::error(StatusCode::InvalidInput,
                           "the model has no such output", "'" + wanted + "'",
                           "it has " + names, "name one of them");
  }
  return Status();
}

/// What only examples of a data set go through would be left out silently.
static Status checkPreprocessing(const Options &options) {
  for (auto &[option, given] : {std::pair("--scale", &options.scale),
                                {"--mean", &options.mean},
                                {"--std", &options.std},
                                {"--layout", &options.layout}})
    if (!given->empty())
      return Status::error(StatusCode::InvalidArgument, "wrong option value",
                           option, "predict takes arrays as the model does",
                           "leave it out, and give an array that is scaled and "
                           "laid out so");
  return Status();
}

/// Compiles, opens and runs. `failure` as in `makeProgram`.
static Status
predictModel(const Options &options, std::vector<NamedInput> inputs,
             CompileFailure *failure,
             std::vector<std::pair<std::string, Tensor>> *outputs) {
  Program program;
  std::vector<std::string> bound;
  DIST_RETURN_IF_ERROR(
      makePredictor(options, inputs, &program, failure, &bound));
  std::unique_ptr<Session> session;
  DIST_RETURN_IF_ERROR(
      openSession(options, program, failure, &session, nullptr));
  if (const manifest::Entry *entry = session->findEntry("predict")) {
    DIST_RETURN_IF_ERROR(checkOutputs(options, *entry));
    if (!options.outputDir.empty())
      DIST_RETURN_IF_ERROR(checkFileNames(*entry));
  }
  if (!options.checkpoint.empty())
    DIST_RETURN_IF_ERROR(loadNewestState(options, *session));
  std::vector<std::pair<std::string, HostArray>> given;
  for (NamedInput &input : inputs)
    if (std::find(bound.begin(), bound.end(), input.name) == bound.end())
      given.emplace_back(input.name, std::move(input.array));
  setActivity("predicting");
  return predict(*session, given, outputs);
}

static std::string summary(const std::string &name, const Tensor &tensor) {
  std::string text = name + ": " + dist::name(tensor.type) + " " +
                     toString(tensor.shape) + " =";
  int64_t count = elementCount(tensor.shape);
  for (int64_t i = 0; i < std::min<int64_t>(count, 8); ++i) {
    char number[32];
    std::snprintf(number, sizeof number, " %.6g",
                  elementAsDouble(tensor.type, tensor.data.data(), i));
    text += number;
  }
  return text + (count > 8 ? " ...\n" : "\n");
}

static Status
writeOutputs(const Options &options,
             std::vector<std::pair<std::string, Tensor>> &outputs) {
  if (!options.outputDir.empty()) {
    DIST_RETURN_IF_ERROR(makeFolders(options.outputDir));
    for (auto &[name, tensor] : outputs)
      DIST_RETURN_IF_ERROR(writeNpy(options.outputDir + "/" + fileName(name),
                                    tensor.view(),
                                    /*durable=*/true));
  }
  for (const std::string &word : options.outputs) {
    size_t equals = word.find('=');
    for (auto &[name, tensor] : outputs)
      if (name == word.substr(0, equals))
        DIST_RETURN_IF_ERROR(writeNpy(word.substr(equals + 1), tensor.view(),
                                      /*durable=*/true));
  }
  return Status();
}

int runPredict(const Options &options) {
  std::vector<NamedInput> inputs;
  std::vector<std::pair<std::string, Tensor>> outputs;
  CompileFailure failure;
  Status status = checkPreprocessing(options);
  if (status.ok())
    status = checkOutputWords(options);
  if (status.ok())
    status = readInputs(options.inputs, &inputs);
  if (status.ok())
    status = predictModel(options, std::move(inputs), &failure, &outputs);
  if (failure.exitCode) {
    std::fputs(failure.text.c_str(), stderr);
    return failure.exitCode;
  }
  if (status.ok()) {
    Shield shield("writing the outputs");
    status = writeOutputs(options, outputs);
  }
  if (!status.ok() || !options.outputDir.empty() || !options.outputs.empty())
    return report(status);
  std::string text;
  for (auto &[name, tensor] : outputs)
    text += summary(name, tensor);
  return printReport(text);
}

//===----------------------------------------------------------------------===//
// Many cases at once
//===----------------------------------------------------------------------===//

/// Names in a folder, sorted.
static std::vector<std::string> listFolder(const std::string &folder) {
  std::vector<std::string> names;
  if (DIR *handle = opendir(folder.c_str())) {
    while (dirent *item = readdir(handle))
      if (item->d_name[0] != '.')
        names.push_back(item->d_name);
    closedir(handle);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Tolerances as ONNX' own backend tests have them.
static std::string difference(const HostArray &want, const Tensor &got) {
  if (want.shape != got.shape || want.type != got.type)
    return std::string("expected ") + name(want.type) + " " +
           toString(want.shape) + ", got " + name(got.type) + " " +
           toString(got.shape);
  double relative = want.type == manifest::BF16 ? 1e-2 : 1e-3;
  for (int64_t i = 0; i < elementCount(want.shape); ++i) {
    double a = elementAsDouble(want.type, want.data, i);
    double b = elementAsDouble(got.type, got.data.data(), i);
    bool same = a == b || (std::isnan(a) && std::isnan(b)) ||
                (isFloat(want.type) && std::isfinite(a) &&
                 std::fabs(a - b) <= 1e-5 + relative * std::fabs(a));
    if (same)
      continue;
    char text[96];
    std::snprintf(text, sizeof text, "element %lld is %.6g, expected %.6g",
                  static_cast<long long>(i), b, a);
    return text;
  }
  return "";
}

/// One folder of model.onnx with input_i.pb and output_i.pb, directly or in
/// test_data_set_0, as ONNX lays its cases out.
static std::string runCase(const Options &options, const std::string &folder) {
  Options one = options;
  one.model = folder + "/model.onnx";
  std::string data = folder + "/test_data_set_0";
  if (listFolder(data).empty())
    data = folder;
  std::vector<NamedInput> inputs;
  std::vector<HostArray> wanted;
  CompileFailure failure;
  auto refused = [&](const Status &status) {
    std::string text = failure.exitCode ? failure.text : status.message();
    size_t at = text.find("error: ");
    if (failure.exitCode && at != std::string::npos)
      text = text.substr(at + 7);
    return "refused: " + text.substr(0, text.find('\n'));
  };
  Status status;
  for (size_t i = 0;; ++i) {
    std::string file = data + "/input_" + std::to_string(i) + ".pb";
    if (access(file.c_str(), R_OK) != 0)
      break;
    // The tensors carry the inputs' names.
    NamedInput input{"", file, {}};
    status = readInputFile(file, &input.array, &input.name);
    if (!status.ok())
      return refused(status);
    inputs.push_back(std::move(input));
  }
  for (size_t i = 0;; ++i) {
    std::string file = data + "/output_" + std::to_string(i) + ".pb";
    if (access(file.c_str(), R_OK) != 0)
      break;
    wanted.emplace_back();
    status = readInputFile(file, &wanted.back());
    if (!status.ok())
      return refused(status);
  }
  std::vector<std::pair<std::string, Tensor>> outputs;
  status = predictModel(one, std::move(inputs), &failure, &outputs);
  if (!status.ok())
    return refused(status);
  if (outputs.size() < wanted.size())
    return "wrong: fewer outputs than expected";
  for (size_t i = 0; i < wanted.size(); ++i)
    if (std::string text = difference(wanted[i], outputs[i].second);
        !text.empty())
      return "wrong: output '" + outputs[i].first + "': " + text;
  return "pass";
}

int runCases(const Options &options) {
  std::vector<std::string> folders;
  for (const std::string &name : listFolder(options.cases))
    if (access((options.cases + "/" + name + "/model.onnx").c_str(), R_OK) == 0)
      folders.push_back(name);
  if (folders.empty())
    return report(Status::error(
        StatusCode::InvalidInput, "no cases", options.cases,
        "no folder in it holds a model.onnx", "give a folder of cases"));
  std::map<std::string, int64_t> counts;
  for (const std::string &name : folders) {
    std::string result = runCase(options, options.cases + "/" + name);
    ++counts[result.substr(0, result.find(':'))];
    if (int code = printReport(name + " " + result + "\n"))
      return code;
  }
  int code = printReport(std::to_string(counts["pass"]) + " of " +
                         std::to_string(folders.size()) + " pass, " +
                         std::to_string(counts["wrong"]) + " wrong, " +
                         std::to_string(counts["refused"]) + " refused\n");
  return code ? code : counts["wrong"] > 0;
}

} // namespace dist::tools
