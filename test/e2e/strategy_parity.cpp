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
//
// With `--against unsplit` the oracle is the strategy's own training step
// before it is split, on one device: for what a strategy defines per replica,
// as batch norm's groups.
//
//===----------------------------------------------------------------------===//
#include "parity_compiler.h"
#include "runtime/core/package.h"
#include "runtime/formats/convert.h"
#include "runtime/train/entry.h"
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>

using namespace dist;
using parity::Compiler;

namespace {

struct Options {
  std::string model, against = "one-device", optimizer = "adam:lr=1e-3";
  DataOptions data;
  std::vector<std::string> scale, cases, flags;
  int64_t steps = 40, freeSteps = 0;
  double lossBound = 1e-6, gradientBound = 5e-5;
};

/// A gradient is read off an update: (old - new) / rate. At this rate, a power
/// of two, the update drowns the old value, whose rounding then does not show.
constexpr double kProbeRate = 65536;

/// Variables' values by name.
using Values = std::map<std::string, std::vector<double>>;

/// What one step gave.
struct Step {
  double loss = 0;
  Values gradient, state;
};

/// ||a - b|| / ||b|| over all variables together; and the one that adds most.
struct Difference {
  double relative = 0;
  std::string worst;
};

} // namespace

static Difference compare(const Values &found, const Values &expected) {
  Difference result;
  double squares = 0, norm = 0, most = -1;
  for (const auto &[name, values] : expected) {
    double part = 0;
    auto other = found.find(name);
    for (size_t i = 0; i < values.size(); ++i) {
      double difference =
          other == found.end() || other->second.size() != values.size()
              ? INFINITY
              : other->second[i] - values[i];
      part += difference * difference;
      norm += values[i] * values[i];
    }
    squares += part;
    if (!(part <= most)) {
      most = part;
      result.worst = name;
    }
  }
  result.relative = norm > 0 ? std::sqrt(squares / norm) : std::sqrt(squares);
  return result;
}

//===----------------------------------------------------------------------===//
// Stepping
//===----------------------------------------------------------------------===//

namespace {

/// A loaded program with its data.
class Runner {
public:
  static Status open(const std::string &package, const Options &options,
                     Runner *out) {
    DIST_RETURN_IF_ERROR(Session::open(package, {}, &out->session));
    DIST_RETURN_IF_ERROR(
        EntryPair::create(*out->session, "train_step", &out->entries));
    const manifest::Entry *entry = out->session->findEntry("train_step");
    if (!entry)
      entry = out->session->findEntry("train_step_partial");
    out->plan = out->entries.plan(out->session->manifest());
    out->plan.shuffle = 0;
    out->plan.prefetch = 0;
    return Dataset::open(options.data, *entry, &out->data);
  }

  /// Batches laid out as `other` wants them, whose program this one is.
  void adoptPlan(const Runner &other) { plan = other.plan; }
  int64_t batchSize() const { return plan.batch; }
  void rewind() { stream = std::make_unique<BatchStream>(*data, plan); }

  /// Trains one step on the next batch.
  Status step(double *loss) {
    const Batch *batch = stream->next();
    StepResult result;
    DIST_RETURN_IF_ERROR(entries.run(*batch, &result));
    *loss = result.loss;
    return Status();
  }

  /// Takes over what both programs have; metrics stay.
  Status copyState(Runner &from) {
    const manifest::Manifest &manifest = session->manifest();
    for (int i = 0; i < manifest.variables_size(); ++i) {
      if (manifest.variables(i).group() == "metric")
        continue;
      int other = from.find(manifest.variables(i).name());
      if (other < 0)
        continue;
      Tensor value;
      DIST_RETURN_IF_ERROR(from.read(other, &value));
      DIST_RETURN_IF_ERROR(write(i, value));
    }
    return Status();
  }

  /// One step of this probe from the state of `from`.
  Status probe(Runner &from, Step *out) {
    DIST_RETURN_IF_ERROR(copyState(from));
    Values before, unused;
    DIST_RETURN_IF_ERROR(readAll(&before, &unused));
    DIST_RETURN_IF_ERROR(step(&out->loss));
    DIST_RETURN_IF_ERROR(readAll(&out->gradient, &out->state));
    for (auto &[name, values] : out->gradient)
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = (before[name][i] - values[i]) / kProbeRate;
    return Status();
  }

private:
  int find(const std::string &name) const {
    const auto &variables = session->manifest().variables();
    for (int i = 0; i < variables.size(); ++i)
      if (variables[i].name() == name)
        return i;
    return -1;
  }
  /// Whether each replica has a row of its own, all of which count.
  bool hasRows(int index) const {
    const manifest::Variable &variable = session->manifest().variables(index);
    return variable.on_read() && variable.aggregation() == "mean";
  }
  Status read(int index, Tensor *out) {
    if (!hasRows(index))
      return session->readVariable(index, out);
    const auto &type = session->manifest().variables(index).global_type();
    out->type = type.type();
    out->shape.assign(type.shape().begin(), type.shape().end());
    out->data.clear();
    const manifest::Manifest &manifest = session->manifest();
    for (int rank = 0; rank < manifest.ranks(); ++rank) {
      if (!holdsVariable(manifest, manifest.variables(index), rank))
        continue;
      Tensor slice;
      DIST_RETURN_IF_ERROR(session->readSlice(index, rank, &slice));
      out->data.insert(out->data.end(), slice.data.begin(), slice.data.end());
    }
    return Status();
  }
  Status write(int index, const Tensor &value) {
    return session->writeVariable(index, value.view());
  }
  Status readAll(Values *parameters, Values *state) {
    const manifest::Manifest &manifest = session->manifest();
    for (int i = 0; i < manifest.variables_size(); ++i) {
      const manifest::Variable &variable = manifest.variables(i);
      if (!variable.trainable() && variable.group() != "buffer")
        continue;
      Tensor value;
      DIST_RETURN_IF_ERROR(read(i, &value));
      auto &values = variable.trainable() ? *parameters : *state;
      std::vector<double> &numbers = values[variable.name()];
      numbers.resize(elementCount(value.shape));
      for (size_t k = 0; k < numbers.size(); ++k)
        numbers[k] = elementAsDouble(value.type, value.data.data(), k);
    }
    return Status();
  }

  std::unique_ptr<Session> session;
  EntryPair entries;
  BatchPlan plan;
  std::unique_ptr<Dataset> data;
  std::unique_ptr<BatchStream> stream;
};

} // namespace

/// Largest differences of one case over all steps.
struct Row {
  double loss = 0, drift = 0, driftBound = 0;
  Difference gradient, state;
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
    std::vector<double> found, oracle;
    DIST_RETURN_IF_ERROR(train(flags, false, &found));
    if (one.empty()) {
      DIST_RETURN_IF_ERROR(train(kOneThread, false, &one));
      DIST_RETURN_IF_ERROR(train(kTwoThreads, false, &two));
    }
    oracle = one;
    if (options.against == "unsplit")
      DIST_RETURN_IF_ERROR(train(flags, true, &oracle));
    *drift = farthest(found, oracle);
    *bound = std::max(4 * farthest(two, one), options.lossBound);
    return Status();
  }

private:
  static double farthest(const std::vector<double> &losses,
                         const std::vector<double> &expected) {
    double most = 0;
    for (size_t i = 0; i < losses.size(); ++i)
      if (double d = distance(losses[i], expected[i]); !(d <= most))
        most = d;
    return most;
  }
  /// `unsplit`: before the strategy splits it, with the batches that it gets.
  Status train(const std::string &flags, bool unsplit,
               std::vector<double> *losses) {
    std::string package, split;
    DIST_RETURN_IF_ERROR(
        compiler.compile(options.optimizer, flags, unsplit, &package));
    Runner runner, planner;
    DIST_RETURN_IF_ERROR(Runner::open(package, options, &runner));
    if (unsplit) {
      DIST_RETURN_IF_ERROR(
          compiler.compile(options.optimizer, flags, false, &split));
      DIST_RETURN_IF_ERROR(Runner::open(split, options, &planner));
      runner.adoptPlan(planner);
    }
    runner.rewind();
    losses->resize(options.freeSteps);
    for (double &loss : *losses)
      DIST_RETURN_IF_ERROR(runner.step(&loss));
    return Status();
  }

  const Options &options;
  Compiler &compiler;
  std::vector<double> one, two; // losses of one device, by its threads
};

} // namespace

static Status runCase(const Options &options, Compiler &compiler,
                      const std::string &flags, Row *row) {
  std::string probe = "sgd:lr=" + std::to_string(int64_t(kProbeRate));
  bool unsplit = options.against == "unsplit";
  std::string oracle = unsplit ? flags : kOneThread;
  std::string packages[3];
  DIST_RETURN_IF_ERROR(
      compiler.compile(options.optimizer, oracle, unsplit, &packages[0]));
  DIST_RETURN_IF_ERROR(compiler.compile(probe, oracle, unsplit, &packages[1]));
  DIST_RETURN_IF_ERROR(compiler.compile(probe, flags, false, &packages[2]));
  Runner runners[3];
  auto &[trained, one, split] = runners;
  for (int i = 0; i < 3; ++i)
    DIST_RETURN_IF_ERROR(Runner::open(packages[i], options, &runners[i]));
  for (Runner &runner : runners) {
    if (unsplit)
      runner.adoptPlan(split);
    runner.rewind();
  }
  row->batch = split.batchSize();
  auto keep = [](Difference now, Difference *most) {
    if (!(now.relative <= most->relative) || most->worst.empty())
      *most = now;
  };
  for (int64_t number = 0; number < options.steps; ++number) {
    Step expected, found;
    DIST_RETURN_IF_ERROR(one.probe(trained, &expected));
    DIST_RETURN_IF_ERROR(split.probe(trained, &found));
    double loss = distance(found.loss, expected.loss);
    if (!(loss <= row->loss))
      row->loss = loss;
    keep(compare(found.gradient, expected.gradient), &row->gradient);
    keep(compare(found.state, expected.state), &row->state);
    double ignored;
    DIST_RETURN_IF_ERROR(trained.step(&ignored));
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
  app.add_option("--loss-bound", options.lossBound, "times max(1, |loss|)");
  app.add_option("--gradient-bound", options.gradientBound, "relative norm");
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
  std::printf("%-9s %-9s %-9s %-6s %-6s %s%s\n", "loss", "gradient", "state",
              "batch", "steps", options.freeSteps ? "drift (allowed)   " : "",
              "case");
  size_t agreed = 0;
  for (const std::string &flags : options.cases) {
    Row row;
    Status status = runCase(options, compiler, flags, &row);
    if (status.ok() && options.freeSteps)
      status = freeRuns.measure(flags, &row.drift, &row.driftBound);
    if (!status.ok()) {
      std::printf("%-47s %s FAILED: %s\n", "", flags.c_str(),
                  status.message().c_str());
      std::fflush(stdout);
      continue;
    }
    bool agrees = row.loss <= options.lossBound &&
                  row.gradient.relative <= options.gradientBound &&
                  row.state.relative <= options.gradientBound &&
                  row.drift <= row.driftBound;
    agreed += agrees;
    std::printf("%-9.1e %-9.1e %-9.1e %-6lld %-6lld ", row.loss,
                row.gradient.relative, row.state.relative, (long long)row.batch,
                (long long)options.steps);
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
