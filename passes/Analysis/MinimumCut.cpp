//===- MinimumCut.cpp - The cheapest edges between two nodes -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/MinimumCut.h"
#include <algorithm>

using namespace mlir::dist;

unsigned MinimumCut::addNode() {
  out.emplace_back();
  return out.size() - 1;
}

void MinimumCut::addEdge(unsigned from, unsigned to, int64_t capacity) {
  out[from].push_back(edges.size());
  edges.push_back({to, capacity});
  out[to].push_back(edges.size());
  edges.push_back({from, 0});
}

bool MinimumCut::findLevels(unsigned source, unsigned sink) {
  levels.assign(out.size(), -1);
  levels[source] = 0;
  std::vector<unsigned> queue{source};
  for (size_t head = 0; head < queue.size(); ++head)
    for (unsigned edge : out[queue[head]])
      if (edges[edge].left > 0 && levels[edges[edge].to] < 0) {
        levels[edges[edge].to] = levels[queue[head]] + 1;
        queue.push_back(edges[edge].to);
      }
  return levels[sink] >= 0;
}

/// One augmenting path along rising levels, without recursion: paths are as
/// long as chains of ops.
int64_t MinimumCut::push(unsigned source, unsigned sink) {
  std::vector<unsigned> path;
  unsigned node = source;
  while (node != sink) {
    unsigned &at = next[node];
    while (at < out[node].size()) {
      const Edge &edge = edges[out[node][at]];
      if (edge.left > 0 && levels[edge.to] == levels[node] + 1)
        break;
      ++at;
    }
    if (at < out[node].size()) {
      path.push_back(out[node][at]);
      node = edges[path.back()].to;
      continue;
    }
    // A dead end: back, and past it.
    if (path.empty())
      return 0;
    node = edges[path.back() ^ 1].to;
    path.pop_back();
    ++next[node];
  }
  int64_t flow = kInfinite;
  for (unsigned edge : path)
    flow = std::min(flow, edges[edge].left);
  for (unsigned edge : path) {
    edges[edge].left -= flow;
    edges[edge ^ 1].left += flow;
  }
  return flow;
}

int64_t MinimumCut::solve(unsigned source, unsigned sink) {
  int64_t total = 0;
  while (findLevels(source, sink)) {
    next.assign(out.size(), 0);
    while (int64_t flow = push(source, sink)) {
      total += flow;
      if (total >= kInfinite)
        return total;
    }
  }
  return total;
}
