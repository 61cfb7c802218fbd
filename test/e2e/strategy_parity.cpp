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
// With `--against unsplit` the oracle is the strategy's own training step
// before it is split, on one device: for what a strategy defines per replica,
// as batch norm's groups.
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/convert.h"
#include "runtime/formats/file.h"
#include "runtime/train/entry.h"
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

using namespace dist;

namespace {

struct Options {
  std::string model, against = "one-device", optimizer = "adam:lr=1e-3";
  DataOptions data;
  std::vector<std::string> scale, cases, flags;
  int64_t steps = 40;
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
// Compiling
//===----------------------------------------------------------------------===//

static std::vector<std::string> splitWords(const std::string &text) {
  std::vector<std::string> words;
  std::string word;
  for (char c : text + " ") {
    if (c != ' ')
      word += c;
    else if (!word.empty())
      words.push_back(std::move(word)), word.clear();
  }
  return words;
}

/// Runs the dist-opt beside this program.
static Status runCompiler(std::vector<std::string> words) {
  char self[4096];
  ssize_t size = readlink("/proc/self/exe", self, sizeof self);
  std::string path(self, std::max<ssize_t>(size, 0));
  words.insert(words.begin(), path.substr(0, path.rfind('/')) + "/dist-opt");
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child;
  int code = 0;
  if (posix_spawn(&child, argv[0], nullptr, nullptr, argv.data(), environ) ||
      waitpid(child, &code, 0) < 0)
    return Status::error(StatusCode::Unavailable, "cannot run the compiler",
                         words[0]);
  if (code != 0)
    return Status::error(StatusCode::InvalidInput, "the compiler failed",
                         words[1], "its words stand above");
  return Status();
}

namespace {

/// Compiles into a folder of its own; the same options once.
class Compiler {
public:
  explicit Compiler(const Options &options) : options(options) {
    std::string pattern = "/tmp/strategy_parity.XXXXXX";
    folder = mkdtemp(pattern.data()) ? pattern : "";
  }
  ~Compiler() {
    if (!folder.empty())
      removeAll(folder);
  }

  /// The training step under `flags` as a package; `unsplit`: as it is before
  /// the strategy splits it.
  Status compile(const std::string &optimizer, const std::string &flags,
                 bool unsplit, std::string *package) {
    std::string &known =
        packages[optimizer + " " + flags + (unsplit ? "!" : "")];
    *package = known;
    if (!known.empty())
      return Status();
    std::string name = folder + "/" + std::to_string(packages.size());
    std::vector<std::string> words = {options.model, "--optimizer", optimizer};
    words.insert(words.end(), options.flags.begin(), options.flags.end());
    for (std::string &word : splitWords(flags))
      words.push_back(std::move(word));
    if (unsplit) {
      words.insert(words.end(), {"--emit=train", "-o", name + ".mlir"});
      DIST_RETURN_IF_ERROR(runCompiler(words));
      words = {name + ".mlir"};
    }
    words.insert(words.end(), {"-o", name});
    DIST_RETURN_IF_ERROR(runCompiler(words));
    *package = known = name;
    return Status();
  }

private:
  const Options &options;
  std::string folder;
  std::map<std::string, std::string> packages;
};

//===----------------------------------------------------------------------===//
// Stepping
//===----------------------------------------------------------------------===//

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
    for (int rank = 0; rank < session->manifest().ranks(); ++rank) {
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
  double loss = 0;
  Difference gradient, state;
  int64_t batch = 0;
};

static Status runCase(const Options &options, Compiler &compiler,
                      const std::string &flags, Row *row) {
  std::string probe = "sgd:lr=" + std::to_string(int64_t(kProbeRate));
  bool unsplit = options.against == "unsplit";
  std::string oracle = unsplit ? flags : "--strategy one-device --threads 1";
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
    double loss = std::fabs(found.loss - expected.loss) /
                  std::max(1.0, std::fabs(expected.loss));
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

  Compiler compiler(options);
  std::printf("%-9s %-9s %-9s %-6s %-6s %s\n", "loss", "gradient", "state",
              "batch", "steps", "case");
  size_t agreed = 0;
  for (const std::string &flags : options.cases) {
    Row row;
    Status status = runCase(options, compiler, flags, &row);
    if (!status.ok()) {
      std::printf("%-47s %s FAILED: %s\n", "", flags.c_str(),
                  status.message().c_str());
      std::fflush(stdout);
      continue;
    }
    bool agrees = row.loss <= options.lossBound &&
                  row.gradient.relative <= options.gradientBound &&
                  row.state.relative <= options.gradientBound;
    agreed += agrees;
    std::printf("%-9.1e %-9.1e %-9.1e %-6lld %-6lld %s", row.loss,
                row.gradient.relative, row.state.relative, (long long)row.batch,
                (long long)options.steps, flags.c_str());
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
