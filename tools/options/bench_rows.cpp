//===- bench_rows.cpp - Options of predict, bench and the cache -----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/options/table.h"

namespace dist::tools {

void addBenchOptions(Table &table, Options &o) {
  table.group("Predict and bench", false);
  table.usedBy("predict");
  table.text("--replay", "FILE.safetensors",
             "predict with a package: runs the entries that the file's "
             "metadata 'entries' lists on its tensors ENTRY/0, ENTRY/1, ...; "
             "--output FILE.safetensors gets what they give, named alike",
             &o.replay);
  table.value(
      "--input", "NAME=FILE", "a .npy or .pb file (repeatable)",
      [&](const std::string &given) {
        o.inputs.push_back(given);
        NamedValues pair;
        return parseNamed("--input", given, &pair);
      },
      Table::Times::Many);
  table.text("--output-dir", "DIR", "one NAME.npy an output", &o.outputDir);
  table.text("--cases", "DIR", "folders of model.onnx, input_i.pb, output_i.pb",
             &o.cases);
  table.usedBy("bench");
  table.flag("--calibrate",
             "bench: measures this machine for the predictions of dist-opt; "
             "needs no model",
             &o.calibrate);
  table.flag("--collectives",
             "bench: times the collectives of --workers N processes, those of "
             "a cluster, or of --devices cpu:N, by sizes, ranks and "
             "algorithms, and writes them to --output FILE; needs no model",
             &o.collectives);
  table.number("--seconds", "bench: how long (default 5)", true,
               [&](double x) { o.seconds = x; });
  table.choice("--mode", {"train", "predict"}, "bench: what", &o.mode);

  table.group("Compiling", false);
  table.text(
      "--compile-cache", "DIR",
      "compiled packages (default ~/.cache/dist-mlir), by the content of "
      "all files they are made of; yours alone. The 48 that were used last "
      "stay, and those that runs work with",
      &o.compileCache);
  table.flag("--no-compile-cache", "compiles anew", &o.noCompileCache);
}

Status checkModes(const Options &o) {
  struct Mode {
    bool isOn;
    const char *name, *why;
    std::vector<std::pair<const char *, bool>> unread;
  };
  const bool predicts = o.command == "predict", times = o.command == "bench";
  const std::pair<const char *, bool> input{"--input", !o.inputs.empty()},
      output{"--output", !o.outputs.empty()},
      outputDir{"--output-dir", !o.outputDir.empty()},
      checkpoint{"--checkpoint", !o.checkpoint.empty()},
      trace{"--trace", !o.trace.empty()}, json{"--json", o.json};
  const Mode modes[] = {
      {predicts && !o.cases.empty(),
       "--cases",
       "each case has a model, inputs and outputs of its own",
       {{"MODEL", !o.model.empty()},
        input,
        output,
        outputDir,
        checkpoint,
        {"--replay", !o.replay.empty()}}},
      {predicts && !o.replay.empty(),
       "--replay",
       "its file has all that the entries are run on",
       {input, outputDir, checkpoint}},
      {times && o.calibrate,
       "--calibrate",
       "it measures the machine, for --machine FILE",
       {{"--collectives", o.collectives}, output, trace, json}},
      {times && o.collectives,
       "--collectives",
       "no model runs, and the table goes to --output FILE",
       {trace, json}},
      {times && !o.calibrate && !o.collectives,
       "bench",
       "without --collectives it writes none",
       {output}}};
  for (const Mode &mode : modes)
    for (auto [name, isGiven] : mode.unread)
      if (mode.isOn && isGiven)
        return Status::error(StatusCode::InvalidArgument,
                             std::string(mode.name) + " does not read this",
                             name, mode.why, "leave it out");
  return Status();
}

} // namespace dist::tools
