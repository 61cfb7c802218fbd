//===- blocked_loops_test.cpp - The evaluator against plain loops ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Contractions and pools of random shapes as the evaluator computes them, in
// blocks, and element by element as the ops are defined.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Interfaces/Reference.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace mlir;
using namespace mlir::dist;
using Index = SmallVector<int64_t>;

namespace {

std::mt19937 generator(11);
int64_t pick(int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(generator);
}

std::string list(ArrayRef<int64_t> values) {
  std::string text = "array<i64";
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? ", " : ": ") + std::to_string(values[i]);
  return text + ">";
}
std::string tensor(ArrayRef<int64_t> shape, const std::string &type = "f64") {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + type + ">";
}

class BlockedLoops : public ::testing::Test {
protected:
  BlockedLoops() {
    context.loadDialect<graph::GraphDialect, func::FuncDialect>();
  }

  HostTensor make(const std::string &type) {
    HostTensor value(cast<RankedTensorType>(parseType(type, &context)));
    std::uniform_real_distribution<double> real(-1, 1);
    for (int64_t i = 0; i < value.getNumElements(); ++i)
      if (value.isFloat())
        value.setDouble(i, real(generator));
      else
        value.setInt(i, int64_t(uint64_t(generator()) * generator()));
    return value;
  }

  /// The results of an op of operands %0, %1, ...
  SmallVector<HostTensor> evaluate(const std::string &op,
                                   ArrayRef<HostTensor> operands) {
    std::string text = "func.func @f(";
    for (auto [i, operand] : llvm::enumerate(operands)) {
      llvm::raw_string_ostream os(text);
      os << (i ? ", %" : "%") << "a" << i << ": " << operand.getType();
    }
    text += ") {\n" + op + "\nreturn\n}";
    module = parseSourceString<ModuleOp>(text, &context);
    SmallVector<HostTensor> results;
    if (!module) {
      ADD_FAILURE() << text;
      return results;
    }
    module->walk([&](ReferenceOpInterface one) {
      EXPECT_TRUE(succeeded(one.evaluate(operands, results))) << op;
    });
    return results;
  }

  void expectEqual(const HostTensor &expected, const HostTensor &actual,
                   const std::string &what) {
    ASSERT_EQ(expected.getType(), actual.getType()) << what;
    for (int64_t i = 0; i < expected.getNumElements(); ++i) {
      double x = expected.getDouble(i), y = actual.getDouble(i);
      ASSERT_TRUE(x == y || (std::isnan(x) && std::isnan(y)) ||
                  std::abs(x - y) <= 1e-11 * std::max(1.0, std::abs(x)))
          << what << ": element " << i << " is " << y << ", not " << x;
    }
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(BlockedLoops, DotGeneral) {
  for (int round = 0; round < 60; ++round) {
    // Dims of lhs, rhs and result by kind, then each operand's shuffled.
    struct Dim {
      char kind; // b, f, c
      int64_t size, pair;
    };
    auto make = [&](const char *kinds, ArrayRef<int64_t> batch,
                    ArrayRef<int64_t> contract, int64_t free) {
      std::vector<Dim> dims;
      for (auto [i, size] : llvm::enumerate(batch))
        dims.push_back({'b', size, int64_t(i)});
      for (auto [i, size] : llvm::enumerate(contract))
        dims.push_back({'c', size, int64_t(i)});
      for (int64_t i = 0; i < free; ++i)
        dims.push_back({'f', pick(1, 20), i});
      std::shuffle(dims.begin(), dims.end(), generator);
      return dims;
    };
    Index batch, contract;
    for (int64_t i = pick(0, 2); i > 0; --i)
      batch.push_back(pick(1, 3));
    for (int64_t i = pick(0, 2); i > 0; --i)
      contract.push_back(round % 10 ? pick(1, 30) : pick(200, 300));
    auto lhs = make("lhs", batch, contract, pick(0, 2));
    auto rhs = make("rhs", batch, contract, pick(0, 2));
    auto shapeOf = [](ArrayRef<Dim> dims) {
      return Index(llvm::map_range(dims, [](Dim dim) { return dim.size; }));
    };
    auto placesOf = [](ArrayRef<Dim> dims, char kind, int64_t count) {
      Index places(count);
      for (auto [i, dim] : llvm::enumerate(dims))
        if (dim.kind == kind)
          places[dim.pair] = i;
      return places;
    };
    bool isFloat = round % 4 != 3;
    std::string type = isFloat ? "f64" : round % 8 == 3 ? "i64" : "ui8";
    Index shape(batch);
    for (const auto *dims : {&lhs, &rhs})
      for (Dim dim : *dims)
        if (dim.kind == 'f')
          shape.push_back(dim.size);
    std::string lhsType = tensor(shapeOf(lhs), type);
    std::string rhsType = tensor(shapeOf(rhs), type);
    std::string op =
        "%0 = graph.dot_general %a0, %a1 {lhs_batch = " +
        list(placesOf(lhs, 'b', batch.size())) +
        ", rhs_batch = " + list(placesOf(rhs, 'b', batch.size())) +
        ", lhs_contract = " + list(placesOf(lhs, 'c', contract.size())) +
        ", rhs_contract = " + list(placesOf(rhs, 'c', contract.size())) +
        "} : (" + lhsType + ", " + rhsType + ") -> " + tensor(shape, type);
    HostTensor a = this->make(lhsType), b = this->make(rhsType);
    auto results = evaluate(op, {a, b});
    ASSERT_EQ(results.size(), 1u);
    HostTensor expected(results[0].getType());
    int64_t out = 0;
    forEachIndex(shape, [&](ArrayRef<int64_t> index) {
      double sum = 0;
      uint64_t whole = 0;
      forEachIndex(contract, [&](ArrayRef<int64_t> term) {
        size_t next = batch.size();
        auto locate = [&](ArrayRef<Dim> dims) {
          Index place;
          for (Dim dim : dims)
            place.push_back(dim.kind == 'b'   ? index[dim.pair]
                            : dim.kind == 'c' ? term[dim.pair]
                                              : index[next++]);
          return place;
        };
        int64_t i = a.linearize(locate(lhs)), j = b.linearize(locate(rhs));
        sum += a.getDouble(i) * b.getDouble(j);
        whole += uint64_t(a.getInt(i)) * uint64_t(b.getInt(j));
      });
      if (isFloat)
        expected.setDouble(out++, sum);
      else
        expected.setInt(out++, int64_t(whole));
    });
    expectEqual(expected, results[0], op);
  }
}

/// A layout's letters in a random order.
std::string shuffled(std::string letters) {
  std::shuffle(letters.begin(), letters.end(), generator);
  return letters;
}

TEST_F(BlockedLoops, Convolutions) {
  for (int round = 0; round < 60; ++round) {
    int64_t spatial = pick(1, 3), groups = round % 3 ? 1 : pick(1, 4);
    int64_t batch = pick(1, 3), ins = pick(1, 9), outs = pick(1, 9);
    Index in, filter, out, strides, dilations, low, high;
    for (int64_t d = 0; d < spatial; ++d) {
      filter.push_back(pick(1, 4));
      strides.push_back(pick(1, 3));
      dilations.push_back(pick(1, 2));
      low.push_back(pick(0, 4));
      high.push_back(pick(0, 4));
      int64_t extent = (filter[d] - 1) * dilations[d] + 1;
      in.push_back(pick(1, spatial == 1 ? 40 : 9));
      high[d] += std::max<int64_t>(0, extent - in[d] - low[d] - high[d]);
      out.push_back((in[d] + low[d] + high[d] - extent) / strides[d] + 1);
    }
    std::string letters = std::string("012").substr(0, spatial);
    std::string inLayout = shuffled("NC" + letters),
                filterLayout = shuffled("OI" + letters),
                outLayout = shuffled("NC" + letters);
    // The shape, or the index, in a layout.
    auto arrange = [&](const std::string &layout, int64_t major, int64_t minor,
                       ArrayRef<int64_t> places) {
      Index index;
      for (char letter : layout)
        index.push_back(letter == 'N' || letter == 'O' ? major
                        : letter == 'C' || letter == 'I'
                            ? minor
                            : places[letter - '0']);
      return index;
    };
    std::string x = tensor(arrange(inLayout, batch, ins * groups, in));
    std::string w = tensor(arrange(filterLayout, outs * groups, ins, filter));
    std::string y = tensor(arrange(outLayout, batch, outs * groups, out));
    std::string attributes =
        " %a0, %a1 {strides = " + list(strides) + ", pad_low = " + list(low) +
        ", pad_high = " + list(high) + ", dilations = " + list(dilations) +
        ", groups = " + std::to_string(groups) + " : i64, input_layout = \"" +
        inLayout + "\", filter_layout = \"" + filterLayout +
        "\", output_layout = \"" + outLayout + "\"} : ";
    HostTensor input = make(x), weights = make(w), grad = make(y);
    // What meets padding alone, infinity or not, takes no part.
    if (round % 5 == 0)
      weights.setDouble(0, std::numeric_limits<double>::infinity());
    auto forward = evaluate("%0 = graph.conv" + attributes + "(" + x + ", " +
                                w + ") -> " + y,
                            {input, weights});
    auto inputGrad = evaluate("%0 = graph.conv_input_grad" + attributes + "(" +
                                  y + ", " + w + ") -> " + x,
                              {grad, weights});
    auto filterGrad = evaluate("%0 = graph.conv_filter_grad" + attributes +
                                   "(" + x + ", " + y + ") -> " + w,
                               {input, grad});
    ASSERT_TRUE(forward.size() == 1 && inputGrad.size() == 1 &&
                filterGrad.size() == 1);
    HostTensor sums(grad.getType()), dx(input.getType()), dw(weights.getType());
    auto add = [](HostTensor &to, int64_t at, double value) {
      to.setDouble(at, to.getDouble(at) + value);
    };
    forEachIndex(out, [&](ArrayRef<int64_t> place) {
      forEachIndex(filter, [&](ArrayRef<int64_t> tap) {
        Index position;
        for (int64_t d = 0; d < spatial; ++d) {
          position.push_back(place[d] * strides[d] + tap[d] * dilations[d] -
                             low[d]);
          if (position[d] < 0 || position[d] >= in[d])
            return;
        }
        forEachIndex({batch, groups, outs, ins}, [&](ArrayRef<int64_t> i) {
          int64_t output = i[1] * outs + i[2];
          int64_t a = input.linearize(
              arrange(inLayout, i[0], i[1] * ins + i[3], position));
          int64_t b =
              weights.linearize(arrange(filterLayout, output, i[3], tap));
          int64_t c = grad.linearize(arrange(outLayout, i[0], output, place));
          add(sums, c, input.getDouble(a) * weights.getDouble(b));
          add(dx, a, grad.getDouble(c) * weights.getDouble(b));
          add(dw, b, input.getDouble(a) * grad.getDouble(c));
        });
      });
    });
    expectEqual(sums, forward[0], "conv" + attributes + x + w);
    expectEqual(dx, inputGrad[0], "conv_input_grad" + attributes + y + w);
    expectEqual(dw, filterGrad[0], "conv_filter_grad" + attributes + x + y);
  }
}

TEST_F(BlockedLoops, Pools) {
  for (int round = 0; round < 60; ++round) {
    Index in, window, out, strides, dilations, low, high;
    for (int64_t d = 0; d < 4; ++d) {
      bool moves = d > 1 || round % 7 == 0;
      window.push_back(moves ? pick(1, 3) : 1);
      strides.push_back(moves ? pick(1, 3) : 1);
      dilations.push_back(moves ? pick(1, 2) : 1);
      low.push_back(moves ? pick(0, 2) : 0);
      high.push_back(moves ? pick(0, 2) : 0);
      int64_t extent = (window[d] - 1) * dilations[d] + 1;
      in.push_back(pick(1, 7));
      high[d] += std::max<int64_t>(0, extent - in[d] - low[d] - high[d]);
      out.push_back((in[d] + low[d] + high[d] - extent) / strides[d] + 1);
    }
    bool countPad = round % 2;
    std::string attributes =
        "window = " + list(window) + ", strides = " + list(strides) +
        ", dilations = " + list(dilations) + ", pad_low = " + list(low) +
        ", pad_high = " + list(high);
    std::string average =
        attributes + ", count_include_pad = " + (countPad ? "true" : "false");
    std::string x = tensor(in), y = tensor(out), i = tensor(out, "i32");
    HostTensor input = make(x), grad = make(y);
    auto maxima = evaluate("%0:2 = graph.max_pool %a0 {" + attributes +
                               "} : (" + x + ") -> (" + y + ", " + i + ")",
                           {input});
    ASSERT_EQ(maxima.size(), 2u);
    auto maxGrad = evaluate("%0 = graph.max_pool_grad %a0, %a1 {" + attributes +
                                "} : (" + y + ", " + i + ") -> " + x,
                            {grad, maxima[1]});
    auto means = evaluate("%0 = graph.avg_pool %a0 {" + average + "} : (" + x +
                              ") -> " + y,
                          {input});
    auto meanGrad = evaluate("%0 = graph.avg_pool_grad %a0 {" + average +
                                 "} : (" + y + ") -> " + x,
                             {grad});
    HostTensor largest(grad.getType()), positions(maxima[1].getType()),
        mean(grad.getType()), dMax(input.getType()), dMean(input.getType());
    int64_t at = 0, elements = 1;
    for (int64_t size : window)
      elements *= size;
    forEachIndex(out, [&](ArrayRef<int64_t> place) {
      SmallVector<std::pair<int64_t, int64_t>> taps; // position, element
      int64_t position = 0;
      forEachIndex(window, [&](ArrayRef<int64_t> tap) {
        Index index;
        bool inside = true;
        for (int64_t d = 0; d < 4; ++d) {
          index.push_back(place[d] * strides[d] + tap[d] * dilations[d] -
                          low[d]);
          inside &= index[d] >= 0 && index[d] < in[d];
        }
        if (inside)
          taps.push_back({position, input.linearize(index)});
        ++position;
      });
      double best = -std::numeric_limits<double>::infinity(), sum = 0;
      double divisor = countPad ? elements : std::max<size_t>(taps.size(), 1);
      for (auto [position, element] : taps) {
        sum += input.getDouble(element);
        dMean.setDouble(element, dMean.getDouble(element) +
                                     grad.getDouble(at) / divisor);
        if (input.getDouble(element) > best) {
          best = input.getDouble(element);
          positions.setInt(at, position);
        }
      }
      for (auto [position, element] : taps)
        if (positions.getInt(at) == position)
          dMax.setDouble(element, dMax.getDouble(element) + grad.getDouble(at));
      largest.setDouble(at, best);
      mean.setDouble(at++, sum / divisor);
    });
    expectEqual(largest, maxima[0], "max_pool " + attributes + x);
    expectEqual(positions, maxima[1], "max_pool " + attributes + x);
    expectEqual(dMax, maxGrad.front(), "max_pool_grad " + attributes + x);
    expectEqual(mean, means.front(), "avg_pool " + average + x);
    expectEqual(dMean, meanGrad.front(), "avg_pool_grad " + average + x);
  }
}

} // namespace
