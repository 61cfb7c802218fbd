//===- ExplainJson.cpp - An explanation as JSON -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/ExplainJson.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::dist;

llvm::json::Array mlir::dist::formatChains(const ExplainReport &report,
                                           const TransferRow &row) {
  llvm::json::Array chains;
  for (int64_t cause : getMainCauses(report, row)) {
    llvm::json::Array steps;
    for (const ChainStep &step : getChain(report, cause)) {
      const SourceRow &source = step.source;
      llvm::json::Object object{{"axis", source.axis}, {"value", source.value}};
      if (source.dim >= 0)
        object["dim"] = source.dim;
      if (source.op.empty()) {
        object["decision"] = source.place;
      } else {
        object["op"] = source.op;
        object["place"] = source.place;
      }
      if (step.times > 1)
        object["times"] = int64_t(step.times);
      steps.push_back(std::move(object));
    }
    chains.push_back(std::move(steps));
  }
  return chains;
}

static llvm::json::Array formatTraffic(ArrayRef<ProcessTraffic> processes) {
  llvm::json::Array rows;
  for (const ProcessTraffic &one : processes)
    rows.push_back(
        llvm::json::Object{{"messages", one.messages}, {"bytes", one.bytes}});
  return rows;
}

static llvm::json::Array formatLevels(ArrayRef<LevelTraffic> levels) {
  llvm::json::Array rows;
  for (const LevelTraffic &one : levels)
    rows.push_back(llvm::json::Object{{"level", one.level},
                                      {"messages", one.all.messages},
                                      {"bytes", one.all.bytes},
                                      {"most_messages", one.most.messages},
                                      {"most_bytes", one.most.bytes}});
  return rows;
}

std::string mlir::dist::formatExplainJson(const ExplainReport &report) {
  llvm::json::Array entries;
  for (const EntryReport &entry : report.entries) {
    llvm::json::Array transfers;
    for (const TransferRow &row : entry.transfers)
      transfers.push_back(
          llvm::json::Object{{"op", row.op},
                             {"tensor", row.tensor},
                             {"collective", row.collective},
                             {"algorithm", row.algorithm},
                             {"steps", row.steps},
                             {"group", row.group},
                             {"axes", row.axes},
                             {"between_processes", row.crossesProcesses},
                             {"bytes", row.bytes},
                             {"bytes_sent", row.bytesSent},
                             {"often", row.often},
                             {"reason", row.reason},
                             {"place", row.place},
                             {"chains", formatChains(report, row)},
                             {"causes", llvm::json::Array(row.causes)}});
    const MemoryReport &memory = entry.memory;
    entries.push_back(llvm::json::Object{
        {"entry", entry.name},
        {"of", entry.entry},
        {"stage", entry.stage < 0 ? llvm::json::Value(nullptr)
                                  : llvm::json::Value(entry.stage)},
        {"pipeline", entry.pipeline},
        {"compression", entry.compression},
        {"placement", entry.placement},
        {"server", entry.server < 0 ? llvm::json::Value(nullptr)
                                    : llvm::json::Value(entry.server)},
        {"portion", entry.portion},
        {"transfers", std::move(transfers)},
        {"sent", formatTraffic(entry.sent)},
        {"levels", formatLevels(entry.levels)},
        {"memory", llvm::json::Object{{"parameters", memory.parameters},
                                      {"gradients", memory.gradients},
                                      {"slots", memory.slots},
                                      {"other_state", memory.otherState},
                                      {"inputs", memory.inputs},
                                      {"activations", memory.activations},
                                      {"communication", memory.communication},
                                      {"peak", memory.peak},
                                      {"prepared", memory.prepared},
                                      {"library", memory.library},
                                      {"copies", memory.copies},
                                      {"messages", memory.messages},
                                      {"arena", memory.arena},
                                      {"planned", memory.planned}}},
        {"flops", entry.flops},
        {"recomputed", entry.recomputed},
        {"recomputed_flops", entry.recomputedFlops},
        {"bytes_moved", entry.bytesMoved},
        {"predicted_ms", entry.predictedSeconds * 1e3},
        {"predicted_compute_ms", entry.predictedComputeSeconds * 1e3},
        {"predicted_transfer_ms", entry.predictedTransferSeconds * 1e3},
        {"predicted_exposed_ms", entry.predictedExposedSeconds * 1e3},
        {"predicted_idle_ms", entry.predictedIdleSeconds * 1e3}});
  }
  llvm::json::Array sources;
  for (const SourceRow &source : report.sources)
    sources.push_back(llvm::json::Object{
        {"axis", source.axis},
        {"value", source.value},
        {"dim", source.dim < 0 ? llvm::json::Value(nullptr)
                               : llvm::json::Value(source.dim)},
        {source.op.empty() ? "decision" : "place", source.place},
        {"op", source.op},
        {"from", source.from < 0 ? llvm::json::Value(nullptr)
                                 : llvm::json::Value(source.from)}});
  llvm::json::Array parts;
  for (const ServerPartRow &row : report.serverParts)
    parts.push_back(llvm::json::Object{{"variable", row.variable},
                                       {"part", row.part},
                                       {"type", row.type},
                                       {"server", row.server},
                                       {"begin", row.begin},
                                       {"size", row.size},
                                       {"bytes_pulled", row.bytesPulled},
                                       {"bytes_pushed", row.bytesPushed},
                                       {"assigned", row.isAssigned},
                                       {"looked_up_by", row.lookedUpBy},
                                       {"why", row.why}});
  llvm::json::Value value =
      llvm::json::Object{{"devices", report.ranks},
                         {"mesh", report.mesh},
                         {"processes", report.processes},
                         {"entries", std::move(entries)},
                         {"agreement", formatTraffic(report.agreement)},
                         {"results", formatTraffic(report.results)},
                         {"launch_steps", report.launchSteps},
                         {"server_parts", std::move(parts)},
                         {"workers", report.workers},
                         {"sources", std::move(sources)}};
  return llvm::formatv("{0:2}\n", value);
}
