//===- TrainingSpec.cpp - Choices as the user writes them -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Graph/TrainingTables.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::dist::graph;

/// What other frameworks, and people, call our names and keys; in small
/// letters, words joined by '-'.
static const std::pair<StringRef, StringRef> kElsewhere[] = {
    {"cross-entropy", "sparse-categorical-crossentropy"},
    {"crossentropy", "sparse-categorical-crossentropy"},
    {"crossentropyloss", "sparse-categorical-crossentropy"},
    {"nll", "sparse-categorical-crossentropy"},
    {"softmax-cross-entropy", "sparse-categorical-crossentropy"},
    {"sparsecategoricalcrossentropy", "sparse-categorical-crossentropy"},
    {"categoricalcrossentropy", "categorical-crossentropy"},
    {"bce", "binary-crossentropy"},
    {"bceloss", "binary-crossentropy"},
    {"bcewithlogitsloss", "binary-crossentropy"},
    {"binarycrossentropy", "binary-crossentropy"},
    {"l2", "mse"},
    {"mseloss", "mse"},
    {"mean-squared-error", "mse"},
    {"l1", "mae"},
    {"l1loss", "mae"},
    {"mean-absolute-error", "mae"},
    {"huberloss", "huber"},
    {"smooth-l1", "huber"},
    {"acc", "accuracy"},
    {"categorical-accuracy", "accuracy"},
    {"sparse-categorical-accuracy", "accuracy"},
    {"top5", "top-k"},
    {"roc-auc", "auc"},
    {"cosine-decay", "cosine"},
    {"cosineannealinglr", "cosine"},
    {"steplr", "step"},
    {"exponentiallr", "exponential"},
    {"warmup", "warmup-linear"},
    {"learning-rate", "lr"},
    {"eps", "epsilon"},
    {"alpha", "rho"},
    {"decay", "weight-decay"},
    {"wd", "weight-decay"},
};

/// The known name that is meant, as the end of a message: what the word is
/// elsewhere, else the nearest by letters; all of them if none is near.
static std::string suggest(StringRef word, ArrayRef<StringRef> known) {
  std::string plain = word.lower();
  std::replace(plain.begin(), plain.end(), '_', '-');
  StringRef meant;
  for (auto [other, ours] : kElsewhere)
    if (other == plain && llvm::is_contained(known, ours))
      meant = ours;
  // With half of its letters wrong it is another word.
  size_t best = std::min(plain.size(), 2 + (plain.size() + 1) / 3);
  if (meant.empty())
    for (StringRef candidate : known)
      if (size_t distance = StringRef(plain).edit_distance(candidate);
          distance < best) {
        best = distance;
        meant = candidate;
      }
  if (!meant.empty())
    return ("did you mean '" + meant + "'?").str();
  if (known.empty())
    return "it has no keys";
  return "known are " + llvm::join(known, ", ");
}

static std::string toText(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

std::pair<StringRef, StringRef> mlir::dist::graph::splitOutput(StringRef text) {
  for (size_t at = text.find('='); at != StringRef::npos;
       at = text.find('=', at + 1))
    if (at + 1 < text.size() && llvm::isAlpha(text[at + 1]))
      return {text.take_front(at), text.drop_front(at + 1)};
  return {"", text};
}

FailureOr<TrainingSpec>
TrainingSpec::parse(StringRef text, ArrayRef<TrainingChoice> choices,
                    StringRef option,
                    llvm::function_ref<InFlightDiagnostic()> emitError) {
  StringRef name = text.split(':').first.trim();
  StringRef rest = text.split(':').second;
  const TrainingChoice *choice = llvm::find_if(
      choices, [&](const TrainingChoice &c) { return c.name == name; });
  if (choice == choices.end()) {
    SmallVector<StringRef> known;
    for (const TrainingChoice &c : choices)
      known.push_back(c.name);
    return emitError() << option << ": unknown name '" << name << "'; "
                       << suggest(name, known);
  }
  TrainingSpec spec;
  spec.name = name.str();
  SmallVector<StringRef> known;
  for (const TrainingKey &key : choice->keys) {
    spec.values[key.name] = key.value;
    known.push_back(key.name);
  }
  SmallVector<StringRef> pairs;
  rest.split(pairs, ',', -1, /*KeepEmpty=*/false);
  for (StringRef pair : pairs) {
    StringRef key = pair.split('=').first.trim();
    StringRef valueText = pair.split('=').second.trim();
    auto it = llvm::find_if(
        choice->keys, [&](const TrainingKey &k) { return k.name == key; });
    if (it == choice->keys.end())
      return emitError() << option << ": '" << name << "' has no key '" << key
                         << "'; " << suggest(key, known);
    double value;
    if (valueText.getAsDouble(value) || !std::isfinite(value))
      return emitError() << option << ": expected a number after '" << key
                         << "=', but got '" << valueText << "'";
    if (value < it->least || value > it->most ||
        (it->below && value == it->most) ||
        (it->integer && value != std::floor(value))) {
      InFlightDiagnostic error = emitError();
      error << option << ": expected '" << key << "' of '" << name << "' to be "
            << (it->integer ? "an integer" : "a number");
      if (std::isfinite(it->least))
        error << ", at least " << toText(it->least);
      if (std::isfinite(it->most))
        error << (it->below ? ", below " : ", at most ") << toText(it->most);
      return error << ", but got '" << valueText << "'";
    }
    if (!spec.given.try_emplace(key, value).second)
      return emitError() << option << ": key '" << key << "' is given twice";
    spec.values[key] = value;
  }
  for (const TrainingKey &key : choice->keys)
    if (std::isnan(spec.values[key.name]))
      return emitError() << option << ": '" << name << "' needs a value for '"
                         << key.name << "', as in '" << name << ":" << key.name
                         << "=100'";
  return spec;
}

double TrainingSpec::get(StringRef key) const {
  auto it = values.find(key);
  assert(it != values.end() && "a key of the choice's table");
  return it->second;
}
