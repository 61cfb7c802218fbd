//===- ExplainText.cpp - An explanation as a table and as JSON -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/Explain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::dist;

static std::string formatBytes(double bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  unsigned unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? llvm::formatv("{0} B", int64_t(bytes)).str()
                   : llvm::formatv("{0:f1} {1}", bytes, units[unit]).str();
}

static std::string formatSeconds(double seconds) {
  if (seconds >= 1)
    return llvm::formatv("{0:f2} s", seconds);
  if (seconds >= 1e-3)
    return llvm::formatv("{0:f2} ms", seconds * 1e3);
  return llvm::formatv("{0:f1} us", seconds * 1e6);
}

static std::string formatFlops(double flops) {
  if (flops >= 1e9)
    return llvm::formatv("{0:f2} GFLOP", flops / 1e9);
  if (flops >= 1e6)
    return llvm::formatv("{0:f2} MFLOP", flops / 1e6);
  return llvm::formatv("{0} FLOP", int64_t(flops));
}

namespace {
/// Rows of cells, written with aligned columns.
class Table {
public:
  explicit Table(std::vector<std::string> header) { add(std::move(header)); }
  void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }
  void write(llvm::raw_ostream &os) const {
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

private:
  std::vector<std::vector<std::string>> rows;
};
} // namespace

std::string mlir::dist::formatExplainTable(const ExplainReport &report) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "devices: " << report.ranks;
  if (!report.mesh.empty())
    os << " (mesh " << report.mesh << ")";
  os << "\n";
  for (const EntryReport &entry : report.entries) {
    os << "\n@" << entry.name << "\n";
    if (!entry.pipeline.empty())
      os << "  " << entry.pipeline << "\n";
    if (entry.transfers.empty()) {
      os << "  no transfers\n";
    } else {
      Table table({"op", "tensor", "collective", "group", "bytes", "often",
                   "reason", "place"});
      for (const TransferRow &row : entry.transfers)
        table.add({row.op, row.tensor, row.collective, row.group,
                   formatBytes(row.bytes), row.often, row.reason, row.place});
      table.write(os);
    }
    const MemoryReport &memory = entry.memory;
    os << "  memory of a device (estimate before fusion)\n";
    Table parts({"parameters", "gradients", "optimizer slots", "other state",
                 "inputs", "activations", "communication buffers", "peak"});
    parts.add({formatBytes(memory.parameters), formatBytes(memory.gradients),
               formatBytes(memory.slots), formatBytes(memory.otherState),
               formatBytes(memory.inputs), formatBytes(memory.activations),
               formatBytes(memory.communication), formatBytes(memory.peak)});
    parts.write(os);
    os << "  " << formatFlops(entry.flops) << " a device, predicted "
       << formatSeconds(entry.predictedSeconds) << " (of which transfers "
       << formatSeconds(entry.predictedTransferSeconds) << ")\n";
  }
  return text;
}

std::string mlir::dist::formatExplainJson(const ExplainReport &report) {
  llvm::json::Array entries;
  for (const EntryReport &entry : report.entries) {
    llvm::json::Array transfers;
    for (const TransferRow &row : entry.transfers)
      transfers.push_back(llvm::json::Object{{"op", row.op},
                                             {"tensor", row.tensor},
                                             {"collective", row.collective},
                                             {"group", row.group},
                                             {"bytes", row.bytes},
                                             {"bytes_sent", row.bytesSent},
                                             {"often", row.often},
                                             {"reason", row.reason},
                                             {"place", row.place}});
    const MemoryReport &memory = entry.memory;
    entries.push_back(llvm::json::Object{
        {"entry", entry.name},
        {"pipeline", entry.pipeline},
        {"transfers", std::move(transfers)},
        {"memory", llvm::json::Object{{"parameters", memory.parameters},
                                      {"gradients", memory.gradients},
                                      {"slots", memory.slots},
                                      {"other_state", memory.otherState},
                                      {"inputs", memory.inputs},
                                      {"activations", memory.activations},
                                      {"communication", memory.communication},
                                      {"peak", memory.peak}}},
        {"flops", entry.flops},
        {"bytes_moved", entry.bytesMoved},
        {"predicted_ms", entry.predictedSeconds * 1e3},
        {"predicted_transfer_ms", entry.predictedTransferSeconds * 1e3}});
  }
  llvm::json::Value value = llvm::json::Object{{"devices", report.ranks},
                                               {"mesh", report.mesh},
                                               {"entries", std::move(entries)}};
  return llvm::formatv("{0:2}\n", value);
}
