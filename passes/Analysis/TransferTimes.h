//===- TransferTimes.h - What collectives take, by tables -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_TRANSFERTIMES_H
#define PASSES_ANALYSIS_TRANSFERTIMES_H

#include "dialects/Dist/IR/Dist.h"
#include "runtime/comm/schedule/links.h"
#include "runtime/comm/schedule/times.h"
#include <map>

namespace mlir::dist {

/// What is known of collectives beside the machine's figures: times that were
/// measured, or the links of a cluster that is only described.
class TransferTimes {
public:
  /// Of at most one of two files; an empty path: none. Ranks are spread over so
  /// many hosts.
  static ::dist::Status read(StringRef collectivesTable, StringRef linkTable,
                             int64_t hosts, TransferTimes &out);

  bool isEmpty() const { return !table && !links; }
  const ::dist::LinkTable *getLinks() const { return links.get(); }

  /// How long a collective takes; nothing: the machine's links say. Only
  /// transfers with a host, and what every rank does alone, are not in the
  /// tables; of all else `verify` has found what they lack.
  std::optional<double> getSeconds(CollectiveOpInterface op, MeshOp mesh) const;

  /// Whether the tables say how long the op takes; emits the error.
  LogicalResult verify(CollectiveOpInterface op, MeshOp mesh) const;

  /// How an all-reduce of messages takes the least time: of the ways that sum
  /// in the order of ranks. Auto: ranks read each other's memory.
  AllReduceAlgorithm choose(CollectiveOpInterface op, MeshOp mesh) const;

private:
  ::dist::TimedCall getCall(CollectiveOpInterface op, MeshOp mesh) const;
  double getSecondsByLinks(CollectiveOpInterface op, MeshOp mesh,
                           ::dist::Algorithm algorithm) const;

  std::shared_ptr<const ::dist::CollectiveTable> table;
  std::shared_ptr<const ::dist::LinkTable> links;
  std::string path;
  int64_t hosts = 1;
  /// By links: many rows of a program are alike, and a thousand ranks have a
  /// million pairs.
  mutable std::map<std::string, double> known;
};

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_TRANSFERTIMES_H
