//===- Explain.cpp - What a program moves, holds and costs -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/Explain.h"
#include "dialects/Dist/IR/AxisParts.h"
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Dist/IR/Portion.h"
#include "dialects/Dist/IR/Processes.h"
#include "dialects/Dist/IR/PulledRows.h"
#include "dialects/Dist/IR/ServerPart.h"
#include "dialects/Dist/IR/Sources.h"
#include "dialects/Dist/IR/Stage.h"
#include "passes/Analysis/PipelineSchedule.h"
#include "dialects/Graph/IR/GraphOrder.h"
#include "dialects/Interfaces/Cost.h"
#include "passes/Analysis/ExplainChain.h"
#include "passes/Analysis/ExplainMemory.h"
#include "passes/Analysis/ExplainOps.h"
#include "passes/Analysis/KnownValues.h"
#include "passes/Analysis/StageAssignment.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Reads one entry.
class EntryExplainer {
public:
  EntryExplainer(func::FuncOp function, MeshOp mesh, SourceCollector &sources)
      : function(function), mesh(mesh), variables(function), sources(sources) {}
  EntryReport run();

private:
  void addTransfer(CollectiveOpInterface op);
  void addArgument(BlockArgument argument);
  void addCosts();

  func::FuncOp function;
  MeshOp mesh;
  PortVariables variables;
  SourceCollector &sources;
  EntryReport report;
};
} // namespace

static std::string describeType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(tensor.getShape(), os, "x");
  os << (tensor.getRank() ? "x" : "") << tensor.getElementType();
  return text;
}

/// `fc1/kernel 784x128xf32`, and how many more a bucket has.
static std::string describeTensors(ValueRange values) {
  constexpr unsigned kShown = 3;
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto [i, value] : llvm::enumerate(values.take_front(kShown))) {
    os << (i ? ", " : "") << getValueName(value) << " "
       << describeType(value.getType());
  }
  if (values.size() > kShown)
    os << " and " << values.size() - kShown << " more";
  return text;
}

void EntryExplainer::addTransfer(CollectiveOpInterface op) {
  // What is received is a row of who sends it.
  if (op.isLocal() || !mesh ||
      (op.crossesPrograms() && op->getNumOperands() == 0))
    return;
  TransferRow row;
  llvm::StringSet<> seen;
  for (Value operand : op->getOperands()) {
    Operation *definition = operand.getDefiningOp();
    std::string name = definition ? definition->getName().stripDialect().str()
                                  : std::string("argument");
    if (seen.insert(name).second)
      row.op += (row.op.empty() ? "" : ", ") + name;
    row.bytes += getByteSize(operand.getType());
    row.types +=
        (row.types.empty() ? "" : ", ") + describeType(operand.getType());
  }
  row.tensor = describeTensors(op->getOperands());
  row.collective = op->getName().stripDialect().str();
  SmallVector<StringAttr> axes = op.getGroupAxes();
  int64_t size = mesh.getGroupSize(axes);
  row.axes = formatAxes(mergeParts(mesh, axes));
  row.group = row.axes + " (" + std::to_string(size) + " ranks" +
              (op.involvesHost() ? " and the host)" : ")");
  row.crossesProcesses = crossesProcesses(mesh, axes);
  row.bytesSent = op.getBytesSent(size);
  row.steps = op.getSteps(size);
  AllReduceAlgorithm algorithm = op.getCall(size).algorithm;
  if (algorithm != AllReduceAlgorithm::Auto)
    row.algorithm = stringifyAllReduceAlgorithm(algorithm).str();
  row.often = function.getSymName().contains("step") ||
                      function.getSymName().contains("apply") ||
                      function.getSymName().contains("gradients")
                  ? "each step"
                  : "each batch";
  row.reason = op.getCollectiveReason().str();
  row.place = op.getCollectiveOrigin().str();
  row.causes = sources.addCauses(op);
  report.transfers.push_back(row);
}

void EntryExplainer::addArgument(BlockArgument argument) {
  int64_t bytes = getByteSize(argument.getType());
  MemoryReport &memory = report.memory;
  graph::VariableOp variable = variables.ofArgument(argument.getArgNumber());
  if (!variable) {
    memory.inputs += bytes;
    return;
  }
  if (variable.getGroup() == "parameter")
    memory.parameters += bytes;
  else if (variable.getGroup() == "slot")
    memory.slots += bytes;
  else
    memory.otherState += bytes;
}

void EntryExplainer::addCosts() {
  llvm::MapVector<StringRef, int64_t> recomputed;
  function.walk([&](CostOpInterface costed) {
    if (isKnown(costed))
      return;
    OpCost cost = costed.getCost();
    report.flops += cost.flops;
    report.bytesMoved += cost.bytesRead + cost.bytesWritten;
    if (costed->hasAttr(graph::kRecomputed)) {
      report.recomputedFlops += cost.flops;
      ++recomputed[costed->getName().stripDialect()];
    }
  });
  for (auto &[name, count] : recomputed)
    report.recomputed += (report.recomputed.empty() ? "" : ", ") +
                         std::to_string(count) + " " + name.str();
}

/// What dist-split-stages says of a stage's function.
static std::string describePipeline(func::FuncOp function) {
  auto pipeline = findStagePipeline(function);
  if (!pipeline || !pipeline->cost)
    return "";
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "stage " << pipeline->stage << " of " << pipeline->shape.stages << ", "
     << pipeline->shape.microbatches << " microbatches by "
     << pipeline->schedule << ", at most "
     << pipeline->cost->inFlight[pipeline->stage]
     << " in flight; equal stages wait "
     << llvm::format("%.0f", 100 * pipeline->cost->bubble) << " % of the time";
  return text;
}

/// What dist-split-portions says of a position's function: whose it is, and how
/// many examples all positions have.
static std::string describePortion(func::FuncOp function) {
  std::optional<Portion> portion = findPortion(function);
  if (!portion)
    return "";
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "position " << portion->position << " along '"
     << portion->axis.getValue() << "', weight "
     << portion->weights[portion->position];
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto dim = function.getArgAttrOfType<IntegerAttr>(i, kBatchDimAttr);
    auto whole =
        function.getArgAttrOfType<TypeAttr>(i, DistDialect::kGlobalType);
    if (!dim || !whole || dim.getInt() < 0)
      continue;
    int64_t size =
        cast<RankedTensorType>(whole.getValue()).getDimSize(dim.getInt());
    os << "; " << portion->axis.getValue() << ": ";
    Portion each = *portion;
    for (each.position = 0; each.position < int64_t(portion->weights.size());
         ++each.position)
      os << (each.position ? " + " : "") << each.getSize(size);
    os << " of " << size << " examples";
    break;
  }
  return text;
}

/// What dist-compress-collectives says of an entry.
static std::string describeCompression(func::FuncOp function) {
  auto compression = function->getAttrOfType<DictionaryAttr>("compression");
  if (!compression)
    return "";
  auto number = [&](StringRef name) {
    return compression.getAs<IntegerAttr>(name).getInt();
  };
  auto bytes = [&](StringRef name) {
    return compression.getAs<FloatAttr>(name).getValueAsDouble();
  };
  double before = bytes("bytes_before"), after = bytes("bytes_after");
  std::string text;
  llvm::raw_string_ostream os(text);
  os << number("compressed") << " of " << number("gradients")
     << " gradients by " << compression.getAs<StringAttr>("method").getValue()
     << " (" << compression.getAs<StringAttr>("what").getValue() << "): a rank "
     << "sends " << llvm::format("%.0f", after) << " bytes instead of "
     << llvm::format("%.0f", before) << ", "
     << llvm::format("%.1f", 100 * after / before)
     << " %; what is left goes into the next step";
  return text;
}

/// What dist-split-host says of a function.
static std::string describePlacement(func::FuncOp function) {
  if (!function->hasAttr(kPlacementAttr))
    return "";
  if (!isOnHost(function))
    return "on each device, which copies what it reads of the host's variables";
  int64_t count = 0, bytes = 0;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (function.getArgAttr(i, kVariableAttr)) {
      ++count;
      bytes += getByteSize(function.getArgumentTypes()[i]);
    }
  return "on the host, while the devices wait: " + std::to_string(count) +
         " variables of " + std::to_string(bytes) +
         " bytes have their one copy there";
}

EntryReport EntryExplainer::run() {
  report.name = report.entry = function.getSymName().str();
  if (auto entry = function->getAttrOfType<StringAttr>(kEntryAttr))
    report.entry = entry.str();
  if (auto stage = function->getAttrOfType<IntegerAttr>(kStageAttr))
    report.stage = stage.getInt();
  report.pipeline = describePipeline(function);
  report.portion = describePortion(function);
  if (std::optional<Portion> portion = findPortion(function))
    report.position = portion->position;
  report.compression = describeCompression(function);
  report.placement = describePlacement(function);
  report.onHost = isOnHost(function);
  for (BlockArgument argument : function.getArguments())
    addArgument(argument);
  function.walk([&](CollectiveOpInterface op) { addTransfer(op); });
  addLiveMemory(function, variables, report.memory);
  addCosts();
  return report;
}

/// The stages of an entry work together.
static std::vector<SmallVector<func::FuncOp>> groupByEntry(ModuleOp module) {
  llvm::MapVector<StringAttr, SmallVector<func::FuncOp>> entries;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal()) {
      auto entry = function->getAttrOfType<StringAttr>(kEntryAttr);
      entries[entry ? entry : function.getSymNameAttr()].push_back(function);
    }
  std::vector<SmallVector<func::FuncOp>> groups;
  for (auto &[name, functions] : entries)
    groups.push_back(functions);
  return groups;
}

/// `all_reduce of fc1.weight`, or what an op is lowered from.
static std::string describeActivity(const Activity &activity) {
  std::string name = getOriginName(activity.op);
  return activity.kind == Activity::Kind::Transfer
             ? activity.op->getName().stripDialect().str() + " of " + name
             : name;
}

static void setTimes(EntryReport &entry, double length,
                     const ProgramTimeline &program) {
  entry.predictedSeconds = length;
  entry.predictedComputeSeconds = program.compute;
  entry.predictedTransferSeconds = program.transfer;
  entry.predictedExposedSeconds = program.exposed;
  entry.predictedIdleSeconds = program.idle;
  entry.spans.clear();
  for (const Activity &activity : program.activities)
    entry.spans.push_back({activity.kind, activity.start, activity.end,
                           describeActivity(activity)});
}

void mlir::dist::predictTimes(ModuleOp module, const MachineModel &machine,
                              ExplainReport &report, PredictFunction predict,
                              bool details) {
  for (auto &functions : groupByEntry(module)) {
    Timeline timeline =
        simulate(functions, findMesh(module), machine, details, predict);
    for (auto [function, program] : llvm::zip(functions, timeline.programs))
      for (EntryReport &entry : report.entries)
        if (entry.name == function.getSymName())
          setTimes(entry, timeline.length, program);
  }
}

/// What parameter servers hold, from the workers' module.
static void addServerParts(ModuleOp module, ExplainReport &report) {
  for (auto variable : module.getOps<graph::VariableOp>()) {
    SmallVector<ServerPart> parts = getServerParts(variable);
    RankedTensorType type = variable.getType();
    std::optional<PulledRows> pulled = findPulledRows(variable);
    for (auto [i, part] : llvm::enumerate(parts)) {
      ServerPartRow row;
      row.variable = variable.getSymName().str();
      row.part = getPartName(row.variable, i, parts.size());
      SmallVector<int64_t> shape(type.getShape());
      row.rows = shape.empty() ? 1 : shape[0];
      if (!shape.empty())
        shape[0] = part.size;
      row.type = describeType(type.clone(shape));
      row.server = part.server;
      row.isAssigned = !variable.getTrainable();
      row.begin = part.begin;
      row.size = part.size;
      // The gradient has the variable's type.
      row.bytesPulled = row.bytesPushed = getByteSize(type.clone(shape));
      if (pulled) {
        RankedTensorType rows =
            module.lookupSymbol<graph::VariableOp>(pulled->rows.getValue())
                .getType();
        int64_t count = rows.getDimSize(0), bytes = getByteSize(rows) / count;
        int64_t most = std::min(count, part.size);
        row.bytesPulled = most * bytes;
        row.bytesPushed = most * (bytes + kPulledNumberBytes);
        row.mostPulled = count * bytes;
        row.mostPushed = count * (bytes + kPulledNumberBytes);
        row.lookedUpBy = llvm::join(
            llvm::map_range(pulled->inputs,
                            [](StringAttr name) { return name.getValue(); }),
            ", ");
      }
      if (auto why = variable->getAttrOfType<DictionaryAttr>(kWhyAttr))
        for (StringRef of :
             {StringRef(kServerPartsAttr), StringRef(kPulledRowsAttr)})
          if (auto text = why.getAs<StringAttr>(of))
            row.why += (row.why.empty() ? "" : "; ") + text.str();
      report.serverParts.push_back(std::move(row));
    }
  }
}

ExplainReport mlir::dist::explain(ModuleOp module, const MachineModel &machine,
                                  bool details) {
  ExplainReport report;
  report.transfers = machine.transfers;
  MeshOp mesh = findMesh(module);
  if (mesh) {
    report.ranks = mesh.getNumRanks();
    report.processes = getNumProcesses(mesh);
    report.host = mesh.getHost();
    for (auto [axis, size] : getWholeAxes(mesh))
      report.mesh += (report.mesh.empty() ? "" : ",") + axis.str() + "=" +
                     std::to_string(size);
  }
  SourceCollector sources(mesh, report.sources);
  for (auto &functions : groupByEntry(module)) {
    Timeline timeline = simulate(functions, mesh, machine, details);
    for (auto [function, program] : llvm::zip(functions, timeline.programs)) {
      EntryReport entry = EntryExplainer(function, mesh, sources).run();
      setTimes(entry, timeline.length, program);
      if (details)
        entry.ops = listOps(function, program);
      report.entries.push_back(std::move(entry));
    }
  }
  addServerParts(module, report);
  return report;
}

MemoryReport mlir::dist::explainMemory(func::FuncOp function) {
  auto module = function->getParentOfType<ModuleOp>();
  MeshOp mesh = findMesh(module);
  std::vector<SourceRow> rows;
  SourceCollector sources(mesh, rows);
  return EntryExplainer(function, mesh, sources).run().memory;
}
