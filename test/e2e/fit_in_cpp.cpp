//===- fit_in_cpp.cpp - The usual training loop through the C++ header ----===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// fit-in-cpp PACKAGE IMAGES LABELS STEPS: as fit-in-c without states, but that
// the step after STEPS throws.
//
//===----------------------------------------------------------------------===//
#include <cstdio>
#include <cstdlib>
#include <dist/fit.hpp>
#include <fstream>
#include <iterator>

using namespace dist::api;

/// The bytes behind an IDX file's header.
static std::vector<unsigned char> readIdx(const char *path, size_t header) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  return {bytes.begin() + header, bytes.end()};
}

int main(int argc, char **argv) {
  if (argc != 5)
    return 2;
  Session session(argv[1]);
  std::vector<float> images;
  for (unsigned char pixel : readIdx(argv[2], 16))
    images.push_back(float(pixel) / 16);
  std::vector<int32_t> labels;
  for (unsigned char label : readIdx(argv[3], 8))
    labels.push_back(label);
  int64_t count = int64_t(labels.size()), last = std::atol(argv[4]);
  std::vector<TensorView> columns = {view(images.data(), {count, 64}),
                                     view(labels.data(), {count})};
  FitOptions options;
  options.epochs = 2;
  options.keepOrder = true;
  options.validation = columns;
  options.onStep = [&](const dist_step_t &step) {
    if (step.step > last)
      throw std::runtime_error("enough");
    std::printf("{\"kind\":\"step\",\"epoch\":%lld,\"step\":%lld,"
                "\"examples\":%lld,\"loss\":%.9g,\"lr\":%.9g}\n",
                (long long)step.epoch, (long long)step.step,
                (long long)step.examples, step.loss, step.learning_rate);
    return false;
  };
  options.onEpoch = [](const Epoch &epoch) {
    std::printf("{\"kind\":\"epoch\",\"epoch\":%lld", (long long)epoch.number);
    for (auto &[name, value] : epoch.values)
      std::printf(",\"%s\":%.9g", name.c_str(), value);
    std::printf("}\n");
    return false;
  };
  try {
    int64_t steps = fit(session, columns, options);
    std::fprintf(stderr, "%lld steps are done\n", (long long)steps);
  } catch (const std::runtime_error &error) {
    std::fprintf(stderr, "thrown: %s\n", error.what());
  }
  options.validation.pop_back();
  try {
    fit(session, columns, options);
  } catch (const Error &error) {
    std::fprintf(stderr, "refused: %s\n", error.what());
  }
  // Between two steps, after which the session goes on.
  options.validation.clear();
  options.onStep = [&](const dist_step_t &step) {
    if (step.step == 2)
      session.cancel();
    return step.step == 5;
  };
  options.onEpoch = nullptr;
  for (int times = 0; times < 2; ++times)
    try {
      session.cancel(); // nothing runs
      fit(session, columns, options);
    } catch (const Error &error) {
      std::fprintf(stderr, "status %d: %s\n", int(error.code()), error.what());
    }
  return 0;
}
