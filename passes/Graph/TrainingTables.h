//===- TrainingTables.h - Losses, optimizers, metrics, schedules ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What can follow `--loss`, `--optimizer`, `--metrics` and `--lr-schedule`:
// names, keys, defaults, formulas and where the formulas come from. The passes,
// the tools' help and the documentation all read these tables.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_GRAPH_TRAININGTABLES_H
#define PASSES_GRAPH_TRAININGTABLES_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <limits>
#include <string>
#include <vector>

namespace mlir::dist::graph {

/// A key of a choice. Values are numbers.
struct TrainingKey {
  StringRef name;
  /// The default; NaN: the key must be given.
  double value;
  /// Allowed values; integers only if `integer`.
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool integer = false;
  /// Whether `most` itself is too much.
  bool below = false;
};

struct TrainingChoice {
  StringRef name;
  std::vector<TrainingKey> keys;
  /// In the symbols of Keras' documentation.
  StringRef formula;
  /// The file that the formula was taken from.
  StringRef source;
};

std::vector<TrainingChoice> listLosses();
std::vector<TrainingChoice> listOptimizers();
std::vector<TrainingChoice> listMetrics();
std::vector<TrainingChoice> listSchedules();

/// OUTPUT and CHOICE of `OUTPUT=CHOICE`; of a choice alone the output is empty.
/// (Keys of choices have numbers behind their `=`.)
std::pair<StringRef, StringRef> splitOutput(StringRef text);

/// A choice as the user wrote it: `NAME` or `NAME:key=value,key=value`.
class TrainingSpec {
public:
  /// Emits one error through `emitError` when a name or key is unknown (with
  /// the nearest known one) or a value is no number in its range. `option` is
  /// what the user knows the choice by, as in "--optimizer".
  static FailureOr<TrainingSpec>
  parse(StringRef text, ArrayRef<TrainingChoice> choices, StringRef option,
        llvm::function_ref<InFlightDiagnostic()> emitError);

  StringRef getName() const { return name; }
  /// The value given, or the default. The key must be one of the choice's.
  double get(StringRef key) const;
  bool isGiven(StringRef key) const { return given.contains(key); }

private:
  std::string name;
  llvm::StringMap<double> values, given;
};

} // namespace mlir::dist::graph

#endif // PASSES_GRAPH_TRAININGTABLES_H
