//===- replay.cpp - dist-run predict --replay -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Any entries of a package on given tensors: what dist-opt --check=kernels runs
// kernels by.
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/safetensors.h"
#include "tools/dist-run/commands.h"
#include "tools/dist-run/console.h"
#include "tools/dist-run/program.h"
#include <deque>
#include <sstream>

namespace dist::tools {

static Status replay(const Options &options) {
  if (!isPackage(options.model))
    return Status::error(StatusCode::InvalidArgument,
                         "only a package's entries can be run", "--replay",
                         options.model + " is no package",
                         "compile it first: dist-opt --emit=package -o FOLDER");
  if (options.outputs.size() != 1)
    return Status::error(StatusCode::InvalidArgument,
                         "the results need a place", "--replay", "",
                         "give one --output FILE.safetensors");
  std::unique_ptr<SafetensorsFile> file;
  DIST_RETURN_IF_ERROR(SafetensorsFile::open(options.replay, &file));
  auto entries = file->metadata().find("entries");
  if (entries == file->metadata().end())
    return Status::error(StatusCode::InvalidInput, "no entries to run",
                         options.replay, "its metadata have no 'entries'",
                         "list them there, separated by commas");
  Program program;
  CompileFailure failure;
  DIST_RETURN_IF_ERROR(makeProgram(options, {}, &program, &failure));
  std::unique_ptr<Session> session;
  DIST_RETURN_IF_ERROR(
      openSession(options, program, &failure, &session, nullptr));
  SafetensorsWriter writer(options.outputs.front());
  // The writer reads them at the end.
  std::deque<std::vector<Tensor>> results;
  std::istringstream names(entries->second);
  for (std::string name; std::getline(names, name, ',');) {
    const manifest::Entry *entry = session->findEntry(name);
    if (!entry)
      return Status::error(StatusCode::InvalidInput, "no entry '" + name + "'",
                           options.model, options.replay + " asks for it",
                           "take the package that the file was made for");
    std::vector<TensorView> inputs;
    for (;;) {
      const TensorView *input =
          file->find(name + "/" + std::to_string(inputs.size()));
      if (!input)
        break;
      inputs.push_back(*input);
    }
    DIST_RETURN_IF_ERROR(session->run(*entry, inputs, &results.emplace_back()));
    for (size_t i = 0; i < results.back().size(); ++i) {
      const Tensor &result = results.back()[i];
      writer.add(name + "/" + std::to_string(i), result.type, result.shape,
                 result.data.data());
    }
  }
  return writer.finish();
}

int runReplay(const Options &options) {
  Status status = replay(options);
  return status.ok() ? 0 : report(status);
}

} // namespace dist::tools
