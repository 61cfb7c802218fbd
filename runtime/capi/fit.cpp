//===- fit.cpp - C interface: the usual training loop ---------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dist/fit.h"
#include "runtime/capi/training.h"
#include <atomic>

using namespace dist;

namespace {

/// Tells the app's functions, and ends the run when they say so.
class AppObserver : public FitObserver {
public:
  AppObserver(dist_session_t &session, const dist_fit_options_t &options)
      : session(session), options(options) {}

  Status step(const StepRow &row) override {
    if (!options.on_step)
      return Status();
    dist_step_t step = {sizeof step, row.epoch,        row.step,   row.examples,
                        row.loss,    row.learningRate, row.seconds};
    if (options.on_step(options.data, &step))
      ends.store(true);
    return Status();
  }
  Status epoch(const EpochRow &row, int64_t) override {
    if (!options.on_epoch)
      return Status();
    std::vector<const char *> names;
    std::vector<double> values;
    for (const auto &[name, value] : row.values) {
      names.push_back(name.c_str());
      values.push_back(value);
    }
    dist_epoch_t epoch = {sizeof epoch, row.epoch,     int32_t(names.size()),
                          names.data(), values.data(), row.seconds};
    if (options.on_epoch(options.data, &epoch))
      ends.store(true);
    return Status();
  }
  void note(const std::string &text) override {
    session.session->log(LogLevel::Warning, text);
  }
  bool stops() override { return ends.load() || session.cancelled.load(); }

private:
  dist_session_t &session;
  const dist_fit_options_t &options;
  std::atomic<bool> ends{false};
};

Status toFitOptions(const dist_fit_options_t &given,
                    const manifest::Manifest &manifest, FitOptions *out) {
  if (given.epochs < 0 || given.steps < 0 || given.keep < 0 ||
      given.save_every < 0)
    return badArgument("a number of epochs, steps or states is negative");
  out->epochs = given.epochs;
  out->steps = given.steps;
  out->shuffle.reset();
  if (!given.keep_order)
    out->shuffle = given.seed;
  out->dropRemainder = given.drop_remainder;
  if (given.checkpoint && !*given.checkpoint)
    return badArgument("the folder of states has no name");
  if (given.checkpoint)
    out->checkpoint = given.checkpoint;
  if (given.keep)
    out->keep = given.keep;
  out->saveEvery = given.save_every;
  out->asyncSave = given.async_save;
  out->onNonfinite = onNonfiniteOf(manifest);
  return toFolderUse(numberOf(given.use), &out->folder.use);
}

} // namespace

Status dist::toDataset(const manifest::Entry &entry,
                       const dist_tensor_t *columns, int32_t numColumns,
                       std::unique_ptr<Dataset> *out) {
  std::vector<HostArray> arrays;
  for (int32_t i = 0; i < numColumns; ++i) {
    TensorView view;
    DIST_RETURN_IF_ERROR(toView(&columns[i], &view));
    if (view.shape.empty() || !view.data)
      return badArgument("a column needs data, with its examples along dim 0",
                         std::to_string(i));
    HostArray &array = arrays.emplace_back();
    array.type = view.type;
    array.shape = view.shape;
    array.data = static_cast<const char *>(view.data);
  }
  return Dataset::ofArrays(std::move(arrays), entry, out);
}

dist_status_t *
dist_session_fit(dist_session_t *session, const dist_tensor_t *columns,
                 int32_t num_columns, const dist_tensor_t *validation,
                 const dist_fit_options_t *options, int64_t *out_step) {
  return guarded([&]() -> Status {
    if (!session || num_columns < 0 || (num_columns > 0 && !columns))
      return badArgument("a session and data are needed");
    dist_fit_options_t given = DIST_FIT_OPTIONS_INIT;
    DIST_RETURN_IF_ERROR(takeStruct(options,
                                    offsetof(dist_fit_options_t, async_save),
                                    "dist_fit_options_t", &given));
    const manifest::Entry *entry = trainingEntry(*session->session);
    if (!entry)
      return badArgument("the package trains nothing",
                         session->session->manifest().model_name());
    FitOptions fitOptions;
    DIST_RETURN_IF_ERROR(
        toFitOptions(given, session->session->manifest(), &fitOptions));
    std::unique_ptr<Dataset> data, validationData;
    DIST_RETURN_IF_ERROR(toDataset(*entry, columns, num_columns, &data));
    if (validation)
      DIST_RETURN_IF_ERROR(
          toDataset(*entry, validation, num_columns, &validationData));
    CallScope scope(session);
    AppObserver observer(*session, given);
    FitOutcome outcome;
    Status status = fit(*session->session, *data, validationData.get(),
                        fitOptions, observer, &outcome);
    if (out_step)
      *out_step = outcome.step;
    // Between two entries, where nothing fails.
    if (status.ok() && outcome.stopped && session->cancelled)
      status = Status::error(StatusCode::Cancelled, "cancelled", entry->name());
    return status;
  });
}
