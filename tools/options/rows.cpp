//===- rows.cpp - Every option of both tools -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/text.h"
#include "tools/options/strategies.h"
#include "tools/options/table.h"

namespace dist::tools {

const char *const kLossNames =
    "sparse-categorical-crossentropy (labels are numbers of classes), "
    "categorical-crossentropy, binary-crossentropy, mse, mae, huber, "
    "inner-product, or none: "
    "the model's own output is the loss; crossentropies take "
    ":label-smoothing=X, the first also :ignore-index=N (such labels do not "
    "count: the mean is over the others), huber :delta=X";

/// NAME,... without empty ones, of which there must be one.
static Status parseNames(const char *option, const std::string &given,
                         std::vector<std::string> *out) {
  for (const std::string &name : splitList(given))
    if (!name.empty())
      out->push_back(name);
  return out->empty() ? wrongValue(option, "no name is given", "give NAME,...")
                      : Status();
}

static void addModelOptions(Table &table, Options &o) {
  table.group("Model", true);
  table.value(
      "--batch-size", "N|N/replica",
      "global batch, divided over the replicas; it is also the value of "
      "the model's first symbolic dim that has none by --dim. An .mlir "
      "model's own is the default, and the most",
      [&](const std::string &given) {
        return parseBatchSize(given, &o.batchSize);
      });
  table.value("--batch-sizes", "N,N,...",
              "predicts by programs for these batches, whichever take the "
              "least time together for the examples given; the weights are "
              "theirs together. The largest is the --batch-size if none is "
              "given",
              [&](const std::string &given) {
                return parseBatchSizes(given, &o.batchSizes);
              });
  table.value(
      "--dim", "NAME=VALUE", "value of a symbolic dim (repeatable)",
      [&](const std::string &given) {
        NamedValues pair;
        int64_t size = 0;
        DIST_RETURN_IF_ERROR(parseNamed("--dim", given, &pair));
        DIST_RETURN_IF_ERROR(parseInteger("--dim", pair[0].second, 1, &size));
        auto [known, isNew] = o.dims.emplace(pair[0].first, size);
        return isNew ? Status()
                     : Table::givenTwice("--dim " + pair[0].first,
                                         std::to_string(known->second),
                                         pair[0].second);
      },
      Table::Times::Many);
  table.named("--bind", "NAME=FILE",
              "compiles the value of an input in as a constant (repeatable)",
              &o.binds);
  table.value(
      "--seed", "N",
      "of everything random but the shuffle (default 0); what is random in "
      "a package goes by the one that it was compiled with",
      [&](const std::string &given) {
        int64_t seed = 0;
        DIST_RETURN_IF_ERROR(parseInteger("--seed", given, 0, &seed));
        o.seed = uint64_t(seed);
        o.seedGiven = true;
        return Status();
      });
  table.value("--outputs", "NAME,...",
              "imports only these values of the model, and what they need",
              [&](const std::string &given) {
                return parseNames("--outputs", given, &o.keptOutputs);
              });
  table.text("--signature", "NAME", "of a SavedModel (default: as served)",
             &o.signature);
}

static void addTrainingOptions(Table &table, Options &o) {
  table.group("Training", true);
  table.usedBy("fit evaluate bench");
  table.value(
      "--loss", "NAME|OUTPUT=NAME",
      std::string(kLossNames) +
          "; of several outputs one each (repeatable), whose sum is trained: "
          "their labels are label/OUTPUT in --data",
      [&](const std::string &given) {
        if (given.empty())
          return wrongValue("--loss", "the value is empty", "see --help");
        o.losses.push_back(given);
        return Status();
      },
      Table::Times::Many);
  auto list = [](const char *option, std::vector<std::string> *target) {
    return [=](const std::string &given) {
      for (const std::string &piece : splitList(given)) {
        NamedValues pair;
        DIST_RETURN_IF_ERROR(parseNamed(option, piece, &pair));
        target->push_back(piece);
      }
      return Status();
    };
  };
  table.value("--loss-weights", "OUTPUT=X,...",
              "factors of several losses in their sum (default 1 each)",
              list("--loss-weights", &o.lossWeights));
  table.text("--loss-output", "NAME", "with --loss none: which output",
             &o.lossOutput);
  table.choice("--from-logits", {"auto", "true", "false"},
               "whether the output is before its softmax or sigmoid",
               &o.fromLogits);
  table.text("--sample-weights", "NAME",
             "each example's loss is multiplied by a number of its own, which "
             "--data gives as NAME (validation data may: else 1); the mean is "
             "over the examples, not over the weights, as in Keras",
             &o.sampleWeights);
  table.usedBy("fit bench");
  table.value("--class-weights", "CLASS=WEIGHT,...",
              "the same by the example's class, in training only; classes that "
              "are not named have 1",
              list("--class-weights", &o.classWeights));
  table.text(
      "--optimizer", "NAME:key=value,...",
      "sgd (default), momentum, nesterov, adam, adamw, rmsprop, adagrad, "
      "lamb, lion; keys lr, momentum, beta1, beta2, rho, epsilon, "
      "weight-decay, "
      "initial-accumulator",
      &o.optimizer);
  table.text("--lr-schedule", "NAME:key=value,...",
             "constant (default), cosine:steps,alpha,warmup, "
             "step:steps,rate, exponential:steps,rate, "
             "polynomial:steps,end,power, warmup-linear:warmup,steps,end, "
             "inverse-time:steps,rate; steps are updates: with --accumulate N "
             "each is N batches (in Keras they are batches all the same)",
             &o.lrSchedule);
  table.flag("--settable-lr",
             "the optimizer's lr, from which the schedule computes each step's "
             "rate, is a variable (optimizer/learning_rate): the host may set "
             "it between steps, and checkpoints keep it; "
             "--reduce-lr-on-plateau and an app's own loops need it",
             &o.settableLr);
  table.usedBy("fit evaluate bench");
  table.value("--metrics", "NAME,...",
              "accuracy, top-k:k=5, mse, mae, ...; with several losses "
              "OUTPUT=NAME,...",
              [&](const std::string &given) {
                return parseMetrics(given, &o.metrics);
              });
  table.usedBy("fit evaluate predict bench");
  table.choice("--precision", {"f32", "bf16", "f16"},
               "of activations and contractions; variables stay f32",
               &o.precision);
  table.usedBy("fit bench");
  table.flag("--sync-batch-norm", "batch statistics over all replicas",
             &o.syncBatchNorm);
  table.choice(
      "--on-nonfinite", {"continue", "skip", "stop"},
      "what a step does whose loss or gradients hold an infinite or NaN "
      "element: stop (default) ends the run after it, skip leaves all "
      "variables as they were before it, for which every update waits, "
      "continue does not look; of a package as it was compiled (stop can be "
      "made continue)",
      &o.onNonfinite);
  table.integer("--accumulate", "batches that make one update by their mean", 1,
                &o.accumulate, INT32_MAX);
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
  table.usedBy("fit bench info");
  table.text("--train", "REGEX",
             "variables to train, whatever the rule says, and weights that the "
             "file has in Constant nodes",
             &o.trainRegex);
  table.text("--freeze", "REGEX", "variables not to train", &o.freezeRegex);
  table.text(
      "--untie", "REGEX",
      "initializers that the exporter made one, because they were equal: "
      "each use of them is trained apart; dist-run info says which are "
      "shared",
      &o.untieRegex);
}

static void addStrategyOptions(Table &table, Options &o) {
  table.group("Strategy", true);
  table.usedBy("fit evaluate predict bench");
  table.value("--strategy", "NAME,...|@FILE",
              "one-device (default), mirrored, multi-worker-mirrored, "
              "central-storage, parameter-server, tensor-split, "
              "zero:stage=1|2|3, pipeline, auto; "
              "see --print-strategies of dist-opt",
              [&](const std::string &given) { return parsePlan(given, &o); });
  table.value("--devices", "LIST",
              "cpu: all cores as one device (default); cpu:N: N devices that "
              "share them out",
              [&](const std::string &given) {
                o.devicesGiven = true;
                return parseDevices(given, &o.devices);
              });
  table.integer("--threads",
                "threads of each device; of a package, at most those that it "
                "was compiled for: they share so many CPUs, and bits stay",
                1, &o.threads, 4096);
  table.integer("--workers",
                "multi-worker-mirrored, parameter-server: so many processes, "
                "each with --devices, instead of those of a cluster described "
                "elsewhere",
                1, &o.workers);
  table.integer("--hosts",
                "machines that the workers (and servers) are spread over "
                "evenly (default 1): "
                "how many share a machine's cores, and what links they have",
                1, &o.hosts);
  table.integer("--servers",
                "parameter-server: so many processes hold the variables, each "
                "on one device (instead of those of a cluster)",
                1, &o.servers);
  table.text("--partitioner", "KIND",
             "parameter-server: cuts variables along dim 0, whose parts take "
             "turns over the servers: fixed=K parts, min-size=BYTES (at most "
             "one a server) or max-size=BYTES; the latter two with :max=N "
             "parts. Without it each is whole on one server",
             &o.partitioner);
  table.value("--target-cpu", "NAME,...",
              "whose instructions the code may use: native (default: this "
              "machine's), x86-64-v3, x86-64-v4, or a CPU by LLVM's "
              "name, as znver4; a package runs where all of them are there, "
              "and the library's kernels are chosen there. Of several, a "
              "package has code for each, and runs what uses most of the "
              "machine",
              [&](const std::string &given) {
                std::vector<std::string> names;
                DIST_RETURN_IF_ERROR(parseNames("--target-cpu", given, &names));
                for (const std::string &name : names)
                  if (std::count(names.begin(), names.end(), name) > 1)
                    return wrongValue("--target-cpu", name + " is given twice",
                                      "give each once");
                o.targetCpus = std::move(names);
                return Status();
              });
  table.choice("--convolution", {"auto", "direct", "winograd"},
               "3x3 of stride 1: direct, Winograd's F(4x4, 3x3) in f32 where "
               "channels fill vectors, or (auto, default) the faster one; "
               "Winograd rounds more",
               &o.convolution);
  table.number("--memory-limit",
               "GiB of each device; refused before the start "
               "when the program needs more",
               true, [&](double x) { o.memoryLimitGiB = x; });
  table.value("--mesh", "AXIS=N,...", "axes of the devices, major first",
              [&](const std::string &given) {
                o.planFile.clear();
                o.mesh.clear(); // that of a plan
                return parseMesh(given, &o.mesh);
              });
  table.value("--device-weights", "N,N,...",
              "unequal devices: the parts of the batch that they take, one "
              "integer a position along the mesh axis of the batch",
              [&](const std::string &given) {
                return parseWeights(given, &o.deviceWeights);
              });
  table.value(
      "--split", "REGEX=DIM:AXIS[@N]",
      "splits variables (repeatable); AXIS may be a part of one, as "
      "model:(PRE)SIZE; @N: spreads after all of lower N (default 0)",
      [&](const std::string &given) {
        o.split.push_back(given);
        NamedValues pair;
        return parseNamed("--split", given, &pair);
      },
      Table::Times::Many);
  table.value("--split-preset", "NAME,...",
              "the patterns that tensor-split looks for without --split rules, "
              "in order: auto, mlp, transformer, conv, vocab (the vocabulary: "
              "head, loss and token tables)",
              [&](const std::string &given) {
                return parseSplitPreset("--split-preset", given,
                                        &o.splitPreset);
              });
  table.choice("--all-reduce",
               {"auto", "ring", "halving-doubling", "hierarchical",
                "reduce-to-one", "nccl"},
               "how all-reduces go: in turns along a ring, in pairs by halves, "
               "in levels along the mesh's axes, or at one device; nccl needs "
               "a build with GPUs",
               &o.allReduce);
  table.text("--compress", "METHOD",
             "gradients in fewer bytes: f16, bf16, int8, topk:ratio=X or "
             "powersgd:rank=N; what is not sent is added to the next step's. "
             "Of several processes, only what passes between them",
             &o.compress);
  table.integer(
      "--sync-every",
      "multi-worker-mirrored: each worker trains K steps on its part "
      "of the batch by itself, then the workers' variables, optimizer "
      "slots among them, are averaged (local SGD); also before an "
      "evaluation and a save",
      1, &o.syncEvery);
  table.integer("--bytes-per-pack",
                "size of the gradients' buckets, and of what zero:stage=3 "
                "gathers with a variable ahead of its use; 0 (default): one "
                "bucket, or with --overlap and zero:stage=2|3 eight of at "
                "least 256 KiB, and 256 KiB ahead",
                0, &o.bytesPerPack);
  table.flag("--overlap",
             "collectives run beside computation, on threads of their own",
             &o.overlap);
  table.flag("--error-on-implicit-reshard",
             "refuses moves between layouts that were not asked for",
             &o.errorOnImplicitReshard);
  table.flag(
      "--allow-replicate",
      "with --split rules: an activation that is split may be gathered whole "
      "on every rank where an op needs it so",
      &o.allowReplicate);
  table.flag("--strict-divisibility",
             "a dim that devices do not divide is an error, not padded",
             &o.strictDivisibility);
  table.flag("--whole-axes",
             "tensor-split: what a reshape cannot split over all of an axis is "
             "gathered there, not split over a part of it; so are heads",
             &o.wholeAxes);
  table.text("--machine", "FILE",
             "measured figures that predictions use; dist-run bench "
             "--calibrate writes them",
             &o.machine);
  table.text("--collectives-table", "FILE",
             "measured times of collectives that predictions use, and by "
             "which all-reduces between processes go the way that takes the "
             "least; dist-run bench --collectives writes them",
             &o.collectivesTable);
  table.text("--link-table", "FILE",
             "the same for a cluster that is only described: what its links "
             "can do, by level (a host, a rack, ...)",
             &o.linkTable);
  table.text("--save-plan", "FILE",
             "auto: keeps its choice, for --strategy @FILE", &o.savePlan);
}

static void addCompilerOptions(Table &table, Options &o) {
  table.group("Output", false);
  table.choice("--emit",
               {"graph", "train", "annotated", "partitioned", "rt", "llvm",
                "package", "explain", "onnx"},
               "stops at this stage and writes it; partitioned: of a pipeline, "
               "with one op for all microbatches",
               &o.emit);
  table.usedBy("fit predict");
  table.text("-o,--output", "PATH", "where to write it", &o.outFile);
  table.choice("--explain", {"table", "json", "html"},
               "transfers with what caused them, memory and predicted time, "
               "before anything runs; html: one self-contained page",
               &o.explain);
  table.text("--trace-file", "FILE",
             "a trace of dist-run --trace, shown beside what is predicted "
             "(--explain=html)",
             &o.traceFile);
  table.value(
      "--diff", "A B",
      "two strategies beside each other, each with options of its own "
      "if quoted ('tensor-split --mesh model=2'); with --explain=json "
      "as JSON",
      [&](const std::string &given) {
        o.diff.push_back(given);
        return Status();
      },
      Table::Times::Many);
  table.value("--entries", "NAME,...",
              "what is compiled: train, evaluate, predict (these three without "
              "--entries); gradients and apply, for an app's own loops: the "
              "step up to its update, which returns the gradients, and the "
              "update by such",
              [&](const std::string &given) {
                return parseNames("--entries", given, &o.entries);
              });
  table.value("--input-gradients", "NAME,...",
              "with --entries ...,gradients: the loss's gradients by these "
              "inputs are returned, too",
              [&](const std::string &given) {
                return parseNames("--input-gradients", given,
                                  &o.inputGradients);
              });
  table.text("--dependencies", "FILE",
             "with --emit=package: the files that were read, with their hashes "
             "(as sha256sum writes them)",
             &o.dependencies);
  table.choice("--check", {"partition", "kernels"},
               "evaluates the partitioned program against one device; kernels: "
               "runs the compiled program, by kernel and by entry, against the "
               "evaluator, at the threads given and at one",
               &o.check);
  table.flag("--coverage", "what this build can do with each op of the model",
             &o.coverage);
  table.flag("--print-strategies", "the strategies of this build",
             &o.printStrategies);
  table.flag("--print-ops", "the operators of this build", &o.printOps);
  table.flag("--help-passes",
             "the passes and pipelines, for --PASS and --pass-pipeline; "
             "--mlir-timing, --mlir-print-ir-after-all and mlir-opt's other "
             "--mlir-... switches work on model files, too",
             &o.helpPasses);
  table.flag(
      "--print-cluster",
      "the cluster that TF_CONFIG, a launcher (torchrun, Slurm, Open "
      "MPI, Kubernetes) or --cluster describes: its tasks, addresses and "
      "replicas, and whence each is known; without one this machine",
      &o.printCluster);
}

static void addDataOptions(Table &table, Options &o) {
  table.group("Data", false);
  table.usedBy("fit evaluate bench");
  table.text(
      "--data", "SPEC",
      "NAME=FILE,... one an input, plus label=FILE (x=, y= for the first "
      "input and the label); or a folder (MNIST IDX, CIFAR-10 binary); or "
      "one .npz, .csv, .safetensors or TFRecord file; FILE may be several: "
      "'train-*.npy', or @LIST with a name a line; FILE#ARRAY names one of a "
      "file's arrays, FILE[a:b] takes a range",
      &o.data);
  table.usedBy("fit");
  table.text("--validation-data", "SPEC", "evaluated after each epoch",
             &o.validationData);
  table.number("--validation-split",
               "instead: this fraction of --data, its last examples, is not "
               "trained on but evaluated",
               true, [&](double x) { o.validationSplit = x; });
  table.choice("--shard-policy", {"auto", "data", "file", "off"},
               "how workers share --data. data: each reads all and takes its "
               "rows of a batch; file: each reads files of its own, worker i "
               "of W the files i, i + W, ...; off: each goes through all in an "
               "order of its own; auto (default): data",
               &o.shardPolicy);
  table.usedBy("fit evaluate", "predict");
  table.named("--scale", "NAME=NUMBER", "multiplies an input, e.g. x=1/255",
              &o.scale);
  table.named("--mean", "NAME=NUMBER,...", "subtracted, one or one a channel",
              &o.mean);
  table.named("--std", "NAME=NUMBER,...", "divides, one or one a channel",
              &o.std);
  table.named(
      "--layout", "NAME=NHWC|NCHW",
      "dims of the file's images; flat examples (TFRecord, .csv) have the "
      "model's dims in this order, without it the model's own order",
      &o.layout);
  table.usedBy("fit evaluate");
  table.flag("--cache", "keeps decoded examples in memory", &o.cache);
  table.integer("--prefetch", "batches made ready ahead (default 2)", 0,
                &o.prefetch, 1 << 16);
  table.usedBy("fit");
  table.value("--shuffle", "SEED|off", "order of each epoch (default 0)",
              [&](const std::string &given) {
                if (given == "off") {
                  o.shuffle.reset();
                  return Status();
                }
                int64_t seed = 0;
                if (!parseInteger("--shuffle", given, 0, &seed).ok())
                  return Status::error(
                      StatusCode::InvalidArgument, "wrong option value",
                      "--shuffle",
                      "expected off or an integer of at least 0, but got '" +
                          given + "'",
                      "see --help");
                o.shuffle = uint64_t(seed);
                return Status();
              });
  table.flag("--drop-remainder", "leaves a short last batch out",
             &o.dropRemainder);
}

static void addRunOptions(Table &table, Options &o) {
  table.group("Run", false);
  table.usedBy("fit");
  table.value("--epochs", "N", "passes over the data (default 1)",
              [&](const std::string &given) {
                o.epochsGiven = true;
                return parseInteger("--epochs", given, 1, &o.epochs);
              });
  table.integer("--steps",
                "stops after this many steps, over as many passes as they "
                "take, or with --epochs behind whichever comes first",
                1, &o.steps);
  table.integer("--steps-per-epoch", "steps that count as an epoch", 1,
                &o.stepsPerEpoch);
  table.integer("--steps-per-launch",
                "steps that the devices run without the host between them; "
                "fewer before the end of an epoch and a save (default 1)",
                1, &o.stepsPerLaunch);
  table.value("--staleness", "K",
              "parameter-server: a step begins when all are done that are more "
              "than K before it; 0: one at a time (default: no bound)",
              [&](const std::string &given) {
                int64_t bound = 0;
                DIST_RETURN_IF_ERROR(
                    parseInteger("--staleness", given, 0, &bound));
                o.staleness = bound;
                return Status();
              });
  table.value("--evaluation-shards", "N|auto",
              "parameter-server: workers evaluate the validation data, in so "
              "many parts, each of which counts once, whoever is lost "
              "meanwhile; auto: by what evaluating and pulling the parameters "
              "are to take, and 0 where the chief is no slower (default 0: the "
              "chief evaluates)",
              [&](const std::string &given) {
                if (given == "auto") {
                  o.evaluationShards = Options::kAutoShards;
                  return Status();
                }
                return parseInteger("--evaluation-shards", given, 0,
                                    &o.evaluationShards);
              });
  table.value(
      "--early-stopping", "METRIC:patience=N,...",
      "ends the run after N epochs (default 0) in which the metric, as history "
      "names it (loss, val_accuracy, ...), did not get better by more than "
      "min-delta (default 0); restore-best=true: with the best epoch's weights",
      [&](const std::string &given) {
        return parseEarlyStopping("--early-stopping", given,
                                  &o.monitors.earlyStopping);
      });
  table.text("--save-best", "METRIC",
             "--output is written after each epoch in which the metric is the "
             "best so far, and not at the end",
             &o.monitors.saveBest.metric);
  table.value(
      "--reduce-lr-on-plateau", "METRIC:factor=X,patience=N,...",
      "multiplies the learning rate by factor (default 0.1) after N epochs "
      "(default 10) in which the metric did not get better by more than "
      "min-delta (default 1e-4); min-lr=X: not below; cooldown=N: epochs that "
      "do not count behind it",
      [&](const std::string &given) {
        return parseReduceOnPlateau("--reduce-lr-on-plateau", given,
                                    &o.monitors.reduceOnPlateau);
      });
  addStateOptions(table, o);
  table.usedBy("fit predict bench");
  table.value(
      "--output", "FILE|NAME=FILE",
      "fit: the trained model (.onnx, .safetensors or, without an "
      "extension or with a / at the end, a package); "
      "predict: an output's .npy file (repeatable); bench: the table of "
      "--collectives",
      [&](const std::string &given) {
        o.outputs.push_back(given);
        return Status();
      },
      Table::Times::Many);
  table.usedBy("fit evaluate");
  table.text("--tensorboard", "DIR",
             "event files; evaluate: of the states that --follow evaluates",
             &o.tensorboard);
  table.usedBy("fit evaluate predict bench info");
  table.text("--cpu-variant", "NAME",
             "of a package for several CPUs, the code for this one (as "
             "dist-run info names them); default: of those that this machine "
             "can run the one that uses most of it",
             &o.cpuVariant);
  table.usedBy("fit bench");
  table.text("--trace", "FILE",
             "a Chrome trace of the last 16 steps (runs of an entry); kernels "
             "are named after the model's nodes",
             &o.trace);
  table.usedBy("fit");
  table.text("--plot", "FILE.svg", "curves of loss and metrics", &o.plot);
  table.usedBy("fit evaluate bench info status");
  table.flag("--json", "results as one JSON line; fit: those of the last epoch",
             &o.json);
}

void addRows(Table &table, Tool tool, Options &o) {
  addModelOptions(table, o);
  addTrainingOptions(table, o);
  addStrategyOptions(table, o);
  addClusterOptions(table, o);
  if (tool == Tool::Run) {
    addDataOptions(table, o);
    addRunOptions(table, o);
    addBenchOptions(table, o);
  } else {
    addCompilerOptions(table, o);
  }
}

} // namespace dist::tools
