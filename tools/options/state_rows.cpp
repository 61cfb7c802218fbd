//===- state_rows.cpp - Options of saved states ---------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a run saves, and who goes on with it: that run, or another process that
// evaluates its states.
//
//===----------------------------------------------------------------------===//
#include "tools/options/table.h"

namespace dist::tools {

static const char kUnsaved[] = "no states are saved without a folder for them";

void addStateOptions(Table &table, Options &o) {
  table.usedBy("fit evaluate");
  table.text("--history", "FILE",
             "a JSON line a step and an epoch; evaluate --follow: a line a "
             "state, added to those that are there",
             &o.history);
  table.usedBy("fit evaluate predict");
  table.text("--checkpoint", "DIR",
             "where states are saved: a folder of this run alone; SIGINT and "
             "SIGTERM save one, too; evaluate, predict: it is done with the "
             "newest state there, and the folder is only read",
             &o.checkpoint);
  table.usedBy("fit evaluate");
  table.flag("--resume",
             "goes on from the newest sound state; other metrics, another "
             "optimizer, compression or accumulation begin anew; evaluate "
             "--follow: a run that has ended is taken up again, and is waited "
             "for",
             &o.resume);
  // `fit` is the command of a cluster's evaluator, too.
  table.usedBy("evaluate", "fit predict bench info");
  table.flag("--follow",
             "evaluates the states in --checkpoint as a run saves them, the "
             "newest where several came meanwhile, until that run has ended; "
             "started again, with the same --history, it goes on behind what "
             "that holds",
             &o.follow);
  table.number("--follow-timeout",
               "ends with an error (exit code 3) after so many seconds without "
               "a new state (default: waits, as for a run that is started "
               "again)",
               true, [&](double x) { o.followTimeout = x; });
  table.needs("--follow", "", "nothing is waited for");
  table.usedBy("fit");
  table.integer("--save-every", "steps between saves (default: each epoch)", 1,
                &o.saveEvery);
  table.needs("--checkpoint", "DIR", kUnsaved);
  table.integer("--keep", "saved states kept (default 3)", 1, &o.keep);
  table.needs("--checkpoint", "DIR", kUnsaved);
  table.flag("--async-save",
             "writes states while training goes on, from a copy in memory of "
             "what the devices hold; the next save waits for it",
             &o.asyncSave);
  table.needs("--checkpoint", "DIR", kUnsaved);
  table.flag("--overwrite",
             "removes the states of another run from the folder, and begins",
             &o.overwrite);
}

} // namespace dist::tools
