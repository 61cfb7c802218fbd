//===- strategy_parity.cpp - Strategies from the same state -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// "A strategy never changes the numbers", for the compiled programs: trains on
// one device and, from the state before each of its steps, lets every strategy
// do the same step. Loss, gradient and moved state (batch norm's averages) must
// be one device's. From a common state nothing grows over the steps, so the
// bounds are those of rounding.
//
//   strategy_parity MODEL --data SPEC --case '--strategy mirrored --devices
//   cpu:2' ... -- DIST-OPT OPTIONS
//
// `--free-running N` also trains N steps of each case by itself: its losses may
// be four times as far from one device's with one thread as those with two are.
// Where derivatives jump (ReLU, max), one activation that counts by rounding
// alone sends such a run elsewhere, in some orders of the examples and not in
// others, whoever runs: a small convolutional network on one device in a third
// of them. With `--orders K` both distances are the lower quartile of those in
// the same K orders (the middle one of three): of runs that nothing sent
// elsewhere. What a strategy does wrong in every order shows there; what it
// does wrong in some, in the steps from a common state. A loss that is not
// finite fails in whichever order.
//
// `--kinks` is for models whose derivatives jump (ReLU): where an activation is
// as near to zero as rounding, it counts or not by the order of a sum alone.
// Their gradients may be four times as far from the oracle's as one device's
// with one thread are from those with two, in the worst of as many steps.
//
// With `--against unsplit` the oracle is the strategy's own training step
// before it is split, on one device: for what a strategy defines per replica,
// as batch norm's groups.
//
//===----------------------------------------------------------------------===//
#include "parity_compiler.h"
#include "parity_runner.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

using namespace dist;
using namespace dist::parity;

namespace {

struct Options {
  std::string model, against = "one-device", optimizer = "adam:lr=1e-3";
  DataOptions data;
  std::vector<std::string> scale, cases, flags;
  int64_t steps = 40, freeSteps = 0, orders = 1;
  double lossBound = 1e-6, gradientBound = 5e-5;
  bool kinks = false;
};

} // namespace

/// Largest differences of one case over all steps.
struct Row {
  double loss = 0, drift = 0, driftBound = 0;
  Difference gradient, state;
  double gradientBound = 0;
  int64_t batch = 0;
};

static const char kOneThread[] = "--strategy one-device --threads 1";
static const char kTwoThreads[] = "--strategy one-device --threads 2";
/// A difference of losses is relative where they are large.
static double distance(double loss, double expected) {
  return std::fabs(loss - expected) / std::max(1.0, std::fabs(expected));
}

namespace {

/// Cases that train by themselves.
class FreeRuns {
public:
  FreeRuns(const Options &options, Compiler &compiler)
      : options(options), compiler(compiler) {}

  /// How far a case drifts from its oracle, and how far it may.
  Status measure(const std::string &flags, double *drift, double *bound) {
    Losses found, oracle;
    DIST_RETURN_IF_ERROR(train(flags, false, &found));
    if (one.empty()) {
      DIST_RETURN_IF_ERROR(train(kOneThread, false, &one));
      DIST_RETURN_IF_ERROR(train(kTwoThreads, false, &two));
    }
    oracle = one;
    if (options.against == "unsplit")
      DIST_RETURN_IF_ERROR(train(flags, true, &oracle));
    *drift = usual(found, oracle);
    *bound = std::max(4 * usual(two, one), options.lossBound);
    if (!std::isfinite(*bound))
      return Status::error(StatusCode::InvalidInput,
                           "the free runs cannot be judged", options.model,
                           "one device's losses are not finite");
    return Status();
  }

private:
  /// Of all orders' steps.
  using Losses = std::vector<double>;
  /// The farthest of an order's steps; of all orders, the lower quartile.
  /// Infinite if a loss of any order is not finite.
  double usual(const Losses &losses, const Losses &expected) {
    std::vector<double> farthest(options.orders);
    for (size_t i = 0; i < losses.size(); ++i) {
      double &most = farthest[i / options.freeSteps];
      double now = distance(losses[i], expected[i]);
      if (!(now <= most))
        most = std::isnan(now) ? INFINITY : now;
    }
    std::sort(farthest.begin(), farthest.end());
    return std::isinf(farthest.back()) ? INFINITY
                                       : farthest[(options.orders + 1) / 4];
  }
  /// `unsplit`: before the strategy splits it, with the batches that it gets.
  Status train(const std::string &flags, bool unsplit, Losses *losses) {
    std::string package, split;
    DIST_RETURN_IF_ERROR(
        compiler.compile(options.optimizer, flags, unsplit, &package));
    Runner runner, planner;
    DIST_RETURN_IF_ERROR(Runner::open(package, options.data, &runner));
    if (unsplit) {
      DIST_RETURN_IF_ERROR(
          compiler.compile(options.optimizer, flags, false, &split));
      DIST_RETURN_IF_ERROR(Runner::open(split, options.data, &planner));
      runner.adoptPlan(planner);
    }
    Snapshot begin;
    DIST_RETURN_IF_ERROR(runner.save(&begin));
    losses->resize(options.orders * options.freeSteps);
    for (size_t i = 0; i < losses->size(); ++i) {
      if (i % options.freeSteps == 0) {
        DIST_RETURN_IF_ERROR(runner.restore(begin));
        runner.rewind(i / options.freeSteps);
      }
      DIST_RETURN_IF_ERROR(runner.step(&(*losses)[i]));
    }
    return Status();
  }

  const Options &options;
  Compiler &compiler;
  Losses one, two; // of one device, by its threads
};

} // namespace

namespace {

/// A step of the oracle: the state before it, and what it gives.
struct Moment {
  Snapshot before;
  Step expected;
};

/// The steps that cases are compared with. One device's are the same for all
/// cases, and made once.
class Oracle {
public:
  Oracle(const Options &options, Compiler &compiler)
      : options(options), compiler(compiler) {}

  /// `split`: the case's program, whose batches an unsplit oracle takes.
  Status prepare(const std::string &flags, const Runner &split);

  std::vector<Moment> moments;
  /// How far one device's gradients with one thread are from those with two,
  /// in the worst step.
  std::optional<double> threads;

private:
  Status open(const std::string &optimizer, const std::string &flags,
              bool unsplit, const std::string &count, const Runner *split,
              Runner *out);
  Status measureThreads();

  const Options &options;
  Compiler &compiler;
};

} // namespace

static std::string probe() {
  return "sgd:lr=" + std::to_string(int64_t(kProbeRate));
}

Status Oracle::prepare(const std::string &flags, const Runner &split) {
  bool unsplit = options.against == "unsplit";
  if (!moments.empty() && !unsplit)
    return Status();
  moments.clear();
  std::string oracle = unsplit ? flags : kOneThread;
  Runner trained, one;
  DIST_RETURN_IF_ERROR(
      open(options.optimizer, oracle, unsplit, "", &split, &trained));
  DIST_RETURN_IF_ERROR(open(probe(), oracle, unsplit, "1", &split, &one));
  for (int64_t number = 0; number < options.steps; ++number) {
    Moment &moment = moments.emplace_back();
    DIST_RETURN_IF_ERROR(trained.save(&moment.before));
    DIST_RETURN_IF_ERROR(one.probe(moment.before, &moment.expected));
    double ignored;
    DIST_RETURN_IF_ERROR(trained.step(&ignored));
  }
  return options.kinks && !threads ? measureThreads() : Status();
}

Status Oracle::open(const std::string &optimizer, const std::string &flags,
                    bool unsplit, const std::string &count, const Runner *split,
                    Runner *out) {
  std::string package;
  DIST_RETURN_IF_ERROR(
      compiler.compile(optimizer, flags, unsplit, &package, count));
  DIST_RETURN_IF_ERROR(Runner::open(package, options.data, out));
  if (unsplit)
    out->adoptPlan(*split);
  out->rewind();
  return Status();
}

Status Oracle::measureThreads() {
  Runner trained, one, two;
  DIST_RETURN_IF_ERROR(
      open(options.optimizer, kOneThread, false, "", nullptr, &trained));
  DIST_RETURN_IF_ERROR(open(probe(), kOneThread, false, "", nullptr, &one));
  DIST_RETURN_IF_ERROR(open(probe(), kTwoThreads, false, "", nullptr, &two));
  for (int64_t number = 0; number < options.steps; ++number) {
    Snapshot before;
    Step expected, found;
    DIST_RETURN_IF_ERROR(trained.save(&before));
    DIST_RETURN_IF_ERROR(one.probe(before, &expected));
    DIST_RETURN_IF_ERROR(two.probe(before, &found));
    double now = compare(found.gradient, expected.gradient).relative;
    if (!std::isfinite(now))
      return Status::error(StatusCode::InvalidInput,
                           "the kinks cannot be judged", options.model,
                           "one device's gradient is not finite");
    threads = std::max(threads.value_or(0), now);
    double ignored;
    DIST_RETURN_IF_ERROR(trained.step(&ignored));
  }
  return Status();
}

static Status runCase(const Options &options, Compiler &compiler,
                      Oracle &oracle, const std::string &flags, Row *row) {
  std::string package;
  DIST_RETURN_IF_ERROR(compiler.compile(probe(), flags, false, &package));
  Runner split;
  DIST_RETURN_IF_ERROR(Runner::open(package, options.data, &split));
  split.rewind();
  DIST_RETURN_IF_ERROR(oracle.prepare(flags, split));
  row->batch = split.batchSize();
  row->gradientBound =
      std::max(options.gradientBound, 4 * oracle.threads.value_or(0));
  auto keep = [](Difference now, Difference *most) {
    if (!(now.relative <= most->relative) || most->worst.empty())
      *most = now;
  };
  for (const Moment &moment : oracle.moments) {
    Step found;
    DIST_RETURN_IF_ERROR(split.probe(moment.before, &found));
    double loss = distance(found.loss, moment.expected.loss);
    if (!(loss <= row->loss))
      row->loss = loss;
    keep(compare(found.gradient, moment.expected.gradient), &row->gradient);
    keep(compare(found.state, moment.expected.state), &row->state);
  }
  return Status();
}

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Compares strategies with one device, from the same state");
  app.add_option("MODEL", options.model)->required();
  app.add_option("--data", options.data.spec)->required();
  app.add_option("--scale", options.scale, "NAME=VALUE")->take_all();
  app.add_option("--case", options.cases, "the flags of a strategy")
      ->take_all()
      ->required();
  app.add_option("--against", options.against)
      ->check(CLI::IsMember({"one-device", "unsplit"}));
  app.add_option("--optimizer", options.optimizer, "of the run compared on");
  app.add_option("--steps", options.steps)->check(CLI::PositiveNumber);
  app.add_option("--free-running", options.freeSteps, "steps")
      ->check(CLI::PositiveNumber);
  app.add_option("--orders", options.orders, "of the examples, free-running")
      ->check(CLI::PositiveNumber);
  app.add_option("--loss-bound", options.lossBound, "times max(1, |loss|)");
  app.add_option("--gradient-bound", options.gradientBound, "relative norm");
  app.add_flag("--kinks", options.kinks, "the model's derivatives jump");
  app.footer("What follows -- goes to dist-opt.");
  int own = 0;
  while (own < argc && std::string(argv[own]) != "--")
    ++own;
  for (int i = own + 1; i < argc; ++i)
    options.flags.push_back(argv[i]);
  CLI11_PARSE(app, own, argv);
  for (const std::string &pair : options.scale)
    options.data.scale[pair.substr(0, pair.find('='))] =
        pair.substr(pair.find('=') + 1);

  Compiler compiler(options.model, options.flags);
  FreeRuns freeRuns(options, compiler);
  Oracle oracle(options, compiler);
  std::printf("%-9s %-9s %s%-9s %-6s %-6s %s%s\n", "loss", "gradient",
              options.kinks ? "(allowed) " : "", "state", "batch", "steps",
              options.freeSteps ? "drift (allowed)   " : "", "case");
  size_t agreed = 0;
  for (const std::string &flags : options.cases) {
    Row row;
    Status status = runCase(options, compiler, oracle, flags, &row);
    if (status.ok() && options.freeSteps)
      status = freeRuns.measure(flags, &row.drift, &row.driftBound);
    if (!status.ok()) {
      std::printf("%-47s %s FAILED: %s\n", "", flags.c_str(),
                  status.message().c_str());
      std::fflush(stdout);
      continue;
    }
    bool agrees = row.loss <= options.lossBound &&
                  row.gradient.relative <= row.gradientBound &&
                  row.state.relative <= options.gradientBound &&
                  row.drift <= row.driftBound;
    agreed += agrees;
    std::printf("%-9.1e %-9.1e ", row.loss, row.gradient.relative);
    if (options.kinks)
      std::printf("(%-7.1e) ", row.gradientBound);
    std::printf("%-9.1e %-6lld %-6lld ", row.state.relative,
                (long long)row.batch, (long long)options.steps);
    if (options.freeSteps)
      std::printf("%-7.1e (%-7.1e) ", row.drift, row.driftBound);
    std::printf("%s", flags.c_str());
    if (!agrees)
      std::printf(" DIFFERS: most in %s%s%s", row.gradient.worst.c_str(),
                  row.state.worst.empty() ? "" : " and ",
                  row.state.worst.c_str());
    std::printf("\n");
    std::fflush(stdout);
  }
  std::printf("%zu of %zu cases agree\n", agreed, options.cases.size());
  return agreed == options.cases.size() ? 0 : 1;
}
