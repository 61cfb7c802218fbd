//===- partition_property_test.cpp - Random programs, partitioned ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A random graph with random annotations on a random mesh must partition, and
// compute on simulated ranks what it computes as a whole. DIST_PROPERTY_SEED
// says where to start, DIST_PROPERTY_SECONDS how long to go on (20, so that it
// can run with every other test; minutes find more), DIST_PROPERTY_CASES how
// many to try at most. A failure prints the shortest beginning of the program
// that still fails; DIST_PROPERTY_PRINT=1 prints each before it is tried, for
// what crashes.
//
//===----------------------------------------------------------------------===//
#include "dialects/InitAllDialects.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Analysis/CheckPartition.h"
#include "passes/Partition/Passes.h"
#include "passes/Pipelines/Pipelines.h"
#include "random_program.h"
#include <chrono>
#include <cstdlib>
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

namespace {
int64_t getNumber(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

/// Partitions the program and compares; what is wrong, or nothing.
std::string findError(MLIRContext &context, const std::string &program) {
  std::string errors;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    llvm::raw_string_ostream(errors)
        << diagnostic.getLocation() << ": " << diagnostic << "\n";
    return success();
  });
  ParserConfig config(&context);
  OwningOpRef<ModuleOp> local = parseSourceString<ModuleOp>(program, config);
  if (!local)
    return "does not parse: " + errors;
  PassManager number(&context);
  buildNumberPipeline(number);
  if (failed(number.run(*local)))
    return "cannot be numbered: " + errors;
  OwningOpRef<ModuleOp> global = local->clone();
  PassManager pipeline(&context);
  PropagateShardingPassOptions propagate;
  propagate.cutAxes = {"x", "y"}; // and never "z"
  pipeline.addPass(createPropagateShardingPass(propagate));
  OpPassManager &functions = pipeline.nest<func::FuncOp>();
  functions.addPass(createInsertReshardsPass());
  functions.addPass(createInsertAllReducePass());
  functions.addPass(createVerifyUnreducedPass());
  functions.addPass(createPadIndivisiblePass());
  pipeline.addPass(createPartitionPass());
  pipeline.addNestedPass<func::FuncOp>(createSimplifyCollectivesPass());
  pipeline.addNestedPass<func::FuncOp>(createCombineCollectivesPass());
  pipeline.addNestedPass<func::FuncOp>(createOverlapCollectivesPass());
  if (failed(pipeline.run(*local)))
    return "cannot be partitioned: " + errors;
  CheckOptions options;
  options.seed = 1;
  // What cancels leaves rounding of a size of its own.
  options.tolerance = 1e-6;
  auto checks = checkPartition(*global, *local, options);
  if (failed(checks))
    return "cannot be evaluated: " + errors;
  return isEqual(*checks) ? "" : formatCheck(*checks);
}

void tryPrograms(bool mayPad) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  int64_t first = getNumber("DIST_PROPERTY_SEED", 1);
  int64_t cases = getNumber("DIST_PROPERTY_CASES", 1000000);
  bool print = getNumber("DIST_PROPERTY_PRINT", 0) != 0;
  int64_t keepGoing = getNumber("DIST_PROPERTY_FAILURES", 1);
  auto end = std::chrono::steady_clock::now() +
             std::chrono::seconds(getNumber("DIST_PROPERTY_SECONDS", 20));
  int64_t seed = first, failures = 0;
  for (; seed < first + cases && std::chrono::steady_clock::now() < end;
       ++seed) {
    constexpr unsigned kOps = 12;
    std::string program = RandomProgram(seed, kOps, mayPad).getText();
    if (print)
      std::printf("// seed %lld\n%s", (long long)seed, program.c_str());
    std::fflush(stdout);
    std::string error = findError(context, program);
    if (error.empty())
      continue;
    for (unsigned ops = 1; ops <= kOps; ++ops) {
      std::string text = RandomProgram(seed, ops, mayPad).getText();
      std::string shorter = findError(context, text);
      if (shorter.empty())
        continue;
      ADD_FAILURE() << "seed " << seed << ", " << ops << " ops: " << shorter
                    << "\n"
                    << text;
      break;
    }
    if (++failures >= keepGoing)
      return;
  }
  std::printf("%lld programs\n", (long long)(seed - first));
}

TEST(PartitionProperty, RandomProgramsComputeTheSame) { tryPrograms(false); }

// What the mesh does not divide is padded; padded inputs hold NaN.
TEST(PartitionProperty, RandomProgramsOfIndivisibleDimsComputeTheSame) {
  tryPrograms(true);
}
} // namespace
