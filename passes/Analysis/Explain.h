//===- Explain.h - What a program moves, holds and costs -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a module after dist-partition (or one without a mesh) and tells, before
// anything runs, every transfer with its reason, memory by kind, FLOPs and a
// predicted time. Rendered as a table for people and as JSON for programs.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_EXPLAIN_H
#define PASSES_ANALYSIS_EXPLAIN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Analysis/Timeline.h"
#include <string>
#include <vector>

namespace mlir::dist {

/// One collective.
struct TransferRow {
  std::string op;         // the op whose value is moved
  std::string tensor;     // its names and types
  std::string types;      // the types alone
  std::string collective; // all_reduce, ...
  std::string algorithm;  // ring, ...; empty: the communicator's choice
  std::string group;      // axes and size: data (2 ranks)
  std::string axes;       // these alone
  bool crossesProcesses = false;
  int64_t steps = 1;    // rounds of messages
  int64_t bytes = 0;    // of one rank's operands
  double bytesSent = 0; // by one rank
  std::string often;    // each step, each batch
  std::string reason, place;
  /// Where what it moves, and what asked for it, came from: numbers of the
  /// report's sources, whose chains lead back to the user's decisions.
  std::vector<int64_t> causes;
};

/// That a value came to be split over an axis: by a decision, or along an op
/// from a value that was.
struct SourceRow {
  std::string axis, value;
  int64_t dim = 0;
  std::string op;    // empty: a decision
  std::string place; // the op's in the model file; the decision itself
  int64_t from = -1; // the number of an earlier one
};

/// A step of a chain: several alike, of repeated layers, are one.
struct ChainStep {
  SourceRow source;
  size_t times = 1;
};

/// Bytes of one device, by what they are for. Activations, what is gathered for
/// a while and the peak are an estimate by liveness, before fusion; the most of
/// each need not be at the same time.
struct MemoryReport {
  int64_t parameters = 0, gradients = 0, slots = 0, otherState = 0;
  int64_t inputs = 0, activations = 0, communication = 0, peak = 0;
  /// What the runtime allocates, once kernels and their memory are planned (0:
  /// they are not): the program's variables, its weights as kernels read them,
  /// the room that the library's kernels compute in, copies of what it sends,
  /// what its messages to other processes are packed in and summed up from, and
  /// the arena of all else.
  int64_t prepared = 0, library = 0, copies = 0, messages = 0, arena = 0;
  int64_t planned = 0;
  int64_t getNeeded() const { return planned > 0 ? planned : peak; }
};

/// One op of an entry, for pages that draw it.
struct OpDetail {
  std::string name, kind, type, sharding;
  /// Bytes live while it runs, beside what is there for the whole step:
  /// activations, and gradients and buffers of collectives.
  int64_t activations = 0, others = 0;
  /// When that is, as a part of the entry's time.
  double when = 0;
  int64_t transfer = -1; // its row
  int64_t microbatch = -1;
};

/// What a program does at a time, in seconds.
struct Span {
  Activity::Kind kind;
  double start, end;
  std::string name;
};

/// What the ranks of a process send others, of which some are its own.
struct ProcessTraffic {
  int64_t messages = 0, bytes = 0;
};

/// What all ranks send over the links of one level, and the one that sends most
/// bytes there.
struct LevelTraffic {
  std::string level;
  ProcessTraffic all, most;
};

/// One function: what a rank runs, or the ranks of one stage of a pipeline.
struct EntryReport {
  std::string name;
  /// The entry that it is, or is one program's part of.
  std::string entry;
  int64_t stage = -1;
  /// Of a stage's function: schedule, microbatches, how long stages wait.
  std::string pipeline;
  /// Where devices are unequal: whose function it is, and all positions' parts
  /// of the batch.
  std::string portion;
  int64_t position = -1;
  /// How gradients are compressed, and what they come to; empty: not at all.
  std::string compression;
  /// Where variables are on the host: whose function it is.
  std::string placement;
  bool onHost = false;
  /// The parameter server that runs it; -1: a worker does.
  int64_t server = -1;
  std::vector<TransferRow> transfers;
  /// By process, as it will count it: what its ranks send when they run this
  /// once. Empty: all ranks are of one process, or no memory is planned yet.
  std::vector<ProcessTraffic> sent;
  /// The same by the levels of a link table; empty: there is none.
  std::vector<LevelTraffic> levels;
  MemoryReport memory;
  double flops = 0, bytesMoved = 0;
  /// What graph-recompute repeats: `12 layer_norm, 6 softmax`, and its part of
  /// the FLOPs.
  std::string recomputed;
  double recomputedFlops = 0;
  /// How long the entry takes: all stages together, with what they wait.
  double predictedSeconds = 0;
  /// Of this function: what it computes, what its transfers take, how long it
  /// waits for them, and for other stages.
  double predictedComputeSeconds = 0, predictedTransferSeconds = 0;
  double predictedExposedSeconds = 0, predictedIdleSeconds = 0;
  // If asked for: the ops, and when what they are lowered to is under way.
  std::vector<OpDetail> ops;
  std::vector<Span> spans;
};

/// A part of a variable that a parameter server holds, and what a worker and
/// the server send each other of it a step.
struct ServerPartRow {
  std::string variable, part, type; // the part's
  int64_t server = 0, begin = 0, size = 0, rows = 0;
  int64_t bytesPulled = 0, bytesPushed = 0;
  bool isAssigned = false; // by its new value, not updated by a gradient
  /// The inputs that number the rows that a step looks up: the bytes are at
  /// most so many, with the rows' numbers. Empty: all rows travel.
  std::string lookedUpBy;
  /// Of all parts of the variable together, at most.
  int64_t mostPulled = 0, mostPushed = 0;
  std::string why; // of what was not done as asked for; empty: it was
};

struct ExplainReport {
  /// Such as: data=2; empty for one device.
  std::string mesh;
  int64_t ranks = 1, processes = 1;
  /// Whether a host has variables besides.
  bool host = false;
  std::vector<EntryReport> entries;
  /// By process, beside the entries: what it sends each time that all agree to
  /// go on, as they do before each step.
  std::vector<ProcessTraffic> agreement;
  /// What it sends besides when processes tell each other the results of a step
  /// (its loss, whether it is finite, the learning rate), behind each launch of
  /// one: where not all have them, as without a pipeline's last stage. None:
  /// all do.
  std::vector<ProcessTraffic> results;
  /// Steps that both are for: workers that train by themselves run several at
  /// once.
  int64_t launchSteps = 1;
  std::vector<SourceRow> sources;
  /// By variables; none: there are no parameter servers.
  std::vector<ServerPartRow> serverParts;
  int64_t workers = 1; // of the servers
  /// By which it predicts; null: by the machine's figures alone.
  std::shared_ptr<const TransferTimes> transfers;
};

/// With `details` also each op, when it runs and what is live then.
ExplainReport explain(ModuleOp module, const MachineModel &machine = {},
                      bool details = false);
/// Replaces the report's predicted times by those of `module`, whose functions
/// have the same names, where `predict` says how long an op takes. With
/// `details` also its spans.
void predictTimes(ModuleOp module, const MachineModel &machine,
                  ExplainReport &report, PredictFunction predict,
                  bool details = false);
/// The memory of one function of the module.
MemoryReport explainMemory(func::FuncOp function);

/// From the decision to the source numbered `cause`.
std::vector<ChainStep> getChain(const ExplainReport &report, int64_t cause);

/// Of a transfer's causes, the first of each axis and decision.
std::vector<int64_t> getMainCauses(const ExplainReport &report,
                                   const TransferRow &row);

/// Rows that differ in nothing but numbers in names are one, with the range of
/// the numbers and how many they are.
struct FoldedTransfer {
  TransferRow row;
  std::vector<size_t> members; // of the rows folded
};
std::vector<FoldedTransfer> foldTransfers(ArrayRef<TransferRow> rows);

std::string formatExplainTable(const ExplainReport &report);
std::string formatExplainJson(const ExplainReport &report);

/// What was measured, for the page: the text of a Chrome trace. Empty: nothing.
struct PageOptions {
  std::string title, trace;
};
/// One self-contained page; fails with what is wrong with the trace.
FailureOr<std::string> formatExplainPage(const ExplainReport &report,
                                         const PageOptions &options,
                                         std::string &error);

/// Two strategies beside each other: transfers that only one has or that
/// differ, memory and time.
struct ComparedStrategy {
  std::string name;
  const ExplainReport &report;
};
std::string formatDiffTable(const ComparedStrategy &a,
                            const ComparedStrategy &b);
std::string formatDiffJson(const ComparedStrategy &a,
                           const ComparedStrategy &b);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_EXPLAIN_H
