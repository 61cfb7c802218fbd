//===- variable_store.h - Variables in the devices' state blocks ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_VARIABLE_STORE_H
#define RUNTIME_CORE_VARIABLE_STORE_H

#include "runtime/core/package.h"
#include "runtime/core/rank.h"
#include "runtime/core/rank_threads.h"
#include <map>
#include <set>

namespace dist {

/// Reads and writes variables as global tensors or slices, and counts their
/// versions, from which prepared buffers know that they are stale.
class VariableStore {
public:
  /// `ranks`: null where another process has them; `localRanks`: the others,
  /// by their number among `threads`.
  VariableStore(const Package &package,
                std::vector<std::unique_ptr<dist_rt_context>> &ranks,
                const std::vector<int> &localRanks, RankThreads &threads);
  ~VariableStore();

  /// A global value. `met`, unless null: whether the processes had begun to
  /// exchange their parts, which a failure leaves unfinished.
  Status read(int index, Tensor *out, bool *met = nullptr) const;
  Status write(int index, const TensorView &value);
  Status readSlice(int index, int rank, Tensor *out) const;
  Status writeSlice(int index, int rank, const TensorView &value);
  /// Before the first `reset`: the package's weights, whose file stays open,
  /// for what has its name later may be another package's. `mapped`: see
  /// SessionOptions::mapWeights.
  Status openWeights(bool mapped);
  /// Initial values: from those weights, or the variable's fill.
  Status reset();

  const std::vector<uint64_t> &versions() const { return version; }
  void touch(const std::vector<int> &variables) {
    for (int variable : variables)
      ++version[variable];
  }

  /// What a call that was broken off had begun to change: between two steps
  /// from now on, and no more once it is written. `everywhere`: all of them,
  /// else those of which ranks have copies that differ.
  void tear(const std::vector<int> &variables, const std::string &why,
            bool everywhere);
  /// An error if one of them is between two steps.
  Status checkWhole(const std::vector<int> &variables) const;

private:
  class Weights;

  /// A rank's part, for the host to read: where it lies or, if the host cannot
  /// reach that, a copy in `room`.
  Status view(int index, int rank, Buffer *room, const char **out) const;
  /// Lets `fill` write all of a rank's part, likewise.
  Status fill(int index, int rank,
              const std::function<void(char *part)> &fill) const;
  /// Whether the rank is this process's and has a part.
  bool holds(int index, int rank) const;
  /// Fills the parts of the local ranks that have one, each on its thread.
  Status fillAll(int index,
                 const std::function<void(int rank, char *part)> &job) const;
  bool isAlone() const { return localRanks.size() == ranks.size(); }
  /// All ranks' parts, one after the other, from all processes.
  Status gather(int index, Buffer *parts) const;
  Status checkHolds(int index, int rank) const;
  bool copiesDiffer(int index) const;
  Status checkIndex(int index, int rank) const;

  const Package &package;
  std::unique_ptr<Weights> weights; // null: no variable has its value there
  std::vector<std::unique_ptr<dist_rt_context>> &ranks;
  const std::vector<int> &localRanks;
  RankThreads &threads;
  std::vector<uint64_t> version;
  std::map<int, std::set<int>>
      torn; // variables' ranks that are not written yet
  std::string whyTorn;
};

} // namespace dist

#endif // RUNTIME_CORE_VARIABLE_STORE_H
