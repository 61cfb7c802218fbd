//===- telemetry_test.cpp - What a run writes of itself -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/folder_test.h"
#include "runtime/core/event.pb.h"
#include "runtime/formats/crc32c.h"
#include "runtime/formats/file.h"
#include "runtime/telemetry/bar.h"
#include "runtime/telemetry/evaluation_history.h"
#include "runtime/telemetry/last_steps.h"
#include "runtime/telemetry/writers.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace dist;

namespace {

struct TelemetryTest : FolderTest {
  static std::string contents(const std::filesystem::path &path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static std::vector<events::Event> readEvents(const std::string &path) {
    std::string bytes = contents(path);
    std::vector<events::Event> read;
    for (size_t at = 0; at < bytes.size();) {
      uint64_t size;
      uint32_t crcs[2];
      std::memcpy(&size, &bytes[at], 8);
      std::memcpy(&crcs[0], &bytes[at + 8], 4);
      EXPECT_EQ(crcs[0], maskedCrc32c(&bytes[at], 8));
      std::memcpy(&crcs[1], &bytes[at + 12 + size], 4);
      EXPECT_EQ(crcs[1], maskedCrc32c(&bytes[at + 12], size));
      EXPECT_TRUE(
          read.emplace_back().ParseFromString(bytes.substr(at + 12, size)));
      at += 16 + size;
    }
    return read;
  }
  static StepRow step(int64_t number, float loss) {
    StepRow row;
    row.step = row.stepOfEpoch = number;
    row.stepsOfEpoch = 10;
    row.examples = 32;
    row.loss = loss;
    row.learningRate = 0.001f;
    row.seconds = 0.5;
    return row;
  }
};

TEST_F(TelemetryTest, RowsHaveAllTheirDigits) {
  float loss = 2.3025851f;
  auto json = nlohmann::json::parse(toJson(step(1, loss)));
  EXPECT_EQ(json["kind"], "step");
  EXPECT_EQ(float(json["loss"].get<double>()), loss);
  EXPECT_EQ(json["lr"].dump(), "0.001");
  EXPECT_TRUE(nlohmann::json::parse(toJson(step(1, NAN)))["loss"].is_null());
  EpochRow row;
  row.values = {{"loss", 0.1}, {"val_\"odd\"", 1.0 / 3}};
  json = nlohmann::json::parse(toJson(row));
  EXPECT_EQ(json["val_\"odd\""].get<double>(), 1.0 / 3);
  EXPECT_FALSE(json.contains("exposed_seconds"));
  row.exposedSeconds = 0.25;
  EXPECT_EQ(nlohmann::json::parse(toJson(row))["exposed_seconds"], 0.25);
}

TEST_F(TelemetryTest, EpochsTellWhatComputingDidNotHide) {
  EpochRow row;
  row.values = {{"loss", 0.5}};
  row.seconds = 2;
  EXPECT_EQ(epochLine(row, 3, 100),
            "epoch 1/3: loss 0.5000, 2.00 s, 50 examples/s");
  row.exposedSeconds = 0.25;
  EXPECT_EQ(epochLine(row, 3, 100),
            "epoch 1/3: loss 0.5000, 2.00 s, 50 "
            "examples/s, 12 % of the time in collectives");
}

TEST_F(TelemetryTest, AnEvaluationHistoryGoesOn) {
  const std::string path = folder / "e.jsonl";
  EvaluationRow row;
  row.step = 45;
  row.run = "4f2a";
  row.runEpoch = 2;
  row.examples = 360;
  row.values = {{"loss", 1.0 / 3}, {"accuracy", NAN}};
  std::vector<EvaluationRow> known;
  std::string note;
  {
    EvaluationHistory history;
    ASSERT_TRUE(history.open(path, &known, &note).ok());
    EXPECT_TRUE(known.empty());
    ASSERT_TRUE(history.add(row).ok());
  }
  auto json = nlohmann::json::parse(contents(path));
  EXPECT_EQ(json["kind"], "evaluation");
  EXPECT_EQ(json["loss"].get<double>(), 1.0 / 3);
  EXPECT_TRUE(json["accuracy"].is_null());
  std::ofstream(path, std::ios::app) << "{\"kind\":\"eval"; // of a full disk
  {
    EvaluationHistory history;
    ASSERT_TRUE(history.open(path, &known, &note).ok());
    ASSERT_EQ(known.size(), 1u);
    EXPECT_EQ(known[0].step, 45);
    EXPECT_EQ(known[0].run, "4f2a");
    EXPECT_EQ(known[0].runEpoch, 2);
    row.step = 90;
    ASSERT_TRUE(history.add(row).ok());
  }
  known.clear();
  ASSERT_TRUE(EvaluationHistory().open(path, &known, &note).ok());
  ASSERT_EQ(known.size(), 2u);
  EXPECT_EQ(known[1].step, 90);
  EXPECT_EQ(note, "");
}

// Two would evaluate the same states: the second one hears who the first is.
TEST_F(TelemetryTest, AnEvaluationHistoryIsOneProcesss) {
  const std::string path = folder / "e.jsonl";
  std::vector<EvaluationRow> known;
  std::string note;
  // What one that was killed has left is no lock.
  std::ofstream(path + ".lock") << "process 1 on another host, a long time ago";
  {
    EvaluationHistory history, other;
    ASSERT_TRUE(history.open(path, &known, &note).ok());
    Status status = other.open(path, &known, &note);
    EXPECT_EQ(status.code(), StatusCode::Unavailable);
    EXPECT_EQ(status.message().find("another evaluator writes this history (" +
                                    path + "): process " +
                                    std::to_string(getpid()) + " on "),
              0u)
        << status.message();
    EXPECT_EQ(status.message().find("ago"), std::string::npos);
  }
  EXPECT_FALSE(std::filesystem::exists(path + ".lock"));
  EvaluationHistory next;
  EXPECT_TRUE(next.open(path, &known, &note).ok());
  EXPECT_EQ(note, "");
  EXPECT_TRUE(EvaluationHistory().open("/dev/null", &known, &note).ok());
  EXPECT_TRUE(EvaluationHistory().open("/dev/null", &known, &note).ok());
  // Without a folder there is none.
  Status status =
      EvaluationHistory().open(folder / "none/e.jsonl", &known, &note);
  EXPECT_NE(status.message().find("none/e.jsonl.lock"), std::string::npos)
      << status.message();
}

// What is not ours is left as it is.
TEST_F(TelemetryTest, AnEvaluationHistoryIsAFileOfItsOwn) {
  const std::string path = folder / "h.jsonl";
  for (const std::string &text :
       {toJson(step(1, 2)) + "\n", std::string("a line without an end"),
        std::string("{\"kind\":\"evaluation\",\"step\":1}\n")}) {
    std::ofstream(path, std::ios::trunc) << text;
    std::vector<EvaluationRow> known;
    std::string note;
    Status status = EvaluationHistory().open(path, &known, &note);
    EXPECT_EQ(status.code(), StatusCode::InvalidInput) << text;
    EXPECT_NE(status.message().find("give a file of its own"),
              std::string::npos);
    EXPECT_EQ(contents(path), text);
  }
}

TEST_F(TelemetryTest, HistoryOfAResumedRunDropsLaterLines) {
  std::string path = folder / "h.jsonl";
  {
    HistoryFile history;
    ASSERT_TRUE(history.open(path, 0).ok());
    for (int i = 1; i <= 5; ++i)
      ASSERT_TRUE(history.add(step(i, float(i))).ok());
  }
  std::ofstream(path, std::ios::app) << "{\"kind\":\"st"; // A kill's rest.
  HistoryFile history;
  ASSERT_TRUE(history.open(path, 3).ok());
  ASSERT_TRUE(history.add(step(4, 40)).ok());
  std::istringstream lines(contents(path));
  std::string line;
  std::vector<double> losses;
  while (std::getline(lines, line))
    losses.push_back(nlohmann::json::parse(line)["loss"]);
  EXPECT_EQ(losses, (std::vector<double>{1, 2, 3, 40}));
  HistoryFile nowhere;
  EXPECT_EQ(nowhere.open("/nonexistent/h.jsonl", 0).code(),
            StatusCode::Unavailable);
}

TEST_F(TelemetryTest, EventFilesAreTensorBoards) {
  // The check value of CRC-32C, masked as TensorFlow does.
  uint32_t crc = 0xe3069283;
  EXPECT_EQ(maskedCrc32c("123456789", 9), (crc >> 15 | crc << 17) + 0xa282ead8);
  {
    EventFile events;
    ASSERT_TRUE(events.open(folder / "tb").ok());
    ASSERT_TRUE(events.add(7, {{"loss", 0.5}}).ok());
  }
  const auto item = *std::filesystem::directory_iterator(folder / "tb");
  const std::vector<events::Event> read = readEvents(item.path());
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].file_version(), "brain.Event:2");
  EXPECT_EQ(read[1].step(), 7);
  EXPECT_EQ(read[1].summary().value(0).tag(), "loss");
  EXPECT_EQ(read[1].summary().value(0).simple_value(), 0.5f);

  // A run that goes on from step 4, perhaps within the same second: readers
  // forget the steps that come again.
  EventFile more;
  ASSERT_TRUE(more.open(folder / "tb", 4).ok());
  std::vector<std::filesystem::path> files;
  for (const auto &other : std::filesystem::directory_iterator(folder / "tb"))
    if (other.path() != item.path())
      files.push_back(other.path());
  ASSERT_EQ(files.size(), 1u);
  EXPECT_GT(files[0], item.path()); // in whose order they are read
  EXPECT_EQ(readEvents(item.path()).size(), 2u);
  const std::vector<events::Event> resumed = readEvents(files[0]);
  ASSERT_EQ(resumed.size(), 2u);
  EXPECT_EQ(resumed[1].step(), 5);
  EXPECT_EQ(resumed[1].session_log().status(), events::SessionLog::START);
}

// Ticks between large values that differ by little would round to one another.
TEST_F(TelemetryTest, PlotsOfLargeValuesEnd) {
  for (double first : {1e16, -3e38, 1e300, 0.0}) {
    std::vector<EpochRow> rows(3);
    for (int i = 0; i < 3; ++i) {
      rows[i].epoch = i + 1;
      rows[i].values = {{"loss", std::nextafter(first, INFINITY)},
                        {"flat", first},
                        {"nan", i == 1 ? NAN : first}};
      first = std::nextafter(first, INFINITY);
    }
    std::string svg = plotSvg({}, rows, "large");
    EXPECT_LT(svg.size(), 20000u);
    EXPECT_EQ(svg.find("\"nan"), std::string::npos);
    EXPECT_EQ(svg.find("nan,"), std::string::npos);
  }
}

TEST_F(TelemetryTest, PlotsHoldEveryCurve) {
  std::vector<StepRow> steps;
  for (int i = 1; i <= 5000; ++i)
    steps.push_back(step(i, 1.f / float(i)));
  steps.push_back(step(5001, NAN));
  EpochRow row;
  row.values = {{"loss", 1}, {"val_loss", 2}, {"a<b", 0.5}};
  std::string svg = plotSvg(steps, {row}, "model");
  EXPECT_LT(svg.size(), 100000u);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_NE(svg.find(">val_loss<"), std::string::npos);
  EXPECT_NE(svg.find("a&lt;b by epoch"), std::string::npos);
  EXPECT_NE(plotSvg({}, {}, "none").find("</svg>"), std::string::npos);
}

TEST_F(TelemetryTest, TracesAreJson) {
  std::vector<TraceEvent> events = {{0, "conv\"1", "kernel", 1.5, 3},
                                    {1, "all_reduce", "collective", 3, 4}};
  auto json = nlohmann::json::parse(traceJson(events));
  EXPECT_EQ(json["traceEvents"].size(), 4u);
  EXPECT_EQ(json["traceEvents"][0]["dur"].get<double>(), 1.5);
  EXPECT_EQ(json["traceEvents"][0]["name"], "conv\"1");
}

TEST_F(TelemetryTest, TracesAreOfEachRanksLastSteps) {
  // Steps of a launch come all at once, what runs beside them behind.
  auto launch = [](int first, int count) {
    std::vector<TraceEvent> events;
    for (int rank : {0, 1}) {
      for (int step = first; step < first + count; ++step) {
        const double at = step;
        events.push_back({rank, "train_step", "step", at, at + 0.9});
        events.push_back({rank, "kernel", "kernel", at + 0.1, at + 0.5});
      }
      for (int step = first; step < first + count; ++step)
        events.push_back({rank, "op 1", "started", step + 0.2, step + 0.3});
    }
    return events;
  };
  for (int size : {1, 5, 40, 41}) {
    LastSteps last;
    EXPECT_TRUE(last.empty());
    for (int done = 0; done < 80; done += size) {
      last.add(launch(done, std::min(size, 80 - done)));
      for (int row = 1; row < size; ++row)
        last.add({}); // the launch's other rows
    }
    EXPECT_FALSE(last.empty());
    EXPECT_EQ(last.get().size(), 2 * 16 * 3u) << size;
    for (const TraceEvent &event : last.get())
      EXPECT_GE(event.begin, 64) << size;
  }
  LastSteps few;
  few.add(launch(0, 3));
  EXPECT_EQ(few.get().size(), 2 * 3 * 3u);
}

TEST_F(TelemetryTest, TheBarFitsItsTerminal) {
  Bar bar(60, 3);
  std::string line = bar.step(step(1, 2.5f), 10);
  EXPECT_NE(line.find("epoch 1/3"), std::string::npos);
  EXPECT_NE(line.find("loss 2.5000"), std::string::npos);
  EXPECT_NE(line.find("ETA"), std::string::npos);
  EXPECT_LT(line.size(), 60u);
  EXPECT_EQ(bar.step(step(2, 2.5f), 10.01), "");  // Too soon.
  EXPECT_NE(bar.step(step(10, 2.5f), 10.02), ""); // The last one always.
}

} // namespace
