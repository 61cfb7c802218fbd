//===- options_test.cpp - The command line of both tools -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/options/help.h"
#include "tools/options/options.h"
#include "tools/options/strategies.h"
#include <gtest/gtest.h>
#include <sstream>

using namespace dist;
using namespace dist::tools;

namespace {

Options parsed(Tool tool, const std::vector<std::string> &words) {
  Options options;
  std::string answer;
  Status status = parseOptions(tool, words, &options, &answer);
  EXPECT_TRUE(status.ok()) << status.message();
  return options;
}

std::string refused(Tool tool, const std::vector<std::string> &words) {
  Options options;
  std::string answer;
  Status status = parseOptions(tool, words, &options, &answer);
  EXPECT_FALSE(status.ok());
  return status.message();
}

TEST(Options, FitAsUsersTypeIt) {
  Options o = parsed(Tool::Run, {"fit",
                                 "m.onnx",
                                 "--data",
                                 "x=a.npy,y=b.npy",
                                 "--batch-size",
                                 "32",
                                 "--loss=mse",
                                 "--optimizer",
                                 "adam:lr=1e-3,beta1=0.9",
                                 "--metrics",
                                 "accuracy,top-k:k=5",
                                 "--strategy",
                                 "mirrored",
                                 "--devices",
                                 "cpu:2",
                                 "--scale",
                                 "x=1/255",
                                 "--shuffle",
                                 "off",
                                 "--clip-norm",
                                 "1.5"});
  EXPECT_EQ(o.command, "fit");
  EXPECT_EQ(o.model, "m.onnx");
  EXPECT_EQ(o.batchSize.value, 32);
  EXPECT_EQ(o.losses, std::vector<std::string>{"mse"});
  EXPECT_EQ(o.optimizer, "adam:lr=1e-3,beta1=0.9");
  EXPECT_EQ(o.metrics, (std::vector<std::string>{"accuracy", "top-k:k=5"}));
  EXPECT_EQ(o.devices.size(), 2u);
  EXPECT_EQ(o.devices[1].index, 1);
  EXPECT_FALSE(o.shuffle.has_value());
  EXPECT_EQ(o.clipNorm, 1.5);
  EXPECT_EQ(o.scale, (NamedValues{{"x", "1/255"}}));
  // The compiler is handed what decides the program, and nothing else.
  EXPECT_EQ(o.compileArguments,
            (std::vector<std::string>{"--batch-size=32", "--loss=mse",
                                      "--optimizer=adam:lr=1e-3,beta1=0.9",
                                      "--metrics=accuracy,top-k:k=5",
                                      "--clip-norm=1.5", "--strategy=mirrored",
                                      "--devices=cpu:2"}));
}

TEST(Options, PerReplicaBatch) {
  Options o = parsed(Tool::Opt, {"m.onnx", "--batch-size", "8/replica",
                                 "--explain", "--dim", "seq=128"});
  EXPECT_EQ(o.batchSize.global(4), 32);
  EXPECT_EQ(o.explain, "table");
  EXPECT_EQ(o.dims.at("seq"), 128);
}

TEST(Options, RepeatedOptionsKeepTheModelApart) {
  Options o = parsed(Tool::Run, {"predict", "--input", "a=1.npy", "--input",
                                 "b=2.npy", "m.onnx"});
  EXPECT_EQ(o.inputs, (std::vector<std::string>{"a=1.npy", "b=2.npy"}));
  EXPECT_EQ(o.model, "m.onnx");
}

TEST(Options, WhatIsGivenTwiceIsRefused) {
  auto has = [](const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
  };
  // One of the two would be ignored.
  for (const char *option :
       {"--epochs", "--batch-size", "--steps", "--threads"}) {
    std::string text =
        refused(Tool::Run, {"fit", "m", option, "1", option, "2"});
    EXPECT_TRUE(has(text, "option is given twice (" + std::string(option) +
                              "): '1' and '2' are two values"))
        << text;
  }
  EXPECT_TRUE(has(refused(Tool::Opt, {"m", "--loss=mse", "--loss=mae"}),
                  "given twice (--loss)"));
  EXPECT_TRUE(has(refused(Tool::Opt, {"m", "-o", "a", "--output=b"}),
                  "given twice (--output)"));
  // So of two values for one name.
  for (const char *option : {"--scale", "--mean", "--std", "--layout"})
    EXPECT_TRUE(has(
        refused(Tool::Run, {"fit", "m", option, "x=NHWC", option, "x=NCHW"}),
        "given twice (" + std::string(option) + " x)"));
  EXPECT_TRUE(has(refused(Tool::Opt, {"m", "--dim", "n=1", "--dim", "n=2"}),
                  "given twice (--dim n)"));
  EXPECT_TRUE(has(refused(Tool::Opt, {"m", "--bind", "n=a", "--bind", "n=b"}),
                  "given twice (--bind n)"));
  // And of a strategy's keys.
  EXPECT_TRUE(has(refused(Tool::Opt, {"m", "--devices=cpu:2",
                                      "--strategy=zero:stage=1,stage=3"}),
                  "(--strategy zero:stage): it is given twice"));
  // Different names, and rules, are as many as one likes; flags say no more
  // the second time.
  Options o = parsed(Tool::Opt, {"m", "--dim", "a=1", "--dim", "b=2", "--split",
                                 "w=0:model", "--split", "v=1:model",
                                 "--strategy=tensor-split", "--devices=cpu:2",
                                 "--overlap", "--overlap"});
  EXPECT_EQ(o.dims.size(), 2u);
  EXPECT_EQ(o.split.size(), 2u);
}

TEST(Options, OneThingIsWritten) {
  auto has = [](const std::vector<std::string> &words,
                const std::string &part) {
    std::vector<std::string> all = {"m.onnx", "--loss=mse"};
    all.insert(all.end(), words.begin(), words.end());
    std::string text = refused(Tool::Opt, all);
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has({"--coverage", "--explain"}, "(--explain): --coverage prints its table");
  has({"--coverage", "-o", "f"}, "(--output): --coverage prints its table");
  has({"--explain", "--emit=package", "-o", "f"},
      "(--explain): --emit=package is written in its place");
  has({"--check", "--emit=train"}, "(--check): --emit=train stops before");
  has({"--explain", "--dependencies=f"}, "(--dependencies): they are those");
  has({"-o", "f.mlir"}, "'f.mlir' is a file's name");
  parsed(Tool::Opt, {"m.onnx", "--check", "--explain=json", "-o", "f.json"});
  parsed(Tool::Opt, {"m.onnx", "--emit=rt", "-o", "f.mlir"});
  parsed(Tool::Opt, {"m.onnx", "--dependencies=f", "-o", "f.v2"});
}

TEST(Options, NamesMayBeginWithADash) {
  EXPECT_EQ(parsed(Tool::Run, {"info", "--json", "--", "-m.onnx"}).model,
            "./-m.onnx");
}

TEST(Options, AFlagIsTakenBack) {
  Options o = parsed(Tool::Run, {"bench", "m", "--loss=mse", "--overlap=false",
                                 "--json=false"});
  EXPECT_FALSE(o.overlap);
  EXPECT_FALSE(o.json);
  EXPECT_EQ(o.compileArguments, std::vector<std::string>{"--loss=mse"});
}

// As a script's variable is that nobody has set.
TEST(Options, EmptyListsAreRefused) {
  for (const char *option : {"--loss-weights", "--class-weights", "--strategy",
                             "--devices", "--mesh", "--metrics", "--split",
                             "--batch-sizes", "--device-weights", "--dim"})
    EXPECT_NE(refused(Tool::Run, {"fit", "m", std::string(option) + "="})
                  .find(option),
              std::string::npos);
}

TEST(Options, ASideOfDiffOverridesTheRest) {
  Options side;
  std::vector<std::string> words = {"m",
                                    "--devices",
                                    "cpu:2",
                                    "--mesh=data=2",
                                    "--diff",
                                    "mirrored",
                                    "tensor-split --mesh model=2"};
  ASSERT_TRUE(parseSide(words, "tensor-split --mesh model=2", &side).ok());
  EXPECT_EQ(side.mesh[0].first, "model");
  EXPECT_EQ(side.devices.size(), 2u);
}

TEST(Options, UnknownNamesSuggestTheNearest) {
  EXPECT_NE(refused(Tool::Run, {"fit", "m", "--epoch", "3"}).find("--epochs"),
            std::string::npos);
  EXPECT_NE(refused(Tool::Run, {"fitt", "m"}).find("did you mean fit?"),
            std::string::npos);
  EXPECT_NE(refused(Tool::Run, {"fit", "m", "--strategy", "miror"})
                .find("'mirrored'"),
            std::string::npos);
  EXPECT_NE(refused(Tool::Opt, {"m", "--emit=packge"}).find("'package'"),
            std::string::npos);
}

TEST(Options, ACommandHasAPageOfItsOwn) {
  auto help = [](Tool tool, const std::vector<std::string> &words) {
    Options options;
    std::string answer;
    EXPECT_TRUE(parseOptions(tool, words, &options, &answer).ok());
    return answer;
  };
  auto has = [](const std::string &page, const std::string &text) {
    return page.find(text) != std::string::npos;
  };
  std::string fit = help(Tool::Run, {"fit", "--help"});
  EXPECT_TRUE(has(fit, "Usage: dist-run fit MODEL"));
  EXPECT_TRUE(has(fit, "--epochs N"));
  EXPECT_FALSE(has(fit, "\n  --calibrate"));
  std::string bench = help(Tool::Run, {"bench", "m.onnx", "-h"});
  EXPECT_TRUE(has(bench, "\n  --calibrate"));
  EXPECT_FALSE(has(bench, "\n  --epochs"));
  std::string all = help(Tool::Run, {"--help"});
  EXPECT_TRUE(has(all, "  evaluate "));
  EXPECT_TRUE(has(all, "--epochs N"));
  EXPECT_TRUE(has(all, "--calibrate"));
  EXPECT_TRUE(has(help(Tool::Opt, {"--help"}), "Usage: dist-opt MODEL"));
}

TEST(Options, HelpIsWrapped) {
  std::vector<HelpRow> rows = {
      {"Data", "--data", "SPEC", "one two three four five six seven", ""}};
  for (size_t width : {40, 72, 120})
    for (const std::string &page :
         {formatHelp(Tool::Run, "fit", rows, width)}) {
      std::istringstream lines(page.substr(page.find("Data:")));
      std::string line;
      while (std::getline(lines, line))
        EXPECT_LE(line.size(), width) << line;
      EXPECT_NE(page.find("one two"), std::string::npos);
    }
}

TEST(Options, WordsOfOtherToolsSuggestOurs) {
  auto names = [](const std::vector<std::string> &words,
                  const std::string &ours) {
    std::vector<std::string> all = {"fit", "m"};
    all.insert(all.end(), words.begin(), words.end());
    return refused(Tool::Run, all).find(ours) != std::string::npos;
  };
  EXPECT_TRUE(names({"--lr", "0.1"}, "--optimizer NAME:key=value"));
  EXPECT_TRUE(names({"--learning_rate=0.1"}, "--optimizer NAME:key=value"));
  EXPECT_TRUE(names({"--gpus", "2"}, "did you mean --devices?"));
  EXPECT_TRUE(names({"--gradient_accumulation_steps", "2"}, "--accumulate?"));
  EXPECT_TRUE(names({"--strategy", "MirroredStrategy"}, "'mirrored'?"));
  EXPECT_TRUE(names({"--strategy", "ddp"}, "'mirrored'?"));
  EXPECT_TRUE(names({"--strategy", "DataParallel"}, "'mirrored'?"));
  EXPECT_TRUE(names({"--strategy", "horovod"}, "'mirrored'?"));
  EXPECT_TRUE(names({"--strategy", "TPUStrategy"}, "'mirrored'?"));
  EXPECT_TRUE(names({"--strategy", "shard_map"}, "'tensor-split'?"));
  EXPECT_TRUE(names({"--strategy", "FSDP"}, "'zero'?"));
  EXPECT_TRUE(names({"--strategy", "MultiWorkerMirroredStrategy"},
                    "'multi-worker-mirrored'?"));
  EXPECT_TRUE(names({"--nnodes", "2"}, "--workers?"));
  EXPECT_TRUE(names({"--devices", "gpu"}, "'cuda'?"));
  // What is near nothing suggests nothing.
  EXPECT_TRUE(names({"--frobnicate"}, "see --help"));
  EXPECT_FALSE(names({"--strategy", "frobnicate"}, "did you mean"));
}

TEST(Options, RefusesMalformedValues) {
  for (const char *word : {"--batch-size=0",
                           "--batch-size=-3",
                           "--batch-size=many",
                           "--batch-size=4/core",
                           "--batch-size=99999999999999999999",
                           "--devices=cpu:0",
                           "--devices=gpu:9",
                           "--devices=cpu:2",
                           "--devices=cuda",
                           "--devices=cpu[1]",
                           "--devices=cpu:99999",
                           "--accumulate=0",
                           "--clip-norm=0",
                           "--clip-norm=nan",
                           "--mesh=data",
                           "--mesh=data=2",
                           "--mesh=a=4611686018427387904,b=4",
                           "--split=x",
                           "--device-weights=",
                           "--device-weights=3,0",
                           "--device-weights=3,,1",
                           "--device-weights=3,1.5",
                           "--device-weights=3,9999999",
                           "--epochs=1.5",
                           "--shuffle=yes",
                           "--strategy=mirrored:key=1",
                           "--precision=f8",
                           "--metrics=,",
                           "--scale=x",
                           "--frobnicate",
                           "--loss=",
                           "extra"})
    EXPECT_NE(refused(Tool::Run, {"fit", "m.onnx", word}), "") << word;
  EXPECT_NE(refused(Tool::Run, {"fit"}), "");
  EXPECT_NE(refused(Tool::Run, {}), "");
  EXPECT_NE(refused(Tool::Run, {"fit", "m", "--batch-size"}), "");
}

TEST(Options, DeviceWeights) {
  auto weights = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"m.onnx", "--loss=mse"});
    StrategyPlan plan;
    Status status = planStrategies(parsed(Tool::Opt, words), &plan);
    EXPECT_TRUE(status.ok()) << status.message();
    return plan.weights;
  };
  using Weights = std::vector<int64_t>;
  EXPECT_EQ(weights({"--strategy=mirrored", "--devices=cpu:3",
                     "--device-weights=1,2,1"}),
            (Weights{1, 2, 1}));
  EXPECT_EQ(weights({"--strategy=mirrored,tensor-split", "--devices=cpu:4",
                     "--mesh=data=2,model=2", "--device-weights=3,1"}),
            (Weights{3, 1}));
  // Equal ones are none.
  EXPECT_EQ(weights({"--strategy=mirrored", "--devices=cpu:2",
                     "--device-weights=2,2"}),
            Weights());
  auto why = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"m.onnx", "--loss=mse"});
    return refused(Tool::Opt, words);
  };
  EXPECT_NE(
      why({"--strategy=mirrored", "--devices=cpu:3", "--device-weights=3,1"})
          .find("axis 'data' has 3 positions, but 2 weights were given"),
      std::string::npos);
  EXPECT_NE(why({"--strategy=mirrored,tensor-split", "--devices=cpu:4",
                 "--mesh=model=2,data=2", "--device-weights=3,1"})
                .find("write data=N first in --mesh"),
            std::string::npos);
  EXPECT_NE(why({"--strategy=mirrored", "--devices=cpu:4",
                 "--mesh=host=2,data=2", "--device-weights=3,1"})
                .find("weights are of the positions along one axis"),
            std::string::npos);
}

TEST(Options, HelpIsGroupedAndVersionAnswers) {
  Options options;
  std::string answer;
  ASSERT_TRUE(parseOptions(Tool::Run, {"--help"}, &options, &answer).ok());
  for (const char *topic : {"Training:", "Strategy:", "Data:", "Run:"})
    EXPECT_NE(answer.find(topic), std::string::npos) << topic;
  answer.clear();
  ASSERT_TRUE(parseOptions(Tool::Opt, {"--version"}, &options, &answer).ok());
  EXPECT_NE(answer.find("dist-mlir"), std::string::npos);
}

TEST(Options, WatchedMetricsMayHaveKeysOfTheirOwn) {
  Options o =
      parsed(Tool::Run,
             {"fit", "m.onnx", "--early-stopping",
              "val_top-k:k=3:patience=2,min-delta=0.5,restore-best=true",
              "--reduce-lr-on-plateau",
              "loss:factor=0.5,patience=4,min-lr=1e-5,cooldown=1,min-delta=0"});
  const EarlyStopping &stopping = o.monitors.earlyStopping;
  EXPECT_EQ(stopping.metric, "val_top-k:k=3");
  EXPECT_EQ(stopping.patience, 2);
  EXPECT_EQ(stopping.minDelta, 0.5);
  EXPECT_TRUE(stopping.restoreBest);
  const ReduceOnPlateau &plateau = o.monitors.reduceOnPlateau;
  EXPECT_EQ(plateau.metric, "loss");
  EXPECT_EQ(plateau.factor, 0.5);
  EXPECT_EQ(plateau.patience, 4);
  EXPECT_EQ(plateau.minRate, 1e-5);
  EXPECT_EQ(plateau.cooldown, 1);
  EXPECT_EQ(plateau.minDelta, 0);
  // Keras' own.
  o = parsed(Tool::Run,
             {"fit", "m.onnx", "--reduce-lr-on-plateau", "val_loss"});
  EXPECT_EQ(o.monitors.reduceOnPlateau.patience, 10);
  EXPECT_EQ(o.monitors.reduceOnPlateau.minDelta, 1e-4);
  for (const char *wrong :
       {"", ":patience=1", "loss:", "loss:patience", "loss:patience=x",
        "loss:patience=-1", "loss:patience=1,patience=2",
        "loss:restore-best=yes", "val_top-k:k=3"})
    EXPECT_NE(refused(Tool::Run, {"fit", "m.onnx", "--early-stopping", wrong})
                  .find("--early-stopping"),
              std::string::npos)
        << wrong;
}

TEST(Options, SeveralLossesAndTheirMetrics) {
  Options o =
      parsed(Tool::Opt, {"m.onnx", "--loss", "a=mse", "--loss",
                         "b=huber:delta=2", "--loss-weights", "a=1,b=0.5",
                         "--metrics", "a=top-k:k=3,b=auc:thresholds=9,b=mae"});
  using Words = std::vector<std::string>;
  EXPECT_EQ(o.losses, (Words{"a=mse", "b=huber:delta=2"}));
  EXPECT_EQ(o.lossWeights, (Words{"a=1", "b=0.5"}));
  EXPECT_EQ(o.metrics, (Words{"a=top-k:k=3", "b=auc:thresholds=9", "b=mae"}));
}

} // namespace
