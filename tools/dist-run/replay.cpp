//===- replay.cpp - dist-run predict --replay -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Any entries of a package on given tensors: what dist-opt --check=kernels runs
// kernels and whole programs by. NAME/0, NAME/1, ... are an entry's inputs,
// NAME/slice/RANK/VARIABLE what a rank holds of a variable before it runs; the
// results are named alike.
//
//===----------------------------------------------------------------------===//
#include "runtime/core/text.h"
#include "runtime/formats/safetensors.h"
#include "tools/dist-run/commands.h"
#include "tools/dist-run/console.h"
#include "tools/dist-run/program.h"
#include <deque>

namespace dist::tools {

/// What the file has of ranks' slices is written to the session's variables;
/// or, with a writer, read from them.
static Status moveSlices(Session &session, const SafetensorsFile &file,
                         const std::string &entry, SafetensorsWriter *writer,
                         std::deque<std::vector<Tensor>> *results) {
  const manifest::Manifest &manifest = session.manifest();
  for (int rank = 0; rank < manifest.program_of_rank_size(); ++rank)
    for (int i = 0; i < manifest.variables_size(); ++i) {
      std::string name = entry + "/slice/" + std::to_string(rank) + "/" +
                         manifest.variables(i).name();
      const TensorView *slice = file.find(name);
      if (!slice)
        continue;
      if (!writer) {
        DIST_RETURN_IF_ERROR(session.writeSlice(i, rank, *slice));
        continue;
      }
      Tensor &value = results->emplace_back(1).front();
      DIST_RETURN_IF_ERROR(session.readSlice(i, rank, &value));
      writer->add(name, value.type, value.shape, value.data.data());
    }
  return Status();
}

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
  for (const std::string &name : splitList(entries->second)) {
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
    DIST_RETURN_IF_ERROR(moveSlices(*session, *file, name, nullptr, nullptr));
    std::vector<Tensor> &outputs = results.emplace_back();
    DIST_RETURN_IF_ERROR(session->run(*entry, inputs, &outputs));
    for (size_t i = 0; i < outputs.size(); ++i)
      writer.add(name + "/" + std::to_string(i), outputs[i].type,
                 outputs[i].shape, outputs[i].data.data());
    DIST_RETURN_IF_ERROR(moveSlices(*session, *file, name, &writer, &results));
  }
  return writer.finish();
}

int runReplay(const Options &options) {
  Status status = replay(options);
  return status.ok() ? 0 : report(status);
}

} // namespace dist::tools
