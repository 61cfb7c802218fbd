//===- dist/session.hpp - The C API with owners, in C++17 -------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thin layer over dist/api.h, all of it in this header and in
// dist/tensor.hpp: sessions, teams and checkpoints close themselves, tensors
// know their dims, and a status that is not OK becomes an exception
// (`dist::api::Error`). Nothing of the library throws; an app without
// exceptions uses the C API.
//
//   using namespace dist::api;
//   Session session("digits.package");
//   double loss =
//       session.trainStep({view(images, {32, 64}), view(labels, {32})});
//
//===----------------------------------------------------------------------===//
#ifndef DIST_SESSION_HPP
#define DIST_SESSION_HPP

#include "dist/api.h"
#include "dist/tensor.hpp"
#include <algorithm>
#include <functional>
#include <memory>

namespace dist::api {

/// Threads that sessions share (dist/team.h).
class Team {
public:
  Team() {
    dist_team_t *made = nullptr;
    check(dist_team_create(&made));
    handle.reset(made);
  }
  dist_team_t *get() const { return handle.get(); }

private:
  struct Free {
    void operator()(dist_team_t *team) const { dist_team_free(team); }
  };
  std::unique_ptr<dist_team_t, Free> handle;
};

struct SessionOptions {
  /// Seconds; 0: the library's default.
  double collectiveTimeout = 0;
  /// Gets the session's messages, from any thread, one at a time; throws
  /// nothing and uses no session.
  std::function<void(dist_log_level_t, const char *)> log;
  /// Null: the session has threads of its own.
  const Team *team = nullptr;
  /// As dist_session_options_t's; empty: the best for this machine.
  std::string cpuVariant;
};

/// What the first half of a step gives. Views are valid until the next one.
struct Gradients {
  double loss = 0;
  std::vector<TensorView> variables; // as `apply` takes them
  std::vector<TensorView> inputs;    // those that --input-gradients named
};

/// A loaded package. Loading it runs its code: load what you trust. One thread
/// at a time may use a session, but for `cancel`.
class Session {
public:
  explicit Session(const std::string &package, SessionOptions given = {})
      : log(std::make_unique<decltype(given.log)>(std::move(given.log))) {
    dist_session_options_t options = DIST_SESSION_OPTIONS_INIT;
    options.collective_timeout = given.collectiveTimeout;
    if (*log) {
      options.log = [](void *data, dist_log_level_t level,
                       const char *message) {
        (*static_cast<decltype(given.log) *>(data))(level, message);
      };
      options.log_data = log.get();
    }
    options.team = given.team ? given.team->get() : nullptr;
    options.cpu_variant =
        given.cpuVariant.empty() ? nullptr : given.cpuVariant.c_str();
    dist_session_t *opened = nullptr;
    check(dist_session_open(package.c_str(), &options, &opened));
    handle.reset(opened);
  }
  /// Another one's, which stays open longer than this.
  explicit Session(dist_session_t *borrowed)
      : handle(borrowed, Close(/*owns=*/false)) {}
  /// For calls that this header has no word for.
  dist_session_t *get() const { return handle.get(); }

  std::vector<std::string> entries() const {
    std::vector<std::string> names;
    while (const char *name =
               dist_session_entry_name(get(), int32_t(names.size())))
      names.push_back(name);
    return names;
  }
  std::vector<dist_binding_t> inputs(const std::string &entry) const {
    return bindings(entry, dist_session_input_count, dist_session_input);
  }
  std::vector<dist_binding_t> outputs(const std::string &entry) const {
    return bindings(entry, dist_session_output_count, dist_session_output);
  }

  /// What the entry gives; valid until its next run.
  std::vector<TensorView> run(const std::string &entry,
                              const std::vector<TensorView> &inputs) {
    std::vector<dist_tensor_t> in = rawTensors(inputs);
    std::vector<dist_tensor_t> out(
        size_t(std::max(0, dist_session_output_count(get(), entry.c_str()))));
    check(dist_session_run(get(), entry.c_str(), in.data(), int32_t(in.size()),
                           out.data(), int32_t(out.size())));
    return {out.begin(), out.end()};
  }
  /// Of any one number of examples (see dist_session_predict).
  std::vector<TensorView> predict(const std::vector<TensorView> &inputs) {
    std::vector<dist_tensor_t> in = rawTensors(inputs);
    std::vector<dist_tensor_t> out(
        size_t(std::max(0, dist_session_output_count(get(), "predict"))));
    check(dist_session_predict(get(), in.data(), int32_t(in.size()), out.data(),
                               int32_t(out.size())));
    return {out.begin(), out.end()};
  }
  /// The loss of a step on a full batch: inputs, then labels.
  double trainStep(const std::vector<TensorView> &inputs) {
    std::vector<dist_tensor_t> in = rawTensors(inputs);
    double loss = 0;
    check(dist_session_train_step(get(), in.data(), int32_t(in.size()), &loss));
    return loss;
  }

  /// The step up to its update, and the update (--entries ...,gradients,apply).
  Gradients gradients(const std::vector<TensorView> &inputs) {
    std::vector<dist_tensor_t> in = rawTensors(inputs);
    int32_t variables = dist_session_input_count(get(), "apply");
    int32_t count = 0;
    for (const dist_binding_t &output : outputs("gradients"))
      count += output.role == DIST_ROLE_GRADIENT;
    std::vector<dist_tensor_t> out(size_t(std::max(0, count)));
    Gradients result;
    check(dist_session_gradients(get(), in.data(), int32_t(in.size()),
                                 &result.loss, out.data(), count));
    // Without "apply" nobody tells them apart.
    auto middle = out.begin() + (variables < 0 ? count : variables);
    result.variables = {out.begin(), middle};
    result.inputs = {middle, out.end()};
    return result;
  }
  void apply(const std::vector<TensorView> &gradients) {
    std::vector<dist_tensor_t> in = rawTensors(gradients);
    check(dist_session_apply(get(), in.data(), int32_t(in.size())));
  }

  /// A value of the app's over all processes (see dist_session_reduce): all of
  /// it element by element, or where `axis` >= 0 first along that dim.
  template <typename T>
  std::vector<T> reduce(dist_reduction_t reduction, const TensorView &value,
                        int32_t axis = -1) {
    value.as<T>(); // of that type
    int64_t count = 1;
    for (size_t d = 0; d < value.dims().size(); ++d)
      count *= int32_t(d) == axis ? 1 : value.dims()[d];
    std::vector<T> out(size_t(std::max<int64_t>(count, 0)));
    dist_tensor_t tensor = value.raw();
    check(dist_session_reduce(get(), reduction, axis, &tensor, out.data(),
                              out.size() * sizeof(T)));
    return out;
  }

  /// From any thread: the call that runs throws DIST_STATUS_CANCELLED.
  void cancel() { dist_session_cancel(get()); }

  std::vector<dist_variable_t> variables() const {
    std::vector<dist_variable_t> all(size_t(dist_session_variable_count(get())),
                                     DIST_VARIABLE_INIT);
    for (size_t i = 0; i < all.size(); ++i)
      check(dist_session_variable(get(), int32_t(i), &all[i]));
    return all;
  }
  /// A copy of the variable's elements.
  template <typename T> std::vector<T> read(const std::string &name) {
    int32_t index = find(name);
    dist_variable_t variable = DIST_VARIABLE_INIT;
    check(dist_session_variable(get(), index, &variable));
    TensorView shape(variable.type,
                     {variable.dims, variable.dims + variable.num_dims},
                     nullptr);
    shape.as<T>(); // of that type
    std::vector<T> values(size_t(shape.elements()));
    check(dist_session_read_variable(get(), index, values.data(),
                                     values.size() * sizeof(T)));
    return values;
  }
  void write(const std::string &name, const TensorView &value) {
    dist_tensor_t tensor = value.raw();
    check(dist_session_write_variable(get(), find(name), &tensor));
  }
  /// Of packages compiled with --settable-lr.
  double learningRate() {
    double rate = 0;
    check(dist_session_learning_rate(get(), &rate));
    return rate;
  }
  void setLearningRate(double rate) {
    check(dist_session_set_learning_rate(get(), rate));
  }
  void reset() { check(dist_session_reset(get())); }
  void save(const std::string &path) {
    check(dist_session_save(get(), path.c_str()));
  }
  void load(const std::string &path) {
    check(dist_session_load(get(), path.c_str()));
  }

private:
  struct Close {
    Close() : owns(true) {}
    explicit Close(bool owns) : owns(owns) {}
    bool owns;
    void operator()(dist_session_t *session) const {
      if (owns)
        dist_session_close(session);
    }
  };
  template <typename Count, typename Get>
  std::vector<dist_binding_t> bindings(const std::string &entry, Count count,
                                       Get getOne) const {
    int32_t size = count(get(), entry.c_str());
    if (size < 0)
      throw Error(DIST_STATUS_INVALID_ARGUMENT,
                  "the package has no entry '" + entry + "'");
    std::vector<dist_binding_t> all(size_t(size), DIST_BINDING_INIT);
    for (int32_t i = 0; i < size; ++i)
      check(getOne(get(), entry.c_str(), i, &all[size_t(i)]));
    return all;
  }
  int32_t find(const std::string &name) const {
    int32_t index = dist_session_find_variable(get(), name.c_str());
    if (index < 0)
      throw Error(DIST_STATUS_INVALID_ARGUMENT,
                  "the package has no variable '" + name + "'");
    return index;
  }

  /// Outlives the session, which calls it; in a place that does not move.
  std::unique_ptr<std::function<void(dist_log_level_t, const char *)>> log;
  std::unique_ptr<dist_session_t, Close> handle;
};

} // namespace dist::api

#endif // DIST_SESSION_HPP
