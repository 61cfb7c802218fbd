//===- fake_session.h - A session without a program -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// y = w * x, fitted by gradient descent on two ranks, in plain loops: what the
// host loops see of a session, with nothing below it.
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_FAKE_SESSION_H
#define TEST_RUNTIME_FAKE_SESSION_H

#include "runtime/core/session.h"
#include <cstring>

namespace dist {

class FakeSession : public Session {
public:
  enum { W, Iteration, Total, Count, Sum, VariableCount, Rate = VariableCount };

  /// `rows`: of the partial entries; `accumulate` > 1: gradients and apply.
  explicit FakeSession(int64_t batch, int64_t rows, int accumulate = 1,
                       int ranks = 2)
      : state(ranks, Ranks(VariableCount)), ranks(ranks) {
    description.set_ranks(ranks);
    for (int rank = 0; rank < ranks; ++rank)
      local.push_back(rank);
    description.set_global_batch(batch);
    description.set_model_name("fake");
    description.set_accumulate_steps(accumulate);
    manifest::Axis *axis = description.mutable_mesh()->add_axes();
    axis->set_name("data");
    axis->set_size(ranks);
    variable("w", manifest::F32, "parameter");
    variable("optimizer/iteration", manifest::I64, "counter");
    for (const char *name : {"metric/loss/total", "metric/loss/count"}) {
      manifest::Variable *metric = variable(name, manifest::F32, "metric");
      metric->set_on_read(true);
      metric->set_aggregation("sum");
      metric->mutable_sharding()->add_unreduced("data");
    }
    variable("accumulator/w", manifest::F32, "accumulator");
    std::string step = accumulate > 1 ? "gradients" : "train_step";
    for (const std::string &name : {step, std::string("eval_step")}) {
      if (batch == rows)
        entry(name, batch, false);
      entry(name + "_partial", rows, true);
    }
    if (accumulate > 1)
      description.mutable_programs(0)->add_entries()->set_name("apply");
    entry("predict", batch, false);
  }

  /// As --batch-sizes compiles them.
  void addPredictBatch(int64_t rows, double seconds) {
    entry("predict_batch" + std::to_string(rows), rows, false);
    auto *entries = description.mutable_programs(0)->mutable_entries();
    entries->rbegin()->set_seconds(seconds);
  }

  /// Other than what its entries are for.
  void setAccumulateSteps(int steps) {
    description.set_accumulate_steps(steps);
  }

  /// As --settable-lr compiles it: `rate` is a variable from now on.
  void makeRateSettable() {
    variable("optimizer/learning_rate", manifest::F32, "counter");
    for (Ranks &rank : state)
      rank.push_back(rate);
    settable = true;
  }

  /// As a model that draws random numbers: training counts the steps.
  void countDraws() {
    counter = description.variables_size();
    variable("random/step", manifest::I64, "counter");
    for (Ranks &rank : state)
      rank.push_back(0);
  }

  const manifest::Manifest &manifest() const override { return description; }
  const manifest::Entry *findEntry(const std::string &name) const override {
    if (description.programs_size())
      for (const manifest::Entry &entry : description.programs(0).entries())
        if (entry.name() == name)
          return &entry;
    return nullptr;
  }

  Status run(const manifest::Entry &entry,
             const std::vector<TensorView> &inputs,
             std::vector<Tensor> *outputs) override {
    calls.push_back(entry.name());
    if (settable)
      rate = float(state[0][Rate]);
    if (entry.name() == "apply") {
      state[0][W] -= rate * state[0][Sum] / description.accumulate_steps();
      state[0][Sum] = 0;
      state[0][Iteration] += 1;
      mirror();
      return Status();
    }
    const float *x = static_cast<const float *>(inputs[0].data);
    int64_t rows = inputs[0].shape[0];
    if (entry.name().rfind("predict", 0) == 0) {
      outputs->resize(1);
      for (int64_t i = 0; i < rows; ++i)
        set((*outputs)[0], {rows, 1}, i, float(state[0][W]) * x[i]);
      return Status();
    }
    const int64_t *y = static_cast<const int64_t *>(inputs[1].data);
    bool partial = inputs.size() == 4;
    const char *mask =
        partial ? static_cast<const char *>(inputs[2].data) : nullptr;
    float count =
        partial ? *static_cast<const float *>(inputs[3].data) : float(rows);
    float loss = 0, gradient = 0;
    for (int64_t i = 0; i < rows; ++i) {
      if (mask && !mask[i])
        continue;
      float error = float(state[0][W]) * x[i] - float(y[i]);
      loss += error * error / count;
      gradient += 2 * error * x[i] / count;
      int rank = int(i * ranks / rows);
      state[rank][Total] += error * error;
      state[rank][Count] += 1;
    }
    outputs->resize(2);
    set((*outputs)[0], {}, 0, loss);
    set((*outputs)[1], {}, 0, rate);
    if (entry.name().compare(0, 10, "train_step") == 0) {
      state[0][W] = float(state[0][W] - rate * gradient);
      state[0][Iteration] += 1;
    } else if (entry.name().compare(0, 9, "gradients") == 0) {
      state[0][Sum] += gradient;
    }
    if (counter >= 0 && entry.name().compare(0, 9, "eval_step") != 0) {
      draws.push_back(int64_t(state[0][counter]));
      for (Ranks &rank : state)
        rank[counter] += 1;
    }
    mirror();
    return Status();
  }

  Status runSteps(const std::vector<StepCall> &calls,
                  const std::function<bool(size_t)> &goOn,
                  size_t *done) override {
    launches.push_back(calls.size());
    return Session::runSteps(calls, goOn, done);
  }

  Status readVariable(int index, Tensor *out) override {
    double value = state[0][index];
    if (description.variables(index).on_read())
      for (int rank = 1; rank < ranks; ++rank)
        value += state[rank][index];
    return pack(index, value, out);
  }
  Status writeVariable(int index, const TensorView &value) override {
    for (int rank = 0; rank < ranks; ++rank)
      state[rank][index] =
          rank && description.variables(index).on_read() ? 0 : unpack(value);
    return Status();
  }
  Status readSlice(int index, int rank, Tensor *out) override {
    return pack(index, state[rank][index], out);
  }
  Status writeSlice(int index, int rank, const TensorView &value) override {
    state[rank][index] = unpack(value);
    return Status();
  }
  Status resetVariables() override { return Status(); }
  int64_t deviceBytes() const override { return 0; }
  // One process, all of whose tensors are whole.
  const std::vector<int> &localRanks() const override { return local; }
  Window inputWindow(const manifest::Entry &entry,
                     size_t input) const override {
    Window all;
    for (const manifest::Binding &binding : entry.arguments())
      if (binding.role() != manifest::Binding::VARIABLE && input-- == 0)
        all.shape.assign(binding.global_type().shape().begin(),
                         binding.global_type().shape().end());
    all.start.assign(all.shape.size(), 0);
    all.present = all.whole = true;
    return all;
  }
  Window outputWindow(const manifest::Entry &, size_t) const override {
    Window all;
    all.present = all.whole = true;
    return all;
  }
  Status rebuild(std::shared_ptr<World>) override {
    return Status::error(StatusCode::InvalidArgument, "one process");
  }
  std::vector<TraceEvent> takeTrace() override { return {}; }

  std::vector<int> local; // all
  using Ranks = std::vector<double>;
  std::vector<Ranks> state;
  std::vector<std::string> calls;
  std::vector<size_t> launches; // their calls
  float rate = 0.01f;
  bool settable = false;
  std::vector<int64_t> draws; // the step that each drew by

private:
  /// Copies what is mirrored from rank 0 to the others. Values are what they
  /// are when they are saved.
  void mirror() {
    for (Ranks &rank : state)
      for (int index : {int(W), int(Total), int(Count), int(Sum)})
        rank[index] = float(rank[index]);
    for (int rank = 1; rank < ranks; ++rank)
      for (int index : {int(W), int(Iteration), int(Sum)})
        state[rank][index] = state[0][index];
  }
  manifest::Variable *variable(const char *name, DataType type,
                               const char *group) {
    manifest::Variable *added = description.add_variables();
    added->set_name(name);
    added->set_group(group);
    added->mutable_global_type()->set_type(type);
    added->mutable_local_type()->set_type(type);
    return added;
  }
  void entry(const std::string &name, int64_t rows, bool partial) {
    if (!description.programs_size())
      description.add_programs();
    manifest::Entry *added = description.mutable_programs(0)->add_entries();
    added->set_name(name);
    auto bind = [&](manifest::Binding *binding, manifest::Binding::Role role,
                    const char *what, DataType type,
                    std::vector<int64_t> shape) {
      binding->set_role(role);
      binding->set_name(what);
      binding->mutable_global_type()->set_type(type);
      for (int64_t dim : shape)
        binding->mutable_global_type()->add_shape(dim);
      binding->set_batch_dim(shape.empty() ? -1 : 0);
      if (!shape.empty())
        binding->mutable_sharding()->add_dims()->add_axes("data");
    };
    using manifest::Binding;
    bind(added->add_arguments(), Binding::INPUT, "x", manifest::F32, {rows, 1});
    if (name.rfind("predict", 0) == 0) {
      bind(added->add_results(), Binding::OUTPUT, "out", manifest::F32,
           {rows, 1});
      return;
    }
    bind(added->add_arguments(), Binding::LABEL, "y", manifest::I64, {rows});
    if (partial) {
      bind(added->add_arguments(), Binding::MASK, "mask", manifest::BOOL,
           {rows});
      bind(added->add_arguments(), Binding::COUNT, "count", manifest::F32, {});
    }
    added->add_arguments()->set_role(Binding::VARIABLE);
    bind(added->add_results(), Binding::LOSS, "loss", manifest::F32, {});
    bind(added->add_results(), Binding::LEARNING_RATE, "lr", manifest::F32, {});
    added->add_results()->set_role(Binding::VARIABLE);
  }
  static void set(Tensor &tensor, std::vector<int64_t> shape, int64_t index,
                  float value) {
    tensor.type = manifest::F32;
    tensor.shape = std::move(shape);
    tensor.data.resize(tensor.view().bytes());
    std::memcpy(tensor.data.data() + 4 * index, &value, 4);
  }
  Status pack(int index, double value, Tensor *out) {
    out->type = description.variables(index).global_type().type();
    out->shape = {};
    out->data.resize(out->view().bytes());
    if (out->type == manifest::I64) {
      int64_t whole = int64_t(value);
      std::memcpy(out->data.data(), &whole, sizeof whole);
    } else {
      float narrow = float(value);
      std::memcpy(out->data.data(), &narrow, sizeof narrow);
    }
    return Status();
  }
  static double unpack(const TensorView &value) {
    if (value.type == manifest::I64)
      return double(*static_cast<const int64_t *>(value.data));
    return *static_cast<const float *>(value.data);
  }
  int ranks;
  int counter = -1;
  manifest::Manifest description;
};

} // namespace dist

#endif // TEST_RUNTIME_FAKE_SESSION_H
