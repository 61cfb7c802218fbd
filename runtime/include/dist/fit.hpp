//===- dist/fit.hpp - The usual training loop, in C++17 ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// dist/fit.h with functions that hold state and may throw; see
// dist/session.hpp.
//
//===----------------------------------------------------------------------===//
#ifndef DIST_FIT_HPP
#define DIST_FIT_HPP

#include "dist/fit.h"
#include "dist/session.hpp"
#include <exception>
#include <utility>

namespace dist::api {

/// An epoch that is done: "loss", the metrics, and with validation data
/// "val_loss" and so on.
struct Epoch {
  int64_t number = 0; // from 1
  std::vector<std::pair<std::string, double>> values;
  double seconds = 0;
};

struct FitOptions {
  /// Where both are given, the run ends with whichever ends first.
  int64_t epochs = 0; // 0: as many as the steps take; without any, 1
  int64_t steps = 0;  // 0: as many as the epochs have
  /// File order instead of an order that follows from the seed.
  bool keepOrder = false;
  uint64_t seed = 0;
  bool dropRemainder = false;
  /// A folder of states (dist/checkpoint.h); empty: none.
  std::string checkpoint;
  dist_checkpoint_use_t use = DIST_CHECKPOINT_NEW;
  int64_t keep = 3;
  int64_t saveEvery = 0; // steps; 0: each epoch
  /// States are written while training goes on, from a copy in memory.
  bool asyncSave = false;
  /// Between them the session is the app's. True ends the run; so does what
  /// they throw, which `fit` throws on. The state is saved in both cases.
  std::function<bool(const dist_step_t &)> onStep;
  std::function<bool(const Epoch &)> onEpoch;
  /// As many as the columns that are trained on; empty: none.
  std::vector<TensorView> validation;
};

namespace detail {

struct FitListener {
  const FitOptions &options;
  std::exception_ptr thrown;
  /// No exception may pass through the library, which is C to its callers.
  template <typename Call> int ask(Call call) {
    try {
      return call();
    } catch (...) {
      thrown = std::current_exception();
      return 1;
    }
  }
};

} // namespace detail

/// Trains on columns, one for each input and label of the training step (see
/// dist_session_fit); gives the steps that are done, of earlier runs too.
inline int64_t fit(Session &session, const std::vector<TensorView> &columns,
                   const FitOptions &given = {}) {
  detail::FitListener listener{given, nullptr};
  if (!given.validation.empty() && given.validation.size() != columns.size())
    throw Error(DIST_STATUS_INVALID_ARGUMENT,
                "validation has " + std::to_string(given.validation.size()) +
                    " columns, the data have " +
                    std::to_string(columns.size()));
  dist_fit_options_t options = DIST_FIT_OPTIONS_INIT;
  options.epochs = given.epochs;
  options.steps = given.steps;
  options.keep_order = given.keepOrder;
  options.seed = given.seed;
  options.drop_remainder = given.dropRemainder;
  options.checkpoint =
      given.checkpoint.empty() ? nullptr : given.checkpoint.c_str();
  options.use = given.use;
  options.keep = given.keep;
  options.save_every = given.saveEvery;
  options.async_save = given.asyncSave;
  options.data = &listener;
  if (given.onStep)
    options.on_step = [](void *data, const dist_step_t *step) {
      auto &self = *static_cast<detail::FitListener *>(data);
      return self.ask([&] { return self.options.onStep(*step); });
    };
  if (given.onEpoch)
    options.on_epoch = [](void *data, const dist_epoch_t *epoch) {
      auto &self = *static_cast<detail::FitListener *>(data);
      return self.ask([&] {
        Epoch done{epoch->epoch, {}, epoch->seconds};
        for (int32_t i = 0; i < epoch->num_values; ++i)
          done.values.emplace_back(epoch->names[i], epoch->values[i]);
        return self.options.onEpoch(done);
      });
    };
  std::vector<dist_tensor_t> data = rawTensors(columns);
  std::vector<dist_tensor_t> validation = rawTensors(given.validation);
  int64_t step = 0;
  dist_status_t *status = dist_session_fit(
      session.get(), data.data(), int32_t(data.size()),
      validation.empty() ? nullptr : validation.data(), &options, &step);
  if (listener.thrown) {
    dist_status_free(status);
    std::rethrow_exception(listener.thrown);
  }
  check(status);
  return step;
}

} // namespace dist::api

#endif // DIST_FIT_HPP
