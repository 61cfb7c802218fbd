//===- product.cpp - Random products, by plain loops ----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/sweep/problem.h"

namespace dist::sweep {

static int64_t randomSize(Random &random) {
  return random.oneIn(4) ? random.between(1, 300) : random.between(1, 70);
}

std::function<void()> makeProduct(Problem *problem, Random &random,
                                  DataType type, Numbers numbers) {
  Spec &spec = problem->spec;
  Dims batch;
  int numBatch = random.oneIn(2) ? 0 : int(random.between(1, 2));
  for (int i = 0; i < numBatch; ++i)
    batch.push_back(random.between(1, 4));
  int64_t count = 1;
  for (int64_t size : batch)
    count *= size;
  // Tile registers multiply large ones, and those without a bias by our own
  // code, which also reads and writes f32.
  bool large = type == manifest::BF16 && random.oneIn(3);
  bool tiles = large && !random.oneIn(4);
  int64_t rows, columns, depth;
  do {
    rows = large ? random.between(16, 200) : randomSize(random);
    columns = large ? random.between(32, 300) : randomSize(random);
    depth = large ? random.between(32, 600) : randomSize(random);
  } while (count * rows * columns * depth > (large ? 4000000 : 400000));
  spec.set_bias(!tiles && random.oneIn(3));
  spec.set_relu(!tiles && random.oneIn(4));
  bool pack = !tiles && numBatch == 0 && random.oneIn(3);
  DataType types[] = {type, tiles && random.oneIn(3) ? manifest::F32 : type,
                      tiles && random.oneIn(3) ? manifest::F32 : type};
  auto matrix = [&](int64_t m, int64_t n) {
    Dims dims = batch;
    dims.push_back(m);
    dims.push_back(n);
    return dims;
  };
  std::vector<Dims> sizes = {matrix(rows, depth), matrix(depth, columns),
                             matrix(rows, columns)};
  std::string turned;
  for (int i = 0; i < 3; ++i) {
    if (i == 2 && spec.bias()) {
      Dims dims(numBatch + 1, 1), strides(numBatch + 1, columns);
      dims.push_back(columns);
      strides.push_back(1);
      addMemory(&spec, dims, type, strides);
      problem->strides.push_back(strides);
    }
    Dims order;
    for (int d = 0; d < numBatch + 2; ++d)
      order.push_back(d);
    if (i < 2 && random.oneIn(2)) {
      std::swap(order[numBatch], order[numBatch + 1]);
      turned += i == 0 ? " left turned" : " right turned";
    }
    // Heads between rows and columns.
    if (numBatch && random.oneIn(3)) {
      std::rotate(order.begin() + numBatch - 1, order.begin() + numBatch,
                  order.begin() + numBatch + 1);
      turned += " side " + std::to_string(i) + " by heads";
    }
    Dims strides = stridesIn(order, sizes[i]);
    problem->strides.push_back(strides);
    addMemory(&spec, sizes[i], types[i], i == 1 && pack ? Dims() : strides);
    if (types[i] != type)
      turned += " side " + std::to_string(i) + " of f32";
  }
  DataType resultType = types[2];
  problem->what += " " + text(sizes[0]) + " by " + text(sizes[1]) + turned +
                   (pack ? " right packed" : "");
  return [=, &random] {
    problem->inputs.emplace_back(sizes[0], type);
    problem->inputs.emplace_back(sizes[1], type);
    if (problem->spec.bias())
      problem->inputs.emplace_back(
          Dims(problem->spec.memories(2).dims().begin(),
               problem->spec.memories(2).dims().end()),
          type);
    for (size_t i = 0; i < problem->inputs.size(); ++i)
      fill(&problem->inputs[i], int(i), random, numbers);
    // Numbers that bf16 has.
    problem->inputs[1].type = problem->spec.memories(1).type();
    std::vector<Sum> sums(count * rows * columns);
    for (int64_t n = 0; n < count; ++n)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t k = 0; k < depth; ++k)
          for (int64_t j = 0; j < columns; ++j)
            sums[(n * rows + i) * columns + j].add(
                problem->inputs[0].numbers[(n * rows + i) * depth + k],
                problem->inputs[1].numbers[(n * depth + k) * columns + j]);
    finish(problem, sizes[2], resultType, sums,
           problem->spec.bias() ? &problem->inputs[2].numbers : nullptr, 1,
           numbers);
  };
}

} // namespace dist::sweep
