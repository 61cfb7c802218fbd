//===- options.cpp - The command line of both tools -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/options/strategies.h"
#include "tools/options/options.h"
#include "tools/options/values.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <sstream>

namespace dist::tools {

int exitCodeOf(StatusCode code) {
  switch (code) {
  case StatusCode::Ok:
    return 0;
  case StatusCode::InvalidInput:
    return 1;
  case StatusCode::InvalidArgument:
    return 2;
  default:
    return 3;
  }
}

std::string errorLine(const char *tool, const Status &status) {
  std::string line = std::string(tool) + ": error: " + status.message();
  for (char &c : line)
    if (c == '\n' || c == '\r')
      c = ' ';
  return line;
}

const char *versionText() { return "dist-mlir " DIST_VERSION; }

namespace {

using Setter = std::function<Status(const std::string &)>;

/// The table under construction: CLI11 splits the words and renders the help;
/// values go through our own parsers, whose messages name option and remedy.
class Table {
public:
  Table(CLI::App &app, Options &options) : app(app), options(options) {}

  void group(std::string title, bool compile) {
    currentGroup = std::move(title);
    compiled = compile;
  }
  void value(const std::string &name, const std::string &form,
             const std::string &help, Setter set) {
    auto row = std::make_unique<Row>();
    row->name = longName(name);
    row->set = std::move(set);
    row->compiled = compiled;
    row->option = app.add_option(name, row->values, help)
                      ->type_name(form)
                      ->group(currentGroup)
                      ->expected(1)
                      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
                      ->allow_extra_args(false);
    rows.push_back(std::move(row));
  }
  void flag(const std::string &name, const std::string &help, bool *target) {
    auto row = std::make_unique<Row>();
    row->name = longName(name);
    row->compiled = compiled;
    row->target = target;
    row->option = app.add_flag(name, row->flagged, help)->group(currentGroup);
    rows.push_back(std::move(row));
  }

  void text(const std::string &name, const std::string &form,
            const std::string &help, std::string *target) {
    value(name, form, help, [=](const std::string &given) {
      if (given.empty())
        return wrongValue(longName(name), "the value is empty", "see --help");
      *target = given;
      return Status();
    });
  }
  void choice(const std::string &name, const std::vector<std::string> &known,
              const std::string &help, std::string *target) {
    std::string form;
    for (const std::string &word : known)
      form += (form.empty() ? "" : "|") + word;
    value(name, form, help, [=](const std::string &given) {
      *target = given;
      return parseChoice(longName(name), given, known);
    });
  }
  template <typename Integer>
  void integer(const std::string &name, const std::string &help, int64_t least,
               Integer *target) {
    value(name, "N", help, [=](const std::string &given) {
      int64_t parsed = 0;
      DIST_RETURN_IF_ERROR(parseInteger(longName(name), given, least, &parsed));
      if (parsed > INT32_MAX && sizeof(Integer) == 4)
        return wrongValue(longName(name), given + " is too large",
                          "give a smaller number");
      *target = Integer(parsed);
      return Status();
    });
  }
  void number(const std::string &name, const std::string &help, bool positive,
              std::function<void(double)> store) {
    value(name, "X", help, [=](const std::string &given) {
      double parsed = 0;
      DIST_RETURN_IF_ERROR(
          parseNumber(longName(name), given, 0, positive, &parsed));
      store(parsed);
      return Status();
    });
  }
  void named(const std::string &name, const std::string &form,
             const std::string &help, NamedValues *target) {
    value(name, form, help, [=](const std::string &given) {
      return parseNamed(longName(name), given, target);
    });
  }

  std::vector<std::string> names() const {
    std::vector<std::string> all = {"--help", "--version"};
    for (auto &row : rows)
      all.push_back(row->name);
    return all;
  }

  Status apply() {
    for (auto &row : rows) {
      if (row->option->count() == 0)
        continue;
      if (row->target) {
        *row->target = row->flagged;
        if (row->compiled)
          options.compileArguments.push_back(row->name);
        continue;
      }
      for (const std::string &given : row->values) {
        DIST_RETURN_IF_ERROR(row->set(given));
        if (row->compiled)
          options.compileArguments.push_back(row->name + "=" + given);
      }
    }
    return Status();
  }

private:
  static std::string longName(const std::string &name) {
    return name.substr(name.find("--"));
  }
  struct Row {
    std::string name;
    CLI::Option *option = nullptr;
    std::vector<std::string> values;
    bool flagged = false;
    bool *target = nullptr;
    bool compiled = false;
    Setter set;
  };
  CLI::App &app;
  Options &options;
  std::string currentGroup;
  bool compiled = false;
  std::vector<std::unique_ptr<Row>> rows;
};

} // namespace

static void addModelOptions(Table &table, Options &o) {
  table.group("Model", true);
  table.value(
      "--batch-size", "N|N/replica",
      "global batch, divided over the replicas; it is also the value of "
      "the model's first symbolic dim",
      [&](const std::string &given) {
        return parseBatchSize(given, &o.batchSize);
      });
  table.value("--dim", "NAME=VALUE", "value of a symbolic dim (repeatable)",
              [&](const std::string &given) {
                NamedValues pair;
                int64_t size = 0;
                DIST_RETURN_IF_ERROR(parseNamed("--dim", given, &pair));
                DIST_RETURN_IF_ERROR(
                    parseInteger("--dim", pair[0].second, 1, &size));
                o.dims[pair[0].first] = size;
                return Status();
              });
  table.named("--bind", "NAME=FILE",
              "compiles the value of an input in as a constant (repeatable)",
              &o.binds);
  table.value("--seed", "N", "of everything random but the shuffle (default 0)",
              [&](const std::string &given) {
                int64_t seed = 0;
                DIST_RETURN_IF_ERROR(parseInteger("--seed", given, 0, &seed));
                o.seed = uint64_t(seed);
                return Status();
              });
}

static void addTrainingOptions(Table &table, Options &o) {
  table.group("Training", true);
  table.text("--loss", "NAME",
             "sparse-categorical-crossentropy, categorical-crossentropy, "
             "binary-crossentropy, mse, mae, huber, or none: the model's own "
             "output is the loss",
             &o.loss);
  table.text("--loss-output", "NAME", "with --loss none: which output",
             &o.lossOutput);
  table.choice("--from-logits", {"auto", "true", "false"},
               "whether the output is before its softmax or sigmoid",
               &o.fromLogits);
  table.text(
      "--optimizer", "NAME:key=value,...",
      "sgd (default), momentum, nesterov, adam, adamw, rmsprop, adagrad; "
      "keys lr, momentum, beta1, beta2, rho, epsilon, weight-decay, "
      "initial-accumulator",
      &o.optimizer);
  table.text("--lr-schedule", "NAME:key=value,...",
             "constant (default), cosine, step, warmup-linear, ...",
             &o.lrSchedule);
  table.value("--metrics", "NAME,...", "accuracy, top-k:k=5, mse, mae, ...",
              [&](const std::string &given) {
                return parseMetrics(given, &o.metrics);
              });
  table.choice("--precision", {"f32", "bf16", "f16"},
               "of activations and contractions; variables stay f32",
               &o.precision);
  table.flag("--sync-batch-norm", "batch statistics over all replicas",
             &o.syncBatchNorm);
  table.choice("--on-nonfinite", {"continue", "skip", "stop"},
               "what a step with an infinite or NaN loss does (default stop)",
               &o.onNonfinite);
  table.integer("--accumulate", "batches that make one update by their mean", 1,
                &o.accumulate);
  table.text("--recompute", "auto|REGEX",
             "activations computed again in the backward pass instead of kept: "
             "those of the nodes whose names match, or by cost (what is cheap, "
             "or with --memory-limit what meets it)",
             &o.recompute);
  table.number("--clip-norm", "clips the norm of all gradients together", true,
               [&](double x) { o.clipNorm = x; });
  table.number("--clip-value", "clips each element of the gradients", true,
               [&](double x) { o.clipValue = x; });
  table.number("--weight-decay", "decoupled weight decay", false,
               [&](double x) { o.weightDecay = x; });
  table.text("--train", "REGEX", "variables to train, whatever the rule says",
             &o.trainRegex);
  table.text("--freeze", "REGEX", "variables not to train", &o.freezeRegex);
}

static void addStrategyOptions(Table &table, Options &o) {
  table.group("Strategy", true);
  table.value("--strategy", "NAME,...|@FILE",
              "one-device (default), mirrored, central-storage, tensor-split, "
              "zero:stage=1|2|3, auto; "
              "see --print-strategies of dist-opt",
              [&](const std::string &given) { return parsePlan(given, &o); });
  table.value("--devices", "LIST",
              "cpu: all cores as one device (default); cpu:N: N devices that "
              "share them out",
              [&](const std::string &given) {
                return parseDevices(given, &o.devices);
              });
  table.integer("--threads", "threads of each device", 1, &o.threads);
  table.choice("--convolution", {"auto", "direct", "winograd"},
               "3x3 of stride 1 in f32: direct, Winograd's F(4x4, 3x3) where "
               "channels fill vectors, or (auto, default) the faster one; "
               "Winograd rounds more",
               &o.convolution);
  table.number("--memory-limit",
               "GiB of each device; refused before the start "
               "when the program needs more",
               true, [&](double x) { o.memoryLimitGiB = x; });
  table.value(
      "--mesh", "AXIS=N,...", "axes of the devices, major first",
      [&](const std::string &given) { return parseMesh(given, &o.mesh); });
  table.value("--split", "REGEX=DIM:AXIS", "splits variables (repeatable)",
              [&](const std::string &given) {
                o.split.push_back(given);
                NamedValues pair;
                return parseNamed("--split", given, &pair);
              });
  table.choice("--split-preset",
               {"auto", "mlp", "transformer", "conv", "vocab"},
               "the patterns that tensor-split looks for without --split rules",
               &o.splitPreset);
  table.choice("--all-reduce",
               {"auto", "ring", "hierarchical", "reduce-to-one", "nccl"},
               "how all-reduces go: in turns along a ring, in levels along the "
               "mesh's axes, or at one device; nccl needs a build with GPUs",
               &o.allReduce);
  table.text("--compress", "METHOD",
             "gradients in fewer bytes: f16, bf16, int8, topk:ratio=X or "
             "powersgd:rank=N; what is not sent is added to the next step's",
             &o.compress);
  table.integer("--bytes-per-pack", "size of the gradients' buckets; 0: chosen",
                0, &o.bytesPerPack);
  table.flag("--overlap",
             "collectives run beside computation, on a thread of their own",
             &o.overlap);
  table.flag("--error-on-implicit-reshard",
             "refuses what moves between layouts that nobody asked for",
             &o.errorOnImplicitReshard);
  table.flag(
      "--allow-replicate",
      "with --split rules: an activation that is split may be gathered whole "
      "on every rank where an op needs it so",
      &o.allowReplicate);
  table.flag("--strict-divisibility",
             "a dim that devices do not divide is an error, not padded",
             &o.strictDivisibility);
  table.text("--machine", "FILE",
             "measured figures that predictions use; dist-run bench "
             "--calibrate writes them",
             &o.machine);
  table.text("--save-plan", "FILE",
             "auto: keeps its choice, for --strategy @FILE", &o.savePlan);
  table.group("Strategy", false);
  table.number("--collective-timeout",
               "seconds a rank waits for the others "
               "(default 30)",
               true, [&](double x) { o.collectiveTimeout = x; });
}

static void addCompilerOptions(Table &table, Options &o) {
  table.group("Output", false);
  table.choice("--emit",
               {"graph", "train", "annotated", "partitioned", "rt", "llvm",
                "package", "explain", "onnx"},
               "stops at this stage and writes it", &o.emit);
  table.text("-o,--output", "PATH", "where to write it", &o.outFile);
  table.choice("--explain", {"table", "json", "html"},
               "transfers with what caused them, memory and predicted time, "
               "before anything runs; html: one self-contained page",
               &o.explain);
  table.text("--trace-file", "FILE",
             "a trace of dist-run --trace, shown beside what is predicted "
             "(--explain=html)",
             &o.traceFile);
  table.value("--diff", "A B",
              "two strategies beside each other, each with options of its own "
              "if quoted ('tensor-split --mesh model=2'); with --explain=json "
              "as JSON",
              [&](const std::string &given) {
                o.diff.push_back(given);
                return Status();
              });
  table.flag("--check", "evaluates the partitioned program against one device",
             &o.check);
  table.flag("--coverage", "what this build can do with each op of the model",
             &o.coverage);
  table.flag("--print-strategies", "the strategies of this build",
             &o.printStrategies);
  table.flag("--print-ops", "the operators of this build", &o.printOps);
  table.flag("--print-cluster", "the devices of this machine", &o.printCluster);
}

static void addDataOptions(Table &table, Options &o) {
  table.group("Data", false);
  table.text(
      "--data", "SPEC",
      "NAME=FILE,... one an input, plus label=FILE (x=, y= for the first "
      "input and the label); or a folder (MNIST IDX, CIFAR-10 binary); or "
      "one .npz, .csv or .safetensors file; FILE[a:b] takes a range",
      &o.data);
  table.text("--validation-data", "SPEC", "evaluated after each epoch",
             &o.validationData);
  table.named("--scale", "NAME=NUMBER", "multiplies an input, e.g. x=1/255",
              &o.scale);
  table.named("--mean", "NAME=NUMBER,...", "subtracted, one or one a channel",
              &o.mean);
  table.named("--std", "NAME=NUMBER,...", "divides, one or one a channel",
              &o.std);
  table.named("--layout", "NAME=NHWC|NCHW", "dims of the file's images",
              &o.layout);
  table.flag("--cache", "keeps decoded examples in memory", &o.cache);
  table.integer("--prefetch", "batches made ready ahead (default 2)", 0,
                &o.prefetch);
  table.value("--shuffle", "SEED|off", "order of each epoch (default 0)",
              [&](const std::string &given) {
                if (given == "off") {
                  o.shuffle.reset();
                  return Status();
                }
                int64_t seed = 0;
                DIST_RETURN_IF_ERROR(
                    parseInteger("--shuffle", given, 0, &seed));
                o.shuffle = uint64_t(seed);
                return Status();
              });
  table.flag("--drop-remainder", "leaves a short last batch out",
             &o.dropRemainder);
}

static void addRunOptions(Table &table, Options &o) {
  table.group("Run", false);
  table.value("--epochs", "N", "passes over the data (default 1)",
              [&](const std::string &given) {
                o.epochsGiven = true;
                return parseInteger("--epochs", given, 1, &o.epochs);
              });
  table.integer("--steps", "stops after this many steps", 1, &o.steps);
  table.integer("--steps-per-epoch", "steps that count as an epoch", 1,
                &o.stepsPerEpoch);
  table.integer("--steps-per-launch",
                "steps that the devices run without the host between them; "
                "fewer before the end of an epoch and a save (default 1)",
                1, &o.stepsPerLaunch);
  table.text("--history", "FILE", "a JSON line a step and an epoch",
             &o.history);
  table.text("--checkpoint", "DIR", "where states are saved", &o.checkpoint);
  table.integer("--save-every", "steps between saves (default: each epoch)", 1,
                &o.saveEvery);
  table.integer("--keep", "saved states kept (default 3)", 1, &o.keep);
  table.flag("--resume", "goes on from the newest saved state", &o.resume);
  table.value("--output", "FILE|NAME=FILE",
              "fit: the trained model (.onnx, .safetensors or a package); "
              "predict: an output's file (repeatable)",
              [&](const std::string &given) {
                o.outputs.push_back(given);
                return Status();
              });
  table.text("--tensorboard", "DIR", "event files", &o.tensorboard);
  table.text("--trace", "FILE", "a Chrome trace of the last steps", &o.trace);
  table.text("--plot", "FILE.svg", "curves of loss and metrics", &o.plot);
  table.flag("--json", "results as one JSON line", &o.json);

  table.group("Predict and bench", false);
  table.value("--input", "NAME=FILE", "a .npy or .pb file (repeatable)",
              [&](const std::string &given) {
                o.inputs.push_back(given);
                NamedValues pair;
                return parseNamed("--input", given, &pair);
              });
  table.text("--output-dir", "DIR", "one NAME.npy an output", &o.outputDir);
  table.text("--cases", "DIR", "folders of model.onnx, input_i.pb, output_i.pb",
             &o.cases);
  table.flag("--calibrate",
             "bench: measures this machine for the predictions of dist-opt; "
             "needs no model",
             &o.calibrate);
  table.number("--seconds", "bench: how long (default 5)", true,
               [&](double x) { o.seconds = x; });
  table.choice("--mode", {"train", "predict"}, "bench: what", &o.mode);

  table.group("Compiling", false);
  table.text("--compile-cache", "DIR",
             "compiled packages (default ~/.cache/dist-mlir)", &o.compileCache);
  table.flag("--no-compile-cache", "compiles anew", &o.noCompileCache);
}

static const std::vector<std::string> kCommands = {"fit", "evaluate", "predict",
                                                   "bench", "info"};

/// An unknown option is the likeliest error of all: names the nearest one.
static Status unknownOption(const std::string &word, const Table &table) {
  std::string name = word.substr(0, word.find('='));
  std::string near = nearestName(name, table.names());
  return Status::error(
      StatusCode::InvalidArgument,
      name[0] == '-' ? "unknown option" : "unexpected argument", name, "",
      near.empty() ? "see --help" : "did you mean " + near + "?");
}

/// What of the explanations does not go together.
static Status checkExplanations(const Options &o) {
  if (!o.traceFile.empty() && o.explain != "html")
    return wrongValue("--trace-file", "it is shown on the page only",
                      "add --explain=html");
  if (o.diff.empty())
    return Status();
  if (o.diff.size() != 2)
    return wrongValue("--diff",
                      "expected two strategies, but got " +
                          std::to_string(o.diff.size()),
                      "write --diff A B");
  if (!o.strategies.empty())
    return wrongValue("--diff", "it names the strategies itself",
                      "leave --strategy out");
  if (o.explain == "html")
    return wrongValue("--explain",
                      "two strategies are compared as a table or "
                      "as JSON",
                      "write --explain=json, or leave it out");
  return Status();
}

static Status settle(Tool tool, Options &o) {
  DIST_RETURN_IF_ERROR(checkExplanations(o));
  // Each side is settled by itself.
  if (!o.diff.empty())
    return Status();
  if (o.strategies.empty())
    o.strategies.push_back({"one-device", {}});
  if (o.devices.empty())
    o.devices.push_back({"cpu", 0});
  int64_t ranks = 1;
  for (auto &axis : o.mesh)
    if (__builtin_mul_overflow(ranks, axis.second, &ranks))
      return wrongValue("--mesh", "it has too many ranks", "give fewer");
  StrategyPlan plan;
  DIST_RETURN_IF_ERROR(planStrategies(o, &plan));
  if (tool == Tool::Run) {
    if (o.command.empty())
      return Status::error(StatusCode::InvalidArgument, "no command", "", "",
                           "give fit, evaluate, predict, bench or info");
    if (std::find(kCommands.begin(), kCommands.end(), o.command) ==
        kCommands.end()) {
      std::string near = nearestName(o.command, kCommands);
      return Status::error(
          StatusCode::InvalidArgument, "unknown command", o.command, "",
          near.empty() ? "give fit, evaluate, predict, bench or info"
                       : "did you mean " + near + "?");
    }
  }
  bool needsModel =
      !o.printStrategies && !o.printOps && !o.printCluster && o.cases.empty();
  needsModel &= !o.calibrate;
  if (needsModel && o.model.empty())
    return Status::error(StatusCode::InvalidArgument, "no model", "", "",
                         "give a model file or a package folder");
  return Status();
}

/// The words of a side of `--diff`: a strategy, and options behind it.
Status parseSide(const std::vector<std::string> &arguments,
                 const std::string &side, Options *options) {
  std::vector<std::string> words;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--diff")
      i += 2;
    else if (arguments[i].rfind("--diff=", 0) != 0)
      words.push_back(arguments[i]);
  }
  std::istringstream own(side);
  std::string word, answer;
  own >> word;
  words.push_back("--strategy=" + word);
  while (own >> word)
    words.push_back(word);
  return parseOptions(Tool::Opt, words, options, &answer);
}

Status parseOptions(Tool tool, const std::vector<std::string> &arguments,
                    Options *options, std::string *answer) {
  bool run = tool == Tool::Run;
  CLI::App app(run ? "Trains, evaluates, runs and times a model file or a "
                     "compiled package."
                   : "Compiles a model file and a strategy to a program. With "
                     "pass options or --pass-pipeline it is an mlir-opt.",
               run ? "dist-run" : "dist-opt");
  // Words of the model's names may hold anything: no configuration files, and
  // leftovers are ours to explain.
  app.allow_extras(true);
  app.set_help_flag("--help,-h", "this text");
  if (run)
    app.add_option("COMMAND", options->command,
                   "fit, evaluate, predict, bench or info");
  app.add_option("MODEL", options->model, "model file or package folder");
  bool version = false;
  app.add_flag("--version", version, "the version");

  Table table(app, *options);
  addModelOptions(table, *options);
  addTrainingOptions(table, *options);
  addStrategyOptions(table, *options);
  if (run) {
    addDataOptions(table, *options);
    addRunOptions(table, *options);
  } else {
    addCompilerOptions(table, *options);
  }

  // CLI11 takes the words from the back.
  std::vector<std::string> words;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--explain") {
      words.push_back("--explain=table");
    } else if (arguments[i] == "--diff" && i + 2 < arguments.size()) {
      words.push_back("--diff=" + arguments[++i]);
      words.push_back("--diff=" + arguments[++i]);
    } else {
      words.push_back(arguments[i]);
    }
  }
  std::reverse(words.begin(), words.end());
  try {
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp &) {
    *answer = app.help();
    return Status();
  } catch (const CLI::ParseError &error) {
    return Status::error(StatusCode::InvalidArgument, "wrong usage", "",
                         error.what(), "see --help");
  }
  if (version) {
    *answer = std::string(versionText()) + "\n";
    return Status();
  }
  for (const std::string &word : app.remaining())
    return unknownOption(word, table);
  DIST_RETURN_IF_ERROR(table.apply());
  return settle(tool, *options);
}

} // namespace dist::tools
