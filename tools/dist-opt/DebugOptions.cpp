//===- DebugOptions.cpp - MLIR's switches on model files ------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-opt/DebugOptions.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using ::dist::Status;
using ::dist::StatusCode;

/// Whether there is anything to apply: without a switch, nothing is registered.
static bool anyGiven = false;

static bool isDebugOption(StringRef word) {
  if (!word.consume_front("-"))
    return false;
  word.consume_front("-");
  StringRef name = word.split('=').first;
  return name.starts_with("mlir-") || name == "debug" || name == "debug-only";
}

Status mlir::dist::takeDebugOptions(std::vector<std::string> &arguments) {
  std::vector<std::string> taken;
  llvm::erase_if(arguments, [&](const std::string &word) {
    bool ours = isDebugOption(word);
    if (ours)
      taken.push_back(word);
    return ours;
  });
  if (taken.empty())
    return Status();
  anyGiven = true;
  registerAsmPrinterCLOptions();
  registerMLIRContextCLOptions();
  registerPassManagerCLOptions();
  registerDefaultTimingManagerCLOptions();
  std::vector<const char *> words{"dist-opt"};
  for (const std::string &word : taken)
    words.push_back(word.c_str());
  std::string said;
  llvm::raw_string_ostream errors(said);
  if (llvm::cl::ParseCommandLineOptions(words.size(), words.data(), "",
                                        &errors))
    return Status();
  StringRef why = StringRef(said).trim();
  bool debug = llvm::any_of(taken, [](StringRef word) {
    return word.ltrim('-').starts_with("debug");
  });
  return Status::error(
      StatusCode::InvalidArgument, "unknown option of MLIR",
      StringRef(taken.front()).split('=').first.str(),
      why.split('\n').first.str(),
      debug ? "LLVM has it in builds with assertions only"
            : "see mlir-opt --help, and write values as --NAME=VALUE");
}

void mlir::dist::applyDebugOptions(PassManager &pm) {
  if (!anyGiven)
    return;
  // It fails where the switches were not registered; they were.
  (void)applyPassManagerCLOptions(pm);
  applyDefaultTimingPassManagerCLOptions(pm);
}
