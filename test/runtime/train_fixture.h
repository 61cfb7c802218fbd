//===- train_fixture.h - Training of a fake session -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_TRAIN_FIXTURE_H
#define TEST_RUNTIME_TRAIN_FIXTURE_H

#include "test/runtime/folder_test.h"
#include "runtime/formats/npy.h"
#include "runtime/train/trainer.h"
#include "test/runtime/fake_session.h"
#include <cmath>

namespace dist {

struct Recorder : FitObserver {
  std::vector<StepRow> steps;
  std::vector<EpochRow> epochs;
  std::vector<std::string> notes;
  int64_t resumed = -1;
  int64_t stopAfter = INT64_MAX; // then killed
  int64_t endAfter = INT64_MAX;  // then asked to end
  Status begin(int64_t step, int64_t) override {
    resumed = step;
    return Status();
  }
  Status step(const StepRow &row) override {
    if (row.step > stopAfter)
      return Status::error(StatusCode::Unavailable, "killed");
    steps.push_back(row);
    return Status();
  }
  Status epoch(const EpochRow &row, int64_t) override {
    epochs.push_back(row);
    return Status();
  }
  void note(const std::string &text) override { notes.push_back(text); }
  bool stops() override { return int64_t(steps.size()) >= endAfter; }
};

struct TrainTest : FolderTest {
  std::unique_ptr<Dataset> data(Session &session, int64_t n,
                                bool withNan = false) {
    std::vector<float> x(n);
    std::vector<int64_t> y(n);
    for (int64_t i = 0; i < n; ++i) {
      x[i] = float(i % 7) - 3;
      y[i] = 3 * (i % 7) - 9;
    }
    if (withNan)
      x[n - 1] = NAN;
    std::string xs = folder / "x.npy", ys = folder / "y.npy";
    EXPECT_TRUE(writeNpy(xs, {manifest::F32, {n, 1}, x.data()}).ok());
    EXPECT_TRUE(writeNpy(ys, {manifest::I64, {n}, y.data()}).ok());
    DataOptions options;
    options.spec = "x=" + xs + ",y=" + ys;
    std::unique_ptr<Dataset> out;
    Status status = Dataset::open(options, *trainingEntry(session), &out);
    EXPECT_TRUE(status.ok()) << status.message();
    return out;
  }
  static std::vector<float> losses(const Recorder &recorder) {
    std::vector<float> all;
    for (const StepRow &row : recorder.steps)
      all.push_back(row.loss);
    return all;
  }
};

} // namespace dist

#endif // TEST_RUNTIME_TRAIN_FIXTURE_H
