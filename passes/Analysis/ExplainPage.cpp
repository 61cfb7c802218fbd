//===- ExplainPage.cpp - An explanation as one page -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The page's data: the report, folded and thinned out so that a page of a model
// of many layers stays small. How it looks stands in ExplainPageTemplate.h.
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/ExplainPageTemplate.h"
#include "passes/Analysis/ExplainJson.h"
#include "passes/Analysis/Fold.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace mlir;
using namespace mlir::dist;
using llvm::json::Array;
using llvm::json::Object;
using Json = llvm::json::Value;

/// How finely times are drawn.
static constexpr double kSteps = 600;

namespace {
/// A bar of a lane; neighbours of a kind are one while that is short.
struct Bar {
  char kind;
  double start, end;
  std::string first, last;
};

class Lane {
public:
  explicit Lane(double length) : shortest(length / kSteps) {}
  void add(char kind, double start, double end, StringRef name) {
    if (end <= start)
      return;
    if (!bars.empty()) {
      Bar &back = bars.back();
      if (back.kind == kind && start - back.end < shortest / 4 &&
          end - back.start < 4 * shortest) {
        back.end = end;
        back.last = name.str();
        return;
      }
    }
    bars.push_back({kind, start, end, name.str(), name.str()});
  }
  Array format() const {
    Array list;
    for (const Bar &bar : bars)
      list.push_back(Array{
          std::string(1, bar.kind), bar.start, bar.end,
          bar.first == bar.last ? bar.first : bar.first + " ... " + bar.last});
    return list;
  }

private:
  double shortest;
  std::vector<Bar> bars;
};
} // namespace

/// As the page's script calls it.
static char getLetter(Activity::Kind kind) {
  switch (kind) {
  case Activity::Kind::Compute:
    return 'c';
  case Activity::Kind::Transfer:
    return 't';
  case Activity::Kind::Exposed:
    return 'x';
  case Activity::Kind::Idle:
    return 'i';
  }
  llvm_unreachable("no other kinds");
}

static Array formatSpans(const EntryReport &entry) {
  Lane computes(entry.predictedSeconds), moves(entry.predictedSeconds);
  for (const Span &span : entry.spans)
    (span.kind == Activity::Kind::Transfer ? moves : computes)
        .add(getLetter(span.kind), span.start, span.end, span.name);
  Array all = computes.format();
  for (Json &span : moves.format())
    all.push_back(std::move(span));
  return all;
}

/// When, activations, gradients and buffers: the largest of each of `kSteps`
/// parts.
static Array formatLive(const EntryReport &entry) {
  Array points;
  double length = entry.predictedSeconds, begin = -1;
  int64_t activations = 0, others = 0;
  auto flush = [&] {
    if (begin >= 0)
      points.push_back(Array{begin * length, activations, others});
  };
  for (const OpDetail &op : entry.ops) {
    if (begin < 0 || op.when - begin >= 1 / kSteps) {
      flush();
      begin = op.when;
      activations = others = 0;
    }
    activations = std::max(activations, op.activations);
    others = std::max(others, op.others);
  }
  flush();
  return points;
}

static Array formatTransfers(const ExplainReport &report,
                             const EntryReport &entry) {
  Array list;
  for (const FoldedTransfer &folded : foldTransfers(entry.transfers)) {
    const TransferRow &row = folded.row;
    constexpr size_t kShown = 4;
    double sent = 0;
    for (size_t member : folded.members)
      sent += entry.transfers[member].bytesSent;
    list.push_back(Object{{"collective", row.collective},
                          {"group", row.group},
                          {"tensor", row.tensor},
                          {"bytes", row.bytes},
                          {"times", int64_t(folded.members.size())},
                          {"sent", sent},
                          {"reason", foldList(row.reason, "; ", kShown)},
                          {"place", foldList(row.place, "; ", kShown)},
                          {"chains", formatChains(report, row)}});
  }
  return list;
}

/// The ops, repeated layers once; what does not repeat in parts that a reader
/// can take in.
static Array formatProgram(const EntryReport &entry) {
  constexpr size_t kLargest = 60;
  llvm::StringMap<unsigned> numbers;
  std::vector<unsigned> keys;
  for (const OpDetail &op : entry.ops)
    keys.push_back(numbers
                       .try_emplace(op.kind + "\n" + getNamePattern(op.name) +
                                        "\n" + op.type + "\n" + op.sharding,
                                    numbers.size())
                       .first->second);
  Array parts;
  auto add = [&](size_t begin, size_t period, size_t times) {
    Array ops;
    int64_t moves = 0;
    std::string from, to;
    for (size_t i = begin; i < begin + period; ++i) {
      SmallVector<StringRef> names;
      for (size_t copy = 0; copy < times; ++copy)
        names.push_back(entry.ops[i + copy * period].name);
      const OpDetail &op = entry.ops[i];
      std::string name = foldNames(names);
      if (i == begin)
        from = name;
      to = name;
      moves += op.transfer >= 0;
      ops.push_back(Object{{"name", name},
                           {"kind", op.kind},
                           {"type", op.type},
                           {"sharding", op.sharding},
                           {"moves", op.transfer >= 0}});
    }
    parts.push_back(Object{{"from", from},
                           {"to", to},
                           {"times", int64_t(times)},
                           {"moves", moves},
                           {"ops", std::move(ops)}});
  };
  for (const FoldedRun &run : foldRuns(keys)) {
    if (run.times > 1) {
      add(run.begin, run.period, run.times);
      continue;
    }
    for (size_t i = 0; i < run.period; i += kLargest)
      add(run.begin + i, std::min(kLargest, run.period - i), 1);
  }
  return parts;
}

/// Which program of the entry it is; empty: it has but this one.
static std::string getLabel(const EntryReport &entry) {
  if (entry.stage >= 0)
    return "stage " + std::to_string(entry.stage);
  if (entry.position >= 0)
    return "position " + std::to_string(entry.position);
  return entry.onHost ? "the host" : entry.placement.empty() ? "" : "a device";
}

/// As they stand in the table.
static Array formatNotes(const EntryReport &entry) {
  Array notes;
  for (const auto &[title, text] :
       {std::pair("", entry.pipeline), std::pair("", entry.placement),
        std::pair("", entry.portion),
        std::pair("compressed: ", entry.compression),
        std::pair("recomputed in the backward pass: ", entry.recomputed)})
    if (!text.empty())
      notes.push_back(title + text);
  return notes;
}

static Object formatEntry(const ExplainReport &report,
                          const EntryReport &entry) {
  const MemoryReport &memory = entry.memory;
  double sent = 0;
  for (const TransferRow &row : entry.transfers)
    sent += row.bytesSent;
  return Object{{"name", entry.name},
                {"entry", entry.entry},
                {"label", getLabel(entry)},
                {"host", entry.onHost},
                {"notes", formatNotes(entry)},
                {"seconds", entry.predictedSeconds},
                {"compute", entry.predictedComputeSeconds},
                {"transfer", entry.predictedTransferSeconds},
                {"exposed", entry.predictedExposedSeconds},
                {"idle", entry.predictedIdleSeconds},
                {"flops", entry.flops},
                {"sent", sent},
                {"count", int64_t(entry.transfers.size())},
                {"memory", Object{{"parameters", memory.parameters},
                                  {"slots", memory.slots},
                                  {"other", memory.otherState},
                                  {"inputs", memory.inputs},
                                  {"peak", memory.peak},
                                  {"needed", memory.getNeeded()}}},
                {"spans", formatSpans(entry)},
                {"live", formatLive(entry)},
                {"transfers", formatTransfers(report, entry)},
                {"program", formatProgram(entry)}};
}

/// A Chrome trace as lanes, one a rank; null if it has no events.
static FailureOr<Json> readTrace(StringRef text, std::string &error) {
  llvm::Expected<Json> parsed = llvm::json::parse(text);
  if (!parsed) {
    error = "it is no JSON: " + llvm::toString(parsed.takeError());
    return failure();
  }
  const Object *object = parsed->getAsObject();
  const Array *events = object ? object->getArray("traceEvents") : nullptr;
  if (!events) {
    error = "expected \"traceEvents\", as dist-run --trace writes them";
    return failure();
  }
  struct Event {
    double start, end;
    std::string name;
    char kind;
  };
  std::map<int64_t, std::vector<Event>> ranks;
  std::map<int64_t, std::vector<double>> steps; // when they began, by rank
  double begin = std::numeric_limits<double>::infinity(), end = -begin;
  int64_t count = 0;
  for (const Json &value : *events) {
    const Object *event = value.getAsObject();
    if (!event || event->getString("ph").value_or("") != "X")
      continue;
    double start = event->getNumber("ts").value_or(0) * 1e-6;
    double stop = start + event->getNumber("dur").value_or(0) * 1e-6;
    StringRef category = event->getString("cat").value_or("");
    if (category == "step") {
      // What is in it follows.
      steps[event->getInteger("tid").value_or(0)].push_back(start);
      continue;
    }
    char kind = category == "wait"                                  ? 'x'
                : category == "collective" || category == "started" ? 't'
                                                                    : 'c';
    ranks[event->getInteger("tid").value_or(0)].push_back(
        {start, stop, event->getString("name").value_or("").str(), kind});
    begin = std::min(begin, start);
    end = std::max(end, stop);
    ++count;
  }
  if (count == 0) {
    error = "it has no events; dist-run fit --trace FILE writes some";
    return failure();
  }
  Array lanes;
  for (auto &[rank, list] : ranks) {
    llvm::sort(
        list, [](const Event &a, const Event &b) { return a.start < b.start; });
    Lane lane(end - begin);
    double compute = 0, transfer = 0;
    for (const Event &event : list) {
      (event.kind == 'c' ? compute : transfer) += event.end - event.start;
      lane.add(event.kind, event.start - begin, event.end - begin, event.name);
    }
    lanes.push_back(Object{{"rank", rank},
                           {"compute", compute},
                           {"transfer", transfer},
                           {"spans", lane.format()}});
  }
  Array marks;
  if (!steps.empty())
    for (double start : steps.begin()->second)
      marks.push_back(std::clamp(start - begin, 0.0, end - begin));
  return Json(Object{{"events", count},
                     {"seconds", end - begin},
                     {"steps", std::move(marks)},
                     {"ranks", std::move(lanes)}});
}

FailureOr<std::string>
mlir::dist::formatExplainPage(const ExplainReport &report,
                              const PageOptions &options, std::string &error) {
  Object data{
      {"devices", report.ranks}, {"host", report.host}, {"mesh", report.mesh}};
  Array entries;
  for (const EntryReport &entry : report.entries)
    entries.push_back(formatEntry(report, entry));
  data["entries"] = std::move(entries);
  if (!options.trace.empty()) {
    FailureOr<Json> trace = readTrace(options.trace, error);
    if (failed(trace))
      return failure();
    data["measured"] = std::move(*trace);
  }
  std::string json, title;
  llvm::raw_string_ostream(json) << Json(std::move(data));
  llvm::raw_string_ostream titleStream(title);
  llvm::printHTMLEscaped(options.title, titleStream);
  std::string page = kPageHead;
  for (size_t at; (at = page.find("@TITLE@")) != std::string::npos;)
    page.replace(at, 7, title);
  // Text of the model must not end the element that it stands in.
  for (char c : json)
    if (c == '<')
      page += "\\u003c";
    else
      page += c;
  return page + kPageScript;
}
