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

} // namespace dist::tools
