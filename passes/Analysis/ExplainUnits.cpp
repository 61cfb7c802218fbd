//===- ExplainUnits.cpp - Numbers and tables for people -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/ExplainUnits.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;

std::string mlir::dist::formatBytes(double bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  unsigned unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? llvm::formatv("{0} B", int64_t(bytes)).str()
                   : llvm::formatv("{0:f1} {1}", bytes, units[unit]).str();
}

std::string mlir::dist::formatSeconds(double seconds) {
  if (seconds >= 1)
    return llvm::formatv("{0:f2} s", seconds);
  if (seconds >= 1e-3)
    return llvm::formatv("{0:f2} ms", seconds * 1e3);
  return llvm::formatv("{0:f1} us", seconds * 1e6);
}

std::string mlir::dist::formatFlops(double flops) {
  if (flops >= 1e9)
    return llvm::formatv("{0:f2} GFLOP", flops / 1e9);
  if (flops >= 1e6)
    return llvm::formatv("{0:f2} MFLOP", flops / 1e6);
  return llvm::formatv("{0} FLOP", int64_t(flops));
}

void Table::write(llvm::raw_ostream &os) const {
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const auto &row : rows)
    for (auto [width, cell] : llvm::zip(widths, row))
      width = std::max(width, cell.size());
  for (const auto &row : rows) {
    os << " ";
    for (size_t i = 0; i < row.size(); ++i) {
      os << " " << row[i];
      if (i + 1 < row.size())
        os.indent(widths[i] - row[i].size() + 1);
    }
    os << "\n";
  }
}
