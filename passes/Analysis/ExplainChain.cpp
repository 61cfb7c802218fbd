//===- ExplainChain.cpp - From a decision to a transfer -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/ExplainChain.h"
#include "passes/Analysis/Fold.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include <set>

using namespace mlir;
using namespace mlir::dist;

int64_t SourceCollector::add(int32_t row) {
  // From the end of the chain to where it is known; then back.
  SmallVector<int32_t> chain;
  for (; row >= 0 && !numbers.contains(row); row = table.get(row).from)
    chain.push_back(row);
  int64_t from = row >= 0 ? numbers.lookup(row) : -1;
  for (int32_t one : llvm::reverse(chain)) {
    Source source = table.get(one);
    sources.push_back({source.axis.str(), source.value.str(), source.dim,
                       source.op.str(), source.place.str(), from});
    from = numbers[one] = sources.size() - 1;
  }
  return from;
}

std::vector<int64_t> SourceCollector::addCauses(Operation *op) {
  std::vector<int64_t> causes;
  if (table.isKept())
    for (int32_t row : getRows(op->getAttr(kCausesAttr)))
      if (row >= 0 && row < table.size())
        causes.push_back(add(row));
  return causes;
}

std::vector<ChainStep> mlir::dist::getChain(const ExplainReport &report,
                                            int64_t cause) {
  std::vector<const SourceRow *> rows;
  for (; cause >= 0; cause = report.sources[cause].from)
    rows.push_back(&report.sources[cause]);
  std::reverse(rows.begin(), rows.end());
  llvm::StringMap<unsigned> numbers;
  std::vector<unsigned> keys;
  for (const SourceRow *row : rows)
    keys.push_back(numbers
                       .try_emplace(row->op + '\n' +
                                        getNamePattern(row->value) + '\n' +
                                        getNamePattern(row->place) + '\n' +
                                        std::to_string(row->dim),
                                    numbers.size())
                       .first->second);
  std::vector<ChainStep> steps;
  for (const FoldedRun &run : foldRuns(keys))
    for (size_t i = run.begin; i < run.begin + run.period; ++i) {
      ChainStep step{*rows[i], run.times};
      auto fold = [&](std::string SourceRow::*text) {
        SmallVector<StringRef> texts;
        for (size_t j = i; j < run.end(); j += run.period)
          texts.push_back(rows[j]->*text);
        step.source.*text = foldNames(texts);
      };
      if (run.times > 1) {
        fold(&SourceRow::value);
        fold(&SourceRow::place);
      }
      steps.push_back(std::move(step));
    }
  return steps;
}

std::vector<int64_t> mlir::dist::getMainCauses(const ExplainReport &report,
                                               const TransferRow &row) {
  std::vector<int64_t> causes;
  std::set<std::pair<std::string, std::string>> seen;
  for (int64_t cause : row.causes) {
    int64_t root = cause;
    while (report.sources[root].from >= 0)
      root = report.sources[root].from;
    const SourceRow &decision = report.sources[root];
    if (seen.insert({decision.axis, getNamePattern(decision.place)}).second)
      causes.push_back(cause);
  }
  return causes;
}
