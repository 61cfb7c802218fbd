//===- OnnxEinsum.cpp - Einstein sums of ONNX -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every dim has a label: its letter, or, behind an ellipsis, a digit that
// counts from the end. Inputs are multiplied from left to right; a label that
// neither the result nor a later input has is summed away.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxNode.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
/// A tensor and the labels of its dims.
struct Labelled {
  Value value;
  std::string labels;

  bool has(char label) const { return labels.find(label) != std::string::npos; }
  int64_t dimOf(char label) const { return labels.find(label); }
};
} // namespace

static constexpr StringLiteral kEllipsis = "...";

/// The labels of a term with `hidden` dims behind its ellipsis.
static FailureOr<std::string> readTerm(OnnxNode &n, StringRef term,
                                       int64_t hidden) {
  std::string labels;
  bool dots = false;
  for (size_t i = 0; i < term.size(); ++i) {
    if (!dots && term.substr(i).starts_with(kEllipsis)) {
      for (int64_t d = hidden; d > 0; --d)
        labels += char('0' + d - 1);
      dots = true;
      i += kEllipsis.size() - 1;
    } else if (llvm::isAlpha(term[i])) {
      labels += term[i];
    } else {
      return n.fail("the equation has '" + llvm::Twine(term[i]) +
                    "' in a term");
    }
  }
  return labels;
}

static FailureOr<Labelled> readInput(OnnxNode &n, unsigned i, StringRef term) {
  int64_t rank = n.rankOf(n.in(i)), hidden = 0;
  bool dots = term.contains(kEllipsis);
  if (dots)
    hidden = rank - static_cast<int64_t>(term.size() - kEllipsis.size());
  if (hidden < 0 || hidden > 9 ||
      (!dots && static_cast<int64_t>(term.size()) != rank))
    return n.fail("term '" + term + "' does not fit an input of " +
                  llvm::Twine(rank) + " dims");
  FailureOr<std::string> labels = readTerm(n, term, hidden);
  if (failed(labels))
    return failure();
  return Labelled{n.in(i), *labels};
}

/// A label that a term has twice stands for the diagonal.
static LogicalResult takeDiagonals(OnnxNode &n, Labelled *x) {
  for (size_t first = 0; first < x->labels.size(); ++first)
    for (size_t again; (again = x->labels.find(x->labels[first], first + 1)) !=
                       std::string::npos;) {
      SmallVector<int64_t> shape(n.shapeOf(x->value));
      if (shape[first] != shape[again])
        return n.fail("dims of '" + llvm::Twine(x->labels[first]) +
                      "' differ in size");
      Type i64 = IntegerType::get(n.getContext(), 64);
      Value on = n.compare(ComparePredicate::EQ, n.iota(shape, first, i64),
                           n.iota(shape, again, i64));
      Value picked = n.select(on, x->value, n.splat(0, x->value));
      x->value = n.reduce(Reduction::Sum, picked, {static_cast<int64_t>(again)},
                          false);
      x->labels.erase(again, 1);
      if (!x->value)
        return failure();
    }
  return success();
}

/// A dim of size 1 repeats along the others of its label: it is dropped where
/// another input has the label at its full size.
static LogicalResult dropRepeated(OnnxNode &n,
                                  SmallVectorImpl<Labelled> &inputs) {
  llvm::SmallDenseMap<char, int64_t> sizes;
  for (Labelled &x : inputs)
    for (auto [label, size] : llvm::zip(x.labels, n.shapeOf(x.value))) {
      int64_t &known = sizes.try_emplace(label, size).first->second;
      if (known == 1)
        known = size;
      else if (size != 1 && size != known)
        return n.fail("dims of '" + llvm::Twine(label) + "' differ in size: " +
                      llvm::Twine(known) + " and " + llvm::Twine(size));
    }
  for (Labelled &x : inputs) {
    SmallVector<int64_t> shape;
    std::string labels;
    for (auto [label, size] : llvm::zip(x.labels, n.shapeOf(x.value)))
      if (size == sizes.lookup(label)) {
        labels += label;
        shape.push_back(size);
      }
    x.value = n.reshape(x.value, shape);
    x.labels = labels;
  }
  return success();
}

static void sumUnneeded(OnnxNode &n, Labelled *x, StringRef needed) {
  SmallVector<int64_t> gone;
  std::string kept;
  for (auto [d, label] : llvm::enumerate(x->labels)) {
    if (needed.contains(label))
      kept += label;
    else
      gone.push_back(d);
  }
  x->labels = kept;
  if (!gone.empty())
    x->value = n.reduce(Reduction::Sum, x->value, gone, false);
}

static Labelled multiply(OnnxNode &n, const Labelled &x, const Labelled &y,
                         StringRef needed) {
  SmallVector<int64_t> xBatch, yBatch, xContract, yContract;
  std::string batch, rest;
  for (auto [d, label] : llvm::enumerate(x.labels)) {
    if (!y.has(label)) {
      rest += label;
      continue;
    }
    bool kept = needed.contains(label);
    (kept ? xBatch : xContract).push_back(d);
    (kept ? yBatch : yContract).push_back(y.dimOf(label));
    if (kept)
      batch += label;
  }
  for (char label : y.labels)
    if (!x.has(label))
      rest += label;
  return {n.dot(x.value, y.value, xBatch, yBatch, xContract, yContract),
          batch + rest};
}

/// The labels of the result; without "->" those of the ellipsis and then the
/// letters that occur once, in the order of the alphabet.
static FailureOr<std::string> readOutput(OnnxNode &n, bool given,
                                         StringRef term, StringRef all) {
  int64_t hidden = 0;
  std::string once;
  for (char label : all) {
    if (label <= '9')
      hidden = std::max<int64_t>(hidden, label - '0' + 1);
    else if (all.count(label) == 1)
      once += label;
  }
  llvm::sort(once);
  FailureOr<std::string> labels =
      readTerm(n, given ? term : StringRef(kEllipsis), hidden);
  if (failed(labels))
    return failure();
  if (!given)
    *labels += once;
  for (char label : *labels) {
    if (!all.contains(label))
      return n.fail("the output has '" + llvm::Twine(label) +
                    "', which no input has");
    if (StringRef(*labels).count(label) > 1)
      return n.fail("the output has '" + llvm::Twine(label) + "' twice");
  }
  return labels;
}

static LogicalResult importEinsum(OnnxNode &n) {
  std::string equation = n.textAttr("equation", "");
  llvm::erase(equation, ' ');
  auto [left, right] = StringRef(equation).split("->");
  bool given = StringRef(equation).contains("->");
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  if (terms.size() != n.numInputs())
    return n.fail("the equation has " + llvm::Twine(terms.size()) +
                  " terms for " + llvm::Twine(n.numInputs()) + " inputs");
  SmallVector<Labelled> inputs;
  std::string all;
  for (auto [i, term] : llvm::enumerate(terms)) {
    if (!n.has(i) || n.elementOf(n.in(i)) != n.elementOf(n.in(0)))
      return n.fail("the inputs must be of one type");
    FailureOr<Labelled> x = readInput(n, i, term);
    if (failed(x))
      return failure();
    all += x->labels;
    if (failed(takeDiagonals(n, &*x)))
      return failure();
    inputs.push_back(*x);
  }
  FailureOr<std::string> output = readOutput(n, given, right, all);
  if (failed(output) || failed(dropRepeated(n, inputs)))
    return failure();
  // What is needed behind input i.
  SmallVector<std::string> needed(inputs.size(), *output);
  for (size_t i = 0; i < inputs.size(); ++i)
    for (size_t later = i + 1; later < inputs.size(); ++later)
      needed[i] += inputs[later].labels;
  Labelled result = inputs[0];
  sumUnneeded(n, &result, needed[0]);
  for (size_t i = 1; i < inputs.size(); ++i) {
    sumUnneeded(n, &inputs[i], needed[i] + result.labels);
    result = multiply(n, result, inputs[i], needed[i]);
    // Labels that only the left side had, and that are needed no more, were
    // summed away before.
    if (!result.value)
      return failure();
    sumUnneeded(n, &result, needed[i]);
  }
  SmallVector<int64_t> permutation;
  for (char label : *output)
    permutation.push_back(result.dimOf(label));
  return n.out(result.value ? n.transpose(result.value, permutation) : Value());
}

ArrayRef<OnnxOp> mlir::dist::graph::getOnnxEinsumOps() {
  static const OnnxOp rows[] = {
      {"Einsum", 12, 1, kManyInputs, importEinsum},
  };
  return rows;
}
