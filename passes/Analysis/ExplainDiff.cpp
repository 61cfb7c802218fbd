//===- ExplainDiff.cpp - Two strategies beside each other -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/Explain.h"
#include "passes/Analysis/ExplainUnits.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// An entry under one strategy. Of a pipeline: all stages' transfers, and what
/// the stage that needs most of something needs.
struct Side {
  std::vector<TransferRow> transfers;
  std::map<std::string, double> figures;
};

/// What is compared, in its order.
struct Figure {
  const char *name, *title;
  double (*get)(const EntryReport &entry);
  std::string (*format)(double);
};

struct EntryDiff {
  std::string name;
  Side a, b;
  std::vector<TransferRow> onlyA, onlyB;
  std::vector<std::pair<TransferRow, TransferRow>> changed;
};
} // namespace

static double getSent(const EntryReport &entry) {
  double sent = 0;
  for (const TransferRow &row : entry.transfers)
    sent += row.bytesSent;
  return sent;
}

/// What a device holds; the host's is no device's.
template <int64_t MemoryReport::*part>
static double getHeld(const EntryReport &entry) {
  return entry.onHost ? 0 : double(entry.memory.*part);
}

static const Figure figures[] = {
    {"bytes_sent", "a rank sends", getSent, formatBytes},
    {"parameters", "parameters", getHeld<&MemoryReport::parameters>,
     formatBytes},
    {"gradients", "gradients", getHeld<&MemoryReport::gradients>, formatBytes},
    {"slots", "optimizer slots", getHeld<&MemoryReport::slots>, formatBytes},
    {"other_state", "other state", getHeld<&MemoryReport::otherState>,
     formatBytes},
    {"inputs", "inputs", getHeld<&MemoryReport::inputs>, formatBytes},
    {"activations", "activations", getHeld<&MemoryReport::activations>,
     formatBytes},
    {"communication", "communication buffers",
     getHeld<&MemoryReport::communication>, formatBytes},
    {"peak", "peak", getHeld<&MemoryReport::peak>, formatBytes},
    {"planned", "planned memory", getHeld<&MemoryReport::planned>, formatBytes},
    {"host_peak", "peak of the host",
     [](const EntryReport &e) {
       return e.onHost ? double(e.memory.peak) : 0.0;
     },
     formatBytes},
    {"flops", "computes",
     [](const EntryReport &e) { return e.onHost ? 0 : e.flops; }, formatFlops},
    {"predicted_seconds", "predicted",
     [](const EntryReport &e) { return e.predictedSeconds; }, formatSeconds},
    {"exposed_seconds", "waits for transfers",
     [](const EntryReport &e) { return e.predictedExposedSeconds; },
     formatSeconds},
    {"idle_seconds", "waits for others",
     [](const EntryReport &e) { return e.onHost ? 0 : e.predictedIdleSeconds; },
     formatSeconds},
};

/// What makes two transfers the same one under two strategies.
static std::string getKey(const TransferRow &row) {
  return row.collective + "\n" + row.group.substr(0, row.group.find(' ')) +
         "\n" + row.place;
}

static bool isSame(const TransferRow &a, const TransferRow &b) {
  return a.bytes == b.bytes && a.bytesSent == b.bytesSent &&
         a.tensor == b.tensor && a.group == b.group && a.often == b.often;
}

static std::vector<EntryDiff> diff(const ExplainReport &a,
                                   const ExplainReport &b) {
  llvm::MapVector<std::string, EntryDiff, std::map<std::string, unsigned>> all;
  auto add = [&](const ExplainReport &report, Side EntryDiff::*side) {
    for (const EntryReport &entry : report.entries) {
      EntryDiff &one = all[entry.entry];
      one.name = entry.entry;
      Side &mine = one.*side;
      // Positions with portions of the examples all meet in the same ones.
      if (entry.position <= 0)
        mine.transfers.insert(mine.transfers.end(), entry.transfers.begin(),
                              entry.transfers.end());
      for (const Figure &figure : figures) {
        double &value = mine.figures[figure.name];
        value = std::max(value, figure.get(entry));
      }
    }
  };
  add(a, &EntryDiff::a);
  add(b, &EntryDiff::b);
  std::vector<EntryDiff> entries;
  for (auto &[name, entry] : all) {
    // Of several alike, the first of one belongs to the first of the other.
    std::map<std::string, std::vector<const TransferRow *>> others;
    for (const TransferRow &row : llvm::reverse(entry.b.transfers))
      others[getKey(row)].push_back(&row);
    for (const TransferRow &row : entry.a.transfers) {
      auto &list = others[getKey(row)];
      if (list.empty()) {
        entry.onlyA.push_back(row);
        continue;
      }
      if (!isSame(row, *list.back()))
        entry.changed.push_back({row, *list.back()});
      list.pop_back();
    }
    for (const TransferRow &row : entry.b.transfers) {
      auto &list = others[getKey(row)];
      if (llvm::is_contained(list, &row))
        entry.onlyB.push_back(row);
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

static void writeRows(llvm::raw_ostream &os, const std::string &title,
                      ArrayRef<TransferRow> rows) {
  if (rows.empty())
    return;
  double sent = 0;
  for (const TransferRow &row : rows)
    sent += row.bytesSent;
  os << "  " << title << ": " << rows.size()
     << (rows.size() == 1 ? " transfer, " : " transfers, ") << formatBytes(sent)
     << " sent\n";
  Table table({"collective", "group", "bytes", "often", "tensor"});
  for (const FoldedTransfer &folded : foldTransfers(rows)) {
    const TransferRow &row = folded.row;
    std::string often = row.often;
    if (folded.members.size() > 1)
      often += " x " + std::to_string(folded.members.size());
    table.add(
        {row.collective, row.group, formatBytes(row.bytes), often, row.tensor});
  }
  table.write(os);
}

static std::string formatChange(double a, double b) {
  if (a == b)
    return "same";
  if (a == 0 || b == 0)
    return a == 0 ? "new" : "gone";
  constexpr double kTimes = 10; // from there on percents say little
  if (b >= kTimes * a)
    return llvm::formatv("{0:F0} x", b / a);
  return llvm::formatv("{0}{1:F0} %", b > a ? "+" : "-",
                       std::abs(b / a - 1) * 100);
}

std::string mlir::dist::formatDiffTable(const ComparedStrategy &a,
                                        const ComparedStrategy &b) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto [letter, side] : {std::pair("A", &a), std::pair("B", &b)}) {
    os << letter << ": " << side->name << ", devices " << side->report.ranks;
    if (!side->report.mesh.empty())
      os << " (mesh " << side->report.mesh << ")";
    os << "\n";
  }
  for (const EntryDiff &entry : diff(a.report, b.report)) {
    os << "\n@" << entry.name << "\n";
    size_t same =
        entry.a.transfers.size() - entry.onlyA.size() - entry.changed.size();
    os << "  the same in both: " << same
       << (same == 1 ? " transfer\n" : " transfers\n");
    writeRows(os, "only in A", entry.onlyA);
    writeRows(os, "only in B", entry.onlyB);
    std::vector<TransferRow> before, after;
    for (const auto &[one, other] : entry.changed) {
      before.push_back(one);
      after.push_back(other);
    }
    writeRows(os, "changed, in A", before);
    writeRows(os, "changed, in B", after);
    Table table({"of a device", "A", "B", "B against A"});
    for (const Figure &figure : figures) {
      double mine = entry.a.figures.count(figure.name)
                        ? entry.a.figures.at(figure.name)
                        : 0;
      double theirs = entry.b.figures.count(figure.name)
                          ? entry.b.figures.at(figure.name)
                          : 0;
      if (mine || theirs)
        table.add({figure.title, figure.format(mine), figure.format(theirs),
                   formatChange(mine, theirs)});
    }
    table.write(os);
  }
  return text;
}

static llvm::json::Object formatRow(const TransferRow &row) {
  return llvm::json::Object{{"op", row.op},
                            {"tensor", row.tensor},
                            {"collective", row.collective},
                            {"group", row.group},
                            {"bytes", row.bytes},
                            {"bytes_sent", row.bytesSent},
                            {"often", row.often},
                            {"reason", row.reason},
                            {"place", row.place}};
}

std::string mlir::dist::formatDiffJson(const ComparedStrategy &a,
                                       const ComparedStrategy &b) {
  auto describe = [](const ComparedStrategy &side) {
    return llvm::json::Object{{"strategy", side.name},
                              {"devices", side.report.ranks},
                              {"mesh", side.report.mesh}};
  };
  llvm::json::Array entries;
  for (EntryDiff &entry : diff(a.report, b.report)) {
    auto list = [](ArrayRef<TransferRow> rows) {
      llvm::json::Array all;
      for (const TransferRow &row : rows)
        all.push_back(formatRow(row));
      return all;
    };
    llvm::json::Array changed;
    for (const auto &[one, other] : entry.changed)
      changed.push_back(
          llvm::json::Object{{"a", formatRow(one)}, {"b", formatRow(other)}});
    llvm::json::Object all{{"entry", entry.name},
                           {"only_in_a", list(entry.onlyA)},
                           {"only_in_b", list(entry.onlyB)},
                           {"changed", std::move(changed)}};
    for (const Figure &figure : figures)
      all[figure.name] =
          llvm::json::Object{{"a", entry.a.figures[figure.name]},
                             {"b", entry.b.figures[figure.name]}};
    entries.push_back(std::move(all));
  }
  llvm::json::Value value = llvm::json::Object{
      {"a", describe(a)}, {"b", describe(b)}, {"entries", std::move(entries)}};
  return llvm::formatv("{0:2}\n", value);
}
