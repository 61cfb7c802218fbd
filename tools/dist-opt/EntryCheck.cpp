//===- EntryCheck.cpp - Compiled entries against the evaluator ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-opt/EntryCheck.h"
#include "tools/dist-opt/Replay.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;

/// Roundings inside an entry are as many as its ops: results may differ by so
/// many times what they move by those of the arguments alone.
static constexpr double kMovedTimes = 8;

LogicalResult EntryChecker::compile() {
  OwningOpRef<ModuleOp> programs(local.clone());
  OwningOpRef<ModuleOp> shown(few ? few.clone() : ModuleOp());
  LoweringOptions lowering = options;
  lowering.addFiles = nullptr;
  return lowerToPackage(*programs, lowering, folder + "/program", shown.get());
}

static std::string getSliceName(const EntryCase &test,
                                const EntryCase::Slice &slice) {
  return test.name + "/slice/" + std::to_string(slice.rank) + "/" +
         slice.variable;
}

LogicalResult EntryChecker::read(const ::dist::SafetensorsFile &results,
                                 const EntryCase &test, const EntryCase *moved,
                                 std::vector<Comparison> &list) {
  auto add = [&](const std::string &name, std::string what,
                 const HostTensor &expected, const HostTensor *other) {
    HostTensor actual(expected.getType());
    status = readResult(results, name, expected.getType(), &actual);
    list.push_back({std::move(what), expected, std::move(actual), other});
    return success(status.ok());
  };
  for (auto [i, output] : llvm::enumerate(test.outputs))
    if (failed(add(test.name + "/" + std::to_string(i), "'" + output.name + "'",
                   output.expected,
                   moved ? &moved->outputs[i].expected : nullptr)))
      return failure();
  for (auto [i, slice] : llvm::enumerate(test.slices))
    if (failed(add(getSliceName(test, slice),
                   "'" + slice.variable + "' on rank " +
                       std::to_string(slice.rank),
                   slice.after, moved ? &moved->slices[i].after : nullptr)))
      return failure();
  return success();
}

EntryChecker::Found EntryChecker::compare(const EntryCase &test,
                                          ArrayRef<Comparison> list) {
  Found found;
  found.entry = test.name;
  found.programs = test.programs;
  for (const Comparison &one : list) {
    ++found.compared;
    double scale = 0, reach = 0, worst = 0;
    int64_t at = 0;
    // One of the two only, or on the other side: as far as can be.
    auto distance = [](double a, double b) {
      double difference =
          a == b || (std::isnan(a) && std::isnan(b)) ? 0 : std::fabs(a - b);
      return std::isnan(difference) ? std::numeric_limits<double>::infinity()
                                    : difference;
    };
    for (int64_t i = 0, e = one.expected.getNumElements(); i < e; ++i) {
      double want = one.expected.getDouble(i);
      if (std::isfinite(want))
        scale = std::max(scale, std::fabs(want));
      if (one.moved)
        reach = std::max(reach, distance(want, one.moved->getDouble(i)));
      double difference = distance(want, one.actual.getDouble(i));
      if (difference > worst) {
        worst = difference;
        at = i;
      }
    }
    double relative = worst == 0 ? 0 : worst / std::max(scale, 1e-6);
    if (relative > found.largest) {
      found.largest = relative;
      found.at = one.name;
    }
    double allowed = std::max(
        one.expected.isFloat() ? test.tolerance * std::max(scale, 1e-6) : 0,
        kMovedTimes * reach);
    if (worst <= allowed || !found.first.empty())
      continue;
    found.first = one.name;
    found.index = one.expected.delinearize(at);
    found.expected = one.expected.getDouble(at);
    found.actual = one.actual.getDouble(at);
    found.difference = relative;
  }
  return found;
}

LogicalResult EntryChecker::run(const EntryPrograms &programs,
                                const EntryCase &test) {
  std::string cases = folder + "/entry.safetensors";
  ReplayFile file(cases);
  file.addEntry(test.name);
  for (auto [i, input] : llvm::enumerate(test.inputs))
    file.add(test.name + "/" + std::to_string(i), input);
  for (const EntryCase::Slice &slice : test.slices)
    file.add(getSliceName(test, slice), slice.before);
  if (status = file.finish(); !status.ok())
    return failure();
  std::unique_ptr<::dist::SafetensorsFile> results;
  if (status = replay(folder + "/program", cases, folder, &results);
      !status.ok())
    return failure();
  std::vector<Comparison> list;
  if (failed(read(*results, test, nullptr, list)))
    return failure();
  Found one = compare(test, list);
  // A result that differs may be one that no order of rounding determines: sums
  // that cancel out, or a ReLU at its edge.
  if (!one.first.empty()) {
    FailureOr<EntryCase> moved = evaluateMoved(programs);
    if (failed(moved))
      return failure();
    list.clear();
    if (failed(read(*results, test, &*moved, list)))
      return failure();
    one = compare(test, list);
  }
  found.push_back(std::move(one));
  return success();
}
