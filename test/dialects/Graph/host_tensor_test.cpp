//===- host_tensor_test.cpp - Elements as numbers and integers ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Interfaces/HostTensor.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::dist;

// As graph.convert does it: whoever reads a float as an integer gets the same.
TEST(HostTensor, FloatsAsIntegersSaturate) {
  MLIRContext context;
  HostTensor tensor(RankedTensorType::get({6}, Float64Type::get(&context)));
  double values[] = {NAN, INFINITY, -INFINITY, 1e300, -3.9, 4e18};
  int64_t wanted[] = {0,         INT64_MAX, INT64_MIN,
                      INT64_MAX, -3,        4000000000000000000};
  for (int i = 0; i < 6; ++i) {
    tensor.setDouble(i, values[i]);
    EXPECT_EQ(tensor.getInt(i), wanted[i]) << values[i];
  }
}
