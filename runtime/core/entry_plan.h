//===- entry_plan.h - How an entry's tensors reach its ranks ----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_ENTRY_PLAN_H
#define RUNTIME_CORE_ENTRY_PLAN_H

#include "runtime/core/package.h"
#include "runtime/core/rank.h"

namespace dist {

/// One entry on all ranks: where each of its bindings lies. Decided once, so
/// that a step does nothing but write addresses.
class EntryPlan {
public:
  /// For the entries of that name in the programs that ranks run. Programs that
  /// differ each have a part of the bindings, in the places of the whole entry.
  /// Tensors are cut down to what `localRanks` have. `modules`: by program;
  /// `number`: of this one among the session's.
  static Status create(const Package &package,
                       const std::vector<const Module *> &modules,
                       const std::vector<int> &localRanks,
                       const std::string &name, int number,
                       std::unique_ptr<EntryPlan> *out);

  /// All bindings, as callers see them.
  const manifest::Entry &entry() const { return *whole; }
  const manifest::Entry &entry(int rank) const { return *parts[rank].entry; }
  dist_program_entry_fn step(int rank) const { return parts[rank].step; }
  dist_program_entry_fn prepare(int rank) const { return parts[rank].prepare; }

  /// Prepares the rank's collectives, in its communicator's generation.
  Status prepareCollectives(dist_rt_context &rank) const;
  /// What of a rank's collectives is this entry's.
  int number() const { return ownNumber; }
  /// Whether any rank meets others in it.
  bool hasMeetings() const { return meets; }

  size_t numInputs() const { return inputs.size(); }
  size_t numOutputs() const { return outputs.size(); }
  const Window &inputWindow(size_t i) const { return inputs[i].window; }
  const Window &outputWindow(size_t i) const { return outputs[i].window; }

  /// Checks the inputs and sizes the outputs; on the caller's thread.
  Status begin(const std::vector<TensorView> &inputs,
               std::vector<Tensor> *outputs) const;
  /// Fills the rank's bindings; on the rank's thread. Copies what does not lie
  /// as programs need it. Results that are put together later are from `base`
  /// of the rank's results on.
  Status bind(dist_rt_context &rank, const std::vector<TensorView> &inputs,
              std::vector<Tensor> *outputs, int64_t base) const;
  /// Behind the program: brings what it wrote to where `bind` would have had it
  /// written, had the device been the host. To be called before the rank's
  /// `finish`.
  Status fetchResults(dist_rt_context &rank, std::vector<Tensor> *outputs,
                      int64_t base) const;
  /// Adds up the rank's results that are partial sums beyond this process; when
  /// it has written them, on its thread, with all others.
  Status reduceResults(dist_rt_context &rank, std::vector<Tensor> *outputs,
                       int64_t base) const;
  /// The bytes of results that a rank wants for a call.
  int64_t resultBytes() const { return mostResultBytes; }
  /// The bytes of inputs that are copied for it at most.
  int64_t stagingBytes(int rank) const {
    return parts[rank].layout->stagingBytes;
  }
  /// Puts together outputs that ranks wrote beside; when all have written them.
  void finish(const std::vector<std::unique_ptr<dist_rt_context>> &ranks,
              std::vector<Tensor> *outputs, int64_t base) const;

  /// Whether buffers are to be prepared anew, given the variables' versions.
  bool needsPreparation(const std::vector<uint64_t> &versions) const;
  void prepared(const std::vector<uint64_t> &versions);
  void forgetPrepared() { preparedVersions.clear(); }
  const std::vector<int> &changedVariables() const { return changed; }
  const std::vector<int> &readVariables() const { return read; }

private:
  /// A tensor of the caller's.
  struct Port {
    const manifest::Binding *binding;
    Distribution distribution; // of its window
    Window window;
    /// A mask of the mesh's axes over which ranks of several processes have
    /// partial sums of it; 0: this process has all of them.
    uint32_t reducedOver = 0;
  };
  /// Where a program has one.
  struct Item {
    int binding; // position among the program's bindings
    int port;
    int64_t staged; // offset in each rank's staging buffer, or its results
  };
  /// A binding in the state block, a variable or a prepared buffer; or in the
  /// library's.
  struct Place {
    int binding;
    int64_t offset;
    bool isLibrarys = false;
  };
  /// A program's bindings.
  struct Layout {
    const manifest::Entry *entry = nullptr;
    int program = 0;
    std::vector<Item> inputs, outputs;
    std::vector<Place> places;
    int numBindings = 0;
    int64_t stagingBytes = 0, resultBytes = 0;
    CollectiveList preparation, step;
  };
  struct Part {
    const manifest::Entry *entry = nullptr;
    const Layout *layout = nullptr;
    dist_program_entry_fn step = nullptr, prepare = nullptr;
  };

  Status findParts(const Package &package, const std::string &name);
  /// `whole` and the caller's tensors.
  Status mergeBindings(const Package &package);
  Status layOut(const Package &package, const Module::Layout &library,
                Layout *layout);
  /// Cuts the tensors down to what these ranks have of them.
  Status narrow(const Package &package, const std::vector<int> &localRanks);
  bool hasPort(int rank, bool isResult, int port) const;
  /// Whether a rank's part lies in the whole tensor as programs need it.
  static bool liesInPlace(const Port &port, int rank, const void *whole);
  static int64_t partBytes(const Port &port, int rank);
  static bool writesInPlace(const Port &port, int rank, const void *whole);
  /// Where a rank writes a result.
  char *resultOf(const dist_rt_context &rank, const Item &item, char *whole,
                 int64_t base) const;
  const void *findOutput(const dist_rt_context &rank, int port, char *whole,
                         int64_t base) const;

  std::vector<Part> parts; // by rank
  std::vector<std::unique_ptr<Layout>> layouts;
  int ownNumber = 0; // among the session's
  bool meets = false;
  const manifest::Entry *whole = nullptr;
  manifest::Entry merged;
  int64_t mostResultBytes = 0;
  std::vector<Port> inputs, outputs;
  std::vector<int> inputAt, outputAt; // by position in the whole; -1: no tensor
  std::vector<int> changed;           // variables that the entry writes
  std::vector<int> read;              // variables that it reads
  std::vector<int> preparedFrom;      // variables that it only reads
  std::vector<uint64_t> preparedVersions;
};

/// Whether an input lies in what `outputs` hold now: an entry that wrote them
/// would change what it has yet to read.
bool liesIn(const std::vector<TensorView> &inputs,
            const std::vector<Tensor> &outputs);

} // namespace dist

#endif // RUNTIME_CORE_ENTRY_PLAN_H
