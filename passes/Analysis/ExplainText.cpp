//===- ExplainText.cpp - An explanation as a table -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/Explain.h"
#include "passes/Analysis/ExplainUnits.h"
#include "passes/Analysis/Fold.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <tuple>

using namespace mlir;
using namespace mlir::dist;

std::vector<FoldedTransfer>
mlir::dist::foldTransfers(ArrayRef<TransferRow> rows) {
  using Key = std::vector<std::string>;
  llvm::MapVector<Key, std::vector<size_t>, std::map<Key, unsigned>> groups;
  for (auto [i, row] : llvm::enumerate(rows))
    groups[{row.op, getNamePattern(row.tensor), row.types, row.collective,
            row.algorithm, row.group, row.often, getNamePattern(row.reason),
            getNamePattern(row.place)}]
        .push_back(i);
  std::vector<FoldedTransfer> folded;
  for (auto &[key, members] : groups) {
    // A few are told apart better one by one.
    if (members.size() < kLeastRepeats) {
      for (size_t member : members)
        folded.push_back({rows[member], {member}});
      continue;
    }
    FoldedTransfer all{rows[members.front()], members};
    auto fold = [&, members = ArrayRef<size_t>(members)](
                    std::string TransferRow::*text) {
      SmallVector<StringRef> texts;
      for (size_t member : members)
        texts.push_back(rows[member].*text);
      all.row.*text = foldNames(texts);
    };
    fold(&TransferRow::tensor);
    fold(&TransferRow::reason);
    fold(&TransferRow::place);
    folded.push_back(std::move(all));
  }
  llvm::sort(folded, [](const FoldedTransfer &a, const FoldedTransfer &b) {
    return a.members.front() < b.members.front();
  });
  return folded;
}

/// Of a bucket with many sources, the first few kinds of them.
static std::string shorten(StringRef list) {
  constexpr size_t kShown = 3;
  return foldList(list, "; ", kShown);
}

/// `all_reduce (ring, 6 steps)`
static std::string describeCollective(const TransferRow &row) {
  if (row.algorithm.empty())
    return row.collective;
  return row.collective + " (" + row.algorithm + ", " +
         std::to_string(row.steps) + " steps)";
}

/// What a rank sends over which axes, where there are several processes.
static void writeAxes(const EntryReport &entry, llvm::raw_ostream &os) {
  llvm::MapVector<StringRef, std::pair<double, bool>> axes;
  for (const TransferRow &row : entry.transfers) {
    auto &[sent, crosses] = axes[row.axes];
    sent += row.bytesSent;
    crosses = row.crossesProcesses;
  }
  if (llvm::none_of(axes, [](const auto &axis) { return axis.second.second; }))
    return;
  os << "  by axis: ";
  llvm::interleave(
      axes, os,
      [&](const auto &axis) {
        os << axis.first << " " << formatBytes(axis.second.first)
           << (axis.second.second ? " (between processes)" : "");
      },
      ", ");
  os << "\n";
}

static void writeTraffic(const ProcessTraffic &traffic, llvm::raw_ostream &os) {
  os << traffic.messages << (traffic.messages == 1 ? " message" : " messages")
     << ", " << traffic.bytes << " bytes";
}

/// What each process sends, behind what it is; of unequal ones, the least and
/// the most.
static void writeSent(const llvm::Twine &what, ArrayRef<ProcessTraffic> sent,
                      llvm::raw_ostream &os) {
  if (sent.empty())
    return;
  auto less = [](const ProcessTraffic &a, const ProcessTraffic &b) {
    return std::tie(a.bytes, a.messages) < std::tie(b.bytes, b.messages);
  };
  auto [least, most] = std::minmax_element(sent.begin(), sent.end(), less);
  os << what << ", each sends ";
  if (less(*least, *most)) {
    writeTraffic(*least, os);
    os << " (process " << least - sent.begin() << ") to ";
    writeTraffic(*most, os);
    os << " (process " << most - sent.begin() << ")\n";
    return;
  }
  writeTraffic(*least, os);
  os << "\n";
}

static constexpr StringRef kCounted = "  as processes count it";

/// What goes over which links of a link table.
static void writeLevels(ArrayRef<LevelTraffic> levels, llvm::raw_ostream &os) {
  for (const LevelTraffic &level : levels) {
    os << "  over links of level " << level.level << " all ranks send ";
    writeTraffic(level.all, os);
    os << "; one at most ";
    writeTraffic(level.most, os);
    os << "\n";
  }
}

static void writeTransfers(const EntryReport &entry, llvm::raw_ostream &os) {
  if (entry.transfers.empty()) {
    os << "  no transfers\n";
    // Results are summed behind the program.
    if (llvm::any_of(entry.sent, [](const ProcessTraffic &traffic) {
          return traffic.messages > 0;
        }))
      writeSent(kCounted, entry.sent, os);
    return;
  }
  Table table({"op", "tensor", "collective", "group", "bytes", "often",
               "reason", "place"});
  for (const FoldedTransfer &folded : foldTransfers(entry.transfers)) {
    const TransferRow &row = folded.row;
    std::string often = row.often;
    if (folded.members.size() > 1)
      often += " x " + std::to_string(folded.members.size());
    table.add({row.op, row.tensor, describeCollective(row), row.group,
               formatBytes(row.bytes), often, shorten(row.reason),
               shorten(row.place)});
  }
  table.write(os);
  double sent = 0;
  for (const TransferRow &row : entry.transfers)
    sent += row.bytesSent;
  size_t count = entry.transfers.size();
  os << "  " << count << (count == 1 ? " transfer" : " transfers")
     << ", of which " << (entry.onHost ? "the host" : "a rank") << " sends "
     << formatBytes(sent) << "\n";
  writeAxes(entry, os);
  writeSent(kCounted, entry.sent, os);
  writeLevels(entry.levels, os);
}

static void writeMemory(const EntryReport &entry, llvm::raw_ostream &os) {
  const MemoryReport &memory = entry.memory;
  os << "  memory of "
     << (entry.onHost        ? "the host"
         : entry.server >= 0 ? "the server"
                             : "a device")
     << " (estimate before fusion)\n";
  Table parts({"parameters", "gradients", "optimizer slots", "other state",
               "inputs", "activations", "communication buffers", "peak"});
  parts.add({formatBytes(memory.parameters), formatBytes(memory.gradients),
             formatBytes(memory.slots), formatBytes(memory.otherState),
             formatBytes(memory.inputs), formatBytes(memory.activations),
             formatBytes(memory.communication), formatBytes(memory.peak)});
  parts.write(os);
  if (memory.planned > 0)
    os << "  planned: " << formatBytes(memory.planned) << ", of which "
       << formatBytes(memory.arena) << " for activations, gradients and buffers"
       << (memory.prepared > 0 ? ", " + formatBytes(memory.prepared) +
                                     " for weights as kernels read them"
                               : std::string())
       << (memory.library > 0 ? ", " + formatBytes(memory.library) +
                                    " as the library's kernels' own"
                              : std::string())
       << (memory.copies > 0 ? ", " + formatBytes(memory.copies) +
                                   " for copies of what it sends"
                             : std::string())
       << (memory.messages > 0
               ? ", " + formatBytes(memory.messages) +
                     " for messages to other processes and sums of theirs"
               : std::string())
       << "\n";
}

static void writeTime(const EntryReport &entry, llvm::raw_ostream &os) {
  bool ofMany =
      entry.stage >= 0 || entry.position >= 0 || !entry.placement.empty();
  os << "  " << formatFlops(entry.flops)
     << (entry.onHost ? " on the host" : " a device") << ", predicted "
     << formatSeconds(entry.predictedSeconds) << " (";
  if (ofMany)
    os << (entry.stage >= 0      ? "this stage computes "
           : entry.position >= 0 ? "this position computes "
           : entry.onHost        ? "the host computes "
                                 : "a device computes ")
       << formatSeconds(entry.predictedComputeSeconds) << ", waits for "
       << (entry.stage >= 0      ? "other stages "
           : entry.position >= 0 ? "other positions "
           : entry.onHost        ? "the devices "
                                 : "the host ")
       << formatSeconds(entry.predictedIdleSeconds) << " and for transfers "
       << formatSeconds(entry.predictedExposedSeconds);
  else
    os << "of which transfers " << formatSeconds(entry.predictedExposedSeconds);
  double hidden =
      entry.predictedTransferSeconds - entry.predictedExposedSeconds;
  if (!ofMany && hidden > 1e-9)
    os << ", and " << formatSeconds(hidden) << " more beside computation";
  os << ")\n";
}

static std::string describeUse(const ServerPartRow &row) {
  if (row.isAssigned)
    return "read by evaluation and steps; its new value, of which the last "
           "stays";
  if (!row.lookedUpBy.empty())
    return "at most: rows that '" + row.lookedUpBy +
           "' looks up, and their gradient with their numbers";
  return "read by the gradients; its gradient, for the update";
}

/// What a worker pulls from the parameter servers, and pushes to them.
static void writeServers(const ExplainReport &report, llvm::raw_ostream &os) {
  if (report.serverParts.empty())
    return;
  // Bytes by server.
  std::map<int64_t, std::pair<int64_t, int64_t>> servers;
  std::map<std::string, std::pair<int64_t, int64_t>> variables;
  int64_t pulled = 0, pushed = 0;
  bool assigns = false, looksUp = false;
  for (const ServerPartRow &row : report.serverParts) {
    servers[row.server].first += row.bytesPulled;
    servers[row.server].second += row.bytesPushed;
    auto &[variablePulled, variablePushed] = variables[row.variable];
    variablePulled += row.bytesPulled;
    variablePushed += row.bytesPushed;
    if (!row.lookedUpBy.empty()) {
      variablePulled = std::min(variablePulled, row.mostPulled);
      variablePushed = std::min(variablePushed, row.mostPushed);
    }
    assigns |= row.isAssigned;
    looksUp |= !row.lookedUpBy.empty();
  }
  for (const auto &[variable, bytes] : variables) {
    pulled += bytes.first;
    pushed += bytes.second;
  }
  os << "parameter servers: " << servers.size() << ", for " << report.workers
     << (report.workers == 1 ? " worker" : " workers") << "\n";
  Table table(
      {"variable", "rows", "type", "server", "pulled", "pushed", "reason"});
  for (const ServerPartRow &row : report.serverParts)
    table.add({row.part,
               row.size == row.rows
                   ? "all"
                   : std::to_string(row.begin) + ".." +
                         std::to_string(row.begin + row.size - 1),
               row.type, std::to_string(row.server),
               formatBytes(row.bytesPulled), formatBytes(row.bytesPushed),
               describeUse(row) +
                   std::string(row.why.empty() ? "" : "; " + row.why)});
  table.write(os);
  const char *most = looksUp ? "at most " : "";
  os << "  a step, a worker pulls " << most << formatBytes(pulled)
     << " of variables and pushes " << most << formatBytes(pushed)
     << " of gradients" << (assigns ? " and new values" : "");
  if (report.workers > 1)
    os << "; all " << report.workers << " workers, "
       << formatBytes(report.workers * pulled) << " and "
       << formatBytes(report.workers * pushed);
  os << "\n  by server: ";
  llvm::interleave(
      servers, os,
      [&](const auto &server) {
        os << server.first << " gives " << formatBytes(server.second.first)
           << " and takes " << formatBytes(server.second.second);
      },
      "; ");
  os << "\n";
}

std::string mlir::dist::formatExplainTable(const ExplainReport &report) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "devices: " << report.ranks << (report.host ? " and a host" : "");
  if (!report.mesh.empty())
    os << " (mesh " << report.mesh
       << (report.processes > 1
               ? "; " + std::to_string(report.processes) + " processes"
               : std::string())
       << ")";
  os << "\n";
  const bool isOne = report.launchSteps == 1;
  std::string steps =
      isOne ? "a step" : std::to_string(report.launchSteps) + " steps";
  writeSent("to agree that " + steps + (isOne ? " begins" : " begin"),
            report.agreement, os);
  writeSent("to tell the others what " + steps + " gave", report.results, os);
  writeServers(report, os);
  for (const EntryReport &entry : report.entries) {
    os << "\n@" << entry.name << "\n";
    if (!entry.pipeline.empty())
      os << "  " << entry.pipeline << "\n";
    for (const std::string &line : {entry.placement, entry.portion})
      if (!line.empty())
        os << "  " << line << "\n";
    if (!entry.compression.empty())
      os << "  compressed: " << entry.compression << "\n";
    writeTransfers(entry, os);
    writeMemory(entry, os);
    writeTime(entry, os);
    if (!entry.recomputed.empty())
      os << "  recomputed in the backward pass: " << entry.recomputed << "; "
         << formatFlops(entry.recomputedFlops) << " of these\n";
  }
  return text;
}
