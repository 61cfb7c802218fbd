//===- watch_test.cpp - Epochs that get better and do not -----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/train/watch.h"
#include "runtime/checkpoint/state.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace dist;

namespace {

/// The epoch after which a run with these values ends; 0: none.
int64_t endOf(EarlyStopping stopping, std::vector<double> values,
              WatchState *state = nullptr) {
  WatchState own;
  WatchState &counted = state ? *state : own;
  for (size_t i = 0; i < values.size(); ++i) {
    observe(stopping, int64_t(i) + 1, values[i], &counted);
    if (isExhausted(stopping, counted))
      return int64_t(i) + 1;
  }
  return 0;
}

EarlyStopping stopping(const char *metric, int64_t patience,
                       double minDelta = 0) {
  EarlyStopping options;
  options.metric = metric;
  options.patience = patience;
  options.minDelta = minDelta;
  return options;
}

TEST(EarlyStoppingTest, CountsEpochsWithoutImprovement) {
  std::vector<double> losses = {3, 2, 2.5, 2, 1.5, 1.6, 1.7, 1.8};
  EXPECT_EQ(endOf(stopping("loss", 0), losses), 3);
  EXPECT_EQ(endOf(stopping("loss", 1), losses), 3);
  EXPECT_EQ(endOf(stopping("loss", 2), losses), 4); // equal is not better
  WatchState state;
  EXPECT_EQ(endOf(stopping("val_loss", 3), losses, &state), 8);
  EXPECT_EQ(state.best, 1.5);
  EXPECT_EQ(state.bestEpoch, 5);
  EXPECT_EQ(endOf(stopping("loss", 4), losses), 0);
  // The same numbers as an accuracy: the first is the best.
  EXPECT_EQ(endOf(stopping("val_accuracy", 3), losses), 4);
  EXPECT_EQ(endOf(stopping("auc", 1), {0.5, 0.6, 0.7}), 0);
}

TEST(EarlyStoppingTest, SmallStepsDoNotCount) {
  // What counts is the distance to the best, not to the one before.
  EXPECT_EQ(endOf(stopping("loss", 2, 0.25), {1, 0.9, 0.8}), 3);
  EXPECT_EQ(endOf(stopping("loss", 2, 0.25), {1, 0.75, 0.5}), 0);
  EXPECT_EQ(endOf(stopping("loss", 2, 0.25), {1, 0.9, 0.7, 0.6, 0.4}), 0);
  EXPECT_EQ(endOf(stopping("accuracy", 2, 0.25), {0.1, 0.2, 0.3}), 3);
}

TEST(EarlyStoppingTest, ComparesAsF32) {
  // 0.2f - 0.1 is above 0.1f in f64 only.
  EXPECT_EQ(endOf(stopping("accuracy", 1, 0.1), {0.1f, 0.2f}), 2);
}

TEST(EarlyStoppingTest, WhatIsNotFiniteIsNoImprovement) {
  EXPECT_EQ(endOf(stopping("loss", 2), {NAN, NAN, 1}), 2);
  WatchState state;
  EXPECT_EQ(endOf(stopping("loss", 3), {NAN, -INFINITY, 5, NAN, 4}, &state), 0);
  EXPECT_EQ(state.best, 4);
  state = WatchState();
  EXPECT_EQ(endOf(stopping("accuracy", 3), {INFINITY, NAN}, &state), 0);
  EXPECT_FALSE(state.best);
}

TEST(EarlyStoppingTest, IsOffWithoutAMetric) {
  WatchState state;
  state.waited = 100;
  EXPECT_FALSE(isExhausted(EarlyStopping(), state));
}

/// The learning rates after each of the epochs.
std::vector<double> ratesOf(const ReduceOnPlateau &plateau,
                            std::vector<double> values) {
  WatchState state;
  double rate = 1;
  std::vector<double> rates;
  for (size_t i = 0; i < values.size(); ++i) {
    observe(plateau, int64_t(i) + 1, values[i], &rate, &state);
    rates.push_back(rate);
  }
  return rates;
}

TEST(ReduceOnPlateauTest, LowersTheRateWhereNothingGetsBetter) {
  ReduceOnPlateau plateau;
  plateau.metric = "loss";
  plateau.factor = 0.5;
  plateau.patience = 2;
  using Rates = std::vector<double>;
  EXPECT_EQ(ratesOf(plateau, {3, 2, 2, 2, 2, 2, 1}),
            (Rates{1, 1, 1, 0.5, 0.5, 0.25, 0.25}));
  // By default 1e-4 is too little.
  EXPECT_EQ(ratesOf(plateau, {3, 2.99999, 2.99998}), (Rates{1, 1, 0.5}));
  EXPECT_EQ(ratesOf(plateau, {NAN, NAN, NAN, NAN}), (Rates{1, 0.5, 0.5, 0.25}));
  // Epochs of the cooldown are not counted; the last of them is.
  plateau.cooldown = 2;
  EXPECT_EQ(ratesOf(plateau, {3, 3, 3, 3, 3, 3, 3}),
            (Rates{1, 1, 0.5, 0.5, 0.5, 0.25, 0.25}));
  plateau.cooldown = 0;
  plateau.minRate = 0.3;
  EXPECT_EQ(ratesOf(plateau, {3, 3, 3, 3, 3, 3, 3}),
            (Rates{1, 1, 0.5, 0.5, 0.3, 0.3, 0.3}));
}

TEST(IsLargerBetter, LooksAtTheLastWord) {
  EXPECT_EQ(isLargerBetter("loss"), false);
  EXPECT_EQ(isLargerBetter("val_loss"), false);
  EXPECT_EQ(isLargerBetter("val_top-k:k=3"), true);
  EXPECT_EQ(isLargerBetter("val_my_head_mse"), false);
  EXPECT_EQ(isLargerBetter("head_auc:thresholds=10"), true);
  EXPECT_FALSE(isLargerBetter("perplexity").has_value());
}

} // namespace
