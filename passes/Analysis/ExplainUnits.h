//===- ExplainUnits.h - Numbers and tables for people -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_EXPLAINUNITS_H
#define PASSES_ANALYSIS_EXPLAINUNITS_H

#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace mlir::dist {

std::string formatBytes(double bytes);
std::string formatSeconds(double seconds);
std::string formatFlops(double flops);

/// Rows of cells, written with aligned columns.
class Table {
public:
  explicit Table(std::vector<std::string> header) { add(std::move(header)); }
  void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }
  void write(llvm::raw_ostream &os) const;

private:
  std::vector<std::vector<std::string>> rows;
};

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_EXPLAINUNITS_H
