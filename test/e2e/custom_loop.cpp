//===- custom_loop.cpp - The two halves of a step against the whole -------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// custom-loop PACKAGE STEPS: trains with `train_step` in one session, with
// `gradients` and `apply` in another, on the same random data, and compares
// what they tell and all that they leave behind.
//
//===----------------------------------------------------------------------===//
#include "dist/session.hpp"
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

using namespace dist::api;

namespace {

/// Tensors of the entry's inputs: floats, and classes for labels.
class Data {
public:
  explicit Data(const Session &session) {
    for (const dist_binding_t &input : session.inputs("train_step")) {
      std::vector<int64_t> dims(input.dims, input.dims + input.num_dims);
      TensorView shape(input.type, dims, nullptr);
      bytes.emplace_back(size_t(shape.elements()) *
                         dist_data_type_size(input.type));
      views.emplace_back(input.type, dims, bytes.back().data());
    }
  }
  void draw() {
    for (size_t i = 0; i < views.size(); ++i)
      for (int64_t k = 0; k < views[i].elements(); ++k)
        if (views[i].type() == DIST_DATA_TYPE_F32)
          reinterpret_cast<float *>(bytes[i].data())[k] = uniform(random);
        else
          reinterpret_cast<int32_t *>(bytes[i].data())[k] = random() % 10;
  }
  std::vector<TensorView> views;

private:
  std::vector<std::vector<char>> bytes;
  std::mt19937 random{1};
  std::uniform_real_distribution<float> uniform;
};

std::vector<char> readBytes(Session &session, int32_t index,
                            const dist_variable_t &variable) {
  dist_tensor_t shape = {variable.type, variable.num_dims, variable.dims,
                         nullptr};
  std::vector<char> bytes(dist_tensor_bytes(&shape));
  check(dist_session_read_variable(session.get(), index, bytes.data(),
                                   bytes.size()));
  return bytes;
}

/// The largest difference over the largest magnitude; of integers whether there
/// is one.
double compare(const dist_variable_t &variable, const std::vector<char> &one,
               const std::vector<char> &two) {
  if (one == two)
    return 0;
  if (variable.type != DIST_DATA_TYPE_F32)
    return 1;
  double largest = 0, difference = 0;
  for (size_t i = 0; i + 4 <= one.size(); i += 4) {
    float a, b;
    std::memcpy(&a, &one[i], 4);
    std::memcpy(&b, &two[i], 4);
    largest = std::fmax(largest, std::fabs(a));
    difference = std::fmax(difference, std::fabs(a - b));
  }
  return difference / std::fmax(largest, 1e-30);
}

} // namespace

int main(int argc, char **argv) try {
  if (argc != 3)
    return 2;
  Session whole(argv[1]), halves(argv[1]);
  Data data(whole);
  double worst = 0;
  for (int step = 0; step < std::atoi(argv[2]); ++step) {
    data.draw();
    double loss = whole.trainStep(data.views);
    Gradients gradients = halves.gradients(data.views);
    halves.apply(gradients.variables);
    worst = std::fmax(worst, std::fabs(loss - gradients.loss));
  }
  std::string where = "the loss";
  std::vector<dist_variable_t> variables = whole.variables();
  for (size_t i = 0; i < variables.size(); ++i) {
    double difference =
        compare(variables[i], readBytes(whole, int32_t(i), variables[i]),
                readBytes(halves, int32_t(i), variables[i]));
    if (difference > worst)
      where = variables[i].name;
    worst = std::fmax(worst, difference);
  }
  std::printf("%zu variables", variables.size());
  if (worst == 0)
    std::printf(" and the losses have the same bits\n");
  else
    std::printf(", largest difference %.1e (%s)\n", worst, where.c_str());
  return worst <= 1e-5 ? 0 : 1;
} catch (const std::exception &error) {
  std::fprintf(stderr, "custom-loop: error: %s\n", error.what());
  return 1;
}
